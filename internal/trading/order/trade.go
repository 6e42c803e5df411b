package order

import (
	"cmp"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/lib/market"
)

// Why a position became smaller.
const (
	ByStop       = "stop"
	ByTarget     = "target"
	ByExit       = "exit"
	ByAdjustment = "adjustment" // the venue reported another position than its trades make
	ByOthers     = "outside"    // an order that was not placed here
)

// Trade is what one order took out of a position. The sum of Realised over all trades of a
// symbol is that of its [Position], exactly, whatever the order in which fills are reported.
type Trade struct {
	Symbol   market.Symbol   `json:"symbol"`
	Side     Side            `json:"side"`     // of the position
	Quantity decimal.Decimal `json:"quantity"` // by which the position became smaller
	Proceeds decimal.Decimal `json:"proceeds"` // Quantity at the prices of the exit
	Realised decimal.Decimal `json:"realised"` // in the currency of the price, before fees
	Paid     Charges         `json:"paid,omitzero"`
	Opened   time.Time       `json:"opened,omitzero"`
	Closed   time.Time       `json:"closed,omitzero"` // by its newest fill
	OrderID  string          `json:"order_id,omitempty"`
	Reason   string          `json:"reason"`
}

// Entry returns the average price at which the position was opened, rounded for display.
func (t Trade) Entry() decimal.Decimal {
	gained := t.Realised.Mul(decimal.NewFromInt(t.Side.Sign()))
	return quotient(t.Proceeds.Sub(gained), t.Quantity)
}

// Exit returns the average price at which it was closed, rounded for display.
func (t Trade) Exit() decimal.Decimal { return quotient(t.Proceeds, t.Quantity) }

// closes says why a position becomes smaller when the order is filled.
func (o Order) closes() string {
	switch {
	case o.External:
		return ByOthers
	case o.Role == TakeProfit:
		return ByTarget
	case o.Role == StopLoss || o.IsStop():
		return ByStop
	default:
		return ByExit
	}
}

// join adds more of the same order.
func (t *Trade) join(more *Trade) {
	t.Quantity, t.Proceeds, t.Realised = t.Quantity.Add(more.Quantity), t.Proceeds.Add(more.Proceeds), t.Realised.Add(more.Realised)
	t.Paid = t.Paid.add(more.Paid)
	if more.Closed.After(t.Closed) {
		t.Closed = more.Closed
	}
}

// Charges are the fees of trades.
type Charges struct {
	Fees  Fees            `json:"fees,omitempty"` // without those that left a position
	Worth decimal.Decimal `json:"worth,omitzero"` // of those, in the currency of the price, at the prices of their trades
}

func (c Charges) add(more Charges) Charges {
	for asset, fee := range more.Fees {
		c.Fees = c.Fees.add(asset, fee)
	}
	c.Worth = c.Worth.Add(more.Worth)
	return c
}

func (c Charges) sub(less Charges) Charges {
	for asset, fee := range less.Fees {
		c.Fees = c.Fees.add(asset, fee.Neg())
	}
	c.Worth = c.Worth.Sub(less.Worth)
	return c
}

// share returns what a part of a whole bears of the charges.
func (c Charges) share(part, whole decimal.Decimal) Charges {
	var r Charges
	for asset, fee := range c.Fees {
		r.Fees = r.Fees.add(asset, proportion(fee, part, whole))
	}
	r.Worth = proportion(c.Worth, part, whole)
	return r
}

// daySum is what was earned in a symbol on a day in UTC.
type daySum struct {
	Day      int64           `json:"day"` // since 1970
	Realised decimal.Decimal `json:"realised,omitzero"`
	Paid     Charges         `json:"paid,omitzero"` // on that day, for entries and exits
}

// Bounds of what is kept.
const (
	keptTrades = 2000 // of all symbols, besides those that late fills may change
	keptDays   = 400
)

// earned is what moves of a symbol earned.
type earned struct {
	Trades []*Trade `json:"trades,omitempty"` // by the time of their first fill
	Days   []daySum `json:"days,omitempty"`   // by day
}

// add adds a move from one position to the next, and the trade that it made.
func (e *earned) add(at time.Time, from, to Position, made *Trade) {
	if made != nil {
		e.trade(made)
	}
	e.day(at, to.Realised.Sub(from.Realised), to.charges().sub(from.charges()))
}

// trade adds what a move took out of a position.
func (e *earned) trade(t *Trade) {
	if t.OrderID != "" {
		for _, known := range slices.Backward(e.Trades) {
			if known.OrderID == t.OrderID {
				known.join(t)
				return
			}
		}
	}
	e.Trades = append(e.Trades, t)
}

// day adds what a move earned and paid.
func (e *earned) day(at time.Time, realised decimal.Decimal, paid Charges) {
	day := utcDay(at)
	i, ok := slices.BinarySearchFunc(e.Days, day, func(d daySum, day int64) int { return cmp.Compare(d.Day, day) })
	if !ok {
		e.Days = slices.Insert(e.Days, i, daySum{Day: day})
	}
	d := &e.Days[i]
	d.Realised, d.Paid = d.Realised.Add(realised), d.Paid.add(paid)
	if len(e.Days) > keptDays {
		e.Days = slices.Delete(e.Days, 0, len(e.Days)-keptDays)
	}
}

// Trades returns the newest trades that took something out of a position, newest first: the
// last 2000 and those that late fills may still change.
func (b *Book) Trades() []Trade {
	var all []Trade
	for _, t := range b.positions {
		all = append(all, t.trades()...)
	}
	slices.SortFunc(all, func(x, y Trade) int {
		return cmp.Or(y.Closed.Compare(x.Closed), cmp.Compare(y.OrderID, x.OrderID), bySymbol(x.Symbol, y.Symbol), x.Quantity.Cmp(y.Quantity))
	})
	return all
}

// Earned returns what was earned in a symbol from a day on, given as days since 1970. It reaches
// back 400 days on which something was traded.
func (b *Book) Earned(s market.Symbol, from int64) (realised decimal.Decimal, paid Charges) {
	t := b.positions[s]
	if t == nil {
		return realised, paid
	}
	for _, days := range [][]daySum{t.Past.Days, t.earned().Days} {
		for _, d := range days {
			if d.Day >= from {
				realised, paid = realised.Add(d.Realised), paid.add(d.Paid)
			}
		}
	}
	return realised, paid
}

// trades returns copies of all trades of a track.
func (t *track) trades() []Trade {
	newer := t.earned().Trades
	all := make([]Trade, 0, len(t.Past.Trades)+len(newer))
	at := make(map[string]int, len(newer))
	for _, one := range newer {
		at[one.OrderID] = len(all)
		all = append(all, *one)
	}
	for _, one := range t.Past.Trades {
		if i, ok := at[one.OrderID]; ok && one.OrderID != "" {
			whole := *one
			whole.join(&all[i])
			all[i] = whole
			continue
		}
		all = append(all, *one)
	}
	return all
}

// forgetTrades bounds the trades that no fill changes any more.
func (b *Book) forgetTrades() {
	count := 0
	for _, t := range b.positions {
		count += len(t.Past.Trades)
	}
	if count <= keptTrades {
		return
	}
	closed := make([]time.Time, 0, count)
	for _, t := range b.positions {
		for _, one := range t.Past.Trades {
			closed = append(closed, one.Closed)
		}
	}
	slices.SortFunc(closed, time.Time.Compare)
	oldest := closed[count-keptTrades]
	for _, t := range b.positions {
		t.Past.Trades = slices.DeleteFunc(t.Past.Trades, func(one *Trade) bool { return one.Closed.Before(oldest) })
	}
}
