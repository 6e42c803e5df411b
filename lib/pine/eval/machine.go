package eval

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"

	"candela/lib/backtest/simulate"
	"candela/lib/market"
	"candela/lib/pine/check"
	"candela/lib/pine/syntax"
	"candela/lib/ta/calc"
)

// Limits bound what a script may use.
type Limits struct {
	BarSteps   int64 // on one bar
	TotalSteps int64 // in the life of a machine, 0 for no bound
	Memory     int   // bytes held
	Instances  int   // written calls of the whole tree

	// Processor time, in the life of a machine or, if that is 0, on each bar; 0 for no bound.
	TotalTime, BarTime time.Duration

	// Made is how many bytes may be made, kept or not, in the life of a machine with
	// TotalTime and on each bar of another; 0 for no bound.
	Made int64
}

// ChartLimits are the limits of a chart.
func ChartLimits() Limits {
	return Limits{
		BarSteps: 2_000_000, TotalSteps: 200_000_000, Memory: 32 << 20, Instances: 20_000, TotalTime: 2 * time.Second, Made: 4 << 30,
	}
}

// BacktestLimits are the limits of a strategy over a history.
func BacktestLimits() Limits {
	return Limits{
		BarSteps: 200_000, TotalSteps: 200_000_000, Memory: 32 << 20, Instances: 20_000, TotalTime: 10 * time.Second, Made: 16 << 30,
	}
}

// AlertLimits are the limits of a stream that an alert waits on.
func AlertLimits() Limits {
	return Limits{BarSteps: 200_000, Memory: 8 << 20, Instances: 20_000, BarTime: 100 * time.Millisecond, Made: 64 << 20}
}

// Symbol describes the instrument of the chart, for syminfo.
type Symbol struct {
	Ticker      string // BTCUSDT
	Prefix      string // BINANCE
	Description string
	Type        string // crypto, stock, forex, index, fund
	Currency    string
	Base        string
	Root        string
	Tick        float64 // of prices, NaN if it is not known
	Step        float64 // of quantities, NaN if it is not known
}

// Env is what a script is run with.
type Env struct {
	Interval market.Interval
	Calendar market.Calendar
	Symbol   Symbol
	Inputs   []Value // by Input.Index; a missing or empty one takes the default
	Limits   Limits
	Budget   Budget // what the script shares with other work; nil for nothing

	// Outside returns the bars of other symbols and shorter intervals that the script
	// requests. It is asked while the script is compiled; without it such a script is
	// refused.
	Outside func(Frame) (*Outside, error)

	// Bars are all bars that the machine will run, in order, where they are known before the
	// first one, as on a chart. Built-in functions are then computed ahead where they can be.
	Bars *market.Bars

	// Last is the index of the last bar, where it is known before, as on a chart.
	Last int

	// Account is what a strategy trades on; without one its orders have no effect.
	Account *simulate.Account
}

// Value is the value of an input. The zero value means the default.
type Value struct {
	Set bool
	Num float64 // numbers, bools, colours, times, members of enums
	Str string  // strings, timeframes, symbols, sessions; of a source the price's name
}

// stmt runs a statement.
type stmt func() signal

// num computes a value.
type num func() float64

// signal is how a statement ended.
type signal uint8

const (
	next signal = iota
	leave
	again
)

// Machine runs one script. Not safe for concurrent use.
type Machine struct {
	prog *check.Program
	env  Env
	body stmt

	keep  cells      // var variables and flags: undone by a try
	lasts []*float64 // those of keep that [Machine.Again] and [Machine.Within] do not undo
	// The values of lasts after the newest try within a bar, with a 1 before them, and the open of that bar.
	within    []float64
	withinBar int64
	seen      bool       // the bar was tried within before
	temp      cells      // values of this bar
	slab      *calc.Slab // memory of kernels
	rings     []*ring
	heap      heap

	bar        market.Bar
	slot       calc.Slot
	evenStep   int64 // seconds from one slot to the next; 0 where that varies
	price      [prices]float64
	slotted    bool // the slot is read
	averaged   bool // hl2, hlc3, ohlc4 or hlcc4 is read
	index      int  // bar_index of the bar that runs, -1 before the first
	tried      bool
	again      bool // a try that places orders
	newest     bool
	confirmed  bool
	closeTime  int64
	meter      *meter
	watching   bool              // this machine has started the watch of the meter
	inner      bool              // the machine of a request, whose bars are part of another's
	main       market.Interval   // the chart's, also in the machine of a request
	symbol     string            // of the bars, empty for the chart's
	venue      string            // the prefix of the chart's symbol, also in the machine of a request
	short      map[string]string // symbols of inputs without a venue, by what the script reads
	left       int64             // steps until the next look at the clock
	reserve    int64             // steps of this bar after that
	budget     int64             // steps of this bar at its begin
	base       int64             // steps of each bar, for what is not counted while it runs
	spent      int64             // steps of kept bars
	total      int64             // steps of all bars
	place      syntax.Pos
	failed     error
	savedKeep  []float64
	savedLasts []float64
	savedSlab  []float64
	savedSize  int
	savedMade  int
	undoNeeded bool

	out      []Output
	outArgs  []map[string]num
	conds    []bool
	messages []string
	fires    []Alert
	logs     []string
	logged   int // bytes of logs
	requests []*request
	trades   int // of the account that are counted as held
	hoisted  []hoisted
	columns  map[int]column // values of plots that are known ahead, by Plot.Index
	idle     bool           // nothing is left to do on a bar
	everyBar []func()       // built-in variables with state, before the body
	types    *typeTable
	zones    map[string]*time.Location // time zones that the script has named
}

