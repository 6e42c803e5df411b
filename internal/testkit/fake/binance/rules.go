package binance

import (
	"strings"

	"github.com/shopspring/decimal"
)

// rules are the filters of every symbol.
type rules struct {
	tick, minPrice, maxPrice       decimal.Decimal
	step, minQty, maxQty           decimal.Decimal
	maxMarketQty                   decimal.Decimal
	minNotional, maxNotional       decimal.Decimal
	multiplierUp, multiplierDown   decimal.Decimal // of prices, against the last one
	maxOrders                      int
	maxAlgoOrders, maxLists        int // of those that wait for a trigger; of order lists
	minTrailAbove, maxTrailAbove   int64
	minTrailBelow, maxTrailBelow   int64
	ordersPer10s, ordersPerDay     int
	commission                     decimal.Decimal
	requestWindow, requestMaxAhead int64 // milliseconds
}

func standard() rules {
	d := decimal.RequireFromString
	return rules{
		tick: d("0.0001"), minPrice: d("0.0001"), maxPrice: d("1000000"),
		step: d("0.00001"), minQty: d("0.00001"), maxQty: d("9000"), maxMarketQty: d("100"),
		minNotional: d("5"), maxNotional: d("9000000"), multiplierUp: d("5"), multiplierDown: d("0.2"),
		maxOrders: 200, maxAlgoOrders: 5, maxLists: 20, minTrailAbove: 10, maxTrailAbove: 2000, minTrailBelow: 10, maxTrailBelow: 2000,
		ordersPer10s: 100, ordersPerDay: 200_000, commission: d("0.001"),
		requestWindow: 5000, requestMaxAhead: 1000,
	}
}

// filters returns the rules as exchangeInfo does.
func (r rules) filters() []map[string]any {
	type m = map[string]any
	return []m{
		{"filterType": "PRICE_FILTER", "minPrice": amount(r.minPrice), "maxPrice": amount(r.maxPrice), "tickSize": amount(r.tick)},
		{"filterType": "LOT_SIZE", "minQty": amount(r.minQty), "maxQty": amount(r.maxQty), "stepSize": amount(r.step)},
		{"filterType": "MARKET_LOT_SIZE", "minQty": amount(decimal.Zero), "maxQty": amount(r.maxMarketQty), "stepSize": amount(decimal.Zero)},
		{
			"filterType": "PERCENT_PRICE_BY_SIDE", "avgPriceMins": 5,
			"bidMultiplierUp": r.multiplierUp.String(), "bidMultiplierDown": r.multiplierDown.String(),
			"askMultiplierUp": r.multiplierUp.String(), "askMultiplierDown": r.multiplierDown.String(),
		},
		{
			"filterType": "NOTIONAL", "minNotional": amount(r.minNotional), "applyMinToMarket": true,
			"maxNotional": amount(r.maxNotional), "applyMaxToMarket": false, "avgPriceMins": 5,
		},
		{"filterType": "MAX_NUM_ORDERS", "maxNumOrders": r.maxOrders},
		{"filterType": "MAX_NUM_ORDER_LISTS", "maxNumOrderLists": r.maxLists},
		{"filterType": "MAX_NUM_ALGO_ORDERS", "maxNumAlgoOrders": r.maxAlgoOrders},
		{
			"filterType": "TRAILING_DELTA", "minTrailingAboveDelta": r.minTrailAbove, "maxTrailingAboveDelta": r.maxTrailAbove,
			"minTrailingBelowDelta": r.minTrailBelow, "maxTrailingBelowDelta": r.maxTrailBelow,
		},
	}
}

// check returns the refusal of an order that breaks a filter, in the venue's order, with
// last as the last price.
func (r rules) check(o *Order, last decimal.Decimal) *refusal {
	failed := r.checkPrices(o, last)
	if failed == "" {
		failed = r.checkQuantity(o, last)
	}
	if failed == "" {
		return nil
	}
	return filtered(failed)
}

func filtered(filter string) *refusal { return &refusal{400, -1013, "Filter failure: " + filter} }

// counted is the refusal of an order by a filter that counts the open ones: the book knows them.
func counted(filter string) *refusal { return &refusal{400, -2010, "Filter failure: " + filter} }

// offTick reports whether a price breaks the price filter.
func (r rules) offTick(price decimal.Decimal) bool {
	return price.LessThan(r.minPrice) || price.GreaterThan(r.maxPrice) || !price.Mod(r.tick).IsZero()
}

// checkPrices returns the filter that an order's prices break.
func (r rules) checkPrices(o *Order, last decimal.Decimal) string {
	switch {
	case limited(o.Type) && r.offTick(o.Price) || o.StopPrice.IsPositive() && r.offTick(o.StopPrice):
		return "PRICE_FILTER"
	case limited(o.Type) && (o.Price.GreaterThan(last.Mul(r.multiplierUp)) || o.Price.LessThan(last.Mul(r.multiplierDown))):
		return "PERCENT_PRICE_BY_SIDE"
	case !r.allowedDelta(o):
		return "TRAILING_DELTA"
	}
	return ""
}

// checkQuantity returns the filter that an order's quantity breaks. A leg that the venue
// has not sized has none.
func (r rules) checkQuantity(o *Order, last decimal.Decimal) string {
	if o.unsized {
		return ""
	}
	price := last
	if limited(o.Type) {
		price = o.Price
	} else if o.StopPrice.IsPositive() {
		price = o.StopPrice
	}
	notional := price.Mul(o.Quantity)
	switch {
	case o.Quantity.LessThan(r.minQty) || o.Quantity.GreaterThan(r.maxQty) || !o.Quantity.Mod(r.step).IsZero():
		return "LOT_SIZE"
	case !limited(o.Type) && o.Quantity.GreaterThan(r.maxMarketQty):
		return "MARKET_LOT_SIZE"
	case notional.LessThan(r.minNotional) || limited(o.Type) && notional.GreaterThan(r.maxNotional):
		return "NOTIONAL"
	}
	return ""
}

// split returns the assets of a symbol.
func split(symbol string) (base, quote string) {
	for _, q := range []string{"FDUSD", "USDT", "USDC", "BTC", "ETH", "BNB"} {
		if b, ok := strings.CutSuffix(symbol, q); ok && b != "" {
			return b, q
		}
	}
	return symbol, ""
}

// amount writes a decimal as the venue does.
func amount(d decimal.Decimal) string { return d.StringFixed(8) }

// refusal is an answer with one of the venue's error codes.
type refusal struct {
	status, code int
	message      string
}
