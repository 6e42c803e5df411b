package ta

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"candela/lib/fault"
	"candela/lib/ta/calc"
)

// A source may be another indicator's line: {"name":"rsi","length":14,"line":"RSI"},
// "rsi.RSI" or "rsi". The outer indicator then computes from bars whose four prices are
// the value of that line and whose volume is the bar's own.

// maxFeeds is how many indicators a source may be made of: EMA(9) of EMA(9) of the RSI
// has two.
const maxFeeds = 2

// feed is the line that an instance is computed from instead of the price.
type feed struct {
	inner  *series
	column int
}

// replaced returns the input with bars of the fed line.
func (f *feed) replaced(in Input) Input {
	below := in
	below.Shown = 0
	b := *in.Bars
	x := f.inner.values(below)[f.column]
	b.O, b.H, b.L, b.C = x, x, x, x
	in.Bars = &b
	return in
}

// begin returns the step that replaces a row's prices by the fed line.
func (f *feed) begin(m *calc.Slab, env Env) step {
	inner := f.inner.stream(m, env)
	inner.detect = nil
	return func(r *Row) {
		x := inner.Step(r.Bar).Values[f.column]
		r.Bar.O, r.Bar.H, r.Bar.L, r.Bar.C = x, x, x, x
	}
}

// values runs the computation without signals and returns its columns.
func (s *series) values(in Input) [][]float64 {
	if s.feed != nil {
		in = s.feed.replaced(in)
	}
	columns := in.Memory.columns(s.columns, in.Bars.Len())
	if s.batch != nil {
		s.batch(in, columns)
		return columns
	}
	plain := *s
	plain.feed, plain.detect, plain.trace = nil, nil, nil
	plain.stepAll(in, columns, &Result{})
	return columns
}

// over returns the series computed from a line of inner. Both must forget their start, so
// the bars to stability add up.
func (s *series) over(inner *Selection, line Output, label string) *series {
	below, _ := inner.Instance.(*series)
	fed := *s
	fed.feed = &feed{inner: below, column: line.Column}
	fed.sum = s.sum || below.sum
	fed.warm = func(env Env) (first, stable int) {
		f, n := s.Warmup(env)
		g, k := below.Warmup(env)
		return f + g, n + k
	}
	fed.label = fedLabel(label, inner, line)
	return &fed
}

// defaultSource returns the values with the default source, whose label does not name it.
func (d *Def) defaultSource(v Values) Values {
	v.values = slices.Clone(v.values)
	for i, p := range v.params {
		if p.fed {
			v.values[i] = p.Default
		}
	}
	return v
}

// fedLabel is a label with the source's in it: EMA(9, RSI(14)).
func fedLabel(label string, inner *Selection, line Output) string {
	from := inner.Label()
	if len(inner.Outputs()) > 1 {
		from += " " + line.Label
	}
	if rest, ok := strings.CutSuffix(label, ")"); ok {
		return rest + ", " + from + ")"
	}
	return label + "(" + from + ")"
}

// takeFeed looks for a source that is an indicator's line. It returns the parameters with
// the close in its place, and nil if the source is a price or the default.
func (l Library) takeFeed(d *Def, params map[string]json.RawMessage, depth int) (map[string]json.RawMessage, *Selection, Output, error) {
	at := slices.IndexFunc(d.Params, func(p Param) bool { return p.fed })
	if at < 0 {
		return params, nil, Output{}, nil
	}
	for name, raw := range params {
		if d.param(name) != at {
			continue
		}
		inner, line, err := l.readFeed(d.Name+"."+name, raw, depth)
		if err != nil || inner == nil {
			return params, nil, line, err
		}
		plain := maps.Clone(params)
		plain[name] = json.RawMessage(`"close"`)
		return plain, inner, line, nil
	}
	return params, nil, Output{}, nil
}

// readFeed reads a source. It returns nil for one that is no indicator.
func (l Library) readFeed(field string, raw json.RawMessage, depth int) (*Selection, Output, error) {
	r, line, none := Request{}, "", Output{}
	switch text := strings.TrimSpace(string(raw)); {
	case strings.HasPrefix(text, "{"):
		if err := json.Unmarshal(raw, &r.Params); err != nil {
			return nil, none, fault.Field(field, text, feedAllowed)
		}
		for key, dst := range map[string]*string{"name": &r.Name, "line": &line} {
			if value, given := r.Params[key]; given && json.Unmarshal(value, dst) != nil {
				return nil, none, fault.Field(field+"."+key, string(value), "a text")
			}
			delete(r.Params, key)
		}
		if r.Name == "" {
			return nil, none, fault.Missing(field+".name", "the name of an indicator, such as rsi")
		}
	case strings.HasPrefix(text, `"`):
		if r.Name, line = l.feedName(raw); r.Name == "" {
			return nil, none, nil // a price, or a text that the parameter refuses
		}
	default:
		return nil, none, nil
	}
	if depth >= maxFeeds {
		return nil, none, fault.Field(field, r.Name, fmt.Sprintf("a price: a source is made of at most %d indicators", maxFeeds))
	}
	inner, err := l.resolveAt(r, depth+1)
	if err != nil {
		return nil, none, err
	}
	output, err := inner.feedLine(field, line)
	return inner, output, err
}

// feedName reads the name of an indicator and perhaps its line from a text. It returns ""
// for any other text.
func (l Library) feedName(raw json.RawMessage) (name, line string) {
	if json.Unmarshal(raw, &name) != nil || isPrice(name) {
		return "", ""
	}
	if d, _, _ := l.lookup(name, false); d != nil {
		return name, ""
	}
	name, line, _ = strings.Cut(name, ".")
	if d, _, _ := l.lookup(name, false); d == nil {
		return "", ""
	}
	return name, line
}

const feedAllowed = `a price such as close or hl2, or an indicator's line such as {"name":"rsi","length":14,"line":"RSI"}`

func isPrice(name string) bool {
	return slices.ContainsFunc(sources(), func(s string) bool { return strings.EqualFold(s, strings.TrimSpace(name)) })
}

// feedLine returns the line that another indicator is computed from. An empty name is the
// only line.
func (s *Selection) feedLine(field, name string) (Output, error) {
	_, ok := s.Instance.(*series)
	lines := s.Outputs()
	if !ok || len(lines) == 0 {
		return Output{}, fault.Field(field, s.Def.Name, "an indicator of the same interval with a line of its own at each bar, such as rsi")
	}
	if name == "" && len(lines) == 1 {
		return lines[0], nil
	}
	labels := make([]string, len(lines))
	for i, l := range lines {
		labels[i] = l.Label
	}
	allowed := "one of the lines of " + s.Def.Name + ": " + strings.Join(labels, ", ")
	if name == "" {
		return Output{}, fault.Missing(field+".line", allowed)
	}
	i := slices.IndexFunc(labels, func(l string) bool { return strings.EqualFold(l, strings.TrimSpace(name)) })
	if i < 0 {
		return Output{}, fault.Field(field+".line", name, allowed, fault.Nearest(name, labels)...)
	}
	return lines[i], nil
}
