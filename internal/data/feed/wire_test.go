package feed_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/data/feed"
	"candela/internal/data/provider"
	"candela/internal/data/provider/aggregate"
	"candela/internal/data/provider/alpaca"
	"candela/internal/data/provider/binance"
	"candela/internal/data/provider/coinbase"
	"candela/internal/data/provider/kraken"
	"candela/internal/data/provider/yahoo"
	"candela/internal/data/upstream"
	"candela/internal/testkit/fake"
	fakealpaca "candela/internal/testkit/fake/alpaca"
	fakebinance "candela/internal/testkit/fake/binance"
	fakecoinbase "candela/internal/testkit/fake/coinbase"
	fakekraken "candela/internal/testkit/fake/kraken"
	fakeyahoo "candela/internal/testkit/fake/yahoo"
	"candela/internal/testkit/longtest"
	"candela/lib/market"
)

// wired is a real adapter that talks to a fake venue over HTTP and WebSocket in
// virtual time, with ways to break it.
type wired struct {
	provider.Provider
	storm  func(on bool) // 429 to every request
	faulty func(on bool) // repeats, swaps, late and lost messages
	cut    func()        // every stream is lost
	notice func()        // the venue says that it will restart; nil where it never does
	stop   func()        // the venue is shut
}

func nothing()     {}
func never(_ bool) {}

func wireBinance(n *fake.Network, h *upstream.Hosts, c fakebinance.Config) (wired, *fakebinance.Server) {
	s := fakebinance.New(c)
	stop := n.Serve("binance.test:80", s)
	return wired{
		Provider: binance.New(h, binance.Config{URL: "http://binance.test"}),
		storm: func(on bool) {
			s.Always(nil)
			if on {
				f := fakebinance.TooMany(429, 20*time.Second)
				s.Always(&f)
			}
		},
		faulty: func(on bool) {
			s.Feed.Set(fake.StreamFaults{})
			if on {
				s.Feed.Set(fake.StreamFaults{Duplicate: 0.01, Reorder: 0.01, Late: 0.005, Lose: 0.005})
			}
		},
		cut: s.Feed.Drop, notice: s.ShutdownNotice, stop: stop,
	}, s
}

func wireKraken(n *fake.Network, h *upstream.Hosts) wired {
	s := fakekraken.New(fakekraken.Config{Seed: 1, Step: 2 * time.Second})
	return wired{
		Provider: kraken.New(h, kraken.Config{URL: "http://kraken.test"}),
		storm: func(on bool) {
			s.Always(nil)
			if on {
				s.Always(&fake.Fault{Status: 429, RetryAfter: 20 * time.Second, Body: `{"error":["EGeneral:Too many requests"]}`})
			}
		},
		// Nothing is lost or late here: the venue does not say that a bar has closed, so
		// one whose last message was lost could not be distinguished from a right one.
		faulty: func(on bool) {
			s.Feed.Set(fake.StreamFaults{})
			if on {
				s.Feed.Set(fake.StreamFaults{Duplicate: 0.05})
			}
		},
		cut: s.Feed.Drop, stop: n.Serve("kraken.test:80", s),
	}
}

func wireCoinbase(n *fake.Network, h *upstream.Hosts) wired {
	s := fakecoinbase.New(fakecoinbase.Config{Seed: 1, Step: 2 * time.Second})
	return wired{
		Provider: coinbase.New(h, coinbase.Config{URL: "http://coinbase.test"}),
		storm: func(on bool) {
			s.Always(nil)
			if on {
				s.Always(&fake.Fault{Status: 429, Body: `{"message":"Public rate limit exceeded"}`})
			}
		},
		faulty: func(on bool) {
			s.Feed.Set(fake.StreamFaults{})
			if on {
				s.Feed.Set(fake.StreamFaults{Duplicate: 0.01, Lose: 0.001})
			}
		},
		cut: s.Feed.Drop, stop: n.Serve("coinbase.test:80", s),
	}
}

