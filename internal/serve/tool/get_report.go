package tool

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/internal/work/research/report"
	"candela/lib/backtest/simulate"
	"candela/lib/chart"
	"candela/lib/fault"
	"candela/lib/market"
)

// pageBytes bounds a page of a report: about 2,000 tokens.
const pageBytes = 7600

// Defaults of get_report.
const (
	usualRows  = 50
	usualTheme = "dark"
)

// reportArgs are the arguments of get_report.
type reportArgs struct {
	paging
	id, part, theme string
	wait            int // seconds
}

func declareReport() (*reportArgs, args) {
	r := &reportArgs{paging: paging{limit: usualRows}, theme: usualTheme}
	return r, args{
		reportID(&r.id),
		enumArg("part", &r.part, "Default: trades; of a run that was not waited for, its answer.", "trades", "equity", "months", "trials", "folds", "firings", "forward", "rows", "failures", report.PicturePart),
		intArg("limit", &r.limit, 1, 500, "Rows; a page has at most about 2,000 tokens."), r.cursor("get_report"),
		enumArg("theme", &r.theme, "Of the picture; other parts have none.", "dark", "light"),
		intArg("wait_seconds", &r.wait, 0, mostWait, "How long to wait for a run that is answered with status running."),
	}
}

// reportID declares the id of a report. What is no id is answered with where to find one.
func reportID(dst *string) arg {
	const from = "the report_id in an answer of run_backtest, test_alert or scan_symbols"
	a := stringArg("report_id", dst, 64, "From run_backtest, test_alert or scan_symbols.").allowing(from).require()
	read := a.read
	a.read = func(raw json.RawMessage) error {
		if err := read(raw); err != nil {
			return fault.Field("report_id", quoteValue(raw), from)
		}
		return nil
	}
	return a
}

func (c *charts) getReport() toolSpec {
	return toolSpec{
		name: "get_report", title: "Read a report", scope: principal.Charts, set: ResearchSet,
		description: "The rest of an answer of run_backtest, test_alert or scan_symbols, in pages: all trades, equity, months, trials, firings or rows; picture draws a back-test. " +
			"Reports are kept for an hour. At most 8 KB.",
		hints: hints{readOnly: true, idempotent: true},
		call: calling(declareReport, func(ctx context.Context, caller principal.Caller, r *reportArgs) (mcp.Result, error) {
			if run, ok := c.runs.Get(caller.Subject, r.id); ok {
				result, id, err := r.ended(ctx, run)
				if id == "" || err != nil {
					return result, err
				}
				r.id = id
			}
			r.part = cmp.Or(r.part, "trades")
			if err := r.fits(); err != nil {
				return mcp.Result{}, err
			}
			found, ok := c.reports.Get(caller.Subject, r.id)
			if !ok {
				return mcp.Result{}, fault.New(fault.NotFound, "unknown_report", "there is no report %q, or it is over an hour old: repeat the call that made it", truncate(r.id)).
					About("report_id", truncate(r.id), "a report_id of the last hour")
			}
			if r.part == report.PicturePart && found.Curve != nil {
				png, err := c.drawReport(ctx, caller, found, r.theme)
				return mcp.Result{Content: []mcp.Content{{Image: png, MIME: "image/png"}}}, err
			}
			table, ok := found.Table(r.part)
			if !ok {
				return mcp.Result{}, fault.Field("part", r.part, "a part of this report: "+strings.Join(found.Names(), ", "), found.Names()...)
			}
			return r.page(found, table)
		}),
	}
}

// fits returns an error for the first argument that the part has no use for.
func (r *reportArgs) fits() error {
	const of = "no %s with part %s: it is for %s"
	switch {
	case r.part != report.PicturePart && r.theme != usualTheme:
		return fault.Field("theme", r.theme, fmt.Sprintf(of, "theme", r.part, "the part picture"))
	case r.part == report.PicturePart && r.limit != usualRows:
		return fault.Field("limit", strconv.Itoa(r.limit), fmt.Sprintf(of, "limit", r.part, "parts with rows"))
	case r.part == report.PicturePart && r.after != "":
		return fault.Field("cursor", "a cursor", fmt.Sprintf(of, "cursor", r.part, "parts with rows"))
	}
	return nil
}

// keepReport answers with a value and keeps the tables behind it under an id that follows
// from it, which it sets.
func (c *charts) keepReport(caller principal.Caller, title string, id *string, answer any, tables ...report.Table) (mcp.Result, error) {
	data, err := marshalPlain(answer)
	if err != nil {
		return mcp.Result{}, fmt.Errorf("write the answer: %w", err)
	}
	sum := sha256.Sum256(data)
	*id = hex.EncodeToString(sum[:8])
	result, err := jsonResult(answer, nil)
	if err == nil {
		c.reports.Put(caller.Subject, caller.Client, &report.Report{ID: *id, Title: title, Answer: result.Structured, Tables: tables})
	}
	return result, err
}

