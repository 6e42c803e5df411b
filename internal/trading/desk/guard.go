package desk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/fault"
	"candela/internal/kit/principal"
	"candela/internal/kit/retry"
	"candela/internal/market"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// raise adds a cause against trading, persists it and tells it. It reports false when
// the cause was in force.
func (w *writer) raise(by principal.Caller, c guard.Restriction) bool {
	c.Since = w.now()
	next, changed := w.state.Restrict(c)
	if !changed {
		return false
	}
	w.change(by, next)
	w.cfg.Log.WarnContext(w.hard, "trading is restricted", "state", next.Level().String(), "cause", string(c.Kind), "subject", c.Subject, "reason", c.Reason, "who", c.By)
	return true
}

// lift takes a cause away.
func (w *writer) lift(k guard.RestrictionKind, subject string) {
	if next, changed := w.state.Lift(k, subject); changed {
		w.change(w.service(), next)
		w.cfg.Log.InfoContext(w.hard, "a restriction of trading has ended", "state", next.Level().String(), "cause", string(k), "subject", subject)
	}
}

// change puts another trading state in force. It is in force even when it cannot
// be persisted: then that is tried again.
func (w *writer) change(by principal.Caller, next guard.State) {
	w.state = next
	w.save(by)
	w.publish()
}

func (w *writer) save(by principal.Caller) {
	if w.fenced != nil {
		return
	}
	err := saveGuard(w.hard, w.cfg.Store, by, w.state)
	if err != nil && !w.yields(err) && !w.unsaved {
		w.cfg.Log.ErrorContext(w.hard, "the trading state is not persisted; it will be tried again", "error", err)
	}
	w.unsaved = err != nil
}

// Halt stops trading and cancels every order that was placed here. who says who
// did it, for the log and for those whose orders are refused. A halt that cannot be
// persisted is in force all the same, and the error says that a restart forgets it.
func (d *Desk) Halt(ctx context.Context, who, reason string) (guard.State, error) {
	var state guard.State
	var unkept error
	err := d.do(ctx, func(w *writer) {
		if !w.raise(w.by(who), guard.Restriction{Kind: guard.OwnerHalt, By: who, Reason: reason}) {
			w.save(w.by(who)) // a desk that has lost the account may not know that trading was resumed
		}
		w.cancelAll(w.now())
		state = w.state
		switch {
		case w.fenced != nil:
			unkept = gone(w.fenced)
		case w.unsaved:
			unkept = &fault.Error{
				Kind: fault.Unavailable, Code: "halt_not_kept",
				Message: fmt.Sprintf("trading is HALTED and orders are being cancelled, but the store fails and a restart would forget it: put a file at %s to keep it", w.cfg.haltFileName()),
			}
		}
	})
	return state, errors.Join(err, unkept)
}

// gone is what a client hears whose wish was not, as far as is known, written down
// because the account is no longer this desk's.
func gone(err error) error {
	if f := fault.Of(err); f != nil && f.Code == CodeMoved {
		return err
	}
	return &fault.Error{
		Kind: fault.Unavailable, Code: "unavailable", Retryable: true, Cause: err,
		Message: "the shared store does not answer: it is not known whether this was written down, and nothing was sent; ask again in a moment",
	}
}

// by is who has the owner's word.
func (w *writer) by(who string) principal.Caller {
	return principal.Caller{Subject: w.cfg.Owner, Client: who}
}

// Resume takes away what the owner can end. Where positions differ from the
// venue's, the owner accepts the venue's: what no trade explains is written down
// as an adjustment by the next comparison. Other causes stay until they end.
func (d *Desk) Resume(ctx context.Context, who string) (guard.State, error) {
	var state guard.State
	var refused error
	err := d.do(ctx, func(w *writer) {
		if w.haltFile() {
			refused = &fault.Error{
				Kind: fault.Conflict, Code: "halt_file", Value: w.cfg.HaltFile,
				Message: fmt.Sprintf("the file %s halts trading: remove it first", w.cfg.haltFileName()),
			}
			return
		}
		next, _ := w.state.Resume()
		w.change(w.by(who), next)
		if slices.ContainsFunc(next.Restrictions, func(c guard.Restriction) bool { return c.Kind == guard.Mismatch }) {
			w.census.adopt, w.census.soon = true, true
		}
		if w.fenced != nil {
			refused = gone(w.fenced)
			return
		}
		w.cfg.Log.InfoContext(w.hard, "the owner resumes trading", "state", next.Level().String(), "who", who)
		state = w.state
	})
	return state, errors.Join(err, refused)
}

// cancelAll asks for the cancel of every open order while the owner has halted,
// and again of those that the venue keeps open, less and less often.
func (w *writer) cancelAll(now time.Time) {
	halt := slices.IndexFunc(w.state.Restrictions, func(c guard.Restriction) bool { return c.Kind == guard.OwnerHalt })
	if halt < 0 {
		clear(w.retries)
		return
	}
	by := w.by(w.state.Restrictions[halt].By)
	for _, o := range w.book.Open() {
		again := w.retries[o.ID]
		if o.External || !o.CancelRequested.IsZero() || again != nil && now.Before(again.next) {
			continue
		}
		if again == nil {
			again = &attempts{}
			w.retries[o.ID] = again
		}
		again.failed(now, retry.Backoff{First: time.Second, Max: time.Minute})
		if t := w.cancel(by, o.ID); t != nil && t.wait != nil {
			w.leave(o.ID, t.wait)
		}
	}
}

