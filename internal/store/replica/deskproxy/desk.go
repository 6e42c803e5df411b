package deskproxy

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"candela/internal/kit/fault"
	"candela/internal/kit/principal"
	"candela/internal/kit/retry"
	"candela/internal/market"
	"candela/internal/store/replica/member"
	"candela/internal/store/replica/orders"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// The methods of a desk, as other replicas call them.
const (
	methodPlace     = "desk.place"
	methodCancel    = "desk.cancel"
	methodOrders    = "desk.orders"
	methodPositions = "desk.positions"
	methodOn        = "desk.on"
	methodHalt      = "desk.halt"
	methodResume    = "desk.resume"
	methodStatus    = "desk.status"
	methodHaltFile  = "desk.haltfile" // of every replica, not of the one that trades alone
)

// tradingShard is what the replica that trades owns. There is one whatever the account
// is, since the orders of all accounts have one writer.
const tradingShard = "desk"

// Config is what a Desk works with. All but HaltFile is required.
type Config struct {
	Account string // as desk.Config.Owner
	// Open makes the desk of one term over the orders of that term, and whatever
	// belongs to it, such as a paper broker. end is called when the term is over and
	// the desk has ended.
	Open func(ctx context.Context, orders *orders.Store) (d *desk.Desk, end func(), err error)
	// HaltFile is a path on this machine; trading halts while a file is there,
	// whichever replica trades. "" for none.
	HaltFile string
	Log      *slog.Logger
	Now      func() time.Time
}

// Desk is an account on which one of several replicas trades at a time. It answers
// at every replica: from the desk that runs here, or by asking the replica that has
// it. It is safe for concurrent use.
//
// A call waits up to ten seconds for a replica that trades; the error says then that
// nothing was done. When a replica was asked and did not answer the error says that
// it is not known what was done.
type Desk struct {
	members *member.Group
	cfg     Config
	local   atomic.Pointer[desk.Desk]
}

// New returns the account for this replica. Nothing is traded here before Run.
func New(m *member.Group, cfg Config) *Desk {
	d := &Desk{members: m, cfg: cfg}
	d.handleCalls()
	return d
}

// Run trades whenever this replica owns the account, until ctx ends: each time with
// a new desk that reads what the one before has left. Orders that are on their way
// when a term ends have until hard ends to be answered, or until another replica has
// taken over.
func (d *Desk) Run(ctx, hard context.Context, ready func()) error {
	watching, stop := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		d.watchHaltFile(watching)
	}()
	ready()
	err := d.members.RunWhileOwner(ctx, tradingShard, func(ctx context.Context) error { return d.runTerm(ctx, hard) })
	stop()
	<-watched
	if errors.Is(err, ctx.Err()) {
		err = nil
	}
	return err
}

// inFlightGrace is how long what is on its way to the venue may take when the account is
// found to be another's: nobody else sends it.
const inFlightGrace = 5 * time.Second

// runTerm trades until ctx ends or the account is another's.
func (d *Desk) runTerm(ctx, hard context.Context) error {
	orders, err := orders.Open(ctx, d.members.Conn(), d.cfg.Now)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	hard, drop := context.WithCancel(hard)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		if err := orders.WatchFence(ctx); err != nil {
			end(err)
			_ = retry.Sleep(hard, inFlightGrace)
			drop()
		}
	}()
	err = d.runDesk(ctx, hard, orders)
	end(nil)
	drop()
	<-watched
	if cause := context.Cause(ctx); err == nil && errors.Is(cause, desk.ErrFenced) {
		err = cause
	}
	return err
}

// runDesk runs a desk over the orders of a term.
func (d *Desk) runDesk(ctx, hard context.Context, orders *orders.Store) error {
	running, end, err := d.cfg.Open(ctx, orders)
	if err != nil {
		return err
	}
	defer end()
	// Whoever calls from the end of ctx on is better served elsewhere.
	leave := context.AfterFunc(ctx, func() { d.local.CompareAndSwap(running, nil) })
	defer func() {
		leave()
		d.local.CompareAndSwap(running, nil)
	}()
	begin := func() {
		if ctx.Err() == nil {
			d.local.Store(running)
		}
	}
	// Beside other replicas a file may have been put while nobody traded.
	files := d.waitHaltFiles(ctx)
	var halting sync.WaitGroup
	defer halting.Wait()
	return running.Run(ctx, hard, func() {
		if len(files) == 0 || haltedByOwner(running.Status()) {
			begin()
			return
		}
		halting.Go(func() {
			// One that fails leaves it to the replicas beside which the files are.
			if _, err := running.Halt(ctx, "the file "+files[0], "it is there"); err != nil {
				d.cfg.Log.ErrorContext(ctx, "halt file found but halting failed; retrying", "file", files[0], "error", err)
			}
			begin()
		})
	})
}

// Running returns the desk that runs here, nil when another replica has the account
// or nobody has.
func (d *Desk) Running() *desk.Desk { return d.local.Load() }

// notExecuted reports whether a desk did nothing because its term is over.
func notExecuted(err error) bool {
	f := fault.Of(err)
	return f != nil && (f.Code == desk.CodeMoved || f.Code == desk.CodeStopping)
}

