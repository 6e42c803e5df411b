package deploy

import (
	"fmt"
	"slices"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
)

// exit is a part of what is held, with the prices at which the model closes it.
type exit struct {
	what     string // names it among the exits of a bar
	quantity decimal.Decimal
	protect  order.Protection
}

// mostExits bounds the lines of a deployment. More exits become one stop and one target.
const mostExits = 20

// exits returns what the model closes at prices, in the order in which the program gave it. Parts with equal prices are
// one.
func (m *Model) exits() (all []exit) {
	for i := range m.wants {
		w := &m.wants[i]
		if w.kind != LineKind || !w.left.IsPositive() || w.Stop.IsZero() && w.Limit.IsZero() {
			continue
		}
		p := order.Protection{StopLoss: w.Stop, TakeProfit: w.Limit}
		if k := slices.IndexFunc(all, func(e exit) bool { return samePrices(e.protect, p) }); k >= 0 {
			all[k].quantity = all[k].quantity.Add(w.left)
		} else {
			all = append(all, exit{what: fmt.Sprintf("%d %d %s", w.lot, w.nth, w.id), quantity: w.left, protect: p})
		}
	}
	return all
}

// samePrices reports whether two lines ask for the same.
func samePrices(a, b order.Protection) bool {
	return a.StopLoss.Equal(b.StopLoss) && a.TakeProfit.Equal(b.TakeProfit) && a.TrailPercent.Equal(b.TrailPercent) && a.StopLossLimit.Equal(b.StopLossLimit)
}

// hasPassed reports whether the close is at or beyond the stop of an exit: the model closes it at the next open.
func (h *hand) hasPassed(e exit) bool {
	stop := e.protect.StopLoss
	return stop.IsPositive() && decimalOf(h.bar.C, h.model.exact.price).Cmp(stop) != h.held.Sign()
}

// passed returns how much the model closes at stops that the price has passed.
func (h *hand) passed() (sum decimal.Decimal) {
	for _, e := range h.model.exits() {
		if h.hasPassed(e) {
			sum = sum.Add(e.quantity)
		}
	}
	return sum
}

// exits returns the exits that the model keeps.
func (h *hand) exits() []exit { return slices.DeleteFunc(h.model.exits(), h.hasPassed) }

// protectParts sets a line for each exit. It reports false if that must be tried again.
func (h *hand) protectParts(exits []exit) bool {
	if len(exits) > mostExits {
		return h.join(len(exits))
	}
	done := make(map[string]bool)
	for range 2 * mostExits {
		lines, held, ok := h.plan()
		if !ok {
			return true // the next bar asks again
		}
		c, lacks := changeOf(lines, exits, held, h.d.Terms.Step)
		if !lacks {
			h.endUnwanted(lines, exits)
		}
		if !lacks || done[c.what+" "+c.line.ID] {
			return true
		}
		done[c.what+" "+c.line.ID] = true
		switch taken, denied := h.change(c); {
		case denied:
			return h.join(len(exits))
		case !taken || !h.look():
			return false
		}
	}
	return true
}

// join sets one stop and one target in place of several exits: the venue holds no more, or a rule denies them. It
// stays so while there are as many and that cannot have changed.
func (h *hand) join(exits int) bool {
	if slices.Contains([]string{"max_stops", "venue_min_quantity", "venue_min_notional", "protection_not_native"}, h.denied) {
		h.together = exits
	}
	return h.protectWhole()
}

// plan returns the lines of the deployment and how much of what is held they are for. Those of entries that are open, or
// that the model will have at the next open only, stay as they are.
func (h *hand) plan() (lines []order.Line, held decimal.Decimal, ok bool) {
	positions, err := h.desk.Positions(h.ctx, h.by)
	if err != nil {
		return nil, held, false
	}
	held = h.held.Sub(h.entered).Abs()
	for _, p := range positions {
		if p.Symbol != h.d.Terms.Symbol {
			continue
		}
		for _, l := range p.Plan {
			entry := slices.IndexFunc(h.all, func(o order.Order) bool { return o.ID == l.ID && o.Role == order.Entry })
			switch {
			case l.Deployment != h.d.ID || !l.Quantity.IsPositive():
			case entry >= 0 && h.model.wantsNow(h.all[entry].Key): // not in held
			case entry >= 0 && !h.all[entry].Status.Final():
				held = held.Sub(l.Quantity)
			default:
				lines = append(lines, l)
			}
		}
	}
	return lines, held, true
}

