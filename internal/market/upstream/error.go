package upstream

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"candela/internal/kit/fault"
)

// Reason says in which way a host failed.
type Reason uint8

// The reasons.
const (
	NoResponse Reason = iota + 1 // nothing came, or not all of it
	Refused                      // an answer that is no success
	Throttled                    // the host asks for a pause: 429 or 418
	LocalLimit                   // we did not ask, to spare the host
	Malformed                    // a success whose content cannot be used
	TooLarge                     // more than we are ready to read
)

// ErrNotSent is wrapped by the errors of requests of which nothing left this
// machine, whatever kept them: whatever was asked for was not done. Without it a
// host that gave no usable answer may have done it.
var ErrNotSent = errors.New("nothing was sent")

// Error is what is known of a failed request. It comes wrapped in a fault; find
// it with errors.AsType.
type Error struct {
	Venue      string
	Subject    string // what was asked for, usually a symbol
	Reason     Reason
	Status     int    // of HTTP, 0 when there was no answer
	Code       string // the venue's own
	Message    string // the venue's words, or ours; bounded
	FromVenue  bool   // Config.Refusal understood the answer: it is the venue's and not that of something between
	RetryAfter time.Duration
	cause      string
	notSent    bool
	down       bool // of Busy: the host did not answer several times
}

// Unwrap returns ErrUnsent when nothing was sent.
func (e *Error) Unwrap() error {
	if e.notSent {
		return ErrNotSent
	}
	return nil
}

// Error returns everything on one line.
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

// waitTime is RetryAfter for a sentence: nobody is told to wait for 0s.
func (e *Error) waitTime() time.Duration { return max(e.RetryAfter.Round(time.Second), time.Second) }

// fault gives the error its public face.
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

// MalformedResponse is the fault of an answer that does not hold what it should.
func MalformedResponse(venue, subject string, err error) error {
	e := &Error{Venue: venue, Subject: subject, Reason: Malformed, Status: http.StatusOK, Message: "the answer cannot be used: " + err.Error()}
	return e.fault()
}

// notSentError is the error of a context that ended before anything was sent.
type notSentError struct{ error }

func (e notSentError) Unwrap() []error { return []error{e.error, ErrNotSent} }

// wrapContext names what was under way when the caller's context ended.
func wrapContext(venue, subject string, err error) error {
	return fmt.Errorf("%s: %w", (&Error{Venue: venue, Subject: subject}).about(), err)
}

// maxWords bounds how much of a venue's answer is quoted, in characters.
const maxWords = 200

// clip returns the beginning of an answer on one line.
func clip(body []byte) string {
	return fault.Clean(string(body[:min(len(body), 4*maxWords)]), maxWords)
}

// looksLikeJSON tells JSON from the pages that proxies and walls send with
// status 200. An empty body is an empty answer.
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
