// Package rules makes a strategy of conditions: what opens a position, what closes it, and
// how far it may go.
package rules

import (
	"math"

	"candela/internal/alerting/alert"
	"candela/internal/kit/budget"
	"candela/internal/work/research/replay"
	"candela/lib/backtest"
	"candela/lib/backtest/simulate"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

// Side says how positions of one direction begin and end.
type Side struct {
	Enter   alert.Condition  // opens a position at the bar at which it becomes true
	Exit    *alert.Condition // closes it at a bar at which it is true; nil is none
	Stop    float64          // percent of the entry price; 0 is none
	Target  float64
	MaxBars int // closes after so many bars; 0 is never
}

// Rules are the rules of a strategy. One of the sides may be nil.
type Rules struct {
	Long, Short *Side

	Library  ta.Library
	Symbol   market.Symbol
	Interval market.Interval
	Calendar market.Calendar
	Facts    market.Facts
	Longer   map[market.Interval]*market.Bars // closed bars of the longer intervals of the conditions
	Account  simulate.Config
	Run      *budget.Run // what scripts may hold, and when they end; nil for no bound

	// Magnifier has shorter bars for the fills; nil without.
	Magnifier *backtest.Magnifier

	// Columns has the values of indicators at the bars that the strategy runs over, or at more
	// bars that begin with those; nil lets it compute them bar by bar.
	Columns *replay.Columns

	// Selections has indicators of the library that were resolved before, for many rules on the
	// same ones. Check makes it if it is nil.
	Selections *alert.Selections
}

// Config returns the settings of the account.
func (r *Rules) Config() simulate.Config { return r.Account }

// Shorter returns the shorter bars for the fills.
func (r *Rules) Shorter() *backtest.Magnifier { return r.Magnifier }

// Check normalizes the conditions. It returns an error that names the field of the first
// that cannot be used.
func (r *Rules) Check() error {
	if r.Selections == nil {
		r.Selections = &alert.Selections{}
	}
	for _, s := range []*Side{r.Long, r.Short} {
		if s == nil {
			continue
		}
		if err := r.check(&s.Enter); err != nil {
			return err
		}
		if s.Exit != nil {
			if err := r.check(s.Exit); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Rules) check(c *alert.Condition) error {
	a := alert.Alert{Symbol: r.Symbol, Instrument: r.Symbol, Interval: r.Interval, Condition: *c, Repeat: alert.Repeat{MaxFires: 1}}
	if err := a.Normalize(r.Library); err != nil {
		return err
	}
	if a.Interval != r.Interval {
		return fault.Field("interval", a.Interval.String(), "the interval of the back-test, "+r.Interval.String()+", or a multiple of it")
	}
	*c = a.Condition
	return nil
}

// LongerDepth returns the longer intervals that the conditions need, each with the number of bars on
// which the newest value depends.
func (r *Rules) LongerDepth() map[market.Interval]int {
	all := map[market.Interval]int{}
	for _, s := range r.start().sides {
		for _, c := range []*replay.Condition{s.enter, s.exit} {
			if c == nil {
				continue
			}
			for on, depth := range c.Longer() {
				all[on] = max(all[on], depth)
			}
		}
	}
	return all
}

// Depth returns the number of bars on which the newest value of the conditions depends.
func (r *Rules) Depth() int {
	n := 1
	for _, s := range r.start().sides {
		n = max(n, s.enter.Depth())
		if s.exit != nil {
			n = max(n, s.exit.Depth())
		}
	}
	return n
}

// CheckBars returns an error if a condition cannot be evaluated at so many bars.
func (r *Rules) CheckBars(bars int) error {
	for _, s := range r.start().sides {
		if err := s.enter.CheckBars(bars); err != nil {
			return err
		}
		if s.exit != nil {
			if err := s.exit.CheckBars(bars); err != nil {
				return err
			}
		}
	}
	return nil
}

// Start returns the strategy without history, trading on an account.
func (r *Rules) Start(a *simulate.Account) (backtest.Instance, error) {
	in := r.start()
	in.account = a
	if r.Columns != nil {
		return in.columned(r.Columns)
	}
	var all []*replay.Condition
	for i := range in.sides {
		for _, c := range []*replay.Condition{in.sides[i].enter, in.sides[i].exit} {
			if c != nil {
				all, in.depth = append(all, c), max(in.depth, c.Depth())
			}
		}
	}
	in.shared = replay.Share(all...)
	return in, nil
}

func (r *Rules) start() *instance {
	in := &instance{}
	for _, s := range []struct {
		*Side
		direction simulate.Side
		id        string
	}{{r.Long, simulate.Long, "long"}, {r.Short, simulate.Short, "short"}} {
		if s.Side == nil {
			continue
		}
		running := side{rules: s.Side, direction: s.direction, id: s.id, enter: r.replay(s.Enter)}
		if s.Exit != nil {
			running.exit = r.replay(*s.Exit)
		}
		in.sides = append(in.sides, running)
	}
	return in
}

func (r *Rules) replay(c alert.Condition) *replay.Condition {
	return replay.NewOf(r.Library, r.Selections, alert.Alert{Symbol: r.Symbol, Instrument: r.Symbol, Interval: r.Interval, Condition: c}, replay.Where{Calendar: r.Calendar, Facts: r.Facts, Run: r.Run, Longer: r.Longer})
}

// Scripts returns the scripts that the conditions of checked rules ask.
func (r *Rules) Scripts() (names []string) {
	for _, s := range []*Side{r.Long, r.Short} {
		if s == nil {
			continue
		}
		names = append(names, s.Enter.Scripts()...)
		if s.Exit != nil {
			names = append(names, s.Exit.Scripts()...)
		}
	}
	return names
}

// instance is a strategy that runs.
type instance struct {
	account *simulate.Account
	bars    market.Bars // the newest
	depth   int         // how many of them the conditions need
	sides   []side
	shared  *replay.Shared
}

type side struct {
	rules     *Side
	direction simulate.Side
	id        string
	enter     *replay.Condition
	exit      *replay.Condition
}

// Next evaluates the conditions at a closed bar and places orders.
func (in *instance) Next(bar market.Bar) error {
	if in.bars.Len() > 2*(in.depth+1) {
		in.bars.Keep(in.depth + 1)
	}
	in.bars.Append(bar)
	in.shared.Add(&in.bars)
	if err := in.shared.Failed(); err != nil {
		return err
	}
	for i := range in.sides {
		in.sides[i].next(&in.bars, in.account)
	}
	return nil
}

// Close gives back what scripts hold.
func (in *instance) Close() {
	for i := range in.sides {
		in.sides[i].enter.Close()
		in.sides[i].exit.Close()
	}
}

// next asks the condition that matters for the position that is held.
func (s *side) next(bars *market.Bars, a *simulate.Account) {
	if held := a.Position()*float64(s.direction) > 0; held {
		s.order(a, false, s.exit != nil && s.exit.Now(bars).Holds)
	} else {
		s.order(a, s.enter.Now(bars).Rises, false)
	}
}

// order places the orders of a closed bar, given what the conditions say of it.
func (s *side) order(a *simulate.Account, enters, leaves bool) {
	held := a.Position()*float64(s.direction) > 0
	if leaves && held {
		s.close(a, "exit")
	}
	if open := a.Open(); held && s.rules.MaxBars > 0 && a.Index()-open[0].Bar+1 >= s.rules.MaxBars {
		s.close(a, "max_bars")
	}
	if enters && !held {
		none := math.NaN()
		a.Enter(simulate.Request{ID: s.id, Side: s.direction, Quantity: none, Limit: none, Stop: none})
		s.protect(a)
	}
}

// protect places the stop and the target of a position that is about to open.
func (s *side) protect(a *simulate.Account) {
	if s.rules.Stop == 0 && s.rules.Target == 0 {
		return
	}
	x := simulate.NewExit(s.id+" exit", s.id)
	x.CommentLoss, x.CommentProfit = "stop", "target"
	x.ProfitPercent, x.LossPercent = s.rules.Target, s.rules.Stop
	a.Exit(x)
}

func (s *side) close(a *simulate.Account, why string) {
	a.Close(simulate.CloseRequest{From: s.id, Quantity: math.NaN(), Percent: math.NaN(), Comment: why})
}
