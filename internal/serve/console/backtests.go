package console

import (
	"bytes"
	"context"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/internal/work/research/report"
	"candela/lib/fault"
)

// Reports are the results that the server keeps for an hour.
type Reports interface {
	// Reports lists those of an owner, the newest first.
	Reports(caller principal.Caller) []report.Kept
	Report(caller principal.Caller, id string) (*report.Report, bool)
	// ReportPicture draws the picture of a back-test as a PNG file.
	ReportPicture(ctx context.Context, caller principal.Caller, r *report.Report, theme string) ([]byte, error)
}

func hasReports(p Ports) bool { return p.Reports != nil }

// backtestPage shows one back-test.
func backtestPage() page {
	return page{path: "/backtests/{id}", name: "scripts", title: "Back-test", template: "backtest", needs: hasReports, data: (*Console).backtestData}
}

// backtestRow is a back-test in a list.
type backtestRow struct {
	Of, On, By, Path    string
	Bars, Trades        int
	Net, Hold, Drawdown decimal.Decimal
	OutOfSample         *decimal.Decimal // nil if all bars chose the parameters or none were chosen
	Curve               *spark
	At                  time.Time
}

// backtests lists the back-tests that the server still has.
func (c *Console) backtests(v *visit) []backtestRow {
	if c.cfg.Reports == nil {
		return nil
	}
	var rows []backtestRow
	for _, k := range c.cfg.Reports.Reports(v.caller()) {
		if k.Curve != nil && len(rows) < maxBacktests {
			rows = append(rows, newBacktestRow(k))
		}
	}
	return rows
}

// maxBacktests bounds how many back-tests a page lists.
const maxBacktests = 50

func newBacktestRow(k report.Kept) backtestRow {
	b := k.Curve.Brief()
	row := backtestRow{
		Of: fault.Clean(k.Of, 64), On: k.Curve.Symbol + " " + k.Curve.Interval.String(), By: fault.Clean(k.By, 40), Path: Root + "/backtests/" + url.PathEscape(k.ID),
		Bars: b.Bars, Trades: b.Trades, Net: percentage(b.Net), Hold: percentage(b.Hold), Drawdown: percentage(-b.Drawdown),
		Curve: newSpark(thin(b.Equity, dayWidth), dayWidth, dayHeight), At: k.At,
	}
	if !math.IsNaN(b.OutOfSample) {
		out := percentage(b.OutOfSample)
		row.OutOfSample = &out
	}
	return row
}

// percentage rounds a percentage for a page; what is not a number is 0.
func percentage(x float64) decimal.Decimal {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return decimal.Zero
	}
	return decimal.NewFromFloat(x).Round(2)
}

// thin returns at most n values of a line: the first, the last and some between, evenly spaced.
func thin(all []float64, n int) []float64 {
	if len(all) <= n {
		return all
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = all[i*(len(all)-1)/(n-1)]
	}
	return out
}

type backtestData struct {
	Title    string
	Path     string
	Pictures []string // its themes; two if the browser chooses
	Warning  string
	Trust    *report.Section // how far to trust it; above every figure
	Sections []report.Section
	Tables   []report.Shown
}

// mostTested is how many rows a table of a back-test has on the page; the file to save has more.
const mostTested = 100

func (c *Console) backtestData(v *visit) (any, error) {
	found, err := c.backtest(v)
	if err != nil {
		return nil, err
	}
	d := backtestData{Title: found.Title, Path: Root + "/backtests/" + url.PathEscape(found.ID), Warning: found.Curve.Warning, Sections: found.Signed(), Pictures: []string{v.prefs.Theme}}
	if len(d.Sections) > 0 {
		d.Trust, d.Sections = &d.Sections[0], d.Sections[1:]
	}
	for _, name := range []string{"trials", "trades"} {
		if t, ok := found.Shown(name, mostTested); ok {
			d.Tables = append(d.Tables, t)
		}
	}
	if v.prefs.Theme == "" {
		d.Pictures = []string{"light", "dark"}
	}
	return d, nil
}

// backtest returns the back-test of the path.
func (c *Console) backtest(v *visit) (*report.Report, error) {
	if c.cfg.Reports != nil {
		if found, ok := c.cfg.Reports.Report(v.caller(), v.id()); ok && found.Curve != nil {
			return found, nil
		}
	}
	return nil, fault.New(fault.NotFound, "unknown_report", "The server does not have this back-test any more. It keeps them for an hour.")
}

// serveBacktestPicture sends the picture of a back-test.
func (c *Console) serveBacktestPicture(v *visit) {
	found, err := c.backtest(v)
	var png []byte
	if err == nil {
		png, err = c.cfg.Reports.ReportPicture(v.ctx(), v.caller(), found, v.r.URL.Query().Get("theme"))
	}
	c.sendFile(v, "image/png", "", png, err)
}

// saveBacktest sends a back-test as one page for the owner to keep.
func (c *Console) saveBacktest(v *visit) {
	found, err := c.backtest(v)
	var page bytes.Buffer
	if err == nil {
		err = found.Page(&page, func(theme string) ([]byte, error) {
			return c.cfg.Reports.ReportPicture(v.ctx(), v.caller(), found, theme)
		})
	}
	name := "backtest-" + strings.ToLower(v.id()) + ".html"
	c.sendFile(v, "text/html; charset=utf-8", name, page.Bytes(), err)
}

// sendFile sends a file to show, or to save under a name, or says why there is none.
func (c *Console) sendFile(v *visit, kind, name string, body []byte, err error) {
	if err != nil {
		c.fail(v, err)
		return
	}
	h := v.w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if name != "" {
		h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	}
	_, _ = v.w.Write(body) // the browser may have left
}
