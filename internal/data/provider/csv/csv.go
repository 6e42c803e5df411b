// Package csv reads bars from a folder of files named SYMBOL_INTERVAL.csv, such
// as BTCUSDT_1h.csv. It only reads, and only below that folder.
//
// The first line names the columns: time, open, high, low, close and volume are
// required, taker_buy is optional, others are ignored. A time is the bar's open,
// in unix seconds or RFC 3339, or a date. Rows ascend; a row that repeats the one before it
// is dropped, anything else that is wrong makes the whole file an error that
// names file, line, column and value.
//
// In a file's name the slash of a symbol is written %2F and the caret %5E. A
// month may be written 1mo, for file systems that take 1M for 1m; where both are
// there, 1M is read. Files of other names are ignored.
//
// A calendar that is not set is guessed: a symbol whose bars never lie on a weekend
// is taken for one of an exchange, with New York's hours where all of them fit.
//
// The funding of a perpetual future is in a file of its own, such as BTCUSDT.P_funding.csv, with the columns
// time and rate: what longs pay to shorts at that time, as a part of the position.
//
// An interval without a file is built from the longest one that divides it. The
// first bar is then left out if the file begins inside it, and the last counts
// as running if the file ends inside it.
package csv

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"candela/internal/data/provider"
	"candela/internal/kit/lru"
	"candela/lib/fault"
	"candela/lib/market"
)

const (
	name     = "csv"
	pageSize = 10_000
)

// Config says where the files are and how to read them.
type Config struct {
	Dir      string
	Calendar market.Calendar // of every file; for the zero value it is guessed, symbol by symbol
	// Now returns the time, by which the last bar of a file may still be running.
	// Without it every bar in a file counts as closed.
	Now func() time.Time
}

// Provider reads bars from files. It is safe for concurrent use. Files are read
// again when their time or size changes.
type Provider struct {
	config Config
	root   *os.Root
	folder folder
	cache  lru.Cache[cacheKey, version]
}

// New opens the folder. Close must be called to let go of it.
func New(c Config) (*Provider, error) {
	root, err := os.OpenRoot(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("csv folder: %w", err)
	}
	return &Provider{config: c, root: root, cache: lru.Cache[cacheKey, version]{Limit: cacheSize}}, nil
}

// Close lets go of the folder. Calls after it fail.
func (p *Provider) Close() error { return p.root.Close() }

// Name returns "csv".
func (p *Provider) Name() string { return name }

// Capabilities names every interval; which ones a symbol has depends on its files.
func (p *Provider) Capabilities() provider.Caps {
	return provider.Caps{Intervals: market.Intervals(), Builds: []market.Interval{market.Second1}, PageSize: pageSize, Sessions: true, Files: true}
}

// Instrument returns the calendar; files say nothing about orders.
func (p *Provider) Instrument(ctx context.Context, s market.Symbol) (provider.Instrument, error) {
	spelled, files, err := p.files(ctx, s)
	if err != nil {
		return provider.Instrument{}, err
	}
	c, err := p.calendar(ctx, files)
	inst := provider.Instrument{Symbol: market.Symbol{Venue: name, Name: spelled}, Calendar: c}
	if _, perpetual := inst.Symbol.Pair(); perpetual {
		inst.Class = provider.Perpetual
	}
	return inst, err
}

// Canonical returns the symbol as its files spell it.
func (p *Provider) Canonical(ctx context.Context, s market.Symbol) (market.Symbol, error) {
	spelled, _, err := p.files(ctx, s)
	if err != nil {
		return s, err
	}
	return market.Symbol{Venue: name, Name: spelled}, nil
}

// Version names the files of a symbol with their times and sizes. While a file is so new that a
// second change could have the same time, each answer is another one.
func (p *Provider) Version(s market.Symbol) string {
	all, err := p.folder.list(p.root)
	if err != nil {
		return "" // a read reports it
	}
	spelled, _ := all.spelled(s.Name)
	var b strings.Builder
	read := []string{escape(spelled) + fundingSuffix}
	for _, i := range slices.Sorted(maps.Keys(all[spelled])) {
		read = append(read, all[spelled][i])
	}
	for _, file := range read {
		info, err := p.root.Stat(file)
		if err != nil {
			continue
		}
		at := info.ModTime()
		if !settled(info) {
			at = time.Now()
		}
		fmt.Fprintf(&b, "%s %d %d;", file, at.UnixNano(), info.Size())
	}
	return b.String()
}

// Loaded lists the symbols that have files.
func (p *Provider) Loaded() []provider.Listing {
	all, err := p.folder.list(p.root)
	if err != nil {
		return nil // a read reports it
	}
	list := make([]provider.Listing, 0, len(all))
	for _, symbol := range slices.Sorted(maps.Keys(all)) {
		list = append(list, provider.Listing{Name: symbol, Class: provider.File, Asset: symbol})
	}
	return list
}

// Bars returns a page of a file's bars.
func (p *Provider) Bars(ctx context.Context, q provider.BarQuery) (provider.BarPage, error) {
	q, err := p.Capabilities().Normalize(name, q)
	if err != nil {
		return provider.BarPage{}, err
	}
	_, files, err := p.files(ctx, q.Symbol)
	if err != nil {
		return provider.BarPage{}, err
	}
	from, ok := files.source(q.Interval)
	if !ok {
		return provider.BarPage{}, fault.Field("interval", q.Interval.String(),
			fmt.Sprintf("an interval that %s builds from the files of %s: %s", name, q.Symbol.Name, files))
	}
	c, err := p.calendar(ctx, files)
	if err != nil {
		return provider.BarPage{}, err
	}
	series, err := p.load(ctx, files[from], c, from, q.Interval)
	if err != nil {
		return provider.BarPage{}, err
	}
	page := q.PageFromAll(&series.bars, series.unfinished || p.runs(c, &series.bars, q.Interval))
	if from != q.Interval {
		page.Built = from
		if n := page.Bars.Len(); n > 0 {
			last, _ := c.Bucket(q.Interval, page.Bars.T[n-1])
			page.Holes = market.GapsWithin(series.gaps, page.Bars.T[0], last.Close)
		}
	}
	return page, nil
}

// files returns the files of a symbol and how they spell it.
func (p *Provider) files(ctx context.Context, s market.Symbol) (string, files, error) {
	if err := ctx.Err(); err != nil {
		return "", nil, err
	}
	all, err := p.folder.list(p.root)
	if err != nil {
		return "", nil, &fault.Error{Kind: fault.Internal, Code: "bad_folder", Message: "the csv folder cannot be read", Cause: err}
	}
	spelled, ok := all.spelled(s.Name)
	if !ok || s.Venue != "" && s.Venue != name {
		return "", nil, provider.UnknownSymbol(name, s, fault.Nearest(s.Name, slices.Sorted(maps.Keys(all)))...)
	}
	return spelled, all[spelled], nil
}

// runs reports whether the last bar has not ended yet.
func (p *Provider) runs(c market.Calendar, bars *market.Bars, i market.Interval) bool {
	if p.config.Now == nil || bars.Len() == 0 {
		return false
	}
	span, ok := c.Bucket(i, bars.T[bars.Len()-1])
	return ok && span.Close > p.config.Now().Unix()
}