// drawReport draws the picture of a report.
func (c *charts) drawReport(ctx context.Context, caller principal.Caller, r *report.Report, theme string) (png []byte, err error) {
	t, err := chart.ParseTheme(theme)
	if err != nil {
		return nil, err
	}
	return c.Draw(ctx, caller, r.Curve.Picture(t, report.Width, report.Height, 1))
}

// page returns the rows after the cursor, as many as fit.
func (r *reportArgs) page(found *report.Report, t *report.Table) (mcp.Result, error) {
	from := 0
	if r.after != "" {
		part, at, _ := strings.Cut(r.after, " ")
		n, err := strconv.Atoi(at)
		if err != nil || part != found.ID+"/"+t.Name || n < 0 {
			return mcp.Result{}, fault.Field("cursor", "a cursor of another part", "the cursor from the previous page of "+t.Name)
		}
		from = n
	}
	out := struct {
		ID      string   `json:"report_id"`
		Part    string   `json:"part"`
		Total   int      `json:"total"`
		Columns []string `json:"columns"`
		Rows    [][]any  `json:"rows"`
		More    *more    `json:"more,omitempty"`
	}{ID: found.ID, Part: t.Name, Total: t.Len, Columns: t.Columns, Rows: [][]any{}}
	size, i := 0, from
	for ; i < t.Len && i-from < r.limit; i++ {
		row := t.Row(i)
		for k, v := range row {
			if x, ok := v.(float64); ok {
				row[k] = figure(x)
			}
		}
		data, err := marshalPlain(row)
		if err != nil {
			return mcp.Result{}, fmt.Errorf("write the answer: %w", err)
		}
		if size += len(data) + 1; size > pageBytes && i > from {
			break
		}
		out.Rows = append(out.Rows, row)
	}
	if i < t.Len {
		out.More = moreAfter("get_report", found.ID+"/"+t.Name+" "+strconv.Itoa(i), t.Len-i)
	}
	return jsonResult(out, nil)
}

// report returns the whole result of a run.
func (r *backtestArgs) report(run *backtestRun, p *past, answer []byte) *report.Report {
	s, result := run.Summary(1), r.result(run.Run, p)
	honest := honestyText(run.Run, &run.honesty)
	span := p.json(r.interval)
	flags := "none"
	if len(honest.Flags) > 0 {
		flags = warningOf(honest.Flags)
	}
	split := 0
	if r.swept != nil && r.swept.split < p.Bars.Len() {
		split = r.swept.split
	}
	return &report.Report{
		ID: r.id(p), Of: r.of(), Answer: answer, Tables: append(r.tables(run), r.sweepTables(p)...),
		Title: fmt.Sprintf("Back-test of %s, %s, %s to %s", p.Symbol, r.interval, span.From[:10], span.To[:10]),
		Sections: []report.Section{
			{Title: "How far to trust this", Facts: [][2]string{
				{"Flags", flags},
				{"Look-ahead", honest.LookAhead},
				{"Start", honest.Start},
				{"Bars with two prices", honest.Ambiguous},
				{"Costs", honest.Costs},
				{"Order of trades", honest.Order},
				{"Trials", r.trials},
				{"Assumptions", assumptions(&run.Config, r.fills == fillsPaper)},
				{"Data", fmt.Sprintf("%s of %s, %s missing", report.Count(span.Bars, "bar", "bars"), span.Venue, report.Grouped(float64(span.Holes), 0))},
				{"Shorter bars for fills", cmp.Or(r.magnified, "none asked for")},
			}},
			{Title: "Result", Facts: resultFacts(&result, s.DrawdownBars)},
		},
		Curve: &report.Curve{
			Run: run.Run, Symbol: p.Symbol.String(), Interval: r.interval, Sample: p.Synthetic, Warning: warningOf(honest.Flags), OutOfSample: split,
			Facts: []string{
				"net " + signed(result.NetPct), "hold " + signed(result.BuyHold), fmt.Sprintf("drawdown %.1f %%", float64(result.DrawdownBar)),
				report.Count(result.Trades, "trade", "trades"), costText(&run.Config), r.fills + " fills",
			},
		},
	}
}

// of names what is tested.
func (r *backtestArgs) of() string {
	if r.scriptName == "" && r.script != "" {
		return "a script"
	}
	return cmp.Or(r.scriptName, "rules")
}

