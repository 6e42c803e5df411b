package sample_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"candela/internal/data/provider"
	"candela/internal/data/provider/providertest"
	"candela/internal/data/provider/sample"
	"candela/lib/fault"
	"candela/lib/market"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStream_EmitsEveryBarOnceAsItWillBeRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := sample.New(sample.Config{Seed: 5, Now: time.Now})
		subs := []provider.Sub{
			{Symbol: market.Symbol{Name: "SAMPLE"}, Interval: market.Minute1},
			{Symbol: market.Symbol{Name: "SAMPLE-2"}, Interval: market.Minute5},
		}
		ctx, cancel := context.WithTimeout(t.Context(), 31*time.Minute+time.Second)
		defer cancel()
		start := time.Now().Unix()
		events := collect(ctx, t, p, subs)
		if err := providertest.CheckEvents(subs, events); err != nil {
			t.Error(err)
		}
		for _, sub := range subs {
			first, _ := market.Calendar{}.Bucket(sub.Interval, start)
			page := read(t, p, provider.BarQuery{Symbol: sub.Symbol, Interval: sub.Interval, From: first.Open})
			var closed market.Bars
			forming := 0
			for _, e := range events {
				switch {
				case e.Sub != sub:
				case e.Kind == provider.Closed:
					closed.Append(e.Bar)
				default:
					forming++
				}
			}
			want := page.Bars.Slice(0, closed.Len())
			for i := range want.T {
				if !closed.At(i).Equal(want.At(i)) {
					t.Errorf("%v: the stream sent %+v, the page has %+v", sub, closed.At(i), want.At(i))
				}
			}
			if n := int(31 * 60 / sub.Interval.Seconds()); closed.Len() != n {
				t.Errorf("%v: %d bars closed in 31 minutes, want %d", sub, closed.Len(), n)
			}
			if steps := 31 * 15; forming < steps-40 || forming > steps {
				t.Errorf("%v: %d forming bars in %d steps", sub, forming, steps)
			}
		}
	})
}

// collect streams until ctx ends and returns its events.
func collect(ctx context.Context, t *testing.T, p *sample.Provider, subs []provider.Sub) []provider.Event {
	t.Helper()
	var events []provider.Event
	err := p.Stream(ctx, subs, nil, func(_ context.Context, e provider.Event) error {
		events = append(events, e)
		return nil
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("the stream ends with %v", err)
	}
	return events
}

func TestStream_AfterAPauseEmitsTheBarsThatClosedMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ahead atomic.Int64 // how far the clock on the wall has jumped
		p := sample.New(sample.Config{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
		ctx, cancel := context.WithCancel(t.Context())
		out, done := make(chan provider.Event, 100), make(chan error, 1)
		go func() { done <- p.Stream(ctx, []provider.Sub{{Interval: market.Minute1}}, nil, providertest.Into(out)) }()
		time.Sleep(9 * time.Second)
		synctest.Wait()
		ahead.Store(int64(10 * time.Minute))
		time.Sleep(9 * time.Second)
		synctest.Wait()
		cancel()
		<-done
		close(out)
		closed := drain(t, out)
		if len(closed) != 10 || closed[9]-closed[0] != 9*60 {
			t.Errorf("in ten minutes these closed: %v", closed)
		}
	})
}

// drain checks the events against the contract and returns the open times of
// the bars that closed.
func drain(t *testing.T, out <-chan provider.Event) []int64 {
	t.Helper()
	var events []provider.Event
	var closed []int64
	for e := range out {
		events = append(events, e)
		if e.Kind == provider.Closed {
			closed = append(closed, e.Bar.T)
		}
	}
	if err := providertest.CheckEvents([]provider.Sub{{Interval: market.Minute1}}, events); err != nil {
		t.Error(err)
	}
	return closed
}

func TestStream_AClockThatGoesBackRepeatsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var back atomic.Int64
		p := sample.New(sample.Config{Now: func() time.Time { return time.Now().Add(-time.Duration(back.Load())) }})
		ctx, cancel := context.WithCancel(t.Context())
		out, done := make(chan provider.Event, 1000), make(chan error, 1)
		go func() { done <- p.Stream(ctx, []provider.Sub{{Interval: market.Minute1}}, nil, providertest.Into(out)) }()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		back.Store(int64(3 * time.Minute))
		time.Sleep(5*time.Minute + time.Second) // beyond the step that ends with the minute
		synctest.Wait()
		cancel()
		<-done
		close(out)
		// Of ten minutes, three were lived through twice.
		if closed := drain(t, out); len(closed) != 7 || closed[6]-closed[0] != 6*60 {
			t.Errorf("these closed: %v", closed)
		}
	})
}

func TestStream_EndsWhileNobodyListens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := sample.New(sample.Config{Now: time.Now})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		err := p.Stream(ctx, []provider.Sub{{Interval: market.Hour1}}, nil, providertest.Into(make(chan provider.Event)))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ends with %v", err)
		}
	})
}

func TestStream_Refuses(t *testing.T) {
	t.Parallel()
	live := sample.New(sample.Config{Now: time.Now})
	for name, tc := range map[string]struct {
		p    *sample.Provider
		subs []provider.Sub
		kind fault.Kind
	}{
		"a provider without a clock": {sample.New(sample.Config{}), []provider.Sub{{Interval: market.Hour1}}, fault.Unsupported},
		"no subscriptions":           {live, nil, fault.Invalid},
		"a real symbol":              {live, []provider.Sub{{Symbol: market.Symbol{Name: "AAPL"}, Interval: market.Hour1}}, fault.NotFound},
		"no interval":                {live, []provider.Sub{{}}, fault.Invalid},
	} {
		if err := tc.p.Stream(t.Context(), tc.subs, nil, nil); fault.KindOf(err) != tc.kind {
			t.Errorf("%s: %v", name, err)
		}
	}
}
