package yahoo_test

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/data/provider"
	"candela/internal/data/provider/providertest"
	"candela/internal/data/provider/yahoo"
	"candela/internal/data/upstream"
	"candela/internal/testkit/fake"
	fakeyahoo "candela/internal/testkit/fake/yahoo"
	"candela/lib/fault"
	"candela/lib/market"
)

// The tests stand at a Wednesday noon in New York, in session; 2025-07-04 was a
// Friday without one.
func noon() time.Time { return time.Date(2025, time.July, 9, 16, 2, 11, 0, time.UTC) }

func unix(year int, month time.Month, date, hour, minute int) int64 {
	return time.Date(year, month, date, hour, minute, 0, 0, time.UTC).Unix()
}

// closing is a provider that closes its connections with itself.
type closing struct {
	*yahoo.Provider
	hosts *upstream.Hosts
	web   *httptest.Server
}

func (c closing) Close() error {
	err := c.hosts.Close()
	c.web.Close()
	return err
}

// open returns a provider over a fake on a loopback port.
func open(tb testing.TB, now func() time.Time) (closing, *fakeyahoo.Server) {
	tb.Helper()
	venue := fakeyahoo.New(fakeyahoo.Config{Now: now, Seed: 7})
	return connect(venue, now), venue
}

// connect returns a provider over a fake, on a port of its own.
func connect(venue *fakeyahoo.Server, now func() time.Time) closing {
	web := httptest.NewServer(venue)
	hosts := upstream.NewHosts(nil)
	return closing{yahoo.New(hosts, yahoo.Config{URL: web.URL, Now: now}), hosts, web}
}

func sym(name string) market.Symbol { return market.Symbol{Name: name} }

func TestProvider_Contract(t *testing.T) {
	venue := fakeyahoo.New(fakeyahoo.Config{Now: noon, Seed: 7}) // one, since its prices take a while to make up
	for name, tc := range map[string]providertest.Target{
		"hours of a stock":        {Symbol: sym("AAPL"), Interval: market.Hour1, From: unix(2025, 6, 30, 13, 30), To: unix(2025, 7, 8, 13, 30)},
		"minutes of a stock":      {Symbol: sym("BRK-B"), Interval: market.Minute1, From: unix(2025, 7, 3, 19, 30), To: unix(2025, 7, 7, 14, 0)},
		"days of an index":        {Symbol: sym("^GSPC"), Interval: market.Day1, From: unix(2025, 5, 1, 0, 0), To: unix(2025, 7, 8, 0, 0)},
		"weeks of a stock":        {Symbol: sym("AAPL"), Interval: market.Week1, From: unix(2024, 10, 1, 0, 0), To: unix(2025, 7, 1, 0, 0)},
		"months of a stock":       {Symbol: sym("AAPL"), Interval: market.Month1, From: unix(2022, 2, 10, 0, 0), To: unix(2025, 2, 2, 0, 0)},
		"half hours of London":    {Symbol: sym("VOD.L"), Interval: market.Minute30, From: unix(2025, 6, 30, 0, 0), To: unix(2025, 7, 3, 0, 0)},
		"hours of a currency":     {Symbol: sym("EURUSD=X"), Interval: market.Hour1, From: unix(2025, 7, 3, 12, 0), To: unix(2025, 7, 7, 12, 0)},
		"quarter hours of a coin": {Symbol: sym("BTC-USD"), Interval: market.Minute15, From: unix(2025, 7, 8, 0, 0), To: unix(2025, 7, 8, 9, 0)},
		"weeks of a coin":         {Symbol: market.Symbol{Venue: "yahoo", Name: "BTC-USD"}, Interval: market.Week1, From: unix(2024, 10, 1, 0, 0), To: unix(2025, 7, 1, 0, 0)},
	} {
		tc.Unknown = sym("NOSUCH")
		tc.New = func(tb testing.TB) provider.Provider {
			tb.Helper()
			return connect(venue, noon)
		}
		t.Run(name, func(t *testing.T) { providertest.Run(t, tc) })
	}
}

