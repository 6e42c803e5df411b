package deploy

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/retry"
	"candela/internal/trading/desk"
	"candela/lib/fault"
	"candela/lib/market"
)

// Bounds of a runner.
const (
	mailbox     = 64   // bars and calls that wait for it; it reads bars that found no room
	mostMissed  = 1000 // bars that it makes up for; after more it pauses
	patience    = 20   // failures in a row after which it is tried more rarely
	appendLimit = 10 * time.Second
)

// runner owns one deployment: its goroutine alone computes it, and writes its journal.
type runner struct {
	*Deployments
	log    *slog.Logger
	mail   chan func(ctx context.Context)
	behind atomic.Bool                // bars found no room in mail
	view   atomic.Pointer[Deployment] // what others see
	done   chan struct{}              // closed when it has ended

	d      Deployment
	model  *Model                     // nil while there is nothing to compute
	closes func(open int64) time.Time // when a bar of the model closes
	open   []market.Bar               // computed and not recorded, none with intents
	newest market.Bar                 // that the model has computed
	failed int                        // in a row
	retry  *time.Timer                // of what failed, and of the next bar; never nil
	tried  map[string]bool            // keys of the entries that the model wants and that were placed or denied

	dust     decimal.Decimal // of what it holds, less than the venue lets it close
	together int             // how many exits became one stop and one target, as the venue holds no more; 0 for none

	unread bool // the journal could not be read
	unmade bool // the model could not be made or computed: its venue or the store did not answer
	due    bool // the account has not followed yet
}

// run computes the deployment until ctx ends or the deployment has. loaded is called once the journal was read, or could
// not be. Nothing is computed before all are loaded and the desk knows them.
func (r *runner) run(ctx context.Context, loaded func()) {
	defer close(r.done)
	r.retry = time.NewTimer(time.Hour)
	defer r.retry.Stop()
	r.read(ctx)
	loaded()
	defer r.release()
	select {
	case <-r.known:
	case <-ctx.Done():
		return
	}
	r.compute(ctx)
	r.checkRestored(ctx)
	r.catchUp(ctx)
	for {
		r.settle(ctx)
		r.await()
		if r.show(); r.d.State.Final() {
			return
		}
		select {
		case f := <-r.mail:
			f(ctx)
		case <-r.retry.C:
			r.resume(ctx)
			r.catchUp(ctx)
		case <-ctx.Done():
			return
		}
		if r.behind.Swap(false) {
			r.catchUp(ctx)
		}
	}
}

// resume tries again what could not be read or made.
func (r *runner) resume(ctx context.Context) {
	unread := r.unread
	if unread {
		r.d = Deployment{ID: r.d.ID}
		r.read(ctx)
	}
	if r.unread || !unread && !r.unmade {
		return
	}
	r.compute(ctx)
	if unread {
		r.changed(ctx)
	}
}

// checkRestored pauses a deployment of an account that was put back from a backup: where that comes from, another
// candela may trade for it.
func (r *runner) checkRestored(ctx context.Context) {
	if r.unread || r.d.State != Running || r.cfg.Restored == nil || !r.cfg.Restored() {
		return
	}
	if r.record(ctx, &entry{Kind: entryPaused, Cause: Restored, Detail: "the account was restored from a backup; make sure that nothing else trades for it"}) {
		r.changed(ctx)
	}
}

// grace is how long after its close a bar is waited for before it is read.
const grace = 3 * time.Second

// await sets when the next bar is read if nothing delivers it before.
func (r *runner) await() {
	if r.model == nil || r.failed > 0 {
		return
	}
	interval := time.Duration(r.d.Terms.Interval.Seconds()) * time.Second
	wait := r.closes(r.through()+r.d.Terms.Interval.Seconds()).Sub(r.cfg.Now()) + grace
	if wait <= 0 { // the market is closed, or its venue is late
		wait = min(interval/4, time.Minute)
	}
	r.retry.Reset(wait)
}

// again lets what failed be tried again later.
func (r *runner) again() {
	r.failed++
	most := time.Minute
	if r.failed > patience {
		most = 10 * time.Minute
	}
	r.retry.Reset(retry.Backoff{First: time.Second, Max: most}.Delay(r.failed, nil))
}

// readable returns an error if nothing may be added to the journal, because it cannot be read.
func (r *runner) readable() error {
	if !r.unread {
		return nil
	}
	return fault.New(fault.Unavailable, "store_damaged", "strategy %s: %s", r.d.ID, r.d.Detail)
}

