package binance

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	rules "candela/internal/data/provider/binance"
	"candela/internal/data/upstream"
	"candela/internal/trading/broker"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// The venue's codes that decide something here.
const (
	codeTooManyOrders = "-1015"
	codeTimestamp     = "-1021"
	codeRejected      = "-2010"
	codeCancel        = "-2011"
	codeNoOrder       = "-2013"
	codeArchived      = "-2026"
)

// The venue's words where one code means several things.
const (
	wordsUnknownOrder = "Unknown order sent."
	wordsDuplicate    = "Duplicate order sent."
)

// codeOf returns the venue's code of a refusal, or "".
func codeOf(err error) string {
	if e, ok := errors.AsType[*upstream.Error](err); ok && (e.Reason == upstream.Refused || e.Reason == upstream.Throttled) && e.Status < 500 {
		return e.Code
	}
	return ""
}

// fateOf returns what is known of an order or a cancel that failed with err.
func fateOf(err error) error {
	if errors.Is(err, upstream.ErrNotSent) {
		return broker.ErrNotSent
	}
	e, ok := errors.AsType[*upstream.Error](err)
	if !ok || e.Reason != upstream.Refused && e.Reason != upstream.Throttled {
		return broker.ErrUnknown
	}
	switch e.Status {
	case http.StatusTooManyRequests, http.StatusTeapot, http.StatusForbidden, http.StatusUnavailableForLegalReasons:
		return broker.ErrRejected // turned away at the door, with or without words
	}
	if e.Status < 400 || e.Status >= 500 || !refuses(e.Code) {
		return broker.ErrUnknown
	}
	if e.Code == codeRejected && strings.Contains(e.Message, wordsDuplicate) {
		return broker.ErrUnknown // an order of this id is there
	}
	return broker.ErrRejected
}

// refuses reports whether a code says that nothing was done. A code that is not
// known to say so may say anything: the order is then asked for. Left out are
// -1000, -1001, -1006, -1007, -1008 and -1016, by which the venue says that it
// does not know itself, or failed inside.
func refuses(code string) bool {
	switch code {
	case "-1002", "-1003", // not authorized, too many requests
		"-1010", "-1013", "-1014", codeTooManyOrders, // rejected, filters, combination, too many orders
		"-1020", codeTimestamp, "-1022", // not supported, time, signature
		"-1131",                           // recvWindow
		codeRejected, codeCancel, "-2012", // by the matching engine
		codeNoOrder, "-2014", "-2015", "-2016", "-2017", // no such order, keys
		codeArchived, "-2039": // archived, ids that do not go together
		return true
	}
	// 11xx and 12xx: something is wrong with the request.
	return len(code) == len("-1100") && (strings.HasPrefix(code, "-11") || strings.HasPrefix(code, "-12"))
}

// failed gives an error its fate, and a face that a client can act on.
func failed(err error, o order.Spec, spelled string) error {
	return fmt.Errorf("%w: %w", fateOf(err), explain(err, o, spelled))
}

// explain turns what the venue said into a fault that says what to do about it.
func explain(err error, o order.Spec, spelled string) error {
	e, ok := errors.AsType[*upstream.Error](err)
	if !ok || e.Reason != upstream.Refused || e.Status >= 500 || e.Status == http.StatusUnavailableForLegalReasons {
		return err // an account here cannot trade elsewhere instead
	}
	f := &fault.Error{Cause: err, Code: "venue_refused", Kind: fault.Invalid}
	switch code := e.Code; {
	case code == codeTooManyOrders:
		return tooManyOrders(err, e.RetryAfter)
	case code == codeTimestamp:
		f.Kind, f.Code, f.Retryable = fault.Unavailable, "clock_skew", true
		f.Message = "this machine's clock and the venue's differ; it was measured again"
	case code == "-1022", code == "-2014", code == "-2015", code == "-1002", e.Status == http.StatusUnauthorized:
		f.Kind, f.Code = fault.Unavailable, "venue_keys_refused"
		f.Message = "the venue does not accept the key, its signature, this address or the permission to trade"
	case code == codeRejected && strings.Contains(e.Message, "insufficient balance"):
		f.Code, f.Field = "insufficient_balance", "quantity"
		f.Message = "the account has too little for this order"
	case code == "" && e.Status == http.StatusForbidden:
		f.Kind, f.Code, f.Retryable = fault.Unavailable, "address_refused", true
		f.Message = "something before the venue blocks requests from this address"
	case code == codeRejected && strings.Contains(e.Message, "Market is closed"):
		f.Kind, f.Retryable, f.Message = fault.Conflict, true, "the venue does not trade this symbol now"
	case explainStop(f, e, o):
	case strings.HasPrefix(e.Message, "Filter failure: "):
		f.Code = "venue_filter"
		f.Field, f.Allowed = filterField(strings.TrimPrefix(e.Message, "Filter failure: "))
		if strings.Contains(e.Message, "MAX_NUM_") { // how many there are changes
			f.Kind, f.Retryable = fault.Conflict, true
		}
		f.Message = "the order breaks a rule of the symbol: " + f.Allowed
	case code == codeRejected, code == codeCancel:
		f.Kind, f.Message = fault.Conflict, "the venue refused"
	default:
		return rules.Explain(err, o.Symbol, spelled)
	}
	f.Message = fmt.Sprintf("binance %s: %s (%s, code %s)", spelled, f.Message, e.Message, e.Code)
	return f
}