// TestBars_EqualWhatWasTraded compares every interval with the tape of the fake.
func TestBars_EqualWhatWasTraded(t *testing.T) {
	t.Parallel()
	p, venue := open(t, noon)
	t.Cleanup(func() { _ = p.Close() })
	for _, name := range []string{"AAPL", "VOD.L", "EURUSD=X", "BTC-USD"} {
		tape := venue.Tape(name)
		for _, i := range p.Capabilities().Intervals {
			page, err := p.Bars(t.Context(), provider.BarQuery{Symbol: sym(name), Interval: i, Limit: 60})
			if err != nil {
				t.Fatal(name, i, err)
			}
			span, _ := tape.Calendar.Bucket(i, page.Bars.T[page.Bars.Len()-1])
			if running := span.Close > noon().Unix(); page.Bars.Len() != 60 || page.Running != running || !page.More {
				t.Errorf("%s %v: %d bars, running %v, more %v", name, i, page.Bars.Len(), page.Running, page.More)
				continue
			}
			want := tape.Bars(i, page.Bars.T[0], math.MaxInt64, noon().Unix())
			for k := range want.T {
				bar := want.At(k)
				if name == "EURUSD=X" {
					bar.V = 0
				}
				if got := page.Bars.At(k); !got.Equal(bar) {
					t.Errorf("%s %v: bar %d is %+v, want %+v", name, i, k, got, bar)
					break
				}
			}
		}
	}
}

// TestBars_LastHourOfADay looks at the hours of a day after its close.
func TestBars_LastHourOfADay(t *testing.T) {
	t.Parallel()
	night := func() time.Time { return time.Unix(unix(2025, 7, 8, 23, 0), 0) }
	p, _ := open(t, night)
	t.Cleanup(func() { _ = p.Close() })
	page, err := p.Bars(t.Context(), provider.BarQuery{Symbol: sym("AAPL"), Interval: market.Hour1, Limit: 8})
	if err != nil {
		t.Fatal(err)
	}
	n := page.Bars.Len()
	if n != 8 || page.Running || page.Bars.T[n-1] != unix(2025, 7, 8, 19, 30) || page.Bars.T[n-7] != unix(2025, 7, 8, 13, 30) || page.Bars.T[0] != unix(2025, 7, 7, 19, 30) {
		t.Errorf("hours %v, running %v", page.Bars.T, page.Running)
	}
}

// TestBars_BeyondWhatIsKept asks for minutes of last year and for days before
// the first.
func TestBars_BeyondWhatIsKept(t *testing.T) {
	t.Parallel()
	p, _ := open(t, noon)
	t.Cleanup(func() { _ = p.Close() })
	for _, q := range []provider.BarQuery{
		{Symbol: sym("AAPL"), Interval: market.Minute1, From: unix(2024, 1, 2, 0, 0), To: unix(2024, 2, 2, 0, 0)},
		{Symbol: sym("AAPL"), Interval: market.Day1, To: unix(2010, 1, 2, 0, 0)},
	} {
		page, err := p.Bars(t.Context(), q)
		if err != nil || page.Bars.Len() != 0 || page.More {
			t.Errorf("%v: %d bars, more %v, %v", q.Interval, page.Bars.Len(), page.More, err)
		}
	}
	q := provider.BarQuery{Symbol: sym("AAPL"), Interval: market.Minute5, From: unix(2024, 1, 2, 0, 0), Limit: 3}
	page, err := p.Bars(t.Context(), q)
	if err != nil || page.Bars.Len() != 3 || page.Bars.T[0] < noon().Unix()-60*86400 {
		t.Errorf("from before the reach: %v, %v", page.Bars.T, err)
	}
}

