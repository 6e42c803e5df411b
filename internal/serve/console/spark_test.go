package console_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/lib/market"
)

// shows fails unless a page has each text.
func shows(t *testing.T, b *browser, path string, want ...string) {
	t.Helper()
	page := b.get(path)
	for _, one := range want {
		if !strings.Contains(page.body, one) {
			t.Errorf("%s lacks %q", path, one)
		}
	}
}

func TestPages_HaveLinesCurrenciesAndNames(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.book.fill()
	b := s.browser().login()
	shows(t, b, "/console/", `<path d="M0,`, "&#43;0.60\u202f%", "value 1,886.00 USDT", "USDT since 00:00 UTC", "Price &#43;0.60\u202f% since", "1 fired today",
		"BTCUSDT price below 47,000", `<h2>Health</h2>`, "no prices from binance", `<h2>Clients</h2>`)
	shows(t, b, "/console/approvals", `class="pl" d="M0,`, "value <b>1,886.00 USDT</b>", "Exposure with it", "8,628.44 of ")
	shows(t, b, "/console/alerts", "ntfy 0.4 s", `<a href="/console/orders/o1">Buy 0.04 BTCUSDT</a>`)
	shows(t, b, "/console/orders", `<path d="M0,`)
	shows(t, b, "/console/approvals", "Why you are asked", "Value 1,886.00, above 1,000", "all pass now", "“the low held”")
	shows(t, b, "/console/alerts", "<th>Set by</th>", "<td>Claude</td>")
	shows(t, b, "/console/alerts/al1", "Set by Claude", `<g class="cu">`, "Alert 47,000", `class="fd"`, `href="/console/chart?symbol=BTCUSDT"`, `href="/console/alerts/new?note=range&#43;low&amp;price=47000&amp;symbol=BTCUSDT&amp;when=below"`)
	shows(t, b, "/console/alerts/new?symbol=BTCUSDT&when=below&price=47000", `<option selected>below</option>`)
	shows(t, b, "/console/", "dots are fills", `<circle class="mk"`, "set by Claude")
	shows(t, b, "/console/chart/BTCUSDT", `data-before="48000">−1.49`, `data-zone="UTC"`, `data-asks="ask1"`)
	shows(t, b, "/console/chart/BTCUSDT", `<option value="BTCUSDT">Bitcoin</option>`, `name="indicator" value="rsi" checked`, `name="indicator" value="adx">`)
	shows(t, b, "/console/chart?symbol=BTCUSDT&chosen=1&indicator=adx&indicator=rsi", `data-query="indicators=adx%2Crsi&amp;`)
}

func TestPages_CountAlertsThatNothingEvaluates(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.book.fill()
	s.book.alerts = []alert.Alert{{
		ID: "al2", Symbol: market.Symbol{Venue: "replay", Name: "BTCUSDT"}, Condition: alert.Condition{Type: alert.PriceAbove, Threshold: decimal.NewFromInt(60000)}, Created: noon(),
	}}
	s.book.idle = "the venue replay is not set up in this run of candela"
	b := s.browser().login()
	shows(t, b, "/console/", "1 not evaluated")
	shows(t, b, "/console/alerts", "1 not evaluated</span>", "Not evaluated: the venue replay is not set up in this run of candela.")
}

func TestPages_ResumeAnAlertThatIsSetAside(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.book.fill()
	s.book.alerts = []alert.Alert{{
		ID: "al2", Symbol: market.Symbol{Name: "BTCUSDT"}, Condition: alert.Condition{Type: alert.PriceAbove, Threshold: decimal.NewFromInt(60000)}, Created: noon(),
		Idle: &alert.Idle{State: alert.SetAside, Reason: "candela ended while it evaluated its script", At: noon()},
	}}
	b := s.browser().login()
	shows(t, b, "/console/alerts", `href="/console/alerts/al2/resume"`, `href="/console/alerts/al2/cancel"`)
	shows(t, b, "/console/alerts/al2/resume", "candela ended while it evaluated its script")
	if r := b.post("/console/alerts/al2/resume"); r.status != http.StatusSeeOther {
		t.Errorf("the answer is %d", r.status)
	}
	if !slices.Contains(s.book.done(), "resume alert al2") {
		t.Errorf("done: %v", s.book.done())
	}
}
