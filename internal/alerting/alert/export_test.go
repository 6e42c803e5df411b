package alert

import (
	"iter"
	"time"

	"candela/internal/kit/principal"
	"candela/lib/ta"
)

// Define lets alerts name a selection that has other parameters than the
// catalogue's defaults, which conditions cannot carry yet.
func (b *Index) Define(name string, s *ta.Selection) {
	b.selections[name] = selected{s.Key(), s, s.Outputs()}
}

// Nearest is what thresholds are compared as.
var Nearest = toFloat

// Held counts what the index holds for its alerts, and the rows it keeps for
// alerts to come.
func (b *Index) Held() (held, rows int) {
	held = len(b.byID) + len(b.owners.index) + len(b.symbols.index) + len(b.notes) + len(b.bigThresholds) +
		len(b.dependencies) + len(b.expiries.entries) + len(b.uncommitted) + len(b.instruments) + len(b.extras) + len(b.repeated) + len(b.uses)
	return held, len(b.owners.rows) + len(b.symbols.rows) + len(b.queues) + len(b.pages)*pageSize
}

// NextExpiry returns when the next alert expires, and false when none will.
func (b *Index) NextExpiry() (time.Time, bool) {
	if len(b.expiries.entries) == 0 {
		return time.Time{}, false
	}
	return fromMilli(int64(b.expiries.entries[0].key)), true
}

// Needs yields what the alerts of the index depend on, each once, in no order.
// The index must not change meanwhile.
func (b *Index) Needs() iter.Seq[Dependency] {
	return func(yield func(Dependency) bool) {
		for n := range b.dependencies {
			if !yield(n) {
				return
			}
		}
	}
}

// Get returns the owner's alert of that id, and false when the owner has none.
func (b *Index) Get(owner principal.Owner, id string) (Alert, bool) {
	slot, there := b.find(owner, id)
	if !there {
		return Alert{}, false
	}
	return b.alert(slot), true
}

// Len returns the number of alerts, inactive ones included.
func (b *Index) Len() int { return len(b.byID) }

// RemoveFired deletes an alert that fires once as Committed does.
func (b *Index) RemoveFired(id string) {
	b.Committed(&Firing{Alert: Alert{ID: id, State: State{Fires: MaxFires}}})
}

// Bounds returns the numbers between which the lines of an indicator stay.
func (o Operand) Bounds(l ta.Library) (of *ta.Selection, lo, hi float64) { return o.bounds(l) }