func wireAlpaca(n *fake.Network, h *upstream.Hosts) wired {
	s := fakealpaca.New(fakealpaca.Config{Now: time.Now, Seed: 3})
	stop := n.Serve("alpaca.test:80", s)
	fault := func(f fakealpaca.Fault) func(bool) {
		return func(on bool) {
			if s.SetFault(fakealpaca.None); on {
				s.SetFault(f)
			}
		}
	}
	return wired{
		Provider: alpaca.New(h, alpaca.Config{
			Keys: alpaca.NewKeys(fakealpaca.KeyID, fakealpaca.Secret),
			URL:  "http://alpaca.test", DataURL: "http://alpaca.test", StreamURL: "ws://alpaca.test", Now: time.Now,
		}),
		storm: fault(fakealpaca.Throttled), faulty: fault(fakealpaca.Reordered),
		cut: func() {
			s.SetFault(fakealpaca.Drop)
			time.Sleep(90 * time.Second)
			s.SetFault(fakealpaca.None)
		},
		stop: stop,
	}
}

func wireYahoo(n *fake.Network, h *upstream.Hosts) wired {
	s := fakeyahoo.New(fakeyahoo.Config{Now: time.Now, Seed: 7})
	stop := n.Serve("yahoo.test:80", s)
	return wired{
		Provider: yahoo.New(h, yahoo.Config{URL: "http://yahoo.test", Now: time.Now}),
		storm: func(on bool) {
			if s.SetFault(fakeyahoo.None); on {
				s.SetFault(fakeyahoo.Throttled)
			}
		},
		faulty: never, cut: nothing, stop: stop,
	}
}

// chaos breaks a venue again and again, in each of five ways at least, and notes when
// streams could not work. In a short soak one trouble soon follows the other.
func chaos(ctx context.Context, n *fake.Network, w wired, span time.Duration) []window {
	// The same troubles in every run: the share of bars that come over the stream is held
	// for these, and depends on how close to each other they come.
	rng := rand.New(rand.NewPCG(3, 4))
	var out []window
	pace := min(1, span.Hours()/16)
	between := func(least, most time.Duration) time.Duration {
		most = max(2*least, time.Duration(pace*float64(most)))
		return least + time.Duration(rng.Float64()*float64(most-least))
	}
	var kinds []int
	for until, did := time.Now().Add(span), 0; (time.Now().Before(until) || did < 5) && ctx.Err() == nil; did++ {
		time.Sleep(between(5*time.Minute, 5*time.Hour))
		if len(kinds) == 0 {
			kinds = rng.Perm(5)
		}
		kind, from := kinds[0], time.Now()
		kinds = kinds[1:]
		switch kind {
		case 0:
			n.SetDown(true)
			time.Sleep(between(time.Second, 30*time.Minute))
			n.SetDown(false)
		case 1:
			w.storm(true)
			time.Sleep(between(time.Minute, 20*time.Minute))
			w.storm(false)
			continue // streams go on
		case 2:
			w.faulty(true)
			time.Sleep(between(time.Minute, 2*time.Hour))
			w.faulty(false)
			continue
		case 3:
			w.cut()
		case 4:
			if w.notice == nil {
				w.cut()
				break
			}
			w.notice()
			time.Sleep(30 * time.Second)
			w.cut()
			continue // announced in time, so nothing may be lost
		}
		out = append(out, window{from, time.Now()})
	}
	return out
}

