package provider

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"candela/internal/kit/strictjson"
	"candela/lib/fault"
	"candela/lib/market"
)

// Has reports whether Bars accepts an interval.
func (c Caps) Has(i market.Interval) bool {
	return slices.Contains(c.Intervals, i) || slices.ContainsFunc(c.Builds, func(from market.Interval) bool { return from.Divides(i) })
}

// Normalize returns q as the provider called name must answer it, with a Limit
// between 1 and the page size, or an Invalid fault naming what is wrong with it.
func (c Caps) Normalize(name string, q BarQuery) (BarQuery, error) {
	switch {
	case !c.Has(q.Interval):
		return q, UnsupportedInterval(name, q.Interval, c)
	case q.Limit < 0:
		return q, fault.Field("limit", strconv.Itoa(q.Limit), "0 or more")
	case q.From != 0 && q.To != 0 && q.To < q.From:
		return q, fault.Field("to", strconv.FormatInt(q.To, 10), fmt.Sprintf("a time from %d on, or none", q.From))
	}
	if q.Limit == 0 || q.Limit > c.PageSize {
		q.Limit = c.PageSize
	}
	return q, nil
}

// PageFromAll returns the page that answers q, which Normalize has returned, out of all
// the bars there are. It suits a provider that holds its bars in memory; running
// says whether the last of them is still forming.
func (q BarQuery) PageFromAll(all *market.Bars, running bool) BarPage {
	from, to := 0, all.Len()
	if q.From != 0 {
		from = all.Search(q.From)
	}
	if q.To != 0 {
		to = max(from, all.Search(q.To))
	}
	var p BarPage
	if to-from > q.Limit {
		p.More = true
		if q.From != 0 {
			to = from + q.Limit
			p.Next = all.T[to]
		} else {
			from = to - q.Limit
			p.Next = all.T[from]
		}
	}
	p.Bars = all.Slice(from, to)
	p.Running = running && to == all.Len() && to > from
	return p
}

// UnknownSymbol is the fault of a provider that has no such symbol. Suggestions
// are names it does have.
func UnknownSymbol(name string, s market.Symbol, suggestions ...string) error {
	message := fmt.Sprintf("%s has no symbol %q", name, s.Name)
	if len(suggestions) > 0 {
		message += fmt.Sprintf("; did you mean %q?", suggestions[0])
	}
	return &fault.Error{
		Kind: fault.NotFound, Code: "unknown_symbol", Message: message,
		Field: "symbol", Value: s.String(), Suggestions: suggestions,
	}
}

// UnsupportedInterval is the fault of a provider that has no bars of the
// interval; it lists those there are.
func UnsupportedInterval(name string, i market.Interval, c Caps) error {
	names := make([]string, len(c.Intervals))
	for k, s := range c.Intervals {
		names[k] = s.String()
	}
	allowed := "an interval of " + name + ": " + strings.Join(names, " ")
	if len(c.Builds) > 0 {
		allowed += " (or another that " + c.Builds[0].String() + " divides)"
	}
	return fault.Field("interval", i.String(), allowed)
}

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

// ReadBar reads a bar from a row of a venue's answer. columns says what stands where: t is the time in seconds, o, h, l, c
// and v are prices and volume, b is the taker-buy volume, and - is not used. number reads a value; other, which may be
// nil, reads what has no letter.
func ReadBar(j *strictjson.Reader, columns string, number func(*strictjson.Reader) float64, other func(column int, b *market.Bar)) market.Bar {
	b := market.Bar{TakerBuy: math.NaN()}
	values := [...]*float64{&b.O, &b.H, &b.L, &b.C, &b.V, &b.TakerBuy}
	j.Row(len(columns), func(column int) {
		if column >= len(columns) {
			return
		}
		switch k := strings.IndexByte("ohlcvb", columns[column]); {
		case k >= 0:
			*values[k] = number(j)
		case columns[column] == 't':
			b.T = j.Int()
		case other != nil:
			other(column, &b)
		}
	})
	return b
}

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

// Read follows pages until it has want bars or there are no more, and returns
// them as one page: the oldest of the range when q has a From, the newest
// otherwise. It may have more than want bars, as pages come whole.
func Read(ctx context.Context, p Provider, q BarQuery, want int) (BarPage, error) {
	q.Limit = want
	page, err := p.Bars(ctx, q)
	if err != nil {
		return BarPage{}, err
	}
	pages, total := []BarPage{page}, page.Bars.Len()
	for page.More && total < want {
		q = q.Following(page)
		q.Limit = want - total
		if page, err = p.Bars(ctx, q); err != nil {
			return BarPage{}, err
		}
		pages = append(pages, page)
		total += page.Bars.Len()
	}
	if len(pages) == 1 {
		return page, nil
	}
	if q.From == 0 {
		slices.Reverse(pages)
	}
	return join(pages, page, total), nil
}

// join puts ascending pages into one. The last that was read says how it goes on.
func join(pages []BarPage, read BarPage, total int) BarPage {
	out := BarPage{Running: pages[len(pages)-1].Running, More: read.More, Next: read.Next, Built: read.Built}
	taker := slices.ContainsFunc(pages, func(p BarPage) bool { return p.Bars.TakerBuy != nil })
	out.Bars = market.MakeBars(total, taker)
	for _, page := range pages {
		for i := range page.Bars.Len() {
			out.Bars.Append(page.Bars.At(i))
		}
		out.Holes = append(out.Holes, page.Holes...)
		out.Synthetic = out.Synthetic || page.Synthetic
	}
	return out
}

// Prepare returns q as the venue called name must answer it, and how it spells the
// symbol. There is nothing to ask for when ask is false: q is wrong, its range is
// empty, or ctx has ended.
func (c Caps) Prepare(ctx context.Context, name string, q BarQuery, spell SymbolMapper) (accepted BarQuery, spelled string, ask bool, err error) {
	if spelled, err = spell(q.Symbol); err != nil {
		return q, "", false, err
	}
	if q, err = c.Normalize(name, q); err != nil {
		return q, spelled, false, err
	}
	err = ctx.Err()
	return q, spelled, err == nil && !q.Empty(), err
}
