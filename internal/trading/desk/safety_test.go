package desk_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/data/provider"
	"candela/internal/kit/principal"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/desk/desktest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// lenient is a venue that knows its symbol in more than one spelling.
type lenient struct{ *brokertest.Memory }

func (l lenient) Instrument(ctx context.Context, _ market.Symbol) (provider.Instrument, error) {
	return l.Memory.Instrument(ctx, brokertest.MemorySymbol())
}

func TestPlace_AnotherSpellingIsNoOtherSymbol(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.stop()
		w.broker = lenient{w.venue}
		w.start()
		for _, name := range []string{"BTC-USDT", "BTC/USDT"} {
			r := buy("0.5")
			r.Symbol.Name = name
			_, err := w.Place(w.t.Context(), caller(), r)
			if f := fault.Of(err); f == nil || f.Field != "symbol" || len(f.Suggestions) != 1 || f.Suggestions[0] != "BTCUSDT" {
				w.t.Errorf("%s: %v", name, err)
			}
		}
		if n := len(w.venue.Orders()); n != 0 {
			w.t.Errorf("the venue has %d orders", n)
		}
	})
}

// stuck lets the venue hang on as many orders as are sent at a time, and places one
// more, which waits.
func (w *world) stuck() (waiting string) {
	w.t.Helper()
	for range 4 {
		w.venue.Fail(brokertest.Fault{Hang: true, Fate: broker.ErrUnknown})
	}
	for _, quantity := range []string{"0.1", "0.2", "0.3", "0.4", "0.5"} {
		go func() { _, _ = w.Place(w.t.Context(), caller(), limit(quantity, "49000")) }()
		synctest.Wait()
	}
	all, err := w.Orders(w.t.Context(), caller(), true)
	if err != nil || len(all) != 5 {
		w.t.Fatalf("%d orders, %v", len(all), err)
	}
	for _, o := range all {
		if o.Quantity.Equal(dec("0.5")) {
			return o.ID
		}
	}
	return ""
}

func TestHalt_StopsOrdersThatWaitToBeSent(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		id := w.stuck()
		if _, err := w.Halt(w.t.Context(), "candela halt", ""); err != nil {
			w.t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		w.wants(w.order(id), order.Canceled)
		if n := w.taken(id); n != 0 {
			w.t.Error("it was sent after the halt")
		}
	})
}

func TestPlace_WhatWaitedTooLongIsNotSent(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		id := w.stuck()
		time.Sleep(2 * time.Minute)
		o := w.order(id)
		w.wants(o, order.Rejected)
		if n := w.taken(id); n != 0 || !strings.Contains(o.Reason, "waited") {
			w.t.Errorf("sent %d times, %q", n, o.Reason)
		}
	})
}

// slow is a store that takes its time.
type slow struct {
	*desktest.Store
	takes atomic.Int64
}

func (s *slow) AppendEvents(ctx context.Context, by principal.Caller, events []order.Event, notices ...order.Notice) ([]order.Event, error) {
	time.Sleep(time.Duration(s.takes.Load()))
	return s.Store.AppendEvents(ctx, by, events, notices...)
}

// TestPlace_WhatTookTooLongToWriteDownIsNotSent, nor said to be the venue's doing: it
// was never asked.
func TestPlace_WhatTookTooLongToWriteDownIsNotSent(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.stop()
		store := &slow{Store: w.store}
		w.kept = store
		w.start()
		time.Sleep(2 * time.Second)
		store.takes.Store(int64(16 * time.Second))
		r := buy("0.5")
		r.Key = "mine"
		o, err := w.Place(w.t.Context(), caller(), r)
		store.takes.Store(0)
		time.Sleep(20 * time.Second)
		again, errAgain := w.Place(w.t.Context(), caller(), r)
		for _, err := range []error{err, errAgain} {
			f := fault.Of(err)
			if f == nil || f.Code != "not_sent" || f.Retryable || !strings.Contains(f.Message, "waited") || strings.Contains(f.Message, "venue") || !strings.Contains(f.Message, "used up") {
				w.t.Errorf("got %+v", f)
			}
		}
		w.wants(w.order(o.ID), order.Rejected)
		if n := len(w.venue.Orders()); n != 0 || again.ID != o.ID {
			w.t.Errorf("%d orders were sent; the key is of %s and of %s", n, o.ID, again.ID)
		}
	})
}

func TestHalt_CancelsWhileTheStoreFails(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		o := w.place(limit("0.5", "49000"))
		w.store.Fail(errors.New("no room"))
		state, err := w.Halt(w.t.Context(), "candela halt", "")
		if f := fault.Of(err); state.Level() != guard.Halted || f == nil || f.Code != "halt_not_kept" || !strings.Contains(f.Message, w.halt) {
			w.t.Errorf("%v %v", state.Level(), err)
		}
		time.Sleep(5 * time.Second)
		if open, err := w.venue.Open(w.t.Context()); err != nil || len(open) != 0 {
			w.t.Errorf("open at the venue: %v %v", open, err)
		}
		w.store.Fail(nil)
		time.Sleep(2 * time.Minute)
		w.wants(w.order(o.ID), order.Canceled)
		w.level(guard.Halted)
	})
}

