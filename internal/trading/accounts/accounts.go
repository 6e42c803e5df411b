// Package accounts trades for many owners: each has an account of his own with a desk of his own.
// A desk wakes for a call, and for whatever is open, and sleeps when nothing is.
//
// The operator's halt holds for all accounts, also for those that are made later. It is stored as
// the trading state of a name that no owner has, and each desk that wakes gets it.
package accounts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"candela/internal/data/provider"
	"candela/internal/kit/principal"
	"candela/internal/kit/retry"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// Standing says whether an owner may trade.
type Standing uint8

// The standings.
const (
	Active    Standing = iota
	Suspended          // nothing is sent, and open orders are cancelled but for those that protect a position
	Erased             // there is no account
)

// Opened is the account of an owner that is about to run.
type Opened struct {
	Desk *desk.Desk
	// Observe passes prices to what fills orders, nil for nothing.
	Observe func(provider.Event)
}

// Config configures the accounts. Standing, HaltFile and Replica are optional.
type Config struct {
	// Open makes the account of an owner. Its desk uses the market.
	Open func(ctx context.Context, owner principal.Owner, market desk.Market) (Opened, error)
	// Traders returns the owners who have ever traded.
	Traders func(ctx context.Context) ([]principal.Owner, error)
	// Halted returns the owners whom the operator has halted one by one, for the start; nil for none.
	Halted func(ctx context.Context) ([]principal.Owner, error)
	// Standing says whether an owner may trade; nil: all may.
	Standing func(owner principal.Owner) Standing
	// Admit returns an error if an owner may send no further order now; nil for no such limit. Orders that close a position need no admission.
	Admit    func(owner principal.Owner) error
	Store    desk.Store      // for the operator's halt
	Host     principal.Owner // the name under which that is stored; no owner has it
	Market   desk.Market
	Broker   string // the name that statuses show
	Mode     order.Mode
	HaltFile string // as in desk.Config
	Replica  string // as in desk.Config
	Log      *slog.Logger
	Now      func() time.Time
}

const (
	maxAwake      = 20_000           // desks; beyond it those at rest sleep at once, and others are refused
	restAfter     = 10 * time.Minute // without a call a desk at rest sleeps
	sweepInterval = time.Second
	maxHalts      = 16 // accounts that are halted at a time
	maxWaking     = 8  // accounts that are woken at a time after the start
)

// Accounts trades for many owners. It is safe for concurrent use.
type Accounts struct {
	cfg     Config
	started chan struct{} // closed when calls are accepted
	markets *Markets

	mu      sync.Mutex
	awake   map[principal.Owner]*account
	host    guard.State       // the operator's halt
	halted  []principal.Owner // one by one, sorted; no more than there are owners
	stopped bool
	ctx     context.Context //nolint:containedctx // of Run, which desks that wake later live in
	drain   context.Context //nolint:containedctx // the same
	running sync.WaitGroup
	all     atomic.Pointer[[]*account] // those in awake, for prices; never changed, only replaced
}

// account is one that is awake, or about to be.
type account struct {
	owner principal.Owner
	Opened
	ready chan struct{} // closed when it accepts calls, or has failed
	done  chan struct{} // closed when it has stopped
	err   error         // why it failed to start; valid once ready is closed
	fence error         // the store's refusal; valid once done is closed
	stop  context.CancelFunc

	calls int       // that use it; guarded by Accounts.mu
	used  time.Time // last; the same
	ends  bool      // it is about to sleep; the same
}

// New returns accounts that are idle until Run.
func New(cfg Config) *Accounts {
	a := &Accounts{cfg: cfg, started: make(chan struct{}), awake: make(map[principal.Owner]*account)}
	a.markets = NewMarkets(cfg.Market)
	return a
}

// Run trades until ctx ends. It calls ready when calls are accepted; accounts with something open
// wake after that. When ctx ends, what is in flight may finish until drain ends.
func (a *Accounts) Run(ctx, drain context.Context, ready func()) error {
	if err := a.open(ctx, drain); err != nil {
		return err
	}
	ready()
	var waking sync.WaitGroup
	waking.Go(func() { a.wakeTraders(ctx) })
	err := a.watch(ctx)
	a.close()
	waking.Wait()
	a.running.Wait()
	return err
}

// open reads the operator's halt.
func (a *Accounts) open(ctx, drain context.Context) error {
	host, _, err := desk.LoadStored(ctx, a.cfg.Store, a.cfg.Host)
	if err != nil {
		return fmt.Errorf("trading state of all owners: %w", err)
	}
	halted, err := a.storedHalts(ctx)
	if err != nil {
		return err
	}
	a.mu.Lock()
	a.host, a.halted, a.ctx, a.drain = host, halted, ctx, drain
	a.mu.Unlock()
	close(a.started)
	return nil
}

