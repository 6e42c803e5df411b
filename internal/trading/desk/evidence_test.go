package desk_test

import (
	"context"
	"testing"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// judging is a judge that finds the same of every claim after some time.
func judging(after time.Duration, found order.Evidence) func(context.Context, principal.Owner, market.Symbol, []order.Claim) []order.Evidence {
	return func(ctx context.Context, _ principal.Owner, _ market.Symbol, claims []order.Claim) []order.Evidence {
		select {
		case <-ctx.Done():
		case <-time.After(after):
		}
		all := make([]order.Evidence, len(claims))
		for i, c := range claims {
			all[i] = found
			all[i].Claim = c
		}
		return all
	}
}

// because adds a claim to a request.
func because(r order.Request) order.Request {
	r.Because = []order.Claim{{Interval: market.Hour1, Condition: []byte(`{"value":{}}`), Text: "RSI(14) of BTCUSDT on 1h closes below 30"}}
	return r
}

var holds = order.Evidence{Known: true, True: true, Value: "28.7", Against: "30"}

// inEvidence is inWorld with a judge.
func inEvidence(t *testing.T, judge order.Evidence, test func(w *world)) {
	t.Helper()
	inWorld(t, func(w *world) {
		w.judge = judging(time.Millisecond, judge)
		w.stop()
		w.start()
		time.Sleep(2 * time.Second)
		test(w)
	})
}

// TestEvidence_IsRecorded places an order with a true claim. The record, a repeat and what the store has after a
// restart have what was found.
func TestEvidence_IsRecorded(t *testing.T) {
	t.Parallel()
	inEvidence(t, holds, func(w *world) {
		r := because(buy("0.01"))
		r.Key = "k"
		first := w.place(r)
		w.stop()
		w.judge = judging(0, order.Evidence{Known: true})
		w.start()
		time.Sleep(2 * time.Second)
		for what, o := range map[string]order.Order{"the order": first, "its repeat": w.place(r), "the record": w.order(first.ID)} {
			if o.ID != first.ID || len(o.Evidence) != 1 || !o.Evidence[0].True || o.Evidence[0].Value != "28.7" || o.Evidence[0].Text != r.Because[0].Text {
				t.Errorf("%s: %s with %+v", what, o.ID, o.Evidence)
			}
		}
		other := because(buy("0.01"))
		other.Key, other.Because[0].Within = "k", 3
		if _, err := w.Place(w.t.Context(), caller(), other); fault.Of(err) == nil || fault.Of(err).Code != "idempotency_key_used" {
			t.Errorf("other claims with the same key: %v", err)
		}
	})
}

// TestEvidence_FalseIsNotSent denies an entry whose claim is false, and records what was found.
func TestEvidence_FalseIsNotSent(t *testing.T) {
	t.Parallel()
	inEvidence(t, order.Evidence{Known: true, Value: "41.5", Against: "30"}, func(w *world) {
		p, err := w.Place(w.t.Context(), caller(), because(buy("0.01")))
		if f := fault.Of(err); f == nil || f.Code != "order_denied" || f.Field != "because[0]" || f.Value != "41.5" {
			t.Fatalf("got %+v", err)
		}
		w.unsent(p.ID, "evidence")
		if o := w.order(p.ID); len(o.Evidence) != 1 || !o.Evidence[0].False() {
			t.Errorf("recorded %+v", o.Evidence)
		}
	})
}

// TestEvidence_UnknownForNowKeepsTheKey sends nothing while a claim cannot be judged, and the same key places the
// order afterwards.
func TestEvidence_UnknownForNowKeepsTheKey(t *testing.T) {
	t.Parallel()
	inEvidence(t, order.Evidence{Later: true, Missing: "The bars could not be read in time."}, func(w *world) {
		r := because(buy("0.01"))
		r.Key = "k"
		p, err := w.Place(w.t.Context(), caller(), r)
		if f := fault.Of(err); f == nil || f.Code != "evidence_unavailable" || !f.Retryable || p.ID != "" {
			t.Fatalf("got %+v, %v", p, err)
		}
		w.stop()
		w.judge = judging(0, holds)
		w.start()
		time.Sleep(2 * time.Second)
		if o := w.place(r); !o.Evidence[0].True || w.taken(o.ID) != 1 {
			t.Errorf("got %v, sent %d times", o.Status, w.taken(o.ID))
		}
	})
}

// TestEvidence_ExitsNeverWait sells with claims that are false, unknown, or judged after an hour: each sell is sent
// within 200 ms.
func TestEvidence_ExitsNeverWait(t *testing.T) {
	t.Parallel()
	for name, judge := range map[string]func(context.Context, principal.Owner, market.Symbol, []order.Claim) []order.Evidence{
		"false":   judging(0, order.Evidence{Known: true}),
		"unknown": judging(0, order.Evidence{Missing: "too few bars"}),
		"later":   judging(0, order.Evidence{Later: true}),
		"slow":    judging(time.Hour, holds),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inEvidence(t, holds, func(w *world) {
				w.place(buy("0.5"))
				w.stop()
				w.judge = judge
				w.start()
				time.Sleep(2 * time.Second)
				sell := because(buy("0.5"))
				sell.Side, sell.ReduceOnly = order.Sell, true
				began := time.Now()
				o := w.place(sell)
				if took := time.Since(began); took > 200*time.Millisecond || w.taken(o.ID) != 1 || len(o.Evidence) != 1 || o.Evidence[0].True {
					t.Errorf("after %v: %v with %+v", took, o.Status, o.Evidence)
				}
			})
		})
	}
}

// TestEvidence_IsJudgedAgainAtApproval denies an order that the owner approves when its reason is no longer true, lets
// it wait while that is not known, and sends it while it is.
func TestEvidence_IsJudgedAgainAtApproval(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		now    order.Evidence
		status order.Status
		code   string
	}{
		"still true":     {holds, order.Filled, ""},
		"no longer true": {order.Evidence{Known: true, Value: "41.5"}, order.Denied, "order_denied"},
		"not known now":  {order.Evidence{Later: true}, order.PendingApproval, "evidence_unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inApproval(t, func(w *world) {
				w.stop()
				w.judge = judging(0, holds)
				w.start()
				time.Sleep(2 * time.Second)
				o := w.held(because(buy("0.5")))
				w.stop()
				w.judge = judging(0, c.now)
				w.start()
				time.Sleep(2 * time.Second)
				review, err := w.Review(w.t.Context(), o.ID)
				if err != nil || len(review.Evidence) != 1 || review.Evidence[0].Value != c.now.Value || (review.Denial != nil) != (c.status == order.Denied) {
					t.Errorf("reviewed as %+v, %v", review, err)
				}
				_, err = w.Approve(w.t.Context(), o.ID, owned)
				if f := fault.Of(err); c.code == "" && err != nil || c.code != "" && (f == nil || f.Code != c.code) {
					t.Errorf("approved: %v", err)
				}
				if now := w.order(o.ID); now.Status != c.status {
					t.Errorf("it is %v", now.Status)
				}
			})
		})
	}
}

// TestEvidence_NeedsBars refuses claims where there are no bars.
func TestEvidence_NeedsBars(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		if _, err := w.Place(w.t.Context(), caller(), because(buy("0.01"))); fault.Of(err) == nil || fault.Of(err).Code != "not_supported" {
			t.Errorf("got %v", err)
		}
	})
}
