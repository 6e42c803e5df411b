package provider

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"candela/internal/kit/fault"
	"candela/internal/market"
)

// Normalize returns q as the provider called name must answer it, with a Limit
// between 1 and the page size, or an Invalid fault naming what is wrong with it.
func (c Caps) Normalize(name string, q BarQuery) (BarQuery, error) {
	switch {
	case !slices.Contains(c.Intervals, q.Interval):
		return q, UnsupportedInterval(name, q.Interval, c.Intervals)
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
func UnsupportedInterval(name string, i market.Interval, supported []market.Interval) error {
	names := make([]string, len(supported))
	for k, s := range supported {
		names[k] = s.String()
	}
	return fault.Field("interval", i.String(), "an interval of "+name+": "+strings.Join(names, " "))
}
