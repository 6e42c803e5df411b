// Package desk manages the orders and positions of one trading account. A single
// goroutine, the loop, owns the account: it records every order before sending it, never
// sends an order twice, and reconciles its records with the venue.
//
// Calls to the venue run outside the loop and return as messages, so a slow venue blocks
// nothing. An order whose outcome is unknown is queried by ID until the venue answers or
// the not-found grace passes. No order is accepted before the first reconciliation.
//
// The guard package has the rules for orders, the order package their states.
package desk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"candela/internal/data/provider"
	"candela/internal/kit/principal"
	"candela/internal/kit/sendby"
	"candela/internal/trading/broker"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// ErrFenced reports that the store rejects writes from this desk, because another
// process owns the account or the result of a write is unknown. The desk stops and
// records nothing about it.
var ErrFenced = broker.ErrFenced

// errNoBars reports that prices before the start are not known.
var errNoBars = errors.New("no bars")

// Codes of faults that mean that nothing was done and that another desk may do it.
const (
	CodeMoved    = "account_moved" // another process owns the account
	CodeStopping = "stopping"      // this desk is shutting down
)

// Store persists the account. Its contract is tested by ledger/storetest: a write that
// returns nil is durable, one that returns an error changed nothing.
type Store interface {
	// AppendEvents stores events with what they report to the owner's clients. It returns the events
	// without fills of known trades, of which nothing is reported.
	AppendEvents(ctx context.Context, by principal.Caller, events []order.Event, notices ...order.Notice) ([]order.Event, error)
	OrderEvents(ctx context.Context, owner principal.Owner) iter.Seq2[order.Event, error]
	// Snapshot returns the last snapshot of a book, nil for none, and the events after it.
	Snapshot(ctx context.Context, owner principal.Owner) ([]byte, iter.Seq2[order.Event, error], error)
	// SaveSnapshot saves a complete book of the caller's subject, for faster starts.
	SaveSnapshot(ctx context.Context, by principal.Caller, b *order.Book) error
	Order(ctx context.Context, owner principal.Owner, id string) (order.Order, error)
	OrderByKey(ctx context.Context, owner principal.Owner, key string) (order.Order, error)
	// ListOrders returns up to most orders after a mark, newest first, and how many come after
	// them, 0 only if none does.
	ListOrders(ctx context.Context, owner principal.Owner, after order.Mark, most int) ([]order.Order, int, error)
	// SaveState stores a value with what it reports to the owner's clients.
	SaveState(ctx context.Context, by principal.Caller, name string, value []byte, notices ...order.Notice) error
	State(ctx context.Context, owner principal.Owner, name string) ([]byte, error)
}

// Market provides prices. Symbols include their venue.
type Market interface {
	// Quote returns a current price and reads it from the venue if none is known.
	Quote(ctx context.Context, s market.Symbol) (order.Quote, error)
	// LastQuote returns the newest known price without blocking.
	LastQuote(s market.Symbol) (order.Quote, bool)
	// Follow replaces the set of symbols whose prices are needed.
	Follow(symbols []market.Symbol)
	// LaggingVenues returns the venues whose prices are overdue.
	LaggingVenues() []string
}

