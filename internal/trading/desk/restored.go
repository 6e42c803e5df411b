package desk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/id"
	"candela/internal/kit/principal"
	"candela/internal/trading/broker"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// Records that come from a backup lack what was placed since. The account is halted until the
// owner has seen what differs from the venue. The ID of an order with an idempotency key follows
// from the key, so that a repeat of such an order is found at the venue and not sent again.

// orderID returns the ID of an order: with a key always the same one of the account.
func (d *Desk) orderID(key string) string {
	if key == "" {
		return id.New(d.cfg.Now())
	}
	return id.Derived("order", string(d.cfg.Owner), d.cfg.Broker.Name(), string(d.cfg.Broker.Mode()), key)
}

// findAtVenue returns the order of a key that the venue has and the records of a restored
// account lack. The venue is asked before each order with a new key: it would take the ID of an
// order that is closed a second time, as Binance does.
func (d *Desk) findAtVenue(ctx context.Context, caller principal.Caller, r order.Request) (order.Placed, bool, error) {
	if r.Key == "" || r.DryRun || d.cfg.Simulated || d.Status().State.Restored.IsZero() {
		return order.Placed{}, false, nil
	}
	report, err := d.cfg.Broker.Query(ctx, r.Spec(d.orderID(r.Key), d.cfg.Owner).Handle())
	if errors.Is(err, broker.ErrNotFound) {
		return order.Placed{}, false, nil
	}
	if err != nil {
		return order.Placed{}, false, d.notSaid(err)
	}
	var m symbolMarket
	if r.Protects() && !r.ReduceOnly { // from which its legs follow
		if m, err = d.readMarket(ctx, r.Spec("", "")); err != nil {
			return order.Placed{}, false, err
		}
	}
	p, err := d.adopt(ctx, caller, r, report, m)
	return p, true, err
}

// notSaid is the error when the venue does not say what it has.
func (d *Desk) notSaid(err error) error {
	return fault.Unreachable(err, time.Second,
		"The records come from a backup, and %s does not say whether it has the order of this idempotency_key. Nothing was sent. Retry with the same key.", d.cfg.Broker.Name())
}

// adopt records an order that the venue has, and the legs of it that the venue or candela has.
func (d *Desk) adopt(ctx context.Context, caller principal.Caller, r order.Request, found order.Report, m symbolMarket) (order.Placed, error) {
	var t *callResult
	var orders []order.Origin
	recorded := false // in the backup
	if err := d.do(ctx, func(l *loop) {
		if t = l.resultForKey(r); t != nil {
			recorded = true
		} else {
			orders, t = l.adoptable(caller, r, found, m)
		}
		if t != nil {
			t = l.grouped(t)
		}
	}); err != nil {
		return order.Placed{}, err
	}
	if t == nil {
		orders, err := d.existing(ctx, orders)
		if err != nil {
			return order.Placed{}, err
		}
		if err := d.do(ctx, func(l *loop) { t = l.grouped(l.adopt(caller, r, orders, found)) }); err != nil {
			return order.Placed{}, err
		}
	}
	p, err := d.awaitSubmit(ctx, t)
	if err != nil || recorded {
		return p, err
	}
	var bare error
	err = d.do(ctx, func(l *loop) { bare = l.bareError(r, p.Order) })
	return p, cmp.Or(err, bare)
}

// existing returns an order that the venue has with those of its legs that exist: at the venue, or held here and never sent.
func (d *Desk) existing(ctx context.Context, orders []order.Origin) ([]order.Origin, error) {
	all := orders[:1]
	for _, leg := range orders[1:] {
		_, err := d.cfg.Broker.Query(ctx, leg.Handle())
		switch {
		case err == nil:
			leg.Holder = ""
		case !errors.Is(err, broker.ErrNotFound):
			return nil, d.notSaid(err)
		case leg.Holder == "":
			continue
		}
		all = append(all, leg)
	}
	return all, nil
}