func (a *Accounts) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopped = true
	for _, one := range a.awake {
		one.stop()
	}
}

// watch does the periodic work until ctx ends, or a desk is fenced.
func (a *Accounts) watch(ctx context.Context) error {
	tick := time.NewTicker(sweepInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := a.fenced(); err != nil {
			return err
		}
		a.sleep(a.cfg.Now().Add(-restAfter))
		if file := a.haltFile(); file != "" && !a.Halted() {
			if _, err := a.Halt(ctx, "the file "+file, "remove it first"); err != nil && ctx.Err() == nil {
				a.cfg.Log.ErrorContext(ctx, "halt file found but halting failed; retrying", "file", file, "error", err)
			}
		}
	}
}

// fenced returns the error of a desk that the store has fenced: it has all of them.
func (a *Accounts) fenced() error {
	for _, one := range a.list() {
		select {
		case <-one.done:
			if one.fence != nil {
				return one.fence
			}
		default:
		}
	}
	return nil
}

// haltFile returns the halt file if it exists, "" if not.
func (a *Accounts) haltFile() string {
	if a.cfg.HaltFile == "" {
		return ""
	}
	if _, err := os.Lstat(a.cfg.HaltFile); errors.Is(err, os.ErrNotExist) {
		return ""
	}
	return desk.FileAt(a.cfg.HaltFile, a.cfg.Replica)
}

