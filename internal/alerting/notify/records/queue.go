package records

import (
	"maps"
	"slices"

	"candela/internal/alerting/notify"
)

// A Settlement reports whether a client received a batch.
type Settlement struct {
	Batch     string
	Seqs      []uint64
	Delivered bool
}

// AddLease records that a replica has taken a batch. The maps are copied because another
// reader may hold the previous ones.
func (q *Queue) AddLease(replica, batch string, seqs SeqDeltas) {
	q.Leases = maps.Clone(q.Leases)
	if q.Leases == nil {
		q.Leases = map[string]map[string]SeqDeltas{}
	}
	batches := maps.Clone(q.Leases[replica])
	if batches == nil {
		batches = map[string]SeqDeltas{}
	}
	batches[batch] = seqs
	q.Leases[replica] = batches
}

func (q *Queue) removeLease(replica, batch string) bool {
	if _, ok := q.Leases[replica][batch]; !ok {
		return false
	}
	q.Leases = maps.Clone(q.Leases)
	batches := maps.Clone(q.Leases[replica])
	delete(batches, batch)
	if q.Leases[replica] = batches; len(batches) == 0 {
		delete(q.Leases, replica)
	}
	return true
}

func (q *Queue) returnSeqs(seqs []uint64) {
	returned := append(slices.Clone(q.Returned), seqs...)
	slices.Sort(returned)
	q.Returned = slices.Compact(returned)
	q.Returned = q.Returned[max(0, len(q.Returned)-notify.MaxRetained):]
}

// Settle removes the leases of settled batches and returns undelivered entries to the
// queue. It reports whether the queue changed.
func (q *Queue) Settle(replica string, settlements []Settlement) (changed bool) {
	for _, s := range settlements {
		seqs := q.Leases[replica][s.Batch]
		leased := q.removeLease(replica, s.Batch)
		switch {
		case leased && !s.Delivered:
			q.returnSeqs(seqs)
		case !leased && s.Delivered:
			// This replica was considered dead and its lease was reclaimed. The client did
			// receive the entries, so drop those that nobody has taken since.
			rest := slices.DeleteFunc(slices.Clone(q.Returned), func(seq uint64) bool { return slices.Contains(s.Seqs, seq) })
			leased = len(rest) < len(q.Returned)
			q.Returned = rest
		}
		changed = changed || leased
	}
	return changed
}

// Reclaim returns the leases of dead replicas to the queue and reports whether there were
// any.
func (q *Queue) Reclaim(live func(replica string) bool) (changed bool) {
	for replica, batches := range q.Leases {
		if live(replica) {
			continue
		}
		q.Leases = maps.Clone(q.Leases)
		delete(q.Leases, replica)
		for _, seqs := range batches {
			q.returnSeqs(seqs)
		}
		changed = true
	}
	return changed
}

// Undelivered lists the returned and the leased entries.
func (q *Queue) Undelivered() []uint64 {
	seqs := slices.Clone([]uint64(q.Returned))
	for _, batches := range q.Leases {
		for _, leased := range batches {
			seqs = append(seqs, leased...)
		}
	}
	slices.Sort(seqs)
	return slices.Compact(seqs)
}
