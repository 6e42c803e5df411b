package binance

import "github.com/shopspring/decimal"

// The venue's words.
const (
	sideBuy  = "BUY"
	sideSell = "SELL"

	typeLimit           = "LIMIT"
	typeMarket          = "MARKET"
	typeMaker           = "LIMIT_MAKER"
	typeStop            = "STOP_LOSS"
	typeStopLimit       = "STOP_LOSS_LIMIT"
	typeTakeProfit      = "TAKE_PROFIT"
	typeTakeProfitLimit = "TAKE_PROFIT_LIMIT"

	statusNew      = "NEW"
	statusPending  = "PENDING_NEW"
	statusPartial  = "PARTIALLY_FILLED"
	statusFilled   = "FILLED"
	statusCanceled = "CANCELED"
	statusExpired  = "EXPIRED"

	executionTrade   = "TRADE"
	executionReplace = "REPLACED"

	timeInForceOpen  = "GTC"
	timeInForceNow   = "IOC"
	timeInForceWhole = "FOK"
)

// Why an order expired.
const (
	reasonRejected  = "REJECTED"
	reasonExchange  = "EXCHANGE_CANCELED"
	reasonPair      = "OCO_TRIGGER"
	reasonWorking   = "OTO_PHASE_ONE_EXPIRED"
	reasonIOC       = "UNFILLED_IOC_QUANTITY_EXPIRED"
	reasonFOK       = "UNFILLED_FOK_ORDER_EXPIRED"
	reasonLiquidity = "INSUFFICIENT_LIQUIDITY"
)

// orderTypes are the types that a symbol may have, in the venue's order.
func orderTypes() []string {
	return []string{typeLimit, typeMaker, typeMarket, typeStop, typeStopLimit, typeTakeProfit, typeTakeProfitLimit}
}

// contingent reports whether orders of a type wait for a trigger.
func contingent(kind string) bool {
	return kind == typeStop || kind == typeStopLimit || kind == typeTakeProfit || kind == typeTakeProfitLimit
}

// limited reports whether orders of a type have a price.
func limited(kind string) bool {
	return kind != typeMarket && kind != typeStop && kind != typeTakeProfit
}

// forced reports whether orders of a type need a time in force.
func forced(kind string) bool { return limited(kind) && kind != typeMaker }

func stops(kind string) bool { return kind == typeStop || kind == typeStopLimit }

// waits reports whether the order is not on the book before its trigger.
func (o *Order) waits() bool { return contingent(o.Type) && o.Working.IsZero() }

// above reports whether the trigger of a contingent order lies above the market.
func (o *Order) above() bool { return stops(o.Type) == (o.Side == sideBuy) }

// met reports whether a price meets the order's stop price.
func (o *Order) met(price decimal.Decimal) bool {
	if o.above() {
		return price.GreaterThanOrEqual(o.StopPrice)
	}
	return price.LessThanOrEqual(o.StopPrice)
}

// level is the price that places an order of a pair above or below the market; zero
// for an order that trails from the start.
func (o *Order) level() decimal.Decimal {
	if o.Type == typeMaker || o.Type == typeTakeProfitLimit {
		return o.Price
	}
	return o.StopPrice
}
