package ta

import (
	"math"
	"slices"

	"candela/lib/market"
	"candela/lib/ta/calc"
)

// Row is the output of one bar: a value per column, the signals it confirmed and the
// divergences it completed. Charts, the live engine and alerts all read rows.
type Row struct {
	Index    int        // bars since the stream began; the X of this bar
	Bar      market.Bar // the bar itself
	Slot     calc.Slot  // its position in time, to which windows are anchored
	Values   []float64  // one per column, NaN where there is none
	Prev     []float64  // the row before, all NaN at first
	Signals  []Signal
	DivLines []DivLine

	warming bool // nobody reads the signals
}

// Signal raises a signal at this bar.
func (r *Row) Signal(label string, y float64) { r.SignalAt(r.Index, label, y) }

// SignalText raises a signal of this bar with what a script says.
func (r *Row) SignalText(label string, y float64, text string) {
	n := len(r.Signals)
	if r.Signal(label, y); len(r.Signals) > n {
		r.Signals[n].Text = text
	}
}

// SignalAgain is SignalText for a signal that counts each time while a bar forms.
func (r *Row) SignalAgain(label string, y float64, text string) {
	n := len(r.Signals)
	if r.SignalText(label, y, text); len(r.Signals) > n {
		r.Signals[n].Again = true
	}
}

// SignalAt raises a signal that belongs to an earlier bar x and is confirmed now. A
// signal without a value is ignored.
func (r *Row) SignalAt(x int, label string, y float64) {
	if math.IsNaN(y) || r.warming {
		return
	}
	r.Signals = append(r.Signals, Signal{X: x, Confirmed: r.Index, Y: calc.Decimal(y), Label: label})
}

// CrossedUp reports whether column a went from at or below column b to above it.
func (r *Row) CrossedUp(a, b int) bool {
	return r.Prev[a] <= r.Prev[b] && r.Values[a] > r.Values[b]
}

// CrossedDown reports whether column a went from at or above column b to below it.
func (r *Row) CrossedDown(a, b int) bool {
	return r.Prev[a] >= r.Prev[b] && r.Values[a] < r.Values[b]
}

// crossTriggers describes the signals of crosses.
func crossTriggers(a, b string) []Trigger {
	return []Trigger{
		{"cross_up", a + " goes from at or below " + b + " to above it; y is " + a},
		{"cross_down", a + " goes from at or above " + b + " to below it; y is " + a},
	}
}

// crosses raises cross_up and cross_down where column a crosses column b.
func (r *Row) crosses(a, b int) {
	if r.CrossedUp(a, b) {
		r.Signal("cross_up", r.Values[a])
	}
	if r.CrossedDown(a, b) {
		r.Signal("cross_down", r.Values[a])
	}
}

// levelNoise is the distance within which a value is at a level. On coarse ticks a
// value often equals a level exactly, and rounding would move it to either side: by
// about 1e-14, or 1e-8 where all bars lie within a millionth of the price. A value
// that really misses a level misses it by more.
const levelNoise = 1e-7

// below and above report on which side of a level a value is. A value at the level
// and NaN are on neither.
func below(x, level float64) bool { return x < level-levelNoise }
func above(x, level float64) bool { return x > level+levelNoise }

// exits raises low when column a comes back from below bottom and high when it
// comes back from above top: the bar before was beyond the level, this one is not.
func (r *Row) exits(a int, bottom float64, low string, top float64, high string) {
	if below(r.Prev[a], bottom) && !below(r.Values[a], bottom) {
		r.Signal(low, r.Values[a])
	}
	if above(r.Prev[a], top) && !above(r.Values[a], top) {
		r.Signal(high, r.Values[a])
	}
}

// step computes the row's values for one closed bar.
type step func(row *Row)