// resultFacts writes the figures of a result with their units.
func resultFacts(r *resultJSON, longest int) [][2]string {
	percent := func(f figure) string { return report.Percent(float64(f)) }
	ratio := func(f figure) string { return report.Grouped(float64(f), 2) }
	chance := report.None
	if p := float64(r.Luck); !math.IsNaN(p) {
		chance = report.Grouped(100*p, 1) + " %"
	}
	return [][2]string{
		{"Net", report.Money(float64(r.Net)) + " (" + percent(r.NetPct) + ")"},
		{"Result of open trades", report.Money(float64(r.Open))},
		{"Buy and hold", percent(r.BuyHold)},
		{"Trades", report.Grouped(float64(r.Trades), 0)},
		{"Winners", percent(r.WinPct)},
		{"Profit factor", ratio(r.ProfitFactor)},
		{"Largest drawdown", percent(r.DrawdownBar) + " from the highest close; " + percent(r.Drawdown) + " from the highest equity of closed trades, within bars"},
		{"Longest drawdown", report.Count(longest, "bar", "bars")},
		{"Growth a year", percent(r.CAGR)},
		{"Sharpe by bars", ratio(r.Sharpe)},
		{"Sharpe by months", ratio(r.SharpeMonth)},
		{"Probability that Sharpe is above 0", chance},
		{"In the market", percent(r.Exposure)},
	}
}

// costText says in short what a side costs.
func costText(c *simulate.Config) string {
	var parts []string
	if c.Commission > 0 {
		parts = append(parts, fmt.Sprintf("fee %g%s", c.Commission, map[simulate.Charge]string{simulate.Percent: " %", simulate.PerUnit: " a unit", simulate.PerOrder: " an order"}[c.Charge]))
	}
	if c.SlipPercent > 0 {
		parts = append(parts, fmt.Sprintf("slip %g %%", c.SlipPercent))
	}
	if c.Slippage > 0 {
		parts = append(parts, fmt.Sprintf("slip %d ticks", c.Slippage))
	}
	if len(parts) == 0 {
		return "no costs"
	}
	return strings.Join(parts, ", ")
}

// signed writes a percentage as the axes of a picture do.
func signed(x figure) string {
	text := report.Percent(float64(x))
	if x > 0 {
		text = "+" + text
	}
	return strings.Replace(text, "-", "−", 1)
}

// tables lists the trades, the equity and the months of a run.
func (r *backtestArgs) tables(run *backtestRun) []report.Table {
	trades, bars := run.Trades, run.Bars
	capital := run.Config.Capital
	months := run.Summary(1).Months
	tables := []report.Table{
		{
			Name: "trades", Len: len(trades), Columns: []string{"side", "in", "entry", "out", "exit", "quantity", "profit", "commission", "worst_pct", "best_pct", "bars", "ambiguous", "why"},
			Row: func(i int) []any {
				t := &trades[i]
				side := float64(t.Side)
				return []any{
					t.Side.String(), market.Stamp(t.EntryTime / 1000), t.EntryPrice, market.Stamp(t.ExitTime / 1000), t.ExitPrice, t.Quantity, t.Profit, t.Commission,
					100 * side * (t.Worst/t.EntryPrice - 1), 100 * side * (t.Best/t.EntryPrice - 1), t.ExitBar - t.EntryBar, t.Ambiguous, why(t),
				}
			},
		},
		{
			Name: "equity", Len: len(run.Equity), Columns: []string{"time", "close", "equity", "buy_and_hold"},
			Row: func(i int) []any {
				k := run.From + i
				return []any{market.Stamp(bars.T[k]), bars.C[k], run.Equity[i], capital * bars.C[k] / bars.O[run.From]}
			},
		},
		{
			Name: "months", Len: len(months), Columns: []string{"month", "return_pct"},
			Row: func(i int) []any {
				return []any{time.Date(months[i].Year, months[i].Month, 1, 0, 0, 0, 0, time.UTC).Format("2006-01"), months[i].Percent}
			},
		},
	}
	return tables
}

// Report returns a report that a call of this caller has made, for commands.
func (r *Registry) Report(caller principal.Caller, id string) (*report.Report, bool) {
	return r.charts.reports.Get(caller.Subject, id)
}

// Reports lists what the calls of a caller's owner have made in the last hour, the newest first.
func (r *Registry) Reports(caller principal.Caller) []report.Kept {
	return r.charts.reports.List(caller.Subject)
}

// ReportPicture draws the picture of a back-test.
func (r *Registry) ReportPicture(ctx context.Context, caller principal.Caller, found *report.Report, theme string) ([]byte, error) {
	return r.charts.drawReport(ctx, caller, found, theme)
}

// warningOf joins the flags of a result for the header of its picture.
func warningOf(flags []string) string {
	shown := slices.Clone(flags)
	for i, f := range shown {
		shown[i] = strings.ReplaceAll(f, "_", " ")
	}
	return strings.Join(shown, ", ")
}
