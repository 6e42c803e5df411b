package order

import (
	"cmp"
	"slices"
	"strings"
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

	ByLiquidation = "liquidation" // the venue closed it because its margin was used up
	ByADL         = "adl"         // the venue closed it to cover the loss of others (auto-deleveraging)
	BySettlement  = "settlement"  // the venue closed it because it ended the contract
)

// Causes lists why a venue closes a position by itself, without an order of ours.
func Causes() []string { return []string{ByLiquidation, ByADL, BySettlement} }

// Reasons lists why a position becomes smaller.
func Reasons() []string {
	return append([]string{ByStop, ByTarget, ByExit, ByAdjustment, ByOthers}, Causes()...)
}

// ParseReason reads one of Reasons in any case.
func ParseReason(s string) (string, error) {
	i, err := parse[uint8]("reason", s, Reasons())
	return name(i, Reasons()), err
}

// Trade is what one order took out of a position. The sums of Realised and of the funding over all trades of a
// symbol are those of its [Position], less what an open one carries, exactly, whatever the order in which fills are reported.
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
	Key      string          `json:"key"`                // the least of its fills, unique
	Currency string          `json:"currency,omitempty"` // of the price; "" when unknown, and as long as nobody asks
}

// Net returns what was earned after fees and funding in the currency of the price.
func (t Trade) Net() decimal.Decimal {
	fees, _ := t.Fees()
	return t.Realised.Sub(fees).Sub(t.Paid.Funding)
}

// Fees returns what was paid in the currency of the price, and the fees in other assets.
func (t Trade) Fees() (fees decimal.Decimal, other Fees) {
	return t.Paid.Worth.Add(t.Paid.Fees[t.Currency]), t.Paid.Fees.add(t.Currency, t.Paid.Fees[t.Currency].Neg())
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
	t.Key = min(t.Key, more.Key)
}

// Charges are the fees of trades, and the funding of what they closed.
type Charges struct {
	Fees    Fees            `json:"fees,omitempty"`   // without those that left a position
	Worth   decimal.Decimal `json:"worth,omitzero"`   // of those, in the currency of the price, at the prices of their trades
	Funding decimal.Decimal `json:"funding,omitzero"` // paid in the currency of the price; negative when received
}

func (c Charges) add(more Charges) Charges {
	for asset, fee := range more.Fees {
		c.Fees = c.Fees.add(asset, fee)
	}
	c.Worth, c.Funding = c.Worth.Add(more.Worth), c.Funding.Add(more.Funding)
	return c
}

func (c Charges) sub(less Charges) Charges {
	for asset, fee := range less.Fees {
		c.Fees = c.Fees.add(asset, fee.Neg())
	}
	c.Worth, c.Funding = c.Worth.Sub(less.Worth), c.Funding.Sub(less.Funding)
	return c
}

// share returns what a part of a whole bears of the charges.
func (c Charges) share(part, whole decimal.Decimal) Charges {
	var r Charges
	for asset, fee := range c.Fees {
		r.Fees = r.Fees.add(asset, proportion(fee, part, whole))
	}
	r.Worth, r.Funding = proportion(c.Worth, part, whole), proportion(c.Funding, part, whole)
	return r
}

// daySum is what was earned in a symbol on a day in UTC.
type daySum struct {
	Day      int64           `json:"day"` // since 1970
	Realised decimal.Decimal `json:"realised,omitzero"`
	Paid     Charges         `json:"paid,omitzero"` // on that day, for entries and exits
	Funding  decimal.Decimal `json:"funding,omitzero"`
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
	e.day(at, to.Realised.Sub(from.Realised), to.Charges().sub(from.Charges()), to.Funding.Sub(from.Funding))
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
func (e *earned) day(at time.Time, realised decimal.Decimal, paid Charges, funding decimal.Decimal) {
	day := utcDay(at)
	i, ok := slices.BinarySearchFunc(e.Days, day, func(d daySum, day int64) int { return cmp.Compare(d.Day, day) })
	if !ok {
		e.Days = slices.Insert(e.Days, i, daySum{Day: day})
	}
	d := &e.Days[i]
	d.Realised, d.Paid, d.Funding = d.Realised.Add(realised), d.Paid.add(paid), d.Funding.Add(funding)
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
		return y.Mark().Compare(x.Mark())
	})
	return all
}

// Mark returns the place of a trade in the list of all.
func (t Trade) Mark() Mark { return Mark{t.Closed, t.Key} }

// TradeQuery asks for the trades that were closed in a time or for a reason, or a part of their list.
type TradeQuery struct {
	Symbol market.Symbol `json:"symbol,omitzero"` // zero for all; without a venue at any
	From   time.Time     `json:"from,omitzero"`
	To     time.Time     `json:"to,omitzero"`      // exclusive; zero for none
	Reason string        `json:"reason,omitempty"` // "" for all
	After  Mark          `json:"after,omitzero"`
	Most   int           `json:"most"`
}

// asks reports whether a trade is one of those.
func (q TradeQuery) asks(t Trade) bool {
	return Named(q.Symbol, t.Symbol) && (q.Reason == "" || q.Reason == t.Reason) && !t.Closed.Before(q.From) && (q.To.IsZero() || t.Closed.Before(q.To))
}

