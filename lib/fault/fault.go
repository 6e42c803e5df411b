// Package fault defines errors with a kind, a machine-readable code and a public text. An
// error without a fault in its chain is internal: the client sees a short text, and the
// log has the chain.
package fault

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Kind classifies an error by what the caller can do about it.
type Kind uint8

// The kinds. Internal is the zero value, so an unmarked error is internal.
const (
	Internal     Kind = iota // a defect or internal failure
	Invalid                  // the request is invalid; changing it helps
	NotFound                 // the named thing does not exist
	Unauthorized             // the caller is unknown or not allowed
	Conflict                 // the request conflicts with the current state
	Unavailable              // a dependency does not respond
	Unsupported              // not supported
)

// String returns the kind as it appears in logs.
func (k Kind) String() string {
	names := [...]string{
		Internal: "internal", Invalid: "invalid", NotFound: "not_found", Unauthorized: "unauthorized",
		Conflict: "conflict", Unavailable: "unavailable", Unsupported: "unsupported",
	}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Error is an error with a public part. Everything but Cause may be shown to the client.
// Replicas send it to each other as JSON.
type Error struct {
	Kind        Kind          `json:"kind"`
	Code        string        `json:"code,omitempty"`        // stable, snake case: "invalid_argument", "trading_disabled"
	Message     string        `json:"message,omitempty"`     // one sentence a person or a model can act on
	Field       string        `json:"field,omitempty"`       // the argument at fault, if one is
	Value       string        `json:"value,omitempty"`       // what was given for it
	Allowed     string        `json:"allowed,omitempty"`     // what would have been accepted, in words or as a list
	Suggestions []string      `json:"suggestions,omitempty"` // nearest right values, best first
	Retryable   bool          `json:"retryable,omitempty"`   // the same request may succeed later
	RetryAfter  time.Duration `json:"retry_after,omitempty"` // how long to wait, zero when unknown
	Cause       error         `json:"-"`
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

// New returns an error with a formatted message. About, Because and Retry add the rest.
func New(kind Kind, code, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

// About sets the argument at fault, its value and the allowed values, and returns e.
func (e *Error) About(field, value, allowed string) *Error {
	e.Field, e.Value, e.Allowed = field, value, allowed
	return e
}

// Because sets the private cause and returns e.
func (e *Error) Because(cause error) *Error {
	e.Cause = cause
	return e
}

// Retry marks the error as retryable, after a time if that is not zero, and returns e.
func (e *Error) Retry(after time.Duration) *Error {
	e.Retryable, e.RetryAfter = true, after
	return e
}

// Of returns the first Error in err's chain, or nil when err carries none.
func Of(err error) *Error {
	e, _ := errors.AsType[*Error](err)
	return e
}

// KindOf returns the kind of the first Error in err's chain, Internal otherwise.
func KindOf(err error) Kind {
	if e := Of(err); e != nil {
		return e.Kind
	}
	return Internal
}

// Field reports an invalid argument: its name, the value and the allowed values, which
// must read well after "use". A long value is truncated.
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

// Quoted reports an argument that is a string but must not be one. right is the correct
// spelling.
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
	return New(Invalid, "missing_argument", "%s is required: %s", field, allowed).About(field, "", allowed)
}

// Unreachable reports a dependency that does not respond. The request may be retried,
// after retryAfter if that is not zero.
func Unreachable(cause error, retryAfter time.Duration, format string, args ...any) *Error {
	return New(Unavailable, "unavailable", format, args...).Because(cause).Retry(retryAfter)
}

// maxValueBytes bounds a client's value in errors and logs.
const maxValueBytes = 120

// clip returns s as valid UTF-8 of bounded length.
func clip(s string) string { return Truncate(strings.ToValidUTF8(s, "\uFFFD"), maxValueBytes) }

// Truncate returns text, or at most so many of its first bytes and three dots, cut between
// characters.
func Truncate(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "..."
}

// MaxForeign bounds external text in an error, such as a venue's message, in characters.
const MaxForeign = 300

// Cell makes external text safe for a cell of a table in CSV: clean, of at most 200 characters, and nothing that a
// spreadsheet takes for a formula.
func Cell(text string) string {
	text = Clean(text, 200)
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}

// Clean makes external text safe to show: one line of valid UTF-8, without control and
// bidirectional characters, and of at most most characters. White space becomes a single
// space; a longer text ends in three dots.
func Clean(text string, most int) string {
	var b strings.Builder
	left, space := most, false
	for _, r := range text {
		switch {
		case unicode.IsSpace(r): // line and paragraph separators too
			space = true
			continue
		case hides(r):
			continue
		}
		if space && b.Len() > 0 {
			b.WriteByte(' ')
			left--
		}
		if space = false; left <= 0 {
			return strings.TrimRight(b.String(), " ") + "..."
		}
		b.WriteRune(r) // U+FFFD for invalid UTF-8
		left--
	}
	return b.String()
}

// Visible returns text without control and bidirectional characters. It keeps line breaks, tabs
// and the length of what is left, for texts of several lines such as those of a script.
func Visible(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && hides(r) {
			return -1
		}
		return r
	}, text)
}

// hides reports whether a character makes text look different from what it is.
func hides(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// Plain reports whether text is printable ASCII without leading or trailing spaces, so
// that no different text looks the same.
func Plain(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return strings.Trim(text, " ") == text
}
