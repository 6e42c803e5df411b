package ta

import (
	"fmt"
	"math"

	"candela/lib/market"
	"candela/lib/ta/calc"
)

// The indicators of this file follow Ehlers' measurement of the dominant cycle, as TA-Lib
// computes it. TA-Lib begins the measurement at bar 12 where the period alone is needed,
// else at bar 37, and the values at bar 32 or 63.
const (
	cycleStart, cycleFirst = 12, 32
	phaseStart, phaseFirst = 37, 63

	// cycleStable is when the measurement has forgotten its start to the last bit. Its
	// averages have factors of at most 0.8; tests measure about 700 bars.
	cycleStable = 1500
)

const cycleFormula = "The price is smoothed over four bars, its trend removed and its Hilbert transform taken; the turn of the phasor from bar to bar gives the period, from 6 to 50 bars. "

// cycleDef completes the definition of a measurement of the cycle.
func cycleDef(d Def, label string, begin func(m *calc.Slab, price func(market.Bar) float64) step, more func(*series)) Def {
	d.Params = append(d.Params, source("close"))
	d.New = func(v Values) Instance {
		price := sourceOf(v.Text("source"))
		s := &series{
			label: label, first: phaseFirst, stable: cycleStable, columns: len(d.Lines), lines: solid(d.Lines...),
			begin: func(m *calc.Slab, _ Env) step { return begin(m, price) },
		}
		if more != nil {
			more(s)
		}
		return s
	}
	return d
}

func htTrendline() Def {
	return cycleDef(Def{
		Name: "ht_trendline", Kind: Overlay, Group: GroupTrend,
		Doc:     "Hilbert trendline: price without its cycle.",
		Formula: cycleFormula + "The line is the mean of the price over one period, weighted 4, 3, 2, 1 over the last four bars.",
		Truth:   "TA-Lib HT_TRENDLINE", Lines: []string{"Trendline"},
	}, "HT Trendline", func(m *calc.Slab, price func(market.Bar) float64) step {
		p := newPhased(m)
		return func(r *Row) {
			if _, ok := p.next(price(r.Bar)); ok && r.Index >= phaseFirst {
				r.Values[0] = p.line()
			}
		}
	}, nil)
}

func htDCPeriod() Def {
	return cycleDef(Def{
		Name: "ht_dcperiod", Aliases: []string{"dominant_cycle"}, Kind: Panel, Group: GroupMomentum,
		Doc:     "Dominant cycle period in bars.",
		Formula: cycleFormula + "It is smoothed twice.",
		Truth:   "TA-Lib HT_DCPERIOD", Lines: []string{"Period"},
	}, "HT Period", func(m *calc.Slab, price func(market.Bar) float64) step {
		h := m.Hilbert(cycleStart)
		return func(r *Row) {
			if c, ok := h.Step(price(r.Bar)); ok && r.Index >= cycleFirst {
				r.Values[0] = c.Period
			}
		}
	}, func(s *series) { s.first = cycleFirst })
}

func htPhasor() Def {
	return cycleDef(Def{
		Name: "ht_phasor", Like: "ht_dcperiod", Kind: Panel, Group: GroupMomentum,
		Doc:     "Phasor of the dominant cycle: in-phase and quadrature parts.",
		Formula: cycleFormula + "In Phase is the price without trend of three bars ago, Quadrature the transform of the newest.",
		Truth:   "TA-Lib HT_PHASOR", Lines: []string{"In Phase", "Quadrature"},
	}, "HT Phasor", func(m *calc.Slab, price func(market.Bar) float64) step {
		h := m.Hilbert(cycleStart)
		return func(r *Row) {
			if c, ok := h.Step(price(r.Bar)); ok && r.Index >= cycleFirst {
				r.Values[0], r.Values[1] = c.InPhase, c.Quadrature
			}
		}
	}, func(s *series) { s.first, s.levels = cycleFirst, []HLine{{Y: 0, Style: Zero}} })
}

