package console

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/access/owner"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// approvalsPage shows the orders that need approval and those that were decided.
func approvalsPage() page {
	return page{
		path: "/approvals", name: "approvals", title: "Approvals", icon: "shield", key: "p", tab: "Approvals", live: "state orders list",
		needs: func(p Ports) bool { return p.Account != nil }, data: (*Console).approvalsData,
	}
}

// approvalPage shows one order: messages to the owner link to it.
func approvalPage() page {
	return page{
		path: "/approvals/{id}", name: "approvals", title: "Approvals", live: "state orders list",
		needs: func(p Ports) bool { return p.Account != nil }, data: (*Console).approvalsData,
	}
}

// approvalActs decide orders that need approval.
func approvalActs() []act {
	return []act{
		{path: "/approvals/{id}/allow", asks: ifNotRecent, form: allowForm, do: (*Console).allow},
		{path: "/approvals/{id}/refuse", asks: confirmOnly, form: refuseForm, do: (*Console).refuse},
	}
}

type approvalsData struct {
	Rule      string // when the owner is asked
	Cards     []card
	Chosen    *orderRow // the order of the link, if it no longer waits
	Decided   []actRow
	Receivers []Receiver
	Problem   string
}

// card is an order that needs approval.
type card struct {
	orderRow
	Meta     string
	Target   string // where the client's access went, "" if it has ended
	Expires  time.Time
	Asked    time.Time
	At, Last string // prices when it was asked and now
	Full     market.Symbol
	Moved    string
	MovedUp  string // class
	Barred   string // why it cannot be allowed
	Live     bool
	Holding  string // position before and after
	Exposure string // with the order, of its limit
	Line     *spark // the price since it was asked
	Legs     []string
	Stake    string // of an order in a perpetual future: margin and liquidation
	Because  string // why it needs approval
	Passes   bool   // every rule now
	Denied   string // the rule that it breaks now
	Reasons  []reasonRow
}

func (c *Console) approvalsData(v *visit) (any, error) {
	d := approvalsData{Rule: approvalRule(c.cfg.Policy().Approval, v.format())}
	all, err := c.cfg.Account.Orders(v.ctx(), v.caller(), false)
	if err != nil {
		return nil, err
	}
	held, err := c.positions(v)
	if err != nil {
		d.Problem = c.public(v.ctx(), err)
	}
	if c.cfg.Receivers != nil {
		d.Receivers = c.cfg.Receivers()
	}
	f, chosen, exposure, targets := v.format(), v.id(), c.exposure(v), c.targets(v)
	for _, o := range all {
		if head := o.Group.Name == "" || o.Group.Name == o.ID; !head || o.Approval.Asked.IsZero() {
			continue
		}
		switch waits := o.Status == order.PendingApproval; {
		case waits && (chosen == "" || chosen == o.ID):
			k := c.card(v, o, held)
			k.Exposure, k.Target = exposure, targets[o.Token]
			c.addReview(v, &k, o)
			d.Cards = append(d.Cards, k)
		case !waits && f.now.Sub(o.Approval.Asked) < 7*24*time.Hour:
			d.Decided = append(d.Decided, decided(o, f))
		}
	}
	if chosen != "" && len(d.Cards) == 0 {
		o, err := c.find(v, chosen)
		if err != nil {
			return nil, err
		}
		d.Chosen = new(newOrderRow(o, f, nil))
	}
	return d, nil
}

// targets returns where the access of each client went, by the key of its token.
func (c *Console) targets(v *visit) map[string]string {
	if c.cfg.Clients == nil {
		return nil
	}
	all, err := c.cfg.Clients.Tokens(v.ctx(), v.session.Subject)
	if err != nil {
		return nil // the cards are good without it
	}
	targets := make(map[string]string, len(all))
	for _, t := range all {
		if t.Grant.Target != "" {
			_, targets[t.Key], _ = splitTarget(t.Grant.Target)
		}
	}
	return targets
}

