// Package deskproxy runs the trading desk on one replica and forwards calls to it from the
// others.
package deskproxy

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/kit/retry"
	"candela/internal/store/replica/member"
	"candela/internal/store/replica/orders"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// TradingShard is the shard of the trading replica. It does not depend on the account, because
// all accounts share one order writer.
const TradingShard = "desk"

// Config configures a Desk. All fields but HaltFile are required.
type Config struct {
	Account string // as desk.Config.Owner
	// Open creates the desk of one term and what belongs to it, such as a paper broker. end
	// is called after the desk has stopped.
	Open func(ctx context.Context, orders *orders.Store) (d Trader, end func(), err error)
	// HaltFile is a local path. Trading is halted while the file exists, whichever replica
	// trades. "" for none.
	HaltFile string
	// Strategies run beside the desk of each term; nil for none.
	Strategies Strategies
	Log        *slog.Logger
	Now        func() time.Time
}

// Trader trades during one term: a desk, or the desks of many owners.
type Trader interface {
	Run(ctx, drain context.Context, ready func()) error
	Place(ctx context.Context, caller principal.Caller, r order.Request) (order.Placed, error)
	Cancel(ctx context.Context, caller principal.Caller, orderID string) (order.Order, error)
	Asked(ctx context.Context, caller principal.Caller, id string) (order.Placed, error)
	Withdraw(ctx context.Context, caller principal.Caller, id string) error
	Orders(ctx context.Context, caller principal.Caller, openOnly bool) ([]order.Order, error)
	OrderPage(ctx context.Context, caller principal.Caller, q order.Query) (order.Page, error)
	Positions(ctx context.Context, caller principal.Caller) ([]order.PricedPosition, error)
	InSymbol(ctx context.Context, caller principal.Caller, s market.Symbol) ([]order.Order, order.PricedPosition, error)
	Account(ctx context.Context, caller principal.Caller) (guard.Account, error)
	Trades(ctx context.Context, caller principal.Caller, q order.TradeQuery) (order.TradePage, error)
	Halt(ctx context.Context, by, reason string) (guard.State, error)
	HaltAll(ctx context.Context, by, reason string) (guard.State, error)
	Resume(ctx context.Context, by string) (guard.State, error)
	Pending(ctx context.Context) ([]order.Order, error)
	Review(ctx context.Context, id string) (guard.Review, error)
	Approve(ctx context.Context, id, by string) (order.Order, error)
	Refuse(ctx context.Context, id, by, reason string) (order.Order, error)
	Status() desk.Status
	OpenByStatus() map[order.Status]int
	RevokeTokens(keys ...string)
	Day() []desk.Sample
}

var _ Trader = (*desk.Desk)(nil)

// term is the trader of one term.
type term struct{ Trader }

// Desk is a trading account served by every replica: by the local desk, or by calling the replica
// that trades. It is safe for concurrent use.
//
// A call waits up to ten seconds for a trading replica; after that the error says that nothing
// was executed. If a replica was called and did not reply, the error says that the outcome is
// unknown.
type Desk struct {
	members *member.Group
	cfg     Config
	local   atomic.Pointer[term]
	methods
}

// New returns the account. This replica does not trade before Run.
func New(m *member.Group, cfg Config) *Desk {
	d := &Desk{members: m, cfg: cfg}
	d.register()
	return d
}

// Run trades while this replica owns the account, until ctx ends, each term with a new desk.
// Orders in flight at the end of a term have until hard ends, or another replica takes over.
func (d *Desk) Run(ctx, hard context.Context, ready func()) error {
	watching, stop := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		d.watchHaltFile(watching)
	}()
	ready()
	err := d.members.RunWhileOwner(ctx, TradingShard, func(ctx context.Context) error { return d.runTerm(ctx, hard) })
	stop()
	<-watched
	if errors.Is(err, ctx.Err()) {
		err = nil
	}
	return err
}

// inFlightGrace is the time for requests to the venue to finish after another replica has taken
// over: no other replica sends them.
const inFlightGrace = 5 * time.Second

// runTerm trades until ctx ends or another replica takes over.
func (d *Desk) runTerm(ctx, hard context.Context) error {
	orders, err := orders.Open(ctx, d.members.Conn(), d.cfg.Now)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	hard, abort := context.WithCancel(hard)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		if err := orders.WatchFence(ctx); err != nil {
			end(err)
			_ = retry.Sleep(hard, inFlightGrace)
			abort()
		}
	}()
	err = d.runDesk(ctx, hard, orders)
	end(nil)
	abort()
	<-watched
	if cause := context.Cause(ctx); err == nil && errors.Is(cause, desk.ErrFenced) {
		err = cause
	}
	return err
}

func (d *Desk) runDesk(ctx, hard context.Context, orders *orders.Store) error {
	opened, end, err := d.cfg.Open(ctx, orders)
	if err != nil {
		return err
	}
	defer end()
	running := &term{opened}
	// After the end of ctx, another replica serves calls better.
	leave := context.AfterFunc(ctx, func() { d.local.CompareAndSwap(running, nil) })
	defer func() {
		leave()
		d.local.CompareAndSwap(running, nil)
	}()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var beside sync.WaitGroup
	var failed error // of the strategies
	begin := func() {
		if ctx.Err() != nil {
			return
		}
		d.local.Store(running)
		if d.cfg.Strategies != nil {
			beside.Go(func() {
				defer stop()
				failed = d.cfg.Strategies.Run(ctx, hard)
			})
		}
	}
	// A halt file may have been created while no replica traded.
	files := d.waitHaltFiles(ctx)
	var halting sync.WaitGroup
	err = running.Run(ctx, hard, func() {
		if len(files) == 0 || haltedByOwner(running.Status()) {
			begin()
			return
		}
		halting.Go(func() {
			// If it fails, the replicas with the files retry.
			if _, err := running.Halt(ctx, "the file "+files[0], "remove it first"); err != nil {
				d.cfg.Log.ErrorContext(ctx, "halt file found but halting failed; retrying", "file", files[0], "error", err)
			}
			begin()
		})
	})
	halting.Wait()
	stop()
	beside.Wait()
	return errors.Join(err, failed)
}

