package ordering

import (
	"slices"
	"strings"

	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// maxNear bounds the symbols that a refusal names.
const maxNear = 5

// Held returns the positions in a symbol that a client asks for.
func Held(all []order.PricedPosition, asked market.Symbol) ([]order.PricedPosition, error) {
	return selected(all, asked, func(p order.PricedPosition) market.Symbol { return p.Symbol })
}

// openIn returns the open orders in a symbol that a client asks for.
func openIn(all []order.Order, asked market.Symbol) ([]order.Order, error) {
	return selected(all, asked, func(o order.Order) market.Symbol { return o.Symbol })
}

// selected keeps what is in a symbol that a client asks for. A name that selects nothing and only begins as others do,
// such as BTC beside BTCUSDT, is refused: an empty answer would say that nothing is there.
func selected[T any](all []T, asked market.Symbol, symbolOf func(T) market.Symbol) ([]T, error) {
	var near []string
	kept := slices.DeleteFunc(all, func(item T) bool {
		s := symbolOf(item)
		if order.Named(asked, s) {
			return false
		}
		if begins(asked, s) && !slices.Contains(near, s.String()) && len(near) < maxNear {
			near = append(near, s.String())
		}
		return true
	})
	if len(kept) > 0 || len(near) == 0 {
		return kept, nil
	}
	slices.Sort(near)
	names := strings.Join(near, ", ")
	e := fault.Field("symbol", asked.String(), names)
	e.Message = "symbol: nothing is in " + fault.Clean(asked.String(), 64) + "; there is " + names + ". Use that, or leave symbol out for all."
	e.Suggestions = near
	return nil, e
}

// begins reports whether the name of a symbol begins with that of the one asked for, such as BTC.
func begins(asked, s market.Symbol) bool {
	return (asked.Venue == "" || asked.Venue == s.Venue) && len(asked.Name) > 1 && strings.HasPrefix(strings.ToUpper(s.Name), strings.ToUpper(asked.Name))
}
