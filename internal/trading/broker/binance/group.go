package binance

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	rules "candela/internal/data/provider/binance"
	"candela/internal/kit/strictjson"
	"candela/internal/trading/order"
	"candela/internal/trading/venue"
	"candela/lib/fault"
)

// list is a group of orders as it is sent: a pair (OCO), an entry with legs that the venue
// sizes by what the entry bought (OPO, OPOCO), or one with legs of a given size (OTO, OTOCO).
type list struct {
	name    string // of the endpoint
	id      string // of the list
	spelled string
	orders  []order.Spec // as they are sent, in the caller's sequence
	params  url.Values
}

// SubmitGroup sends a pair, or an entry and its legs, as one list. See broker.Broker. The
// venue judges the legs of an entry when that is filled.
func (b *Broker) SubmitGroup(ctx context.Context, orders []order.Spec) ([]order.Report, error) {
	l, err := b.compose(ctx, orders)
	if err != nil {
		return nil, venue.NotSent(err)
	}
	reports, err := place(ctx, b, "/api/v3/orderList/"+l.name, orders[0], l.params, func(body []byte) ([]order.Report, error) { return parseList(body, l) })
	if err != nil {
		return nil, err
	}
	for i := range reports {
		reports[i].Group = orders[i].Group
	}
	if orders[0].Type != l.orders[0].Type {
		reports[0].SentAs = sentAs(l.orders[0])
	}
	b.readLegs(ctx, orders, reports)
	return reports, nil
}

// legsWait is how long the report of a filled entry waits for those of its legs.
const legsWait = 2 * time.Second

// readLegs asks for the legs of an entry that was filled at once: the answer has them as
// they were before. Where that fails, the stream and the next reconciliation have them.
func (b *Broker) readLegs(ctx context.Context, orders []order.Spec, reports []order.Report) {
	ctx, cancel := context.WithTimeout(ctx, legsWait)
	defer cancel()
	for i := 1; i < len(reports) && reports[0].Status == order.Filled; i++ {
		if reports[i].Status != order.Held {
			continue
		}
		if r, err := b.Query(ctx, orders[i].Handle()); err == nil {
			reports[i] = r
		}
	}
}

// sentAs describes how a market entry was sent.
func sentAs(o order.Spec) string {
	return fmt.Sprintf("limit %s %s", o.Price, strings.ToLower(forces().Write(o.TimeInForce)))
}

// compose returns the list to send. Its error is about orders that are not sent.
func (b *Broker) compose(ctx context.Context, orders []order.Spec) (list, error) {
	if err := checkGroup(orders); err != nil {
		return list{}, err
	}
	spelled, err := rules.Spell(orders[0].Symbol)
	if err != nil {
		return list{}, err
	}
	l := list{id: listID(orders[0].ID), spelled: spelled, orders: slices.Clone(orders)}
	l.params = url.Values{"symbol": {spelled}, "listClientOrderId": {l.id}, "newOrderRespType": {"FULL"}}
	if orders[0].Role == order.Entry {
		err = b.composeEntry(ctx, &l)
	} else {
		l.composePair()
	}
	return l, err
}

// listID returns the id of a list from that of its first order. The venue's documents call
// the ids of a list and of its orders distinct, so they differ.
func listID(head string) string {
	id := "g" + strings.ReplaceAll(head, "-", "")
	return id[:min(len(id), maxID)]
}

// composePair writes a target and its stop.
func (l *list) composePair() {
	l.name = "oco"
	l.params.Set("side", sides().Write(l.orders[0].Side))
	l.params.Set("quantity", l.orders[0].Quantity.String())
	l.putPair("above", "below", 0, 1)
}

// putPair writes two orders of which one is filled. A sale has its target above the price
// and its stop below, a purchase the other way round.
func (l *list) putPair(above, below string, target, stop int) {
	l.orders[target].PostOnly = true // the venue takes no other limit order there
	if l.orders[target].Side == order.Buy {
		above, below = below, above
	}
	l.put(above, target)
	l.put(below, stop)
}

// put writes one order. Those of a list share side and quantity with others.
func (l *list) put(prefix string, i int) {
	termsOf(l.orders[i]).put(l.params, prefix)
	l.params.Set(prefix+"ClientOrderId", l.orders[i].ID)
}

// composeEntry writes an entry and one or two legs.
func (b *Broker) composeEntry(ctx context.Context, l *list) error {
	f, err := b.features(ctx, l.orders[0].Symbol)
	if err != nil {
		return err
	}
	if l.orders[0], err = b.limited(ctx, l.orders[0]); err != nil {
		return err
	}
	entry, legs := l.orders[0], l.orders[1:]
	l.put("working", 0)
	l.params.Set("workingSide", sides().Write(entry.Side))
	l.params.Set("workingQuantity", entry.Quantity.String())
	l.params.Set("pendingSide", sides().Write(legs[0].Side))
	l.name = "oto"
	if f.opo && entry.Side == order.Buy {
		l.name = "opo" // the venue sizes the legs
	} else {
		quantity, err := b.legQuantity(ctx, entry, l.spelled)
		if err != nil {
			return err
		}
		l.params.Set("pendingQuantity", quantity.String())
	}
	if len(legs) == 1 {
		l.put("pending", 1)
		return nil
	}
	l.name += "co"
	target, stop := 1, 2
	if legs[0].IsStop() {
		target, stop = 2, 1
	}
	l.putPair("pendingAbove", "pendingBelow", target, stop)
	return nil
}

