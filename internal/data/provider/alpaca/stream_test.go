package alpaca_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/data/provider"
	"candela/internal/data/provider/alpaca"
	"candela/internal/data/provider/providertest"
	"candela/internal/data/upstream"
	"candela/internal/testkit/fake"
	fakealpaca "candela/internal/testkit/fake/alpaca"
	"candela/internal/testkit/longtest"
	"candela/lib/fault"
	"candela/lib/market"
)

// bed is what a test in a bubble has.
type bed struct {
	*testing.T
	p     *alpaca.Provider
	venue *fakealpaca.Server
}

// bubble runs a test against the fake in virtual time, from 13:20:10 UTC of a
// Wednesday on: ten minutes before New York opens.
func bubble(t *testing.T, change func(*alpaca.Config), test func(bed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Unix(unix(7, 9, 13, 20)+10, 0)))
		network := fake.NewNetwork()
		venue := fakealpaca.New(fakealpaca.Config{Now: time.Now, Seed: 3})
		stop := network.Serve("alpaca:80", venue)
		defer stop()
		hosts := upstream.NewHosts(network.Dial)
		defer func() { _ = hosts.Close() }()
		c := alpaca.Config{
			Keys: alpaca.NewKeys(fakealpaca.KeyID, fakealpaca.Secret), URL: "http://alpaca", DataURL: "http://alpaca", StreamURL: "ws://alpaca", Now: time.Now,
		}
		if change != nil {
			change(&c)
		}
		test(bed{t, alpaca.New(hosts, c), venue})
	})
}

func sub(name string, i market.Interval) provider.Sub {
	return provider.Sub{Symbol: market.Symbol{Name: name}, Interval: i}
}

// collect runs a stream until ctx ends and returns what came.
func collect(ctx context.Context, p *alpaca.Provider, subs []provider.Sub, changes <-chan provider.Change) ([]provider.Event, error) {
	var events []provider.Event
	var mu sync.Mutex
	err := p.Stream(ctx, subs, changes, func(_ context.Context, e provider.Event) error {
		mu.Lock()
		defer mu.Unlock()
		events = append(events, e)
		return nil
	})
	return events, err
}

func closed(events []provider.Event, s provider.Sub) market.Bars {
	var bars market.Bars
	for _, e := range events {
		if e.Sub == s && e.Kind == provider.Closed {
			bars.Append(e.Bar)
		}
	}
	return bars
}

// openOf returns the open of the first bar from a time on that a stream sends:
// of days, the one under way.
func openOf(i market.Interval, from int64) int64 {
	if i == market.Day1 {
		return unix(7, 9, 13, 30)
	}
	return from
}

// sameTrades compares bars but for the shares of late trades.
func sameTrades(t *testing.T, what string, got, want market.Bars) {
	t.Helper()
	if got.Len() != want.Len() {
		t.Errorf("%s: %d bars, want %d", what, got.Len(), want.Len())
		return
	}
	for k := range got.T {
		g, w := got.At(k), want.At(k)
		if math.Abs(g.V-w.V) > 1 {
			t.Errorf("%s: bar %d has volume %v, want %v", what, k, g.V, w.V)
		}
		if g.V = w.V; !g.Equal(w) {
			t.Errorf("%s: bar %d is %+v, want %+v", what, k, g, w)
			return
		}
	}
}

