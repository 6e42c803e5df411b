// Package fault gives every error that may reach a client a kind, a machine
// code and a text that is safe to show. Packages mark an error where its cause
// is known; each transport maps the kind once, in one table. An error that was
// never marked is internal: the client sees a short text, the log has the chain.
package fault

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Kind says what a caller can do about an error.
type Kind uint8

// The kinds. Internal is the zero value, so an unmarked error is internal.
const (
	Internal     Kind = iota // a defect or a broken part of ours
	Invalid                  // the request is wrong; changing it helps
	NotFound                 // the thing named does not exist
	Unauthorized             // the caller is not known, or may not do this
	Conflict                 // the request clashes with the present state
	Unavailable              // a part we depend on does not answer now
	Unsupported              // the service does not offer this
)

// String returns the kind as it appears in logs.
func (k Kind) String() string {
	switch k {
	case Invalid:
		return "invalid"
	case NotFound:
		return "not_found"
	case Unauthorized:
		return "unauthorized"
	case Conflict:
		return "conflict"
	case Unavailable:
		return "unavailable"
	case Unsupported:
		return "unsupported"
	case Internal:
		return "internal"
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Error is an error with a public face. Everything but Cause may be shown to
// the client; Cause is for the log alone.
type Error struct {
	Kind        Kind
	Code        string        // stable, snake case: "invalid_argument", "trading_disabled"
	Message     string        // one sentence a person or a model can act on
	Field       string        // the argument at fault, if one is
	Value       string        // what was given for it
	Allowed     string        // what would have been accepted, in words or as a list
	Suggestions []string      // nearest right values, best first
	Retryable   bool          // the same request may succeed later
	RetryAfter  time.Duration // how long to wait, zero when unknown
	Cause       error
}

// Error returns the public message followed by the private cause. It is meant
// for logs; what a client may see is Public.
func (e *Error) Error() string {
	if e.Cause == nil {
		return e.Public()
	}
	return e.Public() + ": " + e.Cause.Error()
}

// Public returns the part that is safe to show.
func (e *Error) Public() string {
	if e.Message == "" {
		return e.Kind.String()
	}
	return e.Message
}

// Unwrap returns the private cause.
func (e *Error) Unwrap() error { return e.Cause }

// Of returns the first Error in err's chain, or nil when err carries none.
func Of(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return nil
}

// KindOf returns the kind of the first Error in err's chain, Internal otherwise.
func KindOf(err error) Kind {
	if e := Of(err); e != nil {
		return e.Kind
	}
	return Internal
}

// Field reports a wrong argument: its name, the value given and what is allowed.
// The message is built from the three so that no caller forgets one of them. A
// long value is cut: the client knows what it sent.
func Field(field, value, allowed string, suggestions ...string) *Error {
	value = clip(value)
	message := fmt.Sprintf("%s: invalid value %q; use %s", field, value, allowed)
	if len(suggestions) > 0 {
		message += fmt.Sprintf("; did you mean %q?", suggestions[0])
	}
	return &Error{
		Kind: Invalid, Code: "invalid_argument", Message: message,
		Field: field, Value: value, Allowed: allowed, Suggestions: suggestions,
	}
}

// Quoted reports an argument that was given as text and must stand without
// quotes, which the value alone would not show. right is how it is written.
func Quoted(field, text, allowed string, right ...string) *Error {
	text = clip(text)
	message := fmt.Sprintf("%s: invalid text %q; use %s, without quotes", field, text, allowed)
	if len(right) > 0 {
		message += ": " + right[0]
	}
	return &Error{
		Kind: Invalid, Code: "invalid_argument", Message: message,
		Field: field, Value: text, Allowed: allowed + ", without quotes", Suggestions: right,
	}
}

// Missing reports a required argument that was not given.
func Missing(field, allowed string) *Error {
	return &Error{
		Kind: Invalid, Code: "missing_argument",
		Message: fmt.Sprintf("%s is required: %s", field, allowed),
		Field:   field, Allowed: allowed,
	}
}

// Unreachable reports a dependency that does not answer now. The request may be
// repeated, after retryAfter when that is not zero.
func Unreachable(cause error, retryAfter time.Duration, format string, args ...any) *Error {
	return &Error{
		Kind: Unavailable, Code: "unavailable", Message: fmt.Sprintf(format, args...),
		Retryable: true, RetryAfter: retryAfter, Cause: cause,
	}
}

// maxValueBytes bounds how much of a client's own value comes back to it and
// into the log.
const maxValueBytes = 120

// clip returns s as valid UTF-8 of bounded length.
func clip(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= maxValueBytes {
		return s
	}
	end := maxValueBytes
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "..."
}
