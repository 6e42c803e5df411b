package desk

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"candela/internal/data/provider"
	"candela/internal/kit/retry"
	"candela/internal/trading/broker"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

const (
	reconcileInterval         = time.Minute
	reconcileIntervalNoStream = 10 * time.Second // while the report stream is down
	fillLookback              = time.Hour        // fills of orders closed within this time are still read
	mismatchRecheck           = 5 * time.Second  // a mismatch must persist this long to count
	minReconcileBackoff       = time.Second
	maxReconcileBackoff       = 30 * time.Second
	maxReconcileAge           = 3 * time.Minute // trading is restricted after this time without a reconciliation
)

// reconciliation compares the account with the venue and tracks its progress.
type reconciliation struct {
	inProgress          bool
	requested           bool      // run one as soon as possible
	dueAt               time.Time // zero before the first
	consecutiveFailures int
	lastError           string // "" after a success
	streamUp            bool   // the report stream is connected
	acceptVenue         bool   // the owner accepts the venue's positions
	venueReset          bool   // the venue has lost known trades

	lastSuccess    time.Time
	lastMismatches map[string]string        // fingerprint by subject
	cursors        map[string]broker.Cursor // by symbol
	countFrom      map[string]time.Time     // by symbol: earlier trades do not count
	succeededOnce  bool
}

// savedCursors is the stored part of a reconciliation.
type savedCursors struct {
	Cursors map[string]broker.Cursor `json:"cursors,omitempty"`
	Since   map[string]time.Time     `json:"since,omitempty"`
}

func (l *loop) loadCursors() error {
	l.reconciliation.cursors, l.reconciliation.countFrom = make(map[string]broker.Cursor), make(map[string]time.Time)
	data, err := l.cfg.Store.State(l.ctx, l.cfg.Owner, l.cursorName())
	if err != nil || data == nil {
		return err
	}
	var k savedCursors
	if err := json.Unmarshal(data, &k); err != nil {
		return fmt.Errorf("cursors: %w", err)
	}
	maps.Copy(l.reconciliation.cursors, k.Cursors)
	maps.Copy(l.reconciliation.countFrom, k.Since)
	return nil
}

// cursorName returns the name of the broker's stored cursors.
func (l *loop) cursorName() string {
	return cursorName + " " + l.cfg.Broker.Name() + " " + string(l.cfg.Broker.Mode())
}

func (l *loop) saveCursors() {
	data, err := json.Marshal(savedCursors{l.reconciliation.cursors, l.reconciliation.countFrom})
	if err == nil {
		err = l.cfg.Store.SaveState(l.drainCtx, l.systemCaller(), l.cursorName(), data)
	}
	if err != nil && !l.checkFenced(err) {
		// The trades are read again; duplicates are ignored.
		l.cfg.Log.WarnContext(l.drainCtx, "cursor save failed", "error", err)
	}
}

// startReconciliation starts a reconciliation if one is due.
func (l *loop) startReconciliation(now time.Time) {
	c := &l.reconciliation
	if c.inProgress || !c.requested && now.Before(c.dueAt) || c.consecutiveFailures > 0 && now.Before(c.dueAt) {
		return
	}
	c.inProgress, c.requested = true, false
	q := l.newVenueQuery()
	l.reads.add(func(ctx context.Context) func() {
		answer := q.fetch(ctx)
		return func() {
			c.inProgress = false
			l.applyReconciliation(q, answer)
		}
	})
}

// checkReconcileAge restricts trading when the last reconciliation is too old: limits
// would be checked against outdated positions.
func (l *loop) checkReconcileAge(now time.Time) {
	if c := &l.reconciliation; c.succeededOnce && now.Sub(c.lastSuccess) >= maxReconcileAge {
		l.restrict(l.systemCaller(), guard.Restriction{
			Kind: guard.VenueSilent, Subject: l.cfg.Broker.Name(),
			Reason: "the last reconciliation with " + l.cfg.Broker.Name() + " was at " + c.lastSuccess.Format(time.RFC3339),
		})
	}
}

// venueQuery describes what a reconciliation reads from the venue.
type venueQuery struct {
	broker      broker.Broker
	log         *slog.Logger
	market      Market
	symbols     []market.Symbol // whose trades are read
	cursors     map[string]broker.Cursor
	ownOpen     []order.Order // own orders that should be open
	unknown     []market.Symbol
	simulated   bool          // an unavailable price venue is no error
	firstUse    bool          // nothing was ever traded: holdings are imported
	acceptVenue bool          // all trades are read again
	venueReset  bool          // the owner accepts a reset
	submitted   []order.Order // that may have survived the reset, newest first
	startedAt   time.Time
}