// adoptable returns the orders of a request that the venue has and the records lack. It returns a result instead for one that a
// reconciliation has recorded, and for one whose trades an imported position has.
func (l *loop) adoptable(caller principal.Caller, r order.Request, found order.Report, m symbolMarket) ([]order.Origin, *callResult) {
	if found.Side != r.Side || !r.Sizing.SetsQuantity() && !found.Quantity.Equal(r.Quantity) {
		return nil, failed(fault.New(fault.Conflict, "idempotency_key_used",
			"idempotency_key %q was used for the order %s at %s (%v %v %v), which the records lack since a restore. Repeat that order exactly, or use a new key.",
			r.Key, found.ID, l.cfg.Broker.Name(), found.Side, found.Quantity, r.Symbol).About("idempotency_key", r.Key, "a key that was not used before"))
	}
	if o, ok := l.findOrder(found.ID, r.Symbol, found.VenueID); ok {
		return nil, &callResult{order: order.Placed{Order: o}, err: orderError(o), done: true}
	}
	r.Quantity = found.Quantity
	g, err := l.placedOrigin(caller, r, found, m)
	if err != nil {
		return nil, failed(err)
	}
	if found.Status.Final() && l.reconciliation.cursors[r.Symbol.String()] != "" {
		o := order.Order{Origin: g, Status: found.Status, VenueID: found.VenueID, Filled: found.Filled, Claimed: found.Filled, Reason: found.Reason, Created: found.At, Updated: found.At}
		return nil, &callResult{order: order.Placed{Order: o}, err: orderError(o), done: true}
	}
	return l.withLegs(g), nil
}

// adopt records an order that the venue has as if it had been sent without an answer, so that it
// and its legs are queried.
func (l *loop) adopt(caller principal.Caller, r order.Request, orders []order.Origin, found order.Report) *callResult {
	if t := l.resultForKey(r); t != nil {
		return t // a concurrent call with the same key was first
	}
	events := sentEvents(orders, l.now())
	for i := range orders {
		if g := &orders[i]; g.Departure() == order.KindSent {
			events = append(events, order.Event{Kind: order.KindLost, OrderID: g.ID, At: l.now(), Reason: "sent before the restore of a backup"})
		}
	}
	if err := l.commit(caller, events...); err != nil {
		return failed(persistError(err))
	}
	head, _ := l.book.Order(orders[0].ID)
	l.cfg.Log.WarnContext(l.drainCtx, "order of a restored account found at the venue", "order", head.ID, "venue_id", found.VenueID, "symbol", r.Symbol.String())
	l.applyQuery(head, found, nil)
	head, _ = l.book.Order(head.ID)
	return &callResult{order: order.Placed{Order: head}, waiter: l.addWaiter(head.ID, func(l *loop, o order.Order) bool { return submitFinished(l, o) && !o.MissingFills() })}
}

// placedOrigin returns the order of a request that the venue has, with the prices of its stop and target and their holder. Distances
// count from the price of the order; for one at market from its average price, and while no fill is known, from the last price.
func (l *loop) placedOrigin(caller principal.Caller, r order.Request, found order.Report, m symbolMarket) (order.Origin, error) {
	if !r.Protects() || r.ReduceOnly {
		return l.origin(caller, r), nil
	}
	l.learn(r.Symbol, m)
	facts, asked := l.facts(r.Symbol, r.Deployment, m), r
	if bought, cost := filledIn(found); bought.IsPositive() && r.Type == order.Market {
		asked.Type, asked.Price = order.Limit, cost.DivRound(bought, 8)
	}
	asked, err := guard.Levels(l.cfg.Policy, intent(l.origin(caller, asked)), asked, facts)
	if err != nil {
		return order.Origin{}, err
	}
	r.Protect, r.Sizing = asked.Protect, asked.Sizing
	g := l.origin(caller, r)
	g.Holder, _ = l.holder(intent(g), facts)
	return g, nil
}

