package alert

import "candela/internal/kit/principal"

// Deactivate keeps the alerts that depend on something for which gone returns true from
// firing. Their uncommitted firings are dropped.
func (b *Index) Deactivate(gone func(Dependency) bool) {
	for _, slot := range b.byID {
		if b.isActive(slot) && gone(b.queues[b.record(slot).queue].dependents.dependency) {
			b.deactivate(slot)
		}
	}
}

// DeactivateOwner is Deactivate for the alerts of an owner.
func (b *Index) DeactivateOwner(owner principal.Owner) {
	n, known := b.owners.index[owner]
	if !known {
		return
	}
	for slot := b.owners.rows[n].data.first; slot != noSlot; slot = b.record(slot).next {
		if b.isActive(slot) {
			b.deactivate(slot)
		}
	}
}

func (b *Index) deactivate(slot uint32) {
	q := b.queues[b.record(slot).queue]
	if p, fired := b.uncommitted[slot]; fired {
		delete(b.uncommitted, slot)
		if !p.expires.IsZero() {
			b.expiries.push(float64(milli(p.expires)), slot)
		}
	} else {
		b.take(q, slot)
	}
	if x := b.extras[slot]; x != nil {
		b.dropRepeated(slot, x)
		q = b.requeue(slot, x)
	}
	b.count(q, -1)
}
