package coinbase_test

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"candela/internal/data/provider"
	"candela/internal/data/provider/coinbase"
	"candela/internal/data/provider/providertest"
	"candela/internal/data/provider/venuetest"
	"candela/internal/data/upstream"
	"candela/internal/testkit/fake"
	venue "candela/internal/testkit/fake/coinbase"
	"candela/lib/fault"
	"candela/lib/market"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func btc() market.Symbol { return market.Symbol{Name: "BTC-USD"} }

func within(t *testing.T, c venue.Config, fn func(*testing.T, *venue.Server, *coinbase.Provider)) {
	t.Helper()
	connect := func(hosts *upstream.Hosts) *coinbase.Provider {
		return coinbase.New(hosts, coinbase.Config{URL: venuetest.URL})
	}
	venuetest.Within(t, func() *venue.Server { return venue.New(c) }, connect, fn)
}

func TestProvider_KeepsTheContract(t *testing.T) {
	network, stop := venuetest.Serve(venue.New(venue.Config{Seed: 1}))
	defer stop()
	providertest.Run(t, providertest.Target{
		New: func(testing.TB) provider.Provider {
			return coinbase.New(upstream.NewHosts(network.Dial), coinbase.Config{URL: venuetest.URL, PerSecond: 100_000})
		},
		Symbol: btc(), Interval: market.Hour1, From: 1717200000, To: 1717200000 + 60*3600,
		Unknown: market.Symbol{Name: "NO-SUCH"},
	})
}

func TestBars_PagesOverTheLimit(t *testing.T) {
	t.Parallel()
	within(t, venue.Config{}, func(t *testing.T, _ *venue.Server, p *coinbase.Provider) {
		t.Helper()
		now := time.Now().Unix()
		for name, q := range map[string]provider.BarQuery{
			"forward":  {Symbol: btc(), Interval: market.Minute1, From: now - 1000*60},
			"backward": {Symbol: btc(), Interval: market.Minute1},
		} {
			seen := map[int64]bool{}
			page, err := p.Bars(t.Context(), q)
			for n := 0; n < 4 && err == nil; n++ {
				for _, at := range page.Bars.T {
					seen[at] = true
				}
				if !page.More {
					break
				}
				q = q.Following(page)
				page, err = p.Bars(t.Context(), q)
			}
			if err != nil || len(seen) < 1000 {
				t.Errorf("%s: %d bars, %v", name, len(seen), err)
			}
		}
		page, err := p.Bars(t.Context(), provider.BarQuery{Symbol: btc(), Interval: market.Minute1, Limit: 2})
		if err != nil || !page.Running || page.Bars.T[1] != now/60*60 {
			t.Errorf("%+v, %v", page, err)
		}
	})
}

func TestInstrument_BySpellings(t *testing.T) {
	t.Parallel()
	within(t, venue.Config{}, func(t *testing.T, s *venue.Server, p *coinbase.Provider) {
		t.Helper()
		for _, spelled := range []string{"BTC-USD", "BTC/USD", "BTCUSD"} {
			inst, err := p.Instrument(t.Context(), market.Symbol{Venue: "coinbase", Name: spelled})
			if err != nil || inst.Symbol != (market.Symbol{Venue: "coinbase", Name: "BTC-USD"}) || inst.Base != "BTC" || inst.Quote != "USD" ||
				inst.Tick.String() != "0.0001" || inst.Step.String() != "0.00000001" || inst.MinNotional.String() != "1" {
				t.Errorf("%s: %+v, %v", spelled, inst, err)
			}
		}
		if s.Asked() != 1 {
			t.Errorf("asked %d times", s.Asked())
		}
		for _, wrong := range []string{"^GSPC", "AAPL", "EURUSD=X", "-", "BTC-USD-X"} {
			if _, err := p.Instrument(t.Context(), market.Symbol{Name: wrong}); fault.KindOf(err) != fault.NotFound {
				t.Errorf("%s: %v", wrong, err)
			}
		}
	})
}

// TestFaults_NeverBecomeBars holds that whatever the venue sends in place of an
// answer is an error naming venue and symbol.
func TestFaults_NeverBecomeBars(t *testing.T) {
	t.Parallel()
	for name, tc := range venuetest.Faults(map[string]venuetest.Fault{
		"oldest first":         venuetest.BadAnswer(fake.Fault{Status: 200, Body: `[[60,1,1,1,1,1],[120,1,1,1,1,1]]`}),
		"another grid":         venuetest.BadAnswer(fake.Fault{Status: 200, Body: `[[61,1,1,1,1,1]]`}),
		"open, high, low":      venuetest.BadAnswer(fake.Fault{Status: 200, Body: `[[60,2,3,1,2,1]]`}),
		"an object for a list": venuetest.BadAnswer(fake.Fault{Status: 200, Body: `{"message":"x"}`}),
		"an unknown product":   venuetest.UnknownSymbol(venue.Message(404, "NotFound")),
		"a refusal":            venuetest.Unavailable("venue_refused", venue.Message(400, "granularity too small")),
		"over the limit":       venuetest.Unavailable("rate_limited", venue.Message(429, "Public rate limit exceeded")),
	}) {
		within(t, venue.Config{}, func(t *testing.T, s *venue.Server, p *coinbase.Provider) {
			t.Helper()
			s.Always(&tc.Sent)
			tc.Check(t, name, p, btc())
		})
	}
}

func subs() []provider.Sub {
	return []provider.Sub{
		{Symbol: btc(), Interval: market.Minute1},
		{Symbol: btc(), Interval: market.Minute5},
		{Symbol: market.Symbol{Name: "ETHUSD"}, Interval: market.Minute5},
	}
}

func TestStream_BuildsEveryBarAsItIsRead(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		faults fake.StreamFaults
		share  float64 // of the bars that must come through
	}{
		"a good line": {fake.StreamFaults{}, 1}, "a bad line": {fake.StreamFaults{Duplicate: 0.2, Reorder: 0.2, Late: 0.2}, 1},
		"a line that loses": {fake.StreamFaults{Lose: 0.003}, 0.15},
	} {
		within(t, venue.Config{Seed: 3}, func(t *testing.T, s *venue.Server, p *coinbase.Provider) {
			t.Helper()
			s.Feed.Set(tc.faults)
			venuetest.EmitsWhatIsRead(t, name, p, subs(), tc.share)
		})
	}
}

func TestStream_ChangesAndLosses(t *testing.T) {
	t.Parallel()
	within(t, venue.Config{}, func(t *testing.T, s *venue.Server, p *coinbase.Provider) {
		t.Helper()
		venuetest.ChangesAndIsCut(t, p, subs(), s.Feed.Drop)
		unknown := []provider.Sub{{Symbol: market.Symbol{Name: "NO-SUCH"}, Interval: market.Minute1}}
		if err := p.Stream(t.Context(), unknown, nil, nil); fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "NO-SUCH") {
			t.Errorf("an unknown product: %v", err)
		}
		bad := providertest.Listen(t.Context(), p, subs()[:1])
		time.Sleep(time.Minute)
		s.Feed.Announce(`{"type":"match","product_id":"BTC-USD","price":400}`)
		if err := <-bad.Done; fault.Of(err) == nil || fault.Of(err).Code != "bad_answer" || !strings.Contains(err.Error(), "coinbase") {
			t.Errorf("a broken message ends with %v", err)
		}
	})
}