// leave ends a wait that nobody waits for.
func (w *writer) leave(id string, one *waiter) {
	w.waiters[id] = slices.DeleteFunc(w.waiters[id], func(other *waiter) bool { return other == one })
	if len(w.waiters[id]) == 0 {
		delete(w.waiters, id)
	}
}

// haltFileName names the halt file, with where it is among several replicas.
func (c *Config) haltFileName() string { return FileAt(c.HaltFile, c.Replica) }

// FileAt names a file, and the replica beside which it lies where there are several:
// who reads of it may be at another.
func FileAt(path, replica string) string {
	if replica == "" {
		return path
	}
	return path + " at the replica " + replica
}

func (w *writer) haltFile() bool {
	if w.cfg.HaltFile == "" {
		return false
	}
	_, err := os.Lstat(w.cfg.HaltFile)
	// A file that cannot be looked for may be there.
	return !errors.Is(err, fs.ErrNotExist)
}

func (w *writer) checkHaltFile() {
	if w.haltFile() {
		w.raise(w.by("halt file"), guard.Restriction{Kind: guard.OwnerHalt, By: "the file " + w.cfg.haltFileName(), Reason: "remove it first"})
	}
}

// needed returns the symbols with a position or an open order whose prices may come.
func (w *writer) needed() []market.Symbol {
	var all []market.Symbol
	for _, p := range w.book.Positions() {
		if p.Side() != 0 {
			all = append(all, p.Symbol)
		}
	}
	for _, o := range w.book.Open() {
		if !slices.Contains(all, o.Symbol) {
			all = append(all, o.Symbol)
		}
	}
	return slices.DeleteFunc(all, func(s market.Symbol) bool { return w.lost[s] != "" })
}

// checkMarket holds prices against the policy: are they there, and what was lost
// today.
func (w *writer) checkMarket(now time.Time) {
	symbols := w.needed()
	w.cfg.Market.Follow(symbols)
	lost := w.cfg.Market.LaggingVenues()
	for _, venue := range lost {
		if slices.ContainsFunc(symbols, func(s market.Symbol) bool { return s.Venue == venue }) {
			w.raise(w.service(), guard.Restriction{Kind: guard.FeedLost, Subject: venue, Reason: "no prices come from " + venue})
		}
	}
	total, missing := guard.Total(w.cfg.Policy, w.book, w.prices(), w.cfg.Broker.Mode())
	// A fee whose worth is not known is small; a position is not.
	missing = slices.DeleteFunc(missing, func(name string) bool { return !strings.Contains(name, ":") })
	w.unpriced(missing, now)
	for _, c := range w.state.Restrictions {
		held := slices.ContainsFunc(symbols, func(s market.Symbol) bool { return s.Venue == c.Subject })
		if c.Kind == guard.FeedLost && (!held || !slices.Contains(lost, c.Subject)) && !slices.Contains(missing, c.Subject) {
			w.lift(c.Kind, c.Subject)
		}
	}
	if len(missing) > 0 {
		return // a loss that is not known cannot be held against its limit
	}
	next, changed := w.state.CheckLoss(w.cfg.Policy, total, now)
	if changed {
		w.change(w.service(), next)
		return
	}
	w.state = next
}

// priceGrace is how long an open position may be without a price, as after a start.
const priceGrace = 30 * time.Second

// unpriced restricts trading while the worth of a position is not known: its loss
// would count against no limit.
func (w *writer) unpriced(symbols []string, now time.Time) {
	if len(symbols) == 0 {
		w.priced = now
	}
	if now.Sub(w.priced) < priceGrace {
		return
	}
	for _, s := range symbols {
		w.raise(w.service(), guard.Restriction{Kind: guard.FeedLost, Subject: s, Reason: "the worth of the position in " + s + " is not known, nor what was lost today"})
	}
}

// prices is what is known of the market now.
func (w *writer) prices() guard.Prices {
	x := guard.Prices{Now: w.now(), Quotes: make(map[market.Symbol]order.Quote), Instruments: w.instruments, Rates: make(map[string]decimal.Decimal)}
	for s := range w.lost {
		if entry, ok := w.book.Position(s).Average(); ok {
			x.Quotes[s] = order.Quote{Last: entry} // of no time: no order passes at it
		}
	}
	for _, s := range w.needed() {
		q, ok := w.cfg.Market.LastQuote(s)
		if !ok {
			continue
		}
		x.Quotes[s] = q
		// What is traded against an accepted currency has a rate itself: fees are
		// paid in it, and other symbols priced.
		if inst := w.instruments[s]; inst.Base != "" && slices.Contains(w.cfg.Policy.Currencies, inst.Quote) {
			x.Rates[inst.Base] = q.Last
		}
	}
	return x
}

// LoadStored reads an account that no desk runs: its trading state and its orders.
func LoadStored(ctx context.Context, s Store, owner string) (guard.State, *order.Book, error) {
	state, err := loadGuard(ctx, s, owner)
	if err != nil {
		return state, nil, err
	}
	read, err := readBook(ctx, s, owner)
	return state, read.Book, err
}

// SetStoredHalt halts trading, or resumes, in the state of an account that no desk runs.
// The next desk begins with it.
func SetStoredHalt(ctx context.Context, s Store, owner, who, reason string, halt bool, now time.Time) (guard.State, error) {
	state, err := loadGuard(ctx, s, owner)
	if err != nil {
		return state, err
	}
	if halt {
		state, _ = state.Restrict(guard.Restriction{Kind: guard.OwnerHalt, By: who, Reason: reason, Since: now.UTC()})
	} else {
		state, _ = state.Resume()
	}
	return state, saveGuard(ctx, s, principal.Caller{Subject: owner, Client: who}, state)
}
