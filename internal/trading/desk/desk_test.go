package desk_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"
	"go.uber.org/goleak"

	"candela/internal/kit/principal"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/desk"
	"candela/internal/trading/desk/desktest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const owner = "local"

func dec(s string) decimal.Decimal { return decimal.RequireFromString(s) }

func caller() principal.Caller {
	return principal.Caller{Subject: owner, Key: "token-1", Client: "a client"}
}

// world is a desk with everything around it. What it stands on outlives it.
type world struct {
	t      *testing.T
	venue  *brokertest.Memory
	store  *desktest.Store
	market *desktest.Market
	policy guard.Policy
	halt   string
	broker broker.Broker // venue, unless the test has another
	errors *bytes.Buffer // gets the errors of the desk's log, nil for nowhere
	kept   desk.Store    // what the desk is given instead of store, nil for that
	// resolve is the desk's, nil for one that takes every name as the venue's.
	resolve func(market.Symbol) (market.Symbol, error)
	asked   func(order.Order)
	bars    func(ctx context.Context, s market.Symbol, since time.Time) ([]market.Bar, error)
	confirm func(ctx context.Context, by principal.Caller) (time.Time, error)
	assets  bool
	paper   bool          // the venue is the paper account
	ahead   *atomic.Int64 // of the desk's clock before the test's; nil for none
	every   int           // events after which the book is kept
	// remember is how many orders that have ended stay in memory.
	remember int

	// judge is Config.Judge.
	judge func(ctx context.Context, owner principal.Owner, s market.Symbol, claims []order.Claim) []order.Evidence
	// unreasoned has the orders that were reported for having no reason.
	unreasoned []string

	*desk.Desk
	stop func()
	kill func() // ends the desk without waiting for anything
	done chan error
}

// inWorld runs a test in virtual time with a desk that has compared its account.
func inWorld(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start()
		defer func() { w.stop() }() // of the last desk
		time.Sleep(2 * time.Second)
		if s := w.Status(); !s.Reconciled || s.State.Level() != guard.Active {
			t.Fatalf("the desk is not active after its start: %+v", s)
		}
		test(w)
	})
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		t: t, venue: brokertest.NewMemory(), store: desktest.NewStore(), market: &desktest.Market{}, policy: guard.Default(),
		halt: filepath.Join(t.TempDir(), "HALT"), stop: func() {}, assets: true, every: 5, remember: 1000,
	}
	w.broker = w.venue
	w.policy.MaxOrderNotional, w.policy.MaxSymbolExposure, w.policy.MaxExposure = guard.Limit{Off: true}, guard.Limit{Off: true}, guard.Limit{Off: true}
	w.policy.RestingBandPct, w.policy.MaxDailyNotional = guard.Limit{Off: true}, guard.Limit{Off: true}
	w.market.Set(brokertest.MemorySymbol(), order.Quote{Last: dec("50000")})
	return w
}

// now is the time of the desk.
func (w *world) now() time.Time {
	if w.ahead == nil {
		return time.Now()
	}
	return time.Now().Add(time.Duration(w.ahead.Load()))
}

// start runs a desk over what the one before has left.
func (w *world) start() {
	w.t.Helper()
	store := w.kept
	if store == nil {
		store = w.store
	}
	venue := map[bool]string{true: "memory", false: "binance"}[w.broker.Name() == "memory"]
	w.Desk = desk.New(desk.Config{
		Unreasoned: func(o order.Order) { w.unreasoned = append(w.unreasoned, o.ID) },
		Owner:      owner, Broker: w.broker, Store: store, Market: w.market, Policy: w.policy, HaltFile: w.halt, AssetBalances: w.assets, Simulated: w.paper,
		Resolve: func(_ context.Context, s market.Symbol) (market.Symbol, error) {
			if w.resolve != nil {
				return w.resolve(s)
			}
			s.Venue = venue
			return s, nil
		},
		Asked: w.asked, Bars: w.bars, Judge: w.judge, Confirm: w.confirm, Log: slog.New(w.handler()), Now: w.now, Rand: rand.Float64,
	})
	w.SnapshotEvery(w.every)
	w.SetMaxClosed(w.remember)
	ctx, cancel := context.WithCancel(w.t.Context())
	hard, kill := context.WithCancel(context.WithoutCancel(w.t.Context()))
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- w.Run(ctx, hard, func() { close(ready) }) }()
	<-ready
	end := func(first, second func()) func() {
		return func() {
			first()
			if err := <-done; err != nil {
				w.t.Errorf("the desk ended with %v", err)
			}
			second()
			w.stop = func() {}
		}
	}
	w.done = done
	w.stop = end(cancel, kill)
	w.kill = end(func() { kill(); cancel() }, func() {})
}

