package deploy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"candela/internal/kit/retry"
	"candela/lib/backtest"
	"candela/lib/fault"
	"candela/lib/market"
)

// Bounds of a runner.
const (
	mailbox     = 64   // bars and calls that wait for it; it reads bars that found no room
	mostMissed  = 1000 // bars that it makes up for; after more it pauses
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

	d        Deployment
	model    *Model                     // nil while there is nothing to compute
	closes   func(open int64) time.Time // when a bar of the model closes
	open     []market.Bar               // computed and not recorded, none with intents
	failed   int                        // reads in a row
	retry    *time.Timer                // of a read; never nil
	loading  bool
	unread   bool            // the journal could not be read
	tried    map[string]bool // keys of the entries that the model wants and that were placed or denied
	untraded *market.Bar     // at which the account did not answer
	trouble  *entry          // found while loading, not recorded yet
}

// run computes the deployment until ctx ends. loaded is called once the journal was read, or could not be.
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
	r.catchUp(ctx)
	r.await()
	for {
		r.show()
		select {
		case f := <-r.mail:
			f(ctx)
		case <-r.retry.C:
			if r.unread {
				r.restart(ctx)
			}
			r.catchUp(ctx)
		case <-ctx.Done():
			return
		}
		if r.behind.Swap(false) {
			r.catchUp(ctx)
		}
		r.await()
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

// read reads the journal. A deployment whose journal cannot be read is shown as paused, and read again later: the others
// go on.
func (r *runner) read(ctx context.Context) {
	id := r.d.ID
	err := r.load(ctx)
	if r.unread = err != nil && ctx.Err() == nil; r.unread {
		r.log.ErrorContext(ctx, "journal of a strategy not read", "error", err)
		r.release()
		r.d.ID, r.d.State, r.d.Cause, r.d.Detail = id, Paused, Unavailable, "its journal cannot be read: "+cut(err.Error())
		r.again()
	}
	r.show()
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

// load reads the journal and computes what it has.
func (r *runner) load(ctx context.Context) error {
	r.loading, r.trouble = true, nil
	err := r.readJournal(ctx)
	r.loading = false
	if err != nil {
		return err
	}
	switch engine := max(r.d.Terms.Engine, r.d.engine); {
	case r.trouble != nil:
		r.record(ctx, r.trouble)
	case r.model != nil && engine != backtest.Engine:
		r.record(ctx, &entry{Kind: entryEngine, Engine: backtest.Engine})
	}
	return nil
}

// readJournal applies the entries of the journal, and computes their bars.
func (r *runner) readJournal(ctx context.Context) error {
	for data, err := range r.cfg.Journal.Journal(ctx, r.cfg.Owner, namePrefix+r.d.ID) {
		if err != nil {
			return err
		}
		var e entry
		if err := json.Unmarshal(data, &e); err != nil {
			return fmt.Errorf("an entry of deployment %s cannot be read: %w", r.d.ID, err)
		}
		if err := r.d.apply(&e); err != nil {
			return fmt.Errorf("deployment %s: %w", r.d.ID, err)
		}
		if err := r.replay(ctx, &e); err != nil {
			return err
		}
	}
	if r.d.State.Final() {
		r.release()
	}
	return ctx.Err()
}

// replay computes the bars of an entry. Where other intents follow from them than were recorded, the deployment pauses.
func (r *runner) replay(ctx context.Context, e *entry) error {
	if e.Kind == entryStarted {
		return r.start(ctx)
	}
	bars, err := e.bars()
	if err != nil {
		return err
	}
	for _, b := range bars {
		if r.model == nil {
			r.d.note(b, e.Intents)
			continue
		}
		r.untraded = &b // perhaps: the process may have ended before the account followed
		intents, err := r.model.Step(b)
		switch {
		case err != nil:
			r.fail(ctx, ScriptFailed, err.Error())
		case b.T > r.d.history && !sameIntents(intents, e.Intents):
			r.differ(ctx, b, intents, e.Intents)
		}
		r.d.note(b, e.Intents)
	}
	return nil
}

// differ pauses a deployment whose bars now come to other intents.
func (r *runner) differ(ctx context.Context, b market.Bar, computed, recorded []Intent) {
	cause := Different
	if max(r.d.Terms.Engine, r.d.engine) != backtest.Engine {
		cause = EngineChanged
	}
	r.fail(ctx, cause, fmt.Sprintf("at the bar of %s %s was recorded, and %s is computed", market.Stamp(b.T), textOf(recorded), textOf(computed)))
}

// start makes the model of a deployment without history.
func (r *runner) start(ctx context.Context) error {
	r.release()
	made, err := r.cfg.Programs.Program(ctx, r.cfg.Owner, &r.d.Terms)
	if t := &r.d.Terms; err == nil && (!made.Tick.Equal(t.Tick) || !made.Step.Equal(t.Step)) {
		r.fail(ctx, NewInstrument, fmt.Sprintf("prices of %s are multiples of %s and quantities of %s now; they were %s and %s when it was proposed", t.Symbol, made.Tick, made.Step, t.Tick, t.Step))
		return nil
	}
	if err == nil {
		r.closes = made.Closes
		r.model, err = NewModel(r.d.ID, &r.d.Terms, made.Program)
	}
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.fail(ctx, Unavailable, err.Error())
	}
	return nil
}

// fail ends the model and pauses the deployment. Nothing is computed until the owner resumes it.
func (r *runner) fail(ctx context.Context, cause Cause, detail string) {
	r.release()
	if r.d.State != Running && r.d.Cause != ByOwner {
		return
	}
	paused := &entry{Kind: entryPaused, Cause: cause, Detail: cut(detail)}
	if r.loading {
		r.trouble = paused
		return
	}
	if r.record(ctx, paused) {
		r.show()
		if err := r.announce(ctx); err != nil {
			r.log.ErrorContext(ctx, "strategy", "error", err)
		}
	}
	r.log.WarnContext(ctx, "strategy paused", "cause", cause, "detail", cut(detail))
}

// mostDetail bounds what is recorded about a pause.
const mostDetail = 500

func cut(text string) string {
	if len(text) <= mostDetail {
		return text
	}
	return string(bytes.ToValidUTF8([]byte(text[:mostDetail]), nil)) + "…"
}

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
	return true
}

