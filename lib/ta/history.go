package ta

import "candela/lib/market"

const (
	// maxStable bounds the warm-up. It covers every default; longer averages are
	// reported as not warmed up.
	maxStable = 5000
	// shownStep is the granularity of the start in bars shown.
	shownStep = 1000
	// anchorBars is the granularity of the start in time, in bars.
	anchorBars = 256
)

// History determines the bar at which the computation of an indicator starts.
// Recursive values converge only to within a few units in the last place, and sums
// such as OBV never do, so values are equal to the last bit only for the same start.
// The start does not depend on how many bars up to 1000 are shown nor, for 256 bars
// in a row, on the last bar. A chart, a stream and an alert then agree, and the value
// of a closed bar does not change.
type History struct {
	Interval market.Interval
	Shown    int // bars to show, at least 1
	Stable   int // from Warmup
}

// Len returns how many bars are needed, including the forming one.
func (h History) Len() int {
	if h.Stable == 0 {
		return h.Shown
	}
	return h.reach() + anchorBars
}

// reach returns the minimum number of closed bars of the history. An indicator
// without warm-up, such as a volume profile, gets only the bars shown.
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
	return bars.Search(h.anchor(bars.T[least]))
}

// anchor returns the time at or after which the first bar begins, given the time of the newest
// bar that the history must have.
func (h History) anchor(t int64) int64 {
	step := anchorBars * h.Interval.Seconds()
	return t - ((t%step)+step)%step
}

// A Beginning is where the computation of an indicator began. Its zero value is nowhere.
type Beginning struct {
	Time  int64 // of its first bar
	until int64 // of the newest bar that the history must have: from there on it is another
}

// Beginning returns where the computation begins for closed bars, and the index of that bar.
func (h History) Beginning(bars *market.Bars) (Beginning, int) {
	from := h.Begin(bars, false)
	out := Beginning{Time: bars.T[from]}
	if least := bars.Len() - h.reach(); h.Stable > 0 && least > 0 {
		// Without a bar at or before the anchor an older one may come in front.
		if anchor := h.anchor(bars.T[least]); bars.T[0] <= anchor {
			out.until = anchor + anchorBars*h.Interval.Seconds()
		}
	}
	return out, from
}

// Continues reports whether the computation for closed bars that follow those of b begins where
// b did. If it reports false, Beginning knows.
func (h History) Continues(b Beginning, bars *market.Bars) bool {
	least := bars.Len() - h.reach()
	return h.Stable > 0 && least > 0 && bars.T[least] < b.until && bars.T[0] <= b.Time
}
