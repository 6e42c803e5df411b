package plan

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// maxCounted bounds the plans and limits whose refusals are counted apart.
const maxCounted = 1000

// InForce has the plans that are in force, which may change while the program runs, and counts what they refuse. The zero
// value has the default plan alone. It is safe for concurrent use.
type InForce struct {
	table atomic.Pointer[Table]

	mu      sync.Mutex
	refused map[Refusal]uint64
}

// Refusal names a limit of a plan.
type Refusal struct{ Plan, Limit string }

// Table returns the plans in force.
func (f *InForce) Table() Table {
	if t := f.table.Load(); t != nil {
		return *t
	}
	return Table{}
}

// Set puts plans in force.
func (f *InForce) Set(t Table) { f.table.Store(&t) }

// Has is Table.Has of the plans in force.
func (f *InForce) Has(name string) bool { return f.Table().Has(name) }

// Names is Table.Names of the plans in force.
func (f *InForce) Names() []string { return f.Table().Names() }

// Refused counts that a limit of a plan has refused something.
func (f *InForce) Refused(plan, limit string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refused == nil {
		f.refused = make(map[Refusal]uint64)
	}
	which := Refusal{plan, limit}
	if _, known := f.refused[which]; !known && len(f.refused) >= maxCounted {
		which.Plan = "other" // plans that came and went
	}
	f.refused[which]++
}

// Refusals returns the counts since the start.
func (f *InForce) Refusals() map[Refusal]uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.refused)
}

// Changed lists the plans whose limits are others than before, by name.
func (t Table) Changed(before Table) []string {
	changed := []string{}
	for _, name := range t.Names() {
		if !before.Has(name) || t.Of(name) != before.Of(name) {
			changed = append(changed, name)
		}
	}
	for _, name := range before.Names() {
		if !t.Has(name) {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return changed
}

// MarshalJSON writes the plans with all their limits, for replicas of any version: a limit that one does not know is ignored,
// and one that is missing is that of the default plan.
func (t Table) MarshalJSON() ([]byte, error) {
	form := make(map[string]map[string]int, len(t.plans))
	for _, name := range t.Names() {
		values := make(map[string]int)
		for _, l := range t.Limits(name) {
			values[l.Key] = l.Value
		}
		form[name] = values
	}
	return json.Marshal(form)
}

// UnmarshalJSON reads what MarshalJSON has written.
func (t *Table) UnmarshalJSON(data []byte) error {
	var form map[string]map[string]int
	if err := json.Unmarshal(data, &form); err != nil {
		return err
	}
	t.plans = make(map[string]Plan, len(form))
	for name, values := range form {
		p := standard()
		p.Name = name
		for _, l := range limits() {
			if n, ok := values[l.key]; ok && n >= 1 && n <= l.top {
				*l.of(&p) = n
			}
		}
		t.plans[name] = p
	}
	return nil
}
