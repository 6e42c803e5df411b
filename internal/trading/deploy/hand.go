package deploy

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// Desk is the account through which deployments trade. An order with a key that was used is not placed again.
type Desk interface {
	Place(ctx context.Context, by principal.Caller, r order.Request) (order.Placed, error)
	Cancel(ctx context.Context, by principal.Caller, id string) (order.Order, error)
	Orders(ctx context.Context, by principal.Caller, openOnly bool) ([]order.Order, error)
	Positions(ctx context.Context, by principal.Caller) ([]order.PricedPosition, error)
	// DeploymentBook returns what a deployment made, and what it holds of a symbol as far as the account has it.
	DeploymentBook(ctx context.Context, deployment string, s market.Symbol) (order.DeploymentBook, decimal.Decimal, error)
	// SetDeployments says which deployments may trade.
	SetDeployments(ctx context.Context, all []guard.Deployment) error
	// ReleaseDeployment makes what a deployment holds belong to none.
	ReleaseDeployment(ctx context.Context, by principal.Caller, deployment string) error
}

// hand brings the book of a deployment to what its model wants after a bar. It asks the desk what there is and sends
// the difference, so that it may be repeated: nothing of it is stored here.
type hand struct {
	*runner
	ctx  context.Context //nolint:containedctx // of one bar
	by   principal.Caller
	bar  market.Bar
	late bool
	held decimal.Decimal // signed

	entered decimal.Decimal // of it, what the model will buy or sell at the next open: the process was killed after that
	open    []order.Order   // of the deployment
}

// carry brings the book to what the model wants after a bar. It reports whether it could ask.
func (r *runner) carry(ctx context.Context, b market.Bar, late bool) bool {
	if !r.trades(&r.d) || r.model == nil || r.d.State != Running && r.d.State != Paused {
		return true
	}
	h := &hand{runner: r, ctx: ctx, by: desk.DeploymentCaller(r.cfg.Owner, r.d.ID, r.d.Name), bar: b, late: late}
	if err := h.look(); err != nil {
		r.log.WarnContext(ctx, "account of a strategy not read", "error", err)
		return false
	}
	h.withdraw()
	if h.reduce() {
		if err := h.look(); err != nil {
			r.log.WarnContext(ctx, "account of a strategy not read", "error", err)
			return false
		}
	}
	h.protect()
	if r.d.State == Running {
		h.enter()
	}
	return true
}

// look reads what the deployment holds and which of its orders are open.
func (h *hand) look() error {
	_, held, err := h.cfg.Desk.DeploymentBook(h.ctx, h.d.ID, h.d.Terms.Symbol)
	if err != nil {
		return err
	}
	open, err := h.cfg.Desk.Orders(h.ctx, h.by, true)
	if err != nil {
		return err
	}
	if h.entered, err = h.enteredNow(); err != nil {
		return err
	}
	h.held, h.open = held, slices.DeleteFunc(slices.Clone(open), func(o order.Order) bool { return o.Deployment != h.d.ID })
	return nil
}

// enteredNow returns what entries of this bar at the market have brought, if they were placed before.
func (h *hand) enteredNow() (sum decimal.Decimal, err error) {
	if h.model == nil {
		return sum, nil
	}
	var keys []string
	for i := range h.model.wants {
		if w := &h.model.wants[i]; w.kind == EntryKind && w.Market() {
			keys = append(keys, w.Key)
		}
	}
	if len(keys) == 0 {
		return sum, nil
	}
	all, err := h.cfg.Desk.Orders(h.ctx, h.by, false)
	for _, o := range all {
		if slices.Contains(keys, o.Key) {
			sum = sum.Add(o.Filled.Mul(decimal.NewFromInt(o.Side.Sign())))
		}
	}
	return sum, err
}

// place sends an order of the deployment, and logs one that is not taken.
func (h *hand) place(r order.Request) bool {
	r.Symbol, r.Deployment = h.d.Terms.Symbol, h.d.ID
	_, err := h.cfg.Desk.Place(h.ctx, h.by, r)
	if err != nil {
		h.log.WarnContext(h.ctx, "order of a strategy not taken", "key", r.Key, "error", err)
	}
	return err == nil || fault.Of(err) != nil && fault.Of(err).Code == "order_denied"
}

// withdraw cancels entries that the model no longer wants, and all while the deployment is paused.
func (h *hand) withdraw() {
	for _, o := range h.open {
		if o.ReduceOnly || o.Parent != "" || h.d.State == Running && h.model.wantsEntry(o.Key) {
			continue
		}
		h.cancel(o)
	}
}

// cancel ends an order of the deployment, unless it has ended already.
func (h *hand) cancel(o order.Order) {
	if _, err := h.cfg.Desk.Cancel(h.ctx, h.by, o.ID); err != nil && fault.KindOf(err) != fault.Conflict {
		h.log.WarnContext(h.ctx, "order of a strategy not cancelled", "order_id", o.ID, "error", err)
	}
}

// reduce closes what the book has and the model will not have at the next open. It reports whether it sent an order.
func (h *hand) reduce() bool {
	keep := h.model.keeps(h.perpetual()).Add(h.entered)
	if keep.Sign() != h.held.Sign() {
		keep = decimal.Zero
	}
	if stop := h.model.protection().StopLoss; stop.IsPositive() && decimalOf(h.bar.C, h.model.exact.price).Cmp(stop) != h.held.Sign() {
		keep = decimal.Zero // the price has passed it
	}
	excess := h.held.Abs().Sub(keep.Abs())
	if !excess.IsPositive() {
		return false
	}
	h.place(order.Request{Side: closing(h.held), Type: order.Market, Quantity: excess, ReduceOnly: true, Key: h.key(CloseKind)})
	return true
}

