package ta

import (
	"math"

	"candela/lib/ta/calc"
)

// The indicators of this file are trailing stops at a distance of average true ranges.

// flipBars are the bars after which a stop of another start has turned as often as not
// to have forgotten it.
const flipBars = 1000

// flips are the signals of a stop that turns.
func flips(name string) []Trigger {
	return []Trigger{
		{"flip_up", "the price goes above " + name + " and the trend turns up; y is the new stop"},
		{"flip_down", "the price goes below " + name + " and the trend turns down; y is the new stop"},
	}
}

// turned raises a flip where the direction changes.
func (r *Row) turned(was, rising bool, y float64) {
	switch {
	case rising && !was:
		r.Signal("flip_up", y)
	case was && !rising:
		r.Signal("flip_down", y)
	}
}

// atrParams are the parameters of a stop.
func atrParams(n int, k float64) []Param {
	return []Param{lengthFrom(n, 1, "bars in the average true range"), Num("multiplier", k, 0.01, 100, "distance in average true ranges").As("mult", "factor")}
}

func stopOrder() []string { return []string{"length", "multiplier"} }

// trailingStop is the instance of a stop with one line that is drawn as a trend.
func trailingStop(label, line string, first, stable int, begin func(m *calc.Slab, env Env) step) *series {
	return &series{label: label, first: first, stable: stable, columns: 1, lines: styled(Trend, line), begin: begin}
}

func chandelier() Def {
	return Def{
		Name: "chandelier", Aliases: []string{"ce"}, Kind: Overlay, Group: GroupTrend,
		Doc: "Chandelier exit: a trailing stop in ranges; below the price in an uptrend, above it in a downtrend.",
		Formula: "Long = highest close of `length` bars - multiplier x ATR(length), never falling while the close before is above it; Short is mirrored. " +
			"A close above the Short of the bar before turns the trend up, one below the Long of the bar before turns it down; it starts up, and the first bar compares with its own. With use_close false the extremes are those of highs and lows.",
		Truth:  "TradingView's public chandelier exit",
		Params: append(atrParams(22, 3), Bool("use_close", true, "extremes of closes, not of highs and lows")),
		Order:  stopOrder(), Lines: []string{"Chandelier"}, Signals: flips("the stop"),
		New: func(v Values) Instance {
			n, k, closes := v.Int("length"), v.Num("multiplier"), v.Bool("use_close")
			return trailingStop(labelOf("CE", v, "length", "multiplier"), "Chandelier", n-1, wilderStable(n)+flipBars, func(m *calc.Slab, _ Env) step {
				c := chandelierStop{atr: m.ATR(n), high: m.Max(n), low: m.Min(n), k: k, closes: closes, cells: m.Cells(chandelierCells)}
				return c.next
			})
		},
	}
}

// chandelierStop is the state of a chandelier exit.
type chandelierStop struct {
	atr       calc.ATRState
	high, low calc.ExtremeState
	k         float64
	closes    bool
	cells     calc.Cells
}

// The cells of chandelierStop, all of the bar before.
const (
	chandelierKnown = iota
	chandelierLong
	chandelierShort
	chandelierClose
	chandelierFalling // 1 or 0
	chandelierCells
)

func (s *chandelierStop) next(r *Row) {
	m, b := s.cells.Mem(), r.Bar
	above, below := b.H, b.L
	if s.closes {
		above, below = b.C, b.C
	}
	width := float64(s.k * s.atr.Step(b.H, b.L, b.C))
	long, short := s.high.Step(above)-width, s.low.Step(below)+width
	if !finite(long) || !finite(short) || !finite(b.C) {
		return
	}
	was := m[chandelierFalling] == 0
	rising := was
	lastLong, lastShort := long, short // the first stops are compared with themselves
	if m[chandelierKnown] == 1 {
		lastLong, lastShort = m[chandelierLong], m[chandelierShort]
		if m[chandelierClose] > lastLong {
			long = max(long, lastLong)
		}
		if m[chandelierClose] < lastShort {
			short = min(short, lastShort)
		}
	}
	switch {
	case b.C > lastShort:
		rising = true
	case b.C < lastLong:
		rising = false
	}
	line, falling := long, 0.0
	if !rising {
		line, falling = short, 1
	}
	r.turned(was, rising, line)
	m[chandelierKnown], m[chandelierLong], m[chandelierShort], m[chandelierClose], m[chandelierFalling] = 1, long, short, b.C, falling
	r.Values[0] = line
}

func chandeKroll() Def {
	return Def{
		Name: "chande_kroll", Aliases: []string{"cksp"}, Kind: Overlay, Group: GroupTrend,
		Doc:     "Chande Kroll stop, for longs and shorts; ranges away from recent extremes.",
		Formula: "Short = highest over stop_length bars of (highest high - multiplier x ATR), Long = lowest over stop_length bars of (lowest low + multiplier x ATR), both over `length` bars.",
		Truth:   "TradingView Chande Kroll stop (it has values before the second window is full)",
		Params:  append(atrParams(10, 1), Int("stop_length", 9, 1, longest, "bars of the second extreme")),
		Order:   []string{"length", "multiplier", "stop_length"}, Lines: []string{"Stop Long", "Stop Short"},
		New: func(v Values) Instance {
			n, k, q := v.Int("length"), v.Num("multiplier"), v.Int("stop_length")
			return &series{
				label: labelOf("CKS", v, "length", "multiplier", "stop_length"), first: n + q - 2, stable: wilderStable(n) + q, columns: 2,
				lines: solid("Stop Long", "Stop Short"),
				begin: func(m *calc.Slab, _ Env) step {
					atr, high, low, top, bottom := m.ATR(n), m.Max(n), m.Min(n), m.Max(q), m.Min(q)
					return func(r *Row) {
						width := float64(k * atr.Step(r.Bar.H, r.Bar.L, r.Bar.C))
						r.Values[1] = top.Step(high.Step(r.Bar.H) - width)
						r.Values[0] = bottom.Step(low.Step(r.Bar.L) + width)
					}
				},
			}
		},
	}
}

