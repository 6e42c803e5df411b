package deploy

import (
	"context"
	"fmt"
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
	OrderPage(ctx context.Context, by principal.Caller, q order.Query) (order.Page, error)
	Positions(ctx context.Context, by principal.Caller) ([]order.PricedPosition, error)
	// DeploymentBook returns what a deployment made, and what it holds of a symbol as far as the account has it.
	DeploymentBook(ctx context.Context, deployment string, s market.Symbol) (order.DeploymentBook, decimal.Decimal, error)
	// DeploymentPart returns the second of these alone.
	DeploymentPart(ctx context.Context, deployment string, s market.Symbol) (decimal.Decimal, error)
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
	desk Desk            // where it trades
	by   principal.Caller
	bar  market.Bar
	all  []order.Order   // of the deployment: those that are open, and the newest others
	held decimal.Decimal // signed
	used map[string]bool // keys of orders that all lacks

	denied  string          // the rule that denied the newest order that was not taken
	entered decimal.Decimal // of held, what the model will have at the next open only
}

// newHand returns the hand at the desk of a stage.
func (r *runner) newHand(ctx context.Context, stage Stage) *hand {
	return &hand{runner: r, ctx: ctx, desk: r.cfg.Brokers[stage].Desk, by: desk.DeploymentCaller(r.cfg.Owner, r.d.ID, r.d.Name), bar: r.newest, used: make(map[string]bool)}
}

// carry brings the book to what the model wants after the newest bar: first what must go, then stops and targets, then
// entries. It reports false if that must be tried again.
func (r *runner) carry(ctx context.Context) bool {
	switch {
	case r.d.State == Stopping:
		return r.leave(ctx)
	case !r.trades(&r.d) || r.d.State != Running && r.d.State != Paused:
		return true
	}
	h := r.newHand(ctx, r.d.Stage)
	if !h.look() || !h.withdraw() {
		return false
	}
	if r.model == nil || r.newest.T == 0 {
		return true // its stops stay
	}
	if excess := h.excess(); excess.GreaterThan(h.dust) {
		if sent, over := h.close(excess, "book"); !sent && !h.dust.Equal(excess) {
			return over
		}
		if !h.look() || h.excess().GreaterThan(h.dust) {
			return false // its stops stay while more is held than the model keeps
		}
	}
	done := h.protect()
	if r.d.State == Running {
		h.enter()
	}
	return done
}

// look reads what the deployment holds, and its orders.
func (h *hand) look() bool {
	held, err := h.desk.DeploymentPart(h.ctx, h.d.ID, h.d.Terms.Symbol)
	var all []order.Order
	if err == nil {
		all, err = h.desk.Orders(h.ctx, h.by, false)
	}
	if err != nil {
		h.log.WarnContext(h.ctx, "account of a strategy not read", "error", err)
		return false
	}
	h.held, h.all = held.Div(h.d.Terms.Step).Truncate(0).Mul(h.d.Terms.Step), slices.DeleteFunc(slices.Clone(all), func(o order.Order) bool { return o.Deployment != h.d.ID })
	h.entered = decimal.Zero
	for _, o := range h.all {
		if h.model != nil && h.model.wantsNow(o.Key) {
			h.entered = h.entered.Add(o.Filled.Mul(decimal.NewFromInt(o.Side.Sign())))
		}
	}
	return true
}

// place sends an order of the deployment. It reports whether it was taken, and else whether it was denied for good.
func (h *hand) place(r order.Request) (taken, denied bool) {
	r.Symbol, r.Deployment = h.d.Terms.Symbol, h.d.ID
	h.used[r.Key] = true
	placed, err := h.desk.Place(h.ctx, h.by, r)
	if err == nil {
		return true, false
	}
	if rule := placed.Denial.Rule; r.ReduceOnly && (rule == "venue_min_quantity" || rule == "venue_min_notional") {
		h.dust = r.Quantity
	}
	h.log.WarnContext(h.ctx, "order of a strategy not taken", "key", r.Key, "error", err)
	f := fault.Of(err)
	h.denied = placed.Denial.Rule
	return false, f != nil && f.Code == "order_denied"
}

// unwanted returns the open entries that the model does not want, all of them while the deployment does not run.
func (h *hand) unwanted() []order.Order {
	var all []order.Order
	for _, o := range h.all {
		if o.Status.Final() || o.ReduceOnly || o.Parent != "" || h.model != nil && h.d.State == Running && h.model.wantsEntry(o.Key) {
			continue
		}
		all = append(all, o)
	}
	return all
}