// Alert is a call of alert() on a bar.
type Alert struct {
	Message string
	Freq    string
}

// New compiles a checked script for an environment.
func New(p *check.Program, env Env) (m *Machine, err error) {
	if env.Limits == (Limits{}) {
		env.Limits = ChartLimits()
	}
	if env.Budget == nil {
		env.Budget = alone{}
	}
	m = newMachine(p, env, newMeter(env.Budget, env.Limits))
	defer func() {
		m.unwatch()
		if m.caught(recover(), &err); err != nil {
			m.Close()
		}
	}()
	c := &compiler{m: m, prog: p, version: p.Version, library: library()}
	c.program()
	return m, nil
}

func newMachine(p *check.Program, env Env, t *meter) *Machine {
	m := &Machine{prog: p, env: env, main: env.Interval, venue: env.Symbol.Prefix, short: map[string]string{}, slab: calc.NewSlab(), index: -1, meter: t, total: cmp.Or(env.Limits.TotalSteps, math.MaxInt64)}
	if i := env.Interval; i.Even() || !i.Valid() {
		m.evenStep = max(1, i.Seconds())
	}
	m.heap.m = m
	return m
}

// caught turns a panic of a script into an error.
func (m *Machine) caught(r any, err *error) {
	if r == nil {
		return
	}
	if e, ok := r.(*Error); ok {
		*err = e
		return
	}
	*err = &Error{
		Code: CodeRuntime, Message: fmt.Sprintf("internal error: %v", r), Line: int(m.place.Line), Column: int(m.place.Column),
		Bar: m.index, Time: m.bar.T,
	}
}

// errFailed is returned for bars after a failure.
var errFailed = errors.New("the script has failed on an earlier bar")

// Keep runs the script on a bar that has closed and keeps what it did.
func (m *Machine) Keep(bar market.Bar) error {
	if m.undoNeeded {
		m.rewind()
	}
	if m.failed != nil {
		return fmt.Errorf("%w: %w", errFailed, m.failed)
	}
	m.newest, m.confirmed, m.tried = false, true, false
	m.bar = bar
	if i := m.index + 1; m.idle && i < len(m.env.Bars.T) && m.env.Bars.T[i] == bar.T {
		m.index = i
		return nil
	}
	if err := m.run(); err != nil {
		m.failed = err
		return err
	}
	for _, r := range m.rings {
		r.commit()
	}
	m.spent += m.Steps()
	m.heap.endBar()
	if m.meter.held > m.meter.granted {
		m.failed = m.settle()
	}
	return m.failed
}

// settle counts the memory by which histories have grown.
func (m *Machine) settle() (err error) {
	defer func() { m.caught(recover(), &err) }()
	m.hold(m.place, 0)
	return nil
}

// Try runs the script on a bar as if it were the newest and undoes it before the next call
// of any other method that runs or stores the script. What it has drawn can be read until then. Newest says
// that barstate.islast is true; closed that the bar has closed.
func (m *Machine) Try(bar market.Bar, newest, closed bool) error {
	if err := m.begin(); err != nil {
		return err
	}
	m.newest, m.confirmed, m.tried, m.again = newest, closed, true, false
	m.bar = bar
	return m.run()
}

// Within is Try for a bar that forms and of which newer prices follow. A varip number keeps its value from one of
// them to the next; the bar that closes begins without them, so that its values do not depend on who watched.
func (m *Machine) Within(bar market.Bar) error {
	if err := m.begin(); err != nil {
		return err
	}
	m.newest, m.confirmed, m.tried, m.again = true, false, true, false
	if m.seen = len(m.within) > 0 && m.withinBar == bar.T; m.seen {
		for i, p := range m.lasts {
			*p = m.within[1+i]
		}
	}
	m.bar = bar
	err := m.run()
	m.seen, m.withinBar = false, bar.T
	m.within = append(m.within[:0], 1)
	for _, p := range m.lasts {
		m.within = append(m.within, *p)
	}
	return err
}

// Again runs a strategy on a bar in the middle of which orders were filled. It places orders;
// the rest of what it does is undone as that of [Machine.Try]. The script sees the whole bar,
// as on TradingView.
func (m *Machine) Again(bar market.Bar) error {
	if err := m.begin(); err != nil {
		return err
	}
	m.newest, m.confirmed, m.tried, m.again = false, true, true, true
	m.bar = bar
	return m.run()
}

