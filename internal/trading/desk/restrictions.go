package desk

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/internal/kit/retry"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// restrict adds and saves a restriction. It reports false if the same one was in force.
func (l *loop) restrict(by principal.Caller, r guard.Restriction) bool {
	r.Since = l.now()
	next, changed := l.state.Restrict(r)
	if !changed {
		return false
	}
	l.setState(by, next)
	l.cfg.Log.WarnContext(l.drainCtx, "trading restricted", "state", next.Level().String(), "cause", string(r.Kind), "subject", r.Subject, "reason", r.Reason, "by", r.By)
	return true
}

func (l *loop) liftRestriction(k guard.RestrictionKind, subject string) {
	if next, changed := l.state.Lift(k, subject); changed {
		l.setState(l.systemCaller(), next)
		l.cfg.Log.InfoContext(l.drainCtx, "trading restriction lifted", "state", next.Level().String(), "cause", string(k), "subject", subject)
	}
}

// restrictFor restricts trading of a kind for the subjects that are named with a reason, and no others.
func (l *loop) restrictFor(k guard.RestrictionKind, why map[string]string) {
	for subject, reason := range why {
		l.restrict(l.systemCaller(), guard.Restriction{Kind: k, Subject: subject, Reason: reason})
	}
	for _, r := range l.state.Restrictions {
		if r.Kind == k && why[r.Subject] == "" {
			l.liftRestriction(k, r.Subject)
		}
	}
}

// setState sets and saves the trading state. It is in force even if saving fails; then
// onTick retries.
func (l *loop) setState(by principal.Caller, next guard.State) {
	l.state = next
	l.saveState(by)
	l.publish()
}

func (l *loop) saveState(by principal.Caller) {
	if l.fenced != nil {
		return
	}
	err := saveGuard(l.drainCtx, l.cfg.Store, by, l.state)
	if err != nil && !l.checkFenced(err) && !l.unsaved {
		l.cfg.Log.ErrorContext(l.drainCtx, "trading state save failed", "error", err)
	}
	l.unsaved = err != nil
}

// Halt stops trading and cancels the own orders that do not protect a position. by names
// the author in the log and in denials. A halt that cannot be saved is in force, and the
// error says that a restart would lose it.
func (d *Desk) Halt(ctx context.Context, by, reason string) (guard.State, error) {
	return d.halt(ctx, guard.Restriction{Kind: d.cfg.haltKind(), By: by, Reason: reason})
}

// HaltAll is Halt that cancels the orders that protect positions too, also of a halt that
// is in force.
func (d *Desk) HaltAll(ctx context.Context, by, reason string) (guard.State, error) {
	return d.halt(ctx, guard.Restriction{Kind: d.cfg.haltKind(), By: by, Reason: reason, All: true})
}

func (d *Desk) halt(ctx context.Context, r guard.Restriction) (guard.State, error) {
	var state guard.State
	var unsaved error
	err := d.do(ctx, func(l *loop) {
		if !l.restrict(l.ownerCaller(r.By), r) {
			if r.All {
				l.state, _ = l.state.HaltAll()
			}
			l.setState(l.ownerCaller(r.By), l.state) // a fenced desk may not know that trading was resumed
		}
		_ = l.endPending(l.now()) // else the next tick does
		l.cancelOpenOrders(l.now())
		state = l.state
		switch {
		case l.fenced != nil:
			unsaved = fencedError(l.fenced)
		case l.unsaved:
			unsaved = fault.New(fault.Unavailable, "halt_not_kept",
				"Trading is halted and orders are being cancelled, but the halt could not be saved and would be lost on restart. Create the file %s to keep it.", l.cfg.haltFileName())
		}
	})
	return state, errors.Join(err, unsaved)
}

// fencedError is returned for a request that may have been recorded before the fence.
func fencedError(err error) error {
	if f := fault.Of(err); f != nil && f.Code == CodeMoved {
		return err
	}
	return fault.Unreachable(err, 0, "The shared store does not respond. Nothing was sent; whether the request was recorded is unknown. Ask again in a moment.")
}