// venueState is what the venue returned.
type venueState struct {
	err         error
	open        []order.Report
	orders      map[string]order.Report // by order ID: those no longer listed as open
	notFound    map[string]bool         // IDs that the venue does not know
	fills       map[market.Symbol][]order.Fill
	cursors     map[market.Symbol]broker.Cursor // after the fills
	lostCursors map[market.Symbol]broker.Cursor // that the venue does not have
	survivors   []string                        // IDs of the orders that survived a reset
	holdings    []order.Holding
	newest      map[market.Symbol]broker.Cursor // after the trades of each imported holding
	quotes      map[market.Symbol]order.Quote
	instruments map[market.Symbol]provider.Instrument
	abilities   map[market.Symbol]order.Capabilities
	delisted    map[market.Symbol]string // held symbols of a simulated account that no venue trades, with the reason
	funding     []order.Funding          // of a month
	skew        time.Duration
	hasSkew     bool
}

func (l *loop) newVenueQuery() venueQuery {
	q := venueQuery{broker: l.cfg.Broker, log: l.cfg.Log, market: l.cfg.Market, cursors: maps.Clone(l.reconciliation.cursors), acceptVenue: l.reconciliation.acceptVenue, simulated: l.cfg.Simulated, startedAt: l.now()}
	if q.acceptVenue {
		clear(q.cursors)
		q.venueReset = l.reconciliation.venueReset
	}
	seen := make(map[market.Symbol]bool)
	for _, o := range l.book.Newest(maxListed) {
		// The fills of orders closed long ago are known, and each symbol costs a request.
		if o.Status != order.Denied && (!l.reconciliation.succeededOnce || q.acceptVenue || !o.Updated.Before(q.startedAt.Add(-fillLookback))) {
			seen[o.Symbol] = true
		}
		if q.venueReset && !o.External && o.VenueID != "" {
			q.submitted = append(q.submitted, o)
		}
	}
	for _, o := range l.book.Open() {
		seen[o.Symbol] = true
		if !o.External && !o.Local() && !l.inFlight[o.ID] && (o.Status == order.Accepted || o.Status == order.PartiallyFilled || o.Status == order.Held) {
			q.ownOpen = append(q.ownOpen, o)
		}
	}
	for _, p := range l.book.Positions() {
		if p.Side() != 0 {
			seen[p.Symbol] = true
		}
		// The profit of a closed position counts in its quote currency.
		if _, known := l.instruments[p.Symbol]; !known && !seen[p.Symbol] {
			q.unknown = append(q.unknown, p.Symbol)
		}
	}
	q.firstUse = len(seen) == 0 && !l.reconciliation.succeededOnce && len(l.reconciliation.cursors) == 0
	for s := range seen {
		q.symbols = append(q.symbols, s)
		if _, known := l.instruments[s]; !known {
			q.unknown = append(q.unknown, s)
		}
	}
	slices.SortFunc(q.symbols, func(a, b market.Symbol) int { return cmp.Compare(a.String(), b.String()) })
	return q
}

// fetch reads all or fails: a partial venue state would produce false mismatches.
func (q venueQuery) fetch(ctx context.Context) (a venueState) {
	a.orders, a.notFound = make(map[string]order.Report), make(map[string]bool)
	a.fills, a.lostCursors = make(map[market.Symbol][]order.Fill), make(map[market.Symbol]broker.Cursor)
	a.cursors = make(map[market.Symbol]broker.Cursor)
	a.delisted = make(map[market.Symbol]string)
	a.newest, a.quotes, a.instruments = make(map[market.Symbol]broker.Cursor), make(map[market.Symbol]order.Quote), make(map[market.Symbol]provider.Instrument)
	a.abilities = make(map[market.Symbol]order.Capabilities)
	if a.open, a.err = q.broker.Open(ctx); a.err != nil {
		return a
	}
	if a.err = q.fetchOrders(ctx, &a); a.err != nil {
		return a
	}
	if a.err = q.fetchFills(ctx, &a); a.err != nil {
		return a
	}
	if q.venueReset {
		if a.survivors, a.err = q.fetchSurvivors(ctx); a.err != nil {
			return a
		}
	}
	if a.holdings, a.err = q.broker.Holdings(ctx); a.err != nil {
		return a
	}
	if a.err = q.fetchMarket(ctx, &a); a.err != nil {
		return a
	}
	q.fetchFunding(ctx, &a)
	if clock, ok := q.broker.(broker.Clock); ok {
		a.skew, a.err = clock.Skew(ctx)
		a.hasSkew = a.err == nil
	}
	return a
}

