package ta

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"candela/lib/fault"
	"candela/lib/market"
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
	Def      *Def
	Values   Values
	Inner    *Selection      // the indicator whose line is the source; nil for a price
	Interval market.Interval // of the entry, 0 for that of the chart
	line     string          // of Inner
}

// Key is equal for selections with the same result, regardless of aliases, members and
// explicit defaults.
func (s *Selection) Key() string {
	key := s.Def.Pinned() + "(" + s.Values.String() + ")"
	if s.Inner != nil {
		key += " of " + s.Inner.Key() + "." + s.line
	}
	if s.Interval != 0 {
		key += " " + s.Interval.String()
	}
	return key
}

// Overlay reports whether the result is drawn over the price: not if it is computed from
// a line that is drawn in a panel.
func (s *Selection) Overlay() bool {
	return s.Def.Kind == Overlay && (s.Inner == nil || s.Inner.Overlay())
}

// Length returns the parameter length, and whether the indicator has one.
func (s *Selection) Length() (n int, ok bool) {
	if s.Def.param("length") < 0 {
		return 0, false
	}
	i := s.Def.Family().param("length")
	n, ok = s.Values.values[i].(int)
	return n, ok
}

// Compute runs the instance and sets where its result is drawn.
func (s *Selection) Compute(in Input) *Result {
	r := s.Instance.Compute(in)
	r.Overlay = s.Overlay()
	return r
}

// Find returns the definition with that name, alias or title, an entry or a member. Case
// and the marks between words do not matter. An unknown name is an error, UnknownCode,
// with the nearest known names; so is a name that holds values, such as sma200, which
// Resolve takes.
func (l Library) Find(name string) (*Def, error) {
	d, params, err := l.lookup(name, false)
	switch {
	case err != nil:
		return nil, err
	case d == nil:
		return nil, l.unknownName(name)
	case len(params) > 0:
		e := fault.Field("indicators", name, "the name alone: "+d.Name, d.Name)
		e.Message = fmt.Sprintf("indicators: %q has parameters in its name; here is only the name: %s", name, d.Name)
		return nil, e
	}
	return d, nil
}

// FindSpelled is Find for names that may hold values, which it leaves out.
func (l Library) FindSpelled(name string) (*Def, error) {
	d, _, err := l.lookup(name, false)
	if d == nil && err == nil {
		err = l.unknownName(name)
	}
	return d, err
}

// unknownName is the error about a name that is not in the catalogue.
func (l Library) unknownName(name string) error {
	key := strings.ToLower(strings.TrimSpace(name))
	known := slices.Concat(catalogue().sorted, l.names())
	near := fault.Nearest(key, known)
	if len(near) == 0 {
		// Without the values that a name may hold.
		base, _, _ := strings.Cut(key, "(")
		near = fault.Nearest(strings.Trim(base, " _-.,:()[]0123456789"), known)
	}
	return &fault.Error{
		Kind: fault.Invalid, Code: UnknownCode, Field: "indicators", Value: name,
		Message: unknown("indicator", name, near), Allowed: "a name or alias of the catalogue", Suggestions: near,
	}
}

// Resolve checks a request against the catalogue and makes the instance. It reports
// the first problem: name, unknown parameter, wrong value.
func (l Library) Resolve(r Request) (*Selection, error) { return l.resolveAt(r, 0) }

// Resolve makes an instance of the definition, such as that of a script. Parameters that are not
// given keep their defaults.
func (d *Def) Resolve(params map[string]json.RawMessage) (*Selection, error) {
	return Library{}.resolve(d, params, 0)
}

// resolveAt is Resolve for an indicator that is the source of depth others.
func (l Library) resolveAt(r Request, depth int) (*Selection, error) {
	def, params, err := l.read(&r)
	if err != nil {
		return nil, err
	}
	return l.resolve(def, params, depth)
}

// read returns the definition that the request names, and its parameters with those
// written in the name.
func (l Library) read(r *Request) (*Def, map[string]json.RawMessage, error) {
	if strings.EqualFold(strings.TrimSpace(r.Name), InlineName) {
		return l.inline(r)
	}
	parameters := false
	for name := range r.Params {
		parameters = parameters || !isInterval(name)
	}
	def, written, err := l.lookup(r.Name, parameters)
	if err != nil {
		return nil, nil, err
	}
	if def == nil {
		return nil, nil, l.unknownName(r.Name)
	}
	params, err := def.merge(r, written)
	return def, params, err
}

// resolve makes the selection of a definition.
func (l Library) resolve(d *Def, params map[string]json.RawMessage, depth int) (*Selection, error) {
	params, interval, err := d.takeInterval(params)
	if err != nil {
		return nil, err
	}
	params, inner, line, err := l.takeFeed(d, params, depth)
	if err != nil {
		return nil, err
	}
	values, err := d.values(params)
	if err != nil {
		return nil, err
	}
	values = d.whole(values)
	if d.Check != nil {
		if err := d.Check(values); err != nil {
			return nil, inIndicator(d.Name, err)
		}
	}
	s := &Selection{Instance: d.New(values), Def: d, Values: values, Inner: inner}
	if inner != nil {
		s.line = line.Label
		outer, ok := s.Instance.(*series)
		if !ok {
			return nil, fault.Field(d.Name+".source", inner.Def.Name, strings.Join(sources(), ", "))
		}
		s.Instance = outer.over(inner, line, d.New(d.defaultSource(values)).Label())
	}
	if interval != 0 {
		err = s.atInterval(interval)
	}
	return s, err
}

// merge joins the parameters of a request with those written in its name.
func (d *Def) merge(r *Request, written map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	if len(written) == 0 {
		return r.Params, nil
	}
	all := maps.Clone(written)
	for name, raw := range r.Params {
		if i := d.param(name); i >= 0 && written[d.Params[i].Name] != nil {
			own := d.Params[i].Name
			if strings.TrimSpace(string(raw)) != string(written[own]) {
				return nil, fault.Field(d.Name+"."+name, string(raw), fmt.Sprintf("only one %s: the name %q has %s", own, r.Name, written[own]))
			}
			continue
		}
		all[name] = raw
	}
	return all, nil
}

// ResolveAlert returns the indicator as alerts use it: with its defaults, and with all
// switches on, so that every signal can occur.
func (l Library) ResolveAlert(name string) (*Selection, error) {
	def, err := l.Find(name)
	if err != nil {
		return nil, err
	}
	return l.resolve(def, def.switchedOn(nil), 0)
}

// ResolveAlertRequest is ResolveAlert for a request with parameters, in its name or
// beside it. A switch that the request sets keeps its value.
func (l Library) ResolveAlertRequest(r Request) (*Selection, error) {
	def, params, err := l.read(&r)
	if err != nil {
		return nil, err
	}
	return l.resolve(def, def.switchedOn(params), 0)
}

// switchedOn adds the switches that params do not set.
func (d *Def) switchedOn(params map[string]json.RawMessage) map[string]json.RawMessage {
	all := make(map[string]json.RawMessage, len(params)+len(d.Switches))
	maps.Copy(all, params)
	for _, name := range d.Switches {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(params)), func(given string) bool { return d.param(given) == d.param(name) }) {
			all[name] = d.Params[d.param(name)].on()
		}
	}
	return all
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
// otherwise leave a zone. Inputs of a script mean what the script makes of them.
func (d *Def) checkLevels(v Values) error {
	if d.Script {
		return nil
	}
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
		Message: unknown(d.Name+" parameter", name, near) + "; allowed: " + allowed + d.fixedLengths(),
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
