package eval

import (
	"cmp"
	"math"
	"strings"

	"candela/lib/pine/check"
	"candela/lib/ta/elementary"
)

// pricePlaces are the variables that are set with the bar.
func pricePlace(name string) (int, bool) {
	switch name {
	case "open":
		return priceOpen, true
	case "high":
		return priceHigh, true
	case "low":
		return priceLow, true
	case "close":
		return priceClose, true
	case "volume":
		return priceVolume, true
	case "hl2":
		return priceHL2, true
	case "hlc3":
		return priceHLC3, true
	case "ohlc4":
		return priceOHLC4, true
	case "hlcc4":
		return priceHLCC4, true
	case "time":
		return priceTime, true
	case "bar_index":
		return priceIndex, true
	}
	return 0, false
}

// price returns the place of a price.
func (c *compiler) price(i int) *float64 {
	c.m.averaged = c.m.averaged || i >= priceHL2 && i <= priceHLCC4
	return &c.m.price[i]
}

// variable returns the place of a built-in variable, nil if it is computed where it is read.
func (c *compiler) variable(e *check.BuiltinVar) *float64 {
	if i, ok := pricePlace(e.Name); ok {
		return c.price(i)
	}
	if p, ok := c.vars[e.Name]; ok {
		return p
	}
	if f := c.accountVariable(e.Name); f != nil {
		return c.eachBar(e.Name, f)
	}
	if x, ok := c.symbolVariable(e.Name); ok {
		p := c.m.temp.add(x)
		c.vars[e.Name] = p
		return p
	}
	if f := c.stateVariable(e.Name); f != nil {
		return c.eachBar(e.Name, f)
	}
	return nil
}

// eachBar computes a variable before the script runs on a bar.
func (c *compiler) eachBar(name string, f num) *float64 {
	p := c.m.temp.add(math.NaN())
	c.vars[name] = p
	c.m.everyBar = append(c.m.everyBar, func() { *p = f() })
	return p
}

// variableRing returns the history of a built-in variable.
func (c *compiler) variableRing(e *check.BuiltinVar, limit int) *ring {
	if _, ok := pricePlace(e.Name); ok && limit >= maxHistory {
		limit = maxPriceHistory
	}
	if r := c.series[e.Name]; r != nil {
		r.max = max(r.max, limit)
		return r
	}
	p := c.variable(e)
	if p == nil {
		p = c.eachBar(e.Name, c.computedVariable(e))
	}
	r := c.newRing(p, limit, e.T)
	r.always = true
	c.series[e.Name] = r
	return r
}

// stateVariable are the variables with memory; they see every bar, wherever they are read.
func (c *compiler) stateVariable(name string) num {
	p := &c.m.price
	before := func(of string) num {
		r := c.priceRing(of)
		return func() float64 { return r.back(1) }
	}
	switch name {
	case "session.isfirstbar", "session.isfirstbar_regular":
		return truth(c.newDay())
	case "ta.tr":
		return c.trueRange(false)
	case "ta.obv":
		old := before("close")
		return c.cumOf(func() float64 {
			switch d := p[priceClose] - old(); {
			case d > 0:
				return p[priceVolume]
			case d < 0:
				return -p[priceVolume]
			case d == 0:
				return 0
			}
			return math.NaN()
		})
	case "ta.accdist":
		sum := c.m.keep.add(0)
		return func() float64 {
			h, l, x := p[priceHigh], p[priceLow], p[priceClose]
			if v := float64((x - l - (h - x)) / (h - l) * p[priceVolume]); v == v {
				*sum += v
			}
			return *sum
		}
	case "ta.pvt":
		old := before("close")
		return c.cumOf(func() float64 { return float64((p[priceClose] - old()) / old() * p[priceVolume]) })
	case "ta.pvi", "ta.nvi":
		return c.volumeIndex(name == "ta.pvi")
	case "ta.wad":
		return c.williams()
	case "ta.wvad":
		return func() float64 {
			return float64((p[priceClose] - p[priceOpen]) / (p[priceHigh] - p[priceLow]) * p[priceVolume])
		}
	case "ta.iii":
		return func() float64 {
			h, l := p[priceHigh], p[priceLow]
			return (float64(2*p[priceClose]) - h - l) / float64((h-l)*p[priceVolume])
		}
	case "ta.vwap":
		dst := c.places(1)
		source := &check.BuiltinVar{Name: "hlc3"}
		run := vwap(c, &check.Call{Args: []check.Expr{source}}, dst)
		return func() float64 {
			run()
			return *dst[0]
		}
	}
	return nil
}