// Config configures a desk. OwnerAliases, AssetBalances, Simulated, HaltFile,
// Replica, Asked, Unreasoned, Bars, Judge and Confirm are optional.
type Config struct {
	Owner        principal.Owner   // subject that owns the account
	OwnerAliases []principal.Owner // other subjects of the same person, such as the one on stdio
	Broker       broker.Broker
	Store        Store
	Market       Market
	Policy       guard.Policy // until SetPolicy
	// Resolve returns the symbol with its venue and in the venue's spelling.
	Resolve func(ctx context.Context, s market.Symbol) (market.Symbol, error)
	// AssetBalances means that the venue reports balances of assets, such as BTC, and
	// not positions by symbol. The account may then hold more than was traded here.
	AssetBalances bool
	// Simulated means that only this program keeps the account. There is nothing to
	// reconcile with, and an unavailable price venue blocks only its own symbols.
	Simulated bool
	// Hosted means that the account is one of many owners', so that the operator of the server halts it.
	Hosted bool
	// HaltFile is a path: trading halts while the file exists. "" disables it.
	HaltFile string
	Replica  string // name of this replica; "" for a single node
	// Asked reports an order that begins to wait for the owner, and after a start each that
	// still does; nil for none. The loop calls it, so it must not block.
	Asked func(order.Order)
	// Unreasoned reports an order that reduces a position without the claims that the owner asks for; nil for
	// none. The loop calls it, so it must not block.
	Unreasoned func(order.Order)
	// Bars returns the bars of a symbol since a time; the first may begin earlier. It is for
	// stops that candela holds, after a start; nil if there are none.
	Bars func(ctx context.Context, s market.Symbol, since time.Time) ([]market.Bar, error)
	// Judge says which claims are true, as claims about a symbol unless they name another. It ends with
	// ctx; nil if there are no bars to judge them by.
	Judge func(ctx context.Context, owner principal.Owner, s market.Symbol, claims []order.Claim) []order.Evidence
	// Confirm returns an error if a caller may no longer trade, or this desk no longer manages the
	// account: it asks those who decide that, because this process may have been stopped since it last
	// heard of them. It is called directly before a change, which must leave before the time that it
	// returns, zero for at any time; nil where nobody else decides.
	Confirm func(ctx context.Context, by principal.Caller) (time.Time, error)
	Log     *slog.Logger
	Now     func() time.Time
	// Rand returns numbers in [0, 1) for jitter.
	Rand func() float64
}

const (
	maxCommands    = 64               // queued commands; further callers block
	maxReports     = 256              // queued reports of the venue's stream
	maxSends       = 4                // concurrent submissions, and as many concurrent cancels
	maxReads       = 2                // concurrent queries
	maxQueued      = 64               // orders waiting to be sent; further ones are denied as busy
	maxSubmitDelay = 10 * time.Second // wall-clock time from the call to the submission; older orders are not sent
	submitTimeout  = 30 * time.Second // per order or cancel
	readTimeout    = time.Minute      // per query or reconciliation
	resultTimeout  = 10 * time.Second // how long a client waits for the venue's answer
	startTimeout   = 8 * time.Second  // how long an order waits for the first reconciliation, including a recheck
	maxListed      = 500              // orders of one answer, without open and denied ones
	holdingsTTL    = time.Second      // of the balances that clients see
)

// errStopping is returned for commands that the loop no longer runs.
var errStopping = &fault.Error{Kind: fault.Unavailable, Code: CodeStopping, Message: "candela is shutting down; nothing was done. Retry in a moment.", Retryable: true}

// Desk manages one account. It is safe for concurrent use.
type Desk struct {
	cfg            Config
	commands       chan func(*loop)
	commandsClosed chan struct{} // closed when the loop accepts no more commands
	stopped        chan struct{} // closed when Run returns
	reconciled     chan struct{} // closed after the first successful reconciliation
	view           atomic.Pointer[view]
	day            atomic.Pointer[[]Sample]
	revocations    revocations
	watches        watchList
	holdings       provider.Cache[[]order.Holding] // read-only; for clients, so that they cannot use up the venue's limits
	modes          provider.Cache[order.Modes]     // of the account, by symbol
	reported       atomic.Int64                    // counts what the venue reported; see balances

	snapshotEvery, maxClosedInMemory int // the constants, unless a test sets others
}

// New returns a desk that is idle until Run.
func New(cfg Config) *Desk {
	d := &Desk{
		cfg: cfg, commands: make(chan func(*loop), maxCommands), commandsClosed: make(chan struct{}), stopped: make(chan struct{}), reconciled: make(chan struct{}),
		snapshotEvery: snapshotEvery, maxClosedInMemory: maxClosedInMemory,
	}
	d.view.Store(&view{policy: cfg.Policy})
	d.watches.moved = make(chan struct{}, 1)
	d.holdings.Keep, d.holdings.Most = holdingsTTL, 1
	d.modes.Keep, d.modes.Most = modesTTL, maxModes
	return d
}

// Run manages the account until ctx ends. It calls ready when the account is loaded and
// commands are accepted; then the first reconciliation starts. When ctx ends,
// submissions in flight may finish until drainCtx ends. If the store fences the desk,
// Run stops and returns an error that wraps ErrFenced. Run must be called once.
func (d *Desk) Run(ctx, drainCtx context.Context, ready func()) error {
	defer close(d.stopped)
	l := newLoop(ctx, drainCtx, d)
	defer l.cancelInFlight()
	if err := l.restore(); err != nil {
		close(d.commandsClosed)
		return fmt.Errorf("restore the account: %w", err)
	}
	ready()
	return l.run(ctx)
}