// key names what the hand does at a bar besides the intents.
func (h *hand) key(kind Kind) string {
	return key(h.d.ID, h.bar.T, kind, place{kind: kind, id: "book"})
}

// closing returns the side of an order that closes a position.
func closing(held decimal.Decimal) order.Side {
	if held.IsPositive() {
		return order.Sell
	}
	return order.Buy
}

// protect sets the stop and the target of the book, where they are not as the model wants them.
func (h *hand) protect() {
	if h.held.Equal(h.entered) { // the legs of the entry protect it until the model has it
		return
	}
	want := h.model.protection()
	if h.protected(want) {
		return
	}
	for _, o := range h.open {
		gone := o.Role == order.StopLoss && !want.HasStop() || o.Role == order.TakeProfit && !want.TakeProfit.IsPositive()
		if gone && o.ReduceOnly {
			h.cancel(o)
		}
	}
	if !want.IsZero() {
		h.place(order.Request{Side: closing(h.held), Type: order.Market, Quantity: h.held.Abs(), ReduceOnly: true, Protect: want, Key: h.key(LineKind)})
	}
}

// protected reports whether the lines of the deployment have the prices that are wanted, for all that it holds.
func (h *hand) protected(want order.Protection) bool {
	positions, err := h.cfg.Desk.Positions(h.ctx, h.by)
	if err != nil {
		return true // the next bar asks again
	}
	covered := decimal.Zero
	for _, p := range positions {
		if p.Symbol != h.d.Terms.Symbol {
			continue
		}
		for _, l := range p.Plan {
			if l.Deployment != h.d.ID || !l.Quantity.IsPositive() {
				continue
			}
			if !l.Protect.StopLoss.Equal(want.StopLoss) || !l.Protect.TakeProfit.Equal(want.TakeProfit) {
				return false
			}
			covered = covered.Add(l.Quantity)
		}
	}
	return want.IsZero() || covered.GreaterThanOrEqual(h.held.Abs())
}

// enter places the entries that the model wants: those at the market only at the bar that ordered them, and while that
// is not too late.
func (h *hand) enter() {
	for i := range h.model.wants {
		w := &h.model.wants[i]
		opens := w.Quantity.Sub(w.Closes)
		switch {
		case w.kind != EntryKind || !opens.IsPositive() || w.Side == order.Sell && !h.perpetual():
		case w.Market() && h.late, !w.Market() && h.tried[w.Key]:
		default:
			if h.place(h.entry(w, opens)) {
				h.tried[w.Key] = true
			}
		}
	}
	maps.DeleteFunc(h.tried, func(key string, _ bool) bool { return !h.model.wantsEntry(key) })
}

// entry returns the order for an entry. Its stop and target count from the close until the model has its price.
func (h *hand) entry(w *want, opens decimal.Decimal) order.Request {
	r := order.Request{Side: w.Side, Type: order.Market, Quantity: opens, Price: w.Limit, StopPrice: w.Stop, Key: w.Key}
	from := decimalOf(h.bar.C, h.model.exact.price)
	if w.Limit.IsPositive() {
		r.Type, r.TimeInForce, from = order.Limit, order.GTC, w.Limit
	} else if w.Stop.IsPositive() {
		from = w.Stop
	}
	if w.Market() {
		r.NotAfter = h.closes(h.bar.T).Add(h.lateLimit()).UTC().Truncate(time.Second)
		r.Quantity = h.model.affordable(w, opens)
	}
	up := decimal.NewFromInt(w.Side.Sign())
	r.Protect = order.Protection{
		StopLoss: h.level(w.StopLoss, from, w.StopApart, w.StopPercent, up.Neg()), TakeProfit: h.level(w.TakeProfit, from, w.TargetApart, w.TargetPercent, up),
	}
	return r
}

// level returns a price that is given, or that lies apart from another one.
func (h *hand) level(price, from, apart, percent, direction decimal.Decimal) decimal.Decimal {
	switch {
	case price.IsPositive():
		return price
	case apart.IsPositive():
		price = from.Add(apart.Mul(direction))
	case percent.IsPositive():
		price = from.Add(from.Mul(percent).Shift(-2).Mul(direction))
	default:
		return decimal.Zero
	}
	return price.DivRound(h.d.Terms.Tick, 0).Mul(h.d.Terms.Tick)
}

// leave cancels what a deployment has ordered when it has stopped, and closes what it holds or lets its owner keep it.
func (r *runner) leave(ctx context.Context, closes bool) error {
	if !r.trades(&r.d) {
		return nil
	}
	h := &hand{runner: r, ctx: ctx, by: desk.DeploymentCaller(r.cfg.Owner, r.d.ID, r.d.Name)}
	if err := h.look(); err != nil {
		return err
	}
	for _, o := range h.open {
		if o.ReduceOnly || o.Parent != "" {
			continue
		}
		if _, err := r.cfg.Desk.Cancel(ctx, h.by, o.ID); err != nil && fault.KindOf(err) != fault.Conflict {
			return err
		}
	}
	if !closes {
		return r.cfg.Desk.ReleaseDeployment(ctx, principal.Caller{Subject: r.cfg.Owner}, r.d.ID)
	}
	if h.held.IsZero() {
		return nil
	}
	_, err := r.cfg.Desk.Place(ctx, h.by, order.Request{
		Symbol: r.d.Terms.Symbol, Deployment: r.d.ID, Side: closing(h.held), Type: order.Market, Quantity: h.held.Abs(), ReduceOnly: true,
		Key: key(r.d.ID, r.cfg.Now().UnixMilli(), CloseKind, place{kind: CloseKind, id: "stop"}),
	})
	return err
}
