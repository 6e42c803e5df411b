package desk

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"candela/internal/kit/fault"
	"candela/internal/kit/retry"
	"candela/internal/market"
	"candela/internal/market/provider"
	"candela/internal/trading/broker"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

const (
	compareEvery = time.Minute      // with the venue
	compareDeaf  = 10 * time.Second // the same while its reports do not flow
	lateTrades   = time.Hour        // for which the trades of an order that has ended are read
	recheck      = 5 * time.Second  // after which a difference must still be there to count
	minCompare   = time.Second      // after a comparison that failed, and then longer
	maxCompare   = 30 * time.Second //
	silence      = 3 * time.Minute  // without a comparison, after which trading is restricted
)

// census is the comparison of the account with the venue, and how far it has come.
type census struct {
	busy    bool
	soon    bool      // something asks for one
	next    time.Time // when the next is due; zero before the first
	fails   int       // in a row
	failure string    // why the last one failed; "" when it did not
	flows   bool      // the venue's reports do
	adopt   bool      // the owner accepts the venue's positions
	wiped   bool      // the venue has forgotten trades

	done     time.Time            // when the last one succeeded
	doubts   map[string]string    // differences that it found, by subject
	cursors  map[string]string    // by symbol: the trade up to which all are known
	since    map[string]time.Time // by symbol: from when on trades count
	complete bool                 // one has succeeded
}

// kept is what of a census survives a restart.
type kept struct {
	Cursors map[string]string    `json:"cursors,omitempty"`
	Since   map[string]time.Time `json:"since,omitempty"`
}

func (w *writer) loadCursors() error {
	w.census.cursors, w.census.since = make(map[string]string), make(map[string]time.Time)
	data, err := w.cfg.Store.State(w.ctx, w.cfg.Owner, w.cursorName())
	if err != nil || data == nil {
		return err
	}
	var k kept
	if err := json.Unmarshal(data, &k); err != nil {
		return fmt.Errorf("cursors: %w", err)
	}
	maps.Copy(w.census.cursors, k.Cursors)
	maps.Copy(w.census.since, k.Since)
	return nil
}

// cursorName is apart for each broker: their trades are counted apart.
func (w *writer) cursorName() string {
	return cursorName + " " + w.cfg.Broker.Name() + " " + string(w.cfg.Broker.Mode())
}

func (w *writer) saveCursors() {
	data, err := json.Marshal(kept{w.census.cursors, w.census.since})
	if err == nil {
		err = w.cfg.Store.SaveState(w.hard, w.service(), w.cursorName(), data)
	}
	if err != nil && !w.yields(err) {
		// Then the same trades are read again, and known ones count once.
		w.cfg.Log.WarnContext(w.hard, "cursors are not persisted", "error", err)
	}
}

// compare begins a comparison when one is due.
func (w *writer) compare(now time.Time) {
	c := &w.census
	if c.busy || !c.soon && now.Before(c.next) || c.fails > 0 && now.Before(c.next) {
		return
	}
	c.busy, c.soon = true, false
	q := w.question()
	w.reads.add(func(ctx context.Context) func() {
		answer := q.ask(ctx)
		return func() {
			c.busy = false
			w.compared(q, answer)
		}
	})
}

// checkSilence restricts trading while what the venue has is not known: the limits
// would be held against books that may have moved on.
func (w *writer) checkSilence(now time.Time) {
	if c := &w.census; c.complete && now.Sub(c.done) >= silence {
		w.raise(w.service(), guard.Restriction{
			Kind: guard.VenueSilent, Subject: w.cfg.Broker.Name(),
			Reason: "the account was last compared with " + w.cfg.Broker.Name() + " at " + c.done.Format(time.RFC3339),
		})
	}
}

// question is what a comparison asks the venue.
type question struct {
	broker    broker.Broker
	market    Market
	symbols   []market.Symbol // whose trades are read
	cursors   map[string]string
	ours      []order.Order // that are open, as far as we know
	unknown   []market.Symbol
	simulated bool // a venue of prices that is gone holds nothing up
	fresh     bool // nothing was ever traded: what is held is taken as found
	adopt     bool // trades are read anew
	// wiped says that the owner accepts that the venue begins anew, and placed are
	// the orders among which those are that it still has, newest first.
	wiped  bool
	placed []order.Order
	asked  time.Time
}