func TestWire_EveryBarOnceInOrderWithoutAGap(t *testing.T) {
	t.Parallel()
	monday := time.Date(2025, time.July, 7, 13, 0, 0, 0, time.UTC)
	cases := map[string]struct {
		open func(*fake.Network, *upstream.Hosts) wired
		subs []provider.Sub
		live bool
	}{
		"binance": {func(n *fake.Network, h *upstream.Hosts) wired {
			w, _ := wireBinance(n, h, fakebinance.Config{Seed: 1, Step: 10 * time.Second})
			return w
		}, []provider.Sub{sub("BTCUSDT", market.Minute1), sub("ETHUSDT", market.Minute5), sub("ETHBTC", market.Hour1)}, true},
		// A page holds the newest 720 bars and there is no other, so that of minutes
		// the first could not be looked up at the end.
		"kraken":   {wireKraken, []provider.Sub{sub("BTC/USD", market.Minute15), sub("ETH/USD", market.Hour1)}, true},
		"coinbase": {wireCoinbase, []provider.Sub{sub("BTC-USD", market.Minute1), sub("ETH-USD", market.Hour4)}, true},
		"alpaca":   {wireAlpaca, []provider.Sub{sub("AAPL", market.Minute1), sub("MSFT", market.Minute15)}, true},
		"yahoo":    {wireYahoo, []provider.Sub{sub("AAPL", market.Minute1), sub("MSFT", market.Minute15)}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(monday))
				network := fake.NewNetwork()
				hosts := upstream.NewHosts(network.Dial)
				w := tc.open(network, hosts)
				overTheWire(t, network, w, tc.subs, tc.live)
				_ = hosts.Close()
				w.stop()
			})
		})
	}
}

// wireSpan is how long the adapters soak: a virtual day takes some five seconds each.
func wireSpan() time.Duration {
	switch {
	case *soakDays > 0:
		return time.Duration(*soakDays) * 24 * time.Hour
	case raced || testing.Short():
		return longtest.Pick(time.Hour, 3*time.Hour)
	default:
		return 8 * time.Hour
	}
}

// overTheWire follows a venue through days of chaos and holds what came against
// what the venue has at the end.
func overTheWire(t *testing.T, n *fake.Network, w wired, subs []provider.Sub, live bool) {
	t.Helper()
	start := time.Now()
	f := newFeed(w.Provider)
	since := map[provider.Sub]int64{}
	for _, s := range subs {
		since[s] = start.Add(-2*s.Interval.Duration()).Unix() / s.Interval.Seconds() * s.Interval.Seconds()
		if err := f.Subscribe(t.Context(), s, since[s]); err != nil {
			t.Fatal(err)
		}
	}
	got := map[provider.Sub][]feed.Event{}
	var mu sync.Mutex
	stop := follow(t, f, func(e feed.Event) {
		mu.Lock()
		defer mu.Unlock()
		if e.Kind == provider.Closed && !e.Ahead {
			got[e.Sub] = append(got[e.Sub], e)
		}
	})
	outages := chaos(t.Context(), n, w, wireSpan())
	time.Sleep(longtest.Pick(15*time.Minute, 30*time.Minute))
	stopped := time.Now()
	stop()
	streamed, all := 0, 0
	for _, s := range subs {
		page, err := provider.Read(t.Context(), aggregate.Over(w.Provider, time.Now), provider.BarQuery{Symbol: s.Symbol, Interval: s.Interval, From: since[s] + 1, To: stopped.Unix()}, 1<<20)
		if err != nil {
			t.Error(err)
			return
		}
		for i := range page.Bars.Len() {
			bar := page.Bars.At(i)
			if i >= len(got[s]) {
				if closed := time.Unix(bar.T, 0).Add(s.Interval.Duration()); closed.Before(stopped.Add(-2 * time.Minute)) {
					t.Errorf("%v: the bar at %v never came", s, time.Unix(bar.T, 0).UTC())
				}
				break
			}
			e := got[s][i]
			if e.Bar.T != bar.T || e.Bar.O != bar.O || e.Bar.H != bar.H || e.Bar.L != bar.L || e.Bar.C != bar.C {
				t.Errorf("%v: bar %d is %+v, the venue has %+v", s, i, e.Bar, bar)
				return
			}
			closed := time.Unix(bar.T, 0).Add(s.Interval.Duration())
			if closed.Before(start.Add(time.Minute)) || troubled(outages, closed) {
				continue
			}
			all++
			if !e.Backfilled {
				streamed++
			}
		}
		if len(got[s]) > page.Bars.Len() {
			t.Errorf("%v: %d bars came, the venue has %d", s, len(got[s]), page.Bars.Len())
		}
	}
	t.Logf("%d of %d bars outside outages over the stream; %+v", streamed, all, f.Status())
	if all == 0 || live && float64(streamed) < 0.95*float64(all) {
		t.Errorf("the stream carried %d of %d bars outside outages", streamed, all)
	}
}

