package indicator

// zoneSignals is the switch for separate entry and exit signals of an extreme zone. It
// is off on charts, where older labels already mark the exits.
const zoneSignals = "zone_signals"

func zoneSwitch() Param {
	return Bool(zoneSignals, false, "also signal when a zone is entered, and under a second name when it is left")
}

// enterTriggers describes the entries and exits of both zones.
func enterTriggers(prefix, name, top, bottom string) []Trigger {
	where := "; y is " + name + "; on charts with `" + zoneSignals + "`"
	return []Trigger{
		{prefix + "oversold_enter", name + " falls below " + bottom + where},
		{prefix + "oversold_exit", name + " comes back from below " + bottom + where},
		{prefix + "overbought_enter", name + " rises above " + top + where},
		{prefix + "overbought_exit", name + " comes back from above " + top + where},
	}
}

// zoneDetector raises low and high when column a leaves a zone and, if the switch is
// on, entries and exits under the labels of enterTriggers.
func zoneDetector(v Values, a int, bottom float64, low string, top float64, high, prefix string) func(*Row) {
	if !v.Bool(zoneSignals) {
		return func(r *Row) { r.exits(a, bottom, low, top, high) }
	}
	lowIn, lowOut := prefix+"oversold_enter", prefix+"oversold_exit"
	highIn, highOut := prefix+"overbought_enter", prefix+"overbought_exit"
	return func(r *Row) {
		r.exits(a, bottom, low, top, high)
		r.exits(a, bottom, lowOut, top, highOut)
		if r.Prev[a] >= bottom && r.Values[a] < bottom {
			r.Signal(lowIn, r.Values[a])
		}
		if r.Prev[a] <= top && r.Values[a] > top {
			r.Signal(highIn, r.Values[a])
		}
	}
}