// answer is what it said.
type answer struct {
	err         error
	open        []order.Report
	orders      map[string]order.Report // by our id: those that are no longer listed as open
	missing     map[string]bool         // ids that the venue does not know
	fills       map[market.Symbol][]order.Fill
	forgotten   map[market.Symbol]string // the trade up to which all were known, where the venue does not have it
	kept        []string                 // ids of the orders that a venue that was wiped has
	holdings    []order.Holding
	newest      map[market.Symbol]string // trade, of what is taken as found
	quotes      map[market.Symbol]order.Quote
	instruments map[market.Symbol]provider.Instrument
	lost        map[market.Symbol]string // what a simulated account holds of a venue that is gone, and why
	skew        time.Duration
	clocked     bool
}

func (w *writer) question() question {
	q := question{broker: w.cfg.Broker, market: w.cfg.Market, cursors: maps.Clone(w.census.cursors), adopt: w.census.adopt, simulated: w.cfg.Simulated, asked: w.now()}
	if q.adopt {
		clear(q.cursors)
		q.wiped = w.census.wiped
	}
	seen := make(map[market.Symbol]bool)
	for _, o := range w.book.Newest(listed) {
		// What has long ended has told its trades; each symbol costs a request.
		if o.Status != order.Denied && (!w.census.complete || q.adopt || !o.Updated.Before(q.asked.Add(-lateTrades))) {
			seen[o.Symbol] = true
		}
		if q.wiped && !o.External && o.VenueID != "" {
			q.placed = append(q.placed, o)
		}
	}
	for _, o := range w.book.Open() {
		seen[o.Symbol] = true
		if !o.External && !w.flights[o.ID] && (o.Status == order.Accepted || o.Status == order.PartiallyFilled) {
			q.ours = append(q.ours, o)
		}
	}
	for _, p := range w.book.Positions() {
		if p.Side() != 0 {
			seen[p.Symbol] = true
		}
		// What a closed one has brought counts in its currency.
		if _, known := w.instruments[p.Symbol]; !known && !seen[p.Symbol] {
			q.unknown = append(q.unknown, p.Symbol)
		}
	}
	q.fresh = len(seen) == 0 && !w.census.complete && len(w.census.cursors) == 0
	for s := range seen {
		q.symbols = append(q.symbols, s)
		if _, known := w.instruments[s]; !known {
			q.unknown = append(q.unknown, s)
		}
	}
	slices.SortFunc(q.symbols, func(a, b market.Symbol) int { return cmp.Compare(a.String(), b.String()) })
	return q
}

// ask asks it all. Anything that is not answered makes the whole of it fail: half
// a comparison would find differences that are none.
func (q question) ask(ctx context.Context) (a answer) {
	a.orders, a.missing = make(map[string]order.Report), make(map[string]bool)
	a.fills, a.forgotten = make(map[market.Symbol][]order.Fill), make(map[market.Symbol]string)
	a.lost = make(map[market.Symbol]string)
	a.newest, a.quotes, a.instruments = make(map[market.Symbol]string), make(map[market.Symbol]order.Quote), make(map[market.Symbol]provider.Instrument)
	if a.open, a.err = q.broker.Open(ctx); a.err != nil {
		return a
	}
	if a.err = q.askOrders(ctx, &a); a.err != nil {
		return a
	}
	if a.err = q.askFills(ctx, &a); a.err != nil {
		return a
	}
	if q.wiped {
		if a.kept, a.err = q.askKept(ctx); a.err != nil {
			return a
		}
	}
	if a.holdings, a.err = q.broker.Holdings(ctx); a.err != nil {
		return a
	}
	if a.err = q.askMarket(ctx, &a); a.err != nil {
		return a
	}
	if clock, ok := q.broker.(broker.Clock); ok {
		a.skew, a.err = clock.Skew(ctx)
		a.clocked = a.err == nil
	}
	return a
}

