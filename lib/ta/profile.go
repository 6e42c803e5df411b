package ta

import (
	"math"
	"slices"

	"candela/lib/market"
)

// profile is volume (or another weight) by price: rows of equal height from low to
// high.
type profile struct {
	low, row float64 // bottom of the lowest row; height of a row
	total    []float64
	up, down []float64 // the parts of total from rising and falling bars
}

// newProfile spans the prices of bars [from, to) with n rows. Without a price
// range it returns false.
func newProfile(b *market.Bars, from, to, n int) (profile, bool) {
	low, high := math.Inf(1), math.Inf(-1)
	for i := from; i < to; i++ {
		if !usable(b, i) {
			continue
		}
		low, high = min(low, b.L[i]), max(high, b.H[i])
	}
	p := emptyProfile(n)
	return p, p.span(low, high)
}

// emptyProfile has n rows and spans nothing yet.
func emptyProfile(n int) profile {
	cells := make([]float64, 3*n)
	return profile{total: cells[:n:n], up: cells[n : 2*n : 2*n], down: cells[2*n:]}
}

// span divides the prices from low to high into the profile's rows, all of them
// empty. It returns false without a price range.
func (p *profile) span(low, high float64) bool {
	row := (high - low) / float64(len(p.total))
	if !(row > 0) || math.IsInf(row, 0) || low+row == low {
		return false
	}
	p.low, p.row = low, row
	clear(p.total)
	clear(p.up)
	clear(p.down)
	return true
}

// usable reports whether a bar counts in a profile: it has a finite range with high
// not below low, and a known volume that is not negative.
func usable(b *market.Bars, i int) bool {
	width := b.H[i] - b.L[i]
	return width >= 0 && !math.IsInf(width, 0) && b.V[i] >= 0 && !math.IsInf(b.V[i], 0) && !math.IsNaN(b.C[i])
}

// profileNoise is the part of a row, and of its weight, below which a difference is
// rounding: edges of rows and shares of volume are quotients, off by up to 1e-12.
const profileNoise = 1e-9

// rowAt returns the row that holds a price, clamped to the profile. A price on the
// edge of two rows is in the upper one.
func (p *profile) rowAt(price float64) int {
	return min(max(int((price-p.low)/p.row+profileNoise), 0), len(p.total)-1)
}

// heavier reports whether weight a is above b by more than rounding.
func heavier(a, b float64) bool { return float64((1-profileNoise)*a) > b }

// addVolume spreads each bar's volume over its range by overlap. A bar without
// range puts all of it where it closed.
func (p *profile) addVolume(b *market.Bars, from, to int) {
	for i := from; i < to; i++ {
		if !usable(b, i) || b.V[i] == 0 {
			continue
		}
		side := p.up
		if b.C[i] < b.O[i] {
			side = p.down
		}
		first, last := p.rowAt(b.L[i]), p.rowAt(b.H[i])
		if first == last || b.H[i] == b.L[i] {
			at := p.rowAt(b.C[i])
			p.total[at] += b.V[i]
			side[at] += b.V[i]
			continue
		}
		density := b.V[i] / (b.H[i] - b.L[i])
		for r := first; r <= last; r++ {
			bottom := p.low + float64(float64(r)*p.row)
			overlap := min(b.H[i], bottom+p.row) - max(b.L[i], bottom)
			if overlap > 0 {
				share := float64(density * overlap)
				p.total[r] += share
				side[r] += share
			}
		}
	}
}

// touch adds one to every row between low and high.
func (p *profile) touch(low, high float64) {
	for r := p.rowAt(low); r <= p.rowAt(high); r++ {
		p.total[r]++
	}
}

// valueArea is where the profile's weight lies: the row with the most, and the
// rows around it that hold 70 % of all.
type valueArea struct {
	poc, first, last int
}

// valueShare is the part of the weight inside the value area: about one standard
// deviation, the convention since Market Profile.
const valueShare = 0.70

