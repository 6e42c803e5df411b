package provider

import (
	"context"
	"slices"

	"candela/internal/market"
)

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
