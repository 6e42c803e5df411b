package desk

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/id"
	"candela/internal/market"
	"candela/internal/trading/order"
)

// difference is something in which our books are not the venue's.
type difference struct {
	subject string
	what    string // equal while the difference is the same
	text    string
	// Of a position: what to add to ours, so that it is the venue's.
	symbol market.Symbol
	add    decimal.Decimal
}

// differences compares orders and holdings with what the venue said.
func (w *writer) differences(a answer) []difference {
	if len(a.forgotten) > 0 {
		return forgotten(a) // the rest is of another account
	}
	found := w.orderDifferences(a)
	if w.cfg.AssetBalances {
		return append(found, w.assetDifferences(a.holdings)...)
	}
	return append(found, w.positionDifferences(a.holdings)...)
}

func (w *writer) orderDifferences(a answer) []difference {
	var found []difference
	for _, r := range slices.Concat(a.open, slices.Collect(maps.Values(a.orders))) {
		o, ok := w.reported(r.ID, r.Symbol, r.VenueID)
		if !ok || w.flights[o.ID] || o.NeedsQuery() {
			continue // nobody's, or being asked for
		}
		if text := order.Disagreement(o, r); text != "" {
			found = append(found, difference{subject: "order " + o.ID, what: text, text: text})
		}
	}
	return found
}

// positionDifferences is for venues that count positions by symbol: they must be
// the same.
func (w *writer) positionDifferences(holdings []order.Holding) []difference {
	theirs := make(map[market.Symbol]decimal.Decimal)
	for _, h := range holdings {
		if !h.Symbol.IsZero() {
			theirs[h.Symbol] = theirs[h.Symbol].Add(h.Quantity)
		}
	}
	for _, p := range w.book.Positions() {
		if _, there := theirs[p.Symbol]; !there {
			theirs[p.Symbol] = decimal.Zero
		}
	}
	var found []difference
	for s, quantity := range theirs {
		held := w.book.Position(s).Held(w.instruments[s].Base)
		if !held.Equal(quantity) {
			found = append(found, difference{
				subject: s.String(), what: quantity.Sub(held).String(), symbol: s, add: quantity.Sub(held),
				text: fmt.Sprintf("the venue holds %s of %s, and the trades that are known make %s", quantity, s, held),
			})
		}
	}
	slices.SortFunc(found, func(a, b difference) int { return cmp.Compare(a.subject, b.subject) })
	return found
}

// assetDifferences is for venues that count assets, where there may be more than
// was traded here, but not less.
func (w *writer) assetDifferences(holdings []order.Holding) []difference {
	theirs, ours := make(map[string]decimal.Decimal), make(map[string]decimal.Decimal)
	for _, h := range holdings {
		theirs[h.Asset] = theirs[h.Asset].Add(h.Quantity)
	}
	positions := w.book.Positions()
	for _, p := range positions {
		inst := w.instruments[p.Symbol]
		ours[inst.Base] = ours[inst.Base].Add(p.Quantity)
		ours[inst.Quote] = ours[inst.Quote].Add(p.Cash())
		for asset, fee := range p.Fees {
			ours[asset] = ours[asset].Sub(fee)
		}
	}
	var found []difference
	for _, p := range positions {
		base := w.instruments[p.Symbol].Base
		if p.Quantity.IsPositive() && base != "" && theirs[base].LessThan(ours[base]) {
			found = append(found, difference{
				subject: base, what: theirs[base].Sub(ours[base]).String(), symbol: p.Symbol, add: decimal.Max(theirs[base].Sub(ours[base]), p.Quantity.Neg()),
				text: fmt.Sprintf("the venue holds %s %s, and the trades that are known make %s", theirs[base], base, ours[base]),
			})
			ours[base] = theirs[base] // told once
		}
	}
	return found
}

// accept writes down the differences of positions that were there before as
// adjustments, and returns the others.
func (w *writer) accept(found []difference) []difference {
	var left []difference
	for _, d := range found {
		quote, ok := w.cfg.Market.LastQuote(d.symbol)
		if d.symbol.IsZero() || w.census.doubts[d.subject] != d.what || !ok || !w.adjust(d.symbol, d.add, quote.Last) {
			left = append(left, d)
		}
	}
	return left
}

// adjust changes a position by what no trade explains.
func (w *writer) adjust(s market.Symbol, quantity, price decimal.Decimal) bool {
	now := w.now()
	err := w.commit(w.service(), order.Event{Kind: order.KindAdjusted, At: now, Adjustment: &order.Adjustment{Symbol: s, Quantity: quantity, Price: price}})
	if err != nil {
		return false
	}
	w.cfg.Log.WarnContext(w.hard, "a position was adjusted to the venue's", "symbol", s.String(), "quantity", quantity.String(), "price", price.String())
	return true
}

// takeOver makes positions of what an account holds when it is traded on for the
// first time, where the venue counts positions.
func (w *writer) takeOver(a answer) {
	for _, h := range a.holdings {
		if quote, ok := a.quotes[h.Symbol]; ok && w.adjust(h.Symbol, h.Quantity, quote.Last) {
			// The trades up to here are in the position as it was found.
			w.census.cursors[h.Symbol.String()] = a.newest[h.Symbol]
			w.saveCursors()
		}
	}
}