// wakeTraders wakes every account that has traded, a few at a time. Those at rest sleep again.
func (a *Accounts) wakeTraders(ctx context.Context) {
	owners, err := a.cfg.Traders(ctx)
	for wait := time.Second; err != nil && retry.Sleep(ctx, wait) == nil; wait = min(2*wait, time.Minute) {
		a.cfg.Log.ErrorContext(ctx, "accounts with open orders not read; retrying", "error", err)
		owners, err = a.cfg.Traders(ctx)
	}
	slots := make(chan struct{}, maxWaking)
	var waking sync.WaitGroup
	defer waking.Wait()
	for _, owner := range owners {
		if owner == a.cfg.Host || a.standing(owner) == Erased {
			continue
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		waking.Go(func() {
			defer func() { <-slots }()
			a.wakeTrader(ctx, owner)
		})
	}
}

// wakeTrader wakes an account, and lets it sleep again if it is at rest.
func (a *Accounts) wakeTrader(ctx context.Context, owner principal.Owner) {
	one, release, err := a.use(ctx, owner)
	if err != nil {
		if ctx.Err() == nil {
			a.cfg.Log.ErrorContext(ctx, "account not opened", "owner", owner, "error", err)
		}
		return
	}
	one.Desk.AwaitReconciled(ctx)
	release()
	if !one.Desk.AtRest() {
		return
	}
	a.rest(one)
	select {
	case <-one.done: // so that few are awake at a time
	case <-ctx.Done():
	}
}

func (a *Accounts) standing(owner principal.Owner) Standing {
	if a.cfg.Standing == nil {
		return Active
	}
	return a.cfg.Standing(owner)
}

// list returns the accounts that are awake.
func (a *Accounts) list() []*account {
	if all := a.all.Load(); all != nil {
		return *all
	}
	return nil
}

// publish replaces the list. The caller holds the lock.
func (a *Accounts) publish() {
	all := make([]*account, 0, len(a.awake))
	for _, one := range a.awake {
		all = append(all, one)
	}
	a.all.Store(&all)
}

// Observe passes a price event of the feed to every account that is awake.
func (a *Accounts) Observe(e provider.Event) {
	for _, one := range a.list() {
		select {
		case <-one.ready:
		default:
			continue
		}
		if one.err != nil {
			continue
		}
		if one.Observe != nil {
			one.Observe(e)
		}
		one.Desk.Observe(e)
	}
}

// errFull refuses an account while too many are awake.
var errFull = &fault.Error{Kind: fault.Unavailable, Code: "busy", Message: "Too many accounts trade at the moment; nothing was done. Retry in a minute.", Retryable: true}

// errStopping refuses calls after the end of Run.
var errStopping = &fault.Error{Kind: fault.Unavailable, Code: desk.CodeStopping, Message: "candela is shutting down; nothing was done. Retry in a moment.", Retryable: true}

// use returns the account of an owner, awake. It stays so until release is called.
func (a *Accounts) use(ctx context.Context, owner principal.Owner) (one *account, release func(), err error) {
	select {
	case <-a.started:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	for {
		var ends bool
		one, ends, err = a.take(owner) //nolint:contextcheck // an account outlives the call that wakes it
		if err != nil {
			return nil, nil, err
		}
		if ends { // then the next one begins
			select {
			case <-one.done:
				continue
			case <-ctx.Done():
				return nil, nil, ctx.Err()
			}
		}
		select {
		case <-one.ready:
		case <-ctx.Done():
			a.release(one)
			return nil, nil, ctx.Err()
		}
		if one.err != nil {
			a.release(one)
			return nil, nil, one.err
		}
		return one, func() { a.release(one) }, nil
	}
}

// take returns the account of an owner and counts a call of it, or reports that it is about to
// sleep.
func (a *Accounts) take(owner principal.Owner) (one *account, ends bool, err error) {
	if owner == "" || owner == a.cfg.Host || a.standing(owner) == Erased {
		return nil, false, &fault.Error{Kind: fault.Unauthorized, Code: "not_your_account", Message: "There is no trading account of yours on this server."}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stopped {
		return nil, false, errStopping
	}
	one = a.awake[owner]
	switch {
	case one != nil && one.ends:
		return one, true, nil
	case one == nil && len(a.awake) >= maxAwake:
		return nil, false, errFull
	case one == nil:
		one = a.wake(owner)
	}
	one.calls++
	return one, false, nil
}

func (a *Accounts) release(one *account) {
	a.mu.Lock()
	defer a.mu.Unlock()
	one.calls--
	one.used = a.cfg.Now()
}

// wake starts the desk of an owner. The caller holds the lock.
func (a *Accounts) wake(owner principal.Owner) *account {
	ctx, stop := context.WithCancel(a.ctx)
	one := &account{owner: owner, ready: make(chan struct{}), done: make(chan struct{}), stop: stop, used: a.cfg.Now()}
	a.awake[owner] = one
	a.publish()
	a.running.Go(func() {
		defer stop()
		err := a.run(ctx, one)
		a.forget(one, err)
	})
	return one
}

// run runs the desk of an account.
func (a *Accounts) run(ctx context.Context, one *account) error {
	opened, err := a.cfg.Open(ctx, one.owner, a.markets.Of(one.owner))
	if err != nil {
		return err
	}
	one.Opened = opened
	var halting sync.WaitGroup
	defer halting.Wait()
	return opened.Desk.Run(ctx, a.drain, func() {
		halting.Go(func() {
			// An account that does not know of a halt for all takes no orders; the next call wakes it again.
			if one.err = a.enforce(ctx, one); one.err != nil {
				one.stop()
			}
			close(one.ready)
		})
	})
}

// forget removes an account that has stopped.
func (a *Accounts) forget(one *account, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil {
		err = errStopping
	}
	select {
	case <-one.ready:
	default:
		one.err = err
		close(one.ready)
	}
	a.markets.Of(one.owner).Follow(nil)
	if errors.Is(err, desk.ErrFenced) {
		one.fence = err
		close(one.done)
		return // watch finds it
	}
	delete(a.awake, one.owner)
	a.publish()
	close(one.done)
}

// sleep lets accounts at rest sleep that were not used since a time; all of them while there are
// too many.
func (a *Accounts) sleep(since time.Time) {
	a.mu.Lock()
	full := len(a.awake) >= maxAwake
	a.mu.Unlock()
	for _, one := range a.list() {
		select {
		case <-one.ready:
		default:
			continue
		}
		if one.err == nil && one.Desk.AtRest() {
			a.restIf(one, func() bool { return full || one.used.Before(since) })
		}
	}
}

// rest lets an account sleep that nobody uses.
func (a *Accounts) rest(one *account) { a.restIf(one, func() bool { return true }) }

func (a *Accounts) restIf(one *account, may func() bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if one.calls == 0 && !one.ends && may() {
		one.ends = true
		one.stop()
	}
}

// Awake returns how many accounts are awake.
func (a *Accounts) Awake() int { return len(a.list()) }

// sorted returns the accounts that accept calls, by owner.
func (a *Accounts) sorted() []*account {
	all := slices.DeleteFunc(slices.Clone(a.list()), func(one *account) bool {
		select {
		case <-one.ready:
			return one.err != nil
		default:
			return true
		}
	})
	slices.SortFunc(all, func(x, y *account) int { return cmp.Compare(x.owner, y.owner) })
	return all
}
