package guard

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
	"candela/lib/market"
)

// Deployment is what the guard knows of a deployment of a strategy that was started and has not ended.
type Deployment struct {
	ID     string          `json:"id"`
	Name   string          `json:"name"` // for texts
	Symbol market.Symbol   `json:"symbol"`
	Paused string          `json:"paused,omitempty"` // why it may only reduce its book; "" while it runs
	Budget decimal.Decimal `json:"budget"`           // of its exposure, in the account's currency
	Cap    decimal.Decimal `json:"cap"`              // the same, as the owner approved it
}

// limit returns the smaller of budget and cap.
func (d *Deployment) limit() decimal.Decimal { return decimal.Min(d.Budget, d.Cap) }

// String names the deployment for people.
func (d Deployment) String() string {
	if d.Name == "" {
		return "deployment " + d.ID
	}
	return fmt.Sprintf("deployment %s (%s)", d.ID, d.Name)
}

// WithDeployments returns the facts with what is known of the deployments, by ID.
func (f Facts) WithDeployments(known map[string]Deployment, s market.Symbol, deployment string) Facts {
	f.Started, f.Running = nil, nil
	for id, d := range known {
		switch d.ID = id; {
		case id == deployment:
			f.Started = &d
		case d.Symbol == s:
			f.Running = append(f.Running, d)
		}
	}
	slices.SortFunc(f.Running, func(a, b Deployment) int { return strings.Compare(a.ID, b.ID) })
	return f
}

// DeploymentRules returns the rules about deployments of strategies, as Rules does. Without deployments they deny
// nothing.
func DeploymentRules(p Policy) []Rule { return documented(p, ofDeployments) }

func ofDeployments(name string) bool { return strings.HasPrefix(name, "deployment_") }

// deploymentRules are the rules about deployments and what they hold.
func deploymentRules() []rule {
	fixed := func(text string) func(Policy) string { return func(Policy) string { return text } }
	return []rule{
		{
			"deployment_units", false, fixed("what is its own"),
			"An order that closes what a deployment holds, unless it is an order of that deployment; and an order of a deployment that closes more than its book.",
			checkUnits,
		},
		{
			"deployment_perpetual", false, fixed("one deployment, no orders beside it"),
			"In perpetual futures, whose positions the venue nets: an order of a client, or of a second deployment, in a symbol in which a deployment was started or holds something. An order that only reduces what is its own passes.",
			checkShared,
		},
		{
			"deployment_state", false, fixed("a deployment that runs"),
			"An order of a deployment that is paused, ended or unknown, or in another symbol than its own, unless it only reduces its book.",
			checkDeploymentState,
		},
		{
			"deployment_budget", false, fixed("the smaller of its budget and cap"),
			"An order of a deployment after which its book, with all that its open orders may add to it, could be worth more than its budget or its cap, at the last price or that of the order. An order that reduces it passes.",
			checkDeploymentBudget,
		},
	}
}

// shared sets what others hold of the symbol, and at which price the own part was opened.
func (f *Facts) shared(b *order.Book, s market.Symbol, deployment string) {
	all := b.Position(s)
	f.OthersHeld = all.Quantity.Sub(f.Held)
	f.Entry, _ = all.Average()
	if deployment != "" {
		f.Entry, _ = b.PositionOf(deployment, s).Average()
	}
	f.Shares = slices.DeleteFunc(b.Shares(s), func(one order.Share) bool { return one.Deployment == deployment })
}

// own returns the orders of a deployment, "" for those of none.
func own(b *order.Book, orders []order.Order, deployment string) []order.Order {
	return slices.DeleteFunc(slices.Clone(orders), func(o order.Order) bool { return b.DeploymentOf(o) != deployment })
}

// closable returns how much of what is held for those whose order it is no other order of theirs closes, but for
// stops and targets.
func (q *orderCheck) closable() decimal.Decimal {
	open := q.openSame()
	if !q.ReduceOnly {
		open = open.Sub(claimed(q.Exits))
	}
	return decimal.Max(q.against().Sub(open), decimal.Zero)
}

