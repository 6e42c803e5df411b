package console_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/serve/console"
	"candela/internal/work/research/report"
	"candela/lib/backtest"
	"candela/lib/backtest/simulate"
	"candela/lib/market"
)

// tests are reports of a server: a back-test of a script that lost, and a scan.
type tests struct{}

func (tests) all() []report.Kept {
	run := &backtest.Run{Config: simulate.Config{Capital: 1000, PointValue: 1}, Bars: &market.Bars{}, Net: -63.4, Trades: make([]simulate.Trade, 112)}
	for i := range 500 {
		run.Bars.Append(market.Bar{T: 1735689600 + int64(i)*3600, O: 100, H: 102, L: 99, C: 100 + float64(i%2), V: 3})
		run.Equity = append(run.Equity, 1000-float64(i)/8)
	}
	return []report.Kept{
		{At: noon().Add(-time.Minute), By: "Claude <b>", Report: &report.Report{ID: "scan", Title: "A scan"}},
		{At: noon().Add(-20 * time.Minute), By: "Claude <b>", Report: &report.Report{
			ID: "2f00", Title: "Back-test of SOLUSDT, 1h", Of: "bb_squeeze",
			Sections: []report.Section{{Title: "How far to trust this", Facts: [][2]string{{"Flags", "few <trades>"}}}},
			Curve:    &report.Curve{Run: run, Symbol: "SOLUSDT", Interval: market.Hour1, Warning: "few trades", OutOfSample: 400},
			Tables: []report.Table{
				{Name: "trials", Columns: []string{"fast", "net_pct"}, Len: 1, Row: func(int) []any { return []any{10, -3.25} }},
				{Name: "trades", Columns: []string{"side", "entry", "profit"}, Len: 250, Row: func(i int) []any { return []any{"long", 46763.5, float64(i)} }},
			},
		}},
	}
}

func (t tests) Reports(principal.Caller) []report.Kept { return t.all() }

func (t tests) Report(_ principal.Caller, id string) (*report.Report, bool) {
	for _, k := range t.all() {
		if k.ID == id {
			return k.Report, true
		}
	}
	return nil, false
}

func (tests) ReportPicture(_ context.Context, _ principal.Caller, _ *report.Report, theme string) ([]byte, error) {
	return []byte("PNG " + theme), nil
}

var _ console.Reports = tests{}

func TestBacktests_AreListedAndShown(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	b := s.browser().login()
	shows(t, b, "/console/scripts", `href="/console/backtests/2f00"`, ">bb_squeeze<", "SOLUSDT 1h", "\u22126.34", "1.00\u202f%", "\u22126.24", "112", "Claude &lt;b&gt;")
	if r := b.get("/console/scripts"); strings.Contains(r.body, "A scan") {
		t.Error("a scan is listed among the back-tests")
	}
	shows(t, b, "/console/backtests/2f00", "Back-test of SOLUSDT, 1h", "few &lt;trades&gt;", "Flagged: few trades.", "picture.png?theme=light", "picture.png?theme=dark")
	// The trust stands above the picture and every figure; tables are bounded and have the newest trades.
	page := b.get("/console/backtests/2f00").body
	if trust, picture := strings.Index(page, "How far to trust this"), strings.Index(page, "<picture"); trust < 0 || trust > picture {
		t.Errorf("the trust is at %d, the picture at %d", trust, picture)
	}
	shows(t, b, "/console/backtests/2f00", "<h2>Trials</h2>", "<td class=\"num down\">\u22123.25</td>", "<h2>Trades</h2>", `<td class="num">46,763.50</td>`, `<td class="num up">249.00</td>`, "100 of more")
	if n := strings.Count(page, "<tr>"); n > 110 {
		t.Errorf("%d rows", n)
	}
	if r := b.get("/console/backtests/2f00/picture.png?theme=dark"); r.body != "PNG dark" || r.header.Get("Content-Type") != "image/png" {
		t.Errorf("%d %q", r.status, r.body)
	}
	saved := b.get("/console/backtests/2f00/report.html")
	if saved.status != http.StatusOK || saved.header.Get("Content-Disposition") != `attachment; filename="backtest-2f00.html"` || !strings.Contains(saved.body, "Back-test of SOLUSDT") {
		t.Errorf("%d %v %.200s", saved.status, saved.header, saved.body)
	}
	for _, path := range []string{"/console/backtests/none", "/console/backtests/none/picture.png", "/console/backtests/none/report.html", "/console/backtests/scan"} {
		if r := b.get(path); r.status != http.StatusNotFound || !strings.Contains(r.body, "keeps them for an hour") {
			t.Errorf("%s: %d %.200s", path, r.status, r.body)
		}
	}
	if r := s.browser().get("/console/backtests/2f00/report.html"); r.status == http.StatusOK {
		t.Error("a browser without a login reads it")
	}
}
