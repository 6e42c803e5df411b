package charting

import (
	"strconv"
	"strings"

	"candela/lib/fault"
	"candela/lib/ta"
)

// NamedIndicator is a requested indicator: the name the client used and the selection it
// resolved to.
type NamedIndicator struct {
	Name      string
	Selection *ta.Selection
}

// keyNames returns the name of each indicator for the key of its result: as it was asked
// for. A member of a family that is asked for several times has its length too, such as
// sma_50 and sma_200.
func keyNames(all []NamedIndicator) []string {
	count := make(map[string]int, len(all))
	for _, r := range all {
		count[r.Name]++
	}
	names := make([]string, len(all))
	for i, r := range all {
		names[i] = r.Name
		if n, ok := r.Selection.Length(); ok && count[r.Name] > 1 && len(r.Selection.Def.Family().Members) > 0 {
			names[i] += "_" + strconv.Itoa(n)
		}
	}
	return names
}

// Resolve looks up indicators by name and reports every unknown one.
func Resolve(l ta.Library, names []string) (found []NamedIndicator, problems []error) {
	found = make([]NamedIndicator, 0, len(names))
	for _, name := range names {
		s, err := l.Resolve(ta.Request{Name: name})
		if err != nil {
			problems = append(problems, withNames(err))
			continue
		}
		found = append(found, NamedIndicator{Name: name, Selection: s})
	}
	return found, problems
}

// withNames adds the known names to the error about an unknown one: a command line has
// no list_indicators.
func withNames(err error) error {
	e := fault.Of(err)
	if e == nil || e.Code != ta.UnknownCode {
		return err
	}
	all := ta.All()
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	listed := *e
	listed.Allowed = strings.Join(names, ", ")
	listed.Message = e.Message + "; known names: " + listed.Allowed
	return &listed
}

// MaxIndicators is the number of indicators in one request.
const MaxIndicators = 24

// NoIndicator adds the field and a hint to the error of an unknown indicator. Errors about
// parameters have both.
func NoIndicator(err error, field string) error {
	e := fault.Of(err)
	if e == nil || e.Code != ta.UnknownCode {
		return err
	}
	hinted := *e
	hinted.Field, hinted.Message, hinted.Allowed = field, e.Message+"; list_indicators has the names", "a name or alias from list_indicators"
	return &hinted
}

// Named resolves the names of indicators, up to MaxIndicators, with errors for somebody who has list_indicators.
func Named(l ta.Library, names []string) ([]NamedIndicator, error) {
	const field = "indicators"
	if len(names) > MaxIndicators {
		return nil, TooManyIndicators(field)
	}
	all := make([]NamedIndicator, 0, len(names))
	for _, name := range names {
		name = fault.Truncate(strings.TrimSpace(name), 80)
		selection, err := l.Resolve(ta.Request{Name: name})
		if err != nil {
			return nil, NoIndicator(err, field)
		}
		all = append(all, NamedIndicator{Name: name, Selection: selection})
	}
	return all, nil
}

// TooManyIndicators is the error of a request with more than MaxIndicators.
func TooManyIndicators(field string) error {
	most := strconv.Itoa(MaxIndicators)
	return fault.Field(field, "more than "+most+" items", "at most "+most+" indicators")
}