// Place does what a client asks for and returns the order, as desk.Desk does.
func (d *Desk) Place(ctx context.Context, caller principal.Caller, r order.Request) (order.Order, error) {
	o, err := onLocal(d, func(running *desk.Desk) (order.Order, error) { return running.Place(ctx, caller, r) })
	if !errors.Is(err, member.ErrNotShardOwner) {
		return o, err
	}
	answer, err := call[orderReply](ctx, d, methodPlace, placeCall{caller, r})
	switch {
	case err == nil:
		return answer.result()
	case r.Key != "":
		err = withRemedy(err, true, "the replica that trades was asked to place the order and did not answer: it is not known whether it was placed; "+
			"ask again with the same idempotency_key, which gives the order if there is one")
	default:
		err = withRemedy(err, r.DryRun, "the replica that trades was asked to place the order and did not answer: it is not known whether it was placed; "+
			"look at get_orders before you ask again, and use an idempotency_key")
	}
	return order.Order{}, err
}

// Cancel asks the venue to cancel an order and returns it, as desk.Desk does.
func (d *Desk) Cancel(ctx context.Context, caller principal.Caller, orderID string) (order.Order, error) {
	o, err := onLocal(d, func(running *desk.Desk) (order.Order, error) { return running.Cancel(ctx, caller, orderID) })
	if !errors.Is(err, member.ErrNotShardOwner) {
		return o, err
	}
	answer, err := call[orderReply](ctx, d, methodCancel, cancelCall{caller, orderID})
	if err != nil {
		return order.Order{}, withRemedy(err, true, "the replica that trades was asked to cancel the order and did not answer: it is not known whether it did; "+
			"ask again, which does no harm")
	}
	return answer.result()
}

// Orders lists the caller's orders, newest first: the open ones, or the newest of
// all.
func (d *Desk) Orders(ctx context.Context, caller principal.Caller, openOnly bool) ([]order.Order, error) {
	all, err := onLocal(d, func(running *desk.Desk) ([]order.Order, error) { return running.Orders(ctx, caller, openOnly) })
	if !errors.Is(err, member.ErrNotShardOwner) {
		return all, err
	}
	return callRead[[]order.Order](ctx, d, methodOrders, ordersCall{caller, openOnly})
}

// Positions lists the caller's open positions with what they trade at.
func (d *Desk) Positions(ctx context.Context, caller principal.Caller) ([]order.PricedPosition, error) {
	all, err := onLocal(d, func(running *desk.Desk) ([]order.PricedPosition, error) { return running.Positions(ctx, caller) })
	if !errors.Is(err, member.ErrNotShardOwner) {
		return all, err
	}
	return callRead[[]order.PricedPosition](ctx, d, methodPositions, caller)
}

// InSymbol lists the orders of the caller's in one symbol that are open or have traded,
// newest first, and the position in it.
func (d *Desk) InSymbol(ctx context.Context, caller principal.Caller, s market.Symbol) ([]order.Order, order.PricedPosition, error) {
	on, err := onLocal(d, func(running *desk.Desk) (symbolReply, error) { return newSymbolReply(running.InSymbol(ctx, caller, s)) })
	if errors.Is(err, member.ErrNotShardOwner) {
		on, err = callRead[symbolReply](ctx, d, methodOn, symbolCall{caller, s})
	}
	return on.Orders, on.Position, err
}

// Halt stops trading, wherever it is done, and cancels every order that was placed
// there.
func (d *Desk) Halt(ctx context.Context, who, reason string) (guard.State, error) {
	s, err := onLocal(d, func(running *desk.Desk) (guard.State, error) { return running.Halt(ctx, who, reason) })
	if !errors.Is(err, member.ErrNotShardOwner) {
		return s, err
	}
	answer, err := call[stateReply](ctx, d, methodHalt, controlCall{who, reason})
	if err != nil {
		return guard.State{}, withRemedy(err, true, "the replica that trades was told to halt and did not answer: it is not known whether it did; halt again")
	}
	return answer.result()
}

// Resume takes away what the owner can end. While a halt file lies beside a replica
// it is refused, with the name of that replica.
func (d *Desk) Resume(ctx context.Context, who string) (guard.State, error) {
	if d.haltFile() != "" { // whether anyone trades or not
		if err := d.checkNoHaltFile(ctx); err != nil {
			return guard.State{}, err
		}
	}
	s, err := onLocal(d, func(running *desk.Desk) (guard.State, error) { return d.resume(ctx, running, who) })
	if !errors.Is(err, member.ErrNotShardOwner) {
		return s, err
	}
	answer, err := call[stateReply](ctx, d, methodResume, controlCall{who, ""})
	if err != nil {
		return guard.State{}, withRemedy(err, true, "the replica that trades was told to resume and did not answer: it is not known whether it did; resume again")
	}
	return answer.result()
}

// Status returns what is known of the account now.
func (d *Desk) Status(ctx context.Context) (desk.Status, error) {
	s, err := onLocal(d, func(running *desk.Desk) (desk.Status, error) { return running.Status(), nil })
	if !errors.Is(err, member.ErrNotShardOwner) {
		return s, err
	}
	return callRead[desk.Status](ctx, d, methodStatus, struct{}{})
}
