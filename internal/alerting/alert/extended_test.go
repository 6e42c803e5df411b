package alert_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"candela/internal/alerting/alert"
	"candela/internal/kit/id"
	"candela/lib/market"
	"candela/lib/ta"
)

// moment is a bar with what the indicators say of it.
type moment struct {
	bar     market.Bar
	values  map[string]float64 // by "indicator.line"
	signals []string
	high    map[int]bool // new highs by number of bars
	closed  time.Time
}

// judge evaluates conditions in the plainest way: it looks at two moments.
type judge struct{ now, before *moment }

func (j judge) side(m *moment, o *alert.Operand) float64 {
	switch {
	case m == nil:
		return math.NaN()
	case o.Indicator != "":
		return m.values[o.Indicator+"."+o.Line]
	case o.Price == "high":
		return m.bar.H
	case o.Price != "":
		return m.bar.C
	}
	return o.Number.InexactFloat64()
}

// compares reports whether a comparison was true at a moment.
func (j judge) compares(m *moment, c *alert.Condition) bool {
	left, right := j.side(m, &c.Left), j.side(m, &c.Right)
	switch c.Op {
	case alert.Less:
		return left < right
	case alert.LessEqual:
		return left <= right
	case alert.Greater:
		return left > right
	default:
		return left >= right
	}
}

// plain turns the short forms of a comparison into a comparison.
func plain(c alert.Condition) alert.Condition {
	switch c.Type {
	case alert.PriceAbove, alert.PriceBelow:
		op := alert.GreaterEqual
		if c.Type == alert.PriceBelow {
			op = alert.LessEqual
		}
		return alert.Condition{Type: alert.Value, Left: alert.Operand{Price: "close"}, Op: op, Right: alert.Operand{Number: c.Threshold}}
	case alert.PercentChange:
		return alert.Condition{Type: alert.Value, Left: alert.Operand{Indicator: "roc", Line: "ROC"}, Op: c.Op, Right: alert.Operand{Number: c.Threshold}}
	default:
		return c
	}
}

// says returns whether a condition is true, whether it became true, and whether it is true
// at single moments only.
func (j judge) says(c alert.Condition) (holds, rises, event bool) {
	c = plain(c)
	switch {
	case c.Type == alert.IndicatorSignal:
		holds = slices.Contains(j.now.signals, c.Signal)
		return holds, holds, true
	case c.Type == alert.NewHigh:
		holds = j.now.high[c.Bars]
		return holds, holds, true
	case c.Type == alert.All || c.Type == alert.Any:
		return j.compound(&c)
	case c.Op.Event():
		holds = j.happens(&c)
		return holds, holds, true
	}
	holds = j.compares(j.now, &c)
	return holds, holds && !j.compares(j.before, &c), false
}

func (j judge) happens(c *alert.Condition) bool {
	was, is := j.side(j.before, &c.Left), j.side(j.now, &c.Left)
	in := func(x float64) bool { return x >= c.Low.InexactFloat64() && x <= c.High.InexactFloat64() }
	switch c.Op {
	case alert.CrossesAbove:
		return was <= j.side(j.before, &c.Right) && is > j.side(j.now, &c.Right)
	case alert.CrossesBelow:
		return was >= j.side(j.before, &c.Right) && is < j.side(j.now, &c.Right)
	case alert.Enters:
		return !math.IsNaN(was) && !in(was) && in(is)
	default:
		return in(was) && !in(is)
	}
}

func (j judge) compound(c *alert.Condition) (holds, rises, event bool) {
	all, one, rose, happened, was := true, false, false, false, false
	for _, m := range c.Members {
		h, r, e := j.says(m)
		all, one, rose, happened = all && h, one || h, rose || r, happened || e && h
		if p := plain(m); !e {
			was = was || j.compares(j.before, &p)
		}
	}
	if c.Type == alert.All {
		return all, all && rose, false
	}
	return one, happened || rose && !was, false
}

// extended runs an index and the judge side by side over random bars.
type extended struct {
	index   *alert.Index
	alerts  map[string]*alert.Alert
	moments []*moment
	now     time.Time
}

var (
	numbers = rapid.SampledFrom([]string{"1", "2", "3", "4.0"})
	values  = rapid.SampledFrom([]float64{0, 1, 2, 3, 4, 5, math.Nextafter(2, 3)})
	allOps  = rapid.SampledFrom([]alert.Op{alert.Less, alert.LessEqual, alert.Greater, alert.GreaterEqual, alert.CrossesAbove, alert.CrossesBelow, alert.Enters, alert.Leaves})
)

