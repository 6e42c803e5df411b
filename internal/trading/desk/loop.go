package desk

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"candela/internal/data/provider"
	"candela/internal/kit/principal"
	"candela/internal/kit/retry"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

const tickInterval = time.Second // resolution of all deadlines

// loop is the state of a running desk. Only its goroutine accesses it.
type loop struct {
	*Desk
	cfg           Config // of the Desk, but for Policy, which SetPolicy changes
	policyHash    string // of the policy, for the log
	ctx, drainCtx context.Context
	loopDone      chan struct{} // closed when no more results are accepted
	results       chan func()   // of async
	reports       chan order.Report
	running       sync.WaitGroup

	book        *order.Book
	state       guard.State
	unsaved     bool // state could not be saved
	instruments map[market.Symbol]provider.Instrument

	capabilities map[market.Symbol]order.Capabilities // of the symbols in instruments

	// Cancels have their own queue, so that submissions that hang do not delay a halt.
	sends, cancels, reads taskQueue
	inFlight              map[string]bool // IDs of orders that are being submitted or cancelled
	polls                 map[string]*orderPoll
	margins               map[market.Symbol]order.Holding // positions in perpetual futures, as the venue had them last
	nextPoll              *time.Timer                     // fires when the next of them is due
	waiters               map[string][]*waiter
	answers               []*waiter       // to be answered at the end of the step
	deferredWakes         map[string]bool // IDs of orders whose waiters are notified when no report is queued
	denials               []time.Time     // times of the denials recorded within the last minute
	dryRuns               []guard.Recent  // within the last minute

	shownReason string // of the halt after a restore, as the owner has seen it

	lastTick  time.Time
	resumedAt time.Time // when the process last continued after a standstill

	// delistedSymbols has, with the reason, symbols that no venue trades any more.
	delistedSymbols map[market.Symbol]string

	protector           protector
	held                heldOrders
	deferred            map[string]*deferred        // by the ID of the order, the first of its group
	changes             map[string]*planChange      // of the plan, by the ID of the first order, until the venue has answered
	uncancelled         map[string]cancelledLine    // by order: its line before a client cancelled the order, until the venue has answered
	levels              levels                      // see noteLevel
	deployments         map[string]guard.Deployment // that were started and have not ended, by ID; SetDeployments sets them
	retries             map[string]*attempts        // of cancels during an owner's halt
	pendingRetry        attempts                    // backoff of denials of orders that wait for the owner
	lastEviction        time.Time
	eventsSinceSnapshot int
	snapshot            attempts  // backoff of snapshots
	lastPricedAt        time.Time // when every position last had a price

	// reload is set while the book lacks events that the store has.
	reload *attempts

	stopping       bool  // no new task is started
	fenced         error // set when the store has fenced this desk
	cancelInFlight context.CancelFunc
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

// waiter waits for the result of a submission or cancel.
type waiter struct {
	isDone func(*loop, order.Order) bool
	done   chan struct{} // closed when result is set
	result order.Placed  // the order with its group; read-only after done
}

func newLoop(ctx, drainCtx context.Context, d *Desk) *loop {
	drainCtx, drop := context.WithCancel(drainCtx)
	l := &loop{
		Desk: d, cfg: d.cfg, ctx: ctx, drainCtx: drainCtx, cancelInFlight: drop, loopDone: make(chan struct{}), results: make(chan func()), reports: make(chan order.Report, maxReports),
		book: order.NewBook(d.cfg.Owner), instruments: make(map[market.Symbol]provider.Instrument), capabilities: make(map[market.Symbol]order.Capabilities),
		inFlight: make(map[string]bool), polls: make(map[string]*orderPoll), margins: make(map[market.Symbol]order.Holding), waiters: make(map[string][]*waiter), deferredWakes: make(map[string]bool), retries: make(map[string]*attempts),
	}
	l.usePolicy(d.cfg.Policy)
	l.deferred, l.levels, l.changes, l.uncancelled = make(map[string]*deferred), make(levels), make(map[string]*planChange), make(map[string]cancelledLine)
	l.held = heldOrders{triggers: make(map[string]*heldTrigger), pauses: make(map[market.Symbol]*attempts), cancels: make(map[string]*attempts)}
	l.held.unchecked, l.held.missed = make(map[string]bool), make(map[string]string)
	l.protector = protector{since: make(map[string]time.Time), tries: make(map[string]*attempts), dust: make(map[string]order.Gap), passed: make(map[string]bool)}
	l.sends = taskQueue{loop: l, maxRunning: maxSends, timeout: submitTimeout}
	l.cancels = taskQueue{loop: l, maxRunning: maxSends, timeout: submitTimeout}
	l.reads = taskQueue{loop: l, maxRunning: maxReads, timeout: readTimeout}
	return l
}

// now returns the time in the precision of stored events.
func (l *loop) now() time.Time { return l.cfg.Now().UTC().Truncate(time.Microsecond) }

// restore loads the account.
func (l *loop) restore() error {
	if err := l.loadBook(); err != nil {
		return err
	}
	state, err := loadGuard(l.ctx, l.cfg.Store, l.cfg.Owner)
	if err != nil {
		return err
	}
	if l.cfg.Hosted {
		state = state.ByHost()
	}
	l.state = state.Restart(l.now())
	if err := l.loadCursors(); err != nil {
		return err
	}
	l.publish()
	return l.loadWatched()
}

// run handles one message at a time until ctx ends, and then drains the calls in flight.
func (l *loop) run(ctx context.Context) error {
	listening, stop := context.WithCancel(ctx)
	l.running.Go(func() { l.streamReports(listening) })
	ticker := time.NewTicker(tickInterval)
	defer ticker.Stop()
	l.nextPoll = time.NewTimer(tickInterval)
	defer l.nextPoll.Stop()
	l.lastPricedAt = l.now()
	l.onTick()
	for _, o := range l.pending() {
		l.notifyOwner(o)
	}
	for ctx.Err() == nil && l.fenced == nil {
		select {
		case <-ctx.Done():
		case command := <-l.commands:
			command(l)
		case apply := <-l.results:
			apply()
		case r := <-l.reports:
			l.receive(r)
			l.notifyDeferred()
		case <-l.watches.moved:
			reached := l.checkPrices()
			if l.saveTrails(l.now(), false); !reached {
				l.answer()
				continue
			}
		case <-ticker.C:
			l.onTick()
		case <-l.nextPoll.C:
			l.pollOrders(l.now())
		}
		l.tendHeld()
		l.protectChanged()
		l.armPolls()
		l.answer()
	}
	l.watches.symbols.Store(nil)
	if l.fenced == nil {
		l.saveTrails(l.now(), true)
		l.saveWatched(l.now(), true)
	}
	close(l.commandsClosed)
	stop()
	l.drain()
	l.cancelInFlight() // queries change nothing and need no drain
	close(l.loopDone)
	l.running.Wait()
	l.cfg.Market.Follow(nil)
	return l.fenced
}

// drain applies the results of submissions and cancels in flight until drainCtx ends.
// Queued ones are not started; they are recorded as sent and are queried after the next
// start.
func (l *loop) drain() {
	l.stopping = true
	l.notifyDeferred()
	l.answer()
	for l.fenced == nil && (l.sends.running > 0 || l.cancels.running > 0) {
		select {
		case apply := <-l.results:
			apply()
		case r := <-l.reports:
			l.handleReport(r)
		case <-l.drainCtx.Done():
			return
		}
		l.answer()
	}
}

// commit stores events and then applies them to the book. On error nothing changes.
func (l *loop) commit(by principal.Caller, events ...order.Event) error {
	if len(events) == 0 {
		return nil
	}
	l.nameBases(events)
	markOwner(by, events)
	kept, err := l.cfg.Store.AppendEvents(l.drainCtx, by, events, l.addressed(l.book.Notices(events))...)
	if err != nil {
		l.storeFailed(err)
		return err
	}
	l.eventsSinceSnapshot += len(kept)
	l.noteReported(kept)
	touched := make(map[string]bool, 1)
	for _, e := range kept {
		if err := l.book.Apply(e); err != nil {
			// The store applies the same rules, so this is a bug or a concurrent writer.
			l.cfg.Log.ErrorContext(l.drainCtx, "event rejected by the book, reloading it from the store", "event", e.Kind.String(), "order", e.OrderID, "error", err)
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
			l.followGroup(o)
		}
	}
	l.checkOverfill(kept)
	l.checkForced(kept)
	l.protector.changed = true
	l.publish()
	for id := range touched { // who hears of a fill finds it in the position
		if o, ok := l.book.Order(id); ok {
			l.notifyWaiters(o)
		}
	}
	return nil
}

// storeFailed halts trading if the store failed, not if it rejected an event.
func (l *loop) storeFailed(err error) {
	if l.checkFenced(err) || l.drainCtx.Err() != nil {
		return // the process is ending
	}
	switch fault.KindOf(err) {
	case fault.Conflict, fault.NotFound, fault.Invalid:
		if f := fault.Of(err); f.Code != "store_damaged" && f.Code != "store_tampered" {
			return
		}
	default:
	}
	l.restrict(l.systemCaller(), guard.Restriction{Kind: guard.StoreFailure, Reason: "events cannot be stored; see the log"})
	l.cfg.Log.ErrorContext(l.drainCtx, "trading halted: store failed", "error", err)
}

// logUnsaved logs that something could not be stored. After a fence that is no error: another replica goes on with it.
func (l *loop) logUnsaved(what string, err error, attributes ...any) {
	level := slog.LevelError
	if l.fenced != nil {
		level = slog.LevelWarn
	}
	l.cfg.Log.Log(l.drainCtx, level, "store refused a record", append(attributes, "what", what, "error", err)...)
}

// fencedDrain is how long a fenced desk finishes calls to the venue: no other repeats them.
const fencedDrain = 5 * time.Second

// checkFenced reports whether the store has fenced this desk and, if so, stops it.
func (l *loop) checkFenced(err error) bool {
	if l.fenced == nil && errors.Is(err, ErrFenced) {
		l.fenced, l.stopping = err, true
		timer := time.AfterFunc(fencedDrain, l.cancelInFlight)
		context.AfterFunc(l.drainCtx, func() { timer.Stop() })
		l.cfg.Log.WarnContext(l.drainCtx, "account fenced: another process owns it, or a write has an unknown result", "error", err)
	}
	return l.fenced != nil
}

// notifyWaiters delivers an order to its waiters. While reports are queued it defers
// that: the next report may fill the order that was just accepted.
func (l *loop) notifyWaiters(o order.Order) {
	if len(l.reports) > 0 && !l.stopping && l.waiters[o.ID] != nil {
		l.deferredWakes[o.ID] = true
		return
	}
	left := slices.DeleteFunc(l.waiters[o.ID], func(one *waiter) bool {
		done := one.isDone(l, o)
		if done {
			l.answerLater(one, order.Placed{Order: o})
		}
		return done
	})
	l.setWaiters(o.ID, left)
}

// answerLater answers a waiter at the end of the step. By then the protector has followed what the
// step did, so that one trip to the loop returns the order with its group.
func (l *loop) answerLater(one *waiter, p order.Placed) {
	one.result = p
	l.answers = append(l.answers, one)
}

// answer answers the waiters whose orders this step has brought to their result.
func (l *loop) answer() {
	for _, one := range l.answers {
		l.addGroup(&one.result)
		close(one.done)
	}
	clear(l.answers)
	l.answers = l.answers[:0]
}

// grouped returns a result that is already there as one that comes with the group of its order.
func (l *loop) grouped(t *callResult) *callResult {
	if t.done && t.order.ID != "" {
		t.waiter = &waiter{done: make(chan struct{})}
		l.answerLater(t.waiter, t.order)
	}
	return t
}

func (l *loop) setWaiters(id string, left []*waiter) {
	if len(left) == 0 {
		delete(l.waiters, id)
	} else {
		l.waiters[id] = left
	}
}

// notifyDeferred delivers to the deferred waiters once no report is queued.
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

// addWaiter registers a waiter for an order. It is notified when isDone returns true.
func (l *loop) addWaiter(id string, isDone func(*loop, order.Order) bool) *waiter {
	one := &waiter{isDone: isDone, done: make(chan struct{})}
	if o, ok := l.book.Order(id); ok && isDone(l, o) {
		l.answerLater(one, order.Placed{Order: o})
		return one
	}
	l.waiters[id] = append(l.waiters[id], one)
	return one
}

// onTick runs the periodic work.
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
	l.endPendingOnTick(now)
	l.cancelOpenOrders(now)
	l.pollOrders(now)
	l.startReconciliation(now)
	l.checkReconcileAge(now)
	l.checkQuotes(now)
	l.checkLiquidations()
	l.saveTrails(now, false)
	l.saveWatched(now, false)
	l.protector.changed = true // a grace may have passed
}

