package alpaca

import (
	"cmp"
	"slices"
	"time"

	"candela/internal/data/provider"
	"candela/lib/market"
)

const (
	minute = 60
	// grace is how long after a bar's end its last minutes may come. The venue
	// sends a minute within a second of its end, none for a minute without trades,
	// and corrects some half a minute later.
	grace = 5
	// dayGrace is the same for a day, whose last state follows the closing auction.
	dayGrace = 45
)

// builder makes the bars of one subscription out of the stream's messages:
// minutes for intraday bars, the venue's own day for days. One goroutine at a
// time.
type builder struct {
	sub  provider.Sub
	cal  market.Calendar
	from int64 // the open of the first bar that is sent whole

	span    market.Span  // of the bar being built; zero when none is
	minutes []market.Bar // of it, ascending; for a day, the day so far
	done    int64        // the open of the last bar closed, to refuse what comes later
	closed  bool         // done is set
}

// newBuilder starts at the time from which on minutes come. A bar that began
// before is left to the reader of history: its first minutes are missing here.
func newBuilder(sub provider.Sub, cal market.Calendar, at int64) *builder {
	from := at - at%minute
	if sub.Interval < market.Day1 {
		from = cal.Next(sub.Interval, from-1).Open
	} else {
		from = cal.Midnight(sub.Interval, at) // the venue sends the whole of today
	}
	return &builder{sub: sub, cal: cal, from: from}
}

// take adds a minute or a correction of one, or a state of the day, and returns
// the events to send.
func (b *builder) take(kind string, bar market.Bar) []provider.Event {
	daily := b.sub.Interval == market.Day1
	if daily != (kind == "d") {
		return nil
	}
	span, ok := b.cal.Bucket(b.sub.Interval, bar.T)
	if daily {
		span, ok = b.cal.Dated(b.sub.Interval, bar.T)
	}
	if !ok || span.Open < b.from || b.closed && span.Open <= b.done || span.Open < b.span.Open {
		return nil
	}
	var out []provider.Event
	if b.span != span {
		out = b.close(out, b.span.Close)
		b.span = span
	}
	if daily {
		bar.T = span.Open
		b.minutes = append(b.minutes[:0], bar)
		return append(out, b.event(provider.Forming, bar.T))
	}
	b.put(bar)
	ends := b.minutes[len(b.minutes)-1].T + minute
	if ends >= span.Close && len(b.minutes) == int((span.Close-span.Open+minute-1)/minute) {
		return b.close(out, span.Close)
	}
	return append(out, b.event(provider.Forming, ends))
}

// put adds a minute in its place, in place of what was known of it.
func (b *builder) put(bar market.Bar) {
	at, known := slices.BinarySearchFunc(b.minutes, bar.T, func(m market.Bar, t int64) int { return cmp.Compare(m.T, t) })
	if known {
		b.minutes[at] = bar
		return
	}
	b.minutes = slices.Insert(b.minutes, at, bar)
}

// late closes the bar whose end is over for a while: the minutes that it lacks
// had no trades.
func (b *builder) late(now int64) []provider.Event {
	wait := int64(grace)
	if b.sub.Interval == market.Day1 {
		wait = dayGrace
	}
	if b.span == (market.Span{}) || now < b.span.Close+wait {
		return nil
	}
	return b.close(nil, now)
}

func (b *builder) close(out []provider.Event, at int64) []provider.Event {
	if len(b.minutes) > 0 {
		out = append(out, b.event(provider.Closed, at))
		b.done, b.closed = b.span.Open, true
	}
	b.span, b.minutes = market.Span{}, b.minutes[:0]
	return out
}

func (b *builder) event(kind provider.EventKind, at int64) provider.Event {
	bar := b.minutes[0]
	bar.T, bar.V = b.span.Open, 0
	for _, m := range b.minutes {
		bar.H, bar.L, bar.C = max(bar.H, m.H), min(bar.L, m.L), m.C
		bar.V += m.V
	}
	return provider.Event{Sub: b.sub, Kind: kind, Bar: bar, Price: bar.C, At: time.Unix(at, 0).UTC()}
}
