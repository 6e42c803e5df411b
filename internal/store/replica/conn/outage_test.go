package conn

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"candela/lib/fault"
)

// Requests are tried again while a leader is elected, and given up when the servers are gone: those that wait, and at once those that come.
func TestOutage_RequestsAreGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &Conn{RetryFor: writeTimeout, lost: newOutage(lostAfter), silent: newOutage(silentAfter)}
		failing := func(context.Context) error { return errors.New("no answer") }
		took := func(ask func() error) time.Duration {
			t.Helper()
			began := time.Now()
			if err := ask(); err == nil {
				t.Error("there is an answer")
			}
			return time.Since(began)
		}
		write := func() error {
			err := c.RetryWrite(t.Context(), "write", failing)
			if fault.KindOf(err) != fault.Unavailable {
				t.Errorf("%v", err)
			}
			return err
		}
		read := func() error { return c.RetryRead(t.Context(), failing) }
		if now := took(write); now < writeTimeout {
			t.Errorf("a write between leaders is given up after %v", now)
		}
		for name, o := range map[string]*outage{"lost": c.lost, "silent": c.silent} {
			o.begin()
			if now := took(read); now != o.after {
				t.Errorf("%s: a read is given up after %v", name, now)
			}
			if o == c.silent {
				if now := took(write); now != lostAfter {
					t.Errorf("a request that finds out whether they answer again is given up after %v", now)
				}
			}
			if now := took(write) + took(read); now != 0 {
				t.Errorf("%s: later requests are given up after %v", name, now)
			}
			o.over()
			if now := took(read); now < writeTimeout {
				t.Errorf("%s: after the outage a read is given up after %v", name, now)
			}
		}
		c.lost.begin()
		time.Sleep(lostAfter / 2)
		c.lost.over() // another server was reached
		c.lost.begin()
		time.Sleep(lostAfter / 2)
		if err := c.CheckLost("write"); err != nil {
			t.Errorf("two short outages are one: %v", err)
		}
		c.lost.over()
		for range 3 {
			c.Heard()
			time.Sleep(silentAfter - time.Second)
		}
		if now := took(read); now != time.Second {
			t.Errorf("a read is given up %v after the heartbeat is missed", now)
		}
		time.Sleep(tryEvery)
		answered := func(ctx context.Context) error {
			c.silent.again() // as another write does
			time.Sleep(2 * lostAfter)
			return ctx.Err()
		}
		if err := c.RetryWrite(t.Context(), "write", answered); err != nil {
			t.Errorf("servers that answer again: %v", err)
		}
		if now := took(read); now != silentAfter-2*lostAfter {
			t.Errorf("after another silence a read is given up after %v", now)
		}
	})
}

// A call that waits for somebody who waits for the servers gets an answer, and one that needs nobody is answered as always.
func TestOutage_AnswerSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &Conn{lost: newOutage(lostAfter), silent: newOutage(silentAfter)}
		wait := func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		c.lost.begin()
		for range 2 {
			began := time.Now()
			if err := c.AnswerSoon(t.Context(), "read", wait); fault.KindOf(err) != fault.Unavailable || time.Since(began) != lostAfter {
				t.Errorf("%v after %v", err, time.Since(began))
			}
		}
		if err := c.AnswerSoon(t.Context(), "read", func(ctx context.Context) error { return ctx.Err() }); err != nil {
			t.Errorf("from memory: %v", err)
		}
		left, leave := context.WithCancel(t.Context())
		leave()
		if err := c.AnswerSoon(left, "read", wait); !errors.Is(err, context.Canceled) {
			t.Errorf("the caller left: %v", err)
		}
	})
}
