package indicator

import "candela/internal/market"

const (
	// maxStable bounds the bars read for values to settle. It covers every default;
	// an average over thousands of bars is then not settled, and charts say so.
	maxStable = 5000
	// shownStep is by how many bars the beginning moves with the number of bars shown.
	shownStep = 1000
	// anchorBars is by how many bars the beginning moves with time.
	anchorBars = 256
)

// History says from which bar on an indicator is computed. Recursive values settle
// to within a few units in the last place and may keep that difference for ever,
// and sums such as OBV never settle: a value is the same to the last bit only where
// the computation began at the same bar. So it begins at one that depends neither
// on how many bars up to 1000 are shown nor, for 256 bars in a row, on which bar is
// the last one. A chart, a stream that steps bar by bar and an alert then agree,
// and the value of a bar that has closed stays what it was.
type History struct {
	Interval market.Interval
	Shown    int // bars whose values are wanted, at least 1
	Stable   int // as Warmup tells it
}

// Len returns how many bars are needed, the running one included.
func (h History) Len() int {
	if h.Stable == 0 {
		return h.Shown
	}
	return h.reach() + anchorBars
}

// reach returns how many closed bars the history has at least. What needs no bars
// before those shown, such as a volume profile, sees no others.
func (h History) reach() int {
	return (h.Shown+shownStep-1)/shownStep*shownStep + min(h.Stable, maxStable)
}

// Begin returns the index of the bar at which the computation begins: 0 when there
// are too few. running says that the last bar has not closed.
func (h History) Begin(bars *market.Bars, running bool) int {
	n := bars.Len()
	if h.Stable == 0 {
		return max(0, n-h.Shown)
	}
	if running {
		n--
	}
	least := n - h.reach()
	if least <= 0 {
		return 0
	}
	step := anchorBars * h.Interval.Seconds()
	t := bars.T[least]
	return bars.Search(t - ((t%step)+step)%step)
}
