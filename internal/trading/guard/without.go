package guard

import (
	"slices"

	"candela/internal/trading/order"
)

// Without returns the facts as they are when open orders in the symbol have ended, such as
// those that a new order replaces. They count as one open order.
func (f Facts) Without(orders []order.Order) Facts {
	if len(orders) == 0 {
		return f
	}
	named := func(o order.Order) bool {
		return slices.ContainsFunc(orders, func(end order.Order) bool { return end.ID == o.ID })
	}
	var buys, sells []order.Order
	for _, o := range orders {
		if o.Side == order.Buy {
			buys = append(buys, o)
		} else {
			sells = append(sells, o)
		}
	}
	if entry := orders[0]; entry.Role == order.Entry { // its legs wait and do not count
		buys = slices.DeleteFunc(buys, func(o order.Order) bool { return o.Group.Leg })
		sells = slices.DeleteFunc(sells, func(o order.Order) bool { return o.Group.Leg })
	}
	f.OpenBuy, f.OpenSell = f.OpenBuy.Sub(claimed(buys)), f.OpenSell.Sub(claimed(sells))
	f.Exits = slices.DeleteFunc(slices.Clone(f.Exits), named)
	f.Filling = slices.DeleteFunc(slices.Clone(f.Filling), named)
	f.SymbolOrders, f.OpenOrders = max(f.SymbolOrders-1, 0), max(f.OpenOrders-1, 0)
	return f
}

// NotFreed is the denial of an order that waited for others to be cancelled.
func NotFreed(rule, text string) *Denial { return &Denial{Rule: rule, Text: text} }
