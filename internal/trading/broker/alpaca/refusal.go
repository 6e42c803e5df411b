package alpaca

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"candela/internal/data/upstream"
	"candela/internal/trading/broker"
	"candela/internal/trading/order"
	"candela/internal/trading/venue"
	"candela/lib/fault"
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
	switch outcome := venue.Outcome(err, func(e *upstream.Error) bool { return isRefusal(e) && !isTaken(e) }); {
	case !errors.Is(outcome, broker.ErrUnknown):
		return fmt.Errorf("%w: %w", outcome, explain(o, err))
	case ok && isTaken(e):
		return unknown(subject, "the venue says that it has an order with this id already", err)
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
func isMissing(err error) bool {
	e, ok := errors.AsType[*upstream.Error](err)
	return ok && e.Status == http.StatusNotFound && isRefusal(e)
}

// explain converts an error of a request for the caller: the venue's words, what they mean
// for the arguments of the order, and what to do.
func explain(o order.Spec, err error) error {
	e, ok := errors.AsType[*upstream.Error](err)
	if !ok || !isRefusal(e) || e.Status == http.StatusUnavailableForLegalReasons {
		return err // 451 has its own words
	}
	f := &fault.Error{Kind: fault.Invalid, Code: "venue_refused", Cause: err}
	switch e.Status {
	case http.StatusForbidden:
		f.Kind = fault.Conflict
		if strings.Contains(strings.ToLower(e.Message), "insufficient") {
			f.Code, f.Field = "insufficient_funds", "quantity"
		}
	case http.StatusNotFound:
		f.Kind = fault.NotFound
	}
	refusals().Explain(f, e, o)
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

// refusals returns the refusals that are known.
func refusals() venue.Refusals {
	const (
		legs = "for a sale the stop is below the market and the target above it, for a purchase the other way round; both at least 0.01 away"
		keys = "the keys of a paper account are not known to the live host, nor the other way round"
	)
	return venue.Refusals{
		{Status: http.StatusUnauthorized, Kind: fault.Unauthorized, Code: "keys_refused", Means: keys},
		{Status: http.StatusForbidden, Bare: true, Kind: fault.Unauthorized, Code: "keys_refused", Means: keys},
		{Words: "insufficient qty available", Field: "quantity", Means: "open orders hold what is to be closed; cancel them first, or use reduce_only to release them"},
		{Words: "insufficient buying power", Field: "quantity", Means: "the account has too little money for this order"},
		{Words: "wash trade", Field: "side", Means: "the order could trade with an open order of the same account; cancel that one first", Kind: fault.Conflict},
		{Words: "fractional orders must be simple", Field: "quantity", Means: "legs are for whole shares only; use a whole number, or leave out stop_loss and take_profit"},
		{Words: "fractional orders must be day", Field: "time_in_force", Means: "fractions of a share are for the day only; use day or a whole number"},
		{Words: "fractional orders must not be trailing", Field: "quantity", Means: "trailing stops are for whole shares only; use a whole number"},
		{Words: "is not fractionable", Field: "quantity", Means: "this stock is traded in whole shares only; use a whole number"},
		{Words: "must be entry orders", Field: "side", Means: "the symbol is held, and the order would close it; to close use reduce_only, to add place the order without legs and protect it afterwards with reduce_only", Kind: fault.Conflict},
		{Words: "must be exit orders", Field: "reduce_only", Means: "nothing is held that the order would close", Kind: fault.Conflict},
		{Words: "stop price must be less than", Field: "stop_price", Means: "the price has passed the stop: a sale waits for a price below the market; give a lower one, or close at market", Kind: fault.Conflict},
		{Words: "stop price must be greater than", Field: "stop_price", Means: "the price has passed the stop: a purchase waits for a price above the market; give a higher one, or close at market", Kind: fault.Conflict},
		{Words: "take_profit.limit_price must be", Field: "take_profit", Means: legs},
		{Words: "stop_loss.stop_price must be", Field: "stop_loss", Means: legs},
		{Words: "sub-penny", Field: "price", Means: "prices have two decimals from one dollar on, four below"},
		{Words: "not allowed for advanced order_class", Field: "symbol", Means: "crypto pairs take no legs; place a stop with a limit after the entry is filled", Kind: fault.Unsupported, Code: codeNotNative},
		{Words: "invalid order type for crypto", Field: "type", Means: "crypto pairs take stops with a limit only, and no trails", Kind: fault.Unsupported, Code: codeNotNative},
		{Words: "time_in_force", Field: "time_in_force", Means: "stocks take day, gtc, ioc and fok, stops and orders with legs day and gtc, crypto pairs gtc and ioc"},
		{Words: "restricted to liquidation", Field: "side", Means: "the account may only close positions", Kind: fault.Conflict},
	}
}