// do runs a command on the loop and waits. After an error the command never runs.
func (d *Desk) do(ctx context.Context, run func(*loop)) error {
	done := make(chan error, 1)
	var decided atomic.Bool // that it runs, or that it never does
	command := func(l *loop) {
		if !decided.CompareAndSwap(false, true) {
			return
		}
		err := ctx.Err()
		if err == nil {
			run(l)
		}
		done <- err
	}
	select {
	case d.commands <- command:
	case <-ctx.Done():
		return ctx.Err()
	case <-d.commandsClosed:
		return errStopping
	}
	select {
	case err := <-done:
		return err
	case <-d.commandsClosed:
	case <-ctx.Done(): // the loop may wait for the store, which takes long when that is gone
		if decided.CompareAndSwap(false, true) {
			return ctx.Err()
		}
		select { // it runs the command, which is never slow
		case err := <-done:
			return err
		case <-d.commandsClosed:
		}
	}
	select {
	case err := <-done:
		return err
	default:
		return errStopping
	}
}

// confirm calls Confirm, if there is one. What is done with the context that it returns leaves while the
// answer counts.
func (d *Desk) confirm(ctx context.Context, by principal.Caller) (context.Context, error) {
	if d.cfg.Confirm == nil {
		return ctx, nil
	}
	until, err := d.cfg.Confirm(ctx, by)
	return sendby.With(ctx, until), err
}

// authorize maps the caller to the account owner, or returns an error for others.
func (d *Desk) authorize(caller principal.Caller) (principal.Caller, error) {
	if caller.Subject == d.cfg.Owner || slices.Contains(d.cfg.OwnerAliases, caller.Subject) {
		caller.Subject = d.cfg.Owner
		return caller, nil
	}
	return caller, &fault.Error{Kind: fault.Unauthorized, Code: "not_your_account", Message: "The trading account belongs to another owner."}
}

// systemCaller is the author of events that no client caused.
func (d *Desk) systemCaller() principal.Caller { return principal.Caller{Subject: d.cfg.Owner} }

// Names of the stored states.
const (
	guardName  = "guard"
	cursorName = "cursors"
)

// loadGuard reads the stored trading state.
func loadGuard(ctx context.Context, s Store, owner principal.Owner) (guard.State, error) {
	var state guard.State
	data, err := s.State(ctx, owner, guardName)
	if err != nil || data == nil {
		return state, err
	}
	if err := json.Unmarshal(data, &state); err != nil {
		return state, fmt.Errorf("trading state: %w", err)
	}
	return state, nil
}

func saveGuard(ctx context.Context, s Store, by principal.Caller, state guard.State, notices ...order.Notice) error {
	data, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("trading state: %w", err)
	}
	return s.SaveState(ctx, by, guardName, data, notices...)
}

// revocations records revoked tokens while their orders may wait to be sent. It is safe for
// concurrent use.
type revocations struct {
	mu     sync.Mutex
	tokens map[string]time.Time // revocation time by token key
	all    time.Time            // when all tokens were revoked

	fresh    []string // revoked since the loop last denied the orders that wait for the owner
	everyone bool     // all tokens were
}

// RevokeTokens stops the submission of queued orders that were placed with these tokens,
// or with any token if no key is given, and denies those that wait for the owner. Call it after the tokens can no longer place
// orders.
func (d *Desk) RevokeTokens(keys ...string) {
	defer d.wakeForRevocation()
	now := d.cfg.Now()
	e := &d.revocations
	e.mu.Lock()
	defer e.mu.Unlock()
	e.note(keys)
	if len(keys) == 0 {
		e.all = now
	}
	for key, at := range e.tokens {
		if now.Sub(at) > 2*maxSubmitDelay {
			delete(e.tokens, key)
		}
	}
	for _, key := range keys {
		if e.tokens == nil {
			e.tokens = make(map[string]time.Time)
		}
		e.tokens[key] = now
	}
}

// revoked reports whether the caller's token ended since the order was requested.
func (e *revocations) revoked(caller principal.Caller, requestedAt, now time.Time) bool {
	if !caller.Expires.IsZero() && !now.Before(caller.Expires) {
		return true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	_, gone := e.tokens[caller.Key]
	return gone || !caller.Expires.IsZero() && !e.all.Before(requestedAt)
}
