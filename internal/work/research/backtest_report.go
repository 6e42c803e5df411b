package research

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"candela/internal/work/research/past"
	"candela/internal/work/research/report"
	"candela/lib/backtest/simulate"
	"candela/lib/market"
)

// report returns the whole result of a run.
func (r *study) report(run *backtestRun, p *past.Bars) *report.Report {
	s, result := run.Summary(1), r.result(run.Run, p)
	honest := honestyText(run.Run, &run.honesty)
	span := p.Data(r.Interval)
	flags := "none"
	if len(honest.Flags) > 0 {
		flags = warningOf(honest.Flags)
	}
	split := 0
	if r.swept != nil && r.swept.split < p.Bars.Len() {
		split = r.swept.split
	}
	return &report.Report{
		ID: r.id(p), Of: r.of(), Tables: append(r.tables(run), r.sweepTables(p)...),
		Title: fmt.Sprintf("Back-test of %s, %s, %s to %s", p.Symbol, r.Interval, span.From[:10], span.To[:10]),
		Sections: []report.Section{
			{Title: "How far to trust this", Facts: [][2]string{
				{"Flags", flags},
				{"Look-ahead", honest.LookAhead},
				{"Start", honest.Start},
				{"Bars with two prices", honest.Ambiguous},
				{"Costs", honest.Costs},
				{"Entries that were refused", cmp.Or(honest.Refused, "none")},
				{"Order of trades", honest.Order},
				{"Trials", r.tried},
				{"Assumptions", assumptions(&run.Config)},
				{"Data", fmt.Sprintf("%s of %s, %s missing", report.Count(span.Bars, "bar", "bars"), span.Venue, report.Grouped(float64(span.Holes), 0))},
				{"Shorter bars for fills", cmp.Or(r.magnified, "none asked for")},
			}},
			{Title: "Result", Facts: resultFacts(&result, noTrades(run.Run), s.DrawdownBars)},
		},
		Curve: &report.Curve{
			Run: run.Run, Symbol: p.Symbol.String(), Interval: r.Interval, Sample: p.Synthetic, Warning: warningOf(honest.Flags), OutOfSample: split,
			Facts: []string{
				"net " + signed(result.NetPct), "hold " + signed(result.BuyHold), fmt.Sprintf("drawdown %.1f %%", float64(result.DrawdownBar)),
				report.Count(result.Trades, "trade", "trades"), costText(&run.Config), r.Fills + " fills",
			},
		},
	}
}

// of names what is tested.
func (r *study) of() string {
	if r.ScriptName == "" && r.Script != "" {
		return "a script"
	}
	return cmp.Or(r.ScriptName, "rules")
}

// resultFacts writes the figures of a result with their units; none is why there are no trades.
func resultFacts(r *Result, none string, longest int) [][2]string {
	percent := func(f Figure) string { return report.Percent(float64(f)) }
	ratio := func(f Figure) string { return report.Grouped(float64(f), 2) }
	chance := report.None
	if p := float64(r.Luck); !math.IsNaN(p) {
		chance = report.Grouped(100*p, 1) + " %"
	}
	facts := [][2]string{
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
	if none != "" {
		facts = slices.Insert(facts, 4, [2]string{"Why there are none", none})
	}
	return facts
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
func signed(x Figure) string {
	text := report.Percent(float64(x))
	if x > 0 {
		text = "+" + text
	}
	return strings.Replace(text, "-", "−", 1)
}

// tables lists the trades, the equity and the months of a run.
func (r *study) tables(run *backtestRun) []report.Table {
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

// warningOf joins the flags of a result for the header of its picture.
func warningOf(flags []string) string {
	shown := slices.Clone(flags)
	for i, f := range shown {
		shown[i] = strings.ReplaceAll(f, "_", " ")
	}
	return strings.Join(shown, ", ")
}
