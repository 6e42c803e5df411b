package eval

import (
	"errors"
	"fmt"

	"candela/lib/fault"
	"candela/lib/pine/syntax"
)

// The codes of errors at run time.
const (
	CodeSteps   = "pine_steps"
	CodeTime    = "pine_time"
	CodeMemory  = "pine_memory"
	CodeHistory = "pine_history"
	CodeCalls   = "pine_calls"
	CodeRuntime = "pine_runtime"
	CodeMissing = "pine_unsupported"
	CodeEnded   = "pine_ended"
)

// Error is a failure of a script while it runs: a limit, an index out of range, or
// runtime.error.
type Error struct {
	Code, Message string
	Line, Column  int
	Bar           int   // bar_index, -1 before the first bar
	Time          int64 // the bar's open in unix seconds

	cause error
}

// Unwrap returns the reason outside the script for which it was ended, nil if there is none.
func (e *Error) Unwrap() error { return e.cause }

func (e *Error) Error() string {
	if e.Bar < 0 {
		return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
	}
	return fmt.Sprintf("line %d, column %d, bar %d: %s", e.Line, e.Column, e.Bar, e.Message)
}

// maxMessage bounds a message, which may quote the script, in characters.
const maxMessage = 1000

// fail ends the run of this bar. Keep and Try turn it into their error.
func (m *Machine) fail(at syntax.Pos, code, format string, args ...any) {
	panic(&Error{
		Code: code, Message: fault.Clean(fmt.Sprintf(format, args...), maxMessage),
		Line: int(at.Line), Column: int(at.Column), Bar: m.index, Time: m.bar.T,
	})
}

// failFor ends the run of this bar for a reason outside the script: its client has gone, or
// all scripts together hold too much. The error of the bar has it as its cause.
func (m *Machine) failFor(at syntax.Pos, cause error) {
	code := CodeEnded
	if f, ok := errors.AsType[*fault.Error](cause); ok {
		code = f.Code
	}
	panic(&Error{
		Code: code, Message: fault.Clean(cause.Error(), maxMessage), Line: int(at.Line), Column: int(at.Column), Bar: m.index, Time: m.bar.T,
		cause: cause,
	})
}

func (m *Machine) outOfSteps(at syntax.Pos) {
	limit := m.env.Limits.BarSteps
	if m.budget < limit {
		m.fail(at, CodeSteps, "The script took more than %d steps in all. Use fewer loops, or fewer bars.", m.env.Limits.TotalSteps)
	}
	m.fail(at, CodeSteps, "The script took more than %d steps on this bar. Does the loop end?", limit)
}
