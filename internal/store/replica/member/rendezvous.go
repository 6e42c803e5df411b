package member

import (
	"slices"
)

// FNV-1a, 64 bits.
const (
	fnvBasis = 14695981039346656037
	fnvPrime = 1099511628211
)

// candidate is a live replica in the selection of a shard owner.
type candidate struct {
	id       string
	hash     uint64 // of the ID; score adds the shard
	draining bool   // owns no shards
}

func newCandidate(id string, draining bool) candidate {
	return candidate{id, fnv(fnvBasis, id), draining}
}

func fnv(h uint64, text string) uint64 {
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * fnvPrime
	}
	return h
}

// score is the candidate's rendezvous hash for a shard. The highest score owns the shard, so a
// replica that leaves moves only its own shards.
func (s candidate) score(shard string) uint64 {
	h := fnv(s.hash, shard)
	// FNV hardly changes the upper bits for the last bytes; the finaliser of MurmurHash3 does.
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// ShardOwner returns the owner of a shard as known here, and whether it is this replica. It is ""
// if every replica drains.
func (m *Group) ShardOwner(shard string) (id string, mine bool) {
	id = m.candidates.Load().Owner(shard)
	return id, id == m.id
}

// Candidates is an immutable list of the live replicas by ID.
type Candidates []candidate

// Equal reports whether two lists are the same.
func (all Candidates) Equal(other Candidates) bool { return slices.Equal(all, other) }

// Owner returns the candidate with the highest score for a shard, "" when all are draining.
func (all Candidates) Owner(shard string) (id string) {
	var best uint64
	for _, s := range all {
		if s.draining {
			continue
		}
		if d := s.score(shard); id == "" || d > best {
			id, best = s.id, d
		}
	}
	return id
}

// Active reports whether any of them owns shards.
func (all Candidates) Active() bool {
	return slices.ContainsFunc(all, func(s candidate) bool { return !s.draining })
}

// Candidates returns the live replicas.
func (m *Group) Candidates() Candidates { return *m.candidates.Load() }
