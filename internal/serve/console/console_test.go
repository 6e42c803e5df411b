package console_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"candela/internal/access/oauth/oauthtest"
)

func TestConsole_ShowsEveryPage(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.book.fill()
	b := s.browser().login()
	for path, want := range map[string]string{
		"/console/":                  "P&amp;L today",
		"/console/orders":            "max_order_notional",
		"/console/orders?since=all":  "0.086",
		"/console/more":              "Orders &amp; positions",
		"/console/approvals":         "0.086 → 0.126",
		"/console/approvals/ask1":    "Price since it asked",
		"/console/approvals/o1":      "no longer needs approval",
		"/console/orders/o1":         `href="/console/alerts/al1"`,
		"/console/alerts":            "range low",
		"/console/alerts/al1":        `href="/console/orders/o1"`,
		"/console/alerts/new":        "Set alert",
		"/console/halt":              "Halt now",
		"/console/resume":            "Owner passphrase",
		"/console/orders/o1/cancel":  "Cancel order",
		"/console/orders/cancel-all": "Cancel 2 open orders?",
		"/console/orders.csv":        "order_id,created",
		"/console/orders/o1?save":    "Save receipt",

		"/console/orders/o1/receipt.json": `{"receipt":"o1"}`,

		"/console/trades?since=all":                `<td class="num strong up">&#43;92.99</td><td>USDT</td>`,
		"/console/trades?since=all&symbol=BTCUSDT": `<td class="num">116,666.67</td><td class="num">117,000.00</td>`,
		"/console/trades?since=all&symbol=NONE":    "Nothing was closed",
		"/console/trades?since=all&reason=target":  "Nothing was closed",
		"/console/trades?since=week&reason=stop":   `href="?reason=stop&amp;since=all&amp;symbol="`,
		"/console/trades?since=all&reason=Stop":    `<span class="v up">&#43;92.99 <small>USDT</small></span>`,
		"/console/?earned":                         `<td class="num strong up">&#43;92.99</td>`,
		"/console/orders?since=week":               `href="/console/trades">Trades</a>`,
	} {
		if r := b.get(path); r.status != http.StatusOK || !strings.Contains(r.body, want) {
			t.Errorf("%s: %d, no %q in %s", path, r.status, want, r.body)
		}
	}
	if r := b.get("/console/trades?reason=luck"); r.status == http.StatusOK || !strings.Contains(r.body, "stop, target, exit, adjustment, outside") {
		t.Errorf("a reason that does not exist: %d %s", r.status, r.body)
	}
	if r := b.get("/console/none"); r.status != http.StatusNotFound {
		t.Errorf("a page that does not exist: %d", r.status)
	}
}

func TestConsole_HaltAndResume(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	b := s.browser().login()
	if r := b.post("/console/halt", "reason", "lunch", "to", "/console/orders"); r.status != http.StatusSeeOther || r.header.Get("Location") != "/console/orders" {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if page := b.get("/console/"); !strings.Contains(page.body, "Trading is halted since") || !strings.Contains(page.body, "lunch") {
		t.Errorf("the page does not show the halt: %s", page.body)
	}
	if r := b.post("/console/resume"); r.status == http.StatusSeeOther {
		t.Error("resumed without the passphrase")
	}
	if r := b.post("/console/resume", "passphrase", oauthtest.Passphrase); r.status != http.StatusSeeOther {
		t.Errorf("%d %s", r.status, r.body)
	}
	if got := s.book.done(); !slices.Equal(got, []string{"halt lunch", "resume"}) {
		t.Errorf("%v", got)
	}
}

func TestConsole_AllowAndRefuse(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.book.fill()
	b := s.browser().login()
	if r := b.post("/console/approvals/ask1/refuse", "reason", "too\u202e big"); r.status != http.StatusSeeOther {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if r := b.post("/console/approvals/ask1/allow"); r.status != http.StatusConflict || !strings.Contains(r.body, "no longer") {
		t.Errorf("a second decision: %d %s", r.status, r.body)
	}
	s.book.fill()
	s.pass(16 * time.Minute)
	if page := b.get("/console/approvals/ask1/allow"); !strings.Contains(page.body, `type="password"`) {
		t.Error("the passphrase is not asked for after 15 minutes")
	}
	if r := b.post("/console/approvals/ask1/allow"); r.status != http.StatusUnauthorized {
		t.Errorf("allowed without the passphrase: %d", r.status)
	}
	if r := b.post("/console/approvals/ask1/allow", "passphrase", oauthtest.Passphrase); r.status != http.StatusSeeOther {
		t.Errorf("%d %s", r.status, r.body)
	}
	if got, want := s.book.done(), []string{"refuse ask1 too big", "approve ask1", "approve ask1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestConsole_SetsAndCancelsAlerts(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	b := s.browser().login()
	for _, wrong := range [][]string{
		{"symbol", "", "when", "above", "price", "1"},
		{"symbol", "BTCUSDT", "when", "beside", "price", "1"},
		{"symbol", "BTCUSDT", "when", "above", "price", "-1"},
		{"symbol", "BTCUSDT", "when", "above", "price", "1,5"},
	} {
		if r := b.post("/console/alerts/new", wrong...); r.status != http.StatusUnprocessableEntity || !strings.Contains(r.body, `role="alert"`) {
			t.Errorf("%v: %d %s", wrong, r.status, r.body)
		}
	}
	if r := b.post("/console/alerts/new", "symbol", "BTCUSDT", "when", "below", "price", "46000", "note", "<b>x"); r.status != http.StatusSeeOther {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if page := b.get("/console/alerts"); !strings.Contains(page.body, "&lt;b&gt;x") || strings.Contains(page.body, "<b>x") || !strings.Contains(page.body, "Alert set:") {
		t.Errorf("%s", page.body)
	}
	if r := b.post("/console/alerts/new1/cancel"); r.status != http.StatusSeeOther {
		t.Errorf("%d %s", r.status, r.body)
	}
	if got, want := s.book.done(), []string{"alert BTCUSDT trades at or below 46000", "cancel alert new1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A value that was computed is shown with the digits that an owner reads.
func TestConsole_CutsDigitsOfComputedValues(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	b := s.browser().login()
	for value, want := range map[float64]string{45766.537777777776: "45,766.54", 28.731904761904: "28.7319", 0.0000123456789123: "0.00001234568", 70000: "70,000", 0.00001234: "0.00001234"} {
		s.book.mu.Lock()
		s.book.value = value
		s.book.mu.Unlock()
		if page := b.get("/console/alerts/al1").body; !strings.Contains(page, "<dt>Value</dt><dd>"+want+"</dd>") {
			_, after, _ := strings.Cut(page, "<dt>Value</dt>")
			t.Errorf("%v is shown as %.40s, want %s", value, after, want)
		}
	}
}

// The notice of an act is on the next page that is opened, not on one that refreshes its parts.
func TestNotice_IsForTheNextPage(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.book.fill()
	b := s.browser().login()
	if r := b.post("/console/approvals/ask1/refuse"); r.status != http.StatusSeeOther {
		t.Fatalf("%d %s", r.status, r.body)
	}
	const said = "Refused. Nothing was sent."
	if r := b.do(http.MethodGet, "/console/approvals", nil, http.Header{"Sec-Fetch-Mode": {"cors"}}); strings.Contains(r.body, said) {
		t.Error("a refresh took the notice")
	}
	if r := b.get("/console/approvals"); !strings.Contains(r.body, said) {
		t.Error("the next page does not say it")
	}
	if r := b.get("/console/approvals"); strings.Contains(r.body, said) {
		t.Error("it is said twice")
	}
}
