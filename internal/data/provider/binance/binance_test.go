package binance_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"go.uber.org/goleak"

	"candela/internal/data/provider"
	"candela/internal/data/provider/binance"
	"candela/internal/data/provider/providertest"
	"candela/internal/data/provider/venuetest"
	"candela/internal/data/upstream"
	"candela/internal/testkit/fake"
	venue "candela/internal/testkit/fake/binance"
	"candela/lib/fault"
	"candela/lib/market"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func connect(hosts *upstream.Hosts) *binance.Provider {
	return binance.New(hosts, binance.Config{URL: venuetest.URL})
}

func btc() market.Symbol { return market.Symbol{Name: "BTCUSDT"} }

func within(t *testing.T, c venue.Config, fn func(*testing.T, *venue.Server, *binance.Provider)) {
	t.Helper()
	venuetest.Within(t, func() *venue.Server { return venue.New(c) }, connect, fn)
}

func TestProvider_KeepsTheContract(t *testing.T) {
	network, stop := venuetest.Serve(venue.New(venue.Config{Seed: 1}))
	defer stop()
	providertest.Run(t, providertest.Target{
		New:    func(testing.TB) provider.Provider { return connect(upstream.NewHosts(network.Dial)) },
		Symbol: btc(), Interval: market.Hour1, From: 1717200000, To: 1717200000 + 60*3600,
		Unknown: market.Symbol{Name: "NOSUCH"},
	})
}

func TestBars_RunningBarAndPages(t *testing.T) {
	t.Parallel()
	within(t, venue.Config{}, func(t *testing.T, _ *venue.Server, p *binance.Provider) {
		t.Helper()
		page, err := p.Bars(t.Context(), provider.BarQuery{Symbol: btc(), Interval: market.Minute1})
		if err != nil || page.Bars.Len() != 1000 || !page.Running || !page.More {
			t.Fatalf("%d bars, running %v, more %v, %v", page.Bars.Len(), page.Running, page.More, err)
		}
		if last := page.Bars.T[999]; last != time.Now().Unix()/60*60 {
			t.Errorf("the last bar opens at %d, now is %d", last, time.Now().Unix())
		}
		if page.Bars.TakerBuy[999] <= 0 {
			t.Error("no taker-buy volume")
		}
	})
}

func TestInstrument_IsExactAndAskedOnce(t *testing.T) {
	t.Parallel()
	within(t, venue.Config{}, func(t *testing.T, s *venue.Server, p *binance.Provider) {
		t.Helper()
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				inst, err := p.Instrument(t.Context(), market.Symbol{Venue: "binance", Name: "BTC/USDT"})
				if err != nil || inst.Symbol != (market.Symbol{Venue: "binance", Name: "BTCUSDT"}) || inst.Base != "BTC" || inst.Quote != "USDT" {
					t.Errorf("%+v, %v", inst, err)
				}
				for got, want := range map[*decimal.Decimal]string{
					&inst.Tick: "0.0001", &inst.Step: "0.00001", &inst.MinQuantity: "0.00001", &inst.MaxQuantity: "9000", &inst.MaxMarket: "100",
					&inst.MinNotional: "5", &inst.MaxNotional: "9000000", &inst.MinPrice: "0.0001", &inst.MaxPrice: "1000000",
				} {
					if got.String() != want {
						t.Errorf("got %s, want %s", got, want)
					}
				}
			})
		}
		wg.Wait()
		if s.Asked() != 1 {
			t.Errorf("asked %d times", s.Asked())
		}
	})
}

// TestFaults_NeverBecomeBars holds that whatever the venue sends in place of an
// answer is an error naming venue and symbol.
func TestFaults_NeverBecomeBars(t *testing.T) {
	t.Parallel()
	another := fake.Fault{Change: func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), `59999,`, `00000,`)) }}
	negative := fake.Fault{Change: func(b []byte) []byte { return []byte(strings.Replace(string(b), `"`, `"-`, 1)) }}
	for name, tc := range venuetest.Faults(map[string]venuetest.Fault{
		"an object for a list": venuetest.BadAnswer(fake.Fault{Status: 200, Body: `{}`}),
		"nothing":              venuetest.BadAnswer(fake.Fault{Status: 200, Body: ``}),
		"another interval":     venuetest.BadAnswer(another),
		"an unsound bar":       venuetest.BadAnswer(negative),
		"short rows":           venuetest.BadAnswer(fake.Fault{Status: 200, Body: `[[1499040000000,"1","1","1","1","1"]]`}),
		"a wall":               venuetest.Unavailable("venue_refused", fake.Fault{Status: 403, Body: "<html>"}),
		"no answer":            venuetest.Unavailable("unavailable", fake.Fault{Hang: true}),
		"an unknown symbol":    venuetest.UnknownSymbol(venue.Coded(400, -1121, "Invalid symbol.")),
		"a timeout inside":     venuetest.Unavailable("unavailable", venue.Coded(500, -1007, "Timeout waiting for response from backend server.")),
		"a region":             venuetest.Unavailable("region_refused", venue.Restricted()),
		"over the limit":       venuetest.Unavailable("rate_limited", venue.TooMany(http.StatusTooManyRequests, 30*time.Second)),
		"a ban":                venuetest.Unavailable("rate_limited", venue.TooMany(http.StatusTeapot, time.Hour)),
	}) {
		within(t, venue.Config{}, func(t *testing.T, s *venue.Server, p *binance.Provider) {
			t.Helper()
			s.Always(&tc.Sent)
			tc.Check(t, name, p, btc())
			if _, err := p.Instrument(t.Context(), btc()); err == nil && tc.Sent.Change == nil {
				t.Errorf("%s: there is an instrument all the same", name)
			}
		})
	}
}

