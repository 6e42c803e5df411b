// Package replay evaluates the condition of an alert at the closed bars of a history, as
// the engine does while bars close.
package replay

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/evaluate"
	"candela/internal/kit/budget"
	"candela/lib/market"
	"candela/lib/ta"
)

// maxWhole is the most bars at which a condition is evaluated if its indicator computes
// all bars again for each.
const maxWhole = 2000

// Condition is a condition on bars that is evaluated bar by bar.
type Condition struct {
	alert      alert.Alert
	probe      *alert.Probe
	indicators []*indicatorOf // in the order of the probe
	depth      int
	longer     []*longerOf // in ascending order of their intervals
	bars       []alert.LongerBar
	whole      bool
	reads      bool // it reads bars, not only indicators
}

// indicatorOf is an indicator of one or more conditions.
type indicatorOf struct {
	key string
	*evaluate.Evaluator
	signals bool      // somebody reads them
	longer  *longerOf // the bars that it is computed from; nil for those of the alert
}

// longerOf are longer bars than those of the alert.
type longerOf struct {
	evaluate.Longer
	depth int
	seen  market.Bars // closed by the bar that is evaluated
}

// see moves on to the close of the last of the bars.
func (l *longerOf) see(bars *market.Bars) {
	last := bars.Len() - 1
	l.seen = l.Bars.Slice(0, l.Seen(l.Calendar.CloseOf(l.Own, bars.T[last])))
}

// compute computes the indicator at the last of the bars, or at the newest longer one.
func (i *indicatorOf) compute(bars *market.Bars) {
	if i.longer == nil {
		i.Last(bars)
		return
	}
	if i.longer.see(bars); i.longer.seen.Len() > 0 {
		i.Newest(&i.longer.seen)
	}
}

// Shared computes the indicators of several conditions on the same bars, each once.
type Shared struct{ indicators []*indicatorOf }

// Share lets conditions read indicators that are computed once. Their verdicts follow from Add and
// Now; Last must not be called any more.
func Share(conditions ...*Condition) *Shared {
	known := map[string]*indicatorOf{}
	for _, c := range conditions {
		for _, i := range c.indicators {
			if known[i.key] == nil || i.signals {
				known[i.key] = i
			}
		}
	}
	s := &Shared{}
	for _, c := range conditions {
		for k, i := range c.indicators {
			used := known[i.key]
			c.indicators[k] = used
			c.probe.Bind(k, used.Row())
			if !slices.Contains(s.indicators, used) {
				s.indicators = append(s.indicators, used)
			}
		}
	}
	return s
}

// Failed returns the error that ended a script, once; nil while there is none.
func (s *Shared) Failed() error { return failed(s.indicators) }

func failed(all []*indicatorOf) error {
	for _, i := range all {
		if err := i.Failed(); err != nil {
			return err
		}
	}
	return nil
}

// Add computes the indicators at the last of the bars. The bars before it must be those of the
// previous call.
func (s *Shared) Add(bars *market.Bars) {
	for _, i := range s.indicators {
		i.compute(bars)
	}
}

// Anchored returns the open time of the earliest bar at which a running sum of the condition
// begins, as of the last call of Last; 0 if there is none.
func (c *Condition) Anchored() (earliest int64) {
	for _, i := range c.indicators {
		if at := i.Anchored(); at != 0 && (earliest == 0 || at < earliest) {
			earliest = at
		}
	}
	return earliest
}

// Where says of which instrument the bars are, and in which work they are evaluated.
type Where struct {
	Calendar market.Calendar
	Facts    market.Facts
	Run      *budget.Run // what scripts may hold, and when they end; nil for no bound

	// Streams keeps what indicators have seen, for bars that are asked about again; nil for nowhere.
	Streams *ta.Streams

	// Longer has the closed bars of the longer intervals that the condition needs, and may have others.
	Longer map[market.Interval]*market.Bars
}

// New returns a condition without history. The alert must have been normalized and have an
// interval.
func New(l ta.Library, a alert.Alert, w Where) *Condition { return NewOf(l, nil, a, w) }