// limited returns an entry as it is sent: the venue takes limit orders only, so one at
// market has its edge as the limit, on the tick, and is filled at once or not at all.
func (b *Broker) limited(ctx context.Context, o order.Spec) (order.Spec, error) {
	if o.Type != order.Market {
		return o, nil
	}
	if !o.Edge.IsPositive() {
		return o, fault.Field("type", "market", "limit with price: binance takes no market order with legs, and no price is known to bound it")
	}
	inst, err := b.Instrument(ctx, o.Symbol)
	if err != nil {
		return o, err
	}
	o.Type, o.Price, o.TimeInForce = order.Limit, o.Edge, order.FOK
	if inst.Tick.IsPositive() {
		o.Price = o.Edge.Sub(o.Edge.Mod(inst.Tick))
		if o.Side == order.Sell && !o.Price.Equal(o.Edge) {
			o.Price = o.Price.Add(inst.Tick)
		}
	}
	return o, nil
}

// legQuantity returns the size of legs that the venue does not size: what the entry brings
// less its fee, down to the step.
func (b *Broker) legQuantity(ctx context.Context, entry order.Spec, spelled string) (decimal.Decimal, error) {
	if entry.Side != order.Buy {
		return entry.Quantity, nil // the fee is taken from the money
	}
	rate, err := b.feeRate(ctx, entry.Symbol, spelled)
	if err != nil {
		return decimal.Zero, err
	}
	inst, err := b.Instrument(ctx, entry.Symbol)
	if err != nil {
		return decimal.Zero, err
	}
	quantity := entry.Quantity.Sub(entry.Quantity.Mul(rate))
	if inst.Step.IsPositive() {
		quantity = quantity.Sub(quantity.Mod(inst.Step))
	}
	if !quantity.IsPositive() {
		return quantity, fault.Field("quantity", entry.Quantity.String(), "more: less the fee nothing is left for the legs")
	}
	return quantity, nil
}

// checkGroup refuses orders that are no pair and no entry with legs.
func checkGroup(orders []order.Spec) error {
	for i, o := range orders {
		if i == 0 && o.Type == order.Market {
			o.TimeInForce = 0 // it is sent as a limit order, so any is taken
		}
		if err := checkSpec(o); err != nil {
			return err
		}
	}
	return venue.CheckGroup(name, orders)
}

// parseList reads the answer to a list: a report of each order, returned in the list's
// sequence.
func parseList(data []byte, l list) ([]order.Report, error) {
	client, all, err := parseReports(data)
	if err != nil {
		return nil, err
	}
	if client != l.id || len(all) != len(l.orders) {
		return nil, fmt.Errorf("it is about another list: %s with %d orders", client, len(all))
	}
	reports := make([]order.Report, 0, len(all))
	for i, o := range l.orders {
		r, err := find(all, o.Handle(), l.spelled)
		if err != nil {
			return nil, err
		}
		// The venue sizes legs, or they were sent with less because of the fee.
		sized := i > 0 && l.orders[0].Role == order.Entry || r.Quantity.Equal(o.Quantity)
		if !termsOf(o).agrees(r) || !sized {
			return nil, fmt.Errorf("order %s is not what was asked for", o.ID)
		}
		reports = append(reports, r)
	}
	return reports, nil
}

// find returns the report of an order.
func find(all []order.Report, o order.Handle, spelled string) (order.Report, error) {
	for _, r := range all {
		if o.Names(r) {
			return matched(r, o, spelled)
		}
	}
	return order.Report{}, fmt.Errorf("order %s is not in it", o)
}

// parseReports reads the orders of a list.
func parseReports(data []byte) (client string, all []order.Report, err error) {
	all, err = venue.Parse(data, "a list", func(j *strictjson.Reader) (all []order.Report) {
		form.Object(j, "a list", venue.Members{"listClientOrderId": &client, "orderReports": func() { all = venue.Items(j, parseOrder) }})
		return all
	})
	return client, all, err
}

// parseCanceled reads the answer to a cancel: the order, or the list that ended with it.
func parseCanceled(data []byte, o order.Handle, spelled string) (order.Report, error) {
	if _, all, err := parseReports(data); err == nil && len(all) > 0 {
		return find(all, o, spelled)
	}
	return parseReport(data, o, spelled)
}
