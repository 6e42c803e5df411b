package simulate

import (
	"math"
	"slices"
)

// Hold passes over the first of some bars on which the position is held, nothing is ordered and no
// waiting order is met, and appends the equity at each close. times has the starts of the bars in
// seconds. It returns how many bars it passed: 0 if an order could fill on the first. It reports false, and
// passes none, if the account must go bar by bar.
func (a *Account) Hold(times []int64, high, low, closes, equity []float64) (passed int, after []float64, ok bool) {
	if a.cfg.Perp != nil || len(a.lots) != 1 || a.risk.leaving || a.risk.Risk != (Risk{}) {
		return 0, equity, false
	}
	under, over, ok := a.untouched()
	if !ok {
		return 0, equity, false
	}
	n, top, bottom := within(high, low, under, over)
	if n == 0 {
		return 0, equity, true
	}
	if !a.coversAll(Bar{High: top, Low: bottom}) {
		return 0, equity, false
	}
	a.bar += n
	a.time = times[n-1] * 1000
	a.newDay(a.time)
	// Equity is a straight line of the price, so the extremes of all bars are those that count.
	a.arrive(top)
	a.arrive(bottom)
	a.high, a.low = high[n-1], low[n-1]
	l, before := &a.lots[0], a.cfg.Capital+a.realized
	price, side, units := l.Price, float64(l.Side), float64(l.Quantity*a.unit)
	known, paid := len(equity), a.paid
	equity = slices.Grow(equity, n)[:known+n]
	held := equity[known:]
	for i, p := range closes[:len(held)] {
		open := float64(float64((p-price)*side) * units)
		held[i] = before + float64(open-paid)
	}
	a.price = closes[n-1]
	a.totals.Bars += n
	a.totals.BarsHeld += n
	return n, equity, true
}

// untouched returns the prices between which no waiting order is met. It reports false if they move
// with the price, or if an order fills at any.
func (a *Account) untouched() (under, over float64, ok bool) {
	under, over = math.Inf(-1), math.Inf(1)
	if a.cfg.Paper {
		return under, over, a.Quiet()
	}
	narrow := func(up bool, p float64) {
		switch {
		case math.IsNaN(p):
		case up:
			over = min(over, p)
		default:
			under = max(under, p)
		}
	}
	for _, o := range a.orders {
		if o.market() {
			return under, over, false
		}
		if o.kind != exitOrder {
			if p, _ := o.priceTowards(a, o.side, 0, 0); !math.IsNaN(o.stop) && !o.armed {
				narrow(o.side == Long, p)
			} else {
				narrow(o.side == Short, p)
			}
			continue
		}
		for i := range o.legs {
			l := &o.legs[i]
			if !l.live() {
				continue
			}
			if !math.IsNaN(l.wake) || !math.IsNaN(l.best) {
				return under, over, false
			}
			narrow(l.side == Long, a.beyond(-l.side, l.limit))
			narrow(l.side == Short, l.stop)
		}
	}
	return under, over, true
}

// within returns how many of the first bars lie between two prices, and their highest high and
// lowest low.
func within(high, low []float64, under, over float64) (n int, top, bottom float64) {
	top, bottom = math.Inf(-1), math.Inf(1)
	low = low[:len(high)]
	for i, h := range high {
		l := low[i]
		if !(h < over && l > under) {
			return i, top, bottom
		}
		if h > top {
			top = h
		}
		if l < bottom {
			bottom = l
		}
	}
	return len(high), top, bottom
}
