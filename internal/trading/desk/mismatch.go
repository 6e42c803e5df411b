package desk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/id"
	"candela/internal/trading/broker"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// mismatch is a difference between the account's records and the venue's.
type mismatch struct {
	subject     string
	fingerprint string // equal while the mismatch is the same
	message     string
	// For positions: adding adjustment makes ours equal to the venue's.
	symbol     market.Symbol
	adjustment decimal.Decimal
}

// mismatches compares orders and holdings with the venue state.
func (l *loop) mismatches(a venueState) []mismatch {
	if len(a.lostCursors) > 0 {
		return resetMismatches(a) // after a reset nothing else is comparable
	}
	found := l.orderMismatches(a)
	if l.cfg.AssetBalances {
		return append(found, l.assetMismatches(a.holdings)...)
	}
	return append(found, l.positionMismatches(a.holdings)...)
}

func (l *loop) orderMismatches(a venueState) []mismatch {
	var found []mismatch
	for _, r := range slices.Concat(a.open, slices.Collect(maps.Values(a.orders))) {
		o, ok := l.findOrder(r.ID, r.Symbol, r.VenueID)
		if !ok || l.inFlight[o.ID] || o.NeedsQuery() {
			continue // not in the book, or being queried
		}
		if text := order.Disagreement(o, r); text != "" {
			found = append(found, mismatch{subject: "order " + o.ID, fingerprint: text, message: text})
		}
	}
	return found
}

// positionMismatches is for venues that report positions by symbol, which must be equal.
func (l *loop) positionMismatches(holdings []order.Holding) []mismatch {
	theirs := make(map[market.Symbol]decimal.Decimal)
	for _, h := range holdings {
		if !h.Symbol.IsZero() {
			theirs[h.Symbol] = theirs[h.Symbol].Add(h.Quantity)
		}
	}
	for _, p := range l.book.Positions() {
		if _, there := theirs[p.Symbol]; !there {
			theirs[p.Symbol] = decimal.Zero
		}
	}
	var found []mismatch
	for s, quantity := range theirs {
		held := l.book.Position(s).Held(l.instruments[s].Base)
		if !held.Equal(quantity) {
			found = append(found, mismatch{
				subject: s.String(), fingerprint: quantity.Sub(held).String(), symbol: s, adjustment: quantity.Sub(held),
				message: fmt.Sprintf("the venue holds %s of %s, the known trades sum to %s", quantity, s, held),
			})
		}
	}
	slices.SortFunc(found, func(a, b mismatch) int { return cmp.Compare(a.subject, b.subject) })
	return found
}

// assetMismatches is for venues with asset balances, which may exceed what was traded here.
func (l *loop) assetMismatches(holdings []order.Holding) []mismatch {
	theirs, ours := make(map[string]decimal.Decimal), make(map[string]decimal.Decimal)
	for _, h := range holdings {
		theirs[h.Asset] = theirs[h.Asset].Add(h.Quantity)
	}
	positions := l.book.Positions()
	for _, p := range positions {
		inst := l.instruments[p.Symbol]
		ours[inst.Base] = ours[inst.Base].Add(p.Quantity)
		ours[inst.Quote] = ours[inst.Quote].Add(p.Cash())
		for asset, fee := range p.FeesBeside() {
			ours[asset] = ours[asset].Sub(fee)
		}
	}
	var found []mismatch
	for _, p := range positions {
		base := l.instruments[p.Symbol].Base
		if p.Quantity.IsPositive() && base != "" && theirs[base].LessThan(ours[base]) {
			found = append(found, mismatch{
				subject: base, fingerprint: theirs[base].Sub(ours[base]).String(), symbol: p.Symbol, adjustment: decimal.Max(theirs[base].Sub(ours[base]), p.Quantity.Neg()),
				message: fmt.Sprintf("the venue holds %s %s, the known trades sum to %s", theirs[base], base, ours[base]),
			})
			ours[base] = theirs[base] // reported once
		}
	}
	return found
}

// acceptMismatches adjusts positions whose mismatch was found before and returns the rest.
func (l *loop) acceptMismatches(found []mismatch) []mismatch {
	var left []mismatch
	for _, d := range found {
		quote, ok := l.cfg.Market.LastQuote(d.symbol)
		if d.symbol.IsZero() || l.reconciliation.lastMismatches[d.subject] != d.fingerprint || !ok || !l.adjust(d.symbol, d.adjustment, quote.Last) {
			left = append(left, d)
		}
	}
	return left
}

// adjust records a change of a position that no trade explains.
func (l *loop) adjust(s market.Symbol, quantity, price decimal.Decimal) bool {
	now := l.now()
	err := l.commit(l.systemCaller(), order.Event{Kind: order.KindAdjusted, At: now, Adjustment: &order.Adjustment{Symbol: s, Quantity: quantity, Price: price}})
	if err != nil {
		return false
	}
	l.cfg.Log.WarnContext(l.drainCtx, "position adjusted", "symbol", s.String(), "quantity", quantity.String(), "price", price.String())
	return true
}

