// Package desk trades for one owner on one account. One goroutine, the writer,
// owns the account's orders, positions and trading state; everyone else sends it
// commands or reads what it published. Whatever happens is persisted before it
// counts, and an order is persisted before it is sent. What a venue is asked runs
// beside the writer, and the answer comes back as a message, so that a slow venue
// holds nobody up.
//
// An order is sent once. When its outcome is not known the venue is asked for it
// by its id, and only its answer, or its silence over a while, decides. The
// account is compared with the venue at the start, after every loss of its stream
// and once a minute; before the first comparison no order passes.
//
// It judges nothing itself: guard has the rules, order the states. It knows no
// venue and no protocol.
package desk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"candela/internal/kit/fault"
	"candela/internal/kit/principal"
	"candela/internal/market"
	"candela/internal/trading/broker"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// ErrFenced is in the chain of a store's error when the store will take no more
// writes from this desk: another has the account, or what became of a write is not
// known and the account must be read anew. The desk ends then, without a word about
// it in the account, which is no longer its own.
var ErrFenced = errors.New("the account is no longer this desk's to write")

// The codes of faults that say that nothing was done, and that another desk may do
// it.
const (
	CodeMoved    = "account_moved" // another has the account
	CodeStopping = "stopping"      // this one ends
)

// Store is where an account is kept. Its promises are those of ledger/storetest:
// what returned nil has been written, what returned an error has changed nothing.
type Store interface {
	AppendEvents(ctx context.Context, by principal.Caller, events []order.Event) ([]order.Event, error)
	OrderEvents(ctx context.Context, owner string) iter.Seq2[order.Event, error]
	// Snapshot returns what was saved last of an owner's book, nil for nothing, and the
	// events since.
	Snapshot(ctx context.Context, owner string) ([]byte, iter.Seq2[order.Event, error], error)
	// SaveSnapshot keeps a book of the caller's subject that has all its events, so that
	// the next start need not read them. Nothing depends on it but time.
	SaveSnapshot(ctx context.Context, by principal.Caller, b *order.Book) error
	Order(ctx context.Context, owner, id string) (order.Order, error)
	OrderByKey(ctx context.Context, owner, key string) (order.Order, error)
	SaveState(ctx context.Context, by principal.Caller, name string, value []byte) error
	State(ctx context.Context, owner, name string) ([]byte, error)
}

// Market is where prices come from. Symbols bear their venue.
type Market interface {
	// Quote returns a price that is new, and asks the venue if none is known.
	Quote(ctx context.Context, s market.Symbol) (order.Quote, error)
	// LastQuote returns the newest price that is known, without waiting for anything.
	LastQuote(s market.Symbol) (order.Quote, bool)
	// Follow names all the symbols whose prices are needed from now on.
	Follow(symbols []market.Symbol)
	// LaggingVenues returns the venues whose prices do not come.
	LaggingVenues() []string
}

// Config is what a desk works with. All but Also, Assets, Simulated, HaltFile
// and Replica is required.
type Config struct {
	Owner        string   // to whom the account belongs
	OwnerAliases []string // subjects that are the same person, such as the one on stdio
	Broker       broker.Broker
	Store        Store
	Market       Market
	Policy       guard.Policy
	// Resolve completes a symbol as a client wrote it with the venue it is traded
	// at, or says why it is not.
	Resolve func(ctx context.Context, s market.Symbol) (market.Symbol, error)
	// AssetBalances says that the venue counts assets, such as BTC, and not positions in
	// symbols: there may then be more of one than was traded here.
	AssetBalances bool
	// Simulated says that the account is kept by this program alone. There is nothing
	// outside that it could differ from, and a venue of prices that is gone locks
	// nothing.
	Simulated bool
	// HaltFile is a path; trading halts when a file is there. "" for none.
	HaltFile string
	Replica  string // what this machine is called among several replicas; "" where it is alone
	Log      *slog.Logger
	Now      func() time.Time
	// Rand returns numbers from 0 to below 1, by which retries are spread.
	Rand func() float64
}

