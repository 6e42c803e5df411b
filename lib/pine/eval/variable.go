package eval

import (
	"cmp"
	"math"

	"candela/lib/pine/check"
	"candela/lib/ta/elementary"
)

// priceVariables are the variables that are set with the bar.
func priceVariables() variables {
	return variables{
		"bar_index": {price: 1 + priceIndex},
		"close":     {price: 1 + priceClose},
		"high":      {price: 1 + priceHigh},
		"hl2":       {price: 1 + priceHL2},
		"hlc3":      {price: 1 + priceHLC3},
		"hlcc4":     {price: 1 + priceHLCC4},
		"low":       {price: 1 + priceLow},
		"n":         {price: 1 + priceIndex},
		"ohlc4":     {price: 1 + priceOHLC4},
		"open":      {price: 1 + priceOpen},
		"time":      {price: 1 + priceTime},
		"volume":    {price: 1 + priceVolume},
	}
}

// pricePlace returns the place of a variable that is set with the bar.
func (c *compiler) pricePlace(name string) (int, bool) {
	i := c.library.variables[name].price
	return i - 1, i > 0
}

// price returns the place of a price.
func (c *compiler) price(i int) *float64 {
	c.m.averaged = c.m.averaged || i >= priceHL2 && i <= priceHLCC4
	return &c.m.price[i]
}

