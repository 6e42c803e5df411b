package simulate

import (
	"math"
	"slices"
)

// Lot is an open trade.
type Lot struct {
	ID       string // of the order that opened it
	Comment  string
	Side     Side
	Price    float64
	Quantity float64 // what is still open
	Filled   float64 // what the entry brought
	Bar      int
	Time     int64
	Best     float64 // best price since the entry, from its side
	Worst    float64

	entry   int     // number of the entry
	byEntry bool    // opened by strategy.entry
	paid    float64 // commission and funding of what is still open
	funding float64 // of it, what was paid as funding
}

// Number returns the number of the trade, which no other one of the account has.
func (l *Lot) Number() int { return l.entry }

// see updates the excursions of an open trade.
func (l *Lot) see(p float64) {
	if (p-l.Best)*float64(l.Side) > 0 {
		l.Best = p
	}
	if (p-l.Worst)*float64(l.Side) < 0 {
		l.Worst = p
	}
}

// Marked returns an open trade as if it ended at price p, without the commission of its
// exit.
func (a *Account) Marked(l *Lot, p float64) Trade {
	gross := float64(float64((p-l.Price)*float64(l.Side)) * float64(l.Quantity*a.unit))
	return Trade{
		EntryID: l.ID, EntryComment: l.Comment, Side: l.Side, Quantity: l.Quantity, EntryPrice: l.Price, EntryBar: l.Bar, EntryTime: l.Time,
		Commission: l.paid - l.funding, Funding: l.funding, Profit: gross - l.paid, Best: l.Best, Worst: l.Worst, entry: l.entry,
	}
}

// Trade is a closed trade.
type Trade struct {
	EntryID, ExitID           string
	EntryComment, ExitComment string
	Side                      Side
	Quantity                  float64
	EntryPrice, ExitPrice     float64
	EntryBar, ExitBar         int
	EntryTime, ExitTime       int64
	Commission                float64
	Funding                   float64 // paid; negative when received
	Profit                    float64 // after commission and funding
	Best, Worst               float64 // prices

	// Ambiguous reports that the bar of the exit held another price at which the trade
	// could have ended, so that the assumed path decided.
	Ambiguous bool

	entry int // number of the entry
}

// Number returns the number of the open trade that it closed, or of which it closed a part.
func (t *Trade) Number() int { return t.entry }

// execute fills an order or one leg of it at a price that it met.
func (a *Account) execute(o *order, l *leg, p float64) {
	if o.kind != exitOrder && !math.IsNaN(o.stop) && !math.IsNaN(o.limit) && !o.armed {
		o.armed = true
		return
	}
	if l != nil {
		a.executeLeg(o, l, p)
		return
	}
	a.orders = slices.DeleteFunc(a.orders, func(w *order) bool { return w == o })
	if !o.market() {
		a.resting.add(o, a.size)
	}
	if math.IsNaN(o.limit) {
		p = a.slip(o.side, p)
	} else {
		p = a.limitPrice(o.side, o.limit, p)
	}
	a.apply(o, p)
	a.spare = append(a.spare, o) // nobody else has it
}

// limitPrice returns the price at which a limit fills when the price is p: the limit
// where p is the point ticks beyond it, otherwise p.
func (a *Account) limitPrice(side Side, limit, p float64) float64 {
	if p == a.beyond(side, limit) {
		return limit
	}
	return p
}

// apply changes the position by a filled order.
func (a *Account) apply(o *order, p float64) {
	qty := o.qty + o.reverse
	if o.kind == closeOrder {
		if a.size*float64(o.side) >= 0 {
			a.purge()
			return
		}
		qty = min(qty, math.Abs(a.size))
	}
	if o.kind != closeOrder && !a.covered(o, qty, p) {
		a.refuseMargin(o, qty, p)
		a.purge()
		return
	}
	left := a.reduce(o.side, qty, p, o.from, o.id, o.comment)
	if left > 0 && o.kind != closeOrder {
		a.open(o, left, p, a.commission(qty, p)*left/qty)
	}
	a.after(o, qty)
}