func drawMember(t *rapid.T) alert.Condition {
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		return alert.Condition{Type: alert.IndicatorSignal, Indicator: "macd", Signal: labels.Draw(t, "label")}
	case 1:
		return alert.Condition{Type: alert.NewHigh, Bars: rapid.IntRange(1, 2).Draw(t, "bars")}
	case 2:
		return alert.Condition{Type: alert.PercentChange, Bars: 1, Op: rapid.SampledFrom([]alert.Op{alert.Less, alert.CrossesAbove, alert.GreaterEqual}).Draw(t, "op"), Threshold: dec(numbers.Draw(t, "number"))}
	case 3:
		return alert.Condition{Type: rapid.SampledFrom([]alert.Type{alert.PriceAbove, alert.PriceBelow}).Draw(t, "side"), Threshold: dec(numbers.Draw(t, "number"))}
	}
	c := alert.Condition{Type: alert.Value, Op: allOps.Draw(t, "op")}
	c.Left = rapid.SampledFrom([]alert.Operand{{Price: "close"}, {Indicator: "rsi", Line: "RSI"}, {Indicator: "macd", Line: "MACD"}, {Indicator: "macd", Line: "Histogram"}}).Draw(t, "left")
	switch {
	case c.Op.Ranged():
		c.Low, c.High = dec("2"), dec("3")
	case rapid.Bool().Draw(t, "number"):
		c.Right.Number = dec(numbers.Draw(t, "right"))
	default:
		c.Right = rapid.SampledFrom([]alert.Operand{{Price: "high"}, {Indicator: "macd", Line: "Signal"}}).Draw(t, "right")
	}
	return c
}

func (m *extended) add(t *rapid.T) {
	c := drawMember(t)
	if rapid.IntRange(0, 2).Draw(t, "compound") == 0 || c.Type.OnPrice() {
		c = alert.Condition{Type: rapid.SampledFrom([]alert.Type{alert.All, alert.Any}).Draw(t, "type"), Members: []alert.Condition{c, drawMember(t)}}
	}
	a := alert.Alert{ID: id.New(m.now), Owner: "ann", Symbol: btc, Instrument: btc, Interval: market.Hour1, Condition: c, Created: m.now.Add(time.Second)}
	if rapid.Bool().Draw(t, "repeats") || c.Type == alert.IndicatorSignal {
		a.Repeat = alert.Repeat{MaxFires: rapid.IntRange(1, 4).Draw(t, "fires"), Cooldown: time.Duration(rapid.IntRange(0, 3).Draw(t, "cooldown")) * time.Hour}
	}
	if rapid.IntRange(0, 3).Draw(t, "expires") == 0 {
		a.Expires = m.now.Add(3 * time.Hour)
	}
	if err := m.index.Add(a); err != nil {
		t.Fatal(err)
	}
	m.alerts[a.ID] = &a
}

// moment draws the next bar.
func (m *extended) moment(t *rapid.T) *moment {
	m.now = m.now.Add(time.Hour)
	x := &moment{closed: m.now, values: make(map[string]float64), high: make(map[int]bool)}
	x.bar = market.Bar{T: m.now.Add(-time.Hour).Unix(), C: values.Draw(t, "close"), H: values.Draw(t, "high")}
	for _, name := range []string{"rsi.RSI", "macd.MACD", "macd.Signal", "macd.Histogram", "roc.ROC"} {
		x.values[name] = values.Draw(t, name)
	}
	for _, label := range []string{"cross_up", "cross_down"} {
		if rapid.IntRange(0, 2).Draw(t, label) == 0 {
			x.signals = append(x.signals, label)
		}
	}
	for n := 1; n <= 2; n++ {
		if len(m.moments) < n {
			continue
		}
		x.high[n] = !slices.ContainsFunc(m.moments[len(m.moments)-n:], func(o *moment) bool { return o.bar.H >= x.bar.H })
	}
	return x
}

// row returns an indicator at two moments as the index reads it.
func (m *extended) row(s *ta.Selection, now, before *moment) alert.Row {
	outputs := s.Outputs()
	last := slices.MaxFunc(outputs, func(a, b ta.Output) int { return a.Column - b.Column })
	r := alert.Row{Values: make([]float64, last.Column+1), Prev: make([]float64, last.Column+1)}
	for _, o := range outputs {
		r.Values[o.Column] = m.value(s, o.Label, now, len(m.moments))
		r.Prev[o.Column] = m.value(s, o.Label, before, len(m.moments)-1)
	}
	if s.Def.Name == "macd" {
		for _, label := range now.signals {
			r.Signals = append(r.Signals, ta.Signal{Label: label, Y: 7})
		}
	}
	return r
}