func (l *loop) ownerCaller(by string) principal.Caller {
	return principal.Caller{Subject: l.cfg.Owner, Client: by}
}

// Resume lifts the restrictions that the owner can lift. Where positions differ from the
// venue's, the owner accepts the venue's, and the next reconciliation records
// adjustments. Other restrictions stay. After a restore the first call shows what differs from
// the venue and lifts nothing; the next one lifts.
func (d *Desk) Resume(ctx context.Context, by string) (guard.State, error) {
	var state guard.State
	var refused error
	err := d.do(ctx, func(l *loop) {
		if l.haltFileExists() {
			refused = fault.New(fault.Conflict, "halt_file", "the file %s halts trading: remove it first", l.cfg.haltFileName()).About("", l.cfg.HaltFile, "")
			return
		}
		var confirmed bool
		if confirmed, refused = l.confirmRestored(by); !confirmed {
			state = l.state
			return
		}
		next, _ := l.state.Resume()
		l.setState(l.ownerCaller(by), next)
		l.acceptMissed()
		if slices.ContainsFunc(next.Restrictions, func(c guard.Restriction) bool { return c.Kind == guard.Mismatch }) {
			l.reconciliation.acceptVenue, l.reconciliation.requested = true, true
			if l.reconciliation.venueReset {
				l.explainDelay(l.now())
			}
		}
		if l.fenced != nil {
			refused = fencedError(l.fenced)
			return
		}
		l.cfg.Log.InfoContext(l.drainCtx, "trading resumed", "state", next.Level().String(), "by", by)
		state = l.state
	})
	return state, errors.Join(err, refused)
}

// HaltByHost halts an account that is one of many, and cancels its orders as Halt does. The halt
// is not stored with the account; after a start it must be given again. A zero
// restriction lifts it.
func (d *Desk) HaltByHost(ctx context.Context, r guard.Restriction) error {
	return d.do(ctx, func(l *loop) {
		for _, k := range []guard.RestrictionKind{guard.HostHalt, guard.HostRestored} {
			if r.Kind != k {
				l.liftRestriction(k, "")
			}
		}
		if r.Kind == "" {
			return
		}
		if r.All {
			l.state, _ = l.state.Lift(guard.HostHalt, "") // one that keeps orders
		}
		l.restrict(l.ownerCaller(r.By), r)
		_ = l.endPending(l.now()) // else the next tick does
		l.cancelOpenOrders(l.now())
	})
}

// AtRest reports whether nothing is open: no order, no position and nothing that was not reconciled.
func (d *Desk) AtRest() bool {
	v := d.view.Load()
	return v.status.Reconciled && len(v.open) == 0 && !slices.ContainsFunc(v.positions, func(p order.Position) bool { return p.Side() != 0 })
}

// OpenOrder reports whether an open order has an ID.
func (d *Desk) OpenOrder(id string) bool {
	return slices.ContainsFunc(d.view.Load().open, func(o order.Order) bool { return o.ID == id })
}

// cancelOpenOrders cancels open orders during an owner's halt, with backoff. Those that
// protect a position are kept unless the owner asked for all.
func (l *loop) cancelOpenOrders(now time.Time) {
	halt, halted := l.state.OrderedHalt()
	if !halted {
		clear(l.retries)
		return
	}
	all, by := halt.All, l.ownerCaller(halt.By)
	for _, o := range l.book.Open() {
		again := l.retries[o.ID]
		kept := !all && o.Protects(l.book.Position(o.Symbol).Quantity) || l.waitsForEntry(o)
		if kept || o.External && !o.Recovered || o.Status == order.PendingApproval || !o.CancelRequested.IsZero() || again != nil && now.Before(again.next) {
			continue
		}
		if again == nil {
			again = &attempts{}
			l.retries[o.ID] = again
		}
		again.failed(now, retry.Backoff{First: time.Second, Max: time.Minute})
		if err := l.requestCancel(by, "", o); err != nil {
			_ = l.cancelUnsaved(o, err) // the next attempt repeats it
		}
	}
}