// explainStop fills in the fault of a stop, a pair or a bracket that the venue refused, and
// reports whether it is one.
func explainStop(f *fault.Error, e *upstream.Error, o order.Spec) bool {
	sides := "below the last price for a sale, above it for a purchase"
	switch {
	case strings.HasPrefix(e.Message, "Order would trigger immediately"):
		f.Kind, f.Field, f.Allowed = fault.Conflict, stopField(o), "a price "+sides
		f.Message = "the price has passed the stop; give one " + sides + ", or close at market"
	case strings.HasPrefix(e.Message, "Order would immediately match and take"):
		f.Kind, f.Field, f.Allowed = fault.Conflict, "price", "a price at which the order rests"
		f.Message = "the order would trade at once; give a price at which it rests, or leave out post_only"
		if o.Role == order.TakeProfit {
			f.Field, f.Message = "take_profit", "the price has passed the target; give one further away, or close at market"
		}
	case strings.HasPrefix(e.Message, "The relationship of the prices"), isPairCode(e.Code):
		f.Kind, f.Field = fault.Conflict, "stop_loss"
		f.Allowed = "for a sale stop_loss below the last price and take_profit above it, for a purchase the other way round"
		f.Message = "the last price is not between stop_loss and take_profit; use " + f.Allowed
	case e.Code == "-1222", e.Code == "-1223":
		f.Field, f.Allowed = "side", "buy, with legs that sell"
		f.Message = "the venue fits legs to what was bought, so their entry must be a purchase"
	case strings.Contains(e.Message, "not supported for this symbol"):
		f.Kind, f.Code = fault.Unsupported, "protection_not_native"
		f.Message = "the venue does not take this kind of order in this symbol"
	case strings.HasPrefix(e.Message, "Unsupported order combination"):
		f.Field, f.Allowed = "type", "limit with a price, time_in_force gtc"
		f.Message = "the venue does not take these orders together; try " + f.Allowed
	default:
		return false
	}
	return true
}

// isPairCode reports whether a code says that the orders of a pair are on the wrong sides.
func isPairCode(code string) bool {
	switch code {
	case "-1165", "-1166", "-1196", "-1197", "-1198", "-1199":
		return true
	}
	return false
}

// tooManyOrders is the fault of an account that has placed all it may for a while.
func tooManyOrders(cause error, wait time.Duration) *fault.Error {
	f := fault.Unreachable(cause, wait, "binance: the account has placed as many orders as it may for now; orders that trade do not count, and cancels go on")
	f.Code = "rate_limited"
	return f
}

// filterField says which argument a filter is about and what it demands.
func filterField(filter string) (field, allowed string) {
	switch filter {
	case "PRICE_FILTER":
		return "price", "a price within the symbol's bounds, on its tick"
	case "PERCENT_PRICE", "PERCENT_PRICE_BY_SIDE":
		return "price", "a price nearer to the market"
	case "LOT_SIZE", "MARKET_LOT_SIZE", "MAX_POSITION", "MAX_ASSET":
		return "quantity", "a quantity within the symbol's bounds, on its step"
	case "NOTIONAL", "MIN_NOTIONAL":
		return "quantity", "price times quantity within the symbol's bounds"
	case "TRAILING_DELTA":
		return "trail_percent", "a distance within the symbol's bounds"
	case "MAX_NUM_ALGO_ORDERS":
		return "", "fewer open stops in this symbol"
	case "MAX_NUM_ORDER_LISTS":
		return "", "fewer open pairs and brackets in this symbol"
	default:
		return "", "fewer open orders"
	}
}

// readFault gives an error of a read its face.
func readFault(err error) error {
	return explain(err, order.Spec{Symbol: market.Symbol{Venue: name}}, "account")
}
