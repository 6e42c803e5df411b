package binance_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/data/provider"
	"candela/internal/data/provider/binance"
	"candela/internal/data/provider/providertest"
	"candela/internal/data/provider/venuetest"
	"candela/internal/testkit/fake"
	venue "candela/internal/testkit/fake/binance"
	"candela/lib/fault"
	"candela/lib/market"
)

func subs() []provider.Sub {
	return []provider.Sub{{Symbol: btc(), Interval: market.Minute1}, {Symbol: market.Symbol{Name: "ETHUSDT"}, Interval: market.Minute5}}
}

func TestStream_EmitsEveryBarOnceAsItIsRead(t *testing.T) {
	t.Parallel()
	within(t, venue.Config{Seed: 3}, func(t *testing.T, s *venue.Server, p *binance.Provider) {
		t.Helper()
		venuetest.EmitsWhatIsRead(t, "a good line", p, subs(), 1)
		if open, ever := s.Feed.Connections(); open > 1 || ever != 1 {
			t.Errorf("%d connections, %d ever", open, ever)
		}
	})
}

func TestStream_RepeatsAndDisorderAreSortedOut(t *testing.T) {
	t.Parallel()
	within(t, venue.Config{Seed: 4, Step: 4 * time.Second}, func(t *testing.T, s *venue.Server, p *binance.Provider) {
		t.Helper()
		s.Feed.Set(fake.StreamFaults{Duplicate: 0.2, Reorder: 0.2, Late: 0.2})
		l := providertest.Listen(t.Context(), p, subs())
		time.Sleep(time.Hour)
		synctest.Wait()
		events, _ := l.End()
		if err := providertest.CheckEvents(subs(), events); err != nil {
			t.Error(err)
		}
		for _, sub := range subs() {
			closed := providertest.Closed(events, sub)
			providertest.SameAsRead(t, p, sub, closed)
			if want := int(3600 / sub.Interval.Seconds()); closed.Len() < want*9/10 {
				t.Errorf("%v: %d of %d bars came through", sub, closed.Len(), want)
			}
		}
	})
}

func TestStream_SubscriptionsChangeOnOneConnection(t *testing.T) {
	t.Parallel()
	within(t, venue.Config{}, func(t *testing.T, s *venue.Server, p *binance.Provider) {
		t.Helper()
		both := subs()
		l := providertest.Listen(t.Context(), p, both[:1])
		time.Sleep(5 * time.Minute)
		l.Changes <- provider.Change{Add: both}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		before := l.Seen()
		l.Changes <- provider.Change{Drop: both[:1]}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		events, _ := l.End()
		if err := providertest.CheckEvents(both, events); err != nil {
			t.Error(err)
		}
		if n := providertest.Closed(events, both[1]).Len(); n < 3 {
			t.Errorf("%d bars of what was added", n)
		}
		if n := providertest.Closed(events[before+1:], both[0]).Len(); n > 0 {
			t.Errorf("%d bars of what was dropped", n)
		}
		if _, ever := s.Feed.Connections(); ever != 1 {
			t.Errorf("%d connections", ever)
		}
	})
}

// TestStream_CarriesHundredsAndNoMore fills a connection with perpetual futures, beside which come mark prices: the venue
// takes 1,024 streams.
func TestStream_CarriesHundredsAndNoMore(t *testing.T) {
	t.Parallel()
	many := func(n int) []provider.Sub {
		out := make([]provider.Sub, n)
		for i := range out {
			out[i] = provider.Sub{Symbol: market.Symbol{Name: fmt.Sprintf("S%dUSDT.P", i)}, Interval: market.Minute1}
		}
		return out
	}
	within(t, venue.Config{Variety: 3, Step: 15 * time.Second, Knows: func(string) bool { return true }}, func(t *testing.T, _ *venue.Server, p *binance.Provider) {
		t.Helper()
		l := providertest.Listen(t.Context(), p, many(824))
		time.Sleep(90 * time.Second)
		synctest.Wait()
		events, _ := l.End()
		closed, marked := map[provider.Sub]int{}, map[provider.Sub]int{}
		for _, e := range events {
			switch e.Kind {
			case provider.Closed:
				closed[e.Sub]++
			case provider.Marked:
				marked[e.Sub]++
			default:
			}
		}
		if len(closed) != 824 || len(marked) != 200 {
			t.Errorf("bars of %d symbols closed, %d have marks", len(closed), len(marked))
		}
		err := p.Stream(t.Context(), many(825), nil, nil)
		if f := fault.Of(err); f == nil || f.Kind != fault.Invalid || f.Field != "subscriptions" {
			t.Errorf("one more: %v", err)
		}
	})
}

