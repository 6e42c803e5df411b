package alert_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"candela/internal/alerting/alert"
	"candela/internal/kit/id"
	"candela/internal/kit/principal"
	"candela/lib/market"
	"candela/lib/ta"
)

// machine runs an index and the model side by side. Few symbols, thresholds and
// moments make ties and boundaries likely.
type machine struct {
	index *alert.Index
	model *model
	now   time.Time
	known []string // every id there ever was
}

var (
	owners     = rapid.SampledFrom([]string{"local", "anna", "bert"})
	symbols    = rapid.SampledFrom([]market.Symbol{btc, eth})
	levels     = rapid.SampledFrom([]string{"0.1", "0.10", "0.2", "0.3", "0.30000000000000004441", "1", "1.5", "2", "64000.01", "-1"})
	prices     = rapid.SampledFrom([]float64{-1, 0, 0.1, 0.2, 0.3, 0.30000000000000004, 1, 1.25, 1.5, 2, 64000.01})
	intervals  = rapid.SampledFrom([]market.Interval{market.Minute1, market.Hour4})
	indicators = rapid.SampledFrom([]string{"macd", "wavetrend", "ichimoku"})
	labels     = rapid.SampledFrom([]string{"cross_up", "cross_down"})
)

func (m *machine) add(t *rapid.T) {
	symbol := symbols.Draw(t, "symbol")
	a := alert.Alert{
		ID: id.New(m.now), Owner: principal.Owner(owners.Draw(t, "owner")), Symbol: market.Symbol{Name: symbol.Name}, Instrument: symbol,
		Condition: alert.Condition{Type: rapid.SampledFrom([]alert.Type{alert.PriceAbove, alert.PriceBelow, alert.IndicatorSignal}).Draw(t, "type")},
		Created:   m.now, Note: rapid.SampledFrom([]string{"", "note"}).Draw(t, "note"),
	}
	if rapid.Bool().Draw(t, "expires") {
		a.Expires = m.now.Add(time.Duration(rapid.IntRange(1, 6).Draw(t, "life")) * 30 * time.Second)
	}
	if a.Condition.Type == alert.IndicatorSignal {
		a.Interval, a.Condition.Indicator, a.Condition.Signal = intervals.Draw(t, "interval"), indicators.Draw(t, "indicator"), labels.Draw(t, "label")
	} else {
		if rapid.Bool().Draw(t, "since") {
			a.BarOpen = m.now.Truncate(time.Second).Add(-time.Duration(rapid.IntRange(0, 90).Draw(t, "seconds")) * time.Second)
		}
		a.Condition.Threshold = decimal.RequireFromString(levels.Draw(t, "threshold"))
	}
	add := m.index.Add
	if rapid.IntRange(0, 3).Draw(t, "inactive") == 0 {
		add, m.model.inactive[a.ID] = m.index.AddInactive, true
	}
	if err := add(a); err != nil {
		t.Fatal(err)
	}
	if m.index.Add(a) == nil {
		t.Fatal("the same alert was added twice")
	}
	m.model.alerts = append(m.model.alerts, a)
	m.known = append(m.known, a.ID)
}

func (m *machine) activate(t *rapid.T) {
	if len(m.known) == 0 {
		t.Skip("nothing to activate")
	}
	target := rapid.SampledFrom(m.known).Draw(t, "id")
	if got, want := m.index.Activate(target), m.model.activate(target); got != want {
		t.Fatalf("Activate reports %v, want %v", got, want)
	}
}

func (m *machine) deactivate(t *rapid.T) {
	instrument := symbols.Draw(t, "instrument")
	m.index.Deactivate(func(n alert.Dependency) bool { return n.Instrument == instrument })
	m.model.deactivate(instrument)
}

func (m *machine) cancel(t *rapid.T) {
	if len(m.known) == 0 {
		t.Skip("nothing to cancel")
	}
	target, owner := rapid.SampledFrom(m.known).Draw(t, "id"), principal.Owner(owners.Draw(t, "owner"))
	i := slices.IndexFunc(m.model.alerts, func(a alert.Alert) bool { return a.ID == target && a.Owner == owner })
	got, there := m.index.Remove(owner, target)
	if there != (i >= 0) {
		t.Fatalf("Remove says %v", there)
	}
	if there {
		same(t, m.model.alerts[i], got)
		m.model.remove(target)
	}
}

func (m *machine) tick(t *rapid.T) {
	symbol, x, y := symbols.Draw(t, "symbol"), prices.Draw(t, "price"), prices.Draw(t, "price")
	same(t, m.model.touch(symbol, min(x, y), max(x, y), m.now), m.index.FirePrice(nil, symbol, min(x, y), max(x, y), x, m.now))
}

// missedBar is a bar read afterwards; it may have closed before the alerts were made.
func (m *machine) missedBar(t *rapid.T) {
	symbol, x, y := symbols.Draw(t, "symbol"), prices.Draw(t, "price"), prices.Draw(t, "price")
	c := prices.Filter(func(c float64) bool { return min(x, y) <= c && c <= max(x, y) }).Draw(t, "close")
	closed := m.now.Add(-time.Duration(rapid.IntRange(0, 4).Draw(t, "age")) * 30 * time.Second)
	bar := market.Bar{T: closed.Add(-time.Minute).Unix(), H: max(x, y), L: min(x, y), C: c}
	same(t, m.model.touchBar(symbol, bar, closed, true), m.index.FireBar(nil, symbol, bar, closed, true))
}

