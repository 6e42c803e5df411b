package paper_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"candela/internal/trading/broker"
	"candela/internal/trading/broker/paper/papertest"
	"candela/internal/trading/order"
)

// TestSwap_IsOneAppend sells a part of what a pair protects and protects the rest: all of it is
// one append to the journal, so that no crash separates the parts.
func TestSwap_IsOneAppend(t *testing.T) {
	t.Parallel()
	v := open(t, &papertest.Journal{})
	v.submit(t, spec(order.Buy, order.Market, "1", ""))
	v.place(t, pair("1", "49000", "52000")...)
	sale := spec(order.Sell, order.Market, "0.4", "")
	rest := pair("0.6", "49000", "52000")
	for i := range rest {
		rest[i].ID, rest[i].Group.Name = "rest "+rest[i].ID, "rest head"
	}
	before := v.journal.Appends()
	done, err := v.Swap(t.Context(), []order.Handle{{Spec: order.Spec{ID: "stop"}}, {Spec: order.Spec{ID: "head"}}}, [][]order.Spec{{sale}, rest})
	if err != nil {
		t.Fatal(err)
	}
	if n := v.journal.Appends() - before; n != 1 {
		t.Errorf("%d appends", n)
	}
	if got := shown(done.Placed[0][0]); got != "filled 0.4/0.4 0.4@49975" || len(done.Ended) != 2 || len(done.Placed[1]) != 2 {
		t.Errorf("the sale is %s; %+v", got, done)
	}
	v.wantOrders(t, map[string]string{
		"stop": "canceled 0/1", "head": "canceled 0/1", "rest head": "accepted 0/0.6", "rest stop": "accepted 0/0.6",
	})
	v.bars(0, bar{50000, 50000, 48900, 49500, 9})
	v.wantOrders(t, map[string]string{"rest stop": "filled 0.6/0.6 0.6@48975.5", "rest head": "canceled 0/0.6"})
}

// TestSwap_Refuses holds that a refused swap says why and changes nothing.
func TestSwap_Refuses(t *testing.T) {
	t.Parallel()
	other := func(o order.Spec, id string) []order.Spec {
		o.ID = id
		return []order.Spec{o}
	}
	for name, groups := range map[string][][]order.Spec{
		"a stop that would trigger at once": {other(stop("50001", ""), "a")},
		"more than is held":                 {other(stop("49000", ""), "a"), other(stop("48000", ""), "b")},
		"two orders with one id":            {other(spec(order.Sell, order.Market, "0.5", ""), "a"), other(spec(order.Sell, order.Market, "0.5", ""), "a")},
		"a group of nothing":                {{}},
		"a leg alone":                       {other(bracket("", "49000", "52000")[1], "a")},
		"a symbol that does not exist":      {{{ID: "a", Side: order.Sell, Type: order.Market, Quantity: dec("1")}}},
	} {
		v := open(t, &papertest.Journal{})
		v.submit(t, spec(order.Buy, order.Market, "1", ""))
		v.place(t, stop("49500", ""))
		appends := v.journal.Appends()
		_, err := v.Swap(t.Context(), []order.Handle{stop("49500", "").Handle()}, groups)
		if !errors.Is(broker.Outcome(err), broker.ErrRejected) || v.journal.Appends() != appends {
			t.Errorf("%s: %v", name, err)
		}
		if r := v.order(t, "stop"); r.Status != order.Accepted {
			t.Errorf("%s: the stop is %v", name, r.Status)
		}
	}
}

// fork opens the account again from a copy of its journal, with the same market and clock.
func (w *world) fork() *world {
	f := *w
	f.journal = &papertest.Journal{}
	for line, err := range w.journal.Entries(w.t.Context()) {
		if err = errors.Join(err, f.journal.Append(w.t.Context(), line)); err != nil {
			w.t.Fatal(err)
		}
	}
	again, err := w.b.Again(w.t.Context(), f.journal)
	if err != nil {
		w.t.Fatal(err)
	}
	f.b = again
	return &f
}

// oneByOne does what Swap does in requests of their own, and returns the first refusal.
func (w *world) oneByOne(ended []order.Handle, groups [][]order.Spec) error {
	for _, h := range ended {
		if _, err := w.b.Cancel(w.t.Context(), h); err != nil {
			return err
		}
	}
	for _, orders := range groups {
		var err error
		if len(orders) == 1 {
			_, err = w.b.Submit(w.t.Context(), orders[0])
		} else {
			_, err = w.b.SubmitGroup(w.t.Context(), orders)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// drawSwap draws which open orders end, and what takes their place: sales, stops, trails and
// pairs, perhaps of more than is there.
func (w *world) drawSwap(rt *rapid.T) (ended []order.Handle, groups [][]order.Spec) {
	open, err := w.b.Open(rt.Context())
	if err != nil {
		rt.Fatal(err)
	}
	for _, r := range open {
		if rapid.IntRange(0, 3).Draw(rt, "ends") > 0 {
			ended = append(ended, r.Handle())
		}
	}
	for i := range rapid.IntRange(0, 3).Draw(rt, "groups") {
		m := move{rapid.IntRange(0, 8).Draw(rt, "kind"), rapid.IntRange(0, 99).Draw(rt, "a"), rapid.IntRange(0, 99).Draw(rt, "b"), rapid.IntRange(0, 99).Draw(rt, "c"), rapid.IntRange(0, 2).Draw(rt, "d")}
		head := request(m).Spec(fmt.Sprintf("s%d", i), "")
		group := []order.Spec{head}
		for k, leg := range head.Legs() {
			leg.ID = fmt.Sprintf("s%d.%d", i, k)
			group = append(group, leg)
		}
		groups = append(groups, group)
	}
	return ended, groups
}

// TestSwap_IsCancelAndSubmit swaps random orders of random accounts: the account is as after
// cancels and orders of their own, also after the bars that follow; where one of these is
// refused, so is the swap, and nothing has changed.
func TestSwap_IsCancelAndSubmit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt)
		for _, m := range drawMoves().Draw(rt, "moves") {
			w.do(m)
		}
		w.now = w.now.Add(time.Second)
		ended, groups := w.drawSwap(rt)
		w.quote()
		swapped, apart := w.fork(), w.fork()
		before := swapped.book()
		want := apart.oneByOne(ended, groups)
		if _, err := swapped.b.Swap(rt.Context(), ended, groups); !errors.Is(broker.Outcome(err), broker.Outcome(want)) {
			rt.Fatalf("the swap ends %v, one by one it ends %v", err, want)
		}
		if want != nil {
			apart = w.fork()
			if diff := cmp.Diff(before, swapped.book(), cmpopts.EquateEmpty()); diff != "" {
				rt.Fatal("a refused swap changed", diff)
			}
		}
		after := drawMoves().Draw(rt, "after")
		for _, f := range []*world{swapped, apart} {
			for _, m := range after {
				m.Kind = 11 + m.Kind%5
				f.now = f.now.Add(time.Second)
				f.trade(m)
			}
		}
		if diff := cmp.Diff(apart.book(), swapped.book(), cmpopts.EquateEmpty()); diff != "" {
			rt.Fatal("one by one and swapped", diff)
		}
	})
}