// executeLeg fills one leg of an exit.
func (a *Account) executeLeg(o *order, l *leg, p float64) {
	comment := o.reason(a, l, p)
	if stop, _ := o.stopPrice(a, l); !math.IsNaN(stop) && stopMet(-l.side, stop, p) {
		p = a.slip(-l.side, p)
	} else {
		p = a.limitPrice(-l.side, l.limit, p)
	}
	l.done = true
	a.resting.exits(l.side)
	qty := min(l.qty, math.Abs(a.size))
	closed := len(a.trades)
	a.reduce(-l.side, qty, p, a.named(l.entry), o.id, comment)
	if o.ambiguous(a, l) {
		for i := closed; i < len(a.trades); i++ {
			a.trades[i].Ambiguous = true
		}
	}
	a.after(o, qty)
}

// named returns the id of an open entry by its number.
func (a *Account) named(entry int) string {
	for i := range a.lots {
		if a.lots[i].entry == entry {
			return a.lots[i].ID
		}
	}
	return ""
}

// after applies what follows from a fill: the group, exits of the new position, rules of
// risk.
func (a *Account) after(o *order, qty float64) {
	a.fills++
	if o.group != "" && o.oca != OCANone {
		a.oca(o, qty)
	}
	a.purge()
	for _, w := range a.orders {
		if w.kind == exitOrder {
			a.attach(w)
		}
	}
	a.filled()
}

// oca ends or reduces the other orders of a group.
func (a *Account) oca(o *order, qty float64) {
	a.orders = slices.DeleteFunc(a.orders, func(w *order) bool {
		if w == o || w.group != o.group {
			return false
		}
		if o.oca == OCACancel {
			return true
		}
		if w.kind == exitOrder {
			return false
		}
		w.qty = a.cut(w.qty - qty)
		return w.qty <= 0
	})
}

// reduce closes open trades against an order and returns what it leaves over.
func (a *Account) reduce(side Side, qty, p float64, from, id, comment string) float64 {
	fee := a.commission(qty, p)
	whole := qty
	for qty > 0 {
		i := a.victim(side, from)
		if i < 0 {
			break
		}
		l := &a.lots[i]
		n := min(qty, l.Quantity)
		a.close(l, n, p, fee*n/whole, id, comment)
		qty = a.cut(qty - n)
		if l.Quantity <= 0 {
			a.lots = slices.Delete(a.lots, i, i+1)
		}
	}
	return qty
}

// victim returns the open trade that an order of one side closes next.
func (a *Account) victim(side Side, from string) int {
	for i := range a.lots {
		if a.lots[i].Side == -side && (!a.cfg.CloseAny || from == "" || a.lots[i].ID == from) {
			return i
		}
	}
	return -1
}

// close ends a part of an open trade.
func (a *Account) close(l *Lot, qty, p, fee float64, id, comment string) {
	l.see(p)
	share, funding := l.paid, l.funding
	if qty < l.Quantity {
		share, funding = l.paid*qty/l.Quantity, l.funding*qty/l.Quantity
	}
	gross := float64(float64((p-l.Price)*float64(l.Side)) * float64(qty*a.unit))
	t := Trade{
		EntryID: l.ID, ExitID: id, EntryComment: l.Comment, ExitComment: comment, Side: l.Side, Quantity: qty,
		EntryPrice: l.Price, ExitPrice: p, EntryBar: l.Bar, ExitBar: a.bar, EntryTime: l.Time, ExitTime: a.time,
		Commission: share - funding + fee, Funding: funding, Profit: gross - share - fee, Best: l.Best, Worst: l.Worst, entry: l.entry,
	}
	l.Quantity = a.cut(l.Quantity - qty)
	l.paid -= share
	l.funding -= funding
	a.paid -= share
	a.size = a.cutSigned(a.size - float64(qty*float64(l.Side)))
	a.realized += t.Profit
	a.trades = append(a.trades, t)
	a.totals.close(t.Profit)
}

// open starts a trade with what an order has left.
func (a *Account) open(o *order, qty, p, fee float64) {
	a.entry++
	a.lots = append(a.lots, Lot{
		ID: o.id, Comment: o.comment, Side: o.side, Price: p, Quantity: qty, Filled: qty, Bar: a.bar, Time: a.time,
		Best: p, Worst: p, entry: a.entry, byEntry: o.kind == entryOrder, paid: fee,
	})
	a.paid += fee
	a.size = a.cutSigned(a.size + float64(qty*float64(o.side)))
	a.totals.hold(a.size)
}