func htDCPhase() Def {
	return cycleDef(Def{
		Name: "ht_dcphase", Like: "ht_dcperiod", Kind: Panel, Group: GroupMomentum,
		Doc:     "Dominant cycle phase in degrees.",
		Formula: cycleFormula + "The phase is that of the smoothed price over one period, from -45 to 315; it stays where the price has no amplitude.",
		Truth:   "TA-Lib HT_DCPHASE", Lines: []string{"Phase"},
	}, "HT Phase", func(m *calc.Slab, price func(market.Bar) float64) step {
		p := newPhased(m)
		return func(r *Row) {
			if phase, ok := p.next(price(r.Bar)); ok && r.Index >= phaseFirst {
				r.Values[0] = phase
			}
		}
	}, func(s *series) { s.yRange = &[2]float64{-45, 315} })
}

func htSine() Def {
	return cycleDef(Def{
		Name: "ht_sine", Aliases: []string{"sinewave"}, Kind: Panel, Group: GroupMomentum,
		Doc:     "Hilbert sine wave of the cycle, and its lead.",
		Formula: "Sine = sin(phase), Lead Sine = sin(phase + 45 degrees), where phase is that of ht_dcphase.",
		Truth:   "TA-Lib HT_SINE", Lines: []string{"Sine", "Lead Sine"}, Signals: crossTriggers("Sine", "Lead Sine"),
	}, "HT Sine", func(m *calc.Slab, price func(market.Bar) float64) step {
		p := newPhased(m)
		return func(r *Row) {
			if phase, ok := p.next(price(r.Bar)); ok && r.Index >= phaseFirst {
				r.Values[0], r.Values[1] = waves(phase)
			}
		}
	}, func(s *series) {
		s.detect = func(r *Row) { r.crosses(0, 1) }
		s.yRange, s.levels = &[2]float64{-1, 1}, []HLine{{Y: 0, Style: Zero}}
	})
}

// waves returns the sine of a phase in degrees and the sine 45 degrees ahead.
func waves(phase float64) (sine, lead float64) {
	sine, _ = calc.SinCos(phase * (math.Pi / 180))
	lead, _ = calc.SinCos((phase + 45) * (math.Pi / 180))
	return sine, lead
}

func htTrendMode() Def {
	return cycleDef(Def{
		Name: "ht_trendmode", Like: "ht_dcperiod", Kind: Panel, Group: GroupTrend,
		Doc: "Trend or cycle: 1 while the price trends, 0 while it cycles.",
		Formula: "0 for half a period after a cross of the waves of ht_sine, and while the phase turns by 0.67 to 1.5 times 360 / period; " +
			"1 otherwise, and wherever the smoothed price is 1.5 % or more from the line of ht_trendline.",
		Truth: "TA-Lib HT_TRENDMODE", Lines: []string{"Trend"},
	}, "HT Trend Mode", func(m *calc.Slab, price func(market.Bar) float64) step {
		p, days := newPhased(m), m.Cells(3)
		return func(r *Row) {
			before, _ := p.phase()
			if phase, ok := p.next(price(r.Bar)); ok {
				trend := p.trending(days.Mem(), phase, phase-before)
				if r.Index >= phaseFirst {
					r.Values[0] = trend
				}
			}
		}
	}, func(s *series) { s.lines, s.yRange = styled(Steps, "Trend"), &[2]float64{0, 1} })
}

// phased follows the phase of the cycle and the trend line.
type phased struct {
	hilbert calc.HilbertState
	prices  calc.Cells // the last prices, the newest first
	cells   calc.Cells // the phase, then the last four means over a period
	cycle   calc.Cycle
}

const longestCycle = 50

func newPhased(m *calc.Slab) *phased {
	return &phased{hilbert: m.Hilbert(phaseStart), prices: m.Cells(longestCycle), cells: m.Cells(5)}
}

// phase returns the last phase and the means.
func (p *phased) phase() (float64, []float64) {
	m := p.cells.Mem()
	return m[0], m[1:]
}

