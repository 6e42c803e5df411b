package alert

import (
	"cmp"
	"slices"
	"strings"

	"candela/internal/kit/principal"
)

// Key is the ID of an alert in binary.
type Key [16]byte

// Inactive names the inactive alerts of one dependency.
type Inactive struct {
	Dependency Dependency
	Keys       []Key
}

// Inactive returns the inactive alerts whose dependency wanted selects, ordered by dependency. It
// copies no more than their keys: a replica that starts activates all alerts of its share.
func (b *Index) Inactive(wanted func(Dependency) bool) []Inactive {
	byQueue := make([][]Key, len(b.queues))
	chosen := make([]bool, len(b.queues))
	for i, q := range b.queues {
		chosen[i] = q != nil && wanted(q.dependents.dependency)
	}
	for key, slot := range b.byID {
		if q := b.record(slot).queue; chosen[q] && !b.isActive(slot) {
			byQueue[q] = append(byQueue[q], key)
		}
	}
	byDependency := make(map[Dependency][]Key)
	for i, keys := range byQueue {
		if len(keys) > 0 {
			d := b.queues[i].dependents.dependency
			byDependency[d] = append(byDependency[d], keys...)
		}
	}
	all := make([]Inactive, 0, len(byDependency))
	for d, keys := range byDependency {
		all = append(all, Inactive{d, keys})
	}
	slices.SortFunc(all, func(x, y Inactive) int {
		a, o := x.Dependency, y.Dependency
		return cmp.Or(strings.Compare(a.Instrument.Name, o.Instrument.Name), strings.Compare(a.Instrument.Venue, o.Instrument.Venue), cmp.Compare(a.Interval, o.Interval))
	})
	return all
}

// pagesAtOnce is how many pages of records Page reads.
const pagesAtOnce = 8

// Page returns some alerts, uncommitted ones included, and the number to call it with for the next
// ones, 0 after the last. It begins with 0. Between two calls the index may change: an alert that
// is there all the while is returned once.
func (b *Index) Page(from int) (alerts []Alert, next int) {
	end := min(len(b.pages), from+pagesAtOnce)
	for n := from; n < end; n++ {
		for i := range b.pages[n] {
			if b.pages[n][i].id != (Key{}) {
				alerts = append(alerts, b.alert(toUint32(n<<pageBits|i)))
			}
		}
	}
	if end == len(b.pages) {
		end = 0
	}
	return alerts, end
}

// OwnerOf returns the owner of an alert.
func (b *Index) OwnerOf(key Key) (principal.Owner, bool) {
	slot, there := b.byID[key]
	if !there {
		return "", false
	}
	return b.owners.rows[b.record(slot).owner].key, true
}
