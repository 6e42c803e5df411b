package kraken_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"candela/internal/data/provider"
	"candela/internal/data/provider/kraken"
	"candela/internal/data/provider/providertest"
	"candela/internal/data/provider/venuetest"
	"candela/internal/data/upstream"
	"candela/internal/testkit/fake"
	venue "candela/internal/testkit/fake/kraken"
	"candela/lib/fault"
	"candela/lib/market"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func btc() market.Symbol { return market.Symbol{Name: "BTC/USD"} }

func within(t *testing.T, c venue.Config, fn func(*testing.T, *venue.Server, *kraken.Provider)) {
	t.Helper()
	connect := func(hosts *upstream.Hosts) *kraken.Provider {
		return kraken.New(hosts, kraken.Config{URL: venuetest.URL})
	}
	venuetest.Within(t, func() *venue.Server { return venue.New(c) }, connect, fn)
}

func TestProvider_KeepsTheContract(t *testing.T) {
	start := time.Date(2024, 6, 1, 12, 30, 0, 0, time.UTC)
	begun := time.Now()
	now := func() time.Time { return start.Add(time.Since(begun)) }
	network, stop := venuetest.Serve(&stamped{venue.New(venue.Config{Seed: 1, Now: now, Calls: 1e6}), now})
	defer stop()
	providertest.Run(t, providertest.Target{
		New: func(testing.TB) provider.Provider {
			return kraken.New(upstream.NewHosts(network.Dial), kraken.Config{URL: venuetest.URL, Spacing: time.Millisecond})
		},
		Symbol: btc(), Interval: market.Hour1, From: start.Unix() - 100*3600, To: start.Unix() - 40*3600,
		Unknown: market.Symbol{Name: "NO/SUCH"},
	})
}

// stamped answers with a date of its own.
type stamped struct {
	http.Handler
	now func() time.Time
}

func (s *stamped) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Date", s.now().UTC().Format(http.TimeFormat))
	s.Handler.ServeHTTP(w, r)
}

func TestInstrument_BySpellings(t *testing.T) {
	t.Parallel()
	within(t, venue.Config{}, func(t *testing.T, s *venue.Server, p *kraken.Provider) {
		t.Helper()
		for _, spelled := range []string{"BTC/USD", "BTC-USD", "BTCUSD", "XBTUSD", "XBT/USD", "XXBTZUSD"} {
			inst, err := p.Instrument(t.Context(), market.Symbol{Venue: "kraken", Name: spelled})
			if err != nil || inst.Symbol != (market.Symbol{Venue: "kraken", Name: "BTC/USD"}) || inst.Base != "BTC" ||
				inst.Tick.String() != "0.0001" || inst.Step.String() != "0.00000001" || inst.MinQuantity.String() != "0.0001" || inst.MinNotional.String() != "0.5" {
				t.Errorf("%s: %+v, %v", spelled, inst, err)
			}
		}
		if s.Asked() != 1 {
			t.Errorf("asked %d times", s.Asked())
		}
	})
}

