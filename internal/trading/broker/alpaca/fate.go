package alpaca

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"candela/internal/kit/fault"
	"candela/internal/market/upstream"
	"candela/internal/trading/broker"
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
func fate(subject string, err error) error {
	e, ok := errors.AsType[*upstream.Error](err)
	switch {
	case errors.Is(err, upstream.ErrNotSent):
		return fmt.Errorf("%w: %w", broker.ErrNotSent, err)
	case ok && isTaken(e):
		return unknown(subject, "the venue says that it has an order with this id already", err)
	case ok && e.Reason == upstream.Throttled, ok && isRefusal(e):
		return fmt.Errorf("%w: %w", broker.ErrRejected, refusal(subject, err))
	case ok:
		return unknown(subject, strings.TrimPrefix(e.Error(), name+" "+subject+": "), err)
	default:
		return unknown(subject, "there was no time to wait for the answer", err)
	}
}

// unknown is the error of a request that may have been carried out. It is not
// retryable, whatever its cause is: to send an order again may double it.
func unknown(subject, why string, cause error) error {
	return &fault.Error{
		Kind: fault.Unavailable, Code: "outcome_unknown",
		Message: fmt.Sprintf("%s %s: it is not known whether the venue did this: %s; look at the order before sending another", name, subject, why),
		Cause:   fmt.Errorf("%w: %w", broker.ErrUnknown, cause),
	}
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
	e, ok := errors.AsType[*upstream.Error](err)
	if !ok || !isRefusal(e) {
		return err
	}
	f := &fault.Error{Kind: fault.Invalid, Code: "venue_refused", Cause: err}
	f.Message = fmt.Sprintf("%s %s: the venue refuses: %s (HTTP %d", name, subject, e.Message, e.Status)
	if e.Code != "" {
		f.Message += ", code " + e.Code
	}
	f.Message += ")"
	words := strings.ToLower(e.Message)
	switch {
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden && e.Code == "":
		f.Kind, f.Code = fault.Unauthorized, "keys_refused"
		f.Message += ": the keys of a paper account are not known to the live host, nor the other way round"
	case e.Status == http.StatusForbidden && strings.Contains(words, "insufficient"):
		f.Kind, f.Code = fault.Conflict, "insufficient_funds"
	case e.Status == http.StatusForbidden:
		f.Kind = fault.Conflict
	case e.Status == http.StatusNotFound:
		f.Kind = fault.NotFound
	case e.Status == http.StatusUnavailableForLegalReasons:
		return err // it has its own words
	}
	return f
}