// TestBars_AllOfTheHistory reads back to the first trade, in pages. The listing
// was on a Wednesday: its week and month are short and there.
func TestBars_AllOfTheHistory(t *testing.T) {
	t.Parallel()
	p, venue := open(t, noon)
	t.Cleanup(func() { _ = p.Close() })
	for i, limit := range map[market.Interval]int{market.Day1: 700, market.Week1: 100, market.Month1: 30} {
		q := provider.BarQuery{Symbol: sym("AAPL"), Interval: i, Limit: limit}
		total, oldest := 0, market.Bar{}
		for range 10 {
			page, err := p.Bars(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			if total += page.Bars.Len(); page.Bars.Len() > 0 {
				oldest = page.Bars.At(0)
			}
			if !page.More {
				break
			}
			q = q.Following(page)
		}
		all := venue.Tape("AAPL").Bars(i, math.MinInt64, math.MaxInt64, noon().Unix())
		if total != all.Len() || !oldest.Equal(all.At(0)) {
			t.Errorf("%v: %d bars, want %d; the oldest is %+v, want %+v", i, total, all.Len(), oldest, all.At(0))
		}
	}
}

// TestFaults_NameVenueAndSymbol switches every fault on: an error, never a bar.
func TestFaults_NameVenueAndSymbol(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fault fakeyahoo.Fault
		code  string
		words string
	}{
		"a page with 200":  {fakeyahoo.HTML, "bad_answer", "not JSON"},
		"half an answer":   {fakeyahoo.Truncated, "bad_answer", "not a chart"},
		"prices as text":   {fakeyahoo.WrongTypes, "bad_answer", "not a chart"},
		"another symbol":   {fakeyahoo.OtherSymbol, "bad_answer", `"ZZZZ"`},
		"another interval": {fakeyahoo.OtherBars, "bad_answer", `"3mo"`},
		"turned away":      {fakeyahoo.Unwanted, "venue_refused", "401"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, venue := open(t, noon)
			t.Cleanup(func() { _ = p.Close() })
			if _, err := p.Instrument(t.Context(), sym("AAPL")); err != nil {
				t.Fatal(err)
			}
			venue.SetFault(tc.fault)
			for _, symbol := range []string{"AAPL", "MSFT"} { // known and not yet known
				page, err := p.Bars(t.Context(), provider.BarQuery{Symbol: sym(symbol), Interval: market.Hour1})
				f := fault.Of(err)
				if f == nil || f.Code != tc.code || page.Bars.Len() != 0 {
					t.Fatalf("%d bars, %v", page.Bars.Len(), err)
				}
				for _, word := range []string{"yahoo", symbol, tc.words} {
					if !strings.Contains(f.Message, word) {
						t.Errorf("%q does not name %q", f.Message, word)
					}
				}
			}
			venue.SetFault(fakeyahoo.None)
			if _, err := p.Bars(t.Context(), provider.BarQuery{Symbol: sym("AAPL"), Interval: market.Hour1}); err != nil {
				t.Errorf("it does not recover: %v", err)
			}
		})
	}
}

func TestFaults_NullsAreHoles(t *testing.T) {
	t.Parallel()
	p, venue := open(t, noon)
	t.Cleanup(func() { _ = p.Close() })
	q := provider.BarQuery{Symbol: sym("AAPL"), Interval: market.Hour1, From: unix(2025, 7, 7, 13, 30), To: unix(2025, 7, 8, 13, 30)}
	whole, err := p.Bars(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	venue.SetFault(fakeyahoo.Nulls)
	holed, err := p.Bars(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if whole.Bars.Len() != 7 || holed.Bars.Len() != 3 {
		t.Errorf("%d bars, with holes %d", whole.Bars.Len(), holed.Bars.Len())
	}
	for i := range holed.Bars.T {
		if k := whole.Bars.Search(holed.Bars.T[i]); !holed.Bars.At(i).Equal(whole.Bars.At(k)) {
			t.Errorf("bar %d changed", i)
		}
	}
}

// TestThrottled waits out a storm of 429 in virtual time.
func TestThrottled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := fake.NewNetwork()
		venue := fakeyahoo.New(fakeyahoo.Config{Now: time.Now})
		stop := network.Serve("yahoo:80", venue)
		defer stop()
		hosts := upstream.NewHosts(network.Dial)
		defer func() { _ = hosts.Close() }()
		p := yahoo.New(hosts, yahoo.Config{URL: "http://yahoo", Now: time.Now})
		time.Sleep(time.Until(noon()))
		q := provider.BarQuery{Symbol: sym("AAPL"), Interval: market.Day1, Limit: 5}
		if _, err := p.Bars(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		venue.SetFault(fakeyahoo.Throttled)
		_, err := p.Bars(t.Context(), q)
		f := fault.Of(err)
		if f == nil || f.Code != "rate_limited" || !f.Retryable || f.RetryAfter <= 0 || !strings.Contains(f.Message, "yahoo AAPL") {
			t.Fatalf("got %v", err)
		}
		before := venue.Requests()
		for range 100 {
			if _, err := p.Bars(t.Context(), q); err == nil {
				t.Fatal("no error while the venue refuses")
			}
		}
		if more := venue.Requests() - before; more > 3 {
			t.Errorf("%d requests during the pause it asked for", more)
		}
		venue.SetFault(fakeyahoo.None)
		time.Sleep(10 * time.Minute)
		if _, err := p.Bars(t.Context(), q); err != nil {
			t.Errorf("it does not recover: %v", err)
		}
	})
}

