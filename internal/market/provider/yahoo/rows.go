package yahoo

import (
	"math"
	"strconv"

	"candela/internal/market"
)

// settle is how long after a bar's end it counts as running for want of proof
// that the venue knows its last trade: some exchanges are shown with a delay, up
// to half an hour, and a symbol may not trade again for longer than that.
const settle = 30 * 60

// bars puts the rows under the labels of the calendar. The rows that are no bars
// of it are left out: the "now" tick at the end, which stands off the grid or at
// the session's end, and rows outside the sessions, such as auctions. It reports
// whether the last bar is still forming.
func (c *chart) bars(cal market.Calendar, i market.Interval, now int64) (market.Bars, bool) {
	out := market.MakeBars(len(c.rows), false)
	var span market.Span // of the last bar in out
	for k, row := range c.rows {
		at, ok := place(cal, i, row, k == len(c.rows)-1)
		if !ok {
			continue
		}
		last := out.Len() - 1
		switch {
		case last < 0 || at.Open > out.T[last]:
			row.T = at.Open
			out.Append(row)
			span = at
		case at.Open == out.T[last]:
			merge(&out, last, i, row)
		}
	}
	if out.Len() == 0 {
		return out, false
	}
	proven := c.meta.RegularMarketTime >= span.Close || now >= span.Close+settle
	return out, now < span.Close || !proven
}

// place returns the span of the bar of a row, and false for a row that
// has none.
func place(cal market.Calendar, i market.Interval, row market.Bar, last bool) (market.Span, bool) {
	if i >= market.Day1 {
		// The venue labels a day by its session's open or by midnight, weeks and
		// months by the midnight of their first date, and the newest row by its last
		// trade, which may come after the close.
		return cal.Dated(i, row.T)
	}
	span, ok := cal.Bucket(i, row.T)
	switch {
	case !ok:
		return span, false
	case span.Open == row.T:
		return span, true
	case last && (row.V == 0 || isFlat(row)):
		return span, false
	}
	// After a lunch break the venue counts from zero, as in Tokyo: such a bar keeps
	// its own open, because it lies in two bars of our grid.
	return market.Span{Open: row.T, Close: row.T + i.Seconds()}, true
}

func isFlat(row market.Bar) bool { return row.H == row.L }

// merge adds a row that the venue lists apart from the bar it belongs to. For a
// day the later row is the whole day once more; for a week or month it is today,
// which the row before leaves out.
func merge(out *market.Bars, k int, i market.Interval, row market.Bar) {
	switch {
	case i <= market.Day1 && row.V == 0 && isFlat(row): // the "now" tick
	case i <= market.Day1:
		out.O[k], out.H[k], out.L[k], out.C[k], out.V[k] = row.O, row.H, row.L, row.C, row.V
	default:
		out.H[k], out.L[k] = max(out.H[k], row.H), min(out.L[k], row.L)
		out.C[k] = row.C
		out.V[k] += row.V
	}
}

// shortest returns the decimal number that a 32-bit float was most likely made of.
func shortest(x float64) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', -1, 32), 64)
	if err != nil || math.IsInf(y, 0) {
		return x
	}
	return y
}