// series is an instance whose values depend only on the bars up to their own, so it
// can run bar by bar. Compute and Stream use the same description.
type series struct {
	label         string
	feed          *feed // the line it is computed from instead of the price; nil for the price
	sum           bool  // the values are a sum from the first bar on
	first, stable int
	warm          func(Env) (first, stable int) // instead of the two, if they depend on the interval

	// columns is how many values a row has. The first len(lines) of them are drawn
	// as lines; present uses the others.
	columns int
	lines   []Line // labels and styles
	levels  []HLine
	yRange  *[2]float64

	// begin reserves the stream's memory and returns its step.
	begin func(m *calc.Slab, env Env) step

	// passing is begin with a second function that changes the memory as steps through bars do,
	// for streams where that is faster; it may be nil.
	passing func(m *calc.Slab, env Env) (step, func(*market.Bars))

	// detect raises the signals that follow from a row and the one before it. It has no
	// state, so it may begin at any bar.
	detect func(row *Row)

	// trace returns a step that follows begin's and raises what needs state, such as
	// divergences; it may be nil. It changes no values.
	trace func(m *calc.Slab) step

	// traceAll is trace over finished columns, where that is faster than its steps.
	traceAll func(in Input, columns [][]float64, r *Result)

	// batch fills the columns with kernels that give the same bits as the steps.
	// Without it Compute runs the steps.
	batch func(in Input, columns [][]float64)

	// present draws what lines and levels do not say; it may be nil. byBar says that it draws each
	// bar from that bar's row alone.
	present func(r *Result, columns [][]float64)
	byBar   bool
}

// solid returns solid lines with the labels.
func solid(labels ...string) []Line { return styled(Solid, labels...) }

func styled(style LineStyle, labels ...string) []Line {
	lines := make([]Line, len(labels))
	for i, label := range labels {
		lines[i] = Line{Label: label, Style: style}
	}
	return lines
}

// Label names the indicator with its parameters.
func (s *series) Label() string { return s.label }

// Warmup returns the index of the first value and the bars to stability.
func (s *series) Warmup(env Env) (first, stable int) {
	if s.warm != nil {
		return s.warm(env)
	}
	return s.first, s.stable
}

// Sums reports whether the values are a sum from the first bar on.
func (s *series) Sums() bool { return s.sum }

// Compute runs over a whole history.
func (s *series) Compute(in Input) *Result {
	if s.feed != nil {
		plain := *s
		plain.feed = nil
		return plain.Compute(s.feed.replaced(in))
	}
	n := in.Bars.Len()
	columns := in.Memory.columns(s.columns, n)
	r := &Result{Label: s.label, HLines: s.levels, YRange: s.yRange} // shared by all results: read only
	if s.batch != nil {
		if s.batch(in, columns); !in.NoSignals {
			s.walk(in, columns, r)
		}
	} else {
		s.stepAll(in, columns, r)
	}
	for i, line := range s.lines {
		line.Values = columns[i]
		r.Lines = append(r.Lines, line)
	}
	if s.present != nil {
		s.present(r, columns)
	}
	return r
}

// stepAll runs the stream over the bars and keeps its rows as columns.
func (s *series) stepAll(in Input, columns [][]float64, r *Result) {
	stream := s.Stream(in.Env)
	stream.detect = nil // it has no state, so it may begin late
	stream.row.warming = in.NoSignals
	from := in.first()
	for i := range in.Bars.Len() {
		if i == from && !in.NoSignals {
			stream.detect = s.detect
		}
		row := stream.Step(in.Bars.At(i))
		for c, x := range row.Values {
			columns[c][i] = x
		}
		r.Signals = append(r.Signals, row.Signals...)
		r.DivLines = append(r.DivLines, row.DivLines...)
	}
}

// walk raises the signals of finished columns as if they were streamed: those without
// state from the first bar shown on.
func (s *series) walk(in Input, columns [][]float64, r *Result) {
	from := in.first()
	begin, trace, detect := from, step(nil), s.detect
	switch {
	case s.traceAll != nil:
		s.traceAll(in, columns, r)
		// The order of a stream: by bar, and what trace raises first.
		defer func() {
			slices.SortStableFunc(r.Signals, func(a, b Signal) int { return a.Confirmed - b.Confirmed })
		}()
	case s.trace != nil:
		begin, trace = 0, s.trace(calc.NewSlab())
	}
	if detect == nil && trace == nil {
		return
	}
	row := newRow(s.columns)
	if begin > 0 {
		for c := range columns {
			row.Prev[c] = columns[c][begin-1]
		}
	}
	for i := begin; i < in.Bars.Len(); i++ {
		row.begin(i, in.Bars.At(i))
		for c := range columns {
			row.Values[c] = columns[c][i]
		}
		if trace != nil {
			trace(&row)
		}
		if detect != nil && i >= from {
			detect(&row)
		}
		r.Signals = append(r.Signals, row.Signals...)
		r.DivLines = append(r.DivLines, row.DivLines...)
		copy(row.Prev, row.Values)
	}
}

// Stream returns a stream that has seen no bar yet.
func (s *series) Stream(env Env) *Stream { return s.stream(calc.NewSlab(), env) }