func (m *machine) signal(t *rapid.T) {
	n := alert.Dependency{Instrument: symbols.Draw(t, "symbol"), Interval: intervals.Draw(t, "interval")}
	name, label := indicators.Draw(t, "indicator"), labels.Draw(t, "label")
	closed := m.now.Add(-time.Duration(rapid.IntRange(0, 4).Draw(t, "age")) * 30 * time.Second)
	selection, err := ta.ResolveAlert(name)
	if err != nil {
		t.Fatal(err)
	}
	late := rapid.Bool().Draw(t, "late")
	same(t, m.model.signal(n, name, label, 1.5, closed, late), m.index.FireSignal(nil, n, selection.Key(), ta.Signal{Label: label, Y: 1.5}, closed, late))
}

// commit settles a part of what is pending; the rest is a commit that failed.
func (m *machine) commit(t *rapid.T) {
	for _, f := range m.index.Uncommitted(nil) {
		if rapid.Bool().Draw(t, "commits") {
			m.index.RemoveFired(f.ID)
			m.model.remove(f.ID)
		}
	}
}

func (m *machine) wait(t *rapid.T) {
	m.now = m.now.Add(time.Duration(rapid.IntRange(1, 3).Draw(t, "wait")) * 30 * time.Second)
}

func (m *machine) expire(t *rapid.T) {
	want, got := m.model.expire(m.now), m.index.Expire(nil, m.now, nil)
	if !slices.IsSortedFunc(got, func(x, y alert.Alert) int { return x.Expires.Compare(y.Expires) }) {
		t.Fatal("not in the order they expired in")
	}
	slices.SortFunc(want, byCreation)
	slices.SortFunc(got, byCreation)
	same(t, want, got)
}

// check compares everything that can be asked.
func (m *machine) check(t *rapid.T) {
	if m.index.Len() != len(m.model.alerts) {
		t.Fatalf("Len is %d, want %d", m.index.Len(), len(m.model.alerts))
	}
	if got, want := m.index.ActiveInstruments(), m.model.instruments(); got != want {
		t.Fatalf("ActiveInstruments is %d, want %d", got, want)
	}
	if m.index.Active() != m.model.active() {
		t.Fatalf("Active is %d, want %d", m.index.Active(), m.model.active())
	}
	for _, owner := range []principal.Owner{"local", "anna", "bert", "nobody"} {
		want := m.model.list(owner)
		same(t, want, m.index.List(owner))
		if m.index.Count(owner) != len(want) {
			t.Fatalf("Count of %s is %d, want %d", owner, m.index.Count(owner), len(want))
		}
	}
	same(t, m.model.pending, m.index.Uncommitted(nil))
	needs := make(map[alert.Dependency][]string)
	for n := range m.index.Needs() {
		var names []string
		for g := range m.index.Groups(n) {
			names = append(names, g.Selection.Def.Name)
		}
		if m.index.DependsOn(n) {
			needs[n] = names
		} else if len(names) > 0 {
			t.Fatalf("%v is not needed and has groups %v", n, names)
		}
	}
	same(t, m.model.needs(), needs)
	next, some := m.index.NextExpiry()
	if wantNext, wantSome := m.model.nextExpiry(); some != wantSome || !next.Equal(wantNext) {
		t.Fatalf("NextExpiry is %v %v, want %v %v", next, some, wantNext, wantSome)
	}
}

func same(t *rapid.T, want, got any) {
	t.Helper()
	if reflect.DeepEqual(want, got) {
		return // nearly always, and much faster than a difference
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("the model says -, the index +:\n%s", diff)
	}
}

func TestIndex_EqualsASearchedSlice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{index: alert.NewIndex(), model: &model{inactive: make(map[string]bool)}, now: start}
		t.Repeat(map[string]func(*rapid.T){
			"add": m.add, "add more": m.add, "cancel": m.cancel, "activate": m.activate, "deactivate": m.deactivate, "tick": m.tick, "missed bar": m.missedBar, "signal": m.signal,
			"commit": m.commit, "wait": m.wait, "expire": m.expire, "": m.check,
		})
	})
}

// TestToFloat_IsMonotonic holds what makes "reaches" exact: a price that is at
// or above the threshold in decimals is so in floats.
func TestToFloat_IsMonotonic(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := rapid.Custom(func(t *rapid.T) decimal.Decimal {
			digits := rapid.StringMatching(`-?[0-9]{1,30}`).Draw(t, "digits")
			d, err := decimal.NewFromString(digits)
			if err != nil {
				t.Fatal(err)
			}
			return d.Shift(int32(rapid.IntRange(-40, 10).Draw(t, "shift")))
		})
		x, y := draw.Draw(t, "x"), draw.Draw(t, "y")
		if c := x.Cmp(y); c < 0 && alert.Nearest(x) > alert.Nearest(y) || c == 0 && alert.Nearest(x) != alert.Nearest(y) {
			t.Fatalf("%s and %s change order", x, y)
		}
		if got, want := alert.Nearest(x), x.InexactFloat64(); got != want {
			t.Fatalf("%s is %v, want %v", x, got, want)
		}
	})
}