func volatilityStop() Def {
	return Def{
		Name: "volatility_stop", Aliases: []string{"vstop"}, Kind: Overlay, Group: GroupTrend,
		Doc: "Volatility stop: a trailing stop in ranges; flips when the price passes it.",
		Formula: "Up: the greater of the stop before and highest source of this trend - multiplier x ATR(length); down is mirrored. A source beyond the stop turns the trend, " +
			"and its extremes begin there. Before the average is known the true range takes its place. It starts up.",
		Truth:  "TradingView volatility stop",
		Params: append(atrParams(20, 2), priceSource("close")),
		Order:  stopOrder(), Lines: []string{"VStop"}, Signals: flips("the stop"),
		New: func(v Values) Instance {
			n, k, price := v.Int("length"), v.Num("multiplier"), sourceOf(v.Text("source"))
			return trailingStop(labelOf("VStop", v, "length", "multiplier"), "VStop", 0, wilderStable(n)+flipBars, func(m *calc.Slab, _ Env) step {
				atr, tr, cells := m.ATR(n), m.TrueRange(), m.Cells(swingCells)
				return func(r *Row) {
					b := r.Bar
					width, now := float64(k*atr.Step(b.H, b.L, b.C)), tr.Step(b.H, b.L, b.C)
					if math.IsNaN(width) {
						width = now
					}
					swing(r, cells.Mem(), price(b), width)
				}
			})
		},
	}
}

// The cells of a volatility stop, all of the bar before.
const (
	swingKnown = iota
	swingHigh
	swingLow
	swingStop
	swingFalling
	swingCells
)

// swing moves a volatility stop to the bar whose price is x.
func swing(r *Row, m []float64, x, width float64) {
	if !finite(x) || !finite(width) {
		return
	}
	if m[swingKnown] == 0 {
		m[swingKnown], m[swingHigh], m[swingLow], m[swingStop] = 1, x, x, x
		r.Values[0] = x
		return
	}
	was := m[swingFalling] == 0
	high, low, stop := max(m[swingHigh], x), min(m[swingLow], x), m[swingStop]
	if was {
		stop = max(stop, high-width)
	} else {
		stop = min(stop, low+width)
	}
	rising := x >= stop
	if rising != was {
		high, low = x, x
		stop = x + width
		if rising {
			stop = x - width
		}
	}
	m[swingHigh], m[swingLow], m[swingStop], m[swingFalling] = high, low, stop, 1
	if rising {
		m[swingFalling] = 0
	}
	r.turned(was, rising, stop)
	r.Values[0] = stop
}

func utBot() Def {
	return Def{
		Name: "ut_bot", Aliases: []string{"utbot"}, Kind: Overlay, Group: GroupTrend,
		Doc: "UT Bot: a stop some ranges behind the close; buy and sell where the close crosses it.",
		Formula: "While this and the last source are above the stop, it is the greater of itself and source - multiplier x ATR(length); mirrored below it. " +
			"A source that crosses it puts it at that distance on the other side. It starts below the source.",
		Truth:  "TradingView's public UT Bot alerts",
		Params: append(atrParams(10, 1), priceSource("close")),
		Order:  stopOrder(), Lines: []string{"UT Stop"},
		Signals: []Trigger{
			{"buy", "the source goes from at or below the stop to above it; y is the source"},
			{"sell", "the source goes from at or above the stop to below it; y is the source"},
		},
		New: func(v Values) Instance {
			n, k, price := v.Int("length"), v.Num("multiplier"), sourceOf(v.Text("source"))
			return trailingStop(labelOf("UT Bot", v, "length", "multiplier"), "UT Stop", n-1, wilderStable(n)+flipBars, func(m *calc.Slab, _ Env) step {
				atr, cells := m.ATR(n), m.Cells(botCells)
				return func(r *Row) {
					width := float64(k * atr.Step(r.Bar.H, r.Bar.L, r.Bar.C))
					follow(r, cells.Mem(), price(r.Bar), width)
				}
			})
		},
	}
}

// The cells of a UT Bot, all of the bar before.
const (
	botKnown = iota
	botStop
	botPrice
	botCells
)

// follow moves a UT Bot's stop to the bar whose price is x.
func follow(r *Row, m []float64, x, width float64) {
	if !finite(x) || !finite(width) {
		return
	}
	last, before := m[botStop], m[botPrice]
	stop := x - width
	switch {
	case m[botKnown] == 0:
	case x > last && before > last:
		stop = max(last, stop)
	case x < last && before < last:
		stop = min(last, x+width)
	case x <= last:
		stop = x + width
	}
	if m[botKnown] == 1 {
		if before <= last && x > stop {
			r.Signal("buy", x)
		}
		if before >= last && x < stop {
			r.Signal("sell", x)
		}
	}
	m[botKnown], m[botStop], m[botPrice] = 1, stop, x
	r.Values[0] = stop
}
