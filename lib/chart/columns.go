package chart

import "math"

// Columns places bars on the x axis that all panes share. Past one bar a pixel,
// several bars become one column.
type Columns struct {
	Bars int     // how many there are
	Per  int     // bars in one column
	N    int     // columns
	Step float64 // device pixels from one column to the next
	Left float64 // device x of the first column's left edge
	Body int     // device pixels of a candle's body
	Wick int     // and of its wick
}

const (
	bodyShare  = 0.78
	leftBars   = 1   // columns left free at the left, at least
	rightBars  = 3   // and at the right, exactly
	wholeLoss  = 2   // columns more at the left that whole-pixel spacing may cost
	widestStep = 64  // logical pixels
	bodyFrom   = 2.5 // device pixels of a step with a body of three
)

// newColumns fits n bars, and ahead more that have no bar yet, into width device
// pixels at the given scale. Behind the last of them rightBars columns are free at
// every zoom; what whole-pixel spacing costs is free at the left.
func newColumns(n, ahead, width, scale int) Columns {
	c := Columns{Bars: n, Per: 1, N: n}
	room := float64(max(width, 1))
	all := func() float64 { return float64(c.N + (ahead+c.Per-1)/c.Per + leftBars + rightBars) }
	for all() > room && c.N > 1 {
		c.Per = max(c.Per+1, int(math.Ceil(float64(n+ahead)/max(room-leftBars-rightBars, 1))))
		c.N = (n + c.Per - 1) / c.Per
	}
	c.Step = min(room/all(), float64(widestStep*scale))
	if whole := math.Floor(c.Step); whole >= 1 && room-float64(whole*all()) <= float64(whole*wholeLoss) {
		c.Step = whole
	}
	c.Left = math.Floor(room - float64(c.Step*(all()-leftBars)))
	c.Wick = scale
	if c.Step < float64(3*scale) {
		c.Wick = 1
	}
	c.Body = bodyWidth(c.Step, c.Wick)
	return c
}

// bodyWidth is the width nearest to the share of the step that has the parity of
// the wick, so that the wick stands in the middle, and leaves a gap: always on
// whole-pixel steps, in most columns on fractional ones. On steps around three pixels
// a body that is visible is worth more than a gap.
func bodyWidth(step float64, wick int) int {
	if wick == 1 && step >= bodyFrom && step < 4 {
		return 3
	}
	body := wick + 2*int(math.Floor((float64(bodyShare*step)-float64(wick))/2+0.5))
	if most := int(step) - 1; body > most {
		body -= (body - most + 1) / 2 * 2
	}
	return max(body, wick)
}

// narrow reports whether columns are so near to each other that lines must leave the
// candles visible.
func (c *Columns) narrow(scale int) bool { return c.Step < bodyFrom*float64(scale) }

// wickLeft returns the left pixel of column k's wick.
func (c *Columns) wickLeft(k int) int {
	middle := c.Left + float64((float64(k)+0.5)*c.Step)
	return int(math.Floor(middle - float64(c.Wick)/2))
}

// x returns the device x of bar i: the middle of its wick, or its place within
// the column it was merged into.
func (c *Columns) x(i int) float64 {
	if c.Per == 1 {
		return float64(c.wickLeft(i)) + float64(c.Wick)/2
	}
	x := c.Left + float64((float64(i)+0.5)*c.Step)/float64(c.Per)
	return math.Floor(float64(x*64)+0.5) / 64
}

// column returns the column bar i is in.
func (c *Columns) column(i int) int { return i / c.Per }

// bars returns the bars [from, to) of column k.
func (c *Columns) bars(k int) (from, to int) {
	return k * c.Per, min((k+1)*c.Per, c.Bars)
}

// pixelsPerBar returns the device pixels from one bar to the next.
func (c *Columns) pixelsPerBar() float64 { return c.Step / float64(c.Per) }