const (
	maxCommands    = 64               // that wait; who comes then waits in line
	maxReports     = 256              // of the venue's, between its stream and the writer
	maxSends       = 4                // orders on their way at a time, and as many cancels
	maxReads       = 2                // questions to the venue at a time
	maxQueued      = 64               // orders that wait to be sent; more are refused
	maxSubmitDelay = 10 * time.Second // from the call until an order is sent, by the clock on the wall; then it is not
	submitTimeout  = 30 * time.Second // of one order or cancel
	readTimeout    = time.Minute      // of one question, a comparison being one
	resultTimeout  = 10 * time.Second // how long a client waits for the venue's answer
	startTimeout   = 8 * time.Second  // how long an order waits for the first comparison, one that looks twice among them
	maxListed      = 500              // orders that a client gets at most
)

// errStopping is what commands get when the writer does not run.
var errStopping = &fault.Error{Kind: fault.Unavailable, Code: CodeStopping, Message: "the trading desk is stopping; nothing was done", Retryable: true}

// Desk is one account. It is safe for concurrent use.
type Desk struct {
	cfg            Config
	commands       chan func(*loop)
	commandsClosed chan struct{} // closed when the writer takes no more commands
	stopped        chan struct{} // closed when it has ended
	reconciled     chan struct{} // closed when the account was first compared with the venue
	view           atomic.Pointer[view]
	revocations    revocations

	snapshotEvery, maxClosedInMemory int // as the constants, but in tests
}

// New returns a desk that does nothing until Run.
func New(cfg Config) *Desk {
	d := &Desk{cfg: cfg, commands: make(chan func(*loop), maxCommands), commandsClosed: make(chan struct{}), stopped: make(chan struct{}), reconciled: make(chan struct{}), snapshotEvery: snapshotEvery, maxClosedInMemory: maxClosedInMemory}
	d.view.Store(&view{})
	return d
}

// Run works until ctx ends. It calls ready when the account is loaded and commands
// are answered; the first comparison with the venue begins then. Orders that are
// on their way when ctx ends have until hard ends to be answered. When the store
// says that the account is no longer this desk's, it ends at once and returns an
// error that wraps ErrFenced. It must be called once.
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

// do has the writer run a command and waits until it is done. An error says that
// it was not run and never will be: whoever places an order must know.
func (d *Desk) do(ctx context.Context, run func(*loop)) error {
	done := make(chan error, 1)
	command := func(l *loop) {
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
	// Not until ctx ends: the writer may be at it, and it is never slow.
	select {
	case err := <-done:
		return err
	case <-d.commandsClosed:
	}
	select {
	case err := <-done:
		return err
	default:
		return errStopping
	}
}

// authorize returns the caller as the owner of the account, and refuses one to whom it
// does not belong. There is one account however the owner came in: two books about
// it would each take the other's orders for a stranger's.
func (d *Desk) authorize(caller principal.Caller) (principal.Caller, error) {
	if caller.Subject == d.cfg.Owner || slices.Contains(d.cfg.OwnerAliases, caller.Subject) {
		caller.Subject = d.cfg.Owner
		return caller, nil
	}
	return caller, &fault.Error{Kind: fault.Unauthorized, Code: "not_your_account", Message: "the trading account belongs to another owner"}
}

// systemCaller is the desk itself as the author of an event.
func (d *Desk) systemCaller() principal.Caller { return principal.Caller{Subject: d.cfg.Owner} }

// The names of what a desk keeps besides events.
const (
	guardName  = "guard"
	cursorName = "cursors"
)

// loadGuard reads the trading state as it was left.
func loadGuard(ctx context.Context, s Store, owner string) (guard.State, error) {
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

func saveGuard(ctx context.Context, s Store, by principal.Caller, state guard.State) error {
	data, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("trading state: %w", err)
	}
	return s.SaveState(ctx, by, guardName, data)
}
