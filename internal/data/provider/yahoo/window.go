package yahoo

import (
	"math"
	"strconv"

	"candela/internal/data/provider"
	"candela/lib/market"
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

// form is how the venue writes an interval and how much of it there is.
type form struct {
	name  string
	reach int64 // seconds back from now for which there are bars; 0 means since the first trade
	most  int64 // seconds that one request may span; 0 means all of them
}

// forms lists the intervals the venue has of ours. The reaches are a
// day short of what the venue allows, so that a request never misses the edge by
// the time it takes to arrive.
func forms() map[market.Interval]form {
	return map[market.Interval]form{
		market.Minute1:  {"1m", 29 * day, 7 * day},
		market.Minute5:  {"5m", 59 * day, 0},
		market.Minute15: {"15m", 59 * day, 0},
		market.Minute30: {"30m", 59 * day, 0},
		market.Hour1:    {"1h", 729 * day, 0},
		market.Day1:     {"1d", 0, 0},
		market.Week1:    {"1wk", 0, 0},
		market.Month1:   {"1mo", 0, 0},
	}
}

// dawn is a time before every price the venue has: 1900-01-01.
const dawn = -2208988800

// window is the part of a query's range that one request covers. Bars of the
// page open in [from, to).
type window struct {
	from, to int64
	floor    int64 // no bars open before it
	end      int64 // the end of the whole range asked for
	ask      [2]int64
}

// window chooses what to ask for. Holidays and holes make a stretch hold fewer
// bars than the calendar says, so it asks for a tenth and ten days more than
// the limit needs; what comes on top is cut off.
func (in *instrument) window(q provider.BarQuery, now int64) window {
	f, cal := forms()[q.Interval], in.Calendar
	w := window{floor: max(in.first, dawn), end: now + 1}
	if f.reach > 0 {
		w.floor = max(w.floor, now-f.reach)
	}
	if q.Interval >= market.Day1 {
		w.floor = cal.Midnight(q.Interval, w.floor) // the week of a listing begins before it
	}
	w.floor = cal.Next(q.Interval, w.floor-1).Open
	if q.To != 0 {
		w.end = min(w.end, q.To)
	}
	stretch := int64(1.1*float64(q.Limit)/cal.PerYear(q.Interval)*365*day) + 10*day
	if f.most > 0 {
		stretch = min(stretch, f.most)
	}
	if q.From != 0 {
		w.from = cal.Next(q.Interval, max(q.From, w.floor)-1).Open
		w.to = w.end
		if w.from+stretch < w.end {
			w.to = cal.Prev(q.Interval, w.from+stretch).Open
		}
	} else {
		w.to = w.end
		w.from = max(w.floor, cal.Next(q.Interval, w.to-stretch).Open)
	}
	w.ask = [2]int64{w.from, w.to}
	if q.Interval >= market.Day1 {
		// The midnight of the label. From another weekday on, weeks would be counted by that.
		w.ask[0] = cal.Midnight(q.Interval, w.from)
	}
	if running := cal.Prev(q.Interval, now+1).Open; w.to > running {
		w.ask[1] = now + 1 // the running bar may be labelled by its last trade
	}
	return w
}

// cut returns the page that answers q out of the bars of its window.
func (w window) cut(q provider.BarQuery, bars *market.Bars, running bool) provider.BarPage {
	forward := q.From != 0
	from, to := bars.Search(w.from), bars.Search(w.to)
	within := bars.Slice(from, max(from, to))
	q.From, q.To = 0, 0 // the window has the bounds, of which any may be 1970
	if forward {
		q.From = dawn
	}
	page := q.PageFromAll(&within, running && to == bars.Len())
	switch {
	case page.More:
	case forward && w.to < w.end:
		page.More, page.Next = true, w.to
	case !forward && w.from > w.floor:
		page.More, page.Next = true, w.from
	}
	return page
}
