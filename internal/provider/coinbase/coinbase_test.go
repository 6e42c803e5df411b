package coinbase_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"candela/internal/fake"
	venue "candela/internal/fake/coinbase"
	"candela/internal/fault"
	"candela/internal/market"
	"candela/internal/provider"
	"candela/internal/provider/coinbase"
	"candela/internal/provider/providertest"
	"candela/internal/upstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const address = "coinbase.test:80"

func btc() market.Symbol { return market.Symbol{Name: "BTC-USD"} }

func connect(n *fake.Network) *coinbase.Provider {
	return coinbase.New(upstream.NewHosts(n.Dial), coinbase.Config{URL: "http://coinbase.test"})
}

// within runs fn in virtual time against a fake venue.
func within(t *testing.T, c venue.Config, fn func(*testing.T, *venue.Server, *coinbase.Provider)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		network, server := fake.NewNetwork(), venue.New(c)
		defer network.Serve(address, server)()
		p := connect(network)
		defer p.Close() //nolint:errcheck // it has nothing to report
		time.Sleep(90 * time.Second)
		fn(t, server, p)
	})
}

func TestProvider_KeepsTheContract(t *testing.T) {
	network := fake.NewNetwork()
	defer network.Serve(address, venue.New(venue.Config{Seed: 1}))()
	providertest.Run(t, providertest.Target{
		New: func(testing.TB) provider.Provider {
			return coinbase.New(upstream.NewHosts(network.Dial), coinbase.Config{URL: "http://coinbase.test", PerSecond: 100_000})
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
	for name, tc := range map[string]struct {
		fault fake.Fault
		kind  fault.Kind
		code  string
	}{
		"a page":               {fake.Page(), fault.Unavailable, "bad_answer"},
		"a cut answer":         {fake.Truncated(), fault.Unavailable, "unavailable"},
		"half a document":      {fake.HalfJSON(), fault.Unavailable, "bad_answer"},
		"a wrong type":         {fake.Mistyped(), fault.Unavailable, "bad_answer"},
		"oldest first":         {fake.Fault{Status: 200, Body: `[[60,1,1,1,1,1],[120,1,1,1,1,1]]`}, fault.Unavailable, "bad_answer"},
		"another grid":         {fake.Fault{Status: 200, Body: `[[61,1,1,1,1,1]]`}, fault.Unavailable, "bad_answer"},
		"open, high, low":      {fake.Fault{Status: 200, Body: `[[60,2,3,1,2,1]]`}, fault.Unavailable, "bad_answer"},
		"an object for a list": {fake.Fault{Status: 200, Body: `{"message":"x"}`}, fault.Unavailable, "bad_answer"},
		"an outage":            {fake.Fault{Status: 503}, fault.Unavailable, "unavailable"},
		"an unknown product":   {venue.Message(404, "NotFound"), fault.NotFound, "unknown_symbol"},
		"a refusal":            {venue.Message(400, "granularity too small"), fault.Unavailable, "venue_refused"},
		"over the limit":       {venue.Message(429, "Public rate limit exceeded"), fault.Unavailable, "rate_limited"},
	} {
		within(t, venue.Config{}, func(t *testing.T, s *venue.Server, p *coinbase.Provider) {
			t.Helper()
			s.Always(&tc.fault)
			page, err := p.Bars(t.Context(), provider.BarQuery{Symbol: btc(), Interval: market.Minute1, Limit: 3})
			f := fault.Of(err)
			if f == nil || f.Kind != tc.kind || f.Code != tc.code || page.Bars.Len() != 0 {
				t.Fatalf("%s: %d bars, %v", name, page.Bars.Len(), err)
			}
			if !strings.Contains(f.Message, "coinbase") || !strings.Contains(f.Message, "BTC-USD") {
				t.Errorf("%s: %q names not both venue and symbol", name, f.Message)
			}
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
				// The bar in which the stream begins is never whole.
				if want := float64(31*60/sub.Interval.Seconds()-1) * tc.share; float64(closed.Len()) < want {
					t.Errorf("%s: %v: %d of %v bars", name, sub, closed.Len(), want)
				}
				providertest.SameAsRead(t, p, sub, closed)
			}
		})
	}
}

func TestStream_ChangesAndLosses(t *testing.T) {
	t.Parallel()
	within(t, venue.Config{}, func(t *testing.T, s *venue.Server, p *coinbase.Provider) {
		t.Helper()
		all := subs()
		l := providertest.Listen(t.Context(), p, all[:1])
		time.Sleep(5 * time.Minute)
		l.Changes <- provider.Change{Add: all[1:], Drop: all[:1]}
		synctest.Wait()
		before := l.Seen()
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		s.Feed.Drop()
		if err := <-l.Done; fault.KindOf(err) != fault.Unavailable {
			t.Errorf("a cut stream ends with %v", err)
		}
		if err := providertest.CheckEvents(all, l.Events); err != nil {
			t.Error(err)
		}
		for _, sub := range all[1:] {
			if n := providertest.Closed(l.Events, sub).Len(); n < 1 {
				t.Errorf("%v: %d bars of what was added", sub, n)
			}
		}
		for _, e := range l.Events[before:] {
			if e.Sub == all[0] {
				t.Errorf("after the drop came %+v", e)
			}
		}
		unknown := []provider.Sub{{Symbol: market.Symbol{Name: "NO-SUCH"}, Interval: market.Minute1}}
		if err := p.Stream(t.Context(), unknown, nil); fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "NO-SUCH") {
			t.Errorf("an unknown product: %v", err)
		}
		bad := providertest.Listen(t.Context(), p, all[:1])
		time.Sleep(time.Minute)
		s.Feed.Announce(`{"type":"match","product_id":"BTC-USD","price":400}`)
		if err := <-bad.Done; fault.Of(err) == nil || fault.Of(err).Code != "bad_answer" || !strings.Contains(err.Error(), "coinbase") {
			t.Errorf("a broken message ends with %v", err)
		}
	})
}