// area finds the point of control and grows the value area from it, step rows at a
// time towards the heavier side; equal sides go down. Weights within 1e-9 of each
// other are equal. It returns false for an empty profile.
func (p *profile) area(step int) (valueArea, bool) {
	n := len(p.total)
	sum := 0.0
	for _, v := range p.total {
		sum += v
	}
	if !(sum > 0) {
		return valueArea{}, false
	}
	poc := p.heaviest()
	a := valueArea{poc: poc, first: poc, last: poc}
	inside := p.total[poc]
	for heavier(float64(valueShare*sum), inside) && (a.first > 0 || a.last < n-1) {
		above, below := 0.0, 0.0
		up, down := min(step, n-1-a.last), min(step, a.first)
		for k := 1; k <= up; k++ {
			above += p.total[a.last+k]
		}
		for k := 1; k <= down; k++ {
			below += p.total[a.first-k]
		}
		if down == 0 || up > 0 && heavier(above, below) {
			a.last += up
			inside += above
		} else {
			a.first -= down
			inside += below
		}
	}
	return a, true
}

// heaviest returns the row with the most weight. Of rows that share it, it is the one
// whose index is nearest the middle, and the lower of two that are as near.
func (p *profile) heaviest() int {
	n, most, at := len(p.total), slices.Max(p.total), -1
	for r, v := range p.total {
		if !heavier(most, v) && (at < 0 || middleDistance(r, n) < middleDistance(at, n)) {
			at = r
		}
	}
	return at
}

// middleDistance is the distance of row r from the middle of n rows, in half rows.
func middleDistance(r, n int) int { return max(2*r-(n-1), (n-1)-2*r) }

func (p *profile) centre(r int) float64 { return p.low + float64((float64(r)+0.5)*p.row) }
func (p *profile) bottom(r int) float64 { return p.low + float64(float64(r)*p.row) }

// poc, vah and val are the three prices of a value area.
func (p *profile) poc(a valueArea) float64 { return p.centre(a.poc) }
func (p *profile) vah(a valueArea) float64 { return p.bottom(a.last + 1) }
func (p *profile) val(a valueArea) float64 { return p.bottom(a.first) }

// widest is the share of the plot that the longest bar of a profile takes.
const widest = 0.25

// bars draws one horizontal bar per row that has weight, or two when split.
func (p *profile) bars(a valueArea, left, split bool) []HBar {
	heaviest := slices.Max(p.total)
	out := make([]HBar, 0, len(p.total))
	for r, v := range p.total {
		if !(v > 0) {
			continue
		}
		bar := HBar{Y: p.centre(r), Height: 0.9 * p.row, Width: widest * v / heaviest, Left: left, Style: Outside}
		switch {
		case split:
			up, down := bar, bar
			up.Style, up.Width = UpVolume, widest*p.up[r]/heaviest
			down.Style, down.Width, down.Offset = DownVolume, widest*p.down[r]/heaviest, up.Width
			out = append(out, up, down)
			continue
		case r == a.poc:
			bar.Style = POC
		case r >= a.first && r <= a.last:
			bar.Style = ValueArea
		}
		out = append(out, bar)
	}
	return out
}

// rows draws the profile of a session, its heaviest row as wide as the session.
func (p *profile) rows(a valueArea) []HBar {
	out := p.bars(a, true, false)
	for i := range out {
		out[i].Width /= widest
	}
	return out
}

// levels are the three lines every profile draws.
func (p *profile) levels(a valueArea) []HLine {
	return []HLine{
		{Y: p.poc(a), Label: "POC", Style: Primary},
		{Y: p.vah(a), Label: "VAH", Style: Secondary},
		{Y: p.val(a), Label: "VAL", Style: Secondary},
	}
}

// whole is an instance computed over the whole window, because a new bar may change
// earlier values.
type whole struct {
	label   string
	history func(Env) int // bars before the first shown that it depends on; nil: none
	needs   []market.SeriesName
	compute func(in Input, r *Result)
}

// Label names the indicator with its parameters.
func (w *whole) Label() string { return w.label }

// Warmup returns 0, because values begin with the first bar, and the history they
// depend on: none for an indicator of the bars shown.
func (w *whole) Warmup(env Env) (first, stable int) {
	if w.history == nil {
		return 0, 0
	}
	return 0, w.history(env)
}

// Needs names the outside series the indicator reads.
func (w *whole) Needs() []market.SeriesName { return w.needs }

// Stream returns nil: past values may change.
func (w *whole) Stream(Env) *Stream { return nil }

// Compute runs over the whole window.
func (w *whole) Compute(in Input) *Result {
	r := &Result{Label: w.label}
	w.compute(in, r)
	return r
}
