package desk

import (
	"context"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/internal/market"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// view is the account at one moment, for everyone to read. It does not change.
type view struct {
	open       []order.Order
	positions  []order.Position
	feesInBase map[market.Symbol]decimal.Decimal // fees in what is held
	status     Status
}

// Status is what is known of a desk.
type Status struct {
	Broker     string      `json:"Broker"`
	Mode       order.Mode  `json:"Mode"`
	State      guard.State `json:"State"`
	Open       int         `json:"Open"`      // orders
	Uncertain  int         `json:"Uncertain"` // of them, those whose fate is being found out
	Connected  bool        `json:"Connected"` // the venue's reports flow
	Reconciled bool        `json:"Compared"`  // with the venue since the start
}

// quoteTimeout is how long a list of positions waits for prices.
const quoteTimeout = 5 * time.Second

// publish lets everyone read the account as it is.
func (l *loop) publish() {
	v := &view{open: l.book.Open(), positions: l.book.Positions(), feesInBase: make(map[market.Symbol]decimal.Decimal)}
	for _, p := range v.positions {
		if fee, ok := p.Fees[l.instruments[p.Symbol].Base]; ok && p.Side() != 0 {
			v.feesInBase[p.Symbol] = fee
		}
	}
	v.status = Status{
		Broker: l.cfg.Broker.Name(), Mode: l.cfg.Broker.Mode(), State: l.state, Open: len(v.open),
		Connected: l.reconciliation.streamUp, Reconciled: l.reconciliation.succeededOnce,
	}
	for _, o := range v.open {
		if o.Status == order.Uncertain {
			v.status.Uncertain++
		}
	}
	l.view.Store(v)
}

// Status returns what is known now.
func (d *Desk) Status() Status { return d.view.Load().status }

// OpenByStatus counts the open orders.
func (d *Desk) OpenByStatus() map[order.Status]int {
	count := make(map[order.Status]int)
	for _, o := range d.view.Load().open {
		count[o.Status]++
	}
	return count
}

// Orders lists the caller's orders, newest first: the open ones, or the newest of
// all.
func (d *Desk) Orders(ctx context.Context, caller principal.Caller, openOnly bool) ([]order.Order, error) {
	if _, err := d.authorize(caller); err != nil {
		return nil, err
	}
	if openOnly {
		return slices.Clone(d.view.Load().open), nil
	}
	var all []order.Order
	err := d.do(ctx, func(l *loop) { all = l.book.Newest(maxListed) })
	return all, err
}

// Positions lists the caller's open positions with what they trade at. Prices that
// are not known yet, as after a start, are read, within a few seconds in all.
func (d *Desk) Positions(ctx context.Context, caller principal.Caller) ([]order.PricedPosition, error) {
	if _, err := d.authorize(caller); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, quoteTimeout)
	defer cancel()
	v := d.view.Load()
	var all []order.PricedPosition
	for _, p := range v.positions {
		marked := order.PricedPosition{Position: p, FeesInBase: v.feesInBase[p.Symbol], Mode: v.status.Mode}
		if marked.NetQuantity().IsZero() {
			continue // of what fees took nothing is there
		}
		quote, known := d.cfg.Market.LastQuote(p.Symbol)
		if !known {
			quote, _ = d.cfg.Market.Quote(ctx, p.Symbol) // without a price the position still is
		}
		marked.Quote = quote
		all = append(all, marked)
	}
	return all, nil
}

// InSymbol lists the orders of the caller's in one symbol that are open or have traded,
// newest first, and the position in it, with the price as far as it is known. It is
// for charts.
func (d *Desk) InSymbol(ctx context.Context, caller principal.Caller, s market.Symbol) ([]order.Order, order.PricedPosition, error) {
	all, err := d.Orders(ctx, caller, false)
	if err != nil {
		return nil, order.PricedPosition{}, err
	}
	all = slices.DeleteFunc(all, func(o order.Order) bool { return o.Symbol != s || o.Status.Final() && o.Filled.IsZero() })
	v := d.view.Load()
	marked := order.PricedPosition{Position: order.Position{Symbol: s}, FeesInBase: v.feesInBase[s], Mode: v.status.Mode}
	marked.Quote, _ = d.cfg.Market.LastQuote(s) // zero when it is not known
	for _, p := range v.positions {
		if p.Symbol == s {
			marked.Position = p
		}
	}
	return all, marked, nil
}