// volumeIndex follows the price on bars of more volume than before, or of less.
func (c *compiler) volumeIndex(more bool) num {
	p, index := &c.m.price, c.m.keep.add(1)
	closes, volumes := c.priceRing("close"), c.priceRing("volume")
	return func() float64 {
		old, was := closes.back(1), volumes.back(1)
		counts := p[priceVolume] < was
		if more {
			counts = p[priceVolume] > was
		}
		if counts && old != 0 && p[priceClose] != 0 {
			*index += float64((p[priceClose] - old) / old * *index)
		}
		return *index
	}
}

func (c *compiler) williams() num {
	p, r, sum := &c.m.price, c.priceRing("close"), c.m.keep.add(0)
	return func() float64 {
		old := r.back(1)
		switch d := p[priceClose] - old; {
		case d > 0:
			*sum += p[priceClose] - min(p[priceLow], old)
		case d < 0:
			*sum += p[priceClose] - max(p[priceHigh], old)
		}
		return *sum
	}
}

// symbolVariable are the variables that do not change.
func (c *compiler) symbolVariable(name string) (float64, bool) {
	s, i := &c.m.env.Symbol, c.m.env.Interval
	group, _, _ := strings.Cut(name, ".")
	switch group {
	case "syminfo":
		return c.symbolInfo(name, s)
	case "timeframe":
		return c.timeframeInfo(name, i)
	}
	switch name {
	case "chart.bg_color":
		return 0x131722FF, true
	case "chart.fg_color":
		return 0xD1D4DCFF, true
	case "chart.is_standard":
		return 1, true
	case "chart.is_heikinashi", "chart.is_renko", "chart.is_kagi", "chart.is_linebreak", "chart.is_pnf", "chart.is_range":
		return 0, true
	case "session.ismarket":
		return 1, true
	case "session.ispremarket", "session.ispostmarket":
		return 0, true
	case "na":
		return math.NaN(), true
	}
	if group == "strategy" {
		return c.strategyVariable(name)
	}
	return 0, false
}

// strategyVariable are the values of an account that has never traded: charts do not
// simulate orders.
func (c *compiler) strategyVariable(name string) (float64, bool) {
	switch strings.TrimPrefix(name, "strategy.") {
	case "position_avg_price", "avg_trade", "avg_trade_percent", "avg_winning_trade", "avg_losing_trade",
		"avg_winning_trade_percent", "avg_losing_trade_percent", "margin_liquidation_price":
		return math.NaN(), true
	case "initial_capital", "equity":
		return 1_000_000, true
	case "account_currency":
		return c.known(c.m.env.Symbol.Currency), true
	case "position_entry_name":
		return c.text(""), true
	}
	return 0, true
}

func (c *compiler) symbolInfo(name string, s *Symbol) (float64, bool) {
	switch strings.TrimPrefix(name, "syminfo.") {
	case "ticker":
		return c.known(s.Ticker), true
	case "tickerid", "main_tickerid":
		return c.known(s.id()), true
	case "prefix":
		return c.known(s.Prefix), true
	case "root":
		return c.known(cmp.Or(s.Root, s.Ticker)), true
	case "description":
		return c.known(s.Description), true
	case "type":
		return c.known(s.Type), true
	case "currency":
		return c.known(s.Currency), true
	case "basecurrency":
		return c.known(s.Base), true
	case "timezone":
		return c.text(c.m.zone().String()), true
	case "session":
		return c.text("regular"), true
	case "volumetype":
		if s.Type != "crypto" {
			return math.NaN(), true
		}
		return c.text("base"), true
	case "mintick":
		return s.tick(), true
	case "minmove":
		return s.move(), true
	case "pricescale":
		return s.scale(), true
	case "mincontract":
		return s.Step, true
	case "pointvalue":
		return 1, true
	}
	return math.NaN(), true
}

// known is a text, na if it is not known.
func (c *compiler) known(s string) float64 {
	if s == "" {
		return math.NaN()
	}
	return c.text(s)
}

// tick is the smallest step of the price, NaN if it is not known.
func (s *Symbol) tick() float64 {
	if s.Tick > 0 {
		return s.Tick
	}
	return math.NaN()
}

// scale and move are the step as move/scale, both whole numbers.
func (s *Symbol) scale() float64 {
	if !(s.Tick > 0) {
		return math.NaN()
	}
	return elementary.Pow(10, float64(decimals(s.Tick)))
}

func (s *Symbol) move() float64 { return math.Round(s.tick() * s.scale()) }