// handler is where the desk logs to.
func (w *world) handler() slog.Handler {
	if w.errors == nil {
		return slog.DiscardHandler
	}
	return slog.NewTextHandler(w.errors, &slog.HandlerOptions{Level: slog.LevelError})
}

// buy asks for a market order.
func buy(quantity string) order.Request {
	return order.Request{Symbol: market.Symbol{Name: "BTCUSDT"}, Side: order.Buy, Type: order.Market, Quantity: dec(quantity)}
}

// limit asks for a limit order to buy.
func limit(quantity, price string) order.Request {
	r := buy(quantity)
	r.Type, r.Price = order.Limit, dec(price)
	return r
}

func (w *world) place(r order.Request) order.Order {
	w.t.Helper()
	o, err := w.Place(w.t.Context(), caller(), r)
	if err != nil {
		w.t.Fatal(err)
	}
	return o.Order
}

// order returns an order as the desk has it now.
func (w *world) order(id string) order.Order {
	w.t.Helper()
	all, err := w.Orders(w.t.Context(), caller(), false)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, o := range all {
		if o.ID == id {
			return o
		}
	}
	w.t.Fatalf("there is no order %s", id)
	return order.Order{}
}

func (w *world) wants(o order.Order, s order.Status) {
	w.t.Helper()
	if o.Status != s {
		w.t.Errorf("order is %v, want %v (%s)", o.Status, s, o.Reason)
	}
}

// taken returns how many orders with the id the venue took.
func (w *world) taken(id string) int {
	n := 0
	for _, r := range w.venue.Orders() {
		if r.ID == id {
			n++
		}
	}
	return n
}

func TestPlace_FillsAndHolds(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		t := w.t
		o := w.place(buy("0.5"))
		w.wants(o, order.Filled)
		if o.Mode != order.Paper || o.Broker != "memory" || o.Token != "token-1" || o.Client != "a client" || len(o.Fills) != 1 {
			t.Errorf("the order is %+v", o)
		}
		w.market.Set(brokertest.MemorySymbol(), order.Quote{Last: dec("51000")})
		positions, err := w.Positions(t.Context(), caller())
		if err != nil || len(positions) != 1 {
			t.Fatalf("%v %v", positions, err)
		}
		p := positions[0]
		if !p.Quantity.Equal(dec("0.5")) || !p.Unrealised(p.Quote.Last).Equal(dec("500")) || p.Mode != order.Paper {
			t.Errorf("the position is %+v", p)
		}
		time.Sleep(2 * time.Second)
		if f := w.market.Followed(); len(f) != 1 || f[0] != brokertest.MemorySymbol() {
			t.Errorf("followed is %v", f)
		}
		w.place(order.Request{Symbol: market.Symbol{Name: "BTCUSDT"}, Side: order.Sell, Type: order.Market, Quantity: dec("0.5")})
		if positions, _ = w.Positions(t.Context(), caller()); len(positions) != 0 {
			t.Errorf("after the sale there is %+v", positions)
		}
		time.Sleep(2 * time.Second)
		if f := w.market.Followed(); len(f) != 0 {
			t.Errorf("then followed is %v", f)
		}
	})
}

func TestPlace_RestsAndIsCancelled(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		t := w.t
		o := w.place(limit("0.5", "49000"))
		w.wants(o, order.Accepted)
		open, err := w.Orders(t.Context(), caller(), true)
		if err != nil || len(open) != 1 || open[0].ID != o.ID {
			t.Errorf("open are %v, %v", open, err)
		}
		o, err = w.Cancel(t.Context(), caller(), o.ID)
		if err != nil {
			t.Fatal(err)
		}
		w.wants(o, order.Canceled)
		again, err := w.Cancel(t.Context(), caller(), o.ID)
		if err != nil || again.Status != order.Canceled {
			t.Errorf("a second cancel says %v, %v", again.Status, err)
		}
		if _, err := w.Cancel(t.Context(), caller(), "no such"); fault.KindOf(err) != fault.NotFound {
			t.Errorf("an unknown order: %v", err)
		}
	})
}