// TradePage is a part of a list of trades, newest first, and the sums of the whole list.
type TradePage struct {
	Trades []Trade    `json:"trades,omitempty"`
	Left   int        `json:"left,omitempty"` // after the part
	Sums   []TradeSum `json:"sums,omitempty"` // by currency
	Since  time.Time  `json:"since,omitzero"` // older trades are only in the history; zero if there are none
}

// TradeSum is what trades in one currency earned.
type TradeSum struct {
	Currency string          `json:"currency"`
	Realised decimal.Decimal `json:"realised"`
	Fees     decimal.Decimal `json:"fees"`
	Funding  decimal.Decimal `json:"funding,omitzero"`
	Other    Fees            `json:"other,omitempty"` // fees in other assets
	Wins     int             `json:"wins"`            // trades with a profit after fees and funding in the currency
	Losses   int             `json:"losses"`
}

// Net returns what the trades earned after fees and funding in the currency.
func (s TradeSum) Net() decimal.Decimal { return s.Realised.Sub(s.Fees).Sub(s.Funding) }

func (s *TradeSum) add(t Trade) {
	fees, other := t.Fees()
	s.Realised, s.Fees, s.Funding = s.Realised.Add(t.Realised), s.Fees.Add(fees), s.Funding.Add(t.Paid.Funding)
	for asset, fee := range other {
		s.Other = s.Other.add(asset, fee)
	}
	switch t.Net().Sign() {
	case 1:
		s.Wins++
	case -1:
		s.Losses++
	}
}

// Page returns what a query asks for. Currency returns that of the prices of a symbol.
func (q TradeQuery) Page(all []Trade, currency func(market.Symbol) string) TradePage {
	var p TradePage
	for _, t := range all {
		if !q.asks(t) {
			continue
		}
		t.Currency = currency(t.Symbol)
		i := slices.IndexFunc(p.Sums, func(s TradeSum) bool { return s.Currency == t.Currency })
		if i < 0 {
			i, p.Sums = len(p.Sums), append(p.Sums, TradeSum{Currency: t.Currency})
		}
		p.Sums[i].add(t)
		switch {
		case !q.After.IsZero() && t.Mark().Compare(q.After) >= 0:
		case len(p.Trades) == q.Most:
			p.Left++
		default:
			p.Trades = append(p.Trades, t)
		}
	}
	slices.SortFunc(p.Sums, func(x, y TradeSum) int { return cmp.Compare(x.Currency, y.Currency) })
	return p
}

// SymbolDays is what was earned in a symbol by day, a copy for readers beside the book.
type SymbolDays struct {
	Position Position
	days     []daySum
}

// EarnedDays returns what was earned in every symbol by day. It reaches back 400 days on which something
// was traded. It copies, so that the sums are made elsewhere.
func (b *Book) EarnedDays() []SymbolDays {
	all := make([]SymbolDays, 0, len(b.positions))
	for _, t := range b.positions {
		all = append(all, SymbolDays{t.position(), slices.Concat(t.Past.Days, t.earned().Days)})
	}
	slices.SortFunc(all, func(x, y SymbolDays) int { return bySymbol(x.Position.Symbol, y.Position.Symbol) })
	return all
}

// Since returns the sum from a day on, given as days since 1970.
func (d SymbolDays) Since(from int64) (realised decimal.Decimal, paid Charges, funding decimal.Decimal) {
	for _, day := range d.days {
		if day.Day >= from {
			realised, paid, funding = realised.Add(day.Realised), paid.add(day.Paid), funding.Add(day.Funding)
		}
	}
	return realised, paid, funding
}

// QuoteOf returns the currency of the price of a symbol whose traded asset is known, as its name spells it; "" if it
// does not.
func QuoteOf(s market.Symbol, base string) string {
	if _, quote, ok := strings.Cut(s.Name, "/"); ok {
		return quote
	}
	quote, _ := strings.CutPrefix(s.Name, base)
	if base == "" || quote == s.Name {
		return ""
	}
	return strings.TrimLeft(quote, "-_")
}

// FeeAsset returns the only asset in which fees of trades in a symbol were paid: its currency, where neither the
// venue nor the name says it, as with files. It is "" where there are several.
func FeeAsset(all []Trade, s market.Symbol) string {
	only := ""
	for i := range all {
		if all[i].Symbol != s {
			continue
		}
		for asset := range all[i].Paid.Fees {
			if only != "" && only != asset {
				return ""
			}
			only = asset
		}
	}
	return only
}

// Bases returns the assets that are traded, by symbol, as fills and positions name them.
func (b *Book) Bases() map[market.Symbol]string {
	bases := make(map[market.Symbol]string, len(b.positions))
	for _, o := range b.orders {
		for _, f := range o.Fills {
			if f.Base != "" {
				bases[f.Symbol] = f.Base
			}
		}
	}
	for s, t := range b.positions {
		if base := t.position().Base; base != "" {
			bases[s] = base
		}
	}
	return bases
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

// TradesSince returns the time before which trades are forgotten, zero if all are kept.
func (b *Book) TradesSince() time.Time { return b.tradesSince }

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
	b.tradesSince = oldest
	for _, t := range b.positions {
		t.Past.Trades = slices.DeleteFunc(t.Past.Trades, func(one *Trade) bool { return one.Closed.Before(oldest) })
	}
}
