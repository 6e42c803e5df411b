package tool

import (
	"encoding/json"

	"candela/internal/kit/strictjson"
	"candela/internal/work/charting"
	"candela/lib/chart"
	"candela/lib/fault"
	"candela/lib/market"
)

func startArg(r *charting.TimeRange, doc string) arg { return momentArg("start", &r.Start, 0, doc) }
func endArg(r *charting.TimeRange, doc string) arg   { return momentArg("end", &r.End, 1, doc) }

// momentArg is a time in RFC 3339 or a date, read as the start of the day in UTC. after is
// added in units of what was given, so that 1 makes the end exclusive: the next day after
// a date, and the next second after a time.
func momentArg(name string, dst *int64, after int, doc string) arg {
	return newArg(name, dst, charting.MomentAllowed, &schema{Type: "string", Description: doc}, func(raw json.RawMessage) (int64, error) {
		value, _ := strictjson.Text(raw)
		at, ok := charting.ParseMoment(value, after)
		if !ok {
			return 0, fault.Field(name, quoteValue(raw), charting.MomentAllowed)
		}
		return at, nil
	})
}

func compareArg(dst *[]market.Symbol, doc string) arg {
	return listArg("compare", dst, chart.MaxCompared, &schema{Type: "string"}, "symbols such as ETHUSDT or AAPL", doc, market.ParseSymbol)
}
