package chart

import "candela/lib/market"

// The least size of sessions whose breaks are drawn.
const (
	breakGap  = 48 // logical pixels
	breakBars = 7
)

// drawBreaks marks the beginning of each session with an upright line, where bars are
// shorter than a day and sessions wide enough.
func (l *layout) drawBreaks() {
	if l.spec.Sample || l.spec.Interval >= market.Day1 || !l.spec.Interval.Valid() {
		return
	}
	l.breaks = sessionBreaks(l.breaks[:0], l.spec.Bars.T, l.spec.Interval.Seconds())
	if k := len(l.breaks); k == 0 || l.n < (k+1)*breakBars || l.xs[l.n-1]-l.xs[0] < float64(k*breakGap*l.s) {
		return
	}
	half := l.Columns.pixelsPerBar() / 2
	for _, bar := range l.breaks {
		x := int(l.xs[bar] - half)
		for i := range l.Panes {
			r := l.Panes[i].Rect
			l.Grid = append(l.Grid, Box{Rect{x, r.Y0, x + l.s, r.Y1}, i, l.theme.border})
		}
	}
}

// sessionBreaks appends the bars that begin a session. A market that pauses on most
// days begins one after each pause; one that does not, with each day of UTC.
func sessionBreaks(dst []int, times []int64, every int64) []int {
	days := 0
	for i := 1; i < len(times); i++ {
		if floorDiv(times[i], daySeconds) != floorDiv(times[i-1], daySeconds) {
			days++
		}
		if times[i]-times[i-1] > every*3/2 {
			dst = append(dst, i)
		}
	}
	if len(dst) > 0 && 2*len(dst) > days {
		return dst
	}
	dst = dst[:0]
	for i := 1; i < len(times); i++ {
		if floorDiv(times[i], daySeconds) != floorDiv(times[i-1], daySeconds) {
			dst = append(dst, i)
		}
	}
	return dst
}
