package check

// Support describes what candela does with a name of the language.
type Support uint8

// The degrees of support.
const (
	Supported Support = iota
	NoEffect          // accepted, and changes nothing
	Refused           // known, and not available; Builtin.Reason says why
)

// Builtin describes one signature of a built-in function. Eval finds its code by Name and,
// where a name has several forms that differ in more than omitted arguments, Form.
type Builtin struct {
	Name string // "ta.sma"
	// form distinguishes overloads; empty for the first or only one.
	form     string
	Params   []Param
	Variadic bool // the last parameter takes any number of values: Call.Rest
	support  Support
	reason   string
	// minVersion and maxVersion bound the versions that have it; 0 is no bound.
	minVersion, maxVersion int
	// Memory says on how many times as many bars as its lengths say a value depends, infinite for
	// all bars before; 0 if the table does not say it.
	Memory float64
	// global says that it may be called in the global scope only.
	global bool

	result  *rule
	resultQ Qualifier // of the result, if fixed
	fixed   bool      // the result has resultQ, whatever the arguments
	prepend string    // the variable that this overload takes for the first parameter
}

// Param is a parameter of a built-in.
type Param struct {
	Name     string
	qual     Qualifier // the weakest that is taken
	optional bool
	other    string // as written in Pine; empty if none

	rule  *rule
	only5 bool // known in version 5 only
}

// Severity distinguishes a warning from an error.
type Severity uint8

// The severities.
const (
	Error Severity = iota
	Warning
)

// String returns error or warning.
func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// Diagnostic is a finding about a script. Line and columns count from 1. Fix is what to do
// about it and Instead the line as it would be right, empty if nothing is known.
type Diagnostic struct {
	Line, Column, EndColumn int
	Code, Message, Fix      string
	Severity                Severity
	Instead                 string

	wrap *wrap // what makes the line right, if it is a part of it
}
