package alert

import "time"

// Present is what the bars say of a condition before its alert is created.
type Present struct {
	Known   bool      // there were enough bars, or a price; otherwise all else is zero
	True    bool      // the condition is true at the last closed bar, or at the price
	Value   float64   // the left side of the condition, the close for a compound one
	Against float64   // the right side; NaN for a range, a signal and a compound condition
	At      time.Time // of the bar's close, or of the price

	// Anchored is the open of the earliest bar at which a running sum begins, zero for none.
	Anchored time.Time

	// LastFired is when the condition would last have fired, zero for not since From, the
	// close of the first bar that was evaluated.
	LastFired time.Time
	From      time.Time
}