func troubled(outages []window, closed time.Time) bool {
	for _, w := range outages {
		if closed.After(w.from.Add(-2*time.Second)) && closed.Before(w.to.Add(100*time.Second)) {
			return true
		}
	}
	return false
}

// TestWire_FiftySymbolsThroughAStorm cuts the streams of fifty symbols for an hour,
// answers 429 for ten minutes more, and holds the weight that recovery takes
// against the venue's limit.
func TestWire_FiftySymbolsThroughAStorm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := fake.NewNetwork()
		hosts := upstream.NewHosts(network.Dial)
		const limit = 600
		w, server := wireBinance(network, hosts, fakebinance.Config{Knows: func(string) bool { return true }, Variety: 5, Limit: limit, Step: 20 * time.Second})
		f := newFeed(w.Provider)
		var subs []provider.Sub
		symbols := 50
		if raced {
			symbols = 5 // the detector wants the code, not the load
		}
		for i := range symbols {
			for _, iv := range []market.Interval{market.Minute1, market.Minute5, market.Minute15} {
				subs = append(subs, sub(fmt.Sprintf("S%dUSDT", i), iv))
			}
		}
		subscribe(t, f, subs...)
		r := run(t, f)
		time.Sleep(20*time.Minute + 3*time.Second)
		network.SetDown(true)
		time.Sleep(time.Hour)
		w.storm(true)
		network.SetDown(false)
		time.Sleep(10 * time.Minute)
		w.storm(false)
		time.Sleep(10 * time.Minute)
		for _, s := range subs {
			bars, _ := r.closed(s)
			if want := int(100*60/s.Interval.Seconds()) - 1; len(bars) < want {
				t.Fatalf("%v: %d bars ten minutes after the storm, want %d", s, len(bars), want)
			}
		}
		if peak := server.PeakWeight(); peak > limit {
			t.Errorf("%d of weight in a minute, the venue allows %d", peak, limit)
		} else {
			t.Logf("peak weight %d of %d, status %+v", peak, limit, f.Status())
		}
		r.stop()
		_ = hosts.Close()
		w.stop()
	})
}

// TestWire_ThousandSymbols follows 1,000 symbols at three intervals over real
// WebSocket connections and says what that takes, fake venue included.
func TestWire_ThousandSymbols(t *testing.T) {
	symbols, span := 1000, 65*time.Second
	if raced {
		symbols = 50
	}
	began := time.Now()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	c := &counter{next: map[provider.Sub]int64{}}
	synctest.Test(t, func(t *testing.T) {
		network := fake.NewNetwork()
		hosts := upstream.NewHosts(network.Dial)
		w, server := wireBinance(network, hosts, fakebinance.Config{Knows: func(string) bool { return true }, Variety: 10})
		time.Sleep(20 * time.Second)
		f := newFeed(w.Provider)
		for i := range symbols {
			for _, iv := range []market.Interval{market.Minute1, market.Minute15, market.Hour4} {
				subscribe(t, f, sub(fmt.Sprintf("S%dUSDT", i), iv))
			}
		}
		stop := follow(t, f, c.take)
		time.Sleep(span)
		runtime.GC()
		runtime.ReadMemStats(&after)
		open, ever := server.Feed.Connections()
		stop()
		s := f.Status()
		if open > 3 || ever > 3 || s.Streamed != uint64(symbols) || s.Backfilled != 0 || c.wrong != 0 {
			t.Errorf("%d connections, %d ever, %d wrong, status %+v", open, ever, c.wrong, s)
		}
		_ = hosts.Close()
		w.stop()
	})
	took := time.Since(began)
	t.Logf("%d symbols x 3 intervals: %d events in %v, %v on the wall; %.1f MB", symbols, c.events, span, took, float64(after.HeapInuse-before.HeapInuse)/1e6)
}