// checkUnits denies an order that needs units of others.
func checkUnits(q *orderCheck) *Denial {
	most := q.closable()
	others := slices.DeleteFunc(slices.Clone(q.Shares), func(one order.Share) bool { return one.Quantity.Sign() != -int(q.Side.Sign()) })
	if len(others) == 0 || q.Quantity.LessThanOrEqual(most) {
		return nil
	}
	who, next := q.holders(others)
	d := deny("quantity", q.Quantity.String(), most.String(), "quantity %v: %v of %v can be closed by this order; %s%s", q.Quantity, most, q.Symbol, who, next)
	if nearest := q.floor(most); nearest.IsPositive() {
		d.Nearest = []string{nearest.String()}
		d.Text += " The largest quantity is " + nearest.String() + "."
	}
	return d
}

// holders says who holds units that the order may not close, and what to do.
func (q *orderCheck) holders(others []order.Share) (who, next string) {
	var texts []string
	next = "."
	for _, one := range others {
		if one.Deployment == "" {
			texts = append(texts, fmt.Sprintf("%v was traded by hand or by clients", one.Quantity.Abs()))
			continue
		}
		d := &Deployment{ID: one.Deployment}
		for i := range q.Running {
			if q.Running[i].ID == one.Deployment {
				d = &q.Running[i]
			}
		}
		texts = append(texts, fmt.Sprintf("%s holds %v", d, one.Quantity.Abs()))
		next = ". Its own orders close that; to close it now, stop the deployment and let it close: candela strategies stop " + one.Deployment + " --close."
	}
	return strings.Join(texts, " and "), next
}

// checkShared keeps the orders in a perpetual future to one deployment.
func checkShared(q *orderCheck) *Denial {
	if !q.perpetual() || q.closes() {
		return nil
	}
	var others string
	switch {
	case len(q.Running) > 0:
		others = q.Running[0].String() + " trades in it"
	case len(q.Shares) > 0 && (q.Deployment != "" || q.Shares[0].Deployment != ""):
		others, _ = q.holders(q.Shares[:1])
	default:
		return nil
	}
	return deny("symbol", q.Symbol.String(), "a symbol without another deployment",
		"%v is a perpetual future, whose positions the venue nets, and %s. Use another symbol, or wait until that has ended.", q.Symbol, others)
}

// checkDeploymentState denies what a deployment may not do now.
func checkDeploymentState(q *orderCheck) *Denial {
	d := q.Started
	var why string
	switch {
	case q.Deployment == "" || q.closes():
		return nil
	case d == nil:
		d, why = &Deployment{ID: q.Deployment}, "has ended or is not known"
	case d.Symbol != q.Symbol:
		why = "trades " + d.Symbol.String() + " only"
	case d.Paused != "":
		why = "is paused (" + d.Paused + ")"
	default:
		return nil
	}
	return deny("", why, "orders that only reduce its book", "%s %s, so its orders may only reduce its book; %s. The owner can resume a deployment that is paused: candela strategies resume %s.", d, why, q.holding(), d.ID)
}

// checkDeploymentBudget bounds the exposure of a deployment.
func checkDeploymentBudget(q *orderCheck) *Denial {
	d := q.Started
	if d == nil || q.closes() {
		return nil
	}
	before, after := q.Held.Add(q.OpenBuy), q.Held.Add(q.OpenBuy).Add(q.Quantity)
	if q.Side == order.Sell {
		before, after = q.Held.Sub(q.OpenSell), q.Held.Sub(q.OpenSell).Sub(q.Quantity)
	}
	limit, worth := d.limit(), after.Abs().Mul(q.plainPrice()).Mul(q.Rate)
	if !after.Abs().GreaterThan(before.Abs()) || worth.LessThanOrEqual(limit) {
		return nil
	}
	return deny("quantity", worth.String(), limit.String(),
		"The book of %s could reach %v of %v, worth %s; its limit is %s, the smaller of its budget and cap. The owner can raise it: candela strategies limits %s.", d, after.Abs(), q.Symbol, money(worth), money(limit), d.ID)
}

// plainPrice returns the price at which the order counts for a budget: its own, else the last one or that which it
// waits for.
func (q *orderCheck) plainPrice() decimal.Decimal {
	last := decimal.Max(q.Quote.Last, q.StopPrice)
	switch {
	case q.Type == order.Limit && q.Side == order.Buy:
		return q.Price
	case q.Type == order.Limit:
		return decimal.Max(q.Price, last)
	default:
		return last
	}
}
