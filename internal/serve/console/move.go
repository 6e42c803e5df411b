package console

import (
	"net/http"
	"strings"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// moveActs move what waits for a price to another price. The form says what changes before anything is sent.
func moveActs() []act {
	return []act{
		{path: "/orders/{id}/move", asks: ifNotRecent, form: moveOrderForm, do: (*Console).moveOrder},
		{path: "/alerts/{id}/move", asks: confirmOnly, form: moveAlertForm, do: (*Console).moveAlert},
	}
}

// grip is a level on the chart that can be moved.
type grip struct {
	Kind  string // stop, target, order or alert
	Price string // digits and a point
	Label string
	Sell  bool
}

// gripOf returns the level of an order, nil if it has none that can be moved.
func gripOf(o order.Order, held *positionRow, f format) *grip {
	if movable(o) != nil {
		return nil
	}
	at := levelOf(o)
	g := &grip{Kind: "order", Price: at.String(), Label: upperFirst(o.Side.String()) + " " + f.Num(o.Remaining()), Sell: o.Side == order.Sell}
	switch o.Role {
	case order.StopLoss:
		g.Kind, g.Label = "stop", "Stop "+f.Num(o.Remaining())
	case order.TakeProfit:
		g.Kind, g.Label = "target", "Target "+f.Num(o.Remaining())
	default:
		return g
	}
	if held != nil {
		g.Label += " " + f.Signed(earnedAt(o, held, at))
	}
	return g
}

// levelOf is the price that an order waits for: that of its stop before its limit.
func levelOf(o order.Order) decimal.Decimal {
	if o.StopPrice.IsPositive() {
		return o.StopPrice
	}
	return o.Price
}

// earnedAt is what an exit earns at a price, before fees.
func earnedAt(o order.Order, held *positionRow, at decimal.Decimal) decimal.Decimal {
	return at.Sub(held.Average).Mul(o.Remaining()).Mul(decimal.NewFromInt(-o.Side.Sign())).Round(2)
}

// movable refuses an order that has no price of its own to move.
func movable(o order.Order) error {
	switch {
	case o.Status.Final():
		return fault.New(fault.Conflict, "order_closed", "The order has ended: it is %s.", o.Status)
	case o.Status == order.PendingApproval:
		return fault.New(fault.Conflict, "not_sent", "The order waits for your approval and was not sent. Allow or refuse it.")
	case o.TrailPercent.IsPositive():
		return fault.New(fault.Conflict, "trails", "A trailing stop follows the price by itself.")
	case o.External:
		return fault.New(fault.Unsupported, "external_order", "The order was placed outside candela. Move it at %s.", o.Broker)
	case !levelOf(o).IsPositive():
		return fault.New(fault.Conflict, "no_price", "A market order waits for no price.")
	}
	return nil
}

// moved is the request that takes the place of an order, at another price.
func moved(o order.Order, to decimal.Decimal) order.Request {
	r := order.Request{
		Symbol: o.Symbol, Side: o.Side, Type: o.Type, Quantity: o.Remaining(), Price: o.Price, StopPrice: o.StopPrice, TimeInForce: o.TimeInForce,
		PostOnly: o.PostOnly, ReduceOnly: o.ReduceOnly, Protect: o.Protect, Replaces: o.ID, NotAfter: o.NotAfter, Note: "moved on the chart",
	}
	for _, e := range o.Evidence {
		r.Because = append(r.Because, e.Claim)
	}
	by := to.Sub(levelOf(o))
	switch {
	case o.ReduceOnly && o.Role == order.StopLoss:
		r.Type, r.Price, r.StopPrice, r.Protect = order.Market, decimal.Zero, decimal.Zero, order.Protection{StopLoss: to}
		if o.Type == order.Limit {
			r.Protect.StopLossLimit = o.Price.Add(by)
		}
	case o.ReduceOnly && o.Role == order.TakeProfit:
		r.Type, r.Price, r.Protect = order.Market, decimal.Zero, order.Protection{TakeProfit: to}
	case o.StopPrice.IsPositive():
		if r.StopPrice = to; o.Type == order.Limit {
			r.Price = o.Price.Add(by)
		}
	default:
		r.Price = to
	}
	return r
}

// newPrice reads the price of a form, or of the address that leads to it.
func (v *visit) newPrice() (decimal.Decimal, error) {
	return readPrice("price", v.r.FormValue("price"))
}

// priceField asks for the price where no script has given one.
func (v *visit) priceField(now decimal.Decimal) []field {
	value := v.r.FormValue("price")
	if value == "" {
		value = now.String()
	}
	return []field{{Name: "price", Label: "New price", Value: fault.Clean(value, 40)}}
}

func moveOrderForm(c *Console, v *visit) (form, error) {
	o, err := c.find(v, v.id())
	if err == nil {
		err = movable(o)
	}
	if err != nil {
		return form{}, err
	}
	f := v.format()
	what := gripOf(o, nil, f)
	show := form{
		Title: "Move " + lowerFirst(what.Label) + " " + o.Symbol.Name, Fields: v.priceField(levelOf(o)),
		Lead:   "From " + f.Px(levelOf(o)) + ". Nothing is sent before you set it; the guard checks it as any order.",
		Submit: "Set", Keep: "Undo", Back: chartPath(o.Symbol), Page: "chart",
	}
	to, err := v.newPrice()
	if v.r.FormValue("price") == "" || err != nil {
		return show, nil //nolint:nilerr // the form asks for a price
	}
	show.Lead = "From " + f.Px(levelOf(o)) + " to " + f.Px(to) + c.distance(v, o, to) + "."
	show.Points = c.stakes(v, o, to)
	return show, nil
}

// distance says how far a price is from the price of now.
func (c *Console) distance(v *visit, o order.Order, to decimal.Decimal) string {
	last := c.price(v.ctx(), o.Symbol)
	if !last.IsPositive() {
		return ""
	}
	return ", " + v.format().Percent(to.Sub(last).Mul(decimal.NewFromInt(100)).DivRound(last, 4)) + " from the price of now"
}

// stakes says what an order would lose or earn at the new price, and whether the guard would deny it.
func (c *Console) stakes(v *visit, o order.Order, to decimal.Decimal) (points []point) {
	f := v.format()
	if held, err := c.positions(v); err == nil && o.ReduceOnly {
		for i := range held.Rows {
			if row := &held.Rows[i]; row.Full == o.Symbol && row.Average.IsPositive() {
				was, is := earnedAt(o, row, levelOf(o)), earnedAt(o, row, to)
				points = append(points, point{"chart", f.Signed(was) + " to " + f.Signed(is) + " " + v.unit(o.Symbol), "before fees, if it is filled there"})
			}
		}
	}
	r := moved(o, to)
	r.DryRun = true
	var placed order.Placed
	var err error
	if v.r.Method == http.MethodGet { // after a refusal the form says why already
		placed, err = c.place(v, r)
	}
	switch {
	case err != nil:
		points = append(points, point{"warn", "Would be denied now.", c.public(v.ctx(), err)})
	case placed.Estimate != nil && !o.ReduceOnly:
		text := "value " + f.In(placed.Estimate.Value, o.Symbol)
		if placed.Estimate.Risk.IsPositive() {
			text += ", " + f.In(placed.Estimate.Risk, o.Symbol) + " at the stop"
		}
		points = append(points, point{"chart", "", text})
	}
	if o.Mode == order.Live {
		points = append(points, point{"warn", "Real money", "moves at " + o.Broker + "."})
	}
	return points
}

// place asks the desk for an order as any client does: the guard, the policy and the approvals are the same.
func (c *Console) place(v *visit, r order.Request) (order.Placed, error) {
	r.Scope = v.caller().Scope.String()
	if err := guard.CheckRequest(r); err != nil {
		return order.Placed{}, err
	}
	return c.cfg.Account.Place(v.ctx(), v.caller(), r)
}

func (c *Console) moveOrder(v *visit) (done, error) {
	o, err := c.find(v, v.id())
	if err == nil {
		err = movable(o)
	}
	if err != nil {
		return done{}, err
	}
	to, err := v.newPrice()
	if err != nil {
		return done{}, err
	}
	if to.Equal(levelOf(o)) {
		return done{Notice: "It is at that price already.", To: chartPath(o.Symbol)}, nil
	}
	f := v.format()
	placed, err := c.place(v, moved(o, to))
	if err != nil {
		return done{}, err
	}
	notice := "Moved from " + f.Px(levelOf(o)) + " to " + f.Px(to) + ": " + lowerFirst(terms(o, f)) + "."
	if placed.Status == order.PendingApproval {
		notice = "The order at " + f.Px(to) + " needs your approval."
	}
	return done{Notice: notice, To: chartPath(o.Symbol)}, nil
}

// onPrice returns the alert on a price that a form is about.
func (c *Console) onPrice(v *visit) (alert.Alert, error) {
	a, err := c.waiting(v)
	if err == nil && !a.Condition.Type.OnPrice() {
		err = fault.New(fault.Conflict, "no_price", "The alert has a condition on bars, and no price to move.")
	}
	return a, err
}

func moveAlertForm(c *Console, v *visit) (form, error) {
	a, err := c.onPrice(v)
	if err != nil {
		return form{}, err
	}
	f := v.format()
	show := form{
		Title: "Move alert " + a.Symbol.Name, Lead: condition(&a, f) + ". It is set again at another price.", Fields: v.priceField(a.Condition.Threshold),
		Submit: "Set", Keep: "Undo", Back: chartPath(a.Symbol), Page: "chart",
	}
	to, err := v.newPrice()
	if v.r.FormValue("price") == "" || err != nil {
		return show, nil //nolint:nilerr // the form asks for a price
	}
	show.Lead = "Price " + strings.TrimPrefix(a.Condition.Type.String(), "price_") + " " + f.Px(a.Condition.Threshold) + " to " + f.Px(to) + "."
	last := c.price(v.ctx(), a.Instrument)
	if a.Condition.Type == alert.PriceAbove && last.IsPositive() && last.GreaterThanOrEqual(to) || a.Condition.Type == alert.PriceBelow && last.IsPositive() && last.LessThanOrEqual(to) {
		show.Points = []point{{"warn", "It fires at once:", "the price is " + f.Px(last) + "."}}
	}
	return show, nil
}

// moveAlert sets an alert at another price, and cancels the one at the old price afterwards: at no moment is there none.
func (c *Console) moveAlert(v *visit) (done, error) {
	a, err := c.onPrice(v)
	if err != nil {
		return done{}, err
	}
	to, err := v.newPrice()
	if err != nil {
		return done{}, err
	}
	if to.Equal(a.Condition.Threshold) {
		return done{Notice: "It is at that price already.", To: chartPath(a.Symbol)}, nil
	}
	want := alert.Alert{Symbol: a.Symbol, Condition: a.Condition, OnTick: a.OnTick, Repeat: a.Repeat, Expires: a.Expires, Note: a.Note}
	want.Condition.Threshold = to
	set, err := c.cfg.Alerts.Set(v.ctx(), v.caller(), want)
	if err != nil {
		return done{}, err
	}
	notice := "Alert moved: " + set.Describe() + "."
	if err := c.cfg.Alerts.Cancel(v.ctx(), v.caller(), a.ID); err != nil {
		notice = "Alert set: " + set.Describe() + ". The one at " + v.format().Px(a.Condition.Threshold) + " is still there: " + c.public(v.ctx(), err)
	}
	return done{Notice: notice, To: chartPath(a.Symbol)}, nil
}
