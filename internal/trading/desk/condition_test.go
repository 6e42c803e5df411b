package desk_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// gate is a condition of the owner's for purchases.
func gate(text string) guard.EntryCondition {
	return guard.EntryCondition{Side: order.Buy, Claim: order.Claim{Interval: market.Hour1, Condition: []byte(`{"text":"` + text + `"}`), Text: text}}
}

// byText is a judge that finds of each claim what a table says of its words, and counts its calls.
func byText(calls *int, found map[string]order.Evidence) func(context.Context, principal.Owner, market.Symbol, []order.Claim) []order.Evidence {
	return func(_ context.Context, _ principal.Owner, _ market.Symbol, claims []order.Claim) []order.Evidence {
		*calls++
		all := make([]order.Evidence, len(claims))
		for i, c := range claims {
			all[i] = found[c.Text]
			all[i].Claim = c
		}
		return all
	}
}

// inGate is inWorld with conditions of the owner's and what is found of them.
func inGate(t *testing.T, found map[string]order.Evidence, test func(w *world, calls *int)) {
	t.Helper()
	inWorld(t, func(w *world) {
		calls := 0
		w.policy.EntryConditions = []guard.EntryCondition{gate("calm")}
		w.judge = byText(&calls, found)
		w.stop()
		w.start()
		time.Sleep(2 * time.Second)
		test(w, &calls)
	})
}

// TestConditions_GateEntries sends an entry while the owner's condition is true, records what was found, and denies one
// while it is false, whatever the claims of the order are. A repeated key returns the first order.
func TestConditions_GateEntries(t *testing.T) {
	t.Parallel()
	found := map[string]order.Evidence{"calm": holds, "RSI(14) of BTCUSDT on 1h closes below 30": holds}
	inGate(t, found, func(w *world, _ *int) {
		r := because(buy("0.01"))
		r.Key = "k"
		first := w.place(r)
		found["calm"] = order.Evidence{Known: true, Value: "71.2", Against: "70"}
		w.stop()
		w.start()
		time.Sleep(2 * time.Second)
		for what, o := range map[string]order.Order{"the order": first, "its repeat": w.place(r), "the record": w.order(first.ID)} {
			if o.ID != first.ID || len(o.Evidence) != 1 || len(o.Conditions) != 1 || !o.Conditions[0].True || o.Conditions[0].Text != "calm" {
				t.Errorf("%s: %s with %+v", what, o.ID, o.Conditions)
			}
		}
		dry := buy("0.02")
		dry.DryRun = true
		if p, err := w.Place(w.t.Context(), caller(), dry); err == nil || p.ID != "" || p.Denial.Rule != "entry_condition" {
			t.Errorf("a dry run: %+v, %v", p.Denial, err)
		}
		p, err := w.Place(w.t.Context(), caller(), because(buy("0.03")))
		if f := fault.Of(err); f == nil || f.Code != "order_denied" {
			t.Fatalf("got %v", err)
		}
		w.unsent(p.ID, "entry_condition")
		if o := w.order(p.ID); len(o.Conditions) != 1 || !o.Conditions[0].False() || o.Denial.Value != "71.2" {
			t.Errorf("recorded %+v", o.Conditions)
		}
	})
}

// TestConditions_UnknownKeepTheKey sends nothing while a condition cannot be judged, and denies where it never can be.
func TestConditions_UnknownKeepTheKey(t *testing.T) {
	t.Parallel()
	found := map[string]order.Evidence{"calm": {Later: true, Missing: "The bars could not be read in time."}}
	inGate(t, found, func(w *world, _ *int) {
		r := buy("0.01")
		r.Key = "k"
		p, err := w.Place(w.t.Context(), caller(), r)
		if f := fault.Of(err); f == nil || f.Code != "evidence_unavailable" || !f.Retryable || p.ID != "" {
			t.Fatalf("got %+v, %v", p, err)
		}
		found["calm"] = holds
		if o := w.place(r); w.taken(o.ID) != 1 {
			t.Errorf("sent %d times", w.taken(o.ID))
		}
		found["calm"] = order.Evidence{Missing: "It needs 200 bars."}
		p, _ = w.Place(w.t.Context(), caller(), buy("0.03"))
		w.unsent(p.ID, "entry_condition")
	})
}

// TestConditions_LeaveExitsAlone sells what is held while a condition for purchases and one for sales are false: nothing
// is judged, and nothing is waited for.
func TestConditions_LeaveExitsAlone(t *testing.T) {
	t.Parallel()
	found := map[string]order.Evidence{"calm": holds}
	inGate(t, found, func(w *world, calls *int) {
		w.place(buy("0.5"))
		p := w.policy
		p.EntryConditions = []guard.EntryCondition{gate("calm"), gate("calm")}
		p.EntryConditions[1].Side = order.Sell
		if err := w.SetPolicy(w.t.Context(), p); err != nil {
			t.Fatal(err)
		}
		found["calm"] = order.Evidence{Known: true}
		before, began := *calls, time.Now()
		sell := buy("0.2")
		sell.Side, sell.ReduceOnly = order.Sell, true
		for _, r := range []order.Request{sell, func() order.Request { r := sell; r.ReduceOnly, r.Quantity = false, dec("0.1"); return r }()} {
			if o := w.place(r); w.taken(o.ID) != 1 || len(o.Conditions) > 0 {
				t.Errorf("%v with %+v", o.Status, o.Conditions)
			}
		}
		all := sell
		all.Quantity, all.Sizing.All = dec("0"), true
		if o := w.place(all); w.taken(o.ID) != 1 {
			t.Errorf("all: %v", o.Status)
		}
		if took := time.Since(began); took > 200*time.Millisecond || *calls-before > 1 {
			t.Errorf("after %v and %d judgements", took, *calls-before)
		}
	})
}

