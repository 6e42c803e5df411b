package candle

import "candela/lib/ta/calc"

// The bars that the means cover, and the candles that a pattern may have.
const (
	meanBars  = 10
	closeBars = 5
	depth     = 5
)

// State recognises the patterns of one series of bars. Its memory lies in a slab. Not
// safe for concurrent use.
type State struct {
	cells calc.Cells
	now   window
}

// window is what rules see: the last candles, the newest first, and how many bars came
// before the newest.
type window struct {
	c     [depth]candle
	index int
	traps [2]int // the values of hikkake and hikkakemod
}

// The cells of a State.
const (
	cellSeen    = 0 // bars since the start or the last missing price
	cellTraps   = cellSeen + 1
	cellBodies  = cellTraps + 2*trapCells
	cellRanges  = cellBodies + meanBars
	cellCandles = cellRanges + meanBars
	stateCells  = cellCandles + depth*candleCells
)

// New makes a state in the slab.
func New(m *calc.Slab) *State { return &State{cells: m.Cells(stateCells)} }

// Step takes the next bar. Value then returns the values of the patterns at that bar.
func (s *State) Step(open, high, low, closing float64) {
	m, w := s.cells.Mem(), &s.now
	bar := candle{open: open, high: high, low: low, close: closing}
	w.index = int(m[cellSeen])
	w.traps = [2]int{}
	if !bar.complete() {
		clear(m)
		w.index = -1
		return
	}
	candles, bodies, ranges := m[cellCandles:], m[cellBodies:cellRanges], m[cellRanges:cellCandles]
	bar.meanBody = sum(bodies) / meanBars
	bar.meanRange = sum(ranges) / meanBars
	bar.closeness = sum(ranges[meanBars-closeBars:]) / closeBars
	bar.measure()
	push(bodies, bar.body)
	push(ranges, bar.high-bar.low)
	copy(candles[candleCells:], candles[:(depth-1)*candleCells])
	bar.store(candles)
	w.c[0] = bar
	for k := 1; k < depth; k++ {
		w.c[k].load(candles[k*candleCells:])
	}
	m[cellSeen]++
	w.stepTraps(m[cellTraps:cellBodies])
}

// Value returns the value of a pattern at the last bar: 0 for none, else positive for a
// bullish and negative for a bearish one, as TA-Lib has it.
func (s *State) Value(p Pattern) int {
	r := &rules[p]
	if s.now.index < r.lookback {
		return 0
	}
	return r.value(&s.now)
}

// sum adds up values, the oldest first.
func sum(values []float64) float64 {
	total := 0.0
	for _, x := range values {
		total += x
	}
	return total
}

// push drops the oldest value and adds x.
func push(values []float64, x float64) {
	copy(values, values[1:])
	values[len(values)-1] = x
}