// haltKind is the kind of a halt that Halt makes.
func (c *Config) haltKind() guard.RestrictionKind {
	if c.Hosted {
		return guard.HostOwner
	}
	return guard.OwnerHalt
}

func (c *Config) haltFileName() string { return FileAt(c.HaltFile, c.Replica) }

// FileAt names a file and, if there are several, the replica that has it.
func FileAt(path, replica string) string {
	if replica == "" {
		return path
	}
	return path + " at the replica " + replica
}

func (l *loop) haltFileExists() bool {
	if l.cfg.HaltFile == "" {
		return false
	}
	_, err := os.Lstat(l.cfg.HaltFile)
	// If the file cannot be checked, assume it exists.
	return !errors.Is(err, fs.ErrNotExist)
}

func (l *loop) checkHaltFile() {
	if l.haltFileExists() {
		l.restrict(l.ownerCaller("halt file"), guard.Restriction{Kind: guard.OwnerHalt, By: "the file " + l.cfg.haltFileName(), Reason: "remove it first"})
	}
}

// exposedSymbols returns the symbols with a position or open order, without delisted ones.
func (l *loop) exposedSymbols() []market.Symbol {
	var all []market.Symbol
	for _, p := range l.book.Positions() {
		if p.Side() != 0 {
			all = append(all, p.Symbol)
		}
	}
	for _, o := range l.book.Open() {
		if !slices.Contains(all, o.Symbol) {
			all = append(all, o.Symbol)
		}
	}
	return slices.DeleteFunc(all, func(s market.Symbol) bool { return l.delistedSymbols[s] != "" })
}

// checkMarket checks prices and the daily loss against the policy.
func (l *loop) checkMarket(now time.Time) {
	symbols := l.exposedSymbols()
	l.cfg.Market.Follow(symbols)
	lost := l.cfg.Market.LaggingVenues()
	for _, venue := range lost {
		if slices.ContainsFunc(symbols, func(s market.Symbol) bool { return s.Venue == venue }) {
			l.restrict(l.systemCaller(), guard.Restriction{Kind: guard.FeedLost, Subject: venue, Reason: "no prices from " + venue})
		}
	}
	total, missing := guard.Total(l.cfg.Policy, l.book, l.prices(), l.cfg.Broker.Mode())
	// A fee without a price is small; a position is not.
	missing = slices.DeleteFunc(missing, func(name string) bool { return !strings.Contains(name, ":") })
	l.checkPriced(missing, now)
	for _, c := range l.state.Restrictions {
		held := slices.ContainsFunc(symbols, func(s market.Symbol) bool { return s.Venue == c.Subject })
		if c.Kind == guard.FeedLost && (!held || !slices.Contains(lost, c.Subject)) && !slices.Contains(missing, c.Subject) {
			l.liftRestriction(c.Kind, c.Subject)
		}
	}
	if len(missing) > 0 {
		return // an unknown loss cannot be compared with its limit
	}
	var changed bool
	if l.state, changed = l.state.CheckLoss(l.cfg.Policy, total, now); changed {
		l.setState(l.systemCaller(), l.state)
	}
	l.sampleDay(now)
}

// priceGrace is how long an open position may lack a price, as after a start.
const priceGrace = 30 * time.Second

// checkPriced restricts trading without a price: a loss would not count against its limit.
func (l *loop) checkPriced(symbols []string, now time.Time) {
	if len(symbols) == 0 {
		l.lastPricedAt = now
	}
	if now.Sub(l.lastPricedAt) < priceGrace {
		return
	}
	for _, s := range symbols {
		l.restrict(l.systemCaller(), guard.Restriction{Kind: guard.FeedLost, Subject: s, Reason: "the position in " + s + " has no price, so today's loss is unknown"})
	}
}

