package alpaca_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/data/provider"
	"candela/internal/data/provider/alpaca"
	"candela/internal/data/provider/providertest"
	"candela/internal/data/upstream"
	"candela/internal/testkit/fake"
	fakealpaca "candela/internal/testkit/fake/alpaca"
	"candela/lib/fault"
	"candela/lib/market"
)

// The tests stand at a Wednesday noon in New York; 2025-07-04 was a Friday
// without trading.
func noon() time.Time { return time.Date(2025, time.July, 9, 16, 2, 11, 0, time.UTC) }

func unix(month time.Month, date, hour, minute int) int64 {
	return time.Date(2025, month, date, hour, minute, 0, 0, time.UTC).Unix()
}

func sym(name string) market.Symbol { return market.Symbol{Name: name} }

// closing is a provider that closes its connections with itself.
type closing struct {
	*alpaca.Provider
	hosts *upstream.Hosts
	web   *httptest.Server
}

func (c closing) Close() error {
	err := c.hosts.Close()
	c.web.Close()
	return err
}

// open returns a provider over a fake on a loopback port.
func open(tb testing.TB, rows int, change func(*alpaca.Config)) (closing, *fakealpaca.Server) {
	tb.Helper()
	venue := fakealpaca.New(fakealpaca.Config{Now: noon, Seed: 7, PageRows: rows})
	return connect(venue, change), venue
}

// connect returns a provider over a fake, on a port of its own.
func connect(venue *fakealpaca.Server, change func(*alpaca.Config)) closing {
	web := httptest.NewServer(venue)
	hosts := upstream.NewHosts(nil)
	c := alpaca.Config{Keys: alpaca.NewKeys(fakealpaca.KeyID, fakealpaca.Secret), URL: web.URL, DataURL: web.URL, StreamURL: "ws" + strings.TrimPrefix(web.URL, "http"), Now: noon}
	if change != nil {
		change(&c)
	}
	return closing{alpaca.New(hosts, c), hosts, web}
}

func TestProvider_Contract(t *testing.T) {
	for name, tc := range map[string]struct {
		target providertest.Target
		rows   int
	}{
		"five minutes over a holiday": {providertest.Target{Symbol: sym("AAPL"), Interval: market.Minute5, From: unix(7, 3, 18, 0), To: unix(7, 7, 15, 0)}, 0},
		"minutes in short pages":      {providertest.Target{Symbol: sym("BRK.B"), Interval: market.Minute1, From: unix(7, 8, 19, 30), To: unix(7, 9, 14, 0)}, 400},
		"days":                        {providertest.Target{Symbol: market.Symbol{Venue: "alpaca", Name: "PENNY"}, Interval: market.Day1, From: unix(5, 1, 0, 0), To: unix(7, 8, 0, 0)}, 0},
	} {
		tc.target.Unknown = sym("NOSUCH")
		venue := fakealpaca.New(fakealpaca.Config{Now: noon, Seed: 7, PageRows: tc.rows}) // one, since its prices take a while to make up
		venue.SetUnlimited()
		tc.target.New = func(tb testing.TB) provider.Provider {
			tb.Helper()
			return connect(venue, nil)
		}
		t.Run(name, func(t *testing.T) { providertest.Run(t, tc.target) })
	}
}

// TestBars_EqualWhatWasTraded compares every interval with the tape of the fake,
// over short pages, in both directions.
func TestBars_EqualWhatWasTraded(t *testing.T) {
	t.Parallel()
	p, venue := open(t, 73, nil)
	t.Cleanup(func() { _ = p.Close() })
	for _, i := range p.Capabilities().Intervals {
		page, err := p.Bars(t.Context(), provider.BarQuery{Symbol: sym("AAPL"), Interval: i, Limit: 50})
		if err != nil {
			t.Fatal(i, err)
		}
		if page.Bars.Len() != 50 || !page.Running || !page.More || page.Next != page.Bars.T[0] {
			t.Errorf("%v: %d bars, running %v, more %v", i, page.Bars.Len(), page.Running, page.More)
			continue
		}
		want := venue.Bars("AAPL", i, page.Bars.T[0], noon().Unix())
		for k := range want.T {
			if got := page.Bars.At(k); !got.Equal(want.At(k)) {
				t.Errorf("%v: bar %d is %+v, want %+v", i, k, got, want.At(k))
				break
			}
		}
		forward, err := p.Bars(t.Context(), provider.BarQuery{Symbol: sym("AAPL"), Interval: i, From: page.Bars.T[0], Limit: 50})
		if err != nil || forward.Bars.Len() != 50 || !forward.Running || forward.More {
			t.Errorf("%v forward: %d bars, running %v, more %v, %v", i, forward.Bars.Len(), forward.Running, forward.More, err)
		}
	}
}

func TestBars_DelayedFeedEndsWhereItKnows(t *testing.T) {
	t.Parallel()
	p, _ := open(t, 0, func(c *alpaca.Config) { c.Feed = alpaca.DelayedSIP })
	t.Cleanup(func() { _ = p.Close() })
	page, err := p.Bars(t.Context(), provider.BarQuery{Symbol: sym("AAPL"), Interval: market.Minute30, Limit: 3})
	if err != nil {
		t.Fatal(err)
	}
	// At 16:02 the feed is at 15:47: the half hour from 15:30 is not over.
	if last := page.Bars.T[page.Bars.Len()-1]; last != unix(7, 9, 15, 30) || !page.Running {
		t.Errorf("the last bar is %d, running %v", last, page.Running)
	}
}