// taskQueue runs venue calls in order, with limited concurrency. The loop owns it.
type taskQueue struct {
	loop       *loop
	maxRunning int
	timeout    time.Duration
	running    int
	queue      []queuedTask
}

type queuedTask struct {
	task        task
	stillWanted func() bool // checked before it starts; nil for always
}

// task calls the venue and returns a function that applies the result on the loop.
type task func(ctx context.Context) (apply func())

// add queues a task.
func (q *taskQueue) add(t task) { q.addIf(t, nil) }

// addIf queues a task that is dropped if stillWanted returns false when its turn comes.
func (q *taskQueue) addIf(t task, wanted func() bool) {
	q.queue = append(q.queue, queuedTask{t, wanted})
	q.dispatch()
}

func (q *taskQueue) dispatch() {
	for !q.full() && len(q.queue) > 0 && !q.loop.stopping {
		next := q.queue[0]
		q.queue = slices.Delete(q.queue, 0, 1)
		if next.stillWanted != nil && !next.stillWanted() {
			continue
		}
		q.running++
		q.loop.async(func(ctx context.Context) func() {
			apply := q.run(ctx, next.task)
			return func() {
				q.running--
				apply()
				q.loop.cancels.dispatch()
				q.loop.sends.dispatch()
				q.dispatch()
			}
		})
	}
}

// full reports whether a task must wait. A venue that takes one request at a time gets cancels first.
func (q *taskQueue) full() bool {
	l := q.loop
	if q == &l.reads || !l.serial() {
		return q.running >= q.maxRunning
	}
	return l.sends.running+l.cancels.running > 0 || q == &l.sends && len(l.cancels.queue) > 0
}

// serial reports whether the venue takes one request at a time.
func (l *loop) serial() bool {
	for _, can := range l.capabilities {
		if can.Serial {
			return true
		}
	}
	return false
}

func (q *taskQueue) run(ctx context.Context, t task) (apply func()) {
	ctx, cancel := context.WithTimeout(ctx, q.timeout)
	defer cancel()
	return t(ctx)
}

// async runs work in a new goroutine and applies its result on the loop. Its context
// outlives a stop, so work in flight can finish.
func (l *loop) async(work func(ctx context.Context) (apply func())) {
	l.running.Go(func() {
		apply := work(l.drainCtx)
		select {
		case l.results <- apply:
		case <-l.loopDone:
		}
	})
}
