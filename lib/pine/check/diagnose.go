package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"candela/lib/pine/syntax"
)

// The codes of the checker's findings.
const (
	codeVersion     = "pine_version"
	codeName        = "pine_name"
	codeType        = "pine_type"
	codeQualifier   = "pine_qualifier"
	codeArgument    = "pine_argument"
	codeUnsupported = "pine_unsupported"
	codeScope       = "pine_scope"
	codeRecursion   = "pine_recursion"
	codeAssign      = "pine_assign"
	codeImport      = "pine_import"
	codeDeclaration = "pine_declaration"
	codeCalls       = "pine_calls"
	codePlots       = "pine_plots"
	codeRequests    = "pine_requests"
	codeRedraws     = "pine_redraws"
	codeShadow      = "pine_shadow"
	codeNA          = "pine_na"
	codeLoop        = "pine_loop"
	codeConditional = "pine_conditional"
	CodeConverted   = "pine_converted" // of the warning that a script was converted
)

// bail leaves the statement that is being checked.
type bail struct{}

// note records a finding once for each place and code.
func (c *checker) note(at syntax.Span, code, message, fix string, s Severity) {
	d := Diagnostic{Line: int(at.From.Line), Column: int(at.From.Column), EndColumn: int(at.To.Column), Code: code, Message: message, Fix: fix, Severity: s, wrap: c.wrap}
	c.wrap = nil
	if at.To.Line != at.From.Line || d.EndColumn <= d.Column {
		d.EndColumn = d.Column + 1
	}
	if c.mod != nil && c.mod.name != "" {
		d.Message = "In library " + c.mod.name + ": " + d.Message
	}
	for _, have := range c.found {
		if have.Line == d.Line && have.Column == d.Column && have.Code == d.Code {
			return
		}
	}
	c.found = append(c.found, d)
}

func (c *checker) fail(at syntax.Span, code, message, fix string) {
	c.note(at, code, message, fix, Error)
	panic(bail{})
}

func (c *checker) failf(at syntax.Span, code, fix, format string, args ...any) {
	c.fail(at, code, fmt.Sprintf(format, args...), fix)
}

func (c *checker) warn(at syntax.Span, code, message, fix string) {
	c.note(at, code, message, fix, Warning)
}

// guard runs one step and returns false if it bailed out.
func guard(step func()) (ok bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, is := r.(bail); !is {
				panic(r)
			}
			ok = false
		}
	}()
	step()
	return true
}

// sorted returns the findings by place, at most MaxErrors errors, and the warnings.
func (c *checker) sorted() (errors, warnings []Diagnostic) {
	slices.SortStableFunc(c.found, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	for _, d := range c.found {
		if d.Severity == Error && len(errors) < syntax.MaxErrors {
			errors = append(errors, d)
		}
		if d.Severity == Warning && len(warnings) < syntax.MaxErrors {
			warnings = append(warnings, d)
		}
	}
	return errors, warnings
}

// mayMean reports whether a name that is not known is worth a comparison with every name there is: anything is near a name
// of two letters, and only the first findings are shown.
func (c *checker) mayMean(name string) bool {
	return len(name) > 2 && len(c.found) < 10*syntax.MaxErrors
}

// didYouMean suggests the nearest known name, or returns other.
func (c *checker) didYouMean(name string, known []string, other string) string {
	if !c.mayMean(name) {
		return other
	}
	best, least := "", 1+len(name)/4
	slices.Sort(known)
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k), least); d < least || d == least && best == "" {
			best, least = k, d
		}
	}
	if best == "" {
		return other
	}
	return "Did you mean \"" + best + "\"?"
}

// distance returns the number of edits between two names, limit+1 if it is more than limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit || len(a) > 64 || len(b) > 64 {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := last
			if a[i] != b[j] {
				change++
			}
			last = row[j+1]
			row[j+1] = min(change, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
