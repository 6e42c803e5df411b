package guard_test

import (
	"testing"
	"time"

	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

func TestNeedsApproval(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		above  string
		change func(*scene)
		want   bool
	}{
		"an order worth less than the limit passes":          {"601", func(*scene) {}, false},
		"an order worth as much as the limit passes":         {"600", func(*scene) {}, false},
		"an order worth more waits":                          {"599.99", func(*scene) {}, true},
		"a limit of zero holds every order that opens":       {"0", func(*scene) {}, true},
		"a market order counts at the edge of its band":      {"629", (*scene).market, true},
		"a market order below the limit at that edge passes": {"630", (*scene).market, false},
		"a live order waits as one on paper does":            {"599", func(s *scene) { s.Mode = order.Live }, true},
		"a sale of what is held never waits":                 {"0", func(s *scene) { s.sell("0.1") }, false},
		"a sale of more than is held waits":                  {"0", func(s *scene) { s.sell("0.2") }, true},
		"a sale beside open sales of the same waits":         {"0", func(s *scene) { s.sell("0.1"); s.OpenSell = dec("0.1") }, true},
		"an exit that replaces the open sales never waits":   {"0", func(s *scene) { s.sell("0.1"); s.OpenSell, s.ReduceOnly = dec("0.1"), true }, false},
		"reduce_only does not excuse a purchase":             {"0", func(s *scene) { s.ReduceOnly = true }, true},
		"reduce_only does not excuse more than is held":      {"0", func(s *scene) { s.sell("0.11"); s.ReduceOnly = true }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := passing()
			s.Approval.Above = limit(c.above)
			c.change(s)
			if got := guard.NeedsApproval(s.Policy, s.Intent, s.Facts); got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
			s.Approval.Above = guard.Limit{Off: true}
			if guard.NeedsApproval(s.Policy, s.Intent, s.Facts) {
				t.Error("it waits without a limit")
			}
		})
	}
}

// The owner reads which limit an order is above, and by how much.
func TestWhyApproval(t *testing.T) {
	t.Parallel()
	s := passing()
	s.Approval.Above, s.Approval.RiskAbove = limit("599"), limit("601")
	got := guard.WhyApproval(s.Policy, s.Intent, s.Facts)
	if len(got) != 1 || got[0].Rule != "approval_above" || !got[0].Value.Equal(dec("600")) || !got[0].Limit.Equal(dec("599")) {
		t.Errorf("%+v", got)
	}
	s.Approval.RiskAbove = limit("20")
	if got := guard.WhyApproval(s.Policy, s.Intent, s.Facts); len(got) != 2 || got[1].Rule != "approval_risk_above" {
		t.Errorf("%+v", got)
	}
	s.sell("0.1")
	if got := guard.WhyApproval(s.Policy, s.Intent, s.Facts); got != nil {
		t.Errorf("a sale of what is held: %+v", got)
	}
}

// A stop bounds what an order risks, whatever it is worth.
func TestNeedsApproval_OfTheRisk(t *testing.T) {
	t.Parallel()
	s := passing()
	s.Approval.RiskAbove = limit("20")
	if !guard.NeedsApproval(s.Policy, s.Intent, s.Facts) {
		t.Error("600 without a stop does not wait")
	}
	s.Role, s.Protect.StopLoss = order.Entry, dec("59000") // 10 at the stop, and fees and slippage
	if guard.NeedsApproval(s.Policy, s.Intent, s.Facts) {
		t.Error("a risk below the limit waits")
	}
	s.Protect.StopLoss = dec("57000")
	if !guard.NeedsApproval(s.Policy, s.Intent, s.Facts) {
		t.Error("a risk above the limit does not wait")
	}
	s.sell("0.1")
	s.Role, s.Protect = 0, order.Protection{}
	if guard.NeedsApproval(s.Policy, s.Intent, s.Facts) {
		t.Error("a sale of what is held waits")
	}
}

