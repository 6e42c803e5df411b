package simulate

import "math"

// Requests counts what became of the requests of a strategy that would open a position or add to one. It
// explains a run that has no trades.
type Requests struct {
	Early   int // before the account traded: they have no effect
	AtFirst int // of those, at the first bar that the strategy saw
	Made    int // once it traded
	Crowded int // with as many entries open as pyramiding allows
	Barred  int // by a rule of risk
	Priced  int // placed as stop or limit orders
	Market  int // placed as market orders

	Small  Refusal // fewer units than the least step
	Margin Refusal // equity covered neither the position nor its margin
	Calls  int     // margin calls: a part of a position was sold because equity no longer covered it
}

// Refusal counts requests that were refused for one reason, with the figures of the first.
type Refusal struct {
	Count      int
	Asked, Had float64
}

func (r *Refusal) add(asked, had float64) {
	if r.Count == 0 {
		r.Asked, r.Had = asked, had
	}
	r.Count++
}

// Requests returns the counts so far.
func (a *Account) Requests() Requests { return a.requests }

// heard counts a request and reports whether it is considered.
func (a *Account) heard() bool {
	if a.paused {
		a.requests.Early++
		if a.bar == 0 {
			a.requests.AtFirst++
		}
		return false
	}
	a.requests.Made++
	if a.risk.stopped {
		a.requests.Barred++
		return false
	}
	return true
}

// refuseSmall counts a request for fewer units than a step.
func (a *Account) refuseSmall(r Request) { a.requests.Small.add(a.wanted(r), a.cfg.Step) }

// refuseMargin counts an entry that equity does not cover at price p.
func (a *Account) refuseMargin(o *order, qty, p float64) {
	after := math.Abs(a.size + float64(qty*float64(o.side)))
	a.requests.Margin.add(after*p*a.unit*a.margin(o.side), a.cfg.Capital+a.realized+a.openAt(p))
}