// withdraw cancels unwanted entries, and reports whether all have ended. What they brought before is in the book then.
func (h *hand) withdraw() bool {
	open := h.unwanted()
	for _, o := range open {
		if o.CancelRequested.IsZero() {
			h.cancel(o)
		}
	}
	return len(open) == 0 || h.look() && len(h.unwanted()) == 0
}

// cancel ends an order of the deployment, unless it has ended already.
func (h *hand) cancel(o order.Order) {
	if _, err := h.desk.Cancel(h.ctx, h.by, o.ID); err != nil && fault.KindOf(err) != fault.Conflict {
		h.log.WarnContext(h.ctx, "order of a strategy not cancelled", "order_id", o.ID, "error", err)
	}
}

// excess returns what the book has and the model will not have at the next open.
func (h *hand) excess() decimal.Decimal {
	keep := h.model.keeps(h.perpetual()).Add(h.entered)
	if keep.Sign() != h.held.Sign() {
		keep = decimal.Zero
	}
	kept := keep.Abs()
	if passed := h.passed(); passed.IsPositive() {
		kept = decimal.Max(kept.Sub(passed), decimal.Min(kept, h.entered.Abs()))
	}
	return h.held.Abs().Sub(kept)
}

// close sells or buys back a part of what is held. It reports whether it sent an order, and else whether it has tried
// often enough for this bar.
func (h *hand) close(quantity decimal.Decimal, what string) (sent, over bool) {
	if slices.ContainsFunc(h.all, func(o order.Order) bool { return !o.Status.Final() && o.IsExit() }) {
		return false, false // a part of one is on its way
	}
	key, over := h.attempt(CloseKind, what)
	if key == "" {
		return false, over
	}
	if sent, _ = h.place(order.Request{Side: closing(h.held), Type: order.Market, Quantity: quantity, ReduceOnly: true, Key: key}); sent {
		h.dust = decimal.Zero
	}
	return sent, false
}

// Bounds of how often the same is tried at one bar: refusals of an order, and those that may pass, such as of a market
// that is closed.
const (
	mostAttempts = 20
	mostWaits    = 400
)

// attempt returns the key of the next try at something at this bar, "" while one is on its way, or if there were too many.
func (h *hand) attempt(kind Kind, what string) (next string, over bool) {
	refused := 0
	for n := 0; refused < mostAttempts && n < mostWaits; n++ {
		k := key(h.d.ID, h.bar.T, kind, place{kind: kind, id: what, nth: n})
		i := slices.IndexFunc(h.all, func(o order.Order) bool { return o.Key == k })
		switch {
		case i < 0 && !h.used[k]:
			return k, false
		case i >= 0 && !h.all[i].Status.Final() && kind == CloseKind:
			return "", false
		case i < 0 || !h.all[i].Passing:
			refused++
		}
	}
	return "", true
}

// closing returns the side of an order that closes a position.
func closing(held decimal.Decimal) order.Side {
	if held.IsPositive() {
		return order.Sell
	}
	return order.Buy
}

// protect sets the stops and targets of the book, where they are not as the model wants them. It reports false if that
// must be tried again.
func (h *hand) protect() bool {
	switch holds := h.held.Abs().Sub(h.dust); {
	case !holds.IsPositive():
		h.together = 0
		h.unprotect()
		return true
	case holds.LessThanOrEqual(h.entered.Abs()): // the legs of the entry protect it until the model has it
		return true
	}
	exits := h.exits()
	one := len(exits) == 0 || len(exits) == 1 && samePrices(exits[0].protect, h.model.protection())
	if one && h.entered.IsZero() || h.together > 0 && len(exits) >= h.together {
		return h.protectWhole()
	}
	return h.protectParts(exits)
}

// protectWhole sets one stop and one target for all that is held.
func (h *hand) protectWhole() bool {
	want := h.model.protection()
	if h.protected(want) {
		return true
	}
	stopped := false
	for _, o := range h.all {
		switch {
		case o.Status.Final() || !o.ReduceOnly:
		case o.Role == order.StopLoss && !want.HasStop(), o.Role == order.TakeProfit && !want.TakeProfit.IsPositive():
			h.cancel(o)
		case o.Role == order.StopLoss:
			stopped = true
		}
	}
	if want.IsZero() {
		return true
	}
	taken, denied := h.line(want)
	if denied && want.HasStop() && want.TakeProfit.IsPositive() { // perhaps the price has passed the target
		taken, denied = h.line(order.Protection{StopLoss: want.StopLoss})
	}
	if denied && want.HasStop() && !stopped { // nothing bounds its loss, and the model wants a bound
		_, over := h.close(h.held.Abs(), "book")
		return over
	}
	return taken || denied
}

