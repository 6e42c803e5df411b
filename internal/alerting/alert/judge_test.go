package alert_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"candela/internal/alerting/alert"
	"candela/lib/market"
	"candela/lib/ta"
)

// rsiUnder is a member that compares the RSI of a length with 30.
func rsiUnder(length int, op alert.Op) alert.Condition {
	return alert.Condition{Type: alert.Value, Op: op, Left: alert.Operand{Indicator: "rsi", Line: "RSI", Params: fmt.Sprintf(`{"length":%d}`, length)}, Right: alert.Operand{Number: decimal.NewFromInt(30)}}
}

// TestJudge_UnknownIsNoAnswer gives members values that are there, missing now, or missing before, and joins them. A
// missing value is neither true nor false, and where all are known the verdict is that of an alert.
func TestJudge_UnknownIsNoAnswer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := alert.Condition{Type: rapid.SampledFrom([]alert.Type{alert.All, alert.Any}).Draw(t, "joined by")}
		n := rapid.IntRange(2, 4).Draw(t, "members")
		for i := range n {
			c.Members = append(c.Members, rsiUnder(14+i, rapid.SampledFrom([]alert.Op{alert.Less, alert.CrossesBelow}).Draw(t, "op")))
		}
		a := alert.Alert{Symbol: market.Symbol{Name: "BTCUSDT"}, Interval: market.Hour1, Condition: c}
		if err := a.Normalize(ta.Library{}); err != nil {
			t.Fatal(err)
		}
		probe, closed := alert.NewProbe(ta.Library{}, &a), time.Unix(7200, 0)
		var rows []alert.Row
		for g := range probe.Groups() {
			row := alert.Row{Values: []float64{value(t)}, Prev: []float64{value(t)}}
			rows = append(rows, row)
			probe.SetRow(g.Key, row, closed)
		}
		bar, prev := market.Bar{T: 3600, C: 1}, market.Bar{T: 0, C: 1}
		got := probe.Judge(&alert.Scene{Bar: bar, Prev: prev, Closed: closed, Seen: 500, Env: ta.Env{Interval: market.Hour1}})
		if want := joined(c, rows); got.Truth != want {
			t.Fatalf("%v of %v is %v, want %v", c.Type, rows, got.Truth, want)
		}
		if got.Truth == alert.Unknown && got.Lacks == nil {
			t.Error("it does not say what is missing")
		}
		if said, _ := probe.Evaluate(bar, prev, closed); got.Truth != alert.Unknown && said.Holds != (got.Truth == alert.True) {
			t.Errorf("an alert says %v", said.Holds)
		}
	})
}

func value(t *rapid.T) float64 {
	return rapid.SampledFrom([]float64{10, 30, 50, math.NaN()}).Draw(t, "value")
}

// joined says what members with these rows are together, in the plainest way.
func joined(c alert.Condition, rows []alert.Row) alert.Truth {
	count := map[alert.Truth]int{}
	for i, m := range c.Members {
		now, before := rows[i].Values[0], rows[i].Prev[0]
		is := now < 30 && (m.Op == alert.Less || before >= 30)
		switch {
		case math.IsNaN(now) || m.Op != alert.Less && math.IsNaN(before):
			count[alert.Unknown]++
		case is:
			count[alert.True]++
		default:
			count[alert.False]++
		}
	}
	decides, otherwise := alert.False, alert.True
	if c.Type == alert.Any {
		decides, otherwise = alert.True, alert.False
	}
	switch {
	case count[decides] > 0:
		return decides
	case count[alert.Unknown] > 0:
		return alert.Unknown
	}
	return otherwise
}