// NewOf is New with indicators of the library that were resolved before.
func NewOf(l ta.Library, known *alert.Selections, a alert.Alert, w Where) *Condition {
	env := ta.Env{Interval: a.Interval, Calendar: w.Calendar, Facts: w.Facts}
	c := &Condition{alert: a, probe: alert.NewProbeOf(l, known, &a), depth: 1}
	c.reads = c.probe.ReadsBars()
	for _, on := range a.Condition.Longer() {
		c.longer = append(c.longer, newLonger(on, &a, w))
	}
	for g := range c.probe.Groups() {
		if w.Run != nil {
			env.Budget = w.Run.Part()
		}
		env.Interval = cmp.Or(g.Longer, a.Interval)
		ev := evaluate.New(g.Selection, env)
		ev.Share(w.Streams)
		c.whole = c.whole || !ev.Streams()
		used := &indicatorOf{key: g.Key, Evaluator: ev, signals: c.probe.Signals(g.Key)}
		if !used.signals {
			ev.Mute()
		}
		if i := slices.IndexFunc(c.longer, func(l *longerOf) bool { return l.Interval == g.Longer }); i >= 0 {
			used.longer = c.longer[i]
			used.longer.depth = max(used.longer.depth, ev.Depth())
		} else {
			c.depth = max(c.depth, ev.Depth())
		}
		c.probe.Bind(len(c.indicators), ev.Row())
		c.indicators = append(c.indicators, used)
	}
	return c
}

func newLonger(on market.Interval, a *alert.Alert, w Where) *longerOf {
	bars := w.Longer[on]
	if bars == nil {
		bars = &market.Bars{}
	}
	return &longerOf{Longer: evaluate.Longer{Interval: on, Own: a.Interval, Calendar: w.Calendar, Bars: bars}, depth: 2}
}

// Longer returns the longer intervals that the condition needs, each with the number of bars on which
// its newest value depends.
func (c *Condition) Longer() map[market.Interval]int {
	all := make(map[market.Interval]int, len(c.longer))
	for _, l := range c.longer {
		all[l.Interval] = l.depth
	}
	return all
}

// Failed returns the error that ended a script of the condition, once; nil while there is none, and of no
// condition. After it the verdicts say nothing.
func (c *Condition) Failed() error {
	if c == nil {
		return nil
	}
	return failed(c.indicators)
}

// Close gives back what the scripts of the condition hold. A nil one has none.
func (c *Condition) Close() {
	if c == nil {
		return
	}
	for _, i := range c.indicators {
		i.Forget()
	}
}

// Depth returns the number of bars on which the newest value depends.
func (c *Condition) Depth() int { return c.depth }

// IsWarm reports whether there are all bars, and longer ones, on which the value at a bar depends.
func (c *Condition) IsWarm(bars *market.Bars, i int) bool {
	warm := i >= c.depth-1
	for _, l := range c.longer {
		warm = warm && l.Seen(l.Calendar.CloseOf(l.Own, bars.T[i])) >= l.depth
	}
	return warm
}

// CheckBars returns an error if the condition cannot be evaluated at so many bars.
func (c *Condition) CheckBars(bars int) error {
	if c.whole && bars > maxWhole {
		return fmt.Errorf("the condition uses an indicator that is computed over all bars again at each bar; ask for at most %d bars, not %d", maxWhole, bars)
	}
	return nil
}

// Last evaluates the condition at the last of the bars. The bars before it must be those of
// the previous call.
func (c *Condition) Last(bars *market.Bars) alert.Verdict {
	for _, i := range c.indicators {
		i.compute(bars)
	}
	return c.Now(bars)
}

// Now evaluates the condition at the last of the bars, at which its indicators were computed.
func (c *Condition) Now(bars *market.Bars) alert.Verdict {
	if c.reads {
		last, prev := bars.Len()-1, market.Bar{}
		if last > 0 {
			prev = bars.At(last - 1)
		}
		c.probe.At(bars.At(last), prev)
		c.seeLonger(bars.At(last), prev)
	}
	return c.probe.Verdict()
}

// seeLonger gives the probe the newest longer bars at the close of a bar.
func (c *Condition) seeLonger(bar, prev market.Bar) {
	if len(c.longer) == 0 {
		return
	}
	c.bars = c.bars[:0]
	for _, l := range c.longer {
		newest, _ := l.At(bar, prev, func(int64) time.Time { return time.Time{} })
		c.bars = append(c.bars, newest)
	}
	c.probe.SetLonger(c.bars)
}