// stream returns a stream whose memory is in m.
func (s *series) stream(m *calc.Slab, env Env) *Stream {
	stream := &Stream{slab: m, interval: env.Interval, seconds: evenSeconds(env.Interval), past: m.Cells(1 + s.columns), detect: s.detect, row: newRow(s.columns)}
	if s.passing != nil && s.trace == nil && s.feed == nil {
		stream.step, stream.pass = s.passing(m, env)
		return stream
	}
	stream.step = s.begin(m, env)
	if s.trace != nil {
		values, trace := stream.step, s.trace(m)
		stream.step = func(r *Row) {
			values(r)
			trace(r)
		}
	}
	if s.feed != nil {
		replace, values := s.feed.begin(m, env), stream.step
		stream.step = func(r *Row) {
			replace(r)
			values(r)
		}
	}
	return stream
}

// Stream computes an indicator bar by bar. Its whole memory is one slab, so a snapshot
// is one copy. Not safe for concurrent use.
type Stream struct {
	slab     *calc.Slab
	interval market.Interval
	seconds  int64 // between two slots; 0 if they are months
	step     step
	pass     func(*market.Bars) // steps through bars but the last; nil without
	detect   func(*Row)
	past     calc.Cells // number of bars, then the last row's values
	row      Row

	// Of a stream over a runner, instead of slab, step, detect and past.
	runner Runner
	count  int       // bars
	last   []float64 // the last row's values
	failed error
}

// Warm steps through a history, whose signals nobody reads.
func (s *Stream) Warm(b *market.Bars) {
	detect, from := s.detect, 0
	s.row.warming, s.detect = true, nil // it has no state
	if last := b.Len() - 1; s.pass != nil && last > 0 && s.past.Mem()[0] == 0 {
		head := b.Slice(0, last)
		s.pass(&head)
		s.past.Mem()[0] += float64(last)
		from = last
	}
	for i := from; i < b.Len(); i++ {
		s.Step(b.At(i))
	}
	s.row.warming, s.detect = false, detect
}

// Row returns the row of the newest bar, whose slices of values have the same memory at every bar.
func (s *Stream) Row() *Row { return &s.row }

// Reset makes the stream one that has seen no bar. It reports false if it cannot: only a new stream
// over a runner is one.
func (s *Stream) Reset() bool {
	if s.runner != nil {
		return false
	}
	s.slab.Clear()
	return true
}

// Mute says that nobody reads the signals of the bars that follow.
func (s *Stream) Mute() {
	if s.runner == nil {
		s.row.warming, s.detect = true, nil
	}
}

// Step adds a closed bar. The row is valid until the next call.
func (s *Stream) Step(bar market.Bar) *Row {
	if s.runner != nil {
		return s.stepRunner(bar)
	}
	r, past := &s.row, s.past.Mem()
	if s.seconds > 0 && bar.T-r.Bar.T == s.seconds {
		r.Slot++ // without a division
	} else {
		r.Slot = slotOf(s.interval, bar.T)
	}
	r.begin(int(past[0]), bar)
	if r.Index > 0 {
		copy(r.Prev, past[1:])
	} else {
		setAll(r.Prev, math.NaN())
	}
	s.step(r)
	if s.detect != nil {
		s.detect(r)
	}
	copy(past[1:], r.Values)
	past[0]++
	return r
}

// Peek returns the row that Step would return for a forming bar, and leaves the stream
// unchanged.
func (s *Stream) Peek(bar market.Bar) *Row {
	if s.runner != nil {
		return s.peekRunner(bar)
	}
	s.slab.Peek(func() { s.Step(bar) })
	return &s.row
}

// Snapshot copies the stream's whole memory into dst, growing it if needed.
func (s *Stream) Snapshot(dst []float64) []float64 {
	if s.runner != nil {
		return s.snapshotRunner(dst)
	}
	return s.slab.Snapshot(dst)
}

// Restore loads a snapshot of a stream of the same instance. A snapshot of another
// length is refused and changes nothing.
func (s *Stream) Restore(snapshot []float64) error {
	if s.runner != nil {
		return s.restoreRunner(snapshot)
	}
	return s.slab.Restore(snapshot)
}

func newRow(columns int) Row {
	cells := slices.Repeat([]float64{math.NaN()}, 2*columns)
	return Row{Values: cells[:columns:columns], Prev: cells[columns:]}
}

// begin makes the row ready for a bar.
func (r *Row) begin(index int, bar market.Bar) {
	r.Index, r.Bar = index, bar
	r.Signals, r.DivLines = r.Signals[:0], r.DivLines[:0]
	setAll(r.Values, math.NaN())
}
