package desk

import (
	"cmp"
	"context"
	"errors"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// Deployments of strategies place orders through Place and Cancel like clients do, as DeploymentCaller. The desk
// knows them only by what SetDeployments says; until then and after a restart their orders only reduce.

// maxDeployments is how many deployments an account may have at a time.
const maxDeployments = 500

// DeploymentCaller returns the caller on whose behalf a deployment trades. No client has its key.
func DeploymentCaller(owner principal.Owner, deployment, name string) principal.Caller {
	return principal.Caller{Subject: owner, Key: deploymentKey(deployment), Client: "strategy " + name}
}

func deploymentKey(deployment string) string { return "deployment:" + deployment }

// SetDeployments replaces what the desk knows of the deployments that were started and have not ended. Every
// decision after it returns uses it. It is held in memory only.
func (d *Desk) SetDeployments(ctx context.Context, all []guard.Deployment) error {
	known := make(map[string]guard.Deployment, len(all))
	for _, one := range all {
		known[one.ID] = one
	}
	if len(known) > maxDeployments || len(known) < len(all) {
		return errors.New("more than 500 deployments, or two with one ID")
	}
	return d.do(ctx, func(l *loop) { l.deployments = known })
}

// DeploymentBook returns the book of a deployment, and what it holds of a symbol as far as the account has it: a
// sale elsewhere makes that less than the book.
func (d *Desk) DeploymentBook(ctx context.Context, deployment string, s market.Symbol) (book order.DeploymentBook, has decimal.Decimal, err error) {
	err = d.do(ctx, func(l *loop) {
		book, has = l.book.Of(deployment), l.book.Part(s, deployment)
		book.Currency = cmp.Or(l.instruments[s].Quote, order.QuoteOf(s, book.Position(s).Base), order.FeeAsset(book.Trades, s))
	})
	return book, has, err
}

// DeploymentPart returns what a deployment holds of a symbol, as far as the account has it.
func (d *Desk) DeploymentPart(ctx context.Context, deployment string, s market.Symbol) (has decimal.Decimal, err error) {
	err = d.do(ctx, func(l *loop) { has = l.book.Part(s, deployment) })
	return has, err
}

// AssignUnits passes units between the book of a deployment and what no deployment holds, without a trade, such as
// those that were sold elsewhere. The quantity is signed, of the book, and counts there as a trade at the price.
func (d *Desk) AssignUnits(ctx context.Context, by principal.Caller, deployment string, s market.Symbol, quantity, price decimal.Decimal) error {
	return d.assign(ctx, by, order.Assignment{Deployment: deployment, Symbol: s, Quantity: quantity, Price: price})
}

// ReleaseDeployment makes what a deployment holds, its lines and its open orders belong to no deployment, for good.
func (d *Desk) ReleaseDeployment(ctx context.Context, by principal.Caller, deployment string) error {
	return d.assign(ctx, by, order.Assignment{Deployment: deployment, Released: true})
}

func (d *Desk) assign(ctx context.Context, by principal.Caller, a order.Assignment) error {
	by, err := d.authorize(by)
	if err != nil {
		return err
	}
	var failed error
	if err := d.do(ctx, func(l *loop) {
		if failed = l.checkAssigned(a); failed != nil {
			return
		}
		failed = l.commit(by, order.Event{Kind: order.KindAssigned, At: l.now(), Assignment: &a})
	}); err != nil {
		return err
	}
	return failed
}

// checkAssigned returns an error if units are to pass that nobody holds.
func (l *loop) checkAssigned(a order.Assignment) error {
	if a.Released {
		return nil
	}
	from := l.book.PositionOf(a.Deployment, a.Symbol).Quantity.Neg() // of the book, as it would lose them
	if from.Sign() != a.Quantity.Sign() {
		from = decimal.Zero
		for _, one := range l.book.Shares(a.Symbol) {
			if one.Deployment == "" && one.Quantity.Sign() == a.Quantity.Sign() {
				from = one.Quantity
			}
		}
	}
	if a.Quantity.Abs().GreaterThan(from.Abs()) {
		return fault.Field("quantity", a.Quantity.String(), "at most "+from.String()+", which can pass")
	}
	return nil
}

// checkDeploymentCaller returns an error unless a request of a deployment comes from that deployment, and with a key,
// and one of a client names none.
func checkDeploymentCaller(caller principal.Caller, r order.Request) error {
	switch {
	case r.Deployment == "" && order.IsDeploymentKey(r.Key):
		return fault.Field("idempotency_key", r.Key, "a key that does not look like one of a deployment, s1- and 40 hexadecimal digits")
	case r.Deployment != "" && (r.Key == "" || caller.Key != deploymentKey(r.Deployment)):
		return &fault.Error{Kind: fault.Unauthorized, Code: "not_your_deployment", Message: "Only a deployment itself places its orders, each with a key."}
	}
	return nil
}

// checkCanceler returns an error if a client wants to cancel an order of a deployment. The deployment itself, the
// owner and candela may.
func (l *loop) checkCanceler(by principal.Caller, o order.Order) error {
	owner := l.book.DeploymentOf(o)
	if owner == "" || by.Key == "" || by.Key == principal.ConsoleKey || by.Key == deploymentKey(owner) {
		return nil
	}
	return fault.New(fault.Conflict, "deployment_order", "Order %s %s. Nothing was cancelled.", o.ID, l.whoseText(o)).About("order_id", o.ID, "an order of no deployment")
}

// whoseText says whose order it is, and what to do, as the end of a sentence.
func (l *loop) whoseText(o order.Order) string {
	owner := l.book.DeploymentOf(o)
	if owner == "" {
		return "belongs to no deployment, and a deployment changes only its own"
	}
	d, known := l.deployments[owner]
	if d.ID = owner; !known {
		d.Name = ""
	}
	return "belongs to " + d.String() + ", which alone changes it; to end it, stop the deployment: candela strategies stop " + owner
}
