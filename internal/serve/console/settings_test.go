package console_test

import (
	"net/http"
	"strings"
	"testing"

	"candela/internal/trading/order"
)

func TestSettings_ShowHealthPolicyAndLooks(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.book.fill()
	b := s.browser().login()
	page := b.get("/console/settings")
	for _, want := range []string{"41 connections", "has a problem", "cannot change it", "The policy 0123456789abcdef is in force", "policy.toml differs", "candela policy apply", "Needs approval above", "Blue and orange", "Europe/Berlin"} {
		if page.status != http.StatusOK || !strings.Contains(page.body, want) {
			t.Errorf("%d, no %q in %s", page.status, want, page.body)
		}
	}
	for name, tc := range map[string]struct{ value, want string }{
		"theme": {"light", `data-theme="light"`}, "marks": {"blue", `data-marks="blue"`}, "numbers": {"de", `data-numbers="de"`}, "zone": {"Europe/Berlin", `value="Europe/Berlin"`},
	} {
		if r := b.post("/console/look", name, tc.value, "to", "/console/settings"); r.status != http.StatusSeeOther || r.header.Get("Location") != "/console/settings" {
			t.Errorf("%s: %d", name, r.status)
		}
		if page := b.get("/console/settings"); !strings.Contains(page.body, tc.want) {
			t.Errorf("%s: no %s", name, tc.want)
		}
	}
	b.post("/console/look", "zone", "../../etc/passwd", "theme", "<script>")
	if page := b.get("/console/settings"); strings.Contains(page.body, "passwd") || strings.Contains(page.body, "<script>\"") {
		t.Error("a wrong value was kept")
	}
}

func TestOverview_DrawsTheDay(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.book.fill()
	page := s.browser().login().get("/console/")
	if !strings.Contains(page.body, `<polyline class="ln"`) || !strings.Contains(page.body, "P&amp;L since midnight UTC: \u2212120.00") {
		t.Error(page.body)
	}
}

// TestOverview_ShowsThePlan holds that the owner sees what should protect a position, and what has no stop.
func TestOverview_ShowsThePlan(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.book.fill()
	s.book.held[0].Protected = dec("0.05")
	s.book.held[0].Plan = []order.Line{
		{ID: "l1", Side: order.Buy, Quantity: dec("0.05"), Protect: order.Protection{StopLoss: dec("46000.5"), TakeProfit: dec("49000")}},
		{ID: "l2", Side: order.Buy, Quantity: dec("0.036"), Protect: order.Protection{TrailPercent: dec("2")}, Best: dec("48000")},
		{ID: "l3", Side: order.Buy, Protect: order.Protection{StopLoss: dec("40000")}}, // its entry waits
	}
	page := s.browser().login().get("/console/")
	for _, want := range []string{"0.05: stop 46,000.5, target 49,000", " · 0.036: trail 2 %, now 47,040", `<span class="warn">0.036</span>`} {
		if !strings.Contains(page.body, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Contains(page.body, "40,000") {
		t.Error("the page shows a line of an entry that waits")
	}
}

func TestSettings_SendATest(t *testing.T) {
	t.Parallel()
	b := newScene(t).browser().login()
	if page := b.get("/console/settings"); !strings.Contains(page.body, `action="/console/settings/test"`) {
		t.Error("no button")
	}
	if r := b.post("/console/settings/test"); r.status != http.StatusSeeOther || r.header.Get("Location") != "/console/settings" {
		t.Errorf("%d %s", r.status, r.body)
	}
	if page := b.get("/console/settings"); !strings.Contains(page.body, "Test message: ntfy accepted it; telegram did not: 401 &lt;b&gt;Unauthorized&lt;/b&gt;.") {
		t.Error(page.body)
	}
}
