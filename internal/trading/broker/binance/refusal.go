package binance

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	rules "candela/internal/data/provider/binance"
	"candela/internal/data/upstream"
	"candela/internal/trading/order"
	"candela/internal/trading/venue"
	"candela/lib/fault"
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

// codesKeys are the codes of keys, signatures, addresses and permissions that are refused.
const codesKeys = "-1022 -2014 -2015"

// codesRefused are the codes that say that nothing was done, beside 11xx and 12xx, by which something is wrong
// with the request. Any other may say anything: the order is then asked for. Left out are -1000, -1001, -1006,
// -1007, -1008 and -1016, by which the venue says that it does not know itself, or failed inside.
const codesRefused = "-1002 -1003 " + // not authorized, too many requests
	"-1010 -1013 -1014 -1015 " + // rejected, filters, combination, too many orders
	"-1020 -1021 -1022 -1131 " + // not supported, time, signature, recvWindow
	"-2010 -2011 -2012 " + // by the matching engine
	"-2013 -2014 -2015 -2016 -2017 " + // no such order, keys
	"-2026 -2039" // archived, ids that do not go together

// The venue's words where one code means several things.
const (
	wordsUnknownOrder = "Unknown order sent."
	wordsDuplicate    = "Duplicate order sent."
)

// refuses reports whether an answer says that nothing was done.
func refuses(e *upstream.Error) bool {
	switch e.Status {
	case http.StatusTooManyRequests, http.StatusTeapot, http.StatusForbidden, http.StatusUnavailableForLegalReasons:
		return true // turned away at the door, with or without words
	}
	if e.Code == codeRejected && strings.Contains(e.Message, wordsDuplicate) {
		return false // an order of this id is there
	}
	request := len(e.Code) == len("-1100") && (strings.HasPrefix(e.Code, "-11") || strings.HasPrefix(e.Code, "-12"))
	return request || venue.Lists(codesRefused, e.Code)
}

// failed gives an error its outcome, and a face that a client can act on.
func failed(o order.Spec, err error) error {
	return fmt.Errorf("%w: %w", venue.Outcome(err, refuses), explain(o, err))
}

// explain turns what the venue said into a fault that says what to do about it.
func explain(o order.Spec, err error) error {
	spelled := "account"
	if o.Symbol.Name != "" {
		spelled = o.Symbol.Name
		if s, err := rules.Spell(o.Symbol); err == nil {
			spelled = s
		}
	}
	e, ok := errors.AsType[*upstream.Error](err)
	switch {
	case !ok || e.Reason != upstream.Refused || e.Status >= 500 || e.Status == http.StatusUnavailableForLegalReasons:
		return err // an account here cannot trade elsewhere instead
	case e.Code == codeTooManyOrders:
		return tooManyOrders(err, e.RetryAfter)
	}
	f := &fault.Error{Cause: err, Code: "venue_refused", Kind: fault.Invalid}
	if !refusals().Explain(f, e, o) {
		return rules.Explain(err, o.Symbol, spelled)
	}
	switch {
	case f.Code == "venue_filter":
		f.Message = "the order breaks a rule of the symbol: " + f.Allowed
	case f.Field == "price" && f.Kind == fault.Conflict && o.Role == order.TakeProfit:
		f.Field, f.Message = "take_profit", "the price has passed the target; give one further away, or close at market"
	}
	f.Message = fmt.Sprintf("binance %s: %s (%s, code %s)", spelled, f.Message, e.Message, e.Code)
	return f
}

