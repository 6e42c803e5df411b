package alpaca

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"candela/internal/data/upstream"
	"candela/internal/trading/broker"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// fate says what is known of an order or a cancel that failed.
//
//	nothing left this machine                        not sent
//	401, 429, 451                                    refused: nothing passes that gate
//	4xx with the venue's own words                   refused
//	422 because the id is taken                      unknown: an order of that id is there
//	any other answer, and none, and half of one      unknown
//
// A 4xx in other words than the venue's comes from something between, which may
// have passed the request on before it answered.
func fate(o order.Spec, err error) error {
	subject := o.Symbol.Name
	e, ok := errors.AsType[*upstream.Error](err)
	switch {
	case errors.Is(err, upstream.ErrNotSent):
		return fmt.Errorf("%w: %w", broker.ErrNotSent, err)
	case ok && isTaken(e):
		return unknown(subject, "the venue says that it has an order with this id already", err)
	case ok && e.Reason == upstream.Throttled, ok && isRefusal(e):
		return fmt.Errorf("%w: %w", broker.ErrRejected, explain(o, err))
	case ok:
		return unknown(subject, strings.TrimPrefix(e.Error(), name+" "+subject+": "), err)
	default:
		return unknown(subject, "there was no time to wait for the answer", err)
	}
}

// unknown is the error of a request that may have been carried out. It is not
// retryable, whatever its cause is: to send an order again may double it.
func unknown(subject, why string, cause error) error {
	return fault.New(fault.Unavailable, "outcome_unknown",
		"%s %s: it is not known whether the venue did this: %s; look at the order before sending another", name, subject, why).
		Because(fmt.Errorf("%w: %w", broker.ErrUnknown, cause))
}

// notSent is the error of a request that failed before it went out.
func notSent(err error) error { return fmt.Errorf("%w: %w", broker.ErrNotSent, err) }

// isRefusal reports whether the venue itself answered that it will not.
func isRefusal(e *upstream.Error) bool {
	if e.Reason != upstream.Refused || e.Status < 400 || e.Status >= 500 || e.Status == http.StatusRequestTimeout {
		return false
	}
	return e.FromVenue || e.Status == http.StatusUnauthorized || e.Status == http.StatusUnavailableForLegalReasons
}

// isTaken reports whether the venue refused an order because of its id.
func isTaken(e *upstream.Error) bool {
	words := strings.NewReplacer("_", "", " ", "").Replace(strings.ToLower(e.Message))
	return isRefusal(e) && strings.Contains(words, "clientorderid") && strings.Contains(words, "unique")
}

// isMissing reports whether the venue itself says that there is no such thing. A
// 404 of something between says nothing about an order.
func isMissing(e *upstream.Error) bool { return e.Status == http.StatusNotFound && isRefusal(e) }

// refusal converts an error of a request for the caller.
func refusal(subject string, err error) error {
	return explain(order.Spec{Symbol: market.Symbol{Venue: name, Name: subject}}, err)
}

// explain converts an error of a request for the caller: the venue's words, what they mean
// for the arguments of the order, and what to do.
func explain(o order.Spec, err error) error {
	e, ok := errors.AsType[*upstream.Error](err)
	if !ok || !isRefusal(e) || e.Status == http.StatusUnavailableForLegalReasons {
		return err // 451 has its own words
	}
	f := &fault.Error{Kind: fault.Invalid, Code: "venue_refused", Cause: err}
	words := strings.ToLower(e.Message)
	switch {
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden && e.Code == "":
		f.Kind, f.Code = fault.Unauthorized, "keys_refused"
		f.Message = "the keys of a paper account are not known to the live host, nor the other way round"
	case e.Status == http.StatusForbidden:
		f.Kind = fault.Conflict
		if strings.Contains(words, "insufficient") {
			f.Code, f.Field = "insufficient_funds", "quantity"
		}
	case e.Status == http.StatusNotFound:
		f.Kind = fault.NotFound
	}
	if f.Message == "" {
		explainWords(f, words, o)
	}
	said := fmt.Sprintf("%s %s: the venue refuses: %s (HTTP %d", name, o.Symbol.Name, e.Message, e.Status)
	if e.Code != "" {
		said += ", code " + e.Code
	}
	said += ")"
	if f.Message != "" {
		said += ": " + f.Message
	}
	f.Message = said
	return f
}

