// Package doctor looks at an installation from outside, as its clients do: at the
// public address, through the proxy, at the clock. It says what it found and what to
// do about it, changes nothing but what it undoes, and puts no secret into words.
// Package app gathers the checks, its only caller.
package doctor

import "fmt"

// Status is how a check ended.
type Status uint8

// The ends of a check.
const (
	OK      Status = iota
	Warning        // it works, or it could not be looked at
	Problem        // it does not work
)

// String names the status as reports do.
func (s Status) String() string {
	switch s {
	case OK:
		return "ok"
	case Warning:
		return "warning"
	default:
		return "problem"
	}
}

// MarshalText returns what String returns.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Finding is what a check found.
type Finding struct {
	Check  string `json:"check"`
	Status Status `json:"status"`
	What   string `json:"what"`
	Fix    string `json:"fix,omitempty"` // what to do; never empty unless the status is OK
}

// NewOK returns a finding that asks for nothing.
func NewOK(check, format string, args ...any) Finding {
	return Finding{check, OK, fmt.Sprintf(format, args...), ""}
}

// newProblem returns a finding of a problem.
func newProblem(check, fix, format string, args ...any) Finding {
	return Finding{check, Problem, fmt.Sprintf(format, args...), fix}
}

// newWarning returns a finding that somebody should look at.
func newWarning(check, fix, format string, args ...any) Finding {
	return Finding{check, Warning, fmt.Sprintf(format, args...), fix}
}
