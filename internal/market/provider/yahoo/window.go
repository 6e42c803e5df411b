package yahoo

import (
	"candela/internal/market"
	"candela/internal/market/provider"
)

const day = daySeconds

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
