package upstream

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"candela/internal/kit/sendby"
	"candela/lib/fault"
)

// Reason classifies the failure of a request.
type Reason uint8

// The reasons.
const (
	NoResponse Reason = iota + 1 // no response, or an incomplete one
	Refused                      // an error response
	Throttled                    // the host asks for a pause: 429 or 418
	LocalLimit                   // not sent, to spare the host
	Late                         // not sent: what allowed it was out of date
	Malformed                    // a success whose content cannot be used
	TooLarge                     // more than MaxBytes
)

// ErrNotSent is wrapped by the errors of requests that were not sent at all and so not
// executed. Without it a request may have been executed.
var ErrNotSent = errors.New("nothing was sent")

// Error describes a failed request. It is wrapped in a fault; find it with errors.AsType.
type Error struct {
	Venue      string
	Subject    string // usually a symbol
	Reason     Reason
	Status     int    // HTTP status, 0 without a response
	Code       string // of the venue
	Message    string // of the venue or ours; bounded
	FromVenue  bool   // Config.ParseError understood the response: it is from the venue, not from a proxy
	RetryAfter time.Duration
	cause      string
	notSent    bool
	down       bool // of LocalLimit: the circuit breaker is open
}

// Unwrap returns ErrNotSent if nothing was sent, with sendby.ErrLate if it was too late.
func (e *Error) Unwrap() []error {
	switch {
	case e.Reason == Late:
		return []error{ErrNotSent, sendby.ErrLate}
	case e.notSent:
		return []error{ErrNotSent}
	}
	return nil
}

// Error returns all details on one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.about())
	if e.Status != 0 {
		fmt.Fprintf(&b, ": HTTP %d", e.Status)
	}
	if e.Code != "" {
		fmt.Fprintf(&b, ", code %s", e.Code)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if e.cause != "" {
		b.WriteString(" (" + e.cause + ")")
	}
	return b.String()
}

func (e *Error) about() string {
	if e.Subject == "" {
		return e.Venue
	}
	return e.Venue + " " + e.Subject
}

// transient reports whether the same request may succeed soon.
func (e *Error) transient() bool {
	return e.Reason == NoResponse || e.Reason == Throttled || e.Reason == Refused && e.Status >= 500
}

// waitTime returns RetryAfter for messages, at least 1 s.
func (e *Error) waitTime() time.Duration { return max(e.RetryAfter.Round(time.Second), time.Second) }

// fault returns the error as clients see it.
func (e *Error) fault() error {
	f := &fault.Error{Kind: fault.Unavailable, Code: "unavailable", Retryable: true, RetryAfter: e.RetryAfter, Cause: e}
	switch {
	case e.Reason == NoResponse:
		f.Message = e.about() + ": the venue does not answer"
	case e.Reason == Throttled:
		f.Code = "rate_limited"
		f.Message = fmt.Sprintf("%s: the venue asks for a pause of %v (HTTP %d)", e.about(), e.waitTime(), e.Status)
	case e.Reason == LocalLimit:
		if !e.down {
			f.Code = "rate_limited"
		}
		f.Message = fmt.Sprintf("%s: %s; try again in %v", e.about(), e.Message, e.waitTime())
	case e.Reason == Late:
		f.Message = e.about() + ": " + e.Message
	case e.Reason == Malformed, e.Reason == TooLarge:
		f.Code = "bad_answer"
		f.Message = e.about() + ": " + e.Message
	case e.Status == http.StatusUnavailableForLegalReasons:
		f.Code, f.Retryable = "region_refused", false
		f.Message = e.about() + ": the venue refuses this region (HTTP 451)"
	case e.Status >= 500:
		f.Message = fmt.Sprintf("%s: the venue has a fault of its own (HTTP %d)", e.about(), e.Status)
	default:
		f.Code, f.Retryable = "venue_refused", false
		f.Message = e.Error()
	}
	return f
}

// MalformedResponse returns the fault of a response with unusable content.
func MalformedResponse(venue, subject string, err error) error {
	e := &Error{Venue: venue, Subject: subject, Reason: Malformed, Status: http.StatusOK, Message: "the answer cannot be used: " + err.Error()}
	return e.fault()
}

// notSentError is the error of a context that ended before anything was sent.
type notSentError struct{ error }

func (e notSentError) Unwrap() []error { return []error{e.error, ErrNotSent} }

// wrapContext adds the request to the error of the caller's context.
func wrapContext(venue, subject string, err error) error {
	return fmt.Errorf("%s: %w", (&Error{Venue: venue, Subject: subject}).about(), err)
}

// maxWords bounds the quoted part of a response, in characters.
const maxWords = 200

// clip returns the beginning of a response on one line.
func clip(body []byte) string {
	return fault.Clean(string(body[:min(len(body), 4*maxWords)]), maxWords)
}

// looksLikeJSON distinguishes JSON from the HTML pages that proxies send with status 200.
// An empty body passes.
func looksLikeJSON(body []byte) bool {
	for _, c := range body {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case '{', '[':
			return true
		default:
			return false
		}
	}
	return true
}