// bar computes a bar that has closed. After a gap the bars between are read.
func (r *runner) bar(ctx context.Context, b market.Bar) {
	switch {
	case r.model == nil || b.T <= r.through():
	case b.T == r.through()+r.d.Terms.Interval.Seconds():
		if r.step(ctx, b) {
			r.trade(ctx, b)
		}
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
	last, err := barOf(b, intents, r.late(b))
	if err != nil {
		r.log.ErrorContext(ctx, "strategy not recorded", "error", err)
		return false
	}
	return r.keep(ctx, last, b)
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
	for _, open := range r.open {
		r.d.note(open, nil)
	}
	r.open = r.open[:0]
	if last != nil {
		r.d.note(b, last.Intents)
	}
	return true
}

// restart computes the deployment again from its journal, after a while.
func (r *runner) restart(ctx context.Context) {
	r.release()
	r.d = Deployment{ID: r.d.ID}
	if r.read(ctx); !r.unread {
		r.again()
	}
}

// again lets bars be read later.
func (r *runner) again() {
	r.failed++
	r.retry.Reset(retry.Backoff{First: time.Second, Max: time.Minute}.Delay(r.failed, nil))
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
		if !r.step(ctx, b) {
			return
		}
	}
	r.failed = 0
	if n := len(bars); n > 0 {
		r.trade(ctx, bars[n-1])
	} else if r.untraded != nil {
		r.trade(ctx, *r.untraded)
	}
}

// trade has the account follow the model after a bar, again later if the account does not answer.
func (r *runner) trade(ctx context.Context, b market.Bar) {
	if r.untraded = nil; !r.carry(ctx, b, r.late(b)) {
		r.untraded = &b
		r.again()
	}
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

// sameIntents reports whether both are equal in every term.
func sameIntents(a, b []Intent) bool {
	if len(a) != len(b) {
		return false
	}
	if len(a) == 0 {
		return true
	}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// textOf describes intents for people, the first of them.
func textOf(all []Intent) string {
	if len(all) == 0 {
		return "nothing"
	}
	i := &all[0]
	text := fmt.Sprintf("%s %q", i.Kind, i.ID)
	if i.Quantity.IsPositive() {
		text = fmt.Sprintf("%s %q (%s %s)", i.Kind, i.ID, i.Side, i.Quantity)
	}
	if len(all) > 1 {
		text += fmt.Sprintf(" and %d more", len(all)-1)
	}
	return text
}

// errEnded is the error of a call to a runner that has ended.
var errEnded = errors.New("candela is shutting down; nothing was done")
