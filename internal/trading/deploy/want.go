package deploy

import (
	"cmp"
	"math"
	"slices"

	"github.com/shopspring/decimal"

	"candela/lib/backtest/simulate"
)

// place names what a program wants over its changes: the order, and of an exit the trade that it closes. nth counts
// orders that are alike.
type place struct {
	kind     Kind
	id, from string
	lot, nth int
}

// want is an order that a program wants to have after a close, with its terms in decimals.
type want struct {
	place
	Intent       // with the key under which it was first wanted as it is
	since  int64 // the bar of that

	left  decimal.Decimal // of an exit: what it still closes
	exits int             // of an entry: how many wait for it
	parts bool            // one of them closes less than it brings
}

// wantsOf returns what stands, by place. Exits of entries that have not filled go with these.
func (e exact) wantsOf(standing []simulate.Standing) []want {
	all := make([]want, 0, len(standing))
	var alike map[place]int
	if len(standing) > few {
		alike = make(map[place]int, len(standing))
	}
	for i := range standing {
		s := &standing[i]
		if s.Early {
			continue
		}
		if !e.fillable(s) {
			continue
		}
		p := place{kind: kindOf(s.Kind), id: s.ID, from: s.From, lot: s.Trade}
		if p.nth = alike[p]; alike != nil {
			alike[p]++
		} else {
			p.nth = countAlike(all, p)
		}
		intent := e.intentOf(p, s)
		all = append(all, want{place: p, Intent: intent, left: intent.Quantity})
	}
	for i := range standing {
		if s := &standing[i]; s.Early {
			e.attach(all, s)
		}
	}
	return all
}

// few is up to how many orders are compared one by one.
const few = 16

// countAlike counts the orders at a place.
func countAlike(all []want, p place) (n int) {
	for i := range all {
		before := all[i].place
		if before.nth = 0; before == p {
			n++
		}
	}
	return n
}

// olds are what was wanted before a bar.
type olds struct {
	was   []want
	taken []bool
	at    map[place]int // nil if they are few
}

func oldOf(was []want) olds {
	o := olds{was: was, taken: make([]bool, len(was))}
	if len(was) > few {
		o.at = make(map[place]int, len(was))
		for i := range was {
			o.at[was[i].place] = i
		}
	}
	return o
}

// take returns what was wanted at a place, nil for nothing. It is not left then.
func (o olds) take(p place) *want {
	i, known := o.at[p]
	if o.at == nil {
		i = slices.IndexFunc(o.was, func(w want) bool { return w.place == p })
		known = i >= 0
	}
	if !known {
		return nil
	}
	o.taken[i] = true
	return &o.was[i]
}

// fillable reports whether the price of an order is one: no price reaches a limit of zero.
func (e exact) fillable(s *simulate.Standing) bool {
	for _, price := range []float64{s.Limit, s.Stop} {
		if !math.IsNaN(price) && !e.priceOf(price).IsPositive() {
			return false
		}
	}
	return true
}

func kindOf(k simulate.StandingKind) Kind {
	switch k {
	case simulate.StandingExit:
		return LineKind
	case simulate.StandingClose:
		return CloseKind
	default:
		return EntryKind
	}
}

// intentOf returns what an order asks for.
func (e exact) intentOf(p place, s *simulate.Standing) Intent {
	return Intent{
		Kind: p.kind, ID: p.id, From: p.from, Lot: p.lot, Side: sideOf(s.Side), Quantity: e.quantityOf(s.Quantity), Closes: e.quantityOf(s.Closes),
		Limit: e.priceOf(s.Limit), Stop: e.priceOf(s.Stop), Trails: s.Trails,
	}
}

// attach sets the exits of an entry that has not filled: of several stops and targets, the nearest.
func (e exact) attach(all []want, exit *simulate.Standing) {
	for i := range all {
		w := &all[i]
		if w.kind != EntryKind || w.id != exit.From || sideOf(exit.Side) == w.Side {
			continue
		}
		w.exits++
		w.parts = w.parts || exit.Part
		far := float64(w.Side.Sign()) // the nearest stop of a long is the highest
		w.StopLoss = nearest(w.StopLoss, e.priceOf(exit.Stop), far)
		w.TakeProfit = nearest(w.TakeProfit, e.priceOf(exit.Limit), -far)
		w.StopApart = nearest(w.StopApart, e.priceOf(exit.Apart.Stop), -1)
		w.TargetApart = nearest(w.TargetApart, e.priceOf(exit.Apart.Limit), -1)
		w.StopPercent = nearest(w.StopPercent, decimalOf(exit.Apart.StopPercent, percentDigits), -1)
		w.TargetPercent = nearest(w.TargetPercent, decimalOf(exit.Apart.LimitPercent, percentDigits), -1)
	}
}

// percentDigits is how exact a distance in percent is recorded.
const percentDigits = 8

// nearest returns the one of two amounts that is higher where direction is above 0, else lower. Zero is none.
func nearest(a, b decimal.Decimal, direction float64) decimal.Decimal {
	switch {
	case a.IsZero():
		return b
	case b.IsZero():
		return a
	case direction > 0:
		return decimal.Max(a, b)
	default:
		return decimal.Min(a, b)
	}
}

// same reports whether both ask for the same.
func (w *want) same(o *want) bool {
	if w.Side != o.Side || w.Trails != o.Trails {
		return false
	}
	mine, other := w.amounts(), o.amounts()
	for i := range mine {
		if !mine[i].Equal(other[i]) {
			return false
		}
	}
	return true
}

func (w *want) amounts() [9]decimal.Decimal {
	return [...]decimal.Decimal{w.Quantity, w.Limit, w.Stop, w.StopLoss, w.TakeProfit, w.StopApart, w.TargetApart, w.StopPercent, w.TargetPercent}
}

// keepQuantities leaves orders that were filled in part as they were asked for: what the model has left of one is no
// other order.
func keepQuantities(now, was []want) {
	for i := range now {
		for k := range was {
			if now[i].place == was[k].place && !now[i].Market() && now[i].Quantity.LessThan(was[k].Quantity) {
				now[i].Quantity = was[k].Quantity
			}
		}
	}
}

// withdrawal returns the intent that takes back what was wanted.
func (w *want) withdrawal(deployment string, bar int64) Intent {
	return Intent{Key: key(deployment, bar, WithdrawKind, w.place), Kind: WithdrawKind, Of: w.kind, ID: w.id, From: w.From, Lot: w.lot, Side: w.Side}
}

// sortIntents puts what makes a position smaller first.
func sortIntents(all []Intent) {
	slices.SortStableFunc(all, func(a, b Intent) int { return cmp.Compare(a.Kind.rank(), b.Kind.rank()) })
}

// rank is the place of a kind among the intents of one bar.
func (k Kind) rank() int {
	if i := slices.Index([]Kind{CloseKind, LineKind, WithdrawKind, EntryKind}, k); i >= 0 {
		return i
	}
	return math.MaxInt
}
