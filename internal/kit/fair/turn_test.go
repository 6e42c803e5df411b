package fair_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/kit/fair"
)

// TestPause_LendsTheSlot holds that short work waits for a pause of long work, not for its end.
func TestPause_LendsTheSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slots := fair.NewSlots(1)
		ctx, done, err := slots.Hold(t.Context(), "long", "token")
		if err != nil {
			t.Fatal(err)
		}
		waited := make(chan time.Duration)
		began := time.Now()
		go func() {
			release, err := slots.Take(t.Context(), "short", "token")
			if err != nil {
				t.Error(err)
			} else {
				release()
			}
			waited <- time.Since(began)
		}()
		for range 1000 { // a minute of work
			time.Sleep(60 * time.Millisecond)
			if err := fair.Pause(ctx); err != nil {
				t.Fatal(err)
			}
		}
		done()
		if took := <-waited; took > 100*time.Millisecond {
			t.Errorf("waited %s", took)
		}
		release, err := slots.Take(t.Context(), "next", "token")
		if err != nil {
			t.Fatal(err)
		}
		release()
	})
}

func TestPause_EndsCancelledWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		if err := fair.Pause(t.Context()); err != nil {
			t.Error(err)
		}
		slots, reason := fair.NewSlots(1), errors.New("not wanted")
		parent, cancel := context.WithCancelCause(t.Context())
		ctx, done, err := slots.Hold(parent, "long", "token")
		if err != nil {
			t.Fatal(err)
		}
		cancel(reason)
		if err := fair.Pause(ctx); !errors.Is(err, reason) {
			t.Error(err)
		}
		done()
		done()

		// One that is cancelled while its slot is lent gives nothing back twice.
		parent, cancel = context.WithCancelCause(t.Context())
		ctx, done, err = slots.Hold(parent, "long", "token")
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan func())
		go func() {
			release, _ := slots.Take(t.Context(), "short", "token")
			got <- release
		}()
		time.Sleep(time.Second)
		time.AfterFunc(time.Second, func() { cancel(reason) })
		ended := make(chan error)
		go func() { ended <- fair.Pause(ctx) }()
		release := <-got
		if err := <-ended; !errors.Is(err, reason) {
			t.Error(err)
		}
		done()
		release()
		if n := slots.Waiting(); n != 0 {
			t.Errorf("%d wait", n)
		}
	})
}
