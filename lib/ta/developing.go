package ta

import (
	"math"

	"candela/lib/market"
)

// developing is the profile of a session that grows bar by bar. After each bar it
// equals sessionProfile of the bars so far in every bit, because rows add volumes in
// the same order. A bar that widens the session's range changes the rows, so all bars
// are distributed again; where that happens often, a volumeCurve finds the value area
// instead, if it is certain of it.
type developing struct {
	profile
	bars            *market.Bars
	from, end, to   int     // the bars added, and the end of the session
	lowest, highest float64 // their range
	spans           bool    // whether the range is not empty
	filled          bool    // whether the rows hold all bars added

	spread  int          // bars distributed again so far
	curve   *volumeCurve // nil while spread is small, and for bars it cannot hold
	without bool         // whether there is no curve for these bars
}

// spreadMost is how many times its length a session is distributed again before the
// volumeCurve is made.
const spreadMost = 16

func develop(b *market.Bars, s stretch, bins int) *developing {
	return &developing{profile: emptyProfile(bins), bars: b, from: s.from, end: s.from, to: s.to, lowest: math.Inf(1), highest: math.Inf(-1), filled: true}
}

// next adds a bar and returns the value area of all so far.
func (d *developing) next() (valueArea, bool) {
	b, i := d.bars, d.end
	d.end++
	if d.curve != nil {
		d.curve.add(i - d.from)
	}
	if usable(b, i) && (b.L[i] < d.lowest || b.H[i] > d.highest) {
		d.lowest, d.highest = min(d.lowest, b.L[i]), max(d.highest, b.H[i])
		d.spans, d.filled = d.span(d.lowest, d.highest), false
	}
	if !d.spans {
		return valueArea{}, false
	}
	if d.filled {
		d.addVolume(b, i, d.end)
		return d.area(1)
	}
	if d.curve != nil {
		if a, certain := d.curve.area(&d.profile); certain {
			return a, true
		}
	}
	return d.fill()
}

// fill distributes all bars over the rows, which are empty.
func (d *developing) fill() (valueArea, bool) {
	d.addVolume(d.bars, d.from, d.end)
	d.filled = true
	if d.spread += d.end - d.from; d.spread > spreadMost*(d.to-d.from) && d.curve == nil && !d.without {
		d.curve = newVolumeCurve(d.bars, d.from, d.to)
		d.without = d.curve == nil
		for i := d.from; i < d.end && d.curve != nil; i++ {
			d.curve.add(i - d.from)
		}
	}
	return d.area(1)
}
