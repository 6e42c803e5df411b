package order_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
)

// TestChange_Apply holds what a call changes: fields that it does not name stay.
func TestChange_Apply(t *testing.T) {
	t.Parallel()
	dec := decimal.RequireFromString
	line := func(id, quantity, stop, target string) order.Line {
		return order.Line{ID: id, Side: order.Buy, Quantity: dec(quantity), Protect: order.Protection{StopLoss: dec(stop), TakeProfit: dec(target)}}
	}
	pair, other, waits := line("a", "0.05", "44", "47"), line("b", "0.02", "43", "48"), line("w", "0", "40", "0")
	for name, c := range map[string]struct {
		lines     []order.Line
		bare      string
		line      string
		quantity  string
		protect   order.Protection
		want      string
		concerned string
	}{
		"the stop of all":                    {lines: []order.Line{pair}, quantity: "0.05", protect: order.Protection{StopLoss: dec("45")}, want: "a 0.05 45 0 47", concerned: "a"},
		"a trail for all":                    {lines: []order.Line{pair}, quantity: "0.05", protect: order.Protection{TrailPercent: dec("2")}, want: "a 0.05 0 2 47", concerned: "a"},
		"the target of all":                  {lines: []order.Line{pair}, quantity: "0.05", protect: order.Protection{TakeProfit: dec("46")}, want: "a 0.05 44 0 46", concerned: "a"},
		"a part of the only line":            {lines: []order.Line{pair}, quantity: "0.02", protect: order.Protection{TakeProfit: dec("46")}, want: "a 0.03 44 0 47, n 0.02 44 0 46", concerned: "n a"},
		"both lines":                         {lines: []order.Line{pair, other}, quantity: "0.07", protect: order.Protection{StopLoss: dec("45")}, want: "a 0.05 45 0 47, b 0.02 45 0 48", concerned: "a b"},
		"one of two by its quantity":         {lines: []order.Line{pair, other}, quantity: "0.02", protect: order.Protection{StopLoss: dec("45")}, want: "a 0.05 44 0 47, b 0.02 45 0 48", concerned: "b"},
		"one of two by name":                 {lines: []order.Line{pair, other}, line: "a", quantity: "0.05", protect: order.Protection{StopLoss: dec("45")}, want: "a 0.05 45 0 47, b 0.02 43 0 48", concerned: "a"},
		"a part of one of two by name":       {lines: []order.Line{pair, other}, line: "a", quantity: "0.01", protect: order.Protection{StopLoss: dec("45")}, want: "a 0.04 44 0 47, n 0.01 45 0 47, b 0.02 43 0 48", concerned: "n a"},
		"neither all nor a line":             {lines: []order.Line{pair, other}, quantity: "0.03", protect: order.Protection{StopLoss: dec("45")}, want: "unclear"},
		"a line that is not there":           {lines: []order.Line{pair}, line: "x", quantity: "0.05", protect: order.Protection{StopLoss: dec("45")}, want: "unclear"},
		"what no line is for":                {lines: []order.Line{pair}, bare: "0.03", quantity: "0.03", protect: order.Protection{StopLoss: dec("45")}, want: "a 0.05 44 0 47, n 0.03 45 0 0", concerned: "n"},
		"all, with what no line is for":      {lines: []order.Line{pair}, bare: "0.03", quantity: "0.08", protect: order.Protection{StopLoss: dec("45")}, want: "a 0.05 45 0 47, n 0.03 45 0 0", concerned: "a n"},
		"all, beside an entry that waits":    {lines: []order.Line{pair, waits}, quantity: "0.05", protect: order.Protection{StopLoss: dec("45")}, want: "a 0.05 45 0 47, w 0 40 0 0", concerned: "a"},
		"a part, beside an entry that waits": {lines: []order.Line{pair, waits}, quantity: "0.02", protect: order.Protection{TakeProfit: dec("46")}, want: "a 0.03 44 0 47, n 0.02 44 0 46, w 0 40 0 0", concerned: "n a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bare := decimal.Zero
			if c.bare != "" {
				bare = dec(c.bare)
			}
			change := order.Change{ID: "n", Side: order.Buy, Line: c.line, Quantity: dec(c.quantity), Protect: c.protect}
			after, concerned, ok := change.Apply(c.lines, bare)
			if !ok {
				after = nil
			}
			if got := linesText(after); got != c.want || strings.Join(concerned, " ") != c.concerned {
				t.Errorf("the plan is %s (%v), want %s (%s)", got, concerned, c.want, c.concerned)
			}
			if !ok {
				return
			}
			if got, was := linesText(change.Undo(after, c.lines, concerned)), linesText(c.lines); got != was {
				t.Errorf("undone it is %s, and was %s", got, was)
			}
		})
	}
}

// linesText lists lines with quantity, stop, trail and target.
func linesText(lines []order.Line) string {
	if lines == nil {
		return "unclear"
	}
	all := make([]string, 0, len(lines))
	for _, l := range lines {
		all = append(all, fmt.Sprintf("%s %v %v %v %v", l.ID, l.Quantity, l.Protect.StopLoss, l.Protect.TrailPercent, l.Protect.TakeProfit))
	}
	return strings.Join(all, ", ")
}