// addReview adds why an order needs approval and whether it would pass now, if that is known
// soon.
func (c *Console) addReview(v *visit, k *card, o order.Order) {
	ctx, cancel := context.WithTimeout(v.ctx(), quoteWithin)
	defer cancel()
	review, err := c.cfg.Account.Review(ctx, k.ID)
	if err != nil {
		return // the card is good without it, and allowing checks again
	}
	f := v.format()
	because := make([]string, 0, len(review.Because))
	for _, b := range review.Because {
		word := map[string]string{"approval_above": "value ", "approval_risk_above": "risk "}[b.Rule]
		because = append(because, word+f.Money(b.Value)+", above "+f.Whole(b.Limit))
	}
	k.Because = upperFirst(strings.Join(because, "; "))
	k.Reasons = reasonsNow(o, review.Evidence, review.Conditions)
	k.Passes = review.Denial == nil
	if d := review.Denial; d != nil && guard.JudgesReasons(d.Rule) {
		k.Barred = cmp.Or(k.Barred, fault.Clean(strings.TrimSuffix(d.Text, " Nothing was sent."), 300))
	} else if d != nil {
		k.Denied = d.Rule + ": " + fault.Clean(d.Text, 200)
	}
}

// exposure returns how much of its limit is used; orders that need approval count in it.
func (c *Console) exposure(v *visit) string {
	account, err := c.cfg.Account.Account(v.ctx(), v.caller())
	if err != nil {
		return "" // the page reports it with the positions
	}
	f := v.format()
	for _, u := range account.Usage {
		if u.Rule == "max_exposure" && !u.Limit.Off {
			return f.Money(u.Used) + " of " + f.Whole(u.Limit.Value)
		}
	}
	return ""
}

// The size of the line of the price since an order was asked for, in points.
const sinceWidth, sinceHeight = 280, 44

// approvalRule says when the owner is asked.
func approvalRule(a guard.Approval, f format) string {
	var over []string
	if !a.Above.Off {
		over = append(over, "with a value above "+f.Num(a.Above.Value))
	}
	if !a.RiskAbove.Off {
		over = append(over, "that risk more than "+f.Num(a.RiskAbove.Value))
	}
	if len(over) == 0 {
		return "No order needs approval. approval_above in policy.toml turns it on."
	}
	return "Orders " + strings.Join(over, " or ") + " need approval within " + span(a.Expires)
}

// quoteWithin limits how long a page waits for a price that is not followed.
const quoteWithin = 300 * time.Millisecond

// price returns the last price of a symbol, zero if it is unknown.
func (c *Console) price(ctx context.Context, s market.Symbol) decimal.Decimal {
	if c.cfg.Prices == nil {
		return decimal.Zero
	}
	if q, ok := c.cfg.Prices.LastQuote(s); ok {
		return q.Last
	}
	ctx, cancel := context.WithTimeout(ctx, quoteWithin)
	defer cancel()
	q, _ := c.cfg.Prices.Quote(ctx, s) // zero without a price
	return q.Last
}

func (c *Console) card(v *visit, o order.Order, held positions) card {
	f := v.format()
	k := card{
		orderRow: newOrderRow(o, f, nil), Expires: o.Approval.Expires, Asked: o.Approval.Asked, Full: o.Symbol, Live: o.Mode == order.Live,
		At: f.Px(o.Approval.Price), Legs: legsOf(o, f), Reasons: reasons(o),
	}
	k.Meta = upperFirst(k.Kind)
	if k.Price != "–" {
		k.Meta += " " + k.Price
	}
	if last := c.price(v.ctx(), o.Symbol); last.IsPositive() && o.Approval.Price.IsPositive() {
		moved := last.Sub(o.Approval.Price).Mul(decimal.NewFromInt(100)).DivRound(o.Approval.Price, 4)
		k.Last, k.Moved, k.MovedUp = f.Px(last), f.Percent(moved), f.Class(moved)
		asked, now := o.Approval.Price.InexactFloat64(), last.InexactFloat64()
		k.Line = newSpark(slices.Concat([]float64{asked}, c.closes(v.ctx(), o.Symbol, o.Approval.Asked), []float64{now}), sinceWidth, sinceHeight)
		drift := c.cfg.Policy().Approval.DriftPct
		if o.Type == order.Market && !drift.Off && moved.Abs().GreaterThan(drift.Value) {
			k.Barred = "The price moved " + f.Percent(moved) + ", the limit is " + f.Money(drift.Value) + " %."
		}
	}
	if s := o.Approval.Stake; s != nil {
		k.Stake = upperFirst(s.Text(f.Px, func(d decimal.Decimal) string { return f.Num(d.Round(2)) }))
	}
	before := decimal.Zero
	for _, p := range held.Rows {
		if p.Full == o.Symbol {
			before = p.Held
		}
	}
	k.Holding = f.Num(before) + " → " + f.Num(before.Add(o.Quantity.Mul(decimal.NewFromInt(o.Side.Sign()))))
	return k
}