// show lets others see the deployment as it is now.
func (r *runner) show() {
	d := r.d
	if r.model != nil {
		d.Model = r.model.result(r.perpetual())
		d.Bars, d.Through = d.Bars+len(r.open), r.through()
	}
	r.view.Store(&d)
}

// perpetual reports whether the deployment trades a perpetual future.
func (r *runner) perpetual() bool { _, is := r.d.Terms.Symbol.Pair(); return is }

// release gives back the model. Bars that wait for their block are read again after a start.
func (r *runner) release() {
	if r.model != nil {
		r.model.Close()
		r.model = nil
	}
	r.open = nil
}

// fail ends the model and pauses the deployment. Nothing is computed until the owner resumes it.
func (r *runner) fail(ctx context.Context, cause Cause, detail string) {
	r.release()
	r.due = true
	if !r.d.computes() {
		return
	}
	detail = fault.Clean(detail, mostDetail) // a script may have written it
	r.log.WarnContext(ctx, "strategy paused", "cause", cause, "detail", detail)
	if !r.record(ctx, &entry{Kind: entryPaused, Cause: cause, Detail: detail}) {
		r.unmade = true
		r.again()
		return
	}
	r.changed(ctx)
}

// changed lets the desk and others know of a change that the deployment made by itself.
func (r *runner) changed(ctx context.Context) {
	r.show()
	if err := r.announce(ctx); err != nil {
		r.log.ErrorContext(ctx, "strategy", "error", err)
	}
}

// mostDetail bounds what is recorded about a pause.
const mostDetail = 500

// record appends entries and applies them. After an error nothing was recorded.
func (r *runner) record(ctx context.Context, entries ...*entry) bool {
	now := r.cfg.Now()
	for _, e := range entries {
		e.At = now
	}
	data, err := encode(entries...)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, appendLimit)
		defer cancel()
		err = r.cfg.Journal.AppendJournal(ctx, r.cfg.Owner, namePrefix+r.d.ID, data)
	}
	if err != nil {
		r.log.ErrorContext(ctx, "strategy not recorded", "error", err)
		return false
	}
	for _, e := range entries {
		if err := r.d.apply(e); err != nil {
			r.log.ErrorContext(ctx, "strategy", "error", err)
		}
	}
	if last := entries[len(entries)-1]; r.cfg.Changed != nil && !last.silent() {
		r.cfg.Changed(ctx, r.d, Change{last.Kind, last.By})
	}
	return true
}

// bar computes a bar that has closed. After a gap the bars between are read.
func (r *runner) bar(ctx context.Context, b market.Bar) {
	switch {
	case r.model == nil || b.T <= r.through():
	case b.T == r.through()+r.d.Terms.Interval.Seconds():
		r.due = r.step(ctx, b) || r.due
	default:
		r.catchUp(ctx)
	}
}

// through returns the open of the newest bar that was computed.
func (r *runner) through() int64 {
	if n := len(r.open); n > 0 {
		return r.open[n-1].T
	}
	return max(r.d.Through, r.d.Terms.First-1)
}

// step computes the next bar and records it. It reports whether the bar was recorded or needs no record yet.
func (r *runner) step(ctx context.Context, b market.Bar) bool {
	r.newest = b
	intents, err := r.model.Step(b)
	if err != nil {
		r.flush(ctx)
		r.fail(ctx, ScriptFailed, err.Error())
		return false
	}
	if b.T <= r.d.history || len(intents) == 0 {
		r.open = append(r.open, b)
		if len(r.open) < r.block(b.T) {
			return true
		}
		return r.flush(ctx)
	}
	return r.keep(ctx, barOf(&b, intents, r.late(b)), b)
}

// late reports whether a bar has come too late for entries: later than a quarter of its interval after its close, at
// least 10 s and at most a minute.
func (r *runner) late(b market.Bar) bool {
	return r.cfg.Now().Sub(r.closes(b.T)) > r.lateLimit()
}

func (r *runner) lateLimit() time.Duration {
	limit := time.Duration(r.d.Terms.Interval.Seconds()) * time.Second / 4
	return min(max(limit, 10*time.Second), time.Minute)
}

// block returns how many bars are recorded at once.
func (r *runner) block(t int64) int {
	if t < r.d.history {
		return historyBars
	}
	return blockBars
}

