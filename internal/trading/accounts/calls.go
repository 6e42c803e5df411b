package accounts

import (
	"context"
	"slices"

	"candela/internal/kit/principal"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// on calls do with the desk of an owner.
func on[T any](ctx context.Context, a *Accounts, owner principal.Owner, do func(*desk.Desk) (T, error)) (T, error) {
	one, release, err := a.use(ctx, owner)
	if err != nil {
		return *new(T), err
	}
	defer release()
	return do(one.Desk)
}

// Place places an order of the caller's, as desk.Desk does.
func (a *Accounts) Place(ctx context.Context, caller principal.Caller, r order.Request) (order.Placed, error) {
	if a.cfg.Admit != nil && !r.ReduceOnly {
		if err := a.cfg.Admit(caller.Subject); err != nil {
			return order.Placed{}, err
		}
	}
	return on(ctx, a, caller.Subject, func(d *desk.Desk) (order.Placed, error) { return d.Place(ctx, caller, r) })
}

// Cancel cancels an order of the caller's, as desk.Desk does.
func (a *Accounts) Cancel(ctx context.Context, caller principal.Caller, orderID string) (order.Order, error) {
	return on(ctx, a, caller.Subject, func(d *desk.Desk) (order.Order, error) { return d.Cancel(ctx, caller, orderID) })
}

// Asked returns an order of the caller's that the owner was asked about, as desk.Desk does.
func (a *Accounts) Asked(ctx context.Context, caller principal.Caller, id string) (order.Placed, error) {
	return on(ctx, a, caller.Subject, func(d *desk.Desk) (order.Placed, error) { return d.Asked(ctx, caller, id) })
}

// Withdraw ends an order of the caller's that waits for the owner, as desk.Desk does.
func (a *Accounts) Withdraw(ctx context.Context, caller principal.Caller, id string) error {
	_, err := on(ctx, a, caller.Subject, func(d *desk.Desk) (struct{}, error) { return struct{}{}, d.Withdraw(ctx, caller, id) })
	return err
}

// Orders lists the caller's orders, as desk.Desk does.
func (a *Accounts) Orders(ctx context.Context, caller principal.Caller, openOnly bool) ([]order.Order, error) {
	return on(ctx, a, caller.Subject, func(d *desk.Desk) ([]order.Order, error) { return d.Orders(ctx, caller, openOnly) })
}

// OrderPage returns a part of the list of the caller's orders, as desk.Desk does.
func (a *Accounts) OrderPage(ctx context.Context, caller principal.Caller, q order.Query) (order.Page, error) {
	return on(ctx, a, caller.Subject, func(d *desk.Desk) (order.Page, error) { return d.OrderPage(ctx, caller, q) })
}

// Positions lists the caller's positions, as desk.Desk does.
func (a *Accounts) Positions(ctx context.Context, caller principal.Caller) ([]order.PricedPosition, error) {
	return on(ctx, a, caller.Subject, func(d *desk.Desk) ([]order.PricedPosition, error) { return d.Positions(ctx, caller) })
}

// InSymbol lists the caller's orders in a symbol and the position, as desk.Desk does.
func (a *Accounts) InSymbol(ctx context.Context, caller principal.Caller, s market.Symbol) ([]order.Order, order.PricedPosition, error) {
	var position order.PricedPosition
	orders, err := on(ctx, a, caller.Subject, func(d *desk.Desk) (all []order.Order, err error) {
		all, position, err = d.InSymbol(ctx, caller, s)
		return all, err
	})
	return orders, position, err
}

// Account returns the caller's account, as desk.Desk does.
func (a *Accounts) Account(ctx context.Context, caller principal.Caller) (guard.Account, error) {
	return on(ctx, a, caller.Subject, func(d *desk.Desk) (guard.Account, error) { return d.Account(ctx, caller) })
}

// Trades returns what the caller's orders took out of positions, as desk.Desk does.
func (a *Accounts) Trades(ctx context.Context, caller principal.Caller, q order.TradeQuery) (order.TradePage, error) {
	return on(ctx, a, caller.Subject, func(d *desk.Desk) (order.TradePage, error) { return d.Trades(ctx, caller, q) })
}

// RevokeTokens stops orders of tokens that have ended, as desk.Desk does. An account that sleeps
// has none.
func (a *Accounts) RevokeTokens(keys ...string) {
	for _, one := range a.sorted() {
		one.Desk.RevokeTokens(keys...)
	}
}

// Status returns the state of all accounts together. The state is that of the operator's halt.
func (a *Accounts) Status() desk.Status {
	a.mu.Lock()
	s := desk.Status{State: a.host, Connected: true, Reconciled: true, HaltedOwners: len(a.halted)}
	s.Halted = slices.Clone(a.halted[:min(len(a.halted), desk.MaxHalted)])
	a.mu.Unlock()
	select {
	case <-a.started:
		s.Broker, s.Mode = a.cfg.Broker, a.cfg.Mode
	default:
	}
	for _, one := range a.sorted() {
		now := one.Desk.Status()
		s.Open, s.Uncertain, s.Pending = s.Open+now.Open, s.Uncertain+now.Uncertain, s.Pending+now.Pending
		s.Connected, s.Reconciled = s.Connected && now.Connected, s.Reconciled && now.Reconciled
	}
	return s
}

// OpenByStatus counts the open orders of all accounts by status.
func (a *Accounts) OpenByStatus() map[order.Status]int {
	count := make(map[order.Status]int)
	for _, one := range a.sorted() {
		for status, n := range one.Desk.OpenByStatus() {
			count[status] += n
		}
	}
	return count
}

// Day returns nothing: there is no day of all accounts.
func (a *Accounts) Day() []desk.Sample { return nil }

// Pending lists the orders of all owners that wait for approval.
func (a *Accounts) Pending(ctx context.Context) ([]order.Order, error) {
	var all []order.Order
	for _, one := range a.sorted() {
		pending, err := one.Desk.Pending(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, pending...)
	}
	return all, nil
}

// ownerOf returns the owner of an open order, "" if there is none.
func (a *Accounts) ownerOf(id string) principal.Owner {
	for _, one := range a.sorted() {
		if one.Desk.OpenOrder(id) {
			return one.owner
		}
	}
	return ""
}

// onOrder calls do with the desk that has an open order.
func onOrder[T any](ctx context.Context, a *Accounts, id string, do func(*desk.Desk) (T, error)) (T, error) {
	owner := a.ownerOf(id)
	if owner == "" {
		return *new(T), fault.New(fault.NotFound, "unknown_order", "No order %q waits for approval. List those that do with candela approvals.", id).About("order_id", id, "")
	}
	return on(ctx, a, owner, do)
}

// Approve sends an order that waits, as desk.Desk does.
func (a *Accounts) Approve(ctx context.Context, id, by string) (order.Order, error) {
	return onOrder(ctx, a, id, func(d *desk.Desk) (order.Order, error) { return d.Approve(ctx, id, by) })
}

// Refuse ends an order that waits, as desk.Desk does.
func (a *Accounts) Refuse(ctx context.Context, id, by, reason string) (order.Order, error) {
	return onOrder(ctx, a, id, func(d *desk.Desk) (order.Order, error) { return d.Refuse(ctx, id, by, reason) })
}

// Review says how an order that waits stands, as desk.Desk does.
func (a *Accounts) Review(ctx context.Context, id string) (guard.Review, error) {
	return onOrder(ctx, a, id, func(d *desk.Desk) (guard.Review, error) { return d.Review(ctx, id) })
}
