package desk

import (
	"context"
	"errors"
	"sync"
	"time"

	"candela/internal/kit/fault"
	"candela/internal/kit/principal"
	"candela/internal/kit/retry"
	"candela/internal/market"
	"candela/internal/market/provider"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

const tickInterval = time.Second // all deadlines are kept to about this

// loop is a running desk. One goroutine owns it.
type loop struct {
	*Desk
	ctx, drainCtx context.Context
	loopDone      chan struct{} // closed when the writer takes no more results
	results       chan func()   // of what runs beside it
	reports       chan order.Report
	running       sync.WaitGroup

	book        *order.Book
	state       guard.State
	unsaved     bool // state could not be persisted
	instruments map[market.Symbol]provider.Instrument

	// Cancels have a lane of their own: orders that hang must not hold up a halt.
	sends, cancels, reads taskQueue
	inFlight              map[string]bool // ids of orders that are being sent or cancelled
	polls                 map[string]*orderPoll
	waiters               map[string][]*waiter
	deferredWakes         map[string]bool // ids of orders whose waiters are notified when no report is queued
	denials               []time.Time     // refusals that were persisted within a minute
	dryRuns               []guard.Recent  // dry runs within a minute

	lastTick  time.Time // when deadlines were kept last
	resumedAt time.Time // when the process last went on after it had stood still

	// delistedSymbols are the symbols of a simulated account whose venue is gone, and why.
	delistedSymbols map[market.Symbol]string

	retries             map[string]*attempts // of cancels while the owner has halted
	lastEviction        time.Time            // when orders were last forgotten
	eventsSinceSnapshot int                  // events that are not in the snapshot of the book
	snapshot            attempts             // of the book: when the next may be kept
	lastPricedAt        time.Time            // when the worth of every position was last known

	// reload is when to read the book anew that lacks what the store took; nil
	// while it has all.
	reload *attempts

	stopping       bool               // nothing new is begun
	fenced         error              // why the account is no longer ours, once that is known
	cancelInFlight context.CancelFunc // ends what is on its way to the venue
	reconciliation reconciliation
}

// attempts counts the consecutive failures of something and when it may be tried again.
type attempts struct {
	failures int
	next     time.Time
}

// failed sets the time of the next attempt and returns the delay until then.
func (a *attempts) failed(now time.Time, backoff retry.Backoff) time.Duration {
	a.failures++
	wait := backoff.Bound(a.failures)
	a.next = now.Add(wait)
	return wait
}

// waiter waits for the venue's answer about an order.
type waiter struct {
	isDone func(*loop, order.Order) bool // whether it has come
	done   chan struct{}                 // closed then
	result order.Order                   // as it is known; of who reads it after done
}

// deliver gives a waiter the order that it waits for.
func (one *waiter) deliver(o order.Order) {
	one.result = o
	close(one.done)
}

func newLoop(ctx, drainCtx context.Context, d *Desk) *loop {
	drainCtx, drop := context.WithCancel(drainCtx)
	l := &loop{
		Desk: d, ctx: ctx, drainCtx: drainCtx, cancelInFlight: drop, loopDone: make(chan struct{}), results: make(chan func()), reports: make(chan order.Report, maxReports),
		book: order.NewBook(d.cfg.Owner), instruments: make(map[market.Symbol]provider.Instrument),
		inFlight: make(map[string]bool), polls: make(map[string]*orderPoll), waiters: make(map[string][]*waiter), deferredWakes: make(map[string]bool), retries: make(map[string]*attempts),
	}
	l.sends = taskQueue{loop: l, maxRunning: maxSends, timeout: submitTimeout}
	l.cancels = taskQueue{loop: l, maxRunning: maxSends, timeout: submitTimeout}
	l.reads = taskQueue{loop: l, maxRunning: maxReads, timeout: readTimeout}
	return l
}

// now is the time as events bear it.
func (l *loop) now() time.Time { return l.cfg.Now().UTC().Truncate(time.Microsecond) }

// restore reads the account. Orders that were on their way when the last writer
// ended are asked for.
func (l *loop) restore() error {
	if err := l.loadBook(); err != nil {
		return err
	}
	state, err := loadGuard(l.ctx, l.cfg.Store, l.cfg.Owner)
	if err != nil {
		return err
	}
	l.state = state.Restart(l.now())
	if err := l.loadCursors(); err != nil {
		return err
	}
	l.publish()
	return nil
}

// run handles one thing at a time until the context ends, and then waits for what
// is on its way.
func (l *loop) run(ctx context.Context) error {
	listening, stop := context.WithCancel(ctx)
	l.running.Go(func() { l.streamReports(listening) })
	ticker := time.NewTicker(tickInterval)
	defer ticker.Stop()
	l.lastPricedAt = l.now()
	l.onTick()
	for ctx.Err() == nil && l.fenced == nil {
		select {
		case <-ctx.Done():
		case command := <-l.commands:
			command(l)
		case apply := <-l.results:
			apply()
		case r := <-l.reports:
			l.handleReport(r)
			l.notifyDeferred()
		case <-ticker.C:
			l.onTick()
		}
	}
	close(l.commandsClosed)
	stop()
	l.drain()
	l.cancelInFlight() // questions change nothing, so nobody waits for a venue that does not answer them
	close(l.loopDone)
	l.running.Wait()
	l.cfg.Market.Follow(nil) // whoever trades next has another
	return l.fenced
}

// drain takes the answers of what is on its way until the hard end. What has not
// begun is not begun: it is persisted as sent and asked for at the next start.
func (l *loop) drain() {
	l.stopping = true
	l.notifyDeferred()
	for l.fenced == nil && (l.sends.running > 0 || l.cancels.running > 0) {
		select {
		case apply := <-l.results:
			apply()
		case r := <-l.reports:
			l.handleReport(r)
		case <-l.drainCtx.Done():
			return
		}
	}
}

// commit persists events and then lets them count. The store refuses what cannot
// be, and then nothing has changed.
func (l *loop) commit(by principal.Caller, events ...order.Event) error {
	if len(events) == 0 {
		return nil
	}
	kept, err := l.cfg.Store.AppendEvents(l.drainCtx, by, events)
	if err != nil {
		l.storeFailed(err)
		return err
	}
	l.eventsSinceSnapshot += len(kept)
	touched := make(map[string]bool, 1)
	for _, e := range kept {
		if err := l.book.Apply(e); err != nil {
			// What the store took, the book must take: they follow one rule.
			l.cfg.Log.ErrorContext(l.drainCtx, "the book refuses what the store took; it is read anew", "event", e.Kind.String(), "order", e.OrderID, "error", err)
			if l.reload == nil {
				l.reload = &attempts{}
			}
			l.reloadBook(l.now())
			break
		}
		if e.OrderID != "" {
			touched[e.OrderID] = true
		}
	}
	for id := range touched {
		if o, ok := l.book.Order(id); ok {
			l.trackOrder(o)
			l.notifyWaiters(o)
		}
	}
	l.publish()
	return nil
}

// storeFailed halts trading when the store does not work. A refusal is none of
// that.
func (l *loop) storeFailed(err error) {
	if l.checkFenced(err) || l.drainCtx.Err() != nil {
		return // the program ends at once, and with it every write
	}
	switch fault.KindOf(err) {
	case fault.Conflict, fault.NotFound, fault.Invalid:
		if f := fault.Of(err); f.Code != "store_damaged" && f.Code != "store_tampered" {
			return
		}
	default:
	}
	l.restrict(l.systemCaller(), guard.Restriction{Kind: guard.StoreFailure, Reason: "what happens cannot be written down; the log has the reason"})
	l.cfg.Log.ErrorContext(l.drainCtx, "trading halts: the store fails", "error", err)
}

// fencedDrain is how long what is on its way to the venue may take when the account is
// another desk's: nobody else sends it.
const fencedDrain = 5 * time.Second

// checkFenced reports whether a store's error says that the account is another desk's,
// and ends this one: what it would write is refused, and it begins nothing.
func (l *loop) checkFenced(err error) bool {
	if l.fenced == nil && errors.Is(err, ErrFenced) {
		l.fenced, l.stopping = err, true
		timer := time.AfterFunc(fencedDrain, l.cancelInFlight)
		context.AfterFunc(l.drainCtx, func() { timer.Stop() })
		l.cfg.Log.WarnContext(l.drainCtx, "the account is no longer this desk's to write", "error", err)
	}
	return l.fenced != nil
}

// notifyWaiters notifies the waiters of an order, but not while reports are queued: the next
// one may fill the order that was just accepted.
func (l *loop) notifyWaiters(o order.Order) {
	if len(l.reports) > 0 && !l.stopping && l.waiters[o.ID] != nil {
		l.deferredWakes[o.ID] = true
		return
	}
	left := l.waiters[o.ID][:0]
	for _, one := range l.waiters[o.ID] {
		if one.isDone(l, o) {
			one.deliver(o)
		} else {
			left = append(left, one)
		}
	}
	if len(left) == 0 {
		delete(l.waiters, o.ID)
	} else {
		l.waiters[o.ID] = left
	}
}

// notifyDeferred notifies the waiters that wake left, once no report is queued.
func (l *loop) notifyDeferred() {
	for id := range l.deferredWakes {
		if len(l.reports) > 0 && !l.stopping {
			return
		}
		delete(l.deferredWakes, id)
		if o, ok := l.book.Order(id); ok {
			l.notifyWaiters(o)
		}
	}
}

// addWaiter adds somebody who waits for an order until known says that the answer has
// come.
func (l *loop) addWaiter(id string, isDone func(*loop, order.Order) bool) *waiter {
	one := &waiter{isDone: isDone, done: make(chan struct{})}
	if o, ok := l.book.Order(id); ok && isDone(l, o) {
		one.deliver(o)
		return one
	}
	l.waiters[id] = append(l.waiters[id], one)
	return one
}

// onTick keeps the deadlines.
func (l *loop) onTick() {
	now := l.now()
	l.watchClock(now)
	l.reloadBook(now)
	l.evictOnSchedule(now)
	l.saveSnapshot(now)
	l.checkHaltFile()
	l.checkMarket(now)
	if l.unsaved {
		l.saveState(l.systemCaller())
	}
	l.cancelOpenOrders(now)
	l.pollOrders(now)
	l.startReconciliation(now)
	l.checkReconcileAge(now)
}
