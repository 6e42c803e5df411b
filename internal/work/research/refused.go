package research

import (
	"fmt"
	"strings"

	"candela/internal/work/research/report"
	"candela/lib/backtest"
	"candela/lib/backtest/simulate"
	"candela/lib/market"
)

// refusedText says which entries were refused, with the figures of the first; empty if none was.
func refusedText(a *simulate.Requests) string {
	var parts []string
	if m := &a.Margin; m.Count > 0 {
		parts = append(parts, fmt.Sprintf("%s refused: margin; the first needed %s, and the equity was %s: use a larger capital or smaller positions",
			report.Count(m.Count, "entry", "entries"), report.Money(m.Asked), report.Money(m.Had)))
	}
	if s := &a.Small; s.Count > 0 {
		parts = append(parts, fmt.Sprintf("%s refused: too small; the first was of %s units, and the least quantity is %g: use a larger capital or size",
			report.Count(s.Count, "entry", "entries"), report.Money(s.Asked), s.Had))
	}
	if a.Calls > 0 {
		parts = append(parts, report.Count(a.Calls, "margin call", "margin calls")+" sold parts of positions that the equity no longer covered: leave room for costs and losses with a smaller size")
	}
	return strings.Join(parts, "; ")
}

// noTrades says why a run has no closed trades; empty if it has some.
func noTrades(run *backtest.Run) string {
	a := &run.Asked
	if len(run.Trades) > 0 {
		return ""
	}
	if n := len(run.Open); n > 0 {
		return fmt.Sprintf("nothing has closed the %s since %s", report.Count(n, "position that is open", "positions that are open"), market.Stamp(run.Open[0].Time/1000))
	}
	if a.Made == 0 {
		text := "nothing was ordered at any of " + report.Count(run.Bars.Len()-run.From, "bar", "bars")
		if a.Early > 0 {
			text += fmt.Sprintf("; %s came in the %d bars before, which are there for indicators alone: begin earlier", report.Count(a.Early, "entry", "entries"), run.From)
		}
		return text
	}
	var parts []string
	if text := refusedText(a); text != "" {
		parts = append(parts, text)
	}
	for _, part := range []struct {
		count int
		text  string
	}{
		{a.Barred, "refused by the script's own rules of risk"},
		{a.Crowded, "had no effect because another one of that bar waited: pyramiding"},
		{a.Priced, "placed at a price which no bar reached before they were replaced, withdrawn or the bars ended"},
		{run.Totals.Refused, "not filled by the paper account: no cash, or nothing to sell"},
	} {
		if part.count > 0 {
			parts = append(parts, report.Count(part.count, "entry", "entries")+" "+part.text)
		}
	}
	if a.Market > a.Margin.Count+run.Totals.Refused {
		parts = append(parts, "an entry at market was withdrawn before the next open, or waits for the bar after the last")
	}
	return strings.Join(parts, "; ")
}

// invertedText says why the result is better at higher costs; empty if it is not.
func invertedText(c *backtest.Costs) string {
	i, inverted := c.Inverted()
	if !inverted {
		return ""
	}
	at := []string{"without costs", "as assumed", "at twice the costs", "at three times the costs"}
	less, more := &c.Asked[i], &c.Asked[i+1]
	text := fmt.Sprintf("; the result is better %s than %s, because sizes follow the equity and the trades are not the same: %d and %d trades", at[i+1], at[i], c.Trades[i+1], c.Trades[i])
	if less.Margin.Count+less.Calls+more.Margin.Count+more.Calls > 0 {
		text += fmt.Sprintf(", %d and %d entries refused for margin, %d and %d margin calls. A size below 100 %% of the equity leaves room for costs", more.Margin.Count, less.Margin.Count, more.Calls, less.Calls)
	}
	return text
}