func (m *extended) value(s *ta.Selection, label string, at *moment, n int) float64 {
	if at == nil {
		return math.NaN()
	}
	if s.Def.Name != "donchian" {
		return at.values[s.Def.Name+"."+label]
	}
	bars := 1
	if strings.Contains(s.Key(), "=2") {
		bars = 2
	}
	if n+1 < bars {
		return math.NaN()
	}
	top := at.bar.H
	if bars == 2 {
		top = max(top, m.moments[n-1].bar.H)
	}
	return top
}

func (m *extended) close(t *rapid.T) {
	var before *moment
	var prev market.Bar
	if n := len(m.moments); n > 0 {
		before = m.moments[n-1]
		prev = before.bar
	}
	now := m.moment(t)
	n := alert.Dependency{Instrument: btc, Interval: market.Hour1}
	for g := range m.index.Groups(n) {
		m.index.SetRow(n, g.Key, m.row(g.Selection, now, before), now.closed)
	}
	got := make(map[string]float64)
	for _, f := range m.index.FireClose(nil, n, now.bar, prev, now.closed, false) {
		got[fmt.Sprint(f.ID, " ", f.State.Fires)] = 0
	}
	m.moments = append(m.moments, now)
	want := m.fires(judge{now, before})
	if fmt.Sprint(got) != fmt.Sprint(want) {
		for _, a := range m.alerts {
			t.Logf("%s %s", a.ID, a.Describe())
		}
		t.Fatalf("fired %v, the judge says %v", got, want)
	}
}

// fires returns the firings of a moment and changes the states of the alerts.
func (m *extended) fires(j judge) map[string]float64 {
	fired := make(map[string]float64)
	for key, a := range m.alerts {
		holds, rises, _ := j.says(a.Condition)
		s := &a.State
		switch {
		case !a.Created.Before(j.now.closed), !a.Expires.IsZero() && !j.now.closed.Before(a.Expires), !holds:
			continue
		case s.Fires > 0 && (!rises || j.now.closed.Before(s.LastFired.Add(a.Repeat.Cooldown))):
			continue
		}
		s.Fires, s.LastFired = s.Fires+1, j.now.closed
		fired[fmt.Sprint(a.ID, " ", s.Fires)] = 0
		if s.Fires >= a.Repeat.MaxFires {
			delete(m.alerts, key)
		}
	}
	return fired
}

// commit stores what has fired.
func (m *extended) commit(*rapid.T) {
	for _, f := range m.index.Uncommitted(nil) {
		m.index.Committed(&f)
	}
}

// restart hands the alerts to a new index, as a restart and a handover do. What is not
// committed is committed first: the engine that takes over finds it again.
func (m *extended) restart(t *rapid.T) {
	m.commit(t)
	all := m.index.List("ann")
	m.index = alert.NewIndex()
	for _, a := range all {
		if err := m.index.Add(a); err != nil {
			t.Fatal(err)
		}
	}
}

// pause deactivates everything and activates it again.
func (m *extended) pause(t *rapid.T) {
	m.commit(t)
	m.index.Deactivate(func(alert.Dependency) bool { return true })
	for _, a := range m.index.List("ann") {
		if !m.index.Activate(a.ID) {
			t.Fatal("not inactive")
		}
	}
}

func (m *extended) cancel(t *rapid.T) {
	for id := range m.alerts {
		m.index.Remove("ann", id)
		delete(m.alerts, id)
		return
	}
	_ = t
}

func TestIndex_FiresWhatTwoBarsSay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &extended{index: alert.NewIndex(), alerts: make(map[string]*alert.Alert), now: start}
		t.Repeat(map[string]func(*rapid.T){
			"add": m.add, "add more": m.add, "close": m.close, "close again": m.close, "close once more": m.close,
			"commit": m.commit, "restart": m.restart, "pause": m.pause, "cancel": m.cancel,
			"": func(t *rapid.T) {
				m.commit(t)
				if got := len(m.index.List("ann")); got != len(m.alerts) {
					t.Fatalf("%d alerts, the judge has %d", got, len(m.alerts))
				}
			},
		})
		for _, a := range m.index.List("ann") {
			m.index.Remove("ann", a.ID)
		}
		if held, _ := m.index.Held(); held != 0 {
			t.Fatalf("an empty index holds %d things", held)
		}
	})
}
