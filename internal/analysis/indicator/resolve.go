package indicator

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"candela/internal/kit/fault"
)

// Request names an indicator and overrides some of its parameters, as a client
// asked for it.
type Request struct {
	Name   string
	Params map[string]json.RawMessage
}

// UnknownCode is the fault code of an unknown indicator.
const UnknownCode = "unknown_indicator"

// Selection is a resolved request: a definition, its values and an instance.
type Selection struct {
	Instance
	Def    *Def
	Values Values
}

// Key is equal for selections with the same result, regardless of aliases and
// explicit defaults.
func (s *Selection) Key() string { return s.Def.Name + "(" + s.Values.String() + ")" }

// Compute runs the instance and sets where its result is drawn.
func (s *Selection) Compute(in Input) *Result {
	r := s.Instance.Compute(in)
	r.Overlay = s.Def.Kind == Overlay
	return r
}

// Find returns the definition with that name or alias. Case does not matter.
// An unknown name is an error, UnknownCode, with the nearest known names.
func Find(name string) (*Def, error) {
	key := strings.ToLower(strings.TrimSpace(name))
	all := All()
	for i := range all {
		if all[i].Name == key || slices.Contains(all[i].Aliases, key) {
			return &all[i], nil
		}
	}
	var known []string
	for i := range all {
		known = append(append(known, all[i].Name), all[i].Aliases...)
	}
	near := fault.Nearest(key, known)
	if len(near) == 0 {
		// RSI(14) and sma 50 name an indicator and then its length.
		near = fault.Nearest(strings.TrimRight(key, " _-.,:()[]0123456789"), known)
	}
	message := unknown("indicator", name, near)
	if lacks, ok := lacking(key); ok {
		near, message = lacks.near, unknown("indicator", name, nil)+": "+lacks.advice
	}
	return nil, &fault.Error{
		Kind: fault.Invalid, Code: UnknownCode, Field: "indicators", Value: name,
		Message: message, Allowed: "a name or alias of the catalogue", Suggestions: near,
	}
}

// Resolve checks a request against the catalogue and makes the instance. It reports
// the first problem: name, unknown parameter, wrong value.
func Resolve(r Request) (*Selection, error) {
	def, err := Find(r.Name)
	if err != nil {
		return nil, err
	}
	values, err := def.values(r.Params)
	if err != nil {
		return nil, err
	}
	return &Selection{Instance: def.New(values), Def: def, Values: values}, nil
}

// ResolveAlert returns the indicator as alerts use it: with its defaults, and with all
// switches on, so that every signal can occur.
func ResolveAlert(name string) (*Selection, error) {
	def, err := Find(name)
	if err != nil {
		return nil, err
	}
	on := make(map[string]json.RawMessage, len(def.Switches))
	for _, name := range def.Switches {
		on[name] = json.RawMessage("true")
	}
	return Resolve(Request{Name: def.Name, Params: on})
}

// values applies the defaults and then the overrides.
func (d *Def) values(given map[string]json.RawMessage) (Values, error) {
	v := Values{params: d.Params, values: make([]any, len(d.Params))}
	for i, p := range d.Params {
		v.values[i] = p.Default
	}
	set := make([]string, len(d.Params))
	for _, name := range slices.Sorted(maps.Keys(given)) {
		i := d.param(name)
		if i < 0 {
			return Values{}, d.unknownParam(name)
		}
		if set[i] != "" {
			return Values{}, fault.Field(d.Name+"."+name, string(given[name]), fmt.Sprintf("only one of %s and %s, which are the same parameter", set[i], name))
		}
		value, err := d.Params[i].parse(given[name])
		if err != nil {
			return Values{}, inIndicator(d.Name, err)
		}
		v.values[i], set[i] = value, name
	}
	return v, d.checkLevels(v)
}

// checkLevels refuses a lower level that is not below the upper one: every bar would
// otherwise leave a zone.
func (d *Def) checkLevels(v Values) error {
	for _, p := range d.Params {
		upper := strings.Replace(p.Name, "oversold", "overbought", 1)
		if upper == p.Name || d.param(upper) < 0 {
			continue
		}
		if low, high := v.Num(p.Name), v.Num(upper); low >= high {
			return fault.Field(d.Name+"."+p.Name, number(low), "a number below "+upper+", which is "+number(high))
		}
	}
	return nil
}

// param finds a parameter by name or alias.
func (d *Def) param(name string) int {
	return slices.IndexFunc(d.Params, func(p Param) bool {
		return strings.EqualFold(p.Name, name) || slices.ContainsFunc(p.Aliases, func(a string) bool { return strings.EqualFold(a, name) })
	})
}

func (d *Def) unknownParam(name string) error {
	names, all := make([]string, 0, len(d.Params)), make([]string, 0, len(d.Params))
	for _, p := range d.Params {
		names = append(names, p.Name)
		all = append(append(all, p.Name), p.Aliases...)
	}
	near := fault.Nearest(name, all)
	allowed := "none: it takes no parameters"
	if len(names) > 0 {
		allowed = strings.Join(names, ", ")
	}
	return &fault.Error{
		Kind: fault.Invalid, Code: "unknown_parameter", Field: d.Name + "." + name, Value: name,
		Message: unknown(d.Name+" parameter", name, near) + "; allowed: " + allowed + d.fixed(),
		Allowed: allowed, Suggestions: near,
	}
}

// inIndicator puts the indicator's name before the field of a parameter error.
func inIndicator(name string, err error) error {
	e := fault.Of(err)
	if e == nil {
		return err
	}
	e.Field = name + "." + e.Field
	e.Message = name + "." + e.Message
	return e
}

func unknown(what, name string, near []string) string {
	message := fmt.Sprintf("unknown %s %q", what, name)
	if len(near) > 0 {
		message += fmt.Sprintf(", did you mean %q?", near[0])
	}
	return message
}
