package ta

import (
	order "container/list"
	"math"
	"slices"
	"sync"
	"weak"

	"candela/lib/market"
)

// Bounds of kept states.
const (
	keptStep   = 64       // to which the bars shown are rounded up
	keptLead   = 16       // bars before those shown, for what is drawn with the bar before
	leastKept  = 256      // bars of warm-up without which nothing is kept
	mostKept   = 32 << 10 // numbers of a state
	mostStates = 128      // of a series
	stateCost  = 512      // bytes of a state besides its numbers
)

// States keeps the state of indicators at the newest closed bar, for series that are asked for again and
// again. A computation then steps through the bars that are new and the one that forms, not through the whole
// warm-up, and gives the same bits: a state is used only where all bars that it has seen are those of the
// input, bit by bit. All callers of a series share its states. The series that was not asked for longest
// goes first. It is safe for concurrent use.
type States struct {
	mu    sync.Mutex
	most  int // bytes
	used  int
	order order.List // of *keptSeries, the one asked for last in front
	all   map[keptKey]*order.Element
}

// NewStates returns an empty store of at most so many bytes.
func NewStates(most int) *States { return &States{most: most, all: map[keptKey]*order.Element{}} }

// Held returns how many bytes and series the store holds.
func (k *States) Held() (bytes, series int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.used, len(k.all)
}

// keptKey names the bars that states have seen, for finding them: whether they are the same is compared.
type keptKey struct {
	name     string
	interval market.Interval
	calendar market.Calendar
}

// keptSeries has the states of one series. The store's lock guards it.
type keptSeries struct {
	key    keptKey
	bars   market.Bars // a copy of all bars that states have seen
	states map[stateKey]*state
	cost   int
	proved proof
}

// proof says which bars were compared last with those of a series, and how many were the same.
type proof struct {
	times  weak.Pointer[int64] // bars that are handed over are not written any more
	prices [5]weak.Pointer[float64]
	bars   int
	was    market.Bars
	common int
}

// about returns a proof about bars, without its result.
func about(b *market.Bars, n int) proof {
	p := proof{times: weak.Make(&b.T[0]), bars: n}
	for i, column := range [][]float64{b.O, b.H, b.L, b.C, b.V} {
		p.prices[i] = weak.Make(&column[0])
	}
	return p
}

// same reports whether two proofs are about the same memory.
func (p *proof) same(q *proof) bool {
	return p.times == q.times && p.prices == q.prices && p.bars == q.bars
}

// stateKey names a computation: what is computed, where it begins and, in steps, how many bars are shown.
type stateKey struct {
	selection string
	from      int64
	shown     int
}

// state is the memory of a stream and its newest rows. It is immutable; without cells the computation was
// asked for once. Bars are counted from where the computation begins.
type state struct {
	cells   []float64
	seen    int         // bars
	last    int64       // time of the last one
	begun   int         // the bar of the first row
	columns [][]float64 // of the rows
	signals []Signal
	lines   []DivLine
}

// Kept is a view of the states of a series for one set of its bars. It is not safe for concurrent use.
type Kept struct {
	states *States
	key    keptKey
	bars   *market.Bars // with all warm-up
	closed int
	own    market.Bars // the bars of the series when they were compared
	was    market.Bars // those of them that are not older than bars
	common int         // how many of was are those of bars
}

// Of returns the view for bars of a series, whose last one has not closed if forming is set. The name says
// which symbol it is and where its bars come from.
func (k *States) Of(name string, env Env, bars *market.Bars, forming bool) *Kept {
	closed := bars.Len()
	if forming {
		closed--
	}
	return &Kept{states: k, key: keptKey{name, env.Interval, env.Calendar}, bars: bars, closed: closed}
}

// Compute is the selection's Compute, for bars at the end of those of the view. The result may cover the
// newest bars alone; it returns how many, and these always include those shown. The view may be nil.
func (v *Kept) Compute(s *Selection, in Input) (*Result, int) {
	n := in.Bars.Len()
	if v == nil {
		return s.Compute(in), n
	}
	inst, ok := s.Instance.(*series)
	closed := n - (v.bars.Len() - v.closed)
	shown := (in.Shown + keptStep - 1) / keptStep
	window := shown*keptStep + keptLead
	if !ok || !inst.resumes() || in.Shown <= 0 || in.NoSignals || closed-window < leastKept || inst.columns*window > mostKept {
		return s.Compute(in), n
	}
	key := stateKey{s.Key(), in.Bars.T[0], shown}
	from, again := v.find(key, in.Bars)
	if !again {
		return s.Compute(in), n
	}
	if from != nil && from.seen > closed {
		from = nil // of newer bars
	}
	r, begun, now := inst.resume(in, from, closed, window)
	if r == nil {
		return s.Compute(in), n
	}
	if now != nil {
		v.keep(key, now)
	}
	r.Overlay = s.Overlay()
	return r, n - begun
}