// TestStream_ADay follows the last hour of a day, in the long form a whole one, and
// holds it against the tape and the contract, for every feed fault that leaves the
// connection alive. TestStream_Changes sees how a day begins.
func TestStream_ADay(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]fakealpaca.Fault{"plain": fakealpaca.None, "doubled": fakealpaca.Doubled, "reordered": fakealpaca.Reordered} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(b bed) {
				t, p, venue := b.T, b.p, b.venue
				venue.SetFault(f)
				subs := []provider.Sub{sub("AAPL", market.Minute1), sub("AAPL", market.Minute5), sub("MSFT", market.Minute30), sub("AAPL", market.Day1)}
				from, to := unix(7, 9, 13, 30), unix(7, 9, 20, 0)
				if f != fakealpaca.None || !longtest.On() { // the end of the day is enough
					from = unix(7, 9, 19, 0)
					time.Sleep(time.Until(time.Unix(from+10, 0)))
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Until(time.Unix(to+20*60, 0)))
				defer cancel()
				events, err := collect(ctx, p, subs, nil)
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Fatal(err)
				}
				if err := providertest.CheckEvents(subs, events); err != nil {
					t.Fatal(err)
				}
				if len(events) == 0 || events[0].Kind != provider.Alive {
					t.Fatal("the first event does not say that the subscriptions are in force")
				}
				for _, s := range subs {
					sameTrades(t, s.Symbol.Name+" "+s.Interval.String(), closed(events, s), venue.Bars(s.Symbol.Name, s.Interval, openOf(s.Interval, from), to))
				}
				count, high := map[provider.EventKind]int{}, map[string]float64{}
				for _, name := range []string{"AAPL", "MSFT"} {
					day := venue.Bars(name, market.Day1, unix(7, 9, 13, 30), to)
					high[name] = day.H[0]
				}
				for _, e := range events {
					count[e.Kind]++
					if e.Kind == provider.Traded && e.Price > 1.9*high[e.Symbol.Name] {
						t.Fatalf("a report out of order was sent as a price: %+v", e)
					}
				}
				if count[provider.Forming] < 60 || count[provider.Traded] < 1000 || count[provider.Alive] < 200 {
					t.Errorf("%d forming, %d trades, %d signs of life", count[provider.Forming], count[provider.Traded], count[provider.Alive])
				}
			})
		})
	}
}

// TestStream_JoinsInTheMiddle starts within bars: those it cannot know whole are
// not sent.
func TestStream_JoinsInTheMiddle(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(b bed) {
		t, p, venue := b.T, b.p, b.venue
		time.Sleep(time.Until(time.Unix(unix(7, 9, 14, 7)+20, 0)))
		subs := []provider.Sub{sub("AAPL", market.Minute1), sub("AAPL", market.Minute5), sub("AAPL", market.Day1)}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
		defer cancel()
		events, _ := collect(ctx, p, subs, nil)
		sameTrades(t, "minutes", closed(events, subs[0]), venue.Bars("AAPL", market.Minute1, unix(7, 9, 14, 7), unix(7, 9, 14, 27)))
		sameTrades(t, "fives", closed(events, subs[1]), venue.Bars("AAPL", market.Minute5, unix(7, 9, 14, 10), unix(7, 9, 14, 25)))
		for _, e := range events {
			if e.Interval == market.Minute5 && e.Kind != provider.Traded && e.Bar.T < unix(7, 9, 14, 10) {
				t.Errorf("a bar that is not whole: %+v", e)
			}
			if e.Interval == market.Day1 && e.Kind == provider.Forming && e.Bar.T != unix(7, 9, 13, 30) {
				t.Errorf("the day is %+v", e.Bar)
			}
		}
	})
}

func TestStream_Changes(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(b bed) {
		t, p := b.T, b.p
		changes := make(chan provider.Change)
		ctx, cancel := context.WithTimeout(t.Context(), 40*time.Minute)
		defer cancel()
		a, z := sub("AAPL", market.Minute1), sub("MSFT", market.Minute1)
		go func() {
			time.Sleep(15 * time.Minute)
			changes <- provider.Change{Add: []provider.Sub{z, a}}
			time.Sleep(10 * time.Minute)
			changes <- provider.Change{Drop: []provider.Sub{a, sub("NVDA", market.Day1)}}
			close(changes)
		}()
		events, err := collect(ctx, p, []provider.Sub{a}, changes)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		first, second := closed(events, a), closed(events, z)
		if first.Len() != 15 || first.T[0] != unix(7, 9, 13, 30) || second.Len() != 25 || second.T[0] != unix(7, 9, 13, 35) {
			t.Errorf("%v and %v", first.T, second.T)
		}
	})
}

// TestStream_ManySymbols subscribes to more symbols than the free feed sends the
// trades of.
func TestStream_ManySymbols(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(b bed) {
		t, p := b.T, b.p
		subs := []provider.Sub{}
		for i := range 40 {
			subs = append(subs, sub("ZZ"+string(rune('A'+i/26))+string(rune('A'+i%26)), market.Minute1))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Minute)
		defer cancel()
		events, err := collect(ctx, p, subs, nil)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		trades := map[provider.Sub]bool{}
		for _, e := range events {
			if e.Kind == provider.Traded {
				trades[e.Sub] = true
			}
		}
		if len(trades) != 30 {
			t.Errorf("trades of %d symbols", len(trades))
		}
		for _, s := range subs {
			if bars := closed(events, s); bars.Len() != 2 {
				t.Errorf("%s has %d bars", s.Symbol, bars.Len())
			}
		}
	})
}

