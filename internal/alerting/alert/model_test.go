package alert_test

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/lib/market"
)

// model is the index as anyone would write it first: one slice, searched from
// end to end. It says what the rules are; the index must not differ from it.
type model struct {
	alerts   []alert.Alert
	pending  []alert.Firing
	inactive map[string]bool // by id
}

func (m *model) isPending(id string) bool {
	return slices.ContainsFunc(m.pending, func(f alert.Firing) bool { return f.ID == id })
}

// fire makes the alerts of that type pending that came says came true, and
// returns them ordered by key, creation and id.
func (m *model) fire(kind alert.Type, n alert.Dependency, at time.Time, key func(*alert.Alert) float64, came func(*alert.Alert) (float64, bool)) []alert.Firing {
	var firings []alert.Firing
	for i := range m.alerts {
		a := &m.alerts[i]
		if a.Condition.Type != kind || a.Dependency() != n || m.isPending(a.ID) || m.inactive[a.ID] || !a.Expires.IsZero() && !at.Before(a.Expires) {
			continue
		}
		if value, yes := came(a); yes {
			firings = append(firings, alert.Firing{Alert: *a, Value: value, At: at})
		}
	}
	slices.SortFunc(firings, func(x, y alert.Firing) int {
		return cmp.Or(cmp.Compare(key(&x.Alert), key(&y.Alert)), byCreation(x.Alert, y.Alert))
	})
	return firings
}

func byCreation(x, y alert.Alert) int {
	return cmp.Or(x.Created.Compare(y.Created), strings.Compare(x.ID, y.ID))
}

func above(a *alert.Alert) float64 { return a.Condition.Threshold.InexactFloat64() }

func below(a *alert.Alert) float64 { return -a.Condition.Threshold.InexactFloat64() }

func (m *model) touch(instrument market.Symbol, lo, hi float64, at time.Time) []alert.Firing {
	n := alert.Dependency{Instrument: instrument}
	firings := append(
		m.fire(alert.PriceAbove, n, at, above, func(a *alert.Alert) (float64, bool) { return hi, above(a) <= hi }),
		m.fire(alert.PriceBelow, n, at, below, func(a *alert.Alert) (float64, bool) { return lo, -below(a) >= lo })...)
	m.pending = append(m.pending, firings...)
	return firings
}

// touchBar asks each alert which price of the bar is the furthest that counts for it.
func (m *model) touchBar(instrument market.Symbol, bar market.Bar, closed time.Time, late bool) []alert.Firing {
	n, opened := alert.Dependency{Instrument: instrument}, time.Unix(bar.T, 0)
	extreme := func(a *alert.Alert, whole float64) float64 {
		if opened.Before(a.Created) && (a.BarOpen.IsZero() || opened.Before(a.BarOpen)) {
			return bar.C
		}
		return whole
	}
	firings := append(
		m.fire(alert.PriceAbove, n, closed, above, func(a *alert.Alert) (float64, bool) {
			hi := extreme(a, bar.H)
			return hi, above(a) <= hi && a.Created.Before(closed)
		}),
		m.fire(alert.PriceBelow, n, closed, below, func(a *alert.Alert) (float64, bool) {
			lo := extreme(a, bar.L)
			return lo, -below(a) >= lo && a.Created.Before(closed)
		})...)
	for i := range firings {
		firings[i].Late = late
	}
	m.pending = append(m.pending, firings...)
	return firings
}

func (m *model) signal(n alert.Dependency, indicator, label string, value float64, closed time.Time, late bool) []alert.Firing {
	firings := m.fire(alert.IndicatorSignal, n, closed, func(*alert.Alert) float64 { return 0 }, func(a *alert.Alert) (float64, bool) {
		return value, a.Condition.Indicator == indicator && a.Condition.Signal == label && a.Created.Before(closed)
	})
	for i := range firings {
		firings[i].Late = late
	}
	m.pending = append(m.pending, firings...)
	return firings
}

func (m *model) remove(id string) {
	m.alerts = slices.DeleteFunc(m.alerts, func(a alert.Alert) bool { return a.ID == id })
	m.pending = slices.DeleteFunc(m.pending, func(f alert.Firing) bool { return f.ID == id })
	delete(m.inactive, id)
}

func (m *model) expire(now time.Time) []alert.Alert {
	var gone []alert.Alert
	for _, a := range slices.Clone(m.alerts) {
		if !a.Expires.IsZero() && !a.Expires.After(now) && !m.isPending(a.ID) && !m.inactive[a.ID] {
			gone = append(gone, a)
			m.remove(a.ID)
		}
	}
	return gone
}

func (m *model) list(owner principal.Owner) []alert.Alert {
	var mine []alert.Alert
	for _, a := range m.alerts {
		if a.Owner == owner {
			mine = append(mine, a)
		}
	}
	slices.SortFunc(mine, byCreation)
	return mine
}

// activate lets an alert fire, and reports whether it was inactive.
func (m *model) activate(id string) bool {
	was := m.inactive[id]
	delete(m.inactive, id)
	return was
}

func (m *model) deactivate(instrument market.Symbol) {
	for _, a := range m.alerts {
		if a.Instrument == instrument {
			m.inactive[a.ID] = true
		}
	}
	m.pending = slices.DeleteFunc(m.pending, func(f alert.Firing) bool { return f.Instrument == instrument })
}

func (m *model) active() int { return len(m.alerts) - len(m.inactive) }

// instruments counts the instruments of active alerts.
func (m *model) instruments() int {
	all := make(map[market.Symbol]bool)
	for _, a := range m.alerts {
		if !m.inactive[a.ID] {
			all[a.Instrument] = true
		}
	}
	return len(all)
}

// needs returns the needs of active alerts with the indicators of each, sorted.
func (m *model) needs() map[alert.Dependency][]string {
	needs := make(map[alert.Dependency][]string)
	for i := range m.alerts {
		a := &m.alerts[i]
		if m.inactive[a.ID] {
			continue
		}
		names := needs[a.Dependency()]
		if name := a.Condition.Indicator; name != "" && !slices.Contains(names, name) {
			names = append(names, name)
			slices.Sort(names)
		}
		needs[a.Dependency()] = names
	}
	return needs
}

func (m *model) nextExpiry() (next time.Time, some bool) {
	for _, a := range m.alerts {
		if !a.Expires.IsZero() && !m.isPending(a.ID) && (!some || a.Expires.Before(next)) {
			next, some = a.Expires, true
		}
	}
	return next, some
}