func TestApproval_Drift(t *testing.T) {
	t.Parallel()
	p := guard.Default()
	asked := func(change func(*order.Order)) order.Order {
		o := order.Order{Origin: order.Origin{Spec: order.Spec{Symbol: symbol, Side: order.Buy, Type: order.Market}}, Approval: order.Approval{Price: dec("60000")}}
		change(&o)
		return o
	}
	for name, c := range map[string]struct {
		last   string
		change func(*order.Order)
		denied string
	}{
		"the same price":              {"60000", func(*order.Order) {}, ""},
		"at the limit above":          {"60300", func(*order.Order) {}, ""},
		"at the limit below":          {"59700", func(*order.Order) {}, ""},
		"beyond it above":             {"60300.01", func(*order.Order) {}, "0.5 %"},
		"beyond it below":             {"59000", func(*order.Order) {}, "1.67 %"},
		"a limit order has its price": {"10", func(o *order.Order) { o.Type = order.Limit }, ""},
		"a stop has its price":        {"10", func(o *order.Order) { o.StopPrice = dec("61000") }, ""},
		"the price then is unknown":   {"60000", func(o *order.Order) { o.Approval.Price = dec("0") }, "unknown"},
		"the price now is unknown":    {"0", func(*order.Order) {}, "100 %"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := guard.CheckDrift(p, asked(c.change), dec(c.last))
			if (d != nil) != (c.denied != "") || d != nil && (d.Rule != "approval_price_moved" || d.Value != c.denied || d.Limit != "0.5 %") {
				t.Errorf("got %+v, want %q", d, c.denied)
			}
		})
	}
	off := p
	off.Approval.DriftPct = guard.Limit{Off: true}
	if d := guard.CheckDrift(off, asked(func(*order.Order) {}), dec("1")); d != nil {
		t.Errorf("without a limit it is %+v", d)
	}
}

// Every end of an approval names its rule and says what happened.
func TestApproval_Denials(t *testing.T) {
	t.Parallel()
	if d := guard.CheckPending(guard.MaxPendingApprovals - 1); d != nil {
		t.Errorf("the fifth is denied: %+v", d)
	}
	o := order.Order{Approval: order.Approval{Asked: noon, Expires: noon.Add(5 * time.Minute)}}
	halted, _ := guard.State{}.Restrict(guard.Restriction{Kind: guard.OwnerHalt, By: "me", Since: noon})
	for rule, c := range map[string]struct {
		denial *guard.Denial
		text   string
	}{
		"max_pending_approvals": {
			guard.CheckPending(guard.MaxPendingApprovals),
			"5 orders wait for the owner's approval; the limit is 5. Wait for a decision, or cancel one with cancel_order.",
		},
		"approval_expired": {
			guard.ApprovalExpired(o),
			"The owner did not decide until 2026-01-31T12:05:00Z. Nothing was sent. Place the order again if it is still wanted.",
		},
		"owner_refused": {guard.OwnerRefused("too much"), "The owner refused the order: too much"},
		"login_revoked": {guard.LoginRevoked(), "The login that placed the order was revoked before the owner decided. Nothing was sent."},
		"halted": {
			guard.HaltedWhilePending(halted),
			"Trading was halted while the order waited for the owner: owner_halt by me; lifted with candela resume. Nothing was sent.",
		},
	} {
		if d := c.denial; d == nil || d.Rule != rule || d.Text != c.text || d.Limit == "" || d.Value == "" {
			t.Errorf("%s is %+v", rule, d)
		}
	}
}

func TestParse_Approval(t *testing.T) {
	t.Parallel()
	if a := guard.Default().Approval; !a.Above.Off || !a.RiskAbove.Off || a.Expires != 5*time.Minute || a.DriftPct.String() != "0.5" {
		t.Errorf("the default is %+v", a)
	}
	for text, fine := range map[string]bool{
		`approval_expires = "59s"`:       false,
		`approval_expires = "1m"`:        true,
		`approval_expires = "24h"`:       true,
		`approval_expires = "24h1s"`:     false,
		`approval_expires = 5`:           false,
		`approval_above = -1`:            false,
		`approval_above = 0`:             true,
		`approval_above = "none"`:        true,
		`approval_drift_pct = 0`:         false,
		`approval_drift_pct = 100`:       true,
		`approval_drift_pct = "none"`:    true,
		"[symbol.A]\napproval_above = 1": false,
	} {
		if _, err := guard.Parse([]byte(text), conditions); (err == nil) != fine {
			t.Errorf("%s: %v", text, err)
		}
	}
}
