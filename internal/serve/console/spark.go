package console

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"candela/lib/market"
)

// spark is a line of prices without axes.
type spark struct {
	Path   string
	First  float64 // height of the first price
	Change decimal.Decimal
}

// newSpark draws prices into a box; nil if there are fewer than two.
func newSpark(prices []float64, width, height float64) *spark {
	if len(prices) < 2 || prices[0] <= 0 {
		return nil
	}
	low, high := slices.Min(prices), slices.Max(prices)
	if high-low < 1e-12 {
		low, high = low-1, high+1
	}
	y := func(v float64) float64 { return round2(1 + (high-v)/(high-low)*(height-2)) }
	var path strings.Builder
	for i, v := range prices {
		path.WriteString([]string{"L", "M"}[max(0, 1-i)] + number(round2(float64(i)*width/float64(len(prices)-1))) + "," + number(y(v)))
	}
	change := (prices[len(prices)-1]/prices[0] - 1) * 100
	if math.IsNaN(change) || math.IsInf(change, 0) {
		return nil
	}
	return &spark{Path: path.String(), First: y(prices[0]), Change: decimal.NewFromFloat(change).Round(2)}
}

// closes reads the closes of a symbol since a time, nil if they do not come soon.
func (c *Console) closes(ctx context.Context, s market.Symbol, since time.Time) []float64 {
	if c.cfg.Market == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, quoteWithin)
	defer cancel()
	all, err := c.cfg.Market.Closes(ctx, s, since)
	if err != nil {
		return nil // the page is good without the line
	}
	return all
}

// The size of the line of a day, in points.
const dayWidth, dayHeight = 84, 24

// maxDays bounds how many lines a page has.
const maxDays = 30

// addDays adds the last 24 hours to positions.
func (c *Console) addDays(v *visit, p *positions) {
	var reading sync.WaitGroup
	for i := range p.Rows[:min(len(p.Rows), maxDays)] {
		row := &p.Rows[i]
		reading.Go(func() { row.Day = newSpark(c.closes(v.ctx(), row.Full, v.now.Add(-24*time.Hour)), dayWidth, dayHeight) })
	}
	reading.Wait()
}

// units returns a function that names the currency of a symbol's prices. It remembers, as pages
// have many amounts in few symbols.
func (c *Console) units(ctx context.Context) func(market.Symbol) string {
	known := map[market.Symbol]string{}
	return func(s market.Symbol) string {
		if c.cfg.Market == nil {
			return ""
		}
		unit, ok := known[s]
		if !ok {
			unit = c.cfg.Market.Currency(ctx, s)
			known[s] = unit
		}
		return unit
	}
}

// sole returns the currency that all symbols share, "" if they differ.
func (f format) sole(all []market.Symbol) string {
	unit := ""
	for _, s := range all {
		switch one := f.Unit(s); {
		case one == "" || unit != "" && one != unit:
			return ""
		default:
			unit = one
		}
	}
	return unit
}

// Unit returns the currency of a symbol's prices, "" if it is unknown.
func (f format) Unit(s market.Symbol) string {
	if f.unit == nil {
		return ""
	}
	return f.unit(s)
}

// In writes an amount of money in the currency of a symbol's prices.
func (f format) In(d decimal.Decimal, s market.Symbol) string {
	return strings.TrimSpace(f.Money(d) + " " + f.Unit(s))
}