// begin saves what a try may change.
func (m *Machine) begin() error {
	m.rewind()
	if m.failed != nil {
		return fmt.Errorf("%w: %w", errFailed, m.failed)
	}
	m.savedKeep = m.keep.save(m.savedKeep[:0])
	m.savedSlab = m.slab.Snapshot(m.savedSlab)
	m.savedSize, m.savedMade = m.heap.size, m.heap.made
	m.meter.owed += int64(len(m.savedKeep)+len(m.savedSlab)) / wordsAStep
	m.heap.begin()
	m.undoNeeded = true
	return nil
}

// rewind undoes a try.
func (m *Machine) rewind() {
	if !m.undoNeeded {
		return
	}
	m.undoNeeded = false
	m.rewindKeep()
	if err := m.slab.Restore(m.savedSlab); err != nil {
		m.failed = err
	}
	m.heap.rewind(m.savedSize, m.savedMade)
	for _, r := range m.rings {
		r.ran = false
	}
	m.index--
}

// rewindKeep undoes what a try did to variables. A varip number keeps its value from one
// computation of a bar to the next.
func (m *Machine) rewindKeep() {
	if !m.again || len(m.lasts) == 0 {
		m.keep.load(m.savedKeep)
		return
	}
	m.savedLasts = m.savedLasts[:0]
	for _, p := range m.lasts {
		m.savedLasts = append(m.savedLasts, *p)
	}
	m.keep.load(m.savedKeep)
	for i, p := range m.lasts {
		*p = m.savedLasts[i]
	}
}

// run runs the script on the bar that is set.
func (m *Machine) run() (err error) {
	done := false
	defer func() {
		if !done {
			m.caught(recover(), &err)
		}
		if m.watching {
			m.unwatch()
		}
	}()
	m.index++
	m.setPrices()
	m.beginSteps()
	if len(m.messages)+len(m.fires)+len(m.logs) > 0 {
		m.messages, m.fires, m.logs, m.logged = m.messages[:0], m.fires[:0], m.logs[:0], 0
	}
	clear(m.conds)
	m.loadHoisted()
	for _, f := range m.everyBar {
		f()
	}
	m.body()
	if a := m.env.Account; a != nil && (!m.tried || m.again) {
		m.settleAccount(a)
	}
	done = true
	return nil
}

// beginSteps gives a bar its steps. Those of the bar before are owed.
func (m *Machine) beginSteps() {
	t := m.meter
	t.owed += m.Steps() + m.base
	m.give(min(m.env.Limits.BarSteps, m.total-m.spent))
	if t.owed > slice || t.ofBars && t.touched() {
		m.beginBar()
	}
}

// give sets how many steps the script may take from now on.
func (m *Machine) give(steps int64) {
	m.budget = steps
	m.left = min(steps, slice)
	m.reserve = steps - m.left
}

// loadHoisted sets what was computed ahead for this bar.
func (m *Machine) loadHoisted() {
	all := m.env.Bars
	if all == nil {
		return
	}
	i := m.index
	if i >= len(all.T) || all.T[i] != m.bar.T {
		panic("the bars differ from those that were announced")
	}
	for k := range m.hoisted {
		h := &m.hoisted[k]
		*h.to = h.from[i]
	}
}

// The prices of a bar by place.
const (
	priceOpen = iota
	priceHigh
	priceLow
	priceClose
	priceVolume
	priceHL2
	priceHLC3
	priceOHLC4
	priceHLCC4
	priceTime
	priceIndex
	prices
)

func (m *Machine) setPrices() {
	b := &m.bar
	if m.slotted {
		m.slot = m.slotOf(b.T)
	}
	m.closeTime = 0
	p := &m.price
	p[priceOpen], p[priceHigh], p[priceLow], p[priceClose], p[priceVolume] = b.O, b.H, b.L, b.C, b.V
	p[priceTime] = float64(b.T) * 1000
	p[priceIndex] = float64(m.index)
	if !m.averaged {
		return
	}
	p[priceHL2] = (b.H + b.L) / 2
	p[priceHLC3] = (b.H + b.L + b.C) / 3
	p[priceOHLC4] = (b.O + b.H + b.L + b.C) / 4
	p[priceHLCC4] = (b.H + b.L + b.C + b.C) / 4
}

// slotOf numbers a bar on the time axis, as the indicators do.
func (m *Machine) slotOf(t int64) calc.Slot {
	if m.evenStep == 0 {
		return calc.Slot(m.env.Interval.Slot(t))
	}
	return calc.SlotOf(t, m.evenStep)
}

// ends returns when the bar closes.
func (m *Machine) ends() int64 {
	if m.closeTime == 0 {
		m.closeTime = m.closeOf(m.bar.T)
	}
	return m.closeTime
}

// closeOf returns when the bar that opens at t closes.
func (m *Machine) closeOf(t int64) int64 {
	if m.env.Interval.Valid() {
		return m.env.Calendar.CloseOf(m.env.Interval, t)
	}
	return t + m.env.Interval.Seconds()
}

// Steps returns how many steps the last bar took.
func (m *Machine) Steps() int64 { return m.budget - m.left - m.reserve }

// Index returns the bar_index of the last bar, -1 before the first.
func (m *Machine) Index() int { return m.index }