func TestStream_ReportsItsEnd(t *testing.T) {
	t.Parallel()
	ending := func(events []provider.Event) (at []time.Time) {
		for _, e := range events {
			if e.Kind == provider.Ending {
				at = append(at, e.At)
			}
		}
		return at
	}
	within(t, venue.Config{Step: time.Minute}, func(t *testing.T, s *venue.Server, p *binance.Provider) {
		t.Helper()
		begin := time.Now()
		l := providertest.Listen(t.Context(), p, subs()[:1])
		time.Sleep(time.Hour)
		s.ShutdownNotice()
		time.Sleep(23*time.Hour + time.Minute)
		synctest.Wait()
		if err := <-l.Done; fault.KindOf(err) != fault.Unavailable {
			t.Errorf("the venue cuts the stream after a day: %v", err)
		}
		at := ending(l.Events)
		if len(at) != 2 || at[0].Sub(begin).Round(time.Minute) != time.Hour || at[1].Sub(begin).Round(time.Minute) != 24*time.Hour-10*time.Minute {
			t.Errorf("the end was announced at %v, begun at %v", at, begin)
		}
	})
}

func TestStream_IsLost(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		happens func(*venue.Server)
		within  time.Duration
	}{
		"when the connection is cut":  {func(s *venue.Server) { s.Feed.Drop() }, time.Second},
		"when it falls silent":        {func(s *venue.Server) { s.Feed.Set(fake.StreamFaults{Silent: true}) }, 4 * time.Minute},
		"when it sends what is wrong": {func(s *venue.Server) { s.Feed.Announce(`{"stream":"btcusdt@kline_1m","data":{"e":"kline"}}`) }, time.Second},
		"when it sends no JSON":       {func(s *venue.Server) { s.Feed.Announce(`<html>`) }, time.Second},
		"when it refuses":             {func(s *venue.Server) { s.Feed.Announce(`{"code":2,"msg":"Invalid request"}`) }, time.Second},
	} {
		within(t, venue.Config{}, func(t *testing.T, s *venue.Server, p *binance.Provider) {
			t.Helper()
			l := providertest.Listen(t.Context(), p, subs())
			time.Sleep(5 * time.Minute)
			tc.happens(s)
			begin := time.Now()
			err := <-l.Done
			if f := fault.Of(err); f == nil || f.Kind != fault.Unavailable || time.Since(begin) > tc.within {
				t.Errorf("%s: after %v: %v", name, time.Since(begin), err)
			}
		})
	}
}

func TestStream_Refuses(t *testing.T) {
	t.Parallel()
	within(t, venue.Config{}, func(t *testing.T, _ *venue.Server, p *binance.Provider) {
		t.Helper()
		for name, tc := range map[string]struct {
			subs []provider.Sub
			kind fault.Kind
		}{
			"no subscriptions":   {nil, fault.Invalid},
			"an interval":        {[]provider.Sub{{Symbol: btc(), Interval: market.Day3}}, fault.Invalid},
			"another venue":      {[]provider.Sub{{Symbol: market.Symbol{Venue: "kraken", Name: "BTCUSDT"}, Interval: market.Hour1}}, fault.NotFound},
			"a symbol with a ^":  {[]provider.Sub{{Symbol: market.Symbol{Name: "^GSPC"}, Interval: market.Hour1}}, fault.NotFound},
			"a symbol of nobody": {[]provider.Sub{{Interval: market.Hour1}}, fault.NotFound},
		} {
			if err := p.Stream(t.Context(), tc.subs, nil, nil); fault.KindOf(err) != tc.kind {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