// filledIn sums the fills of a report.
func filledIn(r order.Report) (quantity, cost decimal.Decimal) {
	for _, f := range r.Fills {
		quantity, cost = quantity.Add(f.Quantity), cost.Add(f.Quantity.Mul(f.Price))
	}
	return quantity, cost
}

// bareError is the error of a repeat whose first order bought something that has no stop since the restore, though
// it was asked for: the records lack it, and one that candela held is at no venue. nil if there is nothing to say.
func (l *loop) bareError(r order.Request, o order.Order) error {
	held := l.book.Position(r.Symbol).Quantity
	if !r.HasStop() || r.ReduceOnly || !o.Filled.IsPositive() || held.Sign() != int(r.Side.Sign()) {
		return nil
	}
	open := slices.DeleteFunc(l.book.Open(), func(o order.Order) bool { return o.Symbol != r.Symbol })
	bare := decimal.Min(o.Filled, order.WithoutStop(held, open))
	if !bare.IsPositive() {
		return nil
	}
	return fault.New(fault.Conflict, "restored_without_stop",
		"The order %s of this idempotency_key was filled before a backup was restored, and nothing was sent again. Its stop is not in the records: %v %v has none. Protect it now with reduce_only and stop_loss, and see get_positions.",
		o.ID, bare, r.Symbol).About("idempotency_key", r.Key, "a new key, for an order with reduce_only and stop_loss")
}

// recovers reports whether an order found at the venue was placed by candela after the backup
// that the account was restored from. Another candela at the same account could have placed it
// too, so that counts only until the owner has seen it and resumed.
func (l *loop) recovers(r order.Report) bool {
	if _, restored := l.state.Find(guard.Restored); !restored || !id.Valid(r.ID) {
		return false
	}
	_, err := l.cfg.Store.Order(l.drainCtx, l.cfg.Owner, r.ID)
	return fault.KindOf(err) == fault.NotFound
}

// confirmRestored reports whether a restored account may be resumed. If it differs from the
// venue, the first call puts that into the reason of the halt, and the second one confirms it.
func (l *loop) confirmRestored(by string) (bool, error) {
	restored, found := l.state.Find(guard.Restored)
	if !found || l.cfg.Simulated {
		return true, nil
	}
	name := l.cfg.Broker.Name()
	if !l.reconciliation.succeededOnce {
		return false, fault.New(fault.Conflict, "not_compared", "The account was restored and not yet compared with %s, so trading stays halted. Run candela resume again in a few seconds.", name)
	}
	differs := l.differences(restored.Since)
	reason := guard.RestoredReason(l.state.Restored) + ". Compared with " + name + ": " + strings.Join(differs, "; ") + ". Resume once more to accept this"
	if len(differs) == 0 || l.shownReason == reason {
		return true, nil
	}
	l.shownReason = reason
	l.setState(l.ownerCaller(by), l.state.WithReason(guard.Restored, reason))
	return false, nil
}

// maxDifferences is how many differences are named.
const maxDifferences = 20

// differences describes what the venue has and the records lacked when they were restored.
func (l *loop) differences(restored time.Time) []string {
	var all []string
	for _, o := range l.book.Orders() {
		if !o.External || o.Created.Before(restored) {
			continue
		}
		text := fmt.Sprintf("order %s, %v %v %v, %v, is not in the backup", o.ID, o.Side, o.Quantity, o.Symbol, o.Status)
		if o.Recovered {
			text += "; candela placed it"
		}
		all = append(all, text)
	}
	for _, r := range l.state.Restrictions {
		if r.Kind == guard.Mismatch {
			all = append(all, r.Reason)
		}
	}
	if more := len(all) - maxDifferences; more > 0 {
		all = append(all[:maxDifferences], fmt.Sprintf("and %d more, see candela status and the list of orders", more))
	}
	return all
}