// prices returns the known prices.
func (l *loop) prices() guard.Prices {
	x := guard.Prices{Now: l.now(), Quotes: make(map[market.Symbol]order.Quote), Instruments: l.instruments, Rates: make(map[string]decimal.Decimal)}
	for s := range l.delistedSymbols {
		if entry, ok := l.book.Position(s).Average(); ok {
			x.Quotes[s] = order.Quote{Last: entry} // without a time, so that no order passes at this price
		}
	}
	for _, s := range l.exposedSymbols() {
		q, ok := l.cfg.Market.LastQuote(s)
		if !ok {
			continue
		}
		x.Quotes[s] = q
		// A base asset quoted in an accepted currency has a rate, for fees and quotes in it.
		if inst := l.instruments[s]; inst.Base != "" && slices.Contains(l.cfg.Policy.Currencies, inst.Quote) {
			x.Rates[inst.Base] = q.Last
		}
	}
	return x
}

// LoadStored reads the trading state and the orders of an account that no desk runs.
func LoadStored(ctx context.Context, s Store, owner principal.Owner) (guard.State, *order.Book, error) {
	state, err := loadGuard(ctx, s, owner)
	if err != nil {
		return state, nil, err
	}
	read, err := readBook(ctx, s, owner)
	return state, read.Book, err
}

// HostedHalts returns the owners among many whose own accounts the operator has halted. ownersWith returns the owners whose
// stored state of a name contains a text.
func HostedHalts(ctx context.Context, ownersWith func(ctx context.Context, name, text string) ([]principal.Owner, error)) ([]principal.Owner, error) {
	// Earlier versions stored a halt of one owner as the owner's own. Its kind is the end of the present one.
	return ownersWith(ctx, guardName, string(guard.OwnerHalt)+`"`)
}

// StoredHalt is a halt of an account that no desk runs.
type StoredHalt struct {
	By, Reason string
	All        bool // cancel the orders that protect positions too
	At         time.Time
}

// HaltStored halts an account that no desk runs.
func HaltStored(ctx context.Context, s Store, owner principal.Owner, h StoredHalt) (guard.State, error) {
	state, err := loadGuard(ctx, s, owner)
	if err != nil {
		return state, err
	}
	state, _ = state.Restrict(guard.Restriction{Kind: guard.OwnerHalt, By: h.By, Reason: h.Reason, Since: h.At.UTC()})
	if h.All {
		state, _ = state.HaltAll()
	}
	return state, saveGuard(ctx, s, principal.Caller{Subject: owner, Client: h.By}, state)
}

// LiftStored lifts the restrictions of an account that no desk runs, and that was not restored.
func LiftStored(ctx context.Context, s Store, owner principal.Owner, by string) (guard.State, error) {
	state, err := loadGuard(ctx, s, owner)
	if err != nil {
		return state, err
	}
	state, _ = state.Resume()
	return state, saveGuard(ctx, s, principal.Caller{Subject: owner, Client: by}, state)
}

// SetStoredRestored marks an account that no desk runs as restored from a backup, the newest
// record of which is of a time.
func SetStoredRestored(ctx context.Context, s Store, owner principal.Owner, by string, newest, now time.Time) (guard.State, error) {
	state, err := loadGuard(ctx, s, owner)
	if err != nil {
		return state, err
	}
	state = state.Restore(newest.UTC(), now.UTC())
	return state, saveGuard(ctx, s, principal.Caller{Subject: owner, Client: by}, state)
}

// ResumeStored is Resume for an account that no desk runs. A restored account stays halted,
// because only a desk can compare it with the venue.
func ResumeStored(ctx context.Context, s Store, owner principal.Owner, by string) (guard.State, error) {
	state, err := loadGuard(ctx, s, owner)
	if err != nil {
		return state, err
	}
	restored, stays := state.Find(guard.Restored)
	state, _ = state.Resume()
	if stays {
		state, _ = state.Restrict(restored)
	}
	return state, saveGuard(ctx, s, principal.Caller{Subject: owner, Client: by}, state)
}
