package desktest

import (
	"slices"

	"candela/internal/trading/order"
)

// Page answers a query from a list of all orders.
func Page(all []order.Order, q order.Query) order.Page {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b order.Order) int { return b.Mark().Compare(a.Mark()) })
	p := order.Page{Replaced: order.Replacements(all)}
	for _, o := range all {
		switch {
		case q.ID != "" && o.ID != q.ID, !q.After.Precedes(o):
		case q.ID == "" && len(p.Orders) == q.Most:
			p.Left++
		default:
			p.Orders = append(p.Orders, o)
		}
	}
	return p
}