// variable returns the place of a built-in variable, nil if it is computed where it is read.
func (c *compiler) variable(e *check.BuiltinVar) *float64 {
	if i, ok := c.pricePlace(e.Name); ok {
		return c.price(i)
	}
	if p, ok := c.vars[e.Name]; ok {
		return p
	}
	v, known := c.library.variables[e.Name]
	if !known { // a name that is accepted without effect
		v = unknown()
	}
	switch a := c.m.env.Account; {
	case v.of != nil && a != nil:
		return c.eachBar(e.Name, v.of(c, a))
	case v.fixed != nil:
		p := c.m.temp.add(v.fixed(c))
		c.vars[e.Name] = p
		return p
	case v.every != nil:
		return c.eachBar(e.Name, v.every(c))
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
	if _, ok := c.pricePlace(e.Name); ok && limit >= maxHistory {
		limit = maxPriceHistory
	}
	if r := c.series[e.Name]; r != nil {
		r.max = max(r.max, limit)
		return r
	}
	p := c.variable(e)
	if p == nil {
		p = c.eachBar(e.Name, c.library.variables[e.Name].read(c))
	}
	r := c.newRing(p, limit, e.T)
	r.always = true
	c.series[e.Name] = r
	return r
}

// volumeVariables are the variables of technical analysis. They have memory and see every bar,
// wherever they are read.
func volumeVariables() variables {
	return variables{
		"ta.accdist": {every: accumulation},
		"ta.iii":     {every: intensity},
		"ta.nvi":     {every: func(c *compiler) num { return c.volumeIndex(less) }},
		"ta.obv":     {every: balance},
		"ta.pvi":     {every: func(c *compiler) num { return c.volumeIndex(greater) }},
		"ta.pvt":     {every: volumeTrend},
		"ta.tr":      {every: func(c *compiler) num { return c.trueRange(false) }, batch: func(h *hoister) column { return h.trueRange(false) }},
		"ta.vwap":    {every: dayMean},
		"ta.wad":     {every: williams},
		"ta.wvad":    {every: spreadVolume},
	}
}

func balance(c *compiler) num {
	p, r := &c.m.price, c.priceRing("close")
	return c.cumOf(func() float64 {
		switch d := p[priceClose] - r.back(1); {
		case d > 0:
			return p[priceVolume]
		case d < 0:
			return -p[priceVolume]
		case d == 0:
			return 0
		}
		return math.NaN()
	})
}

func accumulation(c *compiler) num {
	p, sum := &c.m.price, c.m.keep.add(0)
	return func() float64 {
		h, l, x := p[priceHigh], p[priceLow], p[priceClose]
		if v := float64((x - l - (h - x)) / (h - l) * p[priceVolume]); v == v {
			*sum += v
		}
		return *sum
	}
}

func volumeTrend(c *compiler) num {
	p, r := &c.m.price, c.priceRing("close")
	return c.cumOf(func() float64 {
		old := r.back(1)
		return float64((p[priceClose] - old) / old * p[priceVolume])
	})
}

func spreadVolume(c *compiler) num {
	p := &c.m.price
	return func() float64 {
		return float64((p[priceClose] - p[priceOpen]) / (p[priceHigh] - p[priceLow]) * p[priceVolume])
	}
}

func intensity(c *compiler) num {
	p := &c.m.price
	return func() float64 {
		h, l := p[priceHigh], p[priceLow]
		return (float64(2*p[priceClose]) - h - l) / float64((h-l)*p[priceVolume])
	}
}

func dayMean(c *compiler) num {
	dst := c.places(1)
	run := vwap(c, &check.Call{Args: []check.Expr{&check.BuiltinVar{Name: "hlc3"}}}, dst)
	return func() float64 {
		run()
		return *dst[0]
	}
}

// volumeIndex follows the price on bars whose volume is greater than before, or less.
func (c *compiler) volumeIndex(counts func(a, b float64) bool) num {
	p, index := &c.m.price, c.m.keep.add(1)
	closes, volumes := c.priceRing("close"), c.priceRing("volume")
	return func() float64 {
		old := closes.back(1)
		if counts(p[priceVolume], volumes.back(1)) && old != 0 && p[priceClose] != 0 {
			*index += float64((p[priceClose] - old) / old * *index)
		}
		return *index
	}
}

func williams(c *compiler) num {
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

// always is a variable that never changes, unknown one that candela does not know.
func always(x float64) variable {
	return variable{fixed: func(*compiler) float64 { return x }}
}

func unknown() variable { return always(math.NaN()) }

// text is a variable with a text of the symbol, na where it is not known.
func text(of func(s *Symbol) string) variable {
	return variable{fixed: func(c *compiler) float64 { return c.known(of(&c.m.env.Symbol)) }}
}

// number is a variable with a number of the symbol.
func number(of func(s *Symbol) float64) variable {
	return variable{fixed: func(c *compiler) float64 { return of(&c.m.env.Symbol) }}
}

// symbolVariables are what is known of the symbol and its chart.
func symbolVariables() variables {
	return variables{
		"chart.bg_color":      always(0x131722FF),
		"chart.fg_color":      always(0xD1D4DCFF),
		"chart.is_heikinashi": always(0),
		"chart.is_kagi":       always(0),
		"chart.is_linebreak":  always(0),
		"chart.is_pnf":        always(0),
		"chart.is_range":      always(0),
		"chart.is_renko":      always(0),
		"chart.is_standard":   always(1),

		"syminfo.basecurrency":     text(func(s *Symbol) string { return s.Base }),
		"syminfo.country":          unknown(),
		"syminfo.currency":         text(func(s *Symbol) string { return s.Currency }),
		"syminfo.current_contract": unknown(),
		"syminfo.description":      text(func(s *Symbol) string { return s.Description }),
		"syminfo.main_tickerid":    text((*Symbol).id),
		"syminfo.mincontract":      number(func(s *Symbol) float64 { return s.Step }),
		"syminfo.minmove":          number((*Symbol).move),
		"syminfo.mintick":          number((*Symbol).tick),
		"syminfo.pointvalue":       always(1),
		"syminfo.prefix":           text(func(s *Symbol) string { return s.Prefix }),
		"syminfo.pricescale":       number((*Symbol).scale),
		"syminfo.root":             text(func(s *Symbol) string { return cmp.Or(s.Root, s.Ticker) }),
		"syminfo.session":          text(func(*Symbol) string { return "regular" }),
		"syminfo.ticker":           text(func(s *Symbol) string { return s.Ticker }),
		"syminfo.tickerid":         text((*Symbol).id),
		"syminfo.timezone":         {fixed: func(c *compiler) float64 { return c.text(c.m.zone().String()) }},
		"syminfo.type":             text(func(s *Symbol) string { return s.Type }),
		"syminfo.volumetype":       text((*Symbol).volumeType),
	}
}

// volumeType is that of crypto pairs, whose volume is known to be in the base currency.
func (s *Symbol) volumeType() string {
	if s.Type == "crypto" {
		return "base"
	}
	return ""
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