// unprotect cancels the stops and targets of what was held: too little of it may be left for the desk to end them. Those
// of an entry that has not ended wait for that.
func (h *hand) unprotect() {
	for _, o := range h.all {
		waits := slices.ContainsFunc(h.all, func(entry order.Order) bool { return entry.ID == o.Parent && !entry.Status.Final() })
		if !o.Status.Final() && (o.Role == order.StopLoss || o.Role == order.TakeProfit) && !waits && o.CancelRequested.IsZero() {
			h.cancel(o)
		}
	}
}

// line asks for the prices of all that is held.
func (h *hand) line(p order.Protection) (taken, denied bool) {
	key, over := h.attempt(LineKind, "book")
	if key == "" {
		return over, false
	}
	return h.place(order.Request{Side: closing(h.held), Type: order.Market, Quantity: h.held.Abs(), ReduceOnly: true, Protect: p, Key: key})
}

// protected reports whether the lines of the deployment have the prices that are wanted, for all that it holds.
func (h *hand) protected(want order.Protection) bool {
	positions, err := h.desk.Positions(h.ctx, h.by)
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

// enter places the entries that the model wants and has not wanted before the start: those at the market only at the bar
// that ordered them, and while that is not too late.
func (h *hand) enter() {
	for i := range h.model.wants {
		w := &h.model.wants[i]
		opens := w.Quantity.Sub(w.Closes)
		switch {
		case w.kind != EntryKind || !opens.IsPositive() || w.Side == order.Sell && !h.perpetual() || w.since <= h.d.history:
		case w.Market() && h.late(h.bar), h.tried[w.Key]:
		default:
			if taken, denied := h.place(h.entry(w, opens)); taken || denied {
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
		r.Quantity = h.model.affordable(w, opens, h.perpetual())
	}
	up := decimal.NewFromInt(w.Side.Sign())
	r.Protect = order.Protection{
		StopLoss: h.level(w.StopLoss, from, w.StopApart, w.StopPercent, up.Neg()), TakeProfit: h.level(w.TakeProfit, from, w.TargetApart, w.TargetPercent, up),
	}
	if w.exits > 1 || w.parts { // the nearest target is not for all of it
		r.Protect.TakeProfit = decimal.Zero
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

// leave ends a deployment. It reports false if that must be tried again.
func (r *runner) leave(ctx context.Context) bool {
	kept, left := r.newHand(ctx, r.d.Stage).leave(r.d.Close, "stop")
	return left && r.record(ctx, &entry{Kind: entryStopped, By: r.d.StoppedBy, Detail: kept})
}

// depart ends a deployment that was promoted at the account that it traded on before. It reports false if that must be
// tried again.
func (r *runner) depart(ctx context.Context) bool {
	if r.cfg.Brokers[r.d.leaving].Desk == nil {
		return true
	}
	_, left := r.newHand(ctx, r.d.leaving).leave(true, "promoted")
	return left && r.record(ctx, &entry{Kind: entryLeft})
}

// leave ends a deployment at the desk: its entries are cancelled, what it holds is closed or stays, and belongs to no
// deployment any more. It reports false if that must be tried again, and else what it could not close.
func (h *hand) leave(closes bool, what string) (kept string, left bool) {
	h.bar = market.Bar{} // the attempts are those of the end
	if !h.look() || !h.withdraw() {
		return "", false
	}
	if closes && !h.held.IsZero() {
		sent, over := h.close(h.held.Abs(), what)
		small := h.dust.Equal(h.held.Abs())
		if !over && !small && (!sent || !h.look() || !h.held.IsZero()) {
			return "", false
		}
		if over || small {
			kept = fmt.Sprintf("%s could not be closed; it is yours now, with its stops", h.held)
		}
	}
	if err := h.desk.ReleaseDeployment(h.ctx, principal.Caller{Subject: h.cfg.Owner}, h.d.ID); err != nil {
		h.log.WarnContext(h.ctx, "book of a strategy not released", "error", err)
		return "", false
	}
	return kept, true
}
