package desk_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// passing is a state of the server in which no order can be placed, and how it ends.
type passing struct {
	code       string
	begin, end func(w *world)
}

// passings are all of them that a desk is in. What a venue or the store of one node
// says is theirs.
func passings() map[string]passing {
	fenced := func(err error) passing {
		return passing{
			begin: func(w *world) { w.store.Fail(err) },
			end:   func(w *world) { w.fenced(); w.start() },
		}
	}
	moved, unknown := fenced(replaced()), fenced(fault.Unreachable(desk.ErrFenced, 0, "the servers do not answer"))
	moved.code, unknown.code = desk.CodeMoved, "unavailable"
	return map[string]passing{
		"the account was not compared": {
			"not_compared",
			func(w *world) { w.stop(); w.venue.Deaf(errors.New("no route")); w.start() },
			func(w *world) { w.venue.Deaf(nil) },
		},
		"the program stops":          {desk.CodeStopping, func(w *world) { w.stop() }, func(w *world) { w.start() }},
		"another has the account":    moved,
		"a write of unknown outcome": unknown,
		"too many orders wait": {"busy", func(w *world) {
			for range 4 {
				w.venue.Fail(brokertest.Fault{Hang: true})
			}
			for i := range 4 + 64 {
				r := limit("0.001", "49000")
				r.Key = strconv.Itoa(i)
				go func() { _, _ = w.Place(w.t.Context(), caller(), r) }()
				synctest.Wait()
			}
		}, func(*world) { time.Sleep(time.Minute) }},
	}
}

// TestKey_OutlivesWhatPasses places an order while none can be, gets a retryable error,
// and does so with the same key.
func TestKey_OutlivesWhatPasses(t *testing.T) {
	t.Parallel()
	for name, state := range passings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				t := w.t
				off := guard.Limit{Off: true}
				w.stop()
				w.policy.MaxOrdersPerMinute, w.policy.MaxOpenOrders, w.policy.MaxSymbolOpenOrders = off, off, off
				w.start()
				time.Sleep(2 * time.Second)
				state.begin(w)
				lines := len(w.store.Audit())
				r := buy("0.5")
				r.Key = "mine"
				o, err := w.Place(t.Context(), caller(), r)
				if f := fault.Of(err); f == nil || f.Code != state.code || !f.Retryable || f.Kind != fault.Unavailable || o.Status != 0 {
					t.Errorf("got %+v with %+v", f, o)
				}
				if n := len(w.store.Audit()); n != lines {
					t.Errorf("%d lines were written of what was not judged", n-lines)
				}
				state.end(w)
				time.Sleep(45 * time.Second)
				placed := w.place(r)
				w.wants(placed, order.Filled)
				if n := w.taken(placed.ID); n != 1 {
					t.Errorf("the venue has it %d times", n)
				}
			})
		})
	}
}

// TestKey_StaysWithWhatWasJudged has the guard refuse an order that would pass later:
// the same call gives the same refusal, and no error is retryable.
func TestKey_StaysWithWhatWasJudged(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		t := w.t
		for i := range 20 {
			r := buy("0.001")
			r.Key = strconv.Itoa(i)
			w.place(r)
		}
		free, keyed := buy("0.5"), buy("0.5")
		keyed.Key = "mine"
		_, err := w.Place(t.Context(), caller(), free)
		if f := fault.Of(err); f == nil || f.Code != "order_denied" || !f.Retryable || f.RetryAfter == 0 {
			t.Errorf("without a key: %+v", f)
		}
		denied, err := w.Place(t.Context(), caller(), keyed)
		w.refusedForGood(denied.Order, err)
		time.Sleep(2 * time.Minute)
		again, err := w.Place(t.Context(), caller(), keyed)
		w.refusedForGood(again.Order, err)
		if again.ID != denied.ID {
			t.Errorf("the key is of %s and of %s", denied.ID, again.ID)
		}
		keyed.Key = "another"
		w.wants(w.place(keyed), order.Filled)
	})
}

// refusedForGood demands the refusal of an order that is kept with its key.
func (w *world) refusedForGood(o order.Order, err error) {
	w.t.Helper()
	f := fault.Of(err)
	if f == nil || f.Code != "order_denied" || f.Retryable || f.RetryAfter != 0 || !strings.Contains(f.Message, "max_orders_per_minute") || !strings.Contains(f.Message, "used up") {
		w.t.Errorf("got %+v", f)
	}
	w.wants(w.order(o.ID), order.Denied)
}

// TestKey_OfAnOrderDuringAHalt is spent also before the account was compared: the
// owner has decided about it.
func TestKey_OfAnOrderDuringAHalt(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		if _, err := w.Halt(w.t.Context(), "candela halt", "lunch"); err != nil {
			w.t.Fatal(err)
		}
		w.stop()
		w.venue.Deaf(errors.New("no route"))
		w.start()
		r := buy("0.5")
		r.Key = "mine"
		o, err := w.Place(w.t.Context(), caller(), r)
		if f := fault.Of(err); f == nil || f.Code != "order_denied" || f.Retryable || !strings.Contains(f.Message, "lunch") {
			w.t.Errorf("got %+v", f)
		}
		w.wants(w.order(o.ID), order.Denied)
	})
}

// TestKey_RepeatWhileTheVenueIsDown repeats an order whose symbol the client writes in
// its own way while nobody can say what that is called at the venue. The same call gives
// the same order, also after a restart and when the order has left the memory; another
// spelling hears that it may try again, never that it needs another key.
func TestKey_RepeatWhileTheVenueIsDown(t *testing.T) {
	t.Parallel()
	for name, remember := range map[string]int{"in memory": 1000, "in the store": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				down := false
				w.resolve = func(s market.Symbol) (market.Symbol, error) {
					if down {
						return s, fault.Unreachable(errors.New("no route"), 0, "the venue does not answer")
					}
					return brokertest.MemorySymbol(), nil
				}
				w.remember = remember
				w.stop()
				w.start()
				time.Sleep(2 * time.Second)
				r := buy("0.1")
				r.Symbol.Name, r.Key = "BTC/USDT", "k1"
				first := w.place(r)
				down = true
				for _, restart := range []bool{false, true} {
					if restart {
						w.stop()
						w.start()
					}
					if o, err := w.Place(w.t.Context(), caller(), r); err != nil || o.ID != first.ID {
						w.t.Errorf("the same call, restarted %t: %q, %v", restart, o.ID, err)
					}
					other := r
					other.Symbol.Name = "btc-usdt"
					if _, err := w.Place(w.t.Context(), caller(), other); fault.KindOf(err) != fault.Unavailable || !fault.Of(err).Retryable {
						w.t.Errorf("another spelling: %v", err)
					}
					other.Side = order.Sell
					if _, err := w.Place(w.t.Context(), caller(), other); fault.KindOf(err) != fault.Conflict {
						w.t.Errorf("another order: %v", err)
					}
				}
				if n := len(w.venue.Orders()); n != 1 {
					w.t.Errorf("the venue has %d orders", n)
				}
			})
		})
	}
}
