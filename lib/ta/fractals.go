package ta

import "candela/lib/ta/calc"

// fractals finds divergences between WT2 and the price at the fractals of WT2,
// by the public definition of Cipher B.
type fractals struct {
	wt, rsi, high, low calc.Cells // the last five values, oldest first
	seen               calc.Cells
	sets               [2]fractalSet
}

// fractalSide is the bars on each side of a fractal.
const fractalSide = 2

// fractalSet is one pair of limits with the last fractals beyond them.
type fractalSet struct {
	top, bottom float64
	cells       calc.Cells
}

// The cells of a fractalSet: its last top, then its last bottom.
const (
	fractalX     = iota // index plus one: 0 is none
	fractalWT           // WT2 there
	fractalPrice        // high or low there
	fractalRSI
	fractalCells
)

func newFractals(m *calc.Slab) *fractals {
	const window = 2*fractalSide + 1
	return &fractals{
		wt: m.Cells(window), rsi: m.Cells(window), high: m.Cells(window), low: m.Cells(window),
		seen: m.Cells(1),
		sets: [2]fractalSet{
			{cipherTopDiv, cipherBottomDiv, m.Cells(2 * fractalCells)},
			{cipherTopDiv2, cipherBottomDiv2, m.Cells(2 * fractalCells)},
		},
	}
}

func (f *fractals) next(r *Row) {
	wt := shifted(f.wt, r.Values[cipherWT2])
	rsi, high, low := shifted(f.rsi, r.Values[cipherRSILine]), shifted(f.high, r.Bar.H), shifted(f.low, r.Bar.L)
	seen := f.seen.Mem()
	if seen[0]++; seen[0] < float64(len(wt)) {
		return
	}
	f.judge(r, wt, found{r.Index - fractalSide, wt[fractalSide], rsi[fractalSide]}, high[fractalSide], low[fractalSide])
}

// all is next for finished columns.
func (f *fractals) all(in Input, col [][]float64, r *Result) {
	const window = 2*fractalSide + 1
	wt, rsi, b := col[cipherWT2], col[cipherRSILine], in.Bars
	row := newRow(cipherColumns)
	for last := window - 1; last < len(wt); last++ {
		x := last - fractalSide
		row.Index, row.Values[cipherWT2] = last, wt[last]
		f.judge(&row, wt[last-window+1:last+1], found{x, wt[x], rsi[x]}, b.H[x], b.L[x])
	}
	r.Signals, r.DivLines = row.Signals, row.DivLines
}

// judge compares the middle of a window of WT2, if it is a fractal. Comparisons with a
// missing value are false, so the warm-up has no fractals.
func (f *fractals) judge(r *Row, wt []float64, middle found, high, low float64) {
	wt, c := wt[:5], middle.wt
	if wt[0] < c && wt[1] < c && c > wt[3] && c > wt[4] {
		f.compare(r, middle, high, false)
	}
	if wt[0] > c && wt[1] > c && c < wt[3] && c < wt[4] {
		f.compare(r, middle, low, true)
	}
}

// found is a fractal.
type found struct {
	x       int
	wt, rsi float64
}

// compare compares a fractal with the last one of each set, a bottom if bull is true.
func (f *fractals) compare(r *Row, now found, price float64, bull bool) {
	sign, at, wtLabel, anyLabel := 1.0, 0, "wt_bear_div", "any_bear_div"
	if bull {
		sign, at, wtLabel, anyLabel = -1, fractalCells, "wt_bull_div", "any_bull_div"
	}
	signalled := false
	for i := range f.sets {
		s := &f.sets[i]
		last, limit := s.cells.Mem()[at:at+fractalCells], s.top
		if bull {
			limit = s.bottom
		}
		if sign*now.wt < sign*limit {
			continue
		}
		if last[fractalX] > 0 && sign*price > sign*last[fractalPrice] && sign*now.wt < sign*last[fractalWT] {
			if !signalled {
				r.SignalAt(now.x, wtLabel, now.wt)
				r.SignalAt(now.x, anyLabel, sign*95)
				signalled = true
			}
			if i == 0 {
				r.DivLines = append(r.DivLines, DivLine{X1: int(last[fractalX]) - 1, Y1: last[fractalWT], X2: now.x, Y2: now.wt, Dashed: true, Bull: bull})
				if wt2 := r.Values[cipherWT2]; bull && last[fractalWT] <= cipherGold && wt2 > cipherGold && last[fractalWT]-wt2 <= -5 && last[fractalRSI] < 30 {
					r.Signal("gold_buy", wt2)
				}
			}
		}
		last[fractalX], last[fractalWT], last[fractalPrice], last[fractalRSI] = float64(now.x+1), now.wt, price, now.rsi
	}
}

// shifted drops the oldest value and adds x.
func shifted(c calc.Cells, x float64) []float64 {
	m := c.Mem()
	copy(m, m[1:])
	m[len(m)-1] = x
	return m
}