// lineChange asks for the prices of an exit for a part of what is held: of a line, or of what no line is for.
type lineChange struct {
	exit
	line order.Line // zero for what no line is for
}

// changeOf returns a change of the lines that an exit lacks. A book that is smaller than the model has less of its exits: first
// those that it has.
func changeOf(lines []order.Line, exits []exit, held, step decimal.Decimal) (c lineChange, lacks bool) {
	spare, lacking := make([]decimal.Decimal, len(lines)), make([]decimal.Decimal, len(exits))
	bare, free := held, held
	for i, l := range lines {
		spare[i], bare = l.Quantity, bare.Sub(l.Quantity)
	}
	for k, e := range exits {
		lacking[k] = e.quantity
		for i, l := range lines {
			if samePrices(l.Protect, e.protect) {
				part := decimal.Min(spare[i], lacking[k])
				spare[i], lacking[k], free = spare[i].Sub(part), lacking[k].Sub(part), free.Sub(part)
			}
		}
	}
	for k, e := range exits {
		lacking[k] = decimal.Min(lacking[k], free)
		free = free.Sub(lacking[k])
		if lacking[k].LessThan(step) {
			continue
		}
		c.exit = e
		if i := source(spare, lacking[k]); i >= 0 && spare[i].GreaterThanOrEqual(step) {
			c.line, c.quantity = lines[i], decimal.Min(lacking[k], spare[i])
			if c.line.Quantity.Sub(c.quantity).LessThan(step) {
				c.quantity = c.line.Quantity
			}
		} else {
			c.quantity = decimal.Min(lacking[k], bare)
		}
		if c.quantity = order.RoundDown(c.quantity, step); c.quantity.IsPositive() {
			return c, true
		}
	}
	return c, false
}

// source returns which of some parts a quantity is taken from: one that is equal, else the largest; -1 without any.
func source(spare []decimal.Decimal, quantity decimal.Decimal) int {
	most := -1
	for i, s := range spare {
		switch {
		case s.Equal(quantity):
			return i
		case most < 0 || s.GreaterThan(spare[most]):
			most = i
		}
	}
	return most
}

// change asks for a line with the prices of an exit, and cancels what the line has beside them.
func (h *hand) change(c lineChange) (taken, denied bool) {
	r := order.Request{Side: closing(h.held), Type: order.Market, Quantity: c.quantity, ReduceOnly: true, Protect: c.protect}
	if c.line.ID != "" {
		if r.Replaces = h.leg(c.line.ID); r.Replaces == "" {
			return false, false // its orders are on their way
		}
	}
	key, over := h.attempt(LineKind, "line "+c.what)
	if key == "" {
		return over, false
	}
	r.Key = key
	if taken, denied = h.place(r); !taken || !h.look() {
		return taken, denied
	}
	i := slices.IndexFunc(h.all, func(o order.Order) bool { return o.Key == key })
	if was := c.line.Protect; i >= 0 && was.HasStop() && !c.protect.HasStop() {
		h.endLeg(h.all[i].Line(), order.StopLoss)
	} else if i >= 0 && was.TakeProfit.IsPositive() && c.protect.TakeProfit.IsZero() {
		h.endLeg(h.all[i].Line(), order.TakeProfit)
	}
	return true, false
}

// legs returns the open orders of a line that are at the venue.
func (h *hand) legs(line string) []order.Order {
	return slices.DeleteFunc(slices.Clone(h.all), func(o order.Order) bool {
		return o.Line() != line || o.Status.Final() || !o.ReduceOnly || o.Role != order.StopLoss && o.Role != order.TakeProfit || o.Status == order.New || !o.CancelRequested.IsZero()
	})
}

// leg returns the ID of an order of a line, "" for none.
func (h *hand) leg(line string) string {
	for _, o := range h.legs(line) {
		if o.Status != order.Submitted && o.Status != order.Uncertain {
			return o.ID
		}
	}
	return ""
}

// endLeg cancels the stops or the targets of a line.
func (h *hand) endLeg(line string, role order.Role) {
	for _, o := range h.legs(line) {
		if o.Role == role {
			h.cancel(o)
		}
	}
}

// endUnwanted cancels the prices of lines that no exit has.
func (h *hand) endUnwanted(lines []order.Line, exits []exit) {
	for _, l := range lines {
		if !slices.ContainsFunc(exits, func(e exit) bool { return samePrices(e.protect, l.Protect) }) {
			h.endLeg(l.ID, order.StopLoss)
			h.endLeg(l.ID, order.TakeProfit)
		}
	}
}