// resumes reports whether a computation may go on from a state.
func (s *series) resumes() bool {
	return s.feed == nil && !s.sum && (s.begin != nil || s.passing != nil) && (s.present == nil || s.byBar)
}

// resume computes a window of rows before the last closed bar and those after it, from a state or, without
// one, through the warm-up. It returns the index of the first bar of the result, and the state at the last
// closed bar if that is a new one. The result is nil if the state is another stream's.
func (s *series) resume(in Input, from *state, closed, window int) (r *Result, begun int, now *state) {
	stream := s.Stream(in.Env)
	fresh := from == nil
	if fresh {
		head := in.Bars.Slice(0, closed-window)
		stream.Warm(&head)
		from = &state{seen: head.Len(), begun: head.Len()}
	} else if stream.Restore(from.cells) != nil {
		return nil, 0, nil
	}
	n := in.Bars.Len()
	begun = closed - window
	columns := in.Memory.columns(s.columns, n-begun)
	for c, values := range from.columns {
		copy(columns[c], values[min(begun, from.seen)-from.begun:])
	}
	r = &Result{Label: s.label, HLines: s.levels, YRange: s.yRange}
	r.raised(from, begun)
	for i := from.seen; ; i++ {
		if i == closed && (fresh || closed > from.seen) {
			now = newState(stream, in.Bars, columns, r, begun, closed)
		}
		if i == n {
			break
		}
		row := stream.Step(in.Bars.At(i))
		if i < begun {
			continue // so many bars have closed
		}
		for c, x := range row.Values {
			columns[c][i-begun] = x
		}
		r.Signals = append(r.Signals, row.Signals...)
		r.DivLines = append(r.DivLines, row.DivLines...)
	}
	r.shift(-begun)
	for i, line := range s.lines {
		line.Values = columns[i]
		r.Lines = append(r.Lines, line)
	}
	if s.present != nil {
		s.present(r, columns)
	}
	return r, begun, now
}

// raised copies what a state's rows from a bar on have raised.
func (r *Result) raised(from *state, begun int) {
	r.Signals = make([]Signal, 0, len(from.signals)+4) // and those of the newest bars
	for _, s := range from.signals {
		if s.Confirmed >= begun {
			r.Signals = append(r.Signals, s)
		}
	}
	for _, d := range from.lines {
		if max(d.X1, d.X2) >= begun {
			r.DivLines = append(r.DivLines, d)
		}
	}
}

// newState copies the memory of a stream that has seen the closed bars, and its rows.
func newState(stream *Stream, bars *market.Bars, columns [][]float64, r *Result, begun, closed int) *state {
	s := &state{
		cells: stream.Snapshot(nil), seen: closed, last: bars.T[closed-1], begun: begun,
		columns: make([][]float64, len(columns)), signals: slices.Clone(r.Signals), lines: slices.Clone(r.DivLines),
	}
	rows := closed - begun
	cells := make([]float64, rows*len(columns))
	for c := range columns {
		s.columns[c] = cells[c*rows : (c+1)*rows : (c+1)*rows]
		copy(s.columns[c], columns[c])
	}
	return s
}

// shift moves what a result says of bars.
func (r *Result) shift(by int) {
	for i := range r.Signals {
		r.Signals[i].X += by
		r.Signals[i].Confirmed += by
	}
	for i := range r.DivLines {
		r.DivLines[i].X1 += by
		r.DivLines[i].X2 += by
	}
}

// find returns the state of a computation over bars, nil if there is none that fits. again reports whether
// the computation was asked for before; from now on it was.
func (v *Kept) find(key stateKey, bars *market.Bars) (found *state, again bool) {
	k := v.states
	k.mu.Lock()
	defer k.mu.Unlock()
	one := k.series(v.key)
	v.compare(one)
	s, again := one.states[key]
	if !again {
		if !k.asked(one, key) {
			k.set(one, key, &state{})
			k.trim()
			return nil, false
		}
		return nil, true // it was asked for with an earlier beginning
	}
	if s.cells == nil || s.seen > bars.Len() || bars.T[s.seen-1] != s.last || !v.covers(key.from, s.last) {
		return nil, true
	}
	return s, true
}

// asked reports whether a computation was asked for with another beginning, whose state is forgotten.
func (k *States) asked(one *keptSeries, wanted stateKey) (was bool) {
	for key := range one.states {
		if key.selection == wanted.selection && key.shown == wanted.shown {
			k.drop(one, key)
			was = true
		}
	}
	return was
}

// covers reports whether the bars from one to another are known to be the same.
func (v *Kept) covers(from, last int64) bool {
	return v.common > 0 && v.was.T[0] <= from && v.was.T[v.common-1] >= last
}

