package kraken_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"candela/internal/fake"
	venue "candela/internal/fake/kraken"
	"candela/internal/fault"
	"candela/internal/market"
	"candela/internal/provider"
	"candela/internal/provider/kraken"
	"candela/internal/provider/providertest"
	"candela/internal/upstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const address = "kraken.test:80"

func btc() market.Symbol { return market.Symbol{Name: "BTC/USD"} }

// within runs fn in virtual time against a fake venue.
func within(t *testing.T, c venue.Config, fn func(*testing.T, *venue.Server, *kraken.Provider)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		network, server := fake.NewNetwork(), venue.New(c)
		defer network.Serve(address, server)()
		p := kraken.New(upstream.NewHosts(network.Dial), kraken.Config{URL: "http://kraken.test"})
		defer p.Close() //nolint:errcheck // it has nothing to report
		time.Sleep(90 * time.Second)
		fn(t, server, p)
	})
}

func TestProvider_KeepsTheContract(t *testing.T) {
	start := time.Date(2024, 6, 1, 12, 30, 0, 0, time.UTC)
	begun := time.Now()
	now := func() time.Time { return start.Add(time.Since(begun)) }
	network := fake.NewNetwork()
	defer network.Serve(address, &stamped{venue.New(venue.Config{Seed: 1, Now: now, Calls: 1e6}), now})()
	providertest.Run(t, providertest.Target{
		New: func(testing.TB) provider.Provider {
			return kraken.New(upstream.NewHosts(network.Dial), kraken.Config{URL: "http://kraken.test", Spacing: time.Millisecond})
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
	for name, tc := range map[string]struct {
		fault fake.Fault
		kind  fault.Kind
		code  string
	}{
		"a page":                 {fake.Page(), fault.Unavailable, "bad_answer"},
		"a cut answer":           {fake.Truncated(), fault.Unavailable, "unavailable"},
		"half a document":        {fake.HalfJSON(), fault.Unavailable, "bad_answer"},
		"a wrong type":           {fake.Mistyped(), fault.Unavailable, "bad_answer"},
		"another pair":           {another, fault.Unavailable, "bad_answer"},
		"no result":              {fake.Fault{Status: 200, Body: `{"error":[]}`}, fault.Unavailable, "bad_answer"},
		"an empty result":        {fake.Fault{Status: 200, Body: `{"error":[],"result":{}}`}, fault.Unavailable, "bad_answer"},
		"an outage":              {fake.Fault{Status: 503}, fault.Unavailable, "unavailable"},
		"an unknown pair":        {venue.Errors("EQuery:Unknown asset pair"), fault.NotFound, "unknown_symbol"},
		"too many requests":      {venue.Errors("EGeneral:Too many requests"), fault.Unavailable, "rate_limited"},
		"a service that is busy": {venue.Errors("EService:Busy"), fault.Unavailable, "unavailable"},
		"another error":          {venue.Errors("EGeneral:Internal error"), fault.Unavailable, "venue_refused"},
		"429":                    {fake.Fault{Status: 429, RetryAfter: time.Minute}, fault.Unavailable, "rate_limited"},
	} {
		within(t, venue.Config{}, func(t *testing.T, s *venue.Server, p *kraken.Provider) {
			t.Helper()
			if _, err := p.Instrument(t.Context(), btc()); err != nil {
				t.Fatal(err)
			}
			s.Always(&tc.fault)
			page, err := p.Bars(t.Context(), provider.BarQuery{Symbol: btc(), Interval: market.Minute1, Limit: 3})
			f := fault.Of(err)
			if f == nil || f.Kind != tc.kind || f.Code != tc.code || page.Bars.Len() != 0 {
				t.Fatalf("%s: %d bars, %v", name, page.Bars.Len(), err)
			}
			if !strings.Contains(f.Message, "kraken") || !strings.Contains(f.Message, "BTC/USD") {
				t.Errorf("%s: %q names not both venue and symbol", name, f.Message)
			}
		})
	}
}

func subs() []provider.Sub {
	return []provider.Sub{{Symbol: btc(), Interval: market.Minute1}, {Symbol: market.Symbol{Name: "ETHUSD"}, Interval: market.Minute5}}
}

func TestStream_TellsEveryBarOnceAsItIsRead(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string]fake.StreamFaults{
		"a good line": {}, "a bad line": {Duplicate: 0.2, Reorder: 0.2, Late: 0.2},
	} {
		within(t, venue.Config{Seed: 3}, func(t *testing.T, s *venue.Server, p *kraken.Provider) {
			t.Helper()
			s.Feed.Set(faults)
			l := providertest.Listen(t.Context(), p, subs())
			time.Sleep(31 * time.Minute)
			synctest.Wait()
			events, err := l.End()
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: ends with %v", name, err)
			}
			if err := providertest.CheckEvents(subs(), events); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if len(events) == 0 || events[0].Kind != provider.Alive {
				t.Errorf("%s: of %d events the first does not say that the subscriptions are in force", name, len(events))
			}
			for _, sub := range subs() {
				closed := providertest.Closed(events, sub)
				if want := int(31 * 60 / sub.Interval.Seconds()); closed.Len() < want-1 {
					t.Errorf("%s: %v: %d of %d bars", name, sub, closed.Len(), want)
				}
				providertest.SameAsRead(t, p, sub, closed)
			}
		})
	}
}

func TestStream_ChangesAndLosses(t *testing.T) {
	t.Parallel()
	within(t, venue.Config{}, func(t *testing.T, s *venue.Server, p *kraken.Provider) {
		t.Helper()
		both := subs()
		l := providertest.Listen(t.Context(), p, both[:1])
		time.Sleep(5 * time.Minute)
		l.Changes <- provider.Change{Add: both[1:], Drop: both[:1]}
		synctest.Wait()
		before := l.Seen()
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		s.Feed.Drop()
		if err := <-l.Done; fault.KindOf(err) != fault.Unavailable {
			t.Errorf("a cut stream ends with %v", err)
		}
		if err := providertest.CheckEvents(both, l.Events); err != nil {
			t.Error(err)
		}
		if n := providertest.Closed(l.Events, both[1]).Len(); n < 1 {
			t.Errorf("%d bars of what was added", n)
		}
		for _, e := range l.Events[before:] {
			if e.Sub == both[0] {
				t.Errorf("after the drop came %+v", e)
			}
		}
		err := p.Stream(t.Context(), []provider.Sub{{Symbol: market.Symbol{Name: "NO/SUCH"}, Interval: market.Minute1}}, nil)
		if fault.KindOf(err) != fault.NotFound {
			t.Errorf("an unknown pair: %v", err)
		}
		bad := providertest.Listen(t.Context(), p, both[:1])
		time.Sleep(time.Minute)
		s.Feed.Announce(`{"channel":"ohlc","type":"update","timestamp":"2023-10-04T16:26:30.524394914Z","data":[{"symbol":"BTC/USD","open":null}]}`)
		if err := <-bad.Done; fault.Of(err) == nil || fault.Of(err).Code != "bad_answer" {
			t.Errorf("a broken message ends with %v", err)
		}
	})
}
