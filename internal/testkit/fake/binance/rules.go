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
		maxOrders: 200, ordersPer10s: 100, ordersPerDay: 200_000, commission: d("0.001"),
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
	}
}

// check returns the refusal of an order that breaks a filter, in the venue's
// order, with last as the last price and open orders of the symbol.
func (r rules) check(o *Order, last decimal.Decimal, open int) *refusal {
	price, market := o.Price, o.Type == typeMarket
	failed := ""
	switch {
	case market:
		price = last
	case price.LessThan(r.minPrice) || price.GreaterThan(r.maxPrice) || !price.Mod(r.tick).IsZero():
		failed = "PRICE_FILTER"
	case price.GreaterThan(last.Mul(r.multiplierUp)) || price.LessThan(last.Mul(r.multiplierDown)):
		failed = "PERCENT_PRICE_BY_SIDE"
	}
	notional := price.Mul(o.Quantity)
	switch {
	case failed != "":
	case o.Quantity.LessThan(r.minQty) || o.Quantity.GreaterThan(r.maxQty) || !o.Quantity.Mod(r.step).IsZero():
		failed = "LOT_SIZE"
	case market && o.Quantity.GreaterThan(r.maxMarketQty):
		failed = "MARKET_LOT_SIZE"
	case notional.LessThan(r.minNotional) || !market && notional.GreaterThan(r.maxNotional):
		failed = "NOTIONAL"
	case open >= r.maxOrders:
		failed = "MAX_NUM_ORDERS"
	}
	if failed == "" {
		return nil
	}
	return &refusal{400, -1013, "Filter failure: " + failed}
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