// takeFills takes the trades of the account since the cursors, or, anew, all that
// the venue has. It reports whether that was all of them. Of those that are read anew
// the old ones may be of orders that are no longer in memory; should one of them not
// have been counted, positions differ, and the owner has just accepted the venue's.
func (w *writer) takeFills(all map[market.Symbol][]order.Fill, anew bool) (complete bool) {
	moved := false
	complete = true
	for s, fills := range all {
		taken := true
		var strangers []order.Fill
		for _, f := range fills {
			switch {
			case w.knows(f):
				taken = w.takeFill(f) && taken
			case f.At.Before(w.begin(s)): // this account was not traded on here
			case anew && !f.At.After(w.book.EvictedThrough().Add(beginEarly)):
			default:
				strangers = append(strangers, f)
			}
		}
		taken = w.takeStrangers(strangers) && taken
		complete = complete && taken
		cursor := ""
		if n := len(fills); n > 0 {
			cursor = fills[n-1].TradeID
		}
		if taken && (len(fills) > 0 || anew) && w.census.cursors[s.String()] != cursor {
			w.census.cursors[s.String()] = cursor
			moved = true
		}
	}
	if moved {
		w.saveCursors()
	}
	return complete
}

// begin returns from when on the trades in a symbol count: from when its position
// was taken from the venue, or from its first order.
func (w *writer) begin(s market.Symbol) time.Time {
	if t, ok := w.census.since[s.String()]; ok {
		return t
	}
	first := w.book.Position(s).Updated
	for _, o := range w.book.Orders() {
		if early := o.Created.Add(-beginEarly); o.Symbol == s && (first.IsZero() || early.Before(first)) {
			first = early
		}
	}
	w.census.since[s.String()] = first
	return first
}

// beginEarly makes up for clocks that differ.
const beginEarly = time.Minute

// knows reports whether a trade is of an order in the book.
func (w *writer) knows(f order.Fill) bool {
	_, ok := w.reported(f.OrderID, f.Symbol, f.VenueID)
	return ok
}

// mayBeOurs reports whether a trade of an order that is not known may be of one of
// ours, whose own number the venue has not told yet.
func (w *writer) mayBeOurs(f order.Fill) bool {
	return slices.ContainsFunc(w.book.Open(), func(o order.Order) bool {
		return o.VenueID == "" && o.Symbol == f.Symbol && o.Side == f.Side && !o.External
	})
}

// takeFill takes one trade of an order that is known. It reports false when that
// could not be persisted.
func (w *writer) takeFill(f order.Fill) bool {
	o, _ := w.reported(f.OrderID, f.Symbol, f.VenueID)
	if slices.ContainsFunc(o.Fills, func(known order.Fill) bool { return known.TradeID == f.TradeID && known.Side == f.Side }) {
		return true
	}
	if o.External && o.Remaining().LessThan(f.Quantity) {
		return w.takeForeign([]order.Fill{f}) // it was made up from trades, and there are more of them
	}
	f.OrderID = o.ID
	e := order.Event{Kind: order.KindFill, OrderID: o.ID, VenueID: f.VenueID, At: w.now(), VenueAt: f.At, Fill: &f}
	if _, err := order.Apply(o, e); err != nil {
		w.keep(o, w.event(o, order.KindDoubted, err.Error()))
		return true
	}
	return w.commit(w.service(), e) == nil
}

// strangerWait is how long the trades of an order that is not known wait for a
// report that tells what order that is.
const strangerWait = 10 * time.Second

// takeStrangers takes the trades of orders that are not known. It reports false
// when some could not be persisted, or when it cannot be told yet whose they are.
func (w *writer) takeStrangers(fills []order.Fill) bool {
	byOrder := make(map[string][]order.Fill)
	all := true
	for _, f := range fills {
		early := w.census.flows && w.cfg.Now().Sub(f.At) < strangerWait
		if early || w.mayBeOurs(f) {
			all = false
			continue
		}
		key := f.VenueID + " " + f.Side.String()
		byOrder[key] = append(byOrder[key], f)
	}
	for _, key := range slices.Sorted(maps.Keys(byOrder)) {
		all = w.takeForeign(byOrder[key]) && all
	}
	return all
}

// takeForeign makes an order of trades whose order was placed elsewhere and is not
// known. It is as large as they are together.
func (w *writer) takeForeign(fills []order.Fill) bool {
	now, first := w.now(), fills[0]
	g := order.Origin{
		Spec:   order.Spec{ID: id.New(w.cfg.Now()), Owner: w.cfg.Owner, Symbol: first.Symbol, Side: first.Side, Type: order.Market},
		Broker: w.cfg.Broker.Name(), Mode: w.cfg.Broker.Mode(), External: true,
	}
	events := make([]order.Event, 0, 1+len(fills))
	events = append(events, order.Event{Kind: order.KindCreated, OrderID: g.ID, At: now, VenueAt: first.At, VenueID: first.VenueID, Origin: &g})
	for _, f := range fills {
		f.OrderID = g.ID
		g.Quantity = g.Quantity.Add(f.Quantity)
		events = append(events, order.Event{Kind: order.KindFill, OrderID: g.ID, VenueID: f.VenueID, At: now, VenueAt: f.At, Fill: &f})
	}
	return w.commit(w.service(), events...) == nil
}
