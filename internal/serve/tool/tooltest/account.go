package tooltest

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/kit/principal"
	"candela/internal/serve/tool"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// Account is a trading side that remembers what the tools change and counts how often
// they look at it.
type Account struct {
	Trading

	mu    sync.Mutex
	state State
}

// State is what tools can change.
type State struct {
	Orders, Alerts []string // ids, as they were placed, set and cancelled
	Subscribed     bool
	Filters, Polls int
	Seen           int // calls that only read
}

// State returns a copy.
func (a *Account) State() State {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.state
	s.Orders, s.Alerts = slices.Clone(s.Orders), slices.Clone(s.Alerts)
	return s
}

func (a *Account) change(f func(*State)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f(&a.state)
}

func (a *Account) see() { a.change(func(s *State) { s.Seen++ }) }

// Parts returns a as the parts behind the trading tools.
func (a *Account) Parts() *tool.Trading {
	return &tool.Trading{Mode: order.Paper, Orders: a, Positions: a, Account: a, Receipts: Receipts{}, Tradable: func(market.Symbol) bool { return true }, Alerts: accountAlerts{a}, Notifications: a, Subscriptions: a, Drawings: Drawings()}
}

// Place keeps an order.
func (a *Account) Place(_ context.Context, _ principal.Caller, r order.Request) (order.Placed, error) {
	a.change(func(s *State) { s.Orders = append(s.Orders, "o-"+strconv.Itoa(len(s.Orders))) })
	return order.Placed{Order: (&Trading{Placed: r}).order()}, nil
}

// Cancel keeps that an order was cancelled.
func (a *Account) Cancel(_ context.Context, _ principal.Caller, id string) (order.Order, error) {
	a.change(func(s *State) { s.Orders = append(s.Orders, "cancelled "+id) })
	return (&Trading{}).order(), nil
}

// Orders lists one.
func (a *Account) Orders(ctx context.Context, caller principal.Caller, open bool) ([]order.Order, error) {
	a.see()
	return a.Trading.Orders(ctx, caller, open)
}

// OrderPage has the same.
func (a *Account) OrderPage(ctx context.Context, caller principal.Caller, q order.Query) (order.Page, error) {
	a.see()
	return a.Trading.OrderPage(ctx, caller, q)
}

// Positions lists two.
func (a *Account) Positions(ctx context.Context, caller principal.Caller) ([]order.PricedPosition, error) {
	a.see()
	return a.Trading.Positions(ctx, caller)
}

// Account is that of Trading.
func (a *Account) Account(ctx context.Context, caller principal.Caller) (guard.Account, error) {
	a.see()
	return a.Trading.Account(ctx, caller)
}

// Trades is that of Trading.
func (a *Account) Trades(ctx context.Context, caller principal.Caller, q order.TradeQuery) (order.TradePage, error) {
	a.see()
	return a.Trading.Trades(ctx, caller, q)
}

// InSymbol has a position and orders.
func (a *Account) InSymbol(ctx context.Context, caller principal.Caller, s market.Symbol) ([]order.Order, order.PricedPosition, error) {
	a.see()
	return a.Trading.InSymbol(ctx, caller, s)
}

// Poll takes from the queue.
func (a *Account) Poll(ctx context.Context, caller principal.Caller, _ time.Duration, most notify.Bound) (*notify.Batch, error) {
	a.change(func(s *State) { s.Polls++ })
	return a.Trading.Poll(ctx, caller, 0, most)
}

// Subscribe keeps that there is a subscription.
func (a *Account) Subscribe(context.Context, principal.Caller, notify.Filter) error {
	a.change(func(s *State) { s.Subscribed = true; s.Filters++ })
	return nil
}

// Unsubscribe removes it.
func (a *Account) Unsubscribe(context.Context, principal.Caller) (existed bool, err error) {
	a.change(func(s *State) { existed, s.Subscribed = s.Subscribed, false; s.Filters++ })
	return existed, nil
}

// Subscription returns it.
func (a *Account) Subscription(context.Context, principal.Caller) (notify.Subscription, error) {
	a.see()
	return notify.Subscription{Active: a.State().Subscribed}, nil
}

// accountAlerts is the alert side: the methods of orders have the same names.
type accountAlerts struct{ *Account }

// Set keeps an alert.
func (a accountAlerts) Set(_ context.Context, _ principal.Caller, want alert.Alert) (alert.Alert, error) {
	a.change(func(s *State) { s.Alerts = append(s.Alerts, "a-"+strconv.Itoa(len(s.Alerts))) })
	return want, nil
}

// Preview knows nothing.
func (a accountAlerts) Preview(context.Context, alert.Alert) alert.Present {
	a.see()
	return alert.Present{}
}

// Alerts lists one.
func (a accountAlerts) Alerts(ctx context.Context, caller principal.Caller) ([]alert.Alert, error) {
	a.see()
	return Alerts{&a.Trading}.Alerts(ctx, caller)
}

// AlertsOn lists two.
func (a accountAlerts) AlertsOn(ctx context.Context, caller principal.Caller, s market.Symbol) ([]alert.Alert, error) {
	a.see()
	return Alerts{&a.Trading}.AlertsOn(ctx, caller, s)
}

// Cancel keeps that an alert was cancelled.
func (a accountAlerts) Cancel(_ context.Context, _ principal.Caller, id string) error {
	a.change(func(s *State) { s.Alerts = append(s.Alerts, "cancelled "+id) })
	return nil
}