// fetchOrders queries the orders that should be open but are not listed.
func (q venueQuery) fetchOrders(ctx context.Context, a *venueState) error {
	for _, o := range q.ownOpen {
		if slices.ContainsFunc(a.open, func(r order.Report) bool {
			return r.ID == o.ID || r.ID == "" && r.Symbol == o.Symbol && r.VenueID == o.VenueID
		}) {
			continue
		}
		r, err := q.broker.Query(ctx, o.Handle())
		switch {
		case errors.Is(err, broker.ErrNotFound):
			a.notFound[o.ID] = true
		case err != nil:
			return err
		default:
			a.orders[o.ID] = r
		}
	}
	return nil
}

// fetchFills reads the trades after the cursors.
func (q venueQuery) fetchFills(ctx context.Context, a *venueState) error {
	for _, s := range q.symbols {
		cursor := q.cursors[s.String()]
		fills, next, err := q.broker.Fills(ctx, s, cursor)
		switch {
		case errors.Is(err, broker.ErrCursorLost):
			a.lostCursors[s] = cursor
		case err != nil:
			return err
		default:
			a.fills[s], a.cursors[s] = fills, next
		}
	}
	return nil
}

// fetchMarket reads instruments and prices of holdings. A delisted symbol is no error.
func (q venueQuery) fetchMarket(ctx context.Context, a *venueState) error {
	held := slices.Clone(q.unknown)
	for _, h := range a.holdings {
		if q.firstUse && !h.Symbol.IsZero() && !h.Quantity.IsZero() {
			held = append(held, h.Symbol)
			quote, err := q.market.Quote(ctx, h.Symbol)
			if err != nil {
				return err
			}
			a.quotes[h.Symbol] = quote
			if _, a.newest[h.Symbol], err = q.broker.Fills(ctx, h.Symbol, ""); err != nil {
				return err
			}
		}
	}
	for _, s := range held {
		inst, err := q.broker.Instrument(ctx, s)
		kind := fault.KindOf(err)
		switch {
		case err == nil, kind == fault.NotFound && !q.simulated:
			can, err := q.broker.Capabilities(ctx, s)
			switch {
			case err == nil:
				a.instruments[s], a.abilities[s] = inst, can
			case fault.KindOf(err) == fault.NotFound:
				a.instruments[s] = inst
			case !q.simulated:
				return err // what the venue takes decides how a position is protected
			}
		case !q.simulated:
			return err
		case kind == fault.NotFound || kind == fault.Invalid:
			a.delisted[s] = publicReason(err)
		default: // the next reconciliation retries
		}
	}
	return nil
}

// applyReconciliation applies the venue state.
func (l *loop) applyReconciliation(q venueQuery, a venueState) {
	c := &l.reconciliation
	now := l.now()
	if a.err != nil {
		c.consecutiveFailures++
		c.dueAt = now.Add(retry.Backoff{First: minReconcileBackoff, Max: maxReconcileBackoff}.Delay(c.consecutiveFailures, l.cfg.Rand))
		l.cfg.Log.WarnContext(l.drainCtx, "reconciliation failed", "error", a.err, "attempt", c.consecutiveFailures)
		l.explainUnreconciled(publicReason(a.err))
		return
	}
	c.consecutiveFailures, c.lastError = 0, ""
	l.recordDelisted(a.delisted)
	maps.Copy(l.instruments, a.instruments)
	maps.Copy(l.capabilities, a.abilities)
	if q.venueReset && !l.resetAccount(q, a.survivors) {
		return
	}
	c.venueReset = len(a.lostCursors) > 0
	for _, r := range a.open {
		l.handleReport(r)
		l.cancelStray(r)
	}
	for _, o := range q.ownOpen {
		if r, ok := a.orders[o.ID]; ok {
			l.applyQuery(o, r, nil)
		}
		if now, ok := l.book.Order(o.ID); ok && a.notFound[o.ID] {
			l.forcePoll(now)
			l.applyQuery(o, order.Report{}, broker.ErrNotFound)
		}
	}
	complete := l.applyFills(a, q.acceptVenue)
	l.recordFunding(a)
	l.closeExternalOrders(q, a)
	if q.firstUse {
		l.importHoldings(a)
	}
	if a.hasSkew {
		l.checkSkew(a.skew, now)
	}
	if !complete {
		// Without all fills, mismatches would be false.
		c.dueAt = now.Add(mismatchRecheck)
		return
	}
	found := l.mismatches(a)
	if q.acceptVenue {
		found = l.acceptMismatches(found)
		l.reconciliation.acceptVenue = len(found) > 0
	}
	l.applyMismatches(found, now)
}