// TestStream_OneAtATime starts a second stream, which waits for the first.
func TestStream_OneAtATime(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(b bed) {
		t, p, venue := b.T, b.p, b.venue
		first, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := collect(first, p, []provider.Sub{sub("AAPL", market.Minute1)}, nil)
			ended <- err
		}()
		time.Sleep(time.Minute)
		second, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
		defer cancel()
		go func() {
			time.Sleep(5 * time.Minute)
			stop()
		}()
		events, err := collect(second, p, []provider.Sub{sub("MSFT", market.Minute1)}, nil)
		for fault.KindOf(err) == fault.Unavailable && second.Err() == nil {
			time.Sleep(time.Second) // the venue takes a moment to see that the first is gone
			events, err = collect(second, p, []provider.Sub{sub("MSFT", market.Minute1)}, nil)
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if bars := closed(events, sub("MSFT", market.Minute1)); bars.Len() < 20 {
			t.Errorf("%d bars", bars.Len())
		}
		if _, ever := venue.Streams(); ever != 2 || !errors.Is(<-ended, context.Canceled) {
			t.Errorf("%d streams", ever)
		}
	})
}

func TestStream_Faults(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fault     fakealpaca.Fault
		change    func(*alpaca.Config)
		kind      fault.Kind
		words     string
		retryable bool
	}{
		"a slow client":      {fakealpaca.SlowClient, nil, fault.Unavailable, "as fast", true},
		"another connection": {fakealpaca.Busy, nil, fault.Unavailable, "one connection", true},
		"a frame of no JSON": {fakealpaca.Garbage, nil, fault.Unavailable, "cannot be used", true},
		"no greeting":        {fakealpaca.Mute, nil, fault.Unavailable, "no greeting", true},
		"a cut":              {fakealpaca.Drop, nil, fault.Unavailable, "lost", true},
		"wrong keys":         {fakealpaca.None, func(c *alpaca.Config) { c.Keys = alpaca.NewKeys("a", "b") }, fault.Unauthorized, "keys", false},
		"no keys":            {fakealpaca.None, func(c *alpaca.Config) { c.Keys = alpaca.Keys{} }, fault.Unauthorized, "keys", false},
		"no subscription":    {fakealpaca.None, func(c *alpaca.Config) { c.Feed = alpaca.SIP }, fault.Unauthorized, "delayed_sip", false},
		"nobody there":       {fakealpaca.None, func(c *alpaca.Config) { c.StreamURL = "ws://nowhere" }, fault.Unavailable, "alpaca", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, tc.change, func(b bed) {
				t, p, venue := b.T, b.p, b.venue
				venue.SetFault(tc.fault)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				events, err := collect(ctx, p, []provider.Sub{sub("AAPL", market.Minute1)}, nil)
				f := fault.Of(err)
				if f == nil || f.Kind != tc.kind || f.Retryable != tc.retryable || !strings.Contains(f.Message, tc.words) {
					t.Fatalf("got %v", err)
				}
				for _, e := range events {
					if e.Kind == provider.Closed {
						t.Errorf("a bar came: %+v", e)
					}
				}
			})
		})
	}
}

func TestStream_RefusesUnsupportedSubscriptions(t *testing.T) {
	t.Parallel()
	p, _ := open(t, 0, nil)
	t.Cleanup(func() { _ = p.Close() })
	for field, s := range map[string]provider.Sub{
		"interval": sub("AAPL", market.Hour4), "symbol": sub("EURUSD=X", market.Minute1),
		"subscriptions": {},
	} {
		subs := []provider.Sub{s}
		if field == "subscriptions" {
			subs = nil
		}
		if f := fault.Of(p.Stream(t.Context(), subs, nil, nil)); f == nil || f.Field != field {
			t.Errorf("%s: %v", field, f)
		}
	}
}

func TestStream_DelayedFeed(t *testing.T) {
	t.Parallel()
	bubble(t, func(c *alpaca.Config) { c.Feed = alpaca.DelayedSIP }, func(b bed) {
		t, p, venue := b.T, b.p, b.venue
		ctx, cancel := context.WithTimeout(t.Context(), 40*time.Minute)
		defer cancel()
		s := sub("AAPL", market.Minute5)
		events, _ := collect(ctx, p, []provider.Sub{s}, nil)
		// At 14:00 the feed is at 13:45.
		sameTrades(t, "fives", closed(events, s), venue.Bars("AAPL", market.Minute5, unix(7, 9, 13, 30), unix(7, 9, 13, 45)))
	})
}