func TestRegion_NamesTheSetting(t *testing.T) {
	t.Parallel()
	within(t, venue.Config{}, func(t *testing.T, s *venue.Server, p *binance.Provider) {
		t.Helper()
		refused := venue.Restricted()
		s.Always(&refused)
		_, err := p.Bars(t.Context(), provider.BarQuery{Symbol: btc(), Interval: market.Hour1})
		f := fault.Of(err)
		for _, want := range []string{"--binance-url", "451"} {
			if !strings.Contains(f.Message, want) {
				t.Errorf("%q does not name %s", f.Message, want)
			}
		}
		if f.Retryable {
			t.Errorf("got %+v", f)
		}
	})
}

// TestBars_ManySymbolsStayWithinTheWeight asks for more than the venue allows in a
// minute, while it refuses now and then, until every symbol has its bars.
func TestBars_ManySymbolsStayWithinTheWeight(t *testing.T) {
	t.Parallel()
	const limit = 6000
	within(t, venue.Config{Variety: 1, Knows: func(string) bool { return true }}, func(t *testing.T, s *venue.Server, p *binance.Provider) {
		t.Helper()
		storm := make([]fake.Fault, 20)
		for i := range storm {
			storm[i] = venue.TooMany(http.StatusTooManyRequests, 20*time.Second)
		}
		s.Next(storm...)
		begin := time.Now()
		var wg sync.WaitGroup
		for k := range 50 {
			wg.Go(func() {
				symbol := market.Symbol{Name: "S" + string(rune('A'+k%26)) + string(rune('A'+k/26)) + "USDT"}
				for round := 0; round < 60; {
					_, err := p.Bars(t.Context(), provider.BarQuery{Symbol: symbol, Interval: market.Hour1, Limit: 1})
					if err == nil {
						round++
						continue
					}
					f := fault.Of(err)
					if f == nil || f.Code != "rate_limited" || f.RetryAfter <= 0 {
						t.Errorf("%v: %v", symbol, err)
						return
					}
					time.Sleep(f.RetryAfter)
				}
			})
		}
		wg.Wait()
		if peak := s.PeakWeight(); peak > limit {
			t.Errorf("a minute saw a weight of %d, the limit is %d", peak, limit)
		}
		// 3000 requests of weight 2 fit in two minutes; the storm takes another one.
		if took := time.Since(begin); took > 4*time.Minute {
			t.Errorf("took %v", took)
		}
	})
}

func TestSeries(t *testing.T) {
	t.Parallel()
	within(t, venue.Config{}, func(t *testing.T, s *venue.Server, p *binance.Provider) {
		t.Helper()
		now := time.Now().Unix()
		for _, name := range p.SeriesNames() {
			points, err := p.Series(t.Context(), provider.SeriesQuery{Name: name, Symbol: btc(), Interval: market.Minute15, From: now - 20*86400, To: now})
			if err != nil || len(points) == 0 {
				t.Fatalf("%s: %d points, %v", name, len(points), err)
			}
			if points[0].T > now-20*86400 || now-points[len(points)-1].T > 8*3600 {
				t.Errorf("%s: from %d to %d of %d", name, points[0].T, points[len(points)-1].T, now)
			}
			if want := 20 * 96; name != string(market.FundingRate) && len(points) < want {
				t.Errorf("%s: %d points, want %d: pages were not followed", name, len(points), want)
			}
			// Beyond what the venue keeps there is nothing, and no error.
			if _, err := p.Series(t.Context(), provider.SeriesQuery{Name: name, Symbol: btc(), Interval: market.Week1, From: now - 400*86400, To: now}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if _, err := p.Series(t.Context(), provider.SeriesQuery{Name: name, Symbol: market.Symbol{Name: "NOSUCH"}, To: now}); fault.KindOf(err) != fault.NotFound {
				t.Errorf("%s of an unknown symbol: %v", name, err)
			}
			s.Next(fake.HalfJSON())
			if _, err := p.Series(t.Context(), provider.SeriesQuery{Name: name, Symbol: btc(), From: now - 86400, To: now}); fault.Of(err) == nil || fault.Of(err).Code != "bad_answer" {
				t.Errorf("%s with a wrong type: %v", name, err)
			}
		}
		if _, err := p.Series(t.Context(), provider.SeriesQuery{Name: "fear_greed"}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("a series it has not: %v", err)
		}
	})
}