// explainUnreconciled puts the reason of a failed first reconciliation into the state.
func (l *loop) explainUnreconciled(failure string) {
	if l.reconciliation.succeededOnce || l.reconciliation.lastError == failure {
		l.reconciliation.lastError = failure
		return
	}
	l.reconciliation.lastError = failure
	next, there := l.state.Lift(guard.Unreconciled, "")
	if !there {
		return
	}
	l.state, _ = next.Restrict(guard.Restriction{
		Kind: guard.Unreconciled, Since: l.now(),
		Reason: "reconciliation with " + l.cfg.Broker.Name() + " failed: " + failure + ". Open orders can be cancelled",
	})
	l.publish()
}

// recordDelisted records the symbols of a simulated account that no venue trades.
func (l *loop) recordDelisted(lost map[market.Symbol]string) {
	for s, reason := range lost {
		if l.delistedSymbols[s] == "" {
			l.cfg.Log.WarnContext(l.drainCtx, "position delisted, valued at cost", "symbol", s.String(), "reason", reason)
		}
	}
	l.delistedSymbols = lost
}

// cancelStray cancels an order that is closed here but open at the venue. Its client
// knows it as closed, and a halt would miss it. An order that is no longer in memory was
// recorded as external; the store knows that it is ours.
func (l *loop) cancelStray(r order.Report) {
	o, ok := l.findOrder(r.ID, r.Symbol, r.VenueID)
	if (!ok || o.External) && r.ID != "" {
		var err error
		o, err = l.cfg.Store.Order(l.drainCtx, l.cfg.Owner, r.ID)
		if ok = err == nil; !ok && fault.KindOf(err) != fault.NotFound {
			l.cfg.Log.WarnContext(l.drainCtx, "order lookup failed", "order", r.ID, "error", err)
		}
	}
	if !ok || o.External || l.inFlight[o.ID] || o.Status != order.Canceled && o.Status != order.Rejected {
		return
	}
	l.cfg.Log.WarnContext(l.drainCtx, "closed order found open at the venue, canceling it", "order", o.ID, "status", o.Status.String())
	l.queueCancel(o)
}

// closeExternalOrders closes external orders that are no longer open at the venue. A new
// one may be missing because the venue's list lags behind.
func (l *loop) closeExternalOrders(q venueQuery, a venueState) {
	for _, o := range l.book.Open() {
		gone := !slices.ContainsFunc(a.open, func(r order.Report) bool { return r.VenueID == o.VenueID && r.Symbol == o.Symbol })
		if o.External && gone && o.Created.Before(q.startedAt.Add(-unmatchedGrace)) {
			l.commitReport(o, l.event(o, order.KindGone, "no longer open at the venue"))
		}
	}
}

// checkSkew compares the venue's clock with the local one.
func (l *loop) checkSkew(skew time.Duration, now time.Time) {
	if next, changed := l.state.CheckSkew(l.cfg.Policy, l.cfg.Broker.Name(), skew, now); changed {
		l.setState(l.systemCaller(), next)
		l.cfg.Log.WarnContext(l.drainCtx, "clock skew changed", "skew", skew, "state", next.Level().String())
	}
}

// applyMismatches restricts trading for each mismatch that two reconciliations in a row
// found. A single one may be a fill that arrived between two reads.
func (l *loop) applyMismatches(found []mismatch, now time.Time) {
	c := &l.reconciliation
	doubts := make(map[string]string, len(found))
	pending := false
	for _, d := range found {
		doubts[d.subject] = d.fingerprint
		if c.lastMismatches[d.subject] == d.fingerprint {
			l.restrict(l.systemCaller(), guard.Restriction{Kind: guard.Mismatch, Subject: d.subject, Reason: d.message})
		} else {
			pending = true
		}
	}
	for _, cause := range l.state.Restrictions {
		if _, still := doubts[cause.Subject]; cause.Kind == guard.Mismatch && !still {
			l.liftRestriction(cause.Kind, cause.Subject)
		}
	}
	c.lastMismatches, c.lastSuccess = doubts, now
	c.dueAt = now.Add(reconcileInterval)
	if !c.streamUp {
		c.dueAt = now.Add(reconcileIntervalNoStream)
	}
	if pending {
		c.dueAt = now.Add(mismatchRecheck)
		return
	}
	first := !c.succeededOnce
	c.succeededOnce = true
	l.liftRestriction(guard.Unreconciled, "")
	l.liftRestriction(guard.VenueSilent, l.cfg.Broker.Name())
	if first { // goroutines that wait for it read the view
		l.publish()
		close(l.reconciled)
	}
}
