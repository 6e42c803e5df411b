package paper_test

import (
	"bytes"
	gocmp "cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"candela/internal/trading/broker"
	"candela/internal/trading/broker/paper"
	"candela/internal/trading/broker/paper/papertest"
	"candela/internal/trading/order"
)

// trade lets something happen to an account.
func (v *venue) trade(rt *rapid.T, n int) {
	side := rapid.SampledFrom([]order.Side{order.Buy, order.Sell}).Draw(rt, "side")
	o := order.Spec{ID: "o" + strconv.Itoa(n), Symbol: btc(), Side: side, Type: order.Market, Quantity: dec(rapid.SampledFrom([]string{"0.01", "0.0333", "0.1"}).Draw(rt, "quantity"))}
	switch rapid.IntRange(0, 4).Draw(rt, "what") {
	case 0, 1:
		_, _ = v.Submit(rt.Context(), o) // what is not there cannot be sold
	case 2:
		o.Type, o.Price = order.Limit, dec(rapid.SampledFrom([]string{"40000", "49990", "50010", "60000"}).Draw(rt, "limit"))
		_, _ = v.Submit(rt.Context(), o)
	case 3:
		open, err := v.Open(rt.Context())
		if err != nil || len(open) == 0 {
			return
		}
		if _, err := v.Cancel(rt.Context(), rapid.SampledFrom(open).Draw(rt, "cancel").Handle()); err != nil {
			rt.Fatal(err)
		}
	default:
		v.forming()
		v.bar.L, v.bar.H, v.bar.V = 49980, 50020, v.bar.V+0.05
		v.forming()
	}
}

// unread is a journal that must not be read from the beginning.
type unread struct {
	*papertest.Journal
	t *rapid.T
}

func (j unread) Entries(context.Context) iter.Seq2[[]byte, error] {
	j.t.Fatal("the whole journal is read")
	return nil
}

// TestSnapshot_IsTheJournal holds an account that is opened from a snapshot and what
// came since against one that is opened from the whole journal: to the last digit.
func TestSnapshot_IsTheJournal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		j, whole := &papertest.Journal{}, &papertest.Journal{}
		v := open(t, j)
		v.SnapshotEvery(rapid.IntRange(1, 12).Draw(rt, "every"))
		for n := range rapid.IntRange(1, 40).Draw(rt, "steps") {
			v.trade(rt, n)
		}
		for e, err := range j.Entries(rt.Context()) {
			if err = errors.Join(err, whole.Append(rt.Context(), e)); err != nil {
				rt.Fatal(err)
			}
		}
		a, errA := v.Again(rt.Context(), unread{j, rt})
		b, errB := v.Again(rt.Context(), whole)
		if err := errors.Join(errA, errB); err != nil {
			rt.Fatal(err)
		}
		same := func(name string, read func(b *paper.Broker) (any, error)) {
			left, errL := read(a)
			right, errR := read(b)
			if diff := cmp.Diff(left, right, cmpopts.EquateEmpty()); diff != "" || errL != nil || errR != nil {
				rt.Fatal(name, diff, errL, errR)
			}
		}
		same("holdings", func(b *paper.Broker) (any, error) { return b.Holdings(rt.Context()) })
		same("fills", func(b *paper.Broker) (any, error) {
			fills, _, err := b.Fills(rt.Context(), btc(), "")
			return fills, err
		})
		same("orders", func(b *paper.Broker) (any, error) {
			all := b.Taken()
			slices.SortFunc(all, func(a, b order.Report) int { return gocmp.Compare(a.ID, b.ID) })
			return all, nil
		})
		same("open", func(b *paper.Broker) (any, error) { return b.Open(rt.Context()) })
	})
}

func TestSnapshot_OfNoUse(t *testing.T) {
	t.Parallel()
	j := &papertest.Journal{}
	v := open(t, j)
	v.SnapshotEvery(4)
	for n := range 9 {
		o := order.Spec{ID: "o" + strconv.Itoa(n), Symbol: btc(), Side: order.Buy, Type: order.Market, Quantity: dec("0.01")}
		if _, err := v.Submit(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	kept, _, err := j.Snapshot(t.Context())
	if err != nil || kept == nil {
		t.Fatal("there is no snapshot", err)
	}
	want, err := v.Holdings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	withoutTicket, err := order.Compress(map[string]any{"version": 1, "tickets": []any{nil}})
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][]byte{kept, kept[:len(kept)/2], []byte("x"), withoutTicket, nil} {
		j.Spoil(bad)
		again, err := v.Again(t.Context(), j)
		if err != nil {
			t.Fatal(err)
		}
		got, err := again.Holdings(t.Context())
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("with %.10q: %s, %v", bad, diff, err)
		}
	}
}

