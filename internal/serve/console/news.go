package console

import (
	"slices"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
	"candela/lib/fault"
)

// notice shows something that has just happened, on whatever page is open.
type notice struct {
	Text string `json:"text"`
	To   string `json:"to"` // the page about it
}

// news finds what notices are made of: fills, orders that need approval and alerts that fired.
// Its first look finds nothing, because what was there before is no news.
type news struct {
	filled map[string]decimal.Decimal // by order; nil before the first look
	asked  map[string]bool            // orders that needed approval
	fired  *uint64                    // newest firing; nil before the first look
	fresh  []func(format) notice      // of the last look, oldest first
}

// maxNotices bounds how many notices one look makes; the pages have the rest.
const maxNotices = 5

// orders compares the orders with those of the last look.
func (n *news) orders(all []order.Order) {
	filled, asked := make(map[string]decimal.Decimal, len(all)), map[string]bool{}
	for _, o := range slices.Backward(all) {
		filled[o.ID] = o.Filled
		if o.Status == order.PendingApproval {
			asked[o.ID] = true
		}
		if n.filled == nil {
			continue
		}
		if o.Filled.GreaterThan(n.filled[o.ID]) {
			n.add(func(f format) notice { return fillNotice(o, f) })
		}
		if head := o.Group.Name == "" || o.Group.Name == o.ID; head && asked[o.ID] && !n.asked[o.ID] {
			n.add(func(f format) notice {
				return notice{newAskRow(o, f).Title + " and needs your approval", Root + "/approvals/" + o.ID}
			})
		}
	}
	n.filled, n.asked = filled, asked
}

// fillNotice says what was bought or sold.
func fillNotice(o order.Order, f format) notice {
	a := newActRow(o, f)
	if o.Status != order.Filled && o.Status != order.PartiallyFilled {
		o.Status = order.PartiallyFilled // a fill came before the order ended otherwise
		a = newActRow(o, f)
	}
	text := a.Lead
	if price, ok := o.Average(); ok {
		text += " at " + f.Price(price, o.Fills[0].Price)
	}
	return notice{text + ", " + a.Who, a.To}
}

// firings compares the alerts that fired, newest first, with those of the last look.
func (n *news) firings(all []Firing) {
	newest := uint64(0)
	for _, one := range slices.Backward(all) {
		newest = max(newest, one.Seq)
		if n.fired != nil && one.Seq > *n.fired {
			n.add(func(f format) notice {
				row := newFiredRow(one, f)
				return notice{"Alert fired: " + row.Symbol + " " + lowerFirst(row.Condition) + " at " + row.Value, Root + "/alerts/" + fault.Clean(one.ID, 64)}
			})
		}
	}
	if n.fired == nil || newest > *n.fired {
		n.fired = &newest
	}
}

func (n *news) add(say func(format) notice) {
	if len(n.fresh) < maxNotices {
		n.fresh = append(n.fresh, say)
	}
}