// compare finds how many of the bars that states have seen are those of the view.
func (v *Kept) compare(one *keptSeries) {
	own := &one.bars
	if own.Len() > 0 && own.Len() == v.own.Len() && &v.own.T[0] == &own.T[0] {
		return // a series gets other bars in other memory
	}
	v.own, v.was, v.common = *own, *own, 0
	if own.Len() == 0 || v.closed <= 0 {
		return
	}
	now := about(v.bars, v.closed)
	if one.proved.same(&now) {
		v.was, v.common = one.proved.was, one.proved.common
		return
	}
	skip := own.Search(v.bars.T[0])
	at := v.bars.Search(own.T[min(skip, own.Len()-1)])
	n := min(own.Len()-skip, v.closed-at)
	if n > 0 {
		a, b := own.Slice(skip, skip+n), v.bars.Slice(at, at+n)
		v.common = sameBars(&a, &b)
	}
	v.was = own.Slice(skip, own.Len())
	now.was, now.common = v.was, v.common
	one.proved = now
}

// keep stores a state after the bars that it has seen.
func (v *Kept) keep(key stateKey, s *state) {
	k := v.states
	k.mu.Lock()
	defer k.mu.Unlock()
	if s.numbers() > mostKept {
		return
	}
	one := k.series(v.key)
	v.compare(one)
	if !v.covers(key.from, s.last) {
		k.take(one, v, key.from)
	}
	k.set(one, key, s)
	k.trim()
}

// take makes the closed bars of the view the bars of the series, from a time on or from an older one that
// states begin at.
func (k *States) take(one *keptSeries, v *Kept, from int64) {
	if v.common > 0 {
		from = min(from, v.was.T[0])
	}
	closed := v.bars.Slice(v.bars.Search(from), v.closed)
	fresh := market.MakeBars(closed.Len(), closed.TakerBuy != nil)
	for i := range closed.Len() {
		fresh.Append(closed.At(i))
	}
	for key, s := range one.states { // bars that differ, or are missing
		if s.cells != nil && (fresh.T[0] > key.from || !v.covers(key.from, s.last)) {
			k.set(one, key, &state{})
		}
	}
	k.add(one, barsCost(&fresh)-barsCost(&one.bars))
	one.bars, one.proved, v.own, v.was, v.common = fresh, proof{}, fresh, fresh, fresh.Len()
}

// series returns the series of a key, empty if there was none, as the one asked for last.
func (k *States) series(key keptKey) *keptSeries {
	if e := k.all[key]; e != nil {
		k.order.MoveToFront(e)
		one, _ := e.Value.(*keptSeries)
		return one
	}
	one := &keptSeries{key: key, states: map[stateKey]*state{}, cost: stateCost}
	k.all[key] = k.order.PushFront(one)
	k.used += one.cost
	return one
}

// set stores a state. One of too many goes, whichever it is.
func (k *States) set(one *keptSeries, key stateKey, s *state) {
	k.drop(one, key)
	if len(one.states) >= mostStates {
		for other := range one.states {
			k.drop(one, other)
			break
		}
	}
	one.states[key] = s
	k.add(one, s.cost())
}

// drop forgets a state if there is one.
func (k *States) drop(one *keptSeries, key stateKey) {
	if old := one.states[key]; old != nil {
		delete(one.states, key)
		k.add(one, -old.cost())
	}
}

// add counts bytes of a series.
func (k *States) add(one *keptSeries, bytes int) {
	one.cost += bytes
	k.used += bytes
}

// trim forgets series until the rest is within the bound.
func (k *States) trim() {
	for k.used > k.most && k.order.Len() > 0 {
		one, _ := k.order.Remove(k.order.Back()).(*keptSeries)
		delete(k.all, one.key)
		k.used -= one.cost
	}
}

// cost is how many bytes a state takes.
func (s *state) cost() int { return stateCost + 8*s.numbers() + 96*len(s.signals) + 48*len(s.lines) }

func (s *state) numbers() int { return len(s.cells) + len(s.columns)*(s.seen-s.begun) }

func barsCost(b *market.Bars) int { return 8 * (6*cap(b.T) + cap(b.TakerBuy)) }

// sameBars returns how many bars at the beginning of two runs of one length are the same in every bit.
func sameBars(a, b *market.Bars) int {
	n := a.Len()
	for i := range n {
		if a.T[i] != b.T[i] {
			n = i
			break
		}
	}
	for _, pair := range [][2][]float64{{a.O, b.O}, {a.H, b.H}, {a.L, b.L}, {a.C, b.C}, {a.V, b.V}} {
		n = sameCells(pair[0], pair[1], n)
	}
	switch {
	case a.TakerBuy != nil && b.TakerBuy != nil:
		return sameCells(a.TakerBuy, b.TakerBuy, n)
	case a.TakerBuy != nil || b.TakerBuy != nil:
		return 0
	}
	return n
}

func sameCells(a, b []float64, n int) int {
	a, b = a[:n], b[:n]
	for i := range a {
		if math.Float64bits(a[i]) != math.Float64bits(b[i]) {
			return i
		}
	}
	return n
}