// TestPlace_Fates sends orders into every kind of failure. Each is at the venue
// once or not at all, and the desk finds out which.
func TestPlace_Fates(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		fault     brokertest.Fault
		first     order.Status // that the client hears
		sooner    order.Status // that it may hear in its place, where the stream reports one after the other
		later     order.Status
		taken     int
		code      string
		afterward time.Duration
	}{
		"nothing was sent":     {fault: brokertest.Fault{Fate: broker.ErrNotSent}, first: order.Rejected, later: order.Rejected, code: "not_sent"},
		"the venue refuses":    {fault: brokertest.Fault{Fate: broker.ErrRejected}, first: order.Rejected, later: order.Rejected, code: "order_rejected"},
		"refused in our words": {fault: brokertest.Fault{Fate: &fault.Error{Message: "it was not sent: no", Cause: broker.ErrRejected}}, first: order.Rejected, later: order.Rejected, code: "order_rejected"},
		"the answer was lost":  {fault: brokertest.Fault{Fate: broker.ErrUnknown, Done: true}, first: order.Filled, sooner: order.Accepted, later: order.Filled, taken: 1},
		"the order was lost":   {fault: brokertest.Fault{Fate: broker.ErrUnknown}, first: order.Uncertain, later: order.Canceled, afterward: 2 * time.Minute},
		"silence, it is done":  {fault: brokertest.Fault{Hang: true, Done: true}, first: order.Filled, later: order.Filled, taken: 1},
		"silence, it is not":   {fault: brokertest.Fault{Hang: true}, first: order.Submitted, later: order.Canceled, afterward: 2 * time.Minute},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				t := w.t
				w.venue.Fail(tc.fault)
				began := time.Now()
				o, err := w.Place(t.Context(), caller(), buy("0.5"))
				if f := fault.Of(err); tc.code == "" && err != nil || tc.code != "" && (f == nil || f.Code != tc.code) {
					t.Errorf("the error is %v", err)
				}
				if tc.sooner == 0 || o.Status != tc.sooner {
					w.wants(o.Order, tc.first)
				}
				if took := time.Since(began); took > 11*time.Second {
					t.Errorf("the client waited for %v", took)
				}
				synctest.Wait()
				time.Sleep(tc.afterward)
				w.wants(w.order(o.ID), tc.later)
				if n := w.taken(o.ID); n != tc.taken {
					t.Errorf("the venue has it %d times", n)
				}
				if got := w.Status().State; got.Level() != guard.Active {
					t.Errorf("trading is %v: %s", got.Level(), got.Explain())
				}
			})
		})
	}
}

// TestPlace_GoneOnlyAfterGrace holds an order that is not found for a while and
// then is: it was on its way.
func TestPlace_GoneOnlyAfterGrace(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		t := w.t
		w.venue.Fail(brokertest.Fault{Fate: broker.ErrUnknown})
		o, _ := w.Place(t.Context(), caller(), limit("0.5", "49000"))
		time.Sleep(40 * time.Second)
		w.wants(w.order(o.ID), order.Uncertain)
		w.venue.Place(o.Spec)
		time.Sleep(40 * time.Second)
		w.wants(w.order(o.ID), order.Accepted)
	})
}

func TestPlace_LeavingDoesNotUndo(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		t := w.t
		w.venue.Fail(brokertest.Fault{Hang: true, Done: true})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		o, err := w.Place(ctx, caller(), limit("0.5", "49000"))
		if err != nil || o.ID == "" {
			t.Fatalf("%+v %v", o, err)
		}
		w.wants(o.Order, order.Accepted) // the venue's stream reported it
		time.Sleep(time.Minute)
		if n := w.taken(o.ID); n != 1 {
			t.Errorf("the venue has it %d times", n)
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := w.Place(over, caller(), buy("0.5")); !errors.Is(err, context.Canceled) {
			t.Errorf("an order of a client that was gone: %v", err)
		}
		if n := len(w.venue.Orders()); n != 1 {
			t.Errorf("the venue has %d orders", n)
		}
	})
}

