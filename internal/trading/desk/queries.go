package desk

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// view is an immutable snapshot of the account for concurrent readers.
type view struct {
	open      []order.Order
	positions []order.Position
	plans     map[market.Symbol][]order.Line
	gaps      gaps
	levels    levels
	status    Status
	policy    guard.Policy // in force
}

// Status describes a running desk.
type Status struct {
	Broker     string      `json:"Broker"`
	Mode       order.Mode  `json:"Mode"`
	State      guard.State `json:"State"`
	Open       int         `json:"Open"`              // open orders
	Uncertain  int         `json:"Uncertain"`         // open orders with an unknown outcome
	Pending    int         `json:"Pending,omitempty"` // orders that wait for the owner's approval; a group is one
	Connected  bool        `json:"Connected"`         // the report stream is connected
	Reconciled bool        `json:"Compared"`          // since the start

	HaltedOwners int               `json:"HaltedOwners,omitempty"` // of many, those whom the operator has halted one by one
	Halted       []principal.Owner `json:"Halted,omitempty"`       // the first MaxHalted of them
}

// MaxHalted limits the halted owners that a status names.
const MaxHalted = 20

// quoteTimeout limits how long Positions waits for prices.
const quoteTimeout = 5 * time.Second

// publish replaces the view.
func (l *loop) publish() {
	v := &view{open: l.book.Open(), positions: l.book.Positions(), plans: make(map[market.Symbol][]order.Line), gaps: l.protector.gaps, levels: l.shownLevels(), policy: l.cfg.Policy}
	v.levels.show(v.open)
	for _, s := range l.book.Planned() {
		v.plans[s] = l.lines(s)
	}
	v.status = Status{
		Broker: l.cfg.Broker.Name(), Mode: l.cfg.Broker.Mode(), State: l.state, Open: len(v.open),
		Connected: l.reconciliation.streamUp, Reconciled: l.reconciliation.succeededOnce,
	}
	v.status.Pending = len(pendingOf(v.open))
	for _, o := range v.open {
		if o.Status == order.Uncertain {
			v.status.Uncertain++
		}
	}
	l.view.Store(v)
}

// SetPolicy puts another policy in force. Every decision after it returns uses it; what was
// decided before stays. After an error the old one is in force.
func (d *Desk) SetPolicy(ctx context.Context, p guard.Policy) error {
	return d.do(ctx, func(l *loop) {
		l.usePolicy(p)
		l.protector.changed = true
		l.publish()
	})
}

// usePolicy puts a policy in force.
func (l *loop) usePolicy(p guard.Policy) {
	l.cfg.Policy = p
	_, l.policyHash, _ = guard.Canonical(p) // "" says that it is not known
}

// Status returns the current status.
func (d *Desk) Status() Status { return d.view.Load().status }

// OpenByStatus counts the open orders by status.
func (d *Desk) OpenByStatus() map[order.Status]int {
	count := make(map[order.Status]int)
	for _, o := range d.view.Load().open {
		count[o.Status]++
	}
	return count
}

// Orders lists the caller's orders, newest first: the open ones, or these and the newest of the
// others. A deployment gets its own of these.
func (d *Desk) Orders(ctx context.Context, caller principal.Caller, openOnly bool) ([]order.Order, error) {
	if _, err := d.authorize(caller); err != nil {
		return nil, err
	}
	if openOnly {
		return slices.Clone(d.view.Load().open), nil
	}
	var all []order.Order
	own, deployment := strings.CutPrefix(caller.Key, deploymentKey(""))
	err := d.do(ctx, func(l *loop) {
		if all = nil; deployment {
			all = l.book.NewestOf(maxListed, own)
		} else {
			all = l.book.Newest(maxListed)
		}
	})
	listed := make(map[string]bool, len(all))
	for i := range all {
		listed[all[i].ID] = true
	}
	for _, o := range d.view.Load().open {
		if !listed[o.ID] && (!deployment || o.Deployment == own) {
			all = append(all, o) // older than all others
		}
	}
	d.view.Load().levels.show(all)
	return all, err
}

// OrderPage returns a part of the list of all the caller's orders, or one order. What is no longer
// in memory is read from the store.
func (d *Desk) OrderPage(ctx context.Context, caller principal.Caller, q order.Query) (order.Page, error) {
	if _, err := d.authorize(caller); err != nil {
		return order.Page{}, err
	}
	var p order.Page
	var evicted bool
	if err := d.do(ctx, func(l *loop) { p, evicted = l.page(q) }); err != nil {
		return order.Page{}, err
	}
	if evicted {
		if err := d.addStored(ctx, &p, q); err != nil {
			return order.Page{}, err
		}
	}
	d.view.Load().levels.show(p.Orders)
	return p, nil
}