// askOrders asks for the orders that should be open and are not listed.
func (q question) askOrders(ctx context.Context, a *answer) error {
	for _, o := range q.ours {
		if slices.ContainsFunc(a.open, func(r order.Report) bool { return r.ID == o.ID }) {
			continue
		}
		r, err := q.broker.Query(ctx, o.Spec)
		switch {
		case errors.Is(err, broker.ErrNotFound):
			a.missing[o.ID] = true
		case err != nil:
			return err
		default:
			a.orders[o.ID] = r
		}
	}
	return nil
}

// askFills asks for the trades since the cursors.
func (q question) askFills(ctx context.Context, a *answer) error {
	for _, s := range q.symbols {
		cursor := q.cursors[s.String()]
		fills, err := q.broker.Fills(ctx, s, cursor)
		switch {
		case errors.Is(err, broker.ErrForgotten):
			a.forgotten[s] = cursor
		case err != nil:
			return err
		default:
			a.fills[s] = fills
		}
	}
	return nil
}

// askMarket asks what must be known of symbols. One that its venue has delisted
// holds nothing up.
func (q question) askMarket(ctx context.Context, a *answer) error {
	held := slices.Clone(q.unknown)
	for _, h := range a.holdings {
		if q.fresh && !h.Symbol.IsZero() && !h.Quantity.IsZero() {
			held = append(held, h.Symbol)
			quote, err := q.market.Quote(ctx, h.Symbol)
			if err != nil {
				return err
			}
			a.quotes[h.Symbol] = quote
			fills, err := q.broker.Fills(ctx, h.Symbol, "")
			if err != nil {
				return err
			}
			if n := len(fills); n > 0 {
				a.newest[h.Symbol] = fills[n-1].TradeID
			}
		}
	}
	for _, s := range held {
		inst, err := q.broker.Instrument(ctx, s)
		kind := fault.KindOf(err)
		switch {
		case err == nil, kind == fault.NotFound && !q.simulated:
			a.instruments[s] = inst
		case !q.simulated:
			return err
		case kind == fault.NotFound || kind == fault.Invalid:
			a.lost[s] = why(err)
		default: // asked again by the next comparison
		}
	}
	return nil
}

// compared takes what the venue said.
func (w *writer) compared(q question, a answer) {
	c := &w.census
	now := w.now()
	if a.err != nil {
		c.fails++
		c.next = now.Add(retry.Backoff{First: minCompare, Max: maxCompare}.Delay(c.fails, w.cfg.Rand))
		w.cfg.Log.WarnContext(w.hard, "the account is not compared with the venue", "error", a.err, "attempt", c.fails)
		w.explain(why(a.err))
		return
	}
	c.fails, c.failure = 0, ""
	w.lose(a.lost)
	maps.Copy(w.instruments, a.instruments)
	if q.wiped && !w.beginAnew(q, a.kept) {
		return
	}
	c.wiped = len(a.forgotten) > 0
	for _, r := range a.open {
		w.heard(r)
		w.recall(r)
	}
	for _, o := range q.ours {
		if r, ok := a.orders[o.ID]; ok {
			w.found(o, r, nil)
		}
		if now, ok := w.book.Order(o.ID); ok && a.missing[o.ID] {
			w.watchAnyway(now)
			w.found(o, order.Report{}, broker.ErrNotFound)
		}
	}
	complete := w.takeFills(a.fills, q.adopt)
	w.endForeign(q, a)
	if q.fresh {
		w.takeOver(a)
	}
	if a.clocked {
		w.checkSkew(a.skew, now)
	}
	if !complete {
		// Books without a trade differ, and that would be no difference.
		c.next = now.Add(recheck)
		return
	}
	found := w.differences(a)
	if q.adopt {
		found = w.accept(found)
		w.census.adopt = len(found) > 0
	}
	w.judge(found, now)
}