// givenUp is a journal whose reader gives up after the snapshot.
type givenUp struct{ *papertest.Journal }

func (j givenUp) Snapshot(ctx context.Context) ([]byte, iter.Seq2[[]byte, error], error) {
	data, _, err := j.Journal.Snapshot(ctx)
	return data, func(yield func([]byte, error) bool) { yield(nil, ctx.Err()) }, err
}

// TestSnapshot_OfAStartThatEnds holds that a start which is given up does not call the snapshot useless.
func TestSnapshot_OfAStartThatEnds(t *testing.T) {
	t.Parallel()
	j := &papertest.Journal{}
	v := open(t, j)
	v.SnapshotEvery(1)
	v.submit(t, spec(order.Buy, order.Market, "0.01", ""))
	var logged bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := paper.New(paper.Config{Journal: givenUp{j}, Market: v.market, Rates: paper.Usual(), Now: time.Now, Log: slog.New(slog.NewTextHandler(&logged, nil))})
	if err := b.Load(ctx); !errors.Is(err, context.Canceled) || logged.Len() > 0 {
		t.Errorf("the start ends with %v, and logs %q", err, logged.String())
	}
}

// TestSnapshot_Forgets drops what has long ended, and nothing that is open or held.
func TestSnapshot_Forgets(t *testing.T) {
	t.Parallel()
	v := open(t, &papertest.Journal{})
	var last order.Report
	for n := range 9 {
		o := order.Spec{ID: "o" + strconv.Itoa(n), Symbol: btc(), Side: order.Buy, Type: order.Market, Quantity: dec("0.01")}
		if n == 0 {
			o.Type, o.Price = order.Limit, dec("40000")
		}
		var err error
		if last, err = v.Submit(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	held, err := v.Holdings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	v.Forget(3)
	after, err := v.Holdings(t.Context())
	if diff := cmp.Diff(held, after); diff != "" || err != nil {
		t.Error(diff, err)
	}
	fills, _, err := v.Fills(t.Context(), btc(), "")
	if err != nil || len(fills) != 3 || fills[2].TradeID != last.Fills[0].TradeID || len(v.Taken()) != 4 {
		t.Errorf("%d orders and the trades %v are left, %v", len(v.Taken()), fills, err)
	}
	if _, err := v.Query(t.Context(), order.Spec{ID: "o1"}.Handle()); !errors.Is(err, broker.ErrNotFound) {
		t.Errorf("what was forgotten: %v", err)
	}
	v.Forget(0)
	if open, err := v.Open(t.Context()); err != nil || len(open) != 1 || len(v.Taken()) != 1 {
		t.Errorf("open are %v, %v", open, err)
	}
}

// TestSnapshot_ForgetsWhatEndedFirst lets an order fill that rested while others came
// and went: it was taken first and is the last to be forgotten.
func TestSnapshot_ForgetsWhatEndedFirst(t *testing.T) {
	t.Parallel()
	v := open(t, &papertest.Journal{})
	rests := order.Spec{ID: "rests", Symbol: btc(), Side: order.Buy, Type: order.Limit, Quantity: dec("0.01"), Price: dec("40000")}
	if _, err := v.Submit(t.Context(), rests); err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		o := order.Spec{ID: "o" + strconv.Itoa(n), Symbol: btc(), Side: order.Buy, Type: order.Market, Quantity: dec("0.01")}
		if _, err := v.Submit(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := v.Cancel(t.Context(), rests.Handle()); err != nil {
		t.Fatal(err)
	}
	v.Forget(2)
	for id, want := range map[string]bool{"rests": true, "o2": true, "o1": false, "o0": false} {
		if _, err := v.Query(t.Context(), order.Spec{ID: id}.Handle()); (err == nil) != want {
			t.Errorf("%s: %v", id, err)
		}
	}
}
