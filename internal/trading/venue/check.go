package venue

import (
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
	"candela/lib/fault"
)

// CheckOrder refuses an order that no venue would be asked for, or whose ID has more than a number of
// characters. Whether the venue takes quantity and price is for the venue to say.
func CheckOrder(name string, maxID int, o order.Spec) error {
	illegal := func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' && c != '_'
	}
	switch {
	case o.ID == "" || len(o.ID) > maxID || strings.ContainsFunc(o.ID, illegal):
		return fault.Field("id", o.ID, fmt.Sprintf("1 to %d letters, digits, - and _", maxID))
	case o.Side != order.Buy && o.Side != order.Sell:
		return fault.Field("side", fmt.Sprint(o.Side), "buy, sell")
	case o.Type != order.Market && o.Type != order.Limit:
		return fault.Field("type", fmt.Sprint(o.Type), "market, limit")
	case !o.Quantity.IsPositive():
		return fault.Field("quantity", o.Quantity.String(), "above zero")
	case o.Type == order.Limit && !o.Price.IsPositive():
		return fault.Field("price", o.Price.String(), "above zero for a limit order")
	case o.StopPrice.IsNegative():
		return fault.Field(StopField(o), o.StopPrice.String(), "a price above 0")
	case o.TrailPercent.IsNegative() || o.TrailPercent.GreaterThan(decimal.NewFromInt(100)):
		return fault.Field("trail_percent", o.TrailPercent.String(), "per cent above 0 and up to 100")
	case o.TrailPercent.IsPositive() && o.StopPrice.IsPositive():
		return fault.Field("trail_percent", o.TrailPercent.String(), "trail_percent or a stop price, not both")
	case !o.Best.IsZero():
		return fault.Field("best", o.Best.String(), "no best price: a trail begins at the price of now at "+name)
	}
	return nil
}

// CheckGroup refuses orders that are no entry with one or two legs that close it, and no pair of a target with
// a limit and its stop. What each of them is was checked.
func CheckGroup(name string, orders []order.Spec) error {
	if len(orders) < 2 || len(orders) > 3 {
		return fmt.Errorf("%s: %d orders are no group", name, len(orders))
	}
	head, legs := orders[0], orders[1:]
	entry, stops, seen := head.Role == order.Entry, 0, map[string]bool{}
	for _, o := range orders {
		switch {
		case seen[o.ID]:
			return fmt.Errorf("%s: the id %s is there twice", name, o.ID)
		case o.Symbol != head.Symbol || !o.Quantity.Equal(head.Quantity) || o.Group.Name != head.ID:
			return fmt.Errorf("%s: order %s does not belong to group %s: another symbol, quantity or group", name, o.ID, head.ID)
		}
		seen[o.ID] = true
	}
	switch {
	case head.IsStop():
		return fault.Field("stop_price", head.StopPrice.String(), "none: "+name+" takes no entry that waits for a price together with legs; place them when it is filled")
	case !entry && (len(legs) != 1 || head.Type != order.Limit):
		return fmt.Errorf("%s: a pair is a target with a limit, and its stop", name)
	}
	for _, leg := range legs {
		if (leg.Side == head.Side) == entry || !leg.IsStop() && leg.Type != order.Limit {
			return fmt.Errorf("%s: leg %s does not close the position", name, leg.ID)
		}
		if leg.IsStop() {
			stops++
		}
	}
	if (!entry || len(legs) == 2) && stops != 1 {
		return fmt.Errorf("%s: two exits are a stop and a target", name)
	}
	return nil
}