func TestPlace_RefusalsDoNotFillTheDisk(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		if _, err := w.Halt(w.t.Context(), "candela halt", ""); err != nil {
			w.t.Fatal(err)
		}
		before := w.store.Commits()
		for range 500 {
			o, err := w.Place(w.t.Context(), caller(), buy("0.5"))
			if err == nil || o.Status != order.Denied || o.Denial.Rule != "halted" {
				w.t.Fatalf("%+v %v", o, err)
			}
		}
		if n := w.store.Commits() - before; n != 100 {
			w.t.Errorf("%d refusals are persisted", n)
		}
	})
}

// TestPlace_GraceBeginsWithTheLoss has an order wait at the venue's door until it is
// lost, late. The venue's word that it does not know it counts a minute after that.
func TestPlace_GraceBeginsWithTheLoss(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.venue.Fail(brokertest.Fault{Hang: true, Fate: broker.ErrUnknown}) // for 15 s
		o, _ := w.Place(w.t.Context(), caller(), limit("0.5", "49000"))
		time.Sleep(62 * time.Second) // 72 s after it was created
		w.wants(w.order(o.ID), order.Uncertain)
		w.venue.Place(o.Spec)
		time.Sleep(40 * time.Second)
		w.wants(w.order(o.ID), order.Accepted)
	})
}

// TestPositions_FeesInWhatWasBought checks that a fee taken in the asset is not reported as held,
// and that a position of which the rest was sold is none.
func TestPositions_FeesInWhatWasBought(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		at, symbol := time.Now(), brokertest.MemorySymbol()
		g := order.Origin{Spec: order.Spec{ID: "one", Owner: owner, Symbol: symbol, Side: order.Buy, Type: order.Market, Quantity: dec("1")}, Broker: "memory", Mode: order.Paper}
		f := order.Fill{TradeID: "t", OrderID: "one", Symbol: symbol, Side: order.Buy, Quantity: dec("1"), Price: dec("50000"), Fee: dec("0.001"), FeeAsset: "BTC", At: at}
		if _, err := w.store.AppendEvents(t.Context(), caller(), []order.Event{
			{Kind: order.KindCreated, OrderID: "one", At: at, Origin: &g},
			{Kind: order.KindSent, OrderID: "one", At: at},
			{Kind: order.KindFill, OrderID: "one", At: at, Fill: &f},
		}); err != nil {
			t.Fatal(err)
		}
		w.venue.Move("BTC", dec("0.999"))
		w.start()
		defer func() { w.stop() }()
		time.Sleep(5 * time.Second)
		p, err := w.Positions(t.Context(), caller())
		if err != nil || len(p) != 1 || !p[0].Quantity.Equal(dec("0.999")) {
			t.Fatalf("%+v %v", p, err)
		}
		r := buy("0.999")
		r.Side = order.Sell
		w.wants(w.place(r), order.Filled)
		if p, err = w.Positions(t.Context(), caller()); err != nil || len(p) != 0 {
			t.Errorf("%+v %v", p, err)
		}
	})
}

// TestDailyLoss_WithoutAPriceReduces holds that a position whose worth is not known
// does not switch max_daily_loss off in silence.
func TestDailyLoss_WithoutAPriceReduces(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.place(buy("0.5"))
		w.stop()
		w.market = &desktest.Market{} // knows no price
		w.start()
		time.Sleep(20 * time.Second)
		w.level(guard.Active)
		time.Sleep(20 * time.Second)
		w.level(guard.Reducing)
		w.market.Set(brokertest.MemorySymbol(), order.Quote{Last: dec("50000")})
		time.Sleep(2 * time.Second)
		w.level(guard.Active)
	})
}

// TestCompare_RecallsWhatWasGivenUp has an order appear at the venue after it was
// given up and reported as canceled.
func TestCompare_RecallsWhatWasGivenUp(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.venue.Fail(brokertest.Fault{Fate: broker.ErrUnknown})
		o, _ := w.Place(w.t.Context(), caller(), limit("0.5", "49000"))
		time.Sleep(3 * time.Minute)
		w.wants(w.order(o.ID), order.Canceled)
		w.venue.Place(o.Spec)
		time.Sleep(2 * time.Minute)
		if open, err := w.venue.Open(w.t.Context()); err != nil || len(open) != 0 {
			w.t.Errorf("open at the venue: %v %v", open, err)
		}
		w.wants(w.order(o.ID), order.Canceled)
		w.level(guard.Active)
	})
}

