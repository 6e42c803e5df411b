package ta

import (
	"encoding/json"
	"math"
	"sort"
	"strings"

	"candela/lib/fault"
	"candela/lib/market"
)

// Want names bars that an instance reads besides those it is computed over. A zero symbol
// or interval is that of the chart.
type Want struct {
	Symbol   market.Symbol
	Interval market.Interval
}

// Wants is implemented by instances that read other bars. The caller reads them and
// passes them in Input.Others.
type Wants interface {
	Wants() []Want
}

// ScriptWants is implemented by scripts. What they read depends on the chart's interval,
// and may be of a shorter one. A want that cannot be met is an error of the script, not of
// the chart.
type ScriptWants interface {
	WantsAt(chart market.Interval) []Want
	// StreamsAt returns why the script cannot run as a stream of bars of an interval.
	StreamsAt(interval market.Interval) error
}

// Other holds the bars of a want.
type Other struct {
	Bars     *market.Bars
	Calendar market.Calendar
	Forming  bool  // the last bar has not closed
	Err      error // why a script has no such bars
}

// closed returns the bars that have closed.
func (o *Other) closed() market.Bars {
	n := o.Bars.Len()
	if o.Forming && n > 0 {
		n--
	}
	return o.Bars.Slice(0, n)
}

// Wants returns the bars that the selection needs besides those of the chart, whose
// interval is 0 if it is not known.
func (s *Selection) Wants(chart market.Interval) []Want {
	switch w := s.Instance.(type) {
	case Wants:
		return w.Wants()
	case ScriptWants:
		return w.WantsAt(chart)
	}
	return nil
}

// CheckStream returns why a script cannot run on the bars of an interval alone, as in an
// alert; nil for every other indicator.
func (s *Selection) CheckStream(interval market.Interval) error {
	w, ok := s.Instance.(ScriptWants)
	if !ok {
		return nil
	}
	return w.StreamsAt(interval)
}

// IsScript reports whether a want that cannot be met is an error of the indicator alone.
func (s *Selection) IsScript() bool {
	_, ok := s.Instance.(ScriptWants)
	return ok
}

// CheckInterval refuses an interval in the entry that is not longer than the chart's.
func (s *Selection) CheckInterval(chart market.Interval) error {
	if s.Interval == 0 || s.Interval.Seconds() > chart.Seconds() {
		return nil
	}
	allowed := "an interval longer than that of the bars, " + chart.String()
	if s.Interval == chart {
		allowed = "no interval, because it is that of the bars, or a longer one"
	}
	return fault.Field(s.Def.Name+".interval", s.Interval.String(), allowed)
}

// AtOwnInterval returns the selection without the interval of its entry, for callers that
// compute over bars of that interval themselves.
func (s *Selection) AtOwnInterval() *Selection {
	h, ok := s.Instance.(*higher)
	if !ok {
		return s
	}
	plain := *s
	plain.Instance, plain.Interval = h.inner, 0
	return &plain
}

// isInterval reports whether a field of an entry is its interval and no parameter.
func isInterval(name string) bool { return name == "interval" || name == "timeframe" }

// takeInterval removes the interval of an entry from its parameters.
func (d *Def) takeInterval(params map[string]json.RawMessage) (map[string]json.RawMessage, market.Interval, error) {
	for name, raw := range params {
		if !isInterval(name) || d.param(name) >= 0 {
			continue
		}
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return nil, 0, fault.Field(d.Name+"."+name, string(raw), market.AllowedIntervals())
		}
		i, err := market.ParseInterval(text)
		if err != nil {
			return nil, 0, inIndicator(d.Name, err)
		}
		rest := make(map[string]json.RawMessage, len(params))
		for k, v := range params {
			if k != name {
				rest[k] = v
			}
		}
		return rest, i, nil
	}
	return params, 0, nil
}

// higher is an instance computed over the bars of a longer interval. A bar has the value
// of the newest of them that has closed at or before its own close, so that no value
// changes later.
type higher struct {
	inner    Instance
	interval market.Interval
}

// atInterval wraps the instance of a selection.
func (s *Selection) atInterval(i market.Interval) error {
	switch s.Instance.(type) {
	case *series, *paired:
	default:
		return fault.Field(s.Def.Name+".interval", i.String(), "no interval: only an indicator with a value at each bar can have one")
	}
	s.Instance, s.Interval = &higher{inner: s.Instance, interval: i}, i
	return nil
}

// Label names the indicator with its parameters and interval.
func (h *higher) Label() string { return h.inner.Label() + " " + h.interval.String() }