// refusals returns the refusals that are known.
func refusals() venue.Refusals {
	const (
		keys  = "the venue does not accept the key, its signature, this address or the permission to trade"
		sides = "below the last price for a sale, above it for a purchase"
		legs  = "for a sale stop_loss below the last price and take_profit above it, for a purchase the other way round"
		apart = "the last price is not between stop_loss and take_profit; use " + legs
		gtc   = "limit with a price, time_in_force gtc"
	)
	filter := func(words, field, allowed string) venue.Refusal {
		return venue.Refusal{Words: "filter failure: " + words, Code: "venue_filter", Field: field, Allowed: allowed}
	}
	full := func(words, allowed string) venue.Refusal { // how many there are changes
		return venue.Refusal{Words: "filter failure: " + words, Kind: fault.Conflict, Code: "venue_filter", Allowed: allowed, Retryable: true}
	}
	return venue.Refusals{
		{Codes: codeTimestamp, Kind: fault.Unavailable, Code: "clock_skew", Retryable: true, Means: "this machine's clock and the venue's differ; it was measured again"},
		{Codes: codesKeys + " -1002", Kind: fault.Unavailable, Code: "venue_keys_refused", Means: keys},
		{Status: http.StatusUnauthorized, Kind: fault.Unavailable, Code: "venue_keys_refused", Means: keys},
		{Codes: codeRejected, Words: "insufficient balance", Code: "insufficient_balance", Field: "quantity", Means: "the account has too little for this order"},
		{Status: http.StatusForbidden, Bare: true, Kind: fault.Unavailable, Code: "address_refused", Retryable: true, Means: "something before the venue blocks requests from this address"},
		{Codes: codeRejected, Words: "market is closed", Kind: fault.Conflict, Retryable: true, Means: "the venue does not trade this symbol now"},
		{
			Words: "order would trigger immediately", Kind: fault.Conflict, Field: "stop_price", Allowed: "a price " + sides,
			Means: "the price has passed the stop; give one " + sides + ", or close at market",
		},
		{
			Words: "order would immediately match and take", Kind: fault.Conflict, Field: "price", Allowed: "a price at which the order rests",
			Means: "the order would trade at once; give a price at which it rests, or leave out post_only",
		},
		{Words: "the relationship of the prices", Kind: fault.Conflict, Field: "stop_loss", Allowed: legs, Means: apart},
		{Codes: "-1165 -1166 -1196 -1197 -1198 -1199", Kind: fault.Conflict, Field: "stop_loss", Allowed: legs, Means: apart},
		{Codes: "-1222 -1223", Field: "side", Allowed: "buy, with legs that sell", Means: "the venue fits legs to what was bought, so their entry must be a purchase"},
		{Words: "not supported for this symbol", Kind: fault.Unsupported, Code: "protection_not_native", Means: "the venue does not take this kind of order in this symbol"},
		{Words: "unsupported order combination", Field: "type", Allowed: gtc, Means: "the venue does not take these orders together; try " + gtc},
		filter("price_filter", "price", "a price within the symbol's bounds, on its tick"),
		filter("percent_price", "price", "a price nearer to the market"),
		filter("lot_size", "quantity", "a quantity within the symbol's bounds, on its step"),
		filter("market_lot_size", "quantity", "a quantity within the symbol's bounds, on its step"),
		filter("max_position", "quantity", "a quantity within the symbol's bounds, on its step"),
		filter("max_asset", "quantity", "a quantity within the symbol's bounds, on its step"),
		filter("notional", "quantity", "price times quantity within the symbol's bounds"),
		filter("min_notional", "quantity", "price times quantity within the symbol's bounds"),
		filter("trailing_delta", "trail_percent", "a distance within the symbol's bounds"),
		full("max_num_algo_orders", "fewer open stops in this symbol"),
		full("max_num_order_lists", "fewer open pairs and brackets in this symbol"),
		full("max_num_", "fewer open orders"),
		filter("", "", "fewer open orders"),
		{Codes: codeRejected + " " + codeCancel, Kind: fault.Conflict, Means: "the venue refused"},
	}
}

// tooManyOrders is the fault of an account that has placed all it may for a while.
func tooManyOrders(cause error, wait time.Duration) *fault.Error {
	f := fault.Unreachable(cause, wait, "binance: the account has placed as many orders as it may for now; orders that trade do not count, and cancels go on")
	f.Code = "rate_limited"
	return f
}
