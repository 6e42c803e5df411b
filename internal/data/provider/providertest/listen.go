package providertest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"candela/internal/data/provider"
	"candela/lib/market"
)

// Listening is a stream whose events are collected.
type Listening struct {
	Events  []provider.Event // to be read when the stream has ended
	Changes chan provider.Change
	Done    chan error // what the stream returned
	cancel  context.CancelFunc
	seen    atomic.Int64
}

// Seen returns how many events came so far.
func (l *Listening) Seen() int { return int(l.seen.Load()) }

// Listen starts a stream. It ends with ctx, by itself, or by End.
func Listen(ctx context.Context, p provider.Streamer, subs []provider.Sub) *Listening {
	ctx, cancel := context.WithCancel(ctx)
	l := &Listening{Changes: make(chan provider.Change), Done: make(chan error, 1), cancel: cancel}
	var mu sync.Mutex
	go func() {
		l.Done <- p.Stream(ctx, subs, l.Changes, func(_ context.Context, e provider.Event) error {
			mu.Lock()
			defer mu.Unlock()
			l.Events = append(l.Events, e)
			l.seen.Add(1)
			return nil
		})
	}()
	return l
}

// Into returns an Emit that sends to a channel.
func Into(out chan<- provider.Event) provider.Emit {
	return func(ctx context.Context, e provider.Event) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case out <- e:
			return nil
		}
	}
}

// End stops the stream and returns its events and how it ended.
func (l *Listening) End() ([]provider.Event, error) {
	l.cancel()
	err := <-l.Done // the events are whole only now
	return l.Events, err
}

// Closed returns the bars of a subscription that closed.
func Closed(events []provider.Event, sub provider.Sub) *market.Bars {
	var closed market.Bars
	for _, e := range events {
		if e.Sub == sub && e.Kind == provider.Closed {
			closed.Append(e.Bar)
		}
	}
	return &closed
}

// SameAsRead holds the closed bars of a stream against those that are read.
func SameAsRead(t *testing.T, p provider.Provider, sub provider.Sub, closed *market.Bars) {
	t.Helper()
	if closed.Len() == 0 {
		t.Errorf("%v: no bar closed", sub)
		return
	}
	q := provider.BarQuery{Symbol: sub.Symbol, Interval: sub.Interval, From: closed.T[0], To: closed.T[closed.Len()-1] + 1}
	all, err := all(t.Context(), p, q)
	if err != nil {
		t.Fatal(err)
	}
	for i := range closed.T {
		k := all.Search(closed.T[i])
		if k == all.Len() || !all.At(k).Equal(closed.At(i)) {
			t.Errorf("%v: the stream sent %+v, which is not what is read", sub, closed.At(i))
		}
	}
}
