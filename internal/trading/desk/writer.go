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

const tick = time.Second // all deadlines are kept to about this

// writer is a running desk. One goroutine owns it.
type writer struct {
	*Desk
	ctx, hard context.Context
	over      chan struct{} // closed when the writer takes no more results
	results   chan func()   // of what runs beside it
	reports   chan order.Report
	running   sync.WaitGroup

	book        *order.Book
	state       guard.State
	unsaved     bool // state could not be persisted
	instruments map[market.Symbol]provider.Instrument

	// Cancels have a lane of their own: orders that hang must not hold up a halt.
	sends, cancels, reads lane
	flights               map[string]bool // ids of orders that are being sent or cancelled
	chases                map[string]*chase
	waiters               map[string][]*waiter
	wakeLater             map[string]bool // ids of orders whose waiters are notified when no report is queued
	refused               []time.Time     // refusals that were persisted within a minute
	trials                []guard.Recent  // dry runs within a minute

	beaten time.Time // when deadlines were kept last
	stood  time.Time // when the process last went on after it had stood still

	// lost are the symbols of a simulated account whose venue is gone, and why.
	lost map[market.Symbol]string

	retries   map[string]*attempts // of cancels while the owner has halted
	pruned    time.Time            // when orders were last forgotten
	unsnapped int                  // events that are not in the snapshot of the book
	snapshot  attempts             // of the book: when the next may be kept
	priced    time.Time            // when the worth of every position was last known

	// behindStore is when to read the book anew that lacks what the store took; nil
	// while it has all.
	behindStore *attempts

	stopping bool               // nothing new is begun
	fenced   error              // why the account is no longer ours, once that is known
	drop     context.CancelFunc // ends what is on its way to the venue
	census   census
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
	known  func(*writer, order.Order) bool // whether it has come
	done   chan struct{}                   // closed then
	answer order.Order                     // as it is known; of who reads it after done
}

// tell gives a waiter the order that it waits for.
func (one *waiter) tell(o order.Order) {
	one.answer = o
	close(one.done)
}

func newWriter(ctx, hard context.Context, d *Desk) *writer {
	hard, drop := context.WithCancel(hard)
	w := &writer{
		Desk: d, ctx: ctx, hard: hard, drop: drop, over: make(chan struct{}), results: make(chan func()), reports: make(chan order.Report, maxReports),
		book: order.NewBook(d.cfg.Owner), instruments: make(map[market.Symbol]provider.Instrument),
		flights: make(map[string]bool), chases: make(map[string]*chase), waiters: make(map[string][]*waiter), wakeLater: make(map[string]bool), retries: make(map[string]*attempts),
	}
	w.sends = lane{w: w, most: maxSends, limit: sendLimit}
	w.cancels = lane{w: w, most: maxSends, limit: sendLimit}
	w.reads = lane{w: w, most: maxReads, limit: readLimit}
	return w
}

// now is the time as events bear it.
func (w *writer) now() time.Time { return w.cfg.Now().UTC().Truncate(time.Microsecond) }

// restore reads the account. Orders that were on their way when the last writer
// ended are asked for.
func (w *writer) restore() error {
	if err := w.replay(); err != nil {
		return err
	}
	state, err := loadGuard(w.ctx, w.cfg.Store, w.cfg.Owner)
	if err != nil {
		return err
	}
	w.state = state.Restart(w.now())
	if err := w.loadCursors(); err != nil {
		return err
	}
	w.publish()
	return nil
}

// run handles one thing at a time until the context ends, and then waits for what
// is on its way.
func (w *writer) run(ctx context.Context) error {
	listening, stop := context.WithCancel(ctx)
	w.running.Go(func() { w.listen(listening) })
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	w.priced = w.now()
	w.beat()
	for ctx.Err() == nil && w.fenced == nil {
		select {
		case <-ctx.Done():
		case command := <-w.commands:
			command(w)
		case apply := <-w.results:
			apply()
		case r := <-w.reports:
			w.heard(r)
			w.wakeRest()
		case <-ticker.C:
			w.beat()
		}
	}
	close(w.closed)
	stop()
	w.finish()
	w.drop() // questions change nothing, so nobody waits for a venue that does not answer them
	close(w.over)
	w.running.Wait()
	w.cfg.Market.Follow(nil) // whoever trades next has another
	return w.fenced
}