// next takes the bar's price and returns the phase.
func (p *phased) next(x float64) (float64, bool) {
	if x-x == 0 {
		prices := p.prices.Mem()
		copy(prices[1:], prices)
		prices[0] = x
	}
	c, ok := p.hilbert.Step(x)
	if !ok {
		return 0, false
	}
	m := p.cells.Mem()
	m[0] = c.Phase(m[0])
	n, sum := c.Bars(), 0.0
	for _, price := range p.prices.Mem()[:n] {
		sum += price
	}
	copy(m[2:], m[1:4])
	m[1] = 0
	if n > 0 {
		m[1] = sum / float64(n)
	}
	p.cycle = c
	return m[0], true
}

// line returns the trend line at the last bar.
func (p *phased) line() float64 {
	_, means := p.phase()
	return (float64(4*means[0]) + float64(3*means[1]) + float64(2*means[2]) + means[3]) / 10
}

// trending returns 1 for a trend and 0 for a cycle. The memory has the last two waves and
// the bars since they crossed.
func (p *phased) trending(m []float64, phase, turned float64) float64 {
	sine, lead := waves(phase)
	trend := 1.0
	if sine > lead && m[0] <= m[1] || sine < lead && m[0] >= m[1] {
		m[2], trend = 0, 0
	}
	m[0], m[1] = sine, lead
	m[2]++
	period := p.cycle.Period
	if m[2] < 0.5*period || turned > 0.67*360/period && turned < 1.5*360/period {
		trend = 0
	}
	if line := p.line(); line != 0 && math.Abs((p.cycle.Smooth[0]-line)/line) >= 0.015 {
		trend = 1
	}
	return trend
}

func mama() Def {
	return Def{
		Name: "mama", Aliases: []string{"mesa"}, Kind: Overlay, Group: GroupTrend,
		Doc: "MESA adaptive moving average.",
		Formula: cycleFormula + "MAMA is a recursive mean with the factor fast_limit / turn of the phase in degrees, from slow_limit to fast_limit; FAMA is one of MAMA with half that factor. " +
			"Both begin at 0, so the first values are too low.",
		Truth:   "TA-Lib MAMA",
		Params:  []Param{Num("fast_limit", 0.5, 0.01, 0.99, "greatest factor"), Num("slow_limit", 0.05, 0.01, 0.99, "smallest factor"), source("hl2")},
		Lines:   []string{"MAMA", "FAMA"},
		Signals: crossTriggers("MAMA", "FAMA"),
		New: func(v Values) Instance {
			fast, slow, price := v.Num("fast_limit"), v.Num("slow_limit"), sourceOf(v.Text("source"))
			return twoLines(fmt.Sprintf("MAMA(%s, %s)", number(fast), number(slow)), "MAMA", "FAMA", cycleFirst, cycleStable+int(80/min(fast, slow)),
				func(m *calc.Slab) func(*Row) (float64, float64) {
					h, cells := m.Hilbert(cycleStart), m.Cells(3)
					return func(r *Row) (float64, float64) {
						x := price(r.Bar)
						if c, ok := h.Step(x); ok {
							adapt(cells.Mem(), c, x, fast, slow)
						}
						if means := cells.Mem(); r.Index >= cycleFirst && x-x == 0 {
							return means[1], means[2]
						}
						return math.NaN(), math.NaN()
					}
				})
		},
	}
}

// adapt updates the phase, MAMA and FAMA in m.
func adapt(m []float64, c calc.Cycle, x, fast, slow float64) {
	phase := 0.0
	if c.InPhase != 0 {
		phase = float64(calc.Atan(c.Quadrature/c.InPhase) * (180 / math.Pi))
	}
	turned := max(m[0]-phase, 1)
	factor := fast
	if turned > 1 {
		factor = max(fast/turned, slow)
	}
	m[0] = phase
	m[1] = float64(factor*x) + float64((1-factor)*m[1])
	m[2] = float64(factor/2*m[1]) + float64((1-factor/2)*m[2])
}