// TestBars_APauseAskedForInsideAnAnswer holds that the venue is left alone though
// its refusal came with status 200.
func TestBars_APauseAskedForInsideAnAnswer(t *testing.T) {
	t.Parallel()
	within(t, venue.Config{}, func(t *testing.T, s *venue.Server, p *kraken.Provider) {
		t.Helper()
		q := provider.BarQuery{Symbol: btc(), Interval: market.Hour1, Limit: 1}
		if _, err := p.Bars(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		s.Next(venue.Errors("EGeneral:Too many requests"))
		asked := s.Asked()
		_, _ = p.Bars(t.Context(), q)
		begin := time.Now()
		if _, err := p.Bars(t.Context(), q); err != nil || time.Since(begin) < 14*time.Second || s.Asked() != asked+2 {
			t.Errorf("after %v and %d requests: %v", time.Since(begin), s.Asked()-asked, err)
		}
	})
}

func TestBars_NewestAndNoneBefore(t *testing.T) {
	t.Parallel()
	within(t, venue.Config{}, func(t *testing.T, _ *venue.Server, p *kraken.Provider) {
		t.Helper()
		page, err := p.Bars(t.Context(), provider.BarQuery{Symbol: btc(), Interval: market.Hour1})
		if err != nil || page.Bars.Len() != 720 || !page.Running || page.More {
			t.Errorf("%d bars, running %v, more %v, %v", page.Bars.Len(), page.Running, page.More, err)
		}
		old, err := p.Bars(t.Context(), provider.BarQuery{Symbol: btc(), Interval: market.Hour1, To: page.Bars.T[0]})
		if err != nil || old.Bars.Len() != 0 || old.More {
			t.Errorf("%d older bars, %v", old.Bars.Len(), err)
		}
	})
}

// TestFaults_NeverBecomeBars holds that whatever the venue sends in place of an
// answer is an error naming venue and symbol.
func TestFaults_NeverBecomeBars(t *testing.T) {
	t.Parallel()
	another := fake.Fault{Change: func(b []byte) []byte { return []byte(strings.Replace(string(b), "XXBTZUSD", "XETHZUSD", 1)) }}
	for name, tc := range venuetest.Faults(map[string]venuetest.Fault{
		"another pair":           venuetest.BadAnswer(another),
		"no result":              venuetest.BadAnswer(fake.Fault{Status: 200, Body: `{"error":[]}`}),
		"an empty result":        venuetest.BadAnswer(fake.Fault{Status: 200, Body: `{"error":[],"result":{}}`}),
		"an unknown pair":        venuetest.UnknownSymbol(venue.Errors("EQuery:Unknown asset pair")),
		"too many requests":      venuetest.Unavailable("rate_limited", venue.Errors("EGeneral:Too many requests")),
		"a service that is busy": venuetest.Unavailable("unavailable", venue.Errors("EService:Busy")),
		"another error":          venuetest.Unavailable("venue_refused", venue.Errors("EGeneral:Internal error")),
		"429":                    venuetest.Unavailable("rate_limited", fake.Fault{Status: 429, RetryAfter: time.Minute}),
	}) {
		within(t, venue.Config{}, func(t *testing.T, s *venue.Server, p *kraken.Provider) {
			t.Helper()
			if _, err := p.Instrument(t.Context(), btc()); err != nil {
				t.Fatal(err)
			}
			s.Always(&tc.Sent)
			tc.Check(t, name, p, btc())
		})
	}
}

func subs() []provider.Sub {
	return []provider.Sub{{Symbol: btc(), Interval: market.Minute1}, {Symbol: market.Symbol{Name: "ETHUSD"}, Interval: market.Minute5}}
}

func TestStream_EmitsEveryBarOnceAsItIsRead(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string]fake.StreamFaults{
		"a good line": {}, "a bad line": {Duplicate: 0.2, Reorder: 0.2, Late: 0.2},
	} {
		within(t, venue.Config{Seed: 3}, func(t *testing.T, s *venue.Server, p *kraken.Provider) {
			t.Helper()
			s.Feed.Set(faults)
			venuetest.EmitsWhatIsRead(t, name, p, subs(), 1)
		})
	}
}

func TestStream_ChangesAndLosses(t *testing.T) {
	t.Parallel()
	within(t, venue.Config{}, func(t *testing.T, s *venue.Server, p *kraken.Provider) {
		t.Helper()
		venuetest.ChangesAndIsCut(t, p, subs(), s.Feed.Drop)
		err := p.Stream(t.Context(), []provider.Sub{{Symbol: market.Symbol{Name: "NO/SUCH"}, Interval: market.Minute1}}, nil, nil)
		if fault.KindOf(err) != fault.NotFound {
			t.Errorf("an unknown pair: %v", err)
		}
		bad := providertest.Listen(t.Context(), p, subs()[:1])
		time.Sleep(time.Minute)
		s.Feed.Announce(`{"channel":"ohlc","type":"update","timestamp":"2023-10-04T16:26:30.524394914Z","data":[{"symbol":"BTC/USD","open":null}]}`)
		if err := <-bad.Done; fault.Of(err) == nil || fault.Of(err).Code != "bad_answer" {
			t.Errorf("a broken message ends with %v", err)
		}
	})
}