func TestPlace_IdempotencyKey(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		t := w.t
		r := buy("0.5")
		r.Key = "first"
		o := w.place(r)
		if again := w.place(r); again.ID != o.ID {
			t.Error("the same key gave another order")
		}
		w.stop()
		w.start()
		// Before the account was compared no order passes, but a repeat is none.
		if again := w.place(r); again.ID != o.ID || again.Status != order.Filled {
			t.Errorf("after a restart the repeat returned %+v", again)
		}
		r.Quantity = dec("0.6")
		if _, err := w.Place(t.Context(), caller(), r); fault.Of(err) == nil || fault.Of(err).Code != "idempotency_key_used" {
			t.Errorf("another order under the key: %v", err)
		}
		if n := len(w.venue.Orders()); n != 1 {
			t.Errorf("the venue has %d orders", n)
		}
	})
}

func TestPlace_IdempotencyKeyAtOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		t := w.t
		r := buy("0.5")
		r.Key = "one"
		ids := make(chan string, 10)
		for range 10 {
			go func() {
				o, err := w.Place(t.Context(), caller(), r)
				if err != nil {
					t.Error(err)
				}
				ids <- o.ID
			}()
		}
		first := <-ids
		for range 9 {
			if next := <-ids; next != first {
				t.Errorf("two orders: %s and %s", first, next)
			}
		}
		if n := len(w.venue.Orders()); n != 1 {
			t.Errorf("the venue has %d orders", n)
		}
	})
}

func TestPlace_DryRunLeavesNoTrace(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		t := w.t
		before := w.store.Commits()
		r := buy("0.5")
		r.DryRun = true
		if o := w.place(r); o.Status != order.New || o.Mode != order.Paper || o.ID != "" {
			t.Errorf("%+v", o)
		}
		r.Quantity = dec("0.000001")
		o, err := w.Place(t.Context(), caller(), r)
		if f := fault.Of(err); f == nil || f.Code != "order_denied" || !strings.Contains(f.Message, "venue_step") || o.Status != order.Denied || o.ID != "" {
			t.Errorf("%+v %v", o, err)
		}
		if n := len(w.venue.Orders()); n != 0 || w.store.Commits() != before {
			t.Errorf("%d orders, %d commits", n, w.store.Commits()-before)
		}
	})
}

// TestPlace_DryRunWithAUsedKeySaysSo has a client try an order with the key of one that
// was filled: to answer with that order would say that the trial was.
func TestPlace_DryRunWithAUsedKeySaysSo(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		r := buy("0.5")
		r.Key = "mine"
		filled := w.place(r)
		w.wants(filled, order.Filled)
		r.DryRun = true
		o, err := w.Place(w.t.Context(), caller(), r)
		if f := fault.Of(err); f == nil || f.Code != "idempotency_key_used" || f.Field != "idempotency_key" || f.Retryable || o.Status != 0 || !strings.Contains(f.Message, filled.ID) {
			w.t.Errorf("%+v %v", o, err)
		}
		r.Key = "another"
		if o := w.place(r); o.Status != order.New || o.ID != "" {
			w.t.Errorf("%+v", o)
		}
	})
}

func TestPlace_DeniedIsKept(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		t := w.t
		o, err := w.Place(t.Context(), caller(), limit("0.5", "80000"))
		f := fault.Of(err)
		if f == nil || f.Code != "order_denied" || !strings.HasPrefix(f.Message, "price_band_pct: ") || f.Field != "price" {
			t.Fatalf("%v", err)
		}
		kept := w.order(o.ID)
		w.wants(kept, order.Denied)
		if kept.Denial.Rule != "price_band_pct" || kept.Denial.Limit != "5 %" || kept.Denial.Value != "60 %" || kept.Token != "token-1" {
			t.Errorf("kept is %+v", kept)
		}
		if n := len(w.venue.Orders()); n != 0 {
			t.Errorf("the venue has %d orders", n)
		}
	})
}

func TestPlace_Owner(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		t := w.t
		other := principal.Caller{Subject: "other"}
		_, placeErr := w.Place(t.Context(), other, buy("0.5"))
		_, cancelErr := w.Cancel(t.Context(), other, "x")
		_, ordersErr := w.Orders(t.Context(), other, true)
		_, positionsErr := w.Positions(t.Context(), other)
		for _, err := range []error{placeErr, cancelErr, ordersErr, positionsErr} {
			if fault.KindOf(err) != fault.Unauthorized {
				t.Errorf("another owner gets %v", err)
			}
		}
	})
}
