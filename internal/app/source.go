package app

import (
	"context"
	"fmt"
	"io"
	"slices"

	"candela/internal/fault"
	"candela/internal/market"
	"candela/internal/provider"
)

// pick returns the source of a symbol's bars: the venue it names, else the first
// that has real bars. Made-up bars are used only where none were asked for, or
// by name.
func pick(sources []provider.Provider, s market.Symbol) (provider.Provider, error) {
	names := make([]string, 0, len(sources))
	for _, p := range sources {
		names = append(names, p.Name())
		synthetic := p.Capabilities().Synthetic
		if s.Venue == p.Name() || s.Venue == "" && synthetic == s.IsZero() {
			return p, nil
		}
	}
	if s.Venue != "" {
		return nil, fault.Field("symbol", s.String(), fmt.Sprintf("the sources set up here, %q", names), fault.Nearest(s.Venue, names)...)
	}
	return nil, &fault.Error{
		Kind: fault.NotFound, Code: "no_source", Field: "symbol", Value: s.String(),
		Message: fmt.Sprintf("there is no source of bars for %s: name a folder of files with --csv-dir, "+
			"or leave the symbol out for sample data", s),
	}
}

// closeSources lets go of what the sources hold open. They are only read from,
// so an error here loses nothing.
func closeSources(sources []provider.Provider) {
	for _, p := range sources {
		if c, ok := p.(io.Closer); ok {
			_ = c.Close()
		}
	}
}

// newest returns the newest bars that answer q, following pages until there are
// q.Limit of them or no more.
func newest(ctx context.Context, p provider.Provider, q provider.BarQuery) (provider.BarPage, error) {
	first, err := p.Bars(ctx, q)
	if err != nil {
		return provider.BarPage{}, err
	}
	pages, page := []provider.BarPage{first}, first
	total := first.Bars.Len()
	for page.More && total < q.Limit {
		next := q.Following(page)
		next.Limit = q.Limit - total
		if page, err = p.Bars(ctx, next); err != nil {
			return provider.BarPage{}, err
		}
		q.To = next.To
		pages = append(pages, page)
		total += page.Bars.Len()
	}
	if len(pages) == 1 {
		return first, nil
	}
	first.Bars = join(pages, total)
	return first, nil
}

// join puts pages that came newest first into one ascending run.
func join(pages []provider.BarPage, total int) market.Bars {
	all := market.MakeBars(total, pages[0].Bars.TakerBuy != nil)
	for _, page := range slices.Backward(pages) {
		for i := range page.Bars.Len() {
			all.Append(page.Bars.At(i))
		}
	}
	return all
}
