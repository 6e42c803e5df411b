package tool

import (
	"encoding/json"
	"fmt"
	"slices"

	"candela/internal/alerting/alert"
	"candela/internal/kit/strictjson"
	"candela/internal/work/research"
	"candela/internal/work/wording"
	"candela/lib/fault"
	"candela/lib/market"
)

// Bounds of a sweep.
const (
	mostAxes   = 4
	mostTrials = 1000
)

// sweepArgs say which values are tried.
func sweepArgs(s *research.Sweep) args {
	return args{
		sweepArg(&s.Grid),
		walkArg(s),
		floatArg("oos_pct", &s.OutOfSample, 0, 80, "Newest bars that a sweep does not see until it has chosen. Default: 30."),
	}
}

// sweepArg is an object of lists of numbers.
func sweepArg(dst *research.Grid) arg {
	allowed := "an object of lists of numbers such as " + research.SweepExample
	s := &schema{Type: "object", Description: `Values to try: "$fast" in long and short stands for those of fast; with a script, fast is one of its inputs. Such as ` + research.SweepExample + "."}
	return newArg("sweep", dst, allowed, s, func(raw json.RawMessage) (research.Grid, error) {
		if raw[0] != '{' {
			return nil, wording.NoObject("sweep", raw, allowed)
		}
		var grid research.Grid
		for name, list := range strictjson.Fields(raw) {
			axis := research.Axis{Name: name}
			if list[0] != '[' {
				return nil, fault.Field("sweep."+name, quoteValue(list), "a list of numbers such as [5,10,15]")
			}
			for item := range strictjson.Items(list) {
				x, ok := wording.Exact(item)
				if !ok || slices.Contains(axis.Values, x.InexactFloat64()) {
					return nil, fault.Field("sweep."+name, quoteValue(item), "numbers, each once")
				}
				axis.Values = append(axis.Values, x.InexactFloat64())
			}
			grid = append(grid, axis)
		}
		if n := grid.Len(); len(grid) == 0 || len(grid) > mostAxes || n < 2 || n > mostTrials {
			return nil, fault.Field("sweep", fmt.Sprintf("%d lists, %d combinations", len(grid), n), fmt.Sprintf("1 to %d lists and 2 to %d combinations", mostAxes, mostTrials))
		}
		return grid, nil
	})
}

// walkArg is the lengths of a walk forward.
func walkArg(s *research.Sweep) arg {
	const example = `{"train":2000,"test":500}`
	object := &schema{Type: "object", Description: "With sweep: choose on train bars, run on the next test bars, move on. Such as " + example + "."}
	var none bool
	return newArg("walk_forward", &none, "an object such as "+example, object, func(raw json.RawMessage) (bool, error) {
		if raw[0] != '{' {
			return false, wording.NoObject("walk_forward", raw, "an object such as "+example)
		}
		list := args{intArg("train", &s.Train, research.LeastBars, research.MostBars, "").require(), intArg("test", &s.Test, 20, research.MostBars, "").require()}
		return true, prefixField("walk_forward", list.decode(raw))
	})
}

// magnifyArg is the interval of the shorter bars on which orders fill.
func magnifyArg(dst *market.Interval) arg {
	names := market.AllowedIntervals()
	s := &schema{Type: "string", Description: "Orders fill along shorter bars of this interval, where the venue has them. Default: as a script declares."}
	return newArg("magnify", dst, names, s, func(raw json.RawMessage) (market.Interval, error) {
		value, _ := strictjson.Text(raw)
		i, err := market.ParseInterval(value)
		if err != nil {
			return 0, fault.Field("magnify", quoteValue(raw), names)
		}
		return i, nil
	})
}

// spanArgs say which closed bars a question is about.
func spanArgs(s *research.Span) args {
	return args{
		intArg("bars", &s.Bars, research.LeastBars, research.MostBars, "Closed bars; with from, all of them from there on."),
		momentArg("from", &s.Time.Start, 0, "First bar, as a date or a time."), momentArg("to", &s.Time.End, 1, "Only bars closed by then. Default: the newest."),
	}
}

// floatArg is a number within bounds.
func floatArg(name string, dst *float64, lo, hi float64, doc string) arg {
	allowed := fmt.Sprintf("a number from %g to %g", lo, hi)
	s := &schema{Type: "number", Description: doc, Minimum: &lo, Maximum: &hi}
	return newArg(name, dst, allowed, s, func(raw json.RawMessage) (float64, error) {
		value, ok := wording.Exact(raw)
		if x := value.InexactFloat64(); ok && x >= lo && x <= hi {
			return x, nil
		}
		return 0, wrongNumber(name, raw, allowed)
	})
}

// accountArgs describe a simulated account.
func accountArgs(a *research.Account) args {
	return args{
		floatArg("capital", &a.Capital, 1, 1e12, "Money at the start. Default: 10000.").note(&a.Chosen.Capital),
		floatArg("size_pct", &a.Percent, 0.01, 1000, "Percent of the equity for a position. Default: 100.").note(&a.Chosen.Percent),
		floatArg("quantity", &a.Quantity, 1e-9, 1e12, "Units for a position, in place of size_pct.").note(&a.Chosen.Quantity),
		floatArg("fee_bps", &a.Fee, 0, 1000, "Fee a side in basis points. Default: 10; in a perpetual future with fill_model paper 5.").note(&a.Chosen.Fee),
		enumArg("fill_model", &a.Fills, "pine: TradingView's rules. paper: what the paper account would do; limits must be passed, fills have at most the bar's volume, and only perpetual futures (BTCUSDT.P) go short.", research.FillsPine, research.FillsPaper),
		floatArg("slip_bps", &a.Slip, 0, 1000, "Slippage of market and stop orders in basis points. Default: 5.").note(&a.Chosen.Slip),
		floatArg("leverage", &a.Leverage, research.LeastLeverage, research.MostLeverage, "Of a perpetual future with fill_model paper. Default: 1."),
	}
}

// onBars refuses a condition that watches trades, which bars do not have.
func onBars(field string, c *alert.Condition) error {
	if c.Type.OnPrice() {
		return fault.Field(field, c.Type.String(), `a condition on closed bars, such as {"value":{"price":"close","op":">","value":70000}}`)
	}
	return nil
}