// explain has the trading state say why the account was not compared yet.
func (w *writer) explain(failure string) {
	if w.census.complete || w.census.failure == failure {
		w.census.failure = failure
		return
	}
	w.census.failure = failure
	next, there := w.state.Lift(guard.Unreconciled, "")
	if !there {
		return
	}
	w.state, _ = next.Restrict(guard.Restriction{
		Kind: guard.Unreconciled, Since: w.now(),
		Reason: "the account could not be compared with " + w.cfg.Broker.Name() + ": " + failure + ". Orders can be cancelled",
	})
	w.publish()
}

// lose notes which symbols of a simulated account have no venue any more.
func (w *writer) lose(lost map[market.Symbol]string) {
	for s, reason := range lost {
		if w.lost[s] == "" {
			w.cfg.Log.WarnContext(w.hard, "a position has no venue any more: it counts at what it cost, and other symbols can be traded", "symbol", s.String(), "reason", reason)
		}
	}
	w.lost = lost
}

// recall cancels an order of ours that the venue has open though it has ended here:
// it was given up because the venue did not know it, whoever placed it was told so,
// and a halt would not find it. One that has left memory was taken for one from
// elsewhere, under which its trades count; the store knows that it is ours.
func (w *writer) recall(r order.Report) {
	o, ok := w.book.Order(r.ID)
	if !ok && r.ID != "" {
		var err error
		o, err = w.cfg.Store.Order(w.hard, w.cfg.Owner, r.ID)
		if ok = err == nil; !ok && fault.KindOf(err) != fault.NotFound {
			w.cfg.Log.WarnContext(w.hard, "whose order the venue has open is not known; it is looked up again", "order", r.ID, "error", err)
		}
	}
	if !ok || o.External || w.flights[o.ID] || o.Status != order.Canceled && o.Status != order.Rejected {
		return
	}
	w.cfg.Log.WarnContext(w.hard, "an order that was given up is open at the venue; it is cancelled", "order", o.ID, "status", o.Status.String())
	w.sendCancel(o)
}

// endForeign ends the orders that were placed elsewhere and are no longer open. Of
// those the venue is not asked by an id of ours; their trades are read like all.
// One that is new may be missing in the venue's list because that lags behind.
func (w *writer) endForeign(q question, a answer) {
	for _, o := range w.book.Open() {
		gone := !slices.ContainsFunc(a.open, func(r order.Report) bool { return r.VenueID == o.VenueID && r.Symbol == o.Symbol })
		if o.External && gone && o.Created.Before(q.asked.Add(-strangerWait)) {
			w.keep(o, w.event(o, order.KindGone, "it is no longer open at the venue"))
		}
	}
}

// checkSkew holds the venue's clock against ours.
func (w *writer) checkSkew(skew time.Duration, now time.Time) {
	if next, changed := w.state.CheckSkew(w.cfg.Policy, w.cfg.Broker.Name(), skew, now); changed {
		w.change(w.service(), next)
		w.cfg.Log.WarnContext(w.hard, "the clocks were compared", "skew", skew, "state", next.Level().String())
	}
}

// judge draws the consequences of a comparison. A difference counts when it is
// still there a moment later: a trade may have come between two answers.
func (w *writer) judge(found []difference, now time.Time) {
	c := &w.census
	doubts := make(map[string]string, len(found))
	pending := false
	for _, d := range found {
		doubts[d.subject] = d.what
		if c.doubts[d.subject] == d.what {
			w.raise(w.service(), guard.Restriction{Kind: guard.Mismatch, Subject: d.subject, Reason: d.text})
		} else {
			pending = true
		}
	}
	for _, cause := range w.state.Restrictions {
		if _, still := doubts[cause.Subject]; cause.Kind == guard.Mismatch && !still {
			w.lift(cause.Kind, cause.Subject)
		}
	}
	c.doubts, c.done = doubts, now
	c.next = now.Add(compareEvery)
	if !c.flows {
		c.next = now.Add(compareDeaf)
	}
	if pending {
		c.next = now.Add(recheck)
		return
	}
	if !c.complete {
		c.complete = true
		close(w.Desk.compared)
	}
	w.lift(guard.Unreconciled, "")
	w.lift(guard.VenueSilent, w.cfg.Broker.Name())
}