// explainWords fills in what a refusal in the venue's words, in lower case, means.
func explainWords(f *fault.Error, words string, o order.Spec) {
	for _, w := range refusals() {
		if !strings.Contains(words, w.words) {
			continue
		}
		f.Field, f.Message = w.field, w.means
		if w.field == stopPriceField {
			f.Field = stopField(o)
		}
		if w.kind != 0 {
			f.Kind = w.kind
		}
		if w.code != "" {
			f.Code = w.code
		}
		return
	}
}

const stopPriceField = "stop_price"

// meaning is what words of the venue's mean for the arguments of an order.
type meaning struct {
	words string // which the refusal contains, in lower case
	field string
	means string
	kind  fault.Kind // as the status says when 0
	code  string     // likewise when ""
}

// refusals returns the refusals that are known. The first whose words are there counts.
func refusals() []meaning {
	const legs = "for a sale the stop is below the market and the target above it, for a purchase the other way round; both at least 0.01 away"
	return []meaning{
		{words: "insufficient qty available", field: "quantity", means: "open orders hold what is to be closed; cancel them first, or use reduce_only to release them"},
		{words: "insufficient buying power", field: "quantity", means: "the account has too little money for this order"},
		{words: "wash trade", field: "side", means: "the order could trade with an open order of the same account; cancel that one first", kind: fault.Conflict},
		{words: "fractional orders must be simple", field: "quantity", means: "legs are for whole shares only; use a whole number, or leave out stop_loss and take_profit"},
		{words: "fractional orders must be day", field: "time_in_force", means: "fractions of a share are for the day only; use day or a whole number"},
		{words: "fractional orders must not be trailing", field: "quantity", means: "trailing stops are for whole shares only; use a whole number"},
		{words: "is not fractionable", field: "quantity", means: "this stock is traded in whole shares only; use a whole number"},
		{words: "must be entry orders", field: "side", means: "the symbol is held, and the order would close it; to close use reduce_only, to add place the order without legs and protect it afterwards with reduce_only", kind: fault.Conflict},
		{words: "must be exit orders", field: "reduce_only", means: "nothing is held that the order would close", kind: fault.Conflict},
		{words: "stop price must be less than", field: stopPriceField, means: "the price has passed the stop: a sale waits for a price below the market; give a lower one, or close at market", kind: fault.Conflict},
		{words: "stop price must be greater than", field: stopPriceField, means: "the price has passed the stop: a purchase waits for a price above the market; give a higher one, or close at market", kind: fault.Conflict},
		{words: "take_profit.limit_price must be", field: "take_profit", means: legs},
		{words: "stop_loss.stop_price must be", field: "stop_loss", means: legs},
		{words: "sub-penny", field: "price", means: "prices have two decimals from one dollar on, four below"},
		{words: "not allowed for advanced order_class", field: "symbol", means: "crypto pairs take no legs; place a stop with a limit after the entry is filled", kind: fault.Unsupported, code: codeNotNative},
		{words: "invalid order type for crypto", field: "type", means: "crypto pairs take stops with a limit only, and no trails", kind: fault.Unsupported, code: codeNotNative},
		{words: "time_in_force", field: "time_in_force", means: "stocks take day, gtc, ioc and fok, stops and orders with legs day and gtc, crypto pairs gtc and ioc"},
		{words: "restricted to liquidation", field: "side", means: "the account may only close positions", kind: fault.Conflict},
	}
}