// Warmup returns no bars of the chart; those of the longer interval have their own.
func (h *higher) Warmup(Env) (first, stable int) { return 0, 0 }

// WarmupOf returns the bars to stability of a selection at the interval of its want.
func (s *Selection) WarmupOf(env Env) (first, stable int) {
	if h, ok := s.Instance.(*higher); ok {
		env.Interval = h.interval
		return h.inner.Warmup(env)
	}
	return s.Warmup(env)
}

// Stream returns nil: the bars of the longer interval do not come through it.
func (h *higher) Stream(Env) *Stream { return nil }

// Wants returns the bars of the longer interval.
func (h *higher) Wants() []Want {
	all := []Want{{Interval: h.interval}}
	if inner, ok := h.inner.(Wants); ok {
		for _, w := range inner.Wants() {
			all = append(all, Want{Symbol: w.Symbol, Interval: h.interval})
		}
	}
	return all
}

// Compute runs over the longer bars and gives each bar of the chart what was known.
func (h *higher) Compute(in Input) *Result {
	other := in.Others[Want{Interval: h.interval}]
	if other == nil {
		return &Result{Label: h.Label() + noData}
	}
	bars := other.closed()
	below := Input{Env: Env{Interval: h.interval, Calendar: other.Calendar}, Bars: &bars, Memory: in.Memory, Others: map[Want]*Other{}}
	for w, o := range in.Others {
		if w.Interval == h.interval {
			below.Others[Want{Symbol: w.Symbol}] = o
		}
	}
	r := h.inner.Compute(below)
	j := newJoin(&in, &bars, below.Env)
	j.result(r)
	r.Label = h.Label() + strings.TrimPrefix(r.Label, h.inner.Label())
	if s, ok := h.inner.(*series); ok && s.sum && bars.Len() > 0 {
		r.Anchored = bars.T[0]
	}
	return r
}

// join relates the bars of a chart to those of a longer interval.
type join struct {
	known  []int   // the newest longer bar that each bar knows, -1 for none
	closes []int64 // of the longer bars
	opened int64   // open time of the first bar of the chart
	memory *Memory
}

func newJoin(in *Input, longer *market.Bars, env Env) *join {
	j := &join{known: make([]int, in.Bars.Len()), closes: make([]int64, longer.Len()), memory: in.Memory}
	for k, t := range longer.T {
		j.closes[k] = env.Calendar.CloseOf(env.Interval, t)
	}
	next := 0
	for i, t := range in.Bars.T {
		for end := in.Calendar.CloseOf(in.Interval, t); next < len(j.closes) && j.closes[next] <= end; {
			next++
		}
		j.known[i] = next - 1
	}
	if in.Bars.Len() > 0 {
		j.opened = in.Bars.T[0]
	}
	return j
}

// column returns a value for each bar of the chart.
func (j *join) column(values []float64) []float64 {
	out := j.memory.take(len(j.known))
	for i, k := range j.known {
		out[i] = math.NaN()
		if k >= 0 && k < len(values) {
			out[i] = values[k]
		}
	}
	return out
}

// bar returns the first bar of the chart that knows a longer bar, and whether it became
// known within the chart.
func (j *join) bar(k int) (int, bool) {
	i := sort.SearchInts(j.known, k)
	return i, i < len(j.known) && j.closes[k] > j.opened
}

// result changes a result of the longer bars to one of the chart's bars.
func (j *join) result(r *Result) {
	lines := r.Lines
	r.Lines, r.Restarts, r.Profiles = nil, nil, nil
	for _, line := range lines {
		if line.Style == Solid && len(lines) == 1 {
			line.Style = Steps
		}
		line.Values, line.Ahead = j.column(line.Values), nil
		r.Lines = append(r.Lines, line)
	}
	for i := range r.Hist {
		r.Hist[i].Values = j.column(r.Hist[i].Values)
	}
	for i := range r.Fills {
		f := &r.Fills[i]
		f.Y1, f.Y2, f.Ahead1, f.Ahead2 = j.column(f.Y1), j.column(f.Y2), nil, nil
	}
	signals := r.Signals
	r.Signals = nil
	for _, s := range signals {
		at, _ := j.bar(s.X)
		confirmed, within := j.bar(s.Confirmed)
		if within {
			s.X, s.Confirmed = min(at, confirmed), confirmed
			r.Signals = append(r.Signals, s)
		}
	}
	segments := r.DivLines
	r.DivLines = nil
	for _, d := range segments {
		x1, _ := j.bar(d.X1)
		x2, within := j.bar(d.X2)
		if within && x1 < x2 {
			d.X1, d.X2 = x1, x2
			r.DivLines = append(r.DivLines, d)
		}
	}
}
