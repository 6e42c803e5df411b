package simulate

import "math"

// Risk holds the limits that a strategy sets for itself. A zero field is no limit.
type Risk struct {
	Only           Side    // direction in which entries may open
	FillsADay      int     // filled orders a day
	Drawdown       float64 // most that equity may fall from its peak
	DrawdownOfPeak bool    // Drawdown is a percentage
	DayLoss        float64
	DayLossOfStart bool // DayLoss is a percentage
	LossDays       int  // losing days in a row
	Position       float64
}

// riskState is what the rules of risk keep.
type riskState struct {
	Risk
	only     Side
	stopped  bool // until the day ends, or for good
	forGood  bool
	fills    int
	peak     float64
	dayStart float64
	lossDays int
	leaving  bool // the position closes at the next point of the path
}

// leavingText names the order that closes a position after a rule of risk was broken.
const leavingText = "Close position (risk limit)"

const dayMillis = 24 * 60 * 60 * 1000

// Limit sets the rules of risk.
func (a *Account) Limit(r Risk) {
	a.risk.Risk = r
	a.risk.only = r.Only
}

// Risk returns the rules of risk.
func (a *Account) Risk() Risk { return a.risk.Risk }

// newDay starts the counts of a day.
func (a *Account) newDay(t int64) {
	day := t / dayMillis
	if day == a.day {
		return
	}
	equity := a.Equity()
	if a.risk.dayStart > 0 {
		if equity < a.risk.dayStart {
			a.risk.lossDays++
		} else {
			a.risk.lossDays = 0
		}
	}
	a.day, a.risk.fills, a.risk.dayStart = day, 0, equity
	if a.risk.LossDays > 0 && a.risk.lossDays >= a.risk.LossDays {
		a.risk.forGood = true
	}
	a.risk.stopped = a.risk.forGood
}

// filled counts a fill and stops the day when a rule says so.
func (a *Account) filled() {
	a.risk.fills++
	if a.risk.stopped || !a.broken() {
		return
	}
	a.risk.stopped = true
	a.orders = a.orders[:0]
	a.risk.leaving = a.size != 0
}

// leave closes the position after a rule of risk was broken. The emulator notices it
// where the path arrives next, so that is the price.
func (a *Account) leave() {
	if !a.risk.leaving {
		return
	}
	a.risk.leaving = false
	a.reduce(a.against(), math.Abs(a.size), a.price, "", leavingText, leavingText)
}

// broken reports whether a rule of risk is broken.
func (a *Account) broken() bool {
	r := &a.risk
	if r.FillsADay > 0 && r.fills >= r.FillsADay {
		return true
	}
	equity := a.Equity()
	r.peak = max(r.peak, equity)
	limit := r.Drawdown
	if r.DrawdownOfPeak {
		limit = r.peak * r.Drawdown / 100
	}
	if r.Drawdown > 0 && r.peak-equity >= limit {
		r.forGood = true
		return true
	}
	limit = r.DayLoss
	if r.DayLossOfStart {
		limit = r.dayStart * r.DayLoss / 100
	}
	return r.DayLoss > 0 && r.dayStart-equity >= limit
}