func TestInstrument(t *testing.T) {
	t.Parallel()
	p, venue := open(t, noon)
	t.Cleanup(func() { _ = p.Close() })
	for name, tc := range map[string]struct {
		base, quote, zone string
		clock             bool
	}{
		"AAPL":     {"AAPL", "USD", "America/New_York", false},
		"^GSPC":    {"", "USD", "America/New_York", false},
		"VOD.L":    {"VOD.L", "GBp", "Europe/London", false},
		"EURUSD=X": {"EUR", "USD", "Europe/London", false},
		"BTC-USD":  {"BTC", "USD", "UTC", true},
	} {
		in, err := p.Instrument(t.Context(), sym(name))
		if err != nil {
			t.Fatal(err)
		}
		if in.Base != tc.base || in.Quote != tc.quote || in.Calendar.Zone().String() != tc.zone || in.Calendar.RoundTheClock() != tc.clock {
			t.Errorf("%s: %+v", name, in)
		}
	}
	before := venue.Requests()
	if _, err := p.Instrument(t.Context(), market.Symbol{Venue: "yahoo", Name: "AAPL"}); err != nil || venue.Requests() != before {
		t.Errorf("it asks again: %v", err)
	}
}

func TestUnknownSymbol_Suggests(t *testing.T) {
	t.Parallel()
	p, _ := open(t, noon)
	t.Cleanup(func() { _ = p.Close() })
	for name, want := range map[string]string{
		"BRK.B": "BRK-B", "BRK/B": "BRK-B", "EURUSD": "EURUSD=X", "BTCUSD": "BTC-USD", "BTC/USD": "BTC-USD", "SPX": "^GSPC", "QQQQQ": "",
	} {
		_, err := p.Bars(t.Context(), provider.BarQuery{Symbol: sym(name), Interval: market.Day1})
		f := fault.Of(err)
		if f == nil || f.Kind != fault.NotFound || strings.Join(f.Suggestions, " ") != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := p.Instrument(t.Context(), market.Symbol{Venue: "binance", Name: "AAPL"})
	if fault.KindOf(err) != fault.NotFound {
		t.Errorf("a symbol of another venue: %v", err)
	}
}

// TestRangeRefused meets a venue that keeps less than it used to.
func TestRangeRefused(t *testing.T) {
	t.Parallel()
	venue := fakeyahoo.New(fakeyahoo.Config{Now: noon})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("period1") == "" {
			venue.ServeHTTP(w, r)
			return
		}
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = w.Write([]byte(`{"chart":{"result":null,"error":{"code":"Unprocessable Entity","description":"The requested range must be within the last 2 days."}}}`))
	}))
	t.Cleanup(web.Close)
	hosts := upstream.NewHosts(nil)
	t.Cleanup(func() { _ = hosts.Close() })
	p := yahoo.New(hosts, yahoo.Config{URL: web.URL, Now: noon})
	_, err := p.Bars(t.Context(), provider.BarQuery{Symbol: sym("AAPL"), Interval: market.Minute1})
	f := fault.Of(err)
	if f == nil || f.Code != "range_refused" || f.Retryable || !strings.Contains(f.Message, "within the last 2 days") {
		t.Errorf("got %v", err)
	}
	if e, ok := errors.AsType[*upstream.Error](err); !ok || e.Status != http.StatusUnprocessableEntity {
		t.Errorf("the status is lost: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Instrument(ctx, sym("AAPL")); !errors.Is(err, context.Canceled) {
		t.Errorf("a known instrument is returned to a caller who left: %v", err)
	}
}