func TestInstrument(t *testing.T) {
	t.Parallel()
	p, venue := open(t, 0, nil)
	t.Cleanup(func() { _ = p.Close() })
	for name, want := range map[string]string{"AAPL": "0.01 0.000000001", "BRK.B": "0.01 1", "PENNY": "0.0001 1"} {
		in, err := p.Instrument(t.Context(), sym(name))
		if err != nil {
			t.Fatal(err)
		}
		if got := in.Tick.String() + " " + in.Step.String(); got != want || in.Quote != "USD" || in.Calendar.Zone().String() != "America/New_York" {
			t.Errorf("%s: %s, want %s; %+v", name, got, want, in)
		}
	}
	before := venue.Requests()
	if _, err := p.Instrument(t.Context(), sym("AAPL")); err != nil || venue.Requests() != before {
		t.Errorf("it asks again: %v", err)
	}
	for name, want := range map[string]string{"BRK-B": "BRK.B", "BRK/B": "BRK.B", "BTCUSD": "", "^GSPC": "", "EURUSD=X": ""} {
		_, err := p.Instrument(t.Context(), sym(name))
		if f := fault.Of(err); f == nil || f.Kind != fault.NotFound || strings.Join(f.Suggestions, " ") != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFaults_NameVenueAndSymbol switches every fault on: an error, never a bar.
func TestFaults_NameVenueAndSymbol(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fault fakealpaca.Fault
		words string
	}{
		"a page with 200": {fakealpaca.HTML, "not JSON"},
		"half an answer":  {fakealpaca.Truncated, "byte"},
		"prices as text":  {fakealpaca.WrongTypes, "want a number"},
		"another symbol":  {fakealpaca.OtherSymbol, "AAPX"},
		"off the grid":    {fakealpaca.OffGrid, "off the grid"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, venue := open(t, 0, nil)
			t.Cleanup(func() { _ = p.Close() })
			q := provider.BarQuery{Symbol: sym("AAPL"), Interval: market.Minute5, Limit: 10}
			if _, err := p.Bars(t.Context(), q); err != nil {
				t.Fatal(err)
			}
			venue.SetFault(tc.fault)
			page, err := p.Bars(t.Context(), q)
			f := fault.Of(err)
			if f == nil || f.Code != "bad_answer" || page.Bars.Len() != 0 {
				t.Fatalf("%d bars, %v", page.Bars.Len(), err)
			}
			for _, word := range []string{"alpaca", "AAPL", tc.words} {
				if !strings.Contains(f.Message, word) {
					t.Errorf("%q does not name %q", f.Message, word)
				}
			}
			venue.SetFault(fakealpaca.None)
			if _, err := p.Bars(t.Context(), q); err != nil {
				t.Errorf("it does not recover: %v", err)
			}
		})
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	q := provider.BarQuery{Symbol: sym("AAPL"), Interval: market.Minute5, Limit: 10}
	for name, tc := range map[string]struct {
		change func(*alpaca.Config)
		code   string
		words  string
	}{
		"none":            {func(c *alpaca.Config) { c.Keys = alpaca.Keys{} }, "no_keys", "CANDELA_ALPACA_KEY_ID"},
		"wrong":           {func(c *alpaca.Config) { c.Keys = alpaca.NewKeys(fakealpaca.KeyID, "hunter2") }, "keys_refused", "AAPL"},
		"no subscription": {func(c *alpaca.Config) { c.Feed = alpaca.SIP }, "no_subscription", "delayed_sip"},
	} {
		p, _ := open(t, 0, tc.change)
		_, err := p.Bars(t.Context(), q)
		f := fault.Of(err)
		if f == nil || f.Kind != fault.Unauthorized || f.Code != tc.code || !strings.Contains(f.Message, tc.words) {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Contains(fmt.Sprint(err), "hunter2") {
			t.Errorf("%s: the secret is shown: %v", name, err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	c := alpaca.Config{Keys: alpaca.NewKeys("id", "hunter2")}
	if text := fmt.Sprintf("%v %+v %#v %s", c, c, c, c.Keys); strings.Contains(text, "hunter2") || strings.Contains(text, "id") && strings.Contains(text, "{id") {
		t.Errorf("the keys print: %s", text)
	}
}

// TestThrottled asks more than the account may, in virtual time: the limit is kept
// and nobody is refused for good.
func TestThrottled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(noon()))
		network := fake.NewNetwork()
		venue := fakealpaca.New(fakealpaca.Config{Now: time.Now})
		stop := network.Serve("alpaca:80", venue)
		defer stop()
		hosts := upstream.NewHosts(network.Dial)
		defer func() { _ = hosts.Close() }()
		p := alpaca.New(hosts, alpaca.Config{Keys: alpaca.NewKeys(fakealpaca.KeyID, fakealpaca.Secret), URL: "http://alpaca", DataURL: "http://alpaca", Now: time.Now})
		q := provider.BarQuery{Symbol: sym("AAPL"), Interval: market.Day1, Limit: 5}
		busy, answered := 0, 0
		for range 300 {
			switch _, err := p.Bars(t.Context(), q); {
			case err == nil:
				answered++
			case fault.Of(err).Code == "rate_limited":
				busy++
			default:
				t.Fatal(err)
			}
		}
		if answered < 190 || busy == 0 {
			t.Errorf("%d answered, %d asked to wait", answered, busy)
		}
		venue.SetFault(fakealpaca.Throttled)
		time.Sleep(time.Minute)
		if _, err := p.Bars(t.Context(), q); fault.Of(err) == nil || fault.Of(err).Code != "rate_limited" || fault.Of(err).RetryAfter <= 0 {
			t.Errorf("got %v", err)
		}
		venue.SetFault(fakealpaca.None)
		time.Sleep(10 * time.Minute)
		if _, err := p.Bars(t.Context(), q); err != nil {
			t.Errorf("it does not recover: %v", err)
		}
	})
}