// TestConditions_AtApprovalAreThoseOfNow judges an order that waits by the conditions that the policy has when it is
// approved: one that came is judged, one that went is not.
func TestConditions_AtApprovalAreThoseOfNow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy []guard.EntryCondition
		found  map[string]order.Evidence
		status order.Status
		shown  int
	}{
		"still true":         {[]guard.EntryCondition{gate("calm")}, map[string]order.Evidence{"calm": holds}, order.Filled, 1},
		"false now":          {[]guard.EntryCondition{gate("calm")}, map[string]order.Evidence{"calm": {Known: true, Value: "71"}}, order.Denied, 1},
		"gone":               {nil, map[string]order.Evidence{"calm": {Known: true}}, order.Filled, 0},
		"a new one is true":  {[]guard.EntryCondition{gate("calm"), gate("new")}, map[string]order.Evidence{"calm": holds, "new": holds}, order.Filled, 2},
		"a new one is false": {[]guard.EntryCondition{gate("new")}, map[string]order.Evidence{"calm": holds, "new": {Known: true, Value: "5"}}, order.Denied, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := map[string]order.Evidence{"calm": holds}
			inGate(t, found, func(w *world, _ *int) {
				w.policy.Approval = guard.Approval{Above: guard.Limit{Value: dec("1000")}, RiskAbove: guard.Limit{Off: true}, Expires: time.Hour, DriftPct: guard.Limit{Off: true}}
				w.stop()
				w.start()
				time.Sleep(2 * time.Second)
				o := w.held(buy("0.5"))
				maps.Copy(found, c.found)
				p := w.policy
				p.EntryConditions = c.policy
				if err := w.SetPolicy(w.t.Context(), p); err != nil {
					t.Fatal(err)
				}
				review, err := w.Review(w.t.Context(), o.ID)
				if err != nil || len(review.Conditions) != c.shown || (review.Denial != nil) != (c.status == order.Denied) {
					t.Errorf("reviewed as %+v, %v", review, err)
				}
				_, err = w.Approve(w.t.Context(), o.ID, owned)
				if now := w.order(o.ID); now.Status != c.status || (err != nil) != (c.status == order.Denied) {
					t.Errorf("it is %v, %v", now.Status, err)
				}
			})
		})
	}
}

// TestConditions_OfAPolicyThatChangesMeanwhile holds that an order whose conditions were judged by an older policy is
// not sent by the new one.
func TestConditions_OfAPolicyThatChangesMeanwhile(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.judge = func(ctx context.Context, _ principal.Owner, _ market.Symbol, claims []order.Claim) []order.Evidence {
			p := w.policy
			p.EntryConditions = []guard.EntryCondition{gate("calm")}
			if err := w.SetPolicy(ctx, p); err != nil {
				t.Error(err)
			}
			all := make([]order.Evidence, len(claims))
			for i, c := range claims {
				all[i] = holds
				all[i].Claim = c
			}
			return all
		}
		w.stop()
		w.start()
		time.Sleep(2 * time.Second)
		r := because(buy("0.01"))
		r.Key = "k"
		p, err := w.Place(w.t.Context(), caller(), r)
		if f := fault.Of(err); f == nil || f.Code != "evidence_unavailable" || p.ID != "" {
			t.Fatalf("got %+v, %v", p, err)
		}
		if o := w.place(r); w.taken(o.ID) != 1 || len(o.Conditions) != 1 {
			t.Errorf("the same call again: %v with %+v", o.Status, o.Conditions)
		}
	})
}

// TestNoEvidence_MarksExits sends exits without a reason where the owner asks for one of all orders, marks them and
// reports them, and none of those with a reason. The mark survives a restart.
func TestNoEvidence_MarksExits(t *testing.T) {
	t.Parallel()
	inEvidence(t, holds, func(w *world) {
		w.policy.RequireEvidence = guard.EvidenceAll
		w.stop()
		w.start()
		time.Sleep(2 * time.Second)
		if p, err := w.Place(w.t.Context(), caller(), buy("0.02")); err == nil || p.Denial.Rule != "require_evidence" {
			t.Errorf("an entry without a reason: %+v, %v", p.Denial, err)
		}
		w.place(because(buy("0.5")))
		sell := buy("0.1")
		sell.Side, sell.ReduceOnly = order.Sell, true
		bare := w.place(sell)
		sell.Quantity = dec("0.2")
		reasoned := w.place(because(sell))
		stop := sell
		stop.Quantity, stop.Key, stop.Protect.StopLoss = dec("0.2"), "stop", dec("40000")
		protects := w.place(because(stop))
		if again := w.place(because(stop)); again.ID != protects.ID || len(again.Evidence) != 1 {
			t.Errorf("a repeated stop with a reason: %s, %s with %+v", protects.ID, again.ID, again.Evidence)
		}
		w.stop()
		w.start()
		time.Sleep(2 * time.Second)
		if !bare.NoEvidence || !w.order(bare.ID).NoEvidence || w.taken(bare.ID) != 1 {
			t.Errorf("an exit without a reason: %+v", bare.Origin)
		}
		if reasoned.NoEvidence || protects.NoEvidence {
			t.Error("an exit with a reason is marked")
		}
		if !slices.Equal(w.unreasoned, []string{bare.ID}) {
			t.Errorf("reported %v", w.unreasoned)
		}
	})
}