// TestCompare_RecallsWhatHasLeftMemory is the same with an order that so many others
// have ended after that only the store knows it.
func TestCompare_RecallsWhatHasLeftMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.remember = 2
		w.start()
		defer func() { w.stop() }()
		time.Sleep(2 * time.Second)
		w.venue.Fail(brokertest.Fault{Fate: broker.ErrUnknown})
		o, _ := w.Place(t.Context(), caller(), limit("0.5", "49000"))
		time.Sleep(3 * time.Minute)
		w.wants(w.order(o.ID), order.Canceled)
		for range 3 {
			w.place(buy("0.1"))
			time.Sleep(2 * time.Minute)
		}
		time.Sleep(2 * time.Hour)
		all, err := w.Orders(t.Context(), caller(), false)
		if err != nil || len(all) != 2 {
			t.Fatalf("%d orders are in memory, %v", len(all), err)
		}
		w.venue.Place(o.Spec)
		w.venue.Place(order.Spec{ID: "elsewhere", Symbol: brokertest.MemorySymbol(), Side: order.Buy, Type: order.Limit, Quantity: dec("0.2"), Price: dec("48000")})
		time.Sleep(2 * time.Minute)
		if open, err := w.venue.Open(t.Context()); err != nil || len(open) != 1 || open[0].ID != "elsewhere" {
			t.Errorf("open at the venue: %v %v", open, err)
		}
		if open, err := w.Orders(t.Context(), caller(), true); err != nil || len(open) != 1 || !open[0].External {
			t.Errorf("open here: %v %v", open, err)
		}
		w.level(guard.Active)
	})
}

// strict is a venue that says when it does not have the trade it is asked from.
type strict struct{ *brokertest.Memory }

func (v strict) Fills(ctx context.Context, s market.Symbol, after broker.Cursor) ([]order.Fill, broker.Cursor, error) {
	all, _, err := v.Memory.Fills(ctx, s, "")
	if err == nil && after != "" && !slices.ContainsFunc(all, func(f order.Fill) bool { return f.TradeID == string(after) }) {
		return nil, after, broker.ErrCursorLost
	}
	return v.Memory.Fills(ctx, s, after)
}

// TestWipe_OfAVenueThatSaysSo holds that such a venue is still compared with.
func TestWipe_OfAVenueThatSaysSo(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.stop()
		w.broker = strict{w.venue}
		w.start()
		time.Sleep(5 * time.Second)
		w.place(buy("1"))
		time.Sleep(2 * time.Minute)
		w.venue.Wipe()
		time.Sleep(3 * time.Minute)
		w.level(guard.Reducing)
		if _, err := w.Resume(w.t.Context(), "owner"); err != nil {
			w.t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		w.level(guard.Active)
		w.stop()
		w.start()
		time.Sleep(10 * time.Second)
		w.level(guard.Active)
	})
}

// TestWipe_SaysWhyItWaits accepts a wipe right after an order, of which it is not known yet
// whether the venue lost it.
func TestWipe_SaysWhyItWaits(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.stop()
		w.broker = strict{w.venue}
		w.start()
		time.Sleep(5 * time.Second)
		w.place(buy("1"))
		time.Sleep(2 * time.Minute)
		young := w.place(limit("0.5", "49000"))
		w.venue.Wipe()
		w.venue.Drop()
		time.Sleep(20 * time.Second)
		w.level(guard.Reducing)
		state, err := w.Resume(w.t.Context(), "owner")
		if err != nil || !strings.Contains(state.Explain(), "Order "+young.ID+" is less than a minute old") {
			w.t.Fatalf("%s, %v", state.Explain(), err)
		}
		time.Sleep(2 * time.Minute)
		w.level(guard.Active)
	})
}

// mute is a venue that does not say what is open while it is silent.
type mute struct {
	*brokertest.Memory
	silent atomic.Bool
}

func (v *mute) Open(ctx context.Context) ([]order.Report, error) {
	if v.silent.Load() {
		return nil, fault.Unreachable(nil, 0, "no answer")
	}
	return v.Memory.Open(ctx)
}

// TestCompare_SilenceReduces holds that a venue that can no longer be compared with
// is traded on only to get out, and that this ends by itself.
func TestCompare_SilenceReduces(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.stop()
		venue := &mute{Memory: w.venue}
		w.broker = venue
		w.start()
		time.Sleep(5 * time.Second)
		w.place(buy("0.5"))
		venue.silent.Store(true)
		time.Sleep(2 * time.Minute)
		w.level(guard.Active)
		time.Sleep(2 * time.Minute)
		w.level(guard.Reducing)
		if o, err := w.Place(w.t.Context(), caller(), buy("0.1")); err == nil || o.Denial.Rule != "reducing" {
			w.t.Errorf("%+v %v", o, err)
		}
		way := buy("0.5")
		way.Side = order.Sell
		w.wants(w.place(way), order.Filled)
		venue.silent.Store(false)
		time.Sleep(time.Minute)
		w.level(guard.Active)
	})
}
