package desk_test

import (
	"bytes"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/trading/broker"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// replaced is what a shared store says when another desk has the account.
func replaced() error {
	return &fault.Error{Kind: fault.Unavailable, Code: desk.CodeMoved, Retryable: true, Cause: desk.ErrFenced, Message: "another has the account; nothing was done"}
}

// fenced demands that the desk has ended because of the fence, and takes the fence
// away.
func (w *world) fenced() {
	w.t.Helper()
	synctest.Wait()
	select {
	case err := <-w.done:
		if !errors.Is(err, desk.ErrFenced) {
			w.t.Errorf("the desk ended with %v", err)
		}
	default:
		w.t.Fatal("the desk still runs")
	}
	w.store.Fail(nil)
}

// over demands that the desk has ended because of the fence and has written nothing
// since there were so many lines in the audit log, and begins another.
func (w *world) over(lines int) {
	w.t.Helper()
	w.fenced()
	if symbols := w.market.Followed(); len(symbols) > 0 {
		w.t.Errorf("it still follows %v", symbols)
	}
	if n := len(w.store.Audit()); n != lines {
		w.t.Errorf("it wrote %d more lines", n-lines)
	}
	w.start()
	time.Sleep(2 * time.Second)
	if s := w.Status(); !s.Reconciled || s.State.Level() != guard.Active {
		w.t.Errorf("the next desk started with %+v", s)
	}
}

func wantMoved(t *testing.T, err error) {
	t.Helper()
	if f := fault.Of(err); f == nil || f.Code != desk.CodeMoved {
		t.Errorf("got %v, want that nothing was done because another has the account", err)
	}
}

// TestFence_EndsTheTerm has another take over before each thing that a desk may want
// to write.
func TestFence_EndsTheTerm(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(w *world, open order.Order) error{
		"an order": func(w *world, _ order.Order) error {
			_, err := w.Place(w.t.Context(), caller(), buy("0.1"))
			return err
		},
		"a cancel": func(w *world, open order.Order) error {
			_, err := w.Cancel(w.t.Context(), caller(), open.ID)
			return err
		},
		"a halt": func(w *world, _ order.Order) error {
			_, err := w.Halt(w.t.Context(), "candela halt", "")
			return err
		},
		"a resumption": func(w *world, _ order.Order) error {
			_, err := w.Resume(w.t.Context(), "candela resume")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				open := w.place(limit("0.1", "49000"))
				before, lines := len(w.venue.Orders()), len(w.store.Audit())
				w.store.Fail(replaced())
				wantMoved(w.t, act(w, open))
				w.over(lines)
				if n := len(w.venue.Orders()); n != before {
					w.t.Errorf("%d orders were sent", n-before)
				}
				w.wants(w.order(open.ID), order.Accepted)
			})
		})
	}
}

// TestFence_OfAHaltThatIsInForce has the owner halt once more a desk that lost the
// account, where trading may have been resumed since.
func TestFence_OfAHaltThatIsInForce(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		if _, err := w.Halt(w.t.Context(), "candela halt", ""); err != nil {
			w.t.Fatal(err)
		}
		w.store.Fail(replaced())
		_, err := w.Halt(w.t.Context(), "candela halt", "")
		wantMoved(w.t, err)
		w.fenced()
		w.start()
	})
}

// TestFence_WhatTheVenueSays has the venue report a trade that can no longer be
// written: the next desk hears of it.
func TestFence_WhatTheVenueSays(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		open := w.place(limit("0.1", "49000"))
		lines := len(w.store.Audit())
		w.store.Fail(replaced())
		w.venue.Trade(open.ID, dec("0.1"))
		w.over(lines)
		w.wants(w.order(open.ID), order.Filled)
	})
}

// TestFence_IsNoError holds that a desk which lost the account logs no error for what it can no longer write.
func TestFence_IsNoError(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.stop()
		w.errors = &bytes.Buffer{}
		w.start()
		time.Sleep(2 * time.Second)
		open := w.place(limit("0.1", "49000"))
		w.store.Fail(replaced())
		w.venue.Trade(open.ID, dec("0.1"))
		w.fenced()
		if text := w.errors.String(); text != "" {
			w.t.Errorf("it logs %s", text)
		}
		w.start()
	})
}

// TestFence_WhileAnOrderIsOnItsWay takes the account away while the venue has an
// order and has not answered, and another waits to be sent.
func TestFence_WhileAnOrderIsOnItsWay(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.venue.Fail(brokertest.Fault{Hang: true, Done: true, Fate: broker.ErrUnknown})
		placed := make(chan order.Order, 1)
		go func() {
			o, err := w.Place(w.t.Context(), caller(), limit("0.1", "49000"))
			if err != nil {
				w.t.Error(err)
			}
			placed <- o.Order
		}()
		synctest.Wait()
		lines := len(w.store.Audit())
		w.store.Fail(replaced())
		_, err := w.Place(w.t.Context(), caller(), buy("0.2"))
		wantMoved(w.t, err)
		o := <-placed // as it was written down
		w.wants(o, order.Submitted)
		w.over(lines)
		w.wants(w.order(o.ID), order.Accepted)
		if n := w.taken(o.ID); n != 1 {
			w.t.Errorf("the venue has it %d times", n)
		}
	})
}

// TestFence_OfAWriteThatIsNotKnown ends the term, too, and says that nothing was
// sent.
func TestFence_OfAWriteThatIsNotKnown(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		lines := len(w.store.Audit())
		w.store.Fail(fault.Unreachable(desk.ErrFenced, 0, "the servers do not answer"))
		_, err := w.Place(w.t.Context(), caller(), buy("0.1"))
		if f := fault.Of(err); f == nil || f.Kind != fault.Unavailable || f.Code == desk.CodeMoved || !f.Retryable {
			w.t.Errorf("got %v", err)
		}
		w.over(lines)
		if n := len(w.venue.Orders()); n != 0 {
			w.t.Errorf("%d orders were sent", n)
		}
	})
}

// TestSubmit_NotAfterAStandstill has the process stopped between the decision to
// send an order and the sending.
func TestSubmit_NotAfterAStandstill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start()
		defer func() { w.stop() }()
		o := order.Order{Origin: order.Origin{Spec: order.Spec{
			ID: "o1", Owner: owner, Symbol: brokertest.MemorySymbol(), Side: order.Buy, Type: order.Limit, Quantity: dec("0.1"), Price: dec("49000"),
		}}, Created: time.Now()}
		time.Sleep(11 * time.Second)
		if _, err := w.Submit(t.Context(), o); !errors.Is(err, broker.ErrNotSent) || len(w.venue.Orders()) != 0 {
			t.Errorf("got %v, and the venue has %d orders", err, len(w.venue.Orders()))
		}
		o.Created = time.Now()
		if _, err := w.Submit(t.Context(), o); err != nil || len(w.venue.Orders()) != 1 {
			t.Errorf("got %v, and the venue has %d orders", err, len(w.venue.Orders()))
		}
	})
}
