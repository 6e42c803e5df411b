// Package sample makes up bars: the same ones for the same seed and symbol, with
// trends, calm and wild times, wicks, and volume that follows the range. They
// serve charts without a symbol, tests and demonstrations, and every page says
// that they are synthetic. The provider knows SAMPLE and SAMPLE-1 to
// SAMPLE-999999 and no other name, so that it cannot stand in for a real symbol.
//
// A bar depends on its open time alone, not on the query, and bars of a longer
// interval equal the aggregation of shorter ones to the last digit, whatever two
// intervals are compared. The bars are the same on every machine of one
// processor architecture; another may round a price to the next tick.
package sample

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/lib/market"
)

const (
	name     = "sample"
	pageSize = 5000

	// first is where the bars begin: 1970-02-01, after the zero time that a query
	// cannot name.
	first = 31 * 86400
	// frozen is the time at which a provider without a clock stands: 2025-01-01.
	frozen = 1735689600
)

// Config says which bars to make.
type Config struct {
	Seed uint64
	// Now returns the time for live bars. Without it the provider stands still at a
	// fixed instant, so that the same question always has the same answer, and
	// does not stream.
	Now func() time.Time
}

// Provider makes bars up. It is safe for concurrent use.
type Provider struct{ config Config }

var _ provider.Streamer = (*Provider)(nil)

// New returns a provider of sample bars.
func New(c Config) *Provider { return &Provider{config: c} }

// Name returns "sample".
func (p *Provider) Name() string { return name }

// Capabilities returns what sample bars offer.
func (p *Provider) Capabilities() provider.Caps {
	return provider.Caps{
		Intervals: market.Intervals(), Builds: []market.Interval{market.Minute1}, PageSize: pageSize,
		Live: p.config.Now != nil, TakerBuy: true, Synthetic: true,
	}
}

// Instrument describes a sample symbol. No symbol stands for SAMPLE.
func (p *Provider) Instrument(ctx context.Context, s market.Symbol) (provider.Instrument, error) {
	path, known, err := p.open(ctx, s)
	if err != nil {
		return provider.Instrument{}, err
	}
	return provider.Instrument{
		Symbol: known, Base: known.Name, Quote: "USD",
		Tick: decimal.New(1, -path.digits), Step: decimal.NewFromInt(1), MinQuantity: decimal.NewFromInt(1),
	}, nil
}

// Bars returns a page of sample bars. No symbol stands for SAMPLE.
func (p *Provider) Bars(ctx context.Context, q provider.BarQuery) (provider.BarPage, error) {
	path, _, err := p.open(ctx, q.Symbol)
	if err != nil {
		return provider.BarPage{}, err
	}
	q, err = p.Capabilities().Normalize(name, q)
	if err != nil {
		return provider.BarPage{}, err
	}
	return path.page(q, p.now()), nil
}

func (p *Provider) now() int64 {
	if p.config.Now == nil {
		return frozen
	}
	return p.config.Now().Unix()
}

// open finds a symbol's path.
func (p *Provider) open(ctx context.Context, s market.Symbol) (*path, market.Symbol, error) {
	if err := ctx.Err(); err != nil {
		return nil, s, err
	}
	if s.IsZero() {
		s.Name = "SAMPLE"
	}
	if s.Venue != "" && s.Venue != name || !sampleName(s.Name) {
		return nil, s, provider.UnknownSymbol(name, s, "SAMPLE")
	}
	s.Venue = name
	return newPath(p.config.Seed, s.Name), s, nil
}

func sampleName(s string) bool {
	number, numbered := strings.CutPrefix(s, "SAMPLE-")
	if !numbered {
		return s == "SAMPLE"
	}
	n, err := strconv.Atoi(number)
	return err == nil && n >= 1 && n <= 999_999 && strconv.Itoa(n) == number
}

// levelOf returns the level whose bars an interval is made of: the longest that
// divides it.
func levelOf(i market.Interval) int {
	if i > market.Day1 {
		return levelDay
	}
	level := levelDay
	for i.Seconds()%seconds(level) != 0 {
		level++
	}
	return level
}

// page answers an accepted query at the time now.
func (p *path) page(q provider.BarQuery, now int64) provider.BarPage {
	var clock market.Calendar
	oldest := clock.Next(q.Interval, first-1).Open
	current, _ := clock.Bucket(q.Interval, now)
	// end is behind the newest bar: the running one exists once a step of it is over.
	end := current.Open
	if now-current.Open >= seconds(levelStep) {
		end = current.Close
	}
	if q.To != 0 {
		end = min(end, clock.Next(q.Interval, q.To-1).Open)
	}
	start := oldest
	if q.From != 0 {
		start = max(start, clock.Next(q.Interval, q.From-1).Open)
	}
	page := provider.BarPage{Synthetic: true}
	if start >= end {
		return page
	}
	if q.From != 0 {
		if limit := ahead(q.Interval, start, q.Limit); limit < end {
			end, page.More, page.Next = limit, true, limit
		}
	} else if limit := ahead(q.Interval, end, -q.Limit); limit > start {
		start, page.More, page.Next = limit, true, limit
	}
	page.Bars = p.bars(q.Interval, start, min(end, current.Open))
	if end > current.Open {
		page.Bars.Append(p.bar(current.Open, p.partial(current.Open, now)))
		page.Running = true
	}
	return page
}

// ahead returns the open time n bars after a bar that opens at t, or before it
// when n is negative.
func ahead(i market.Interval, t int64, n int) int64 {
	if i.Even() {
		return t + int64(n)*i.Seconds()
	}
	if months := i.Months(); months > 0 {
		at := time.Unix(t, 0).UTC()
		return time.Date(at.Year(), at.Month()+time.Month(n*months), 1, 0, 0, 0, 0, time.UTC).Unix()
	}
	var clock market.Calendar
	for ; n > 0; n-- {
		t = clock.Next(i, t).Open
	}
	for ; n < 0; n++ {
		t = clock.Prev(i, t).Open
	}
	return t
}

// bars makes the closed bars that open from start up to end.
func (p *path) bars(i market.Interval, start, end int64) market.Bars {
	var clock market.Calendar
	out := market.MakeBars(int(i.Most(max(0, end-start)))+1, true)
	var sum node
	var span market.Span
	p.each(levelOf(i), start, end, func(t int64, n node) {
		if t >= span.Close {
			if sum.o != 0 {
				out.Append(p.bar(span.Open, sum))
			}
			sum = node{}
			span, _ = clock.Bucket(i, t)
		}
		sum = sum.add(n)
	})
	if sum.o != 0 {
		out.Append(p.bar(span.Open, sum))
	}
	return out
}

// partial adds up what has happened from open until now, in as large pieces as
// are over.
func (p *path) partial(open, now int64) node {
	var sum node
	for level := levelDay; level <= levelStep; level++ {
		until := now - now%seconds(level)
		if until <= open || open%seconds(level) != 0 {
			continue
		}
		p.each(level, open, until, func(_ int64, n node) { sum = sum.add(n) })
		open = until
	}
	return sum
}

func (p *path) bar(t int64, n node) market.Bar {
	price := func(ticks int64) float64 { return float64(ticks) / p.scale }
	return market.Bar{
		T: t, O: price(n.o), H: price(n.h), L: price(n.l), C: price(n.c),
		V: float64(n.buy + n.sell), TakerBuy: float64(n.buy),
	}
}
