package console_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/internal/serve/webchart"
	"candela/internal/work/charting"
	"candela/lib/fault"
	"candela/lib/market"
)

// charts returns the arguments it was called with, or a picture.
type charts struct{}

func (charts) Indicators(names []string) ([]charting.NamedIndicator, error) {
	all := []charting.NamedIndicator{}
	for _, name := range names {
		all = append(all, charting.NamedIndicator{Name: name})
	}
	return all, nil
}

func (charts) Chart(_ context.Context, caller principal.Caller, q charting.Drawn) ([]byte, error) {
	names := []string{}
	for _, one := range q.Indicators {
		names = append(names, one.Name)
	}
	switch {
	case caller.Subject == "":
		return nil, fault.New(fault.Unauthorized, "nobody", "nobody asks")
	case q.Symbol.Name == "NONE":
		return nil, fault.New(fault.NotFound, "unknown_symbol", `No symbol "NONE".`)
	case q.Format == "png":
		return []byte("\x89PNG"), nil
	}
	return json.Marshal(map[string]any{"symbol": q.Symbol.String(), "interval": q.Interval.String(), "bars": q.Bars, "format": q.Format, "indicators": names})
}

func (charts) Bars(context.Context, principal.Caller, charting.Request) (*market.Bars, error) {
	bars := market.MakeBars(2, false)
	bars.Append(market.Bar{T: noon().Add(-2 * time.Hour).Unix(), O: 47500, H: 47600, L: 47100, C: 47200})
	bars.Append(market.Bar{T: noon().Add(-time.Hour).Unix(), O: 47200, H: 47400, L: 46950, C: 47300})
	return &bars, nil
}

func TestChart_ShowsBarsAndWhatTheAccountHas(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.book.fill()
	b := s.browser().login()
	page := b.get("/console/chart/BTCUSDT?interval=4h")
	for _, want := range []string{
		`data-query="indicators=bollinger_bands%2Cema_stack%2Crsi%2Cmacd&amp;interval=4h&amp;symbol=BTCUSDT"`, "Unrealized P&amp;L", "Open orders",
		`src="/console/chart.png?`, `href="/console/alerts/new?symbol=BTCUSDT"`, "As agents see it",
	} {
		if !strings.Contains(page.body, want) {
			t.Errorf("no %s in %s", want, page.body)
		}
	}
	// With the library the page has its script and its credit; without, it says what it shows.
	want := "built without the chart library"
	if webchart.Library() != nil {
		want = "TradingView Lightweight Charts"
	}
	if page.status != http.StatusOK || !strings.Contains(page.body, want) || strings.Contains(page.body, "lightweight-charts.js") != (webchart.Library() != nil) {
		t.Errorf("%d, no %s", page.status, want)
	}
	if first := b.get("/console/chart"); !strings.Contains(first.body, `value="binance:BTCUSDT"`) {
		t.Errorf("without a symbol the page does not show what is held: %s", first.body)
	}
}

// The picture that stands in for the chart has the width and the theme of the page.
func TestChart_PictureFitsThePage(t *testing.T) {
	t.Parallel()
	b := newScene(t).browser().login()
	page := b.get("/console/chart?symbol=X").body
	for _, want := range []string{
		`media="(max-width:480px) and (prefers-color-scheme:light)" srcset="/console/chart.png?bars=70&amp;height=520&amp;indicators=`,
		`media="(max-width:760px) and (prefers-color-scheme:dark)"`, `media="(prefers-color-scheme:light)"`, "theme=light&amp;width=390",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in %s", want, page)
		}
	}
}

func TestChart_DataIsThatOfTheTool(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	if r := s.browser().get("/console/chart.json?symbol=X"); r.status == http.StatusOK {
		t.Errorf("a stranger reads %s", r.body)
	}
	b := s.browser().login()
	for path, want := range map[string]string{
		"/console/chart.json?symbol=X&interval=5m&indicators=rsi,+macd": `{"bars":400,"format":"scene","indicators":["rsi","macd"],"interval":"5m","symbol":"X"}`,
		"/console/chart.json?symbol=X&bars=3&format=summary":            `{"bars":3,"format":"summary","indicators":[],"interval":"1h","symbol":"X"}`,
		"/console/chart.json?symbol=NONE":                               `{"message":"No symbol \"NONE\"."}`,
		"/console/chart.png?symbol=X":                                   "\x89PNG",
	} {
		if r := b.get(path); r.body != want || r.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
}

// An alert may name its symbol without a venue.
func TestChart_ShowsAlertsWithoutAVenue(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.book.alerts = []alert.Alert{{ID: "a-near", Symbol: market.Symbol{Name: "BTCUSDT"}}, {ID: "a-other", Symbol: market.Symbol{Venue: "yahoo", Name: "BTCUSDT"}}}
	page := s.browser().login().get("/console/chart?symbol=binance:BTCUSDT").body
	if !strings.Contains(page, "/console/alerts/a-near") || strings.Contains(page, "/console/alerts/a-other") {
		t.Errorf("%s", page)
	}
}

// A symbol comes from the address, so it may be anything.
func TestChart_QuotesHostileSymbols(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	b := s.browser().login()
	for _, path := range []string{"/console/chart?symbol=%22%3E%3Cscript%3E", "/console/chart/%3Cscript%3E?indicators=%22%3E%3Cscript%3E&interval=%3Cscript%3E"} {
		if r := b.get(path); strings.Contains(r.body, "<script>") {
			t.Errorf("%s: %s", path, r.body)
		}
	}
}

func TestChart_ServesItsScripts(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	b := s.browser().login()
	page := b.get("/console/chart").body
	_, rest, _ := strings.Cut(page, `/console/static/`)
	version, _, _ := strings.Cut(rest, "/")
	for _, name := range []string{"chart.js", "chart.css", "figures.mjs", "paint.mjs", "chart.mjs", "roboto.woff", "roboto-medium.woff"} {
		r := b.get("/console/static/" + version + "/" + name)
		if r.status != http.StatusOK || strings.HasSuffix(name, "js") && !strings.HasPrefix(r.header.Get("Content-Type"), "text/javascript") {
			t.Errorf("%s: %d %v", name, r.status, r.header)
		}
	}
}