// legsOf describes the orders that protect an entry.
func legsOf(o order.Order, f format) []string {
	var legs []string
	add := func(name string, d decimal.Decimal, unit string) {
		if d.IsPositive() {
			legs = append(legs, name+" "+f.Px(d)+unit)
		}
	}
	add("stop loss", o.Protect.StopLoss, "")
	add("trailing stop", o.Protect.TrailPercent, " %")
	add("take profit", o.Protect.TakeProfit, "")
	return legs
}

// decided describes what became of an order that needed approval.
func decided(o order.Order, f format) actRow {
	a := actRow{Text: lowerFirst(terms(o, f)), At: cmp.Or(o.Approval.Decided, o.Updated), To: Root + "/orders/" + o.ID}
	waited := "after " + span(a.At.Sub(o.Approval.Asked))
	switch {
	case o.Approval.By != "":
		a.Lead, a.Icon, a.Who = "Allowed", "check", waited+", by "+fault.Clean(o.Approval.By, 60)
	case o.Denial.Rule == "approval_expired":
		a.Lead, a.Icon, a.Who = "Expired", "clock", "no answer in "+span(o.Approval.Expires.Sub(o.Approval.Asked))
	case o.Denial.Rule == "approval_price_moved":
		a.Lead, a.Icon, a.Who = "Moved too far", "warn", fault.Clean(o.Reason, 80)
	case o.Denial.Rule == "owner_refused":
		a.Lead, a.Icon, a.Who = "Refused", "x", waited
	default:
		a.Lead, a.Icon, a.Who = upperFirst(o.Status.String()), "x", fault.Clean(o.Reason, 80)
	}
	return a
}

// pending returns an order that needs approval, or a fault with what was decided.
func (c *Console) pending(v *visit) (order.Order, error) {
	o, err := c.find(v, v.id())
	if err != nil || o.Status == order.PendingApproval {
		return o, err
	}
	return o, fault.New(fault.Conflict, "not_pending", "The order no longer needs approval: it is %s. Nothing was changed.", o.Status)
}

// by names the browser that decides.
func (v *visit) by() string { return "the console in " + owner.Describe(v.r.UserAgent()) }

func allowForm(c *Console, v *visit) (form, error) {
	o, err := c.pending(v)
	if err != nil {
		return form{}, err
	}
	f := v.format()
	points := []point{{"shield", "", "Every rule is checked again at the price of now; then it is sent."}}
	k := c.card(v, o, positions{})
	if c.addReview(v, &k, o); k.Barred != "" {
		points = []point{{"warn", "", k.Barred + " It is denied if you allow it now."}}
	}
	if o.Mode == order.Live {
		points = append(points, point{"warn", "Real money", "moves at " + o.Broker + "."})
	}
	return form{
		Title: "Allow this order?", Lead: terms(o, f) + ", value " + newOrderRow(o, f, nil).Value + ".", Points: points,
		Submit: "Allow", Keep: "Back", Back: "/approvals/" + o.ID, Page: "approvals",
	}, nil
}

func (c *Console) allow(v *visit) (done, error) {
	if c.cfg.Account == nil {
		return done{}, errNoTrading
	}
	o, err := c.cfg.Account.Approve(v.ctx(), v.id(), v.by())
	if err != nil {
		return done{}, err
	}
	return done{Notice: "Allowed. The order is " + strings.ReplaceAll(o.Status.String(), "_", " ") + ".", To: "/approvals"}, nil
}

func refuseForm(c *Console, v *visit) (form, error) {
	o, err := c.pending(v)
	if err != nil {
		return form{}, err
	}
	return form{
		Title: "Refuse this order?", Lead: terms(o, v.format()) + ". Nothing is sent. The agent reads the reason.",
		Fields: []field{{Name: "reason", Label: "Reason", Hint: "optional"}}, Submit: "Refuse", Keep: "Back", Danger: true, Back: "/approvals/" + o.ID, Page: "approvals",
	}, nil
}

func (c *Console) refuse(v *visit) (done, error) {
	if c.cfg.Account == nil {
		return done{}, errNoTrading
	}
	if _, err := c.cfg.Account.Refuse(v.ctx(), v.id(), v.by(), reason(v)); err != nil {
		return done{}, err
	}
	return done{Notice: "Refused. Nothing was sent.", To: "/approvals"}, nil
}