// Running returns the local desk, nil if this replica does not trade.
func (d *Desk) Running() Trader {
	if running := d.local.Load(); running != nil {
		return running.Trader
	}
	return nil
}

// notExecuted reports whether a desk did nothing because its term ended.
func notExecuted(err error) bool {
	f := fault.Of(err)
	return f != nil && (f.Code == desk.CodeMoved || f.Code == desk.CodeStopping)
}

// Place places an order, as desk.Desk does.
func (d *Desk) Place(ctx context.Context, caller principal.Caller, r order.Request) (order.Placed, error) {
	if err := d.members.Conn().CheckLost("place an order"); err != nil {
		return order.Placed{}, err
	}
	a, err := d.place(ctx, placeCall{caller, r})
	if r.Key != "" {
		return a.Order, withRemedy(err, true, "The trading replica did not reply, so the order may have been placed. "+
			"Retry with the same idempotency_key to get it.")
	}
	return a.Order, withRemedy(err, r.DryRun, "The trading replica did not reply, so the order may have been placed. "+
		"Check get_orders before you retry, and use an idempotency_key.")
}

// Cancel cancels an order at the venue and returns it, as desk.Desk does.
func (d *Desk) Cancel(ctx context.Context, caller principal.Caller, orderID string) (order.Order, error) {
	if err := d.members.Conn().CheckLost("cancel an order"); err != nil {
		return order.Order{}, err
	}
	a, err := d.cancel(ctx, cancelCall{caller, orderID})
	return a.Order.Order, withRemedy(err, true, "The trading replica did not reply, so the order may not have been cancelled. "+
		"Retry; cancelling twice is safe.")
}

// Orders lists the caller's orders, newest first: the open ones, or the newest of all.
func (d *Desk) Orders(ctx context.Context, caller principal.Caller, openOnly bool) ([]order.Order, error) {
	return d.orders(ctx, ordersCall{caller, openOnly})
}

// OrderPage returns a part of the list of all the caller's orders, or one order.
func (d *Desk) OrderPage(ctx context.Context, caller principal.Caller, q order.Query) (order.Page, error) {
	return d.orderPage(ctx, pageCall{caller, q})
}

// Positions lists the caller's open positions with their prices.
func (d *Desk) Positions(ctx context.Context, caller principal.Caller) ([]order.PricedPosition, error) {
	return d.positions(ctx, caller)
}

// InSymbol lists the caller's orders in one symbol that are open or have fills, newest first, and
// the position in it.
func (d *Desk) InSymbol(ctx context.Context, caller principal.Caller, s market.Symbol) ([]order.Order, order.PricedPosition, error) {
	a, err := d.inSymbol(ctx, symbolCall{caller, s})
	return a.Orders, a.Position, err
}

// Name returns the name of the account.
func (d *Desk) Name() string { return d.cfg.Account }

// Account returns the balances, the use of the limits, and the policy.
func (d *Desk) Account(ctx context.Context, caller principal.Caller) (guard.Account, error) {
	return d.account(ctx, caller)
}

// Trades returns what the caller's orders took out of positions.
func (d *Desk) Trades(ctx context.Context, caller principal.Caller, q order.TradeQuery) (order.TradePage, error) {
	return d.trades(ctx, tradesCall{caller, q})
}

// Halt stops trading on the trading replica and cancels its open orders, but not those
// that protect a position.
func (d *Desk) Halt(ctx context.Context, by, reason string) (guard.State, error) {
	return d.haltBy(ctx, controlCall{Who: by, Reason: reason})
}

// HaltAll is Halt that cancels the orders that protect positions too.
func (d *Desk) HaltAll(ctx context.Context, by, reason string) (guard.State, error) {
	return d.haltBy(ctx, controlCall{Who: by, Reason: reason, All: true})
}

func (d *Desk) haltBy(ctx context.Context, c controlCall) (guard.State, error) {
	a, err := d.halt(ctx, c)
	return a.State, withRemedy(err, true, "The trading replica did not reply, so trading may not have been halted. Retry.")
}

// Resume lifts the owner's restrictions. It is refused, with the file's name, while a replica has
// a halt file.
func (d *Desk) Resume(ctx context.Context, by string) (guard.State, error) {
	if d.haltFile() != "" { // even if no replica trades
		if err := d.checkNoHaltFile(ctx); err != nil {
			return guard.State{}, err
		}
	}
	a, err := d.resume(ctx, controlCall{Who: by})
	return a.State, withRemedy(err, true, "The trading replica did not reply, so trading may not have been resumed. Retry.")
}

// Status returns the state of the account.
func (d *Desk) Status(ctx context.Context) (desk.Status, error) { return d.status(ctx, struct{}{}) }