// flush records the bars that wait for their block.
func (r *runner) flush(ctx context.Context) bool { return r.keep(ctx, nil, market.Bar{}) }

// keep records the bars that wait and one with intents, in one append. If that fails, the model is ahead of the
// journal: it is computed again from there.
func (r *runner) keep(ctx context.Context, last *entry, b market.Bar) bool {
	var entries []*entry
	if len(r.open) > 0 {
		block, err := blockOf(r.open)
		if err != nil {
			r.log.ErrorContext(ctx, "strategy not recorded", "error", err)
			return false
		}
		entries = append(entries, block)
	}
	if last != nil {
		entries = append(entries, last)
	}
	if len(entries) == 0 {
		return true
	}
	if !r.record(ctx, entries...) {
		r.restart(ctx)
		return false
	}
	if n := len(r.open); n > 0 {
		r.d.note(n, r.open[n-1].T, written{})
	}
	r.open = r.open[:0]
	if last != nil {
		r.d.note(1, b.T, last.Intents)
	}
	return true
}

// restart computes the deployment again from its journal.
func (r *runner) restart(ctx context.Context) {
	r.release()
	r.d = Deployment{ID: r.d.ID}
	r.read(ctx)
	r.unmade = !r.unread
	r.again()
}

// catchUp reads and computes the bars since the newest one.
func (r *runner) catchUp(ctx context.Context) {
	if r.model == nil {
		return
	}
	bars, err := r.cfg.Bars.Closed(ctx, r.d.Terms.Symbol, r.d.Terms.Interval, r.through()+1)
	if err != nil {
		if ctx.Err() == nil {
			r.log.WarnContext(ctx, "bars not read", "error", err)
			r.again()
		}
		return
	}
	if missed := r.after(bars); missed > mostMissed {
		r.fail(ctx, LongOutage, fmt.Sprintf("%d bars were missed since %s, and %d is the most that is made up for", missed, market.Stamp(r.through()), mostMissed))
		return
	}
	for _, b := range bars {
		if ctx.Err() != nil || !r.step(ctx, b) {
			return
		}
		r.due = true
	}
	if !r.due {
		r.failed = 0
	}
}

// settle has the account follow the model, again later if it does not answer.
func (r *runner) settle(ctx context.Context) {
	if !r.due || r.unread {
		return
	}
	left := r.d.leaving == "" || r.depart(ctx)
	switch r.due = !r.checkLoss(ctx) || !r.carry(ctx) || !left; {
	case !r.due:
		r.failed = 0
	case ctx.Err() == nil:
		r.again()
	}
}

// checkLoss pauses a deployment whose account has lost what it may since the start, at the price of the newest bar. It
// reports false if the account cannot be read: nothing is sent then.
func (r *runner) checkLoss(ctx context.Context) bool {
	most := r.d.Limits.MaxLoss
	if !most.IsPositive() || r.d.State != Running || !r.trades(&r.d) || r.newest.T == 0 || r.model == nil {
		return true
	}
	book, _, err := r.deskOf(&r.d).DeploymentBook(ctx, r.d.ID, r.d.Terms.Symbol)
	if err != nil {
		r.log.WarnContext(ctx, "account of a strategy not read", "error", err)
		return false
	}
	p := book.Position(r.d.Terms.Symbol)
	net, _ := p.Net(cmp.Or(book.Currency, r.d.Terms.Quote))
	mark := decimalOf(r.newest.C, r.model.exact.price)
	lost := p.Quantity.Mul(mark).Sub(p.Cost).Add(net).Neg()
	if lost.LessThan(most) {
		return true
	}
	detail := fmt.Sprintf("its account has lost %s of %s at most; what it holds stays with its stops, and candela strategies resume %s --max-loss takes another limit", lost.Round(2), most, r.d.ID)
	if !r.record(ctx, &entry{Kind: entryPaused, Cause: LossLimit, Detail: detail}) {
		return false
	}
	r.changed(ctx)
	return true
}

// after counts the bars that come after the start.
func (r *runner) after(bars []market.Bar) int {
	n := 0
	for _, b := range bars {
		if b.T > r.d.history {
			n++
		}
	}
	return n
}

// ended is the error of a call to a runner that has ended.
func ended() error {
	return &fault.Error{Kind: fault.Unavailable, Code: desk.CodeStopping, Message: "candela is shutting down; nothing was done. Retry in a moment.", Retryable: true}
}