// page returns what memory has of a page, and whether the store may have more.
func (l *loop) page(q order.Query) (p order.Page, evicted bool) {
	p.Replaced = make(map[string]string)
	since := l.book.EvictedBefore()
	if q.ID != "" {
		o, ok := l.book.Order(q.ID)
		if p.Orders = []order.Order{o}; !ok {
			p.Orders, evicted = nil, true
		}
	} else {
		p.Orders, p.Left = l.book.List(q.After, min(q.Most, maxListed))
		evicted = !since.IsZero()
		if i := slices.IndexFunc(p.Orders, func(o order.Order) bool { return evicted && !o.Created.After(since) }); i >= 0 {
			p.Orders = p.Orders[:i] // some of those that follow may be missing here
		}
	}
	for _, o := range p.Orders {
		if by := l.book.ReplacedBy(o.ID); by != "" {
			p.Replaced[o.ID] = by
		}
	}
	return p, evicted
}

// addStored adds what the store has of a page.
func (d *Desk) addStored(ctx context.Context, p *order.Page, q order.Query) error {
	if q.ID != "" {
		o, err := d.cfg.Store.Order(ctx, d.cfg.Owner, q.ID)
		p.Orders = []order.Order{o}
		return err
	}
	after := q.After
	if n := len(p.Orders); n > 0 {
		after = p.Orders[n-1].Mark()
	}
	more, left, err := d.cfg.Store.ListOrders(ctx, d.cfg.Owner, after, min(q.Most, maxListed)-len(p.Orders))
	p.Orders, p.Left = append(p.Orders, more...), left
	maps.Copy(p.Replaced, order.Replacements(p.Orders))
	return err
}

// Positions lists the caller's open positions and reads prices that are unknown.
func (d *Desk) Positions(ctx context.Context, caller principal.Caller) ([]order.PricedPosition, error) {
	if _, err := d.authorize(caller); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, quoteTimeout)
	defer cancel()
	v := d.view.Load()
	var all []order.PricedPosition
	for _, p := range v.positions {
		marked := order.PricedPosition{Position: p, Plan: v.plans[p.Symbol], Gaps: v.gaps.at(p.Symbol, d.cfg.Now()), Mode: v.status.Mode}
		held := p.Quantity
		if held.IsZero() {
			continue
		}
		marked.Protected = held.Abs().Sub(order.WithoutStop(held, slices.DeleteFunc(slices.Clone(v.open), func(o order.Order) bool { return o.Symbol != p.Symbol })))
		quote, known := d.cfg.Market.LastQuote(p.Symbol)
		if !known {
			quote, _ = d.cfg.Market.Quote(ctx, p.Symbol) // a position without a price is listed too
		}
		marked.Quote = quote
		all = append(all, marked)
	}
	d.addMargins(ctx, all)
	return all, nil
}

// addMargins adds what stands behind positions in perpetual futures, where the venue says it now.
func (d *Desk) addMargins(ctx context.Context, all []order.PricedPosition) {
	if !slices.ContainsFunc(all, func(p order.PricedPosition) bool { _, named := p.Symbol.Pair(); return named }) {
		return
	}
	holdings, err := d.balances(ctx)
	if err != nil {
		d.cfg.Log.WarnContext(ctx, "balances failed", "error", err)
		return
	}
	for i := range all {
		all[i].Margin = guard.MarginOf(holdings, all[i].Symbol)
	}
}

// InSymbol lists the caller's orders in one symbol that are open or have fills, newest
// first, and the position in it with the last price.
func (d *Desk) InSymbol(ctx context.Context, caller principal.Caller, s market.Symbol) ([]order.Order, order.PricedPosition, error) {
	all, err := d.Orders(ctx, caller, false)
	if err != nil {
		return nil, order.PricedPosition{}, err
	}
	all = slices.DeleteFunc(all, func(o order.Order) bool { return o.Symbol != s || o.Status.Final() && o.Filled.IsZero() })
	v := d.view.Load()
	marked := order.PricedPosition{Position: order.Position{Symbol: s}, Mode: v.status.Mode}
	marked.Quote, _ = d.cfg.Market.LastQuote(s) // zero if unknown
	for _, p := range v.positions {
		if p.Symbol == s {
			marked.Position = p
		}
	}
	return all, marked, nil
}