// importHoldings creates positions from holdings at the first use of an account.
func (l *loop) importHoldings(a venueState) {
	for _, h := range a.holdings {
		if quote, ok := a.quotes[h.Symbol]; ok && l.adjust(h.Symbol, h.Quantity, quote.Last) {
			// The imported position includes the trades up to here.
			l.reconciliation.cursors[h.Symbol.String()] = a.newest[h.Symbol]
			l.saveCursors()
		}
	}
}

// applyFills applies the trades after the cursors, or with all set every trade that the
// venue has. It reports whether it applied all of them. When all are read, old ones may
// belong to orders that are no longer in memory. If one of those was never counted,
// positions differ and the owner has just accepted the venue's.
func (l *loop) applyFills(a venueState, restarted bool) (complete bool) {
	moved := false
	complete = true
	for s, fills := range a.fills {
		taken := l.applyInOrder(s, fills, restarted)
		complete = complete && taken
		if cursor := a.cursors[s]; taken && l.reconciliation.cursors[s.String()] != cursor {
			l.reconciliation.cursors[s.String()] = cursor
			moved = true
		}
	}
	if moved {
		l.saveCursors()
	}
	return complete
}

// applyInOrder applies the trades of a symbol in the order in which the venue has them: what closes a position
// shortens other lines after a purchase than before it. It reports false if some could not be stored or may
// still be matched. Where the venue closed the position by itself there is no order of ours to wait for.
func (l *loop) applyInOrder(s market.Symbol, fills []order.Fill, restarted bool) (complete bool) {
	complete = true
	recorded := make(map[string]bool)
	for i, f := range fills {
		key := f.VenueID + " " + f.Side.String()
		early := l.reconciliation.streamUp && l.cfg.Now().Sub(f.At) < unmatchedGrace
		switch {
		case recorded[key]:
		case l.hasOrderFor(f):
			complete = l.applyFill(f) && complete
		case f.At.Before(l.countFillsFrom(s)): // before the account was used here
		case restarted && !f.At.After(l.book.EvictedThrough().Add(clockTolerance)):
		case f.Cause == "" && (early || l.mayBeOwn(f)):
			complete = false
		default:
			recorded[key] = true
			complete = l.recordExternalFills(slices.DeleteFunc(slices.Clone(fills[i:]), func(other order.Fill) bool {
				return other.VenueID != f.VenueID || other.Side != f.Side
			})) && complete
		}
	}
	return complete
}

// countFillsFrom returns when trades in a symbol begin to count: its import or first order.
func (l *loop) countFillsFrom(s market.Symbol) time.Time {
	if t, ok := l.reconciliation.countFrom[s.String()]; ok {
		return t
	}
	first := l.book.Position(s).Updated
	for _, o := range l.book.Orders() {
		if early := o.Created.Add(-clockTolerance); o.Symbol == s && (first.IsZero() || early.Before(first)) {
			first = early
		}
	}
	l.reconciliation.countFrom[s.String()] = first
	return first
}

// clockTolerance allows for clock differences.
const clockTolerance = time.Minute

// hasOrderFor reports whether the book has the order of a trade.
func (l *loop) hasOrderFor(f order.Fill) bool {
	_, ok := l.findOrder(f.OrderID, f.Symbol, f.VenueID)
	return ok
}

// mayBeOwn reports whether a trade may belong to an own order without a venue ID, or to one that the venue made of
// an own stop.
func (l *loop) mayBeOwn(f order.Fill) bool {
	return slices.ContainsFunc(l.book.Open(), func(o order.Order) bool {
		return unnamed(o, f.Symbol, f.Side) || l.mayBeChild(o, f.Symbol, f.Side, f.At)
	})
}

// applyFill applies a trade of a known order. It reports false if it could not be stored.
func (l *loop) applyFill(f order.Fill) bool {
	o, _ := l.findOrder(f.OrderID, f.Symbol, f.VenueID)
	if slices.ContainsFunc(o.Fills, func(known order.Fill) bool { return known.TradeID == f.TradeID && known.Side == f.Side }) {
		return true
	}
	if o.External && o.Remaining().LessThan(f.Quantity) {
		return l.recordExternalFills([]order.Fill{f}) // the order was built from trades, and this is another one
	}
	f.OrderID = o.ID
	e := order.Event{Kind: order.KindFill, OrderID: o.ID, VenueID: f.VenueID, At: l.now(), VenueAt: f.At, Fill: &f}
	if _, err := order.Apply(o, e); err != nil {
		l.commitReport(o, l.event(o, order.KindDoubted, err.Error()))
		return true
	}
	return l.commit(l.systemCaller(), e) == nil
}

