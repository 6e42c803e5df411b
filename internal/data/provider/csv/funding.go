package csv

import (
	"context"
	"errors"
	"io/fs"
	"sort"

	"candela/internal/data/provider"
	"candela/lib/fault"
	"candela/lib/market"
	barfile "candela/lib/market/csv"
)

// fundingSuffix ends the name of a file of funding rates, behind the symbol.
const fundingSuffix = "_funding" + extension

// SeriesNames lists the series that files may have.
func (p *Provider) SeriesNames() []string { return []string{string(market.FundingRate)} }

// Series returns the funding rates of a symbol, none where it has no file of them.
func (p *Provider) Series(ctx context.Context, q provider.SeriesQuery) ([]provider.Point, error) {
	if market.SeriesName(q.Name) != market.FundingRate {
		return nil, fault.Field("series", q.Name, "a series of csv: "+string(market.FundingRate))
	}
	spelled, _, err := p.files(ctx, q.Symbol)
	if err != nil {
		return nil, err
	}
	file := escape(spelled) + fundingSuffix
	if info, err := p.root.Stat(file); errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil, nil // to open a pipe would wait for ever
	}
	f, _, err := p.open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	times, rates, err := barfile.File{Name: file}.Points(ctx, f, "rate")
	if err != nil {
		return nil, err
	}
	from := max(sort.Search(len(times), func(i int) bool { return times[i] >= q.From })-1, 0) // the one before is in force
	var points []provider.Point
	for i := from; i < len(times) && times[i] <= q.To; i++ {
		points = append(points, provider.Point{T: times[i], V: rates[i]})
	}
	return points, nil
}
