package provider

import (
	"fmt"
	"time"

	"candela/internal/market"
)

// BarRange is what a venue was asked for at once: all the bars that open from From,
// inclusive, to To, exclusive. A time of 0 says that there are none beyond.
type BarRange struct {
	Bars     market.Bars
	From, To int64
}

// finalDelay is how long after its end a bar still counts as running, when nothing
// newer has come: an answer may have been put together just before the end and
// stamped just after it, and a closed bar never changes again.
const finalDelay = time.Second

// PageFromRange returns the page that answers q, which Normalize has returned, out of a
// stretch that begins, or without q.From ends, where q does. The time now is the
// venue's.
func (q BarQuery) PageFromRange(s BarRange, now time.Time) BarPage {
	page := q.PageFromAll(&s.Bars, false)
	if n := page.Bars.Len(); n > 0 {
		span, _ := market.Calendar{}.Bucket(q.Interval, page.Bars.T[n-1])
		page.Running = span.Close > now.Add(-finalDelay).Unix()
	}
	switch {
	case page.More:
	case q.From != 0 && s.To != 0 && (q.To == 0 || s.To < q.To) && s.To <= now.Unix():
		page.More, page.Next = true, s.To
	case q.From == 0 && s.From != 0 && s.Bars.Len() > 0:
		page.More, page.Next = true, s.From
	}
	return page
}

// Empty reports whether q asks for an empty range, or for one before 1970, when no
// venue had opened. Such a query needs no request.
func (q BarQuery) Empty() bool { return q.To != 0 && (q.To <= q.From || q.To <= 0) }

// CheckAligned returns what is wrong with the bars of a market that never closes: the
// first unsound one, disorder, or one that does not open where a bar of the
// interval does.
func CheckAligned(b *market.Bars, i market.Interval) error {
	if err := b.Check(); err != nil {
		return err
	}
	for _, t := range b.T {
		if span, ok := (market.Calendar{}).Bucket(i, t); !ok || span.Open != t {
			return fmt.Errorf("no bar of %v opens at %s", i, time.Unix(t, 0).UTC().Format(time.RFC3339))
		}
	}
	return nil
}