// finish takes the answers of what is on its way until the hard end. What has not
// begun is not begun: it is persisted as sent and asked for at the next start.
func (w *writer) finish() {
	w.stopping = true
	w.wakeRest()
	for w.fenced == nil && (w.sends.running > 0 || w.cancels.running > 0) {
		select {
		case apply := <-w.results:
			apply()
		case r := <-w.reports:
			w.heard(r)
		case <-w.hard.Done():
			return
		}
	}
}

// commit persists events and then lets them count. The store refuses what cannot
// be, and then nothing has changed.
func (w *writer) commit(by principal.Caller, events ...order.Event) error {
	if len(events) == 0 {
		return nil
	}
	kept, err := w.cfg.Store.AppendEvents(w.hard, by, events)
	if err != nil {
		w.storeFailed(err)
		return err
	}
	w.unsnapped += len(kept)
	touched := make(map[string]bool, 1)
	for _, e := range kept {
		if err := w.book.Apply(e); err != nil {
			// What the store took, the book must take: they follow one rule.
			w.cfg.Log.ErrorContext(w.hard, "the book refuses what the store took; it is read anew", "event", e.Kind.String(), "order", e.OrderID, "error", err)
			if w.behindStore == nil {
				w.behindStore = &attempts{}
			}
			w.catchUp(w.now())
			break
		}
		if e.OrderID != "" {
			touched[e.OrderID] = true
		}
	}
	for id := range touched {
		if o, ok := w.book.Order(id); ok {
			w.watch(o)
			w.wake(o)
		}
	}
	w.publish()
	return nil
}

// storeFailed halts trading when the store does not work. A refusal is none of
// that.
func (w *writer) storeFailed(err error) {
	if w.yields(err) || w.hard.Err() != nil {
		return // the program ends at once, and with it every write
	}
	switch fault.KindOf(err) {
	case fault.Conflict, fault.NotFound, fault.Invalid:
		if f := fault.Of(err); f.Code != "store_damaged" && f.Code != "store_tampered" {
			return
		}
	default:
	}
	w.raise(w.service(), guard.Restriction{Kind: guard.StoreFailure, Reason: "what happens cannot be written down; the log has the reason"})
	w.cfg.Log.ErrorContext(w.hard, "trading halts: the store fails", "error", err)
}

// yieldWait is how long what is on its way to the venue may take when the account is
// another desk's: nobody else sends it.
const yieldWait = 5 * time.Second

// yields reports whether a store's error says that the account is another desk's,
// and ends this one: what it would write is refused, and it begins nothing.
func (w *writer) yields(err error) bool {
	if w.fenced == nil && errors.Is(err, ErrFenced) {
		w.fenced, w.stopping = err, true
		timer := time.AfterFunc(yieldWait, w.drop)
		context.AfterFunc(w.hard, func() { timer.Stop() })
		w.cfg.Log.WarnContext(w.hard, "the account is no longer this desk's to write", "error", err)
	}
	return w.fenced != nil
}

// wake notifies the waiters of an order, but not while reports are queued: the next
// one may fill the order that was just accepted.
func (w *writer) wake(o order.Order) {
	if len(w.reports) > 0 && !w.stopping && w.waiters[o.ID] != nil {
		w.wakeLater[o.ID] = true
		return
	}
	left := w.waiters[o.ID][:0]
	for _, one := range w.waiters[o.ID] {
		if one.known(w, o) {
			one.tell(o)
		} else {
			left = append(left, one)
		}
	}
	if len(left) == 0 {
		delete(w.waiters, o.ID)
	} else {
		w.waiters[o.ID] = left
	}
}

// wakeRest notifies the waiters that wake left, once no report is queued.
func (w *writer) wakeRest() {
	for id := range w.wakeLater {
		if len(w.reports) > 0 && !w.stopping {
			return
		}
		delete(w.wakeLater, id)
		if o, ok := w.book.Order(id); ok {
			w.wake(o)
		}
	}
}

// wait adds somebody who waits for an order until known says that the answer has
// come.
func (w *writer) wait(id string, known func(*writer, order.Order) bool) *waiter {
	one := &waiter{known: known, done: make(chan struct{})}
	if o, ok := w.book.Order(id); ok && known(w, o) {
		one.tell(o)
		return one
	}
	w.waiters[id] = append(w.waiters[id], one)
	return one
}

// beat keeps the deadlines.
func (w *writer) beat() {
	now := w.now()
	w.watchClock(now)
	w.catchUp(now)
	w.prune(now)
	w.saveBook(now)
	w.checkHaltFile()
	w.checkMarket(now)
	if w.unsaved {
		w.save(w.service())
	}
	w.cancelAll(now)
	w.chase(now)
	w.compare(now)
	w.checkSilence(now)
}
