package desk

import (
	"cmp"
	"slices"

	"github.com/shopspring/decimal"

	"candela/internal/kit/id"
	"candela/internal/kit/principal"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// proposal is what a request asks for: orders, and a change of the plan of its symbol.
type proposal struct {
	said   order.Request  // the client's words, by which it is judged
	asked  order.Origin   // the order that the client asked for, one of orders
	orders []order.Origin // that are sent in one request, first the head
	ends   []order.Order  // that must end before they are sent: those whose place they take, or that protect what they close or change
	lines  []order.Line   // the plan after it; nil if it stays
	change *planChange    // of the plan, if its prices change

	intent guard.Intent // of asked
	facts  guard.Facts  // by which it is judged
}

// planChange is how a plan changed, so that it can be undone.
type planChange struct {
	order.Change
	before    []order.Line
	concerned []string
}

// propose works out what a request asks for.
func (l *loop) propose(caller principal.Caller, r order.Request, facts guard.Facts) (proposal, error) {
	p := proposal{said: r, facts: facts}
	r = l.asPlan(caller, r, facts)
	p.asked = l.origin(caller, r)
	if r.Deployment != "" {
		p.asked.Quote = facts.Quote.Last
	}
	if terms := p.said.Terms(); terms != p.asked.Terms() {
		p.asked.Asked = terms
	}
	leg, err := l.replacedOrders(&p, r)
	if err != nil {
		return p, err
	}
	switch {
	case !r.ReduceOnly:
		l.proposeEntry(&p)
	case r.Protect.IsZero():
		l.proposeExit(&p, leg)
	default:
		l.proposeChange(&p, r, leg)
	}
	if r.ReduceOnly {
		l.awaitCancels(&p)
		l.cutExit(&p)
	}
	return p, nil
}

// awaitCancels lets a proposal wait for stops and targets that the plan no longer asks for and whose cancel
// has no answer, if they may still hold what it needs: they would close it a second time.
func (l *loop) awaitCancels(p *proposal) {
	if p.intent.Unclear != nil || l.freeUnits(p.asked.Symbol, orderIDs(p.ends)...).GreaterThanOrEqual(p.asked.Quantity) {
		return
	}
	for _, o := range l.book.Legs(p.asked.Symbol) {
		if !o.CancelRequested.IsZero() && !o.Local() && !slices.Contains(orderIDs(p.ends), o.ID) {
			p.ends = append(p.ends, o)
		}
	}
}

// asPlan returns a request to close a position at a price that is not there yet as a change of the
// plan: a stop_price is a stop_loss, and a limit that would rest on the profit side a take_profit.
func (l *loop) asPlan(caller principal.Caller, r order.Request, facts guard.Facts) order.Request {
	if !r.ReduceOnly || !r.Protect.IsZero() || facts.Held.Sign() != -int(r.Side.Sign()) {
		return r
	}
	switch {
	case r.StopPrice.IsPositive():
		r.Protect.StopLoss, r.Protect.StopLossLimit = r.StopPrice, r.Price
	case r.TimeInForce != order.Day && guard.Rests(l.cfg.Policy, intent(l.origin(caller, r)), facts):
		r.Protect.TakeProfit = r.Price
	default:
		return r
	}
	r.Type, r.Price, r.StopPrice = order.Market, decimal.Zero, decimal.Zero
	return r
}

// proposeEntry is an order that may open a position. With a stop or target it adds a line.
func (l *loop) proposeEntry(p *proposal) {
	g := &p.asked
	g.Holder, p.facts = l.holder(intent(*g), p.facts)
	p.facts = p.facts.Without(p.ends)
	p.intent = intent(*g)
	g.Edge = guard.Edge(l.cfg.Policy, p.intent, p.facts)
	if g.Role == order.Entry {
		p.lines = append(l.lines(g.Symbol), order.Line{ID: g.ID, Side: g.Side, Protect: g.Protect, By: g.ID, Deployment: g.Deployment})
		if g.Protect.HasStop() {
			p.intent.Stops = l.stopsWith(g.Symbol, p.lines, p.ends)
		}
	}
	p.orders = l.withLegs(*g)
}

// proposeExit closes a part of a position now: of the line that is named, else first what no line is
// for, then the oldest. The orders that protect this part end first.
func (l *loop) proposeExit(p *proposal, leg string) {
	g := &p.asked
	g.Parent = leg
	p.facts = p.facts.Without(p.ends)
	p.intent = intent(*g)
	for _, id := range l.book.Shortened(g.Symbol, cmp.Or(g.Parent, g.ID), g.Deployment, g.Side.Opposite(), g.Quantity) {
		p.ends = append(p.ends, l.lineOrders(g.Symbol, id)...)
	}
	if lines := l.lines(g.Symbol); trails(lines) && len(p.ends) > 0 {
		p.lines = lines // with the best prices of now
	}
	p.orders = []order.Origin{*g}
}

// lineOrders returns the orders at the venue that must end before the line changes: its legs, and an
// entry that may bring more.
func (l *loop) lineOrders(s market.Symbol, line string) []order.Order {
	var all []order.Order
	if entry, ok := l.book.Order(line); ok && entry.Role == order.Entry && !entry.Status.Final() {
		all = append(all, entry)
	}
	for _, o := range l.book.Legs(s) {
		if o.Line() == line && !o.Local() {
			all = append(all, o)
		}
	}
	return all
}

// proposeChange changes the prices of the plan. The order that the client asked for is the stop or
// the target of the first line that it concerns; what the line has beside it goes with it.
func (l *loop) proposeChange(p *proposal, r order.Request, leg string) {
	before, c := l.lines(r.Symbol), l.changeOf(p.asked, r, leg)
	bare := decimal.Max(l.book.Bare(r.Symbol, r.Deployment).Own.Sub(l.exiting(r.Symbol, r.Deployment)), decimal.Zero)
	after, concerned, ok := c.Apply(before, bare)
	if !ok {
		p.orders, p.intent = []order.Origin{p.asked}, intent(p.asked)
		p.intent.Unclear = slices.DeleteFunc(before, func(l order.Line) bool { return !l.Quantity.IsPositive() || l.Deployment != r.Deployment })
		return
	}
	p.lines, p.change = after, &planChange{c, before, concerned}
	lines := l.renewable(r.Symbol, after, concerned)
	for _, line := range lines {
		p.ends = append(p.ends, l.lineOrders(r.Symbol, line.ID)...)
	}
	p.facts = p.facts.Without(p.ends)
	l.formGroup(p, r, lines[0])
	p.intent = p.inItsWords()
	p.intent.Lines = linesNamed(before, concerned)
	if r.Protect.HasStop() {
		p.intent.Stops = l.stopsWith(r.Symbol, after, p.ends)
	}
}

// renewable returns those of the lines with these IDs, in their order, whose orders others can take the place
// of, all if there are none: then the change is denied.
func (l *loop) renewable(s market.Symbol, lines []order.Line, ids []string) []order.Line {
	all := make([]order.Line, 0, len(ids))
	for _, id := range ids {
		all = append(all, linesNamed(lines, []string{id})...)
	}
	large := slices.DeleteFunc(slices.Clone(all), func(line order.Line) bool {
		return l.tooSmall(s, order.Cover{Line: line, Want: l.want(s, line)})
	})
	if len(large) == 0 {
		return all
	}
	return large
}

// changeOf returns the change of the plan that a request asks for.
func (l *loop) changeOf(g order.Origin, r order.Request, leg string) order.Change {
	s := r.Symbol
	return order.Change{
		ID: g.ID, Side: g.Side.Opposite(), Line: cmp.Or(leg, l.refusedLine(s, r.Deployment, r.Quantity)), Quantity: r.Quantity, Protect: r.Protect,
		Step: l.instruments[s].Step, Slack: l.feeSlack(s, r.Quantity), Least: l.least(s),
		Deployment: r.Deployment,
	}
}

// linesNamed returns the lines with these IDs.
func linesNamed(lines []order.Line, ids []string) []order.Line {
	return slices.DeleteFunc(slices.Clone(lines), func(l order.Line) bool { return !slices.Contains(ids, l.ID) })
}

// refusedLine returns the line of a deployment and a quantity whose stop the venue refused: a stop of that quantity is for
// it. It is "" if there is none.
func (l *loop) refusedLine(s market.Symbol, deployment string, quantity decimal.Decimal) string {
	covers, _ := l.covers(s)
	for _, c := range covers {
		if c.Deployment == deployment && c.Newest.Refused() != "" && order.RoundDown(c.Lacks, l.instruments[s].Step).Equal(quantity) {
			return c.ID
		}
	}
	return ""
}

// formGroup sets the orders of a line that changes, with the order that the client asked for among them.
func (l *loop) formGroup(p *proposal, r order.Request, line order.Line) {
	whole, head := l.lineRequest(r.Symbol, line), p.asked
	whole.TimeInForce, head.Parent = r.TimeInForce, line.ID
	head.Spec = whole.Spec(head.ID, head.Owner)
	head.Holder, p.facts = l.holder(intent(head), p.facts)
	whole.Protect = l.notWider(r.Symbol, line, line.Protect)
	whole.Quantity = l.stopParts(r.Symbol, line.Protect, whole.Quantity)[0] // the comparison places the others
	head.Spec = whole.Spec(head.ID, head.Owner)
	p.orders = l.goOn(l.withLegs(head), line.Best)
	if len(p.orders) == 2 && !r.Protect.TakeProfit.IsPositive() { // the stop is what was asked for
		swapRoles(p.orders, p.asked)
	}
	asked := &p.orders[slices.IndexFunc(p.orders, func(g order.Origin) bool { return g.ID == p.asked.ID })]
	asked.Asked = p.asked.Asked
	if terms := p.said.Terms(); terms != asked.Terms() {
		asked.Asked = terms
	}
	p.asked = *asked
}

// inItsWords returns the order that the client asked for with the arguments that the client gave, so that
// a denial names them.
func (p *proposal) inItsWords() guard.Intent {
	said, g := p.said, p.asked
	said.Quantity = g.Quantity
	g.Spec = said.Spec(g.ID, g.Owner)
	return intent(g)
}

// swapRoles makes the stop of a pair the order that the client asked for, and the target one of the
// desk's own.
func swapRoles(orders []order.Origin, asked order.Origin) {
	target, stop := &orders[0], &orders[1]
	name := id.Derived("leg", asked.ID, target.Role.String())
	stop.ID, stop.Key, stop.RequestedSymbol, stop.Note, stop.Replaces, stop.NotAfter, stop.Sizing = asked.ID, asked.Key, asked.RequestedSymbol, asked.Note, asked.Replaces, asked.NotAfter, asked.Sizing
	stop.Evidence, stop.Policy, stop.Scope = asked.Evidence, asked.Policy, asked.Scope
	*target = order.Origin{Spec: target.Spec, Broker: target.Broker, Mode: target.Mode, Token: target.Token, Client: target.Client, Parent: target.Parent, Holder: target.Holder, Deployment: target.Deployment}
	target.ID, target.Group.Name, stop.Group.Name = name, name, name
}

// judgeProposal returns why a proposal is denied, nil if it is not.
func (l *loop) judgeProposal(p *proposal) *guard.Denial {
	p.intent.Holder = p.orders[0].Holder
	if denial := guard.Check(l.cfg.Policy, l.state, p.intent, p.facts); denial != nil {
		return denial
	}
	if p.change != nil {
		if denial := cmp.Or(p.denyOpenEntry(), l.denyNotTaken(p)); denial != nil {
			return denial
		}
	}
	return guard.CheckReplacing(l.cfg.Policy, p.intent, p.facts, p.asked.Replaces)
}

// denyNotTaken denies a change that leaves a line with prices which the venue cannot hold together, or at which
// it is worth too little.
func (l *loop) denyNotTaken(p *proposal) *guard.Denial {
	for _, line := range l.renewable(p.asked.Symbol, p.lines, p.change.concerned) {
		r := l.lineRequest(p.asked.Symbol, line)
		facts := p.facts
		facts.Capabilities, _ = l.takes(p.asked.Symbol, line)
		in := guard.Intent{Spec: r.Spec("", ""), Broker: p.asked.Broker, Mode: p.asked.Mode}
		if denial := cmp.Or(guard.Takes(l.cfg.Policy, in, facts), guard.Worth(l.cfg.Policy, in, facts)); denial != nil {
			return denial
		}
	}
	return nil
}

// lineRequest returns the request for all that a line asks for.
func (l *loop) lineRequest(s market.Symbol, line order.Line) order.Request {
	return order.Request{
		Symbol: s, Side: line.Side.Opposite(), Type: order.Market, Quantity: order.RoundDown(line.Quantity, l.instruments[s].Step), ReduceOnly: true, Protect: line.Protect,
	}
}

// denyOpenEntry denies a change of the prices of an entry that may bring more: the venue has its legs.
func (p *proposal) denyOpenEntry() *guard.Denial {
	for _, o := range p.ends {
		if o.Role == order.Entry {
			return guard.NotFreed("entry_open", "Order "+o.ID+" is being filled, and its stop and target belong to it. Use cancel_order with order_id "+o.ID+" to end what is left of it, or replaces "+o.ID+" with all its prices.")
		}
	}
	return nil
}

// stopsWith counts the stops that the venue has with a plan, once some orders have ended: one for each line that
// asks for one, and more where a line has several, as after an exit that the venue refused. What is left of a position
// that was sold, because of a fee in what was bought, is too little for a stop.
func (l *loop) stopsWith(s market.Symbol, lines []order.Line, ends []order.Order) int {
	working := make(map[string]int)
	for _, o := range l.book.Legs(s) {
		if o.IsStop() && !o.Local() && !slices.ContainsFunc(ends, func(end order.Order) bool { return end.ID == o.ID }) {
			working[o.Line()]++
		}
	}
	n, least := 0, l.least(s)
	for _, line := range lines {
		has := working[line.ID]
		rest := has == 0 && line.Quantity.IsPositive() && line.Quantity.LessThan(least) // that of an entry is still zero
		if line.Protect.HasStop() && !rest {
			n += max(1, has, l.stopsOf(s, line))
		}
	}
	return n
}

// trails reports whether a line follows the price.
func trails(lines []order.Line) bool {
	return slices.ContainsFunc(lines, func(l order.Line) bool { return l.Protect.TrailPercent.IsPositive() })
}

// lines returns the plan of a symbol, with the best prices that its trails have followed.
func (l *loop) lines(s market.Symbol) []order.Line {
	lines := l.book.Lines(s)
	for i := range lines {
		lines[i].Best = l.best(lines[i])
	}
	return lines
}

// exiting returns how much of a position orders of a deployment close that are on their way.
func (l *loop) exiting(s market.Symbol, deployment string) decimal.Decimal {
	var sum decimal.Decimal
	for _, o := range l.book.Closing(s) {
		if l.book.DeploymentOf(o) == deployment {
			sum = sum.Add(o.Remaining())
		}
	}
	return sum
}

// feeSlack returns how much less than was bought may be left of it after a fee in the asset itself.
func (l *loop) feeSlack(s market.Symbol, quantity decimal.Decimal) decimal.Decimal {
	fees := l.book.Position(s).Fees[l.instruments[s].Base]
	return decimal.Min(decimal.Max(fees, decimal.Zero), quantity.Shift(-2))
}

// least returns the smallest quantity that the venue trades.
func (l *loop) least(s market.Symbol) decimal.Decimal {
	inst := l.instruments[s]
	least := decimal.Max(inst.MinQuantity, inst.Step)
	if q, ok := l.cfg.Market.LastQuote(s); ok && q.Last.IsPositive() {
		least = decimal.Max(least, inst.MinNotional.DivRound(q.Last, 8))
	}
	return least
}

// planned returns the event that records a plan, none if it stays.
func (l *loop) planned(s market.Symbol, lines []order.Line) []order.Event {
	if lines == nil {
		return nil
	}
	e := order.Planned(s, lines)
	e.At = l.now()
	return []order.Event{e}
}

// undo returns the event that takes back a change of the plan.
func (l *loop) undo(s market.Symbol, c *planChange) []order.Event {
	if c == nil {
		return nil
	}
	return l.planned(s, c.Undo(l.lines(s), c.before, c.concerned))
}

// errBusyLine is the fault of a request while another one changes the protection of its symbol for too
// long.
func errBusyLine(head string) error {
	return fault.New(fault.Unavailable, "busy", "Order %s is changing the protection of the same position and has no answer yet; nothing was done. Retry in 1 s.", head).Retry(1e9)
}
