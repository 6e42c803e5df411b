package guard

import (
	"fmt"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
)

// MaxPendingApprovals is how many orders of one client may wait for the owner.
const MaxPendingApprovals = 5

// Approval says which orders wait for the owner, and how long.
type Approval struct {
	Above     Limit         // value of one order
	RiskAbove Limit         // what one order risks at its stop, or its value without one
	Expires   time.Duration // how long an order waits
	DriftPct  Limit         // how far the price of a market order may move meanwhile
}

// on reports whether orders wait at all. Without a time that they wait they could not.
func (a Approval) on() bool { return (!a.Above.Off || !a.RiskAbove.Off) && a.Expires > 0 }

// Explain says which orders wait for the owner.
func (a Approval) Explain() string {
	if !a.on() {
		return "No order needs the owner's approval: approval_above and approval_risk_above are none."
	}
	drift := "any price"
	if !a.DriftPct.Off {
		drift = "a price within " + perCent(a.DriftPct)
	}
	above := fmt.Sprintf("worth more than %v or that risks more than %v", a.Above, a.RiskAbove)
	switch {
	case a.RiskAbove.Off:
		above = fmt.Sprintf("worth more than %v", a.Above)
	case a.Above.Off:
		above = fmt.Sprintf("that risks more than %v", a.RiskAbove)
	}
	return fmt.Sprintf("An order %s needs the owner's approval, unless it only reduces a position: within %v, and for a market order at %s.", above, a.Expires, drift)
}

// approvalKeys are the keys of the file about approval.
func approvalKeys() []policyKey {
	return []policyKey{
		limitKey("approval_above", false, readAmount, func(p *Policy) *Limit { return &p.Approval.Above }),
		limitKey("approval_risk_above", false, readAmount, func(p *Policy) *Limit { return &p.Approval.RiskAbove }),
		spanKey("approval_expires", time.Minute, 24*time.Hour, func(p *Policy) *time.Duration { return &p.Approval.Expires }),
		limitKey("approval_drift_pct", false, readPercent, func(p *Policy) *Limit { return &p.Approval.DriftPct }),
	}
}

// NeedsApproval reports whether an order that Check passes must wait for the owner. One
// that only reduces a position never does, nor does one of a deployment: the owner approved its orders up to
// its limits when it was started.
func NeedsApproval(p Policy, in Intent, f Facts) bool {
	q := newCheck(p, State{}, in, f)
	a := p.Approval
	return a.on() && in.Deployment == "" && !q.closes() && (a.Above.exceeded(q.notional(q.Quantity)) || a.RiskAbove.exceeded(q.risk()))
}

// Review is how an order that waits for the owner stands now.
type Review struct {
	Because    []Breach         // limits above which the owner is asked
	Evidence   []order.Evidence // its claims, judged again
	Conditions []order.Evidence // the owner's conditions as they are now
	Denial     *Denial          // why it would be denied if it were approved now; nil if every rule passes
}

// Breach is a limit with the amount above it.
type Breach struct {
	Rule         string
	Value, Limit decimal.Decimal
}

// WhyApproval returns the limits for which an order must wait for the owner.
func WhyApproval(p Policy, in Intent, f Facts) []Breach {
	if !NeedsApproval(p, in, f) {
		return nil
	}
	var all []Breach
	q := newCheck(p, State{}, in, f)
	add := func(rule string, limit Limit, value decimal.Decimal) {
		if limit.exceeded(value) {
			all = append(all, Breach{Rule: rule, Value: value, Limit: limit.Value})
		}
	}
	add("approval_above", p.Approval.Above, q.notional(q.Quantity))
	add("approval_risk_above", p.Approval.RiskAbove, q.risk())
	return all
}

// closes reports whether the order can only reduce the position, also if it takes the
// place of the orders that hold the position now.
func (q *orderCheck) closes() bool {
	against := q.Held.Sign() == -int(q.Side.Sign())
	return q.reduces() || q.ReduceOnly && against && q.Quantity.LessThanOrEqual(q.Held.Abs())
}

// CheckReplacing denies an order that replaces another one and would have to wait for the
// owner: the other one would stay open and could be filled meanwhile.
func CheckReplacing(p Policy, in Intent, f Facts, replaces string) *Denial {
	if replaces == "" || !NeedsApproval(p, in, f) {
		return nil
	}
	d := deny("replaces", replaces, "an order that needs no approval",
		"replaces: the new order needs the owner's approval, and order %s would stay open until then. Cancel it with cancel_order, then place the new order without replaces.", replaces)
	d.Rule = "replaces_needs_approval"
	return d
}

// CheckPending denies an order that would have to wait while as many as allowed of the
// same client do.
func CheckPending(waiting int) *Denial {
	if waiting < MaxPendingApprovals {
		return nil
	}
	d := deny("", strconv.Itoa(waiting+1), strconv.Itoa(MaxPendingApprovals),
		"%d orders wait for the owner's approval; the limit is %d. Wait for a decision, or cancel one with cancel_order.", waiting, MaxPendingApprovals)
	d.Rule = "max_pending_approvals"
	return d
}

// CheckDrift denies a market order whose price moved too far since the owner was asked.
// A limit order has its price, and an order that waits for a stop price has that.
func CheckDrift(p Policy, o order.Order, last decimal.Decimal) *Denial {
	asked, limit := o.Approval.Price, p.Approval.DriftPct
	if o.Type != order.Market || o.StopPrice.IsPositive() || limit.Off {
		return nil
	}
	if asked.IsPositive() && !last.Sub(asked).Abs().GreaterThan(percent(asked, limit.Value)) {
		return nil
	}
	moved := "unknown"
	if asked.IsPositive() {
		moved = last.Sub(asked).Abs().Shift(2).DivRound(asked, 2).String() + " %" // rounded for display
	}
	d := deny("", moved, perCent(limit), "The price of %v was %v when the owner was asked and is %v now: it moved by %s; the limit is %s. Nothing was sent. Place the order again if it is still wanted.",
		o.Symbol, asked, last, moved, perCent(limit))
	d.Rule = "approval_price_moved"
	return d
}

// ApprovalExpired is the denial of an order that the owner did not decide in time.
func ApprovalExpired(o order.Order) *Denial {
	until := o.Approval.Expires.UTC().Format(time.RFC3339)
	return &Denial{
		Rule: "approval_expired", Limit: o.Approval.Expires.Sub(o.Approval.Asked).String(), Value: until,
		Text: fmt.Sprintf("The owner did not decide until %s. Nothing was sent. Place the order again if it is still wanted.", until),
	}
}

// OwnerRefused is the denial of an order that the owner refused, with the reason if there
// is one.
func OwnerRefused(reason string) *Denial {
	d := &Denial{Rule: "owner_refused", Limit: "the owner's approval", Value: "refused", Text: "The owner refused the order"}
	if reason != "" {
		d.Text += ": " + reason
	}
	return d
}

// LoginRevoked is the denial of an order whose client lost its login while it waited.
func LoginRevoked() *Denial {
	return &Denial{
		Rule: "login_revoked", Limit: "a login that is in force", Value: "revoked",
		Text: "The login that placed the order was revoked before the owner decided. Nothing was sent.",
	}
}

// HaltedWhilePending is the denial of an order that waited for the owner when trading was
// halted.
func HaltedWhilePending(s State) *Denial {
	return &Denial{
		Rule: "halted", Limit: "no orders", Value: s.Level().String(),
		Text: "Trading was halted while the order waited for the owner: " + s.Explain() + ". Nothing was sent.",
	}
}