// unmatchedGrace is how long a trade waits for the report of its order.
const unmatchedGrace = 10 * time.Second

// recordExternalFills records an external order whose quantity is the sum of the trades.
func (l *loop) recordExternalFills(fills []order.Fill) bool {
	now, first := l.now(), fills[0]
	g := order.Origin{
		Spec:   order.Spec{ID: id.New(l.cfg.Now()), Owner: l.cfg.Owner, Symbol: first.Symbol, Side: first.Side, Type: order.Market},
		Broker: l.cfg.Broker.Name(), Mode: l.cfg.Broker.Mode(), External: true,
	}
	events := make([]order.Event, 0, 1+len(fills))
	events = append(events, order.Event{Kind: order.KindCreated, OrderID: g.ID, At: now, VenueAt: first.At, VenueID: first.VenueID, Origin: &g})
	for _, f := range fills {
		f.OrderID = g.ID
		g.Quantity = g.Quantity.Add(f.Quantity)
		events = append(events, order.Event{Kind: order.KindFill, OrderID: g.ID, VenueID: f.VenueID, At: now, VenueAt: f.At, Fill: &f})
	}
	return l.commit(l.systemCaller(), events...) == nil
}

// A venue may reset an account, as testnets do about once a month, and reuse order and
// trade numbers. The reset is detected when the last known trade is missing. Trading
// stays restricted until the owner accepts the reset with Resume. The book then
// continues with the orders that the venue still has.

// resetMismatches returns a mismatch for each cursor that the venue no longer has.
func resetMismatches(a venueState) []mismatch {
	found := make([]mismatch, 0, len(a.lostCursors))
	for s, cursor := range a.lostCursors {
		found = append(found, mismatch{
			subject: s.String(), fingerprint: "trade " + string(cursor) + " lost",
			message: fmt.Sprintf("the venue no longer has trade %s in %s: it was reset, as testnets are. candela resume accepts the reset", cursor, s),
		})
	}
	slices.SortFunc(found, func(a, b mismatch) int { return strings.Compare(a.subject, b.subject) })
	return found
}

// errTooRecent delays the acceptance of a reset.
var errTooRecent = errors.New("a recent order is missing; the time of the venue reset is not yet known")

// explainDelay says that a reset is accepted later, if an order is so young that the venue may
// not show it yet. Accepting goes on by itself.
func (l *loop) explainDelay(now time.Time) {
	for _, o := range l.book.Newest(maxListed) {
		known := o.Created.Add(notFoundGrace)
		if o.External || o.VenueID == "" || !now.Before(known) {
			continue
		}
		text := fmt.Sprintf("the venue was reset, as testnets are. Order %s is less than a minute old, so whether the venue lost it too is known at %s; the reset is accepted then", o.ID, known.UTC().Format(time.TimeOnly+" UTC"))
		l.setState(l.systemCaller(), l.state.WithReason(guard.Mismatch, text))
		return
	}
}

// fetchSurvivors returns the IDs of the orders that survived a reset. Orders placed before
// a missing one are gone, too.
func (q venueQuery) fetchSurvivors(ctx context.Context) ([]string, error) {
	var kept []string
	for _, o := range q.submitted {
		_, err := q.broker.Query(ctx, o.Handle())
		switch {
		case err == nil:
			kept = append(kept, o.ID)
		case !errors.Is(err, broker.ErrNotFound):
			return nil, err
		case q.startedAt.Sub(o.Created) < notFoundGrace:
			return nil, errTooRecent // the venue's reads may lag behind its reports
		default:
			return kept, nil
		}
	}
	return kept, nil
}

// resetAccount closes all orders that did not survive a reset and starts the book with
// the others. It reports false if that could not be stored.
func (l *loop) resetAccount(q venueQuery, kept []string) bool {
	const reason = "lost in a venue reset"
	has := make(map[string]bool, len(kept))
	for _, id := range kept {
		has[id] = true
	}
	var events []order.Event
	now := l.now()
	for _, o := range l.book.Orders() {
		switch {
		case has[o.ID]:
		case o.VenueID == "" && !o.Status.Final(), !o.External && !o.Created.Before(q.startedAt):
			kept = append(kept, o.ID) // its outcome is being queried
		case !o.Status.Final() || o.NeedsQuery():
			events = append(events, l.event(o, order.KindGone, reason)...)
		}
	}
	events = append(events, order.Event{Kind: order.KindVenueReset, At: now, Survivors: kept, Reason: "the owner accepted the venue reset"})
	if err := l.commit(l.systemCaller(), events...); err != nil {
		return false
	}
	l.cfg.Log.WarnContext(l.drainCtx, "venue reset accepted", "orders", len(kept))
	clear(l.reconciliation.cursors)
	l.saveCursors()
	next := l.state
	next.Day = guard.Day{}
	l.setState(l.systemCaller(), next)
	return true
}
