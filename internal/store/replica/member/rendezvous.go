package member

import (
	"slices"
)

// FNV-1a, 64 bits.
const (
	fnvBasis = 14695981039346656037
	fnvPrime = 1099511628211
)

// candidate is a member in the draw for the ownership of a name.
type candidate struct {
	id       string
	hash     uint64 // of the id, to which the name is added
	draining bool   // it takes part in no draw
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

// score returns what the member has drawn for a name. The highest wins: a member that
// goes gives up its own names and moves no others (rendezvous hashing).
func (s candidate) score(name string) uint64 {
	h := fnv(s.hash, name)
	// FNV hardly moves the upper bits for the last bytes; the finaliser of
	// MurmurHash3 does.
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// ShardOwner returns who owns a name, as far as is known here, and whether that is this
// replica. It is "" when every member drains.
func (m *Group) ShardOwner(name string) (id string, mine bool) {
	id = m.candidates.Load().Owner(name)
	return id, id == m.id
}

// Candidates is the live replicas, by id. It does not change.
type Candidates []candidate

// Equal reports whether two lists are the same.
func (all Candidates) Equal(other Candidates) bool { return slices.Equal(all, other) }

// Owner returns who draws the highest number for a name, "" when everyone drains.
func (all Candidates) Owner(name string) (id string) {
	var best uint64
	for _, s := range all {
		if s.draining {
			continue
		}
		if d := s.score(name); id == "" || d > best {
			id, best = s.id, d
		}
	}
	return id
}

// Candidates returns the live replicas as they are known now.
func (m *Group) Candidates() Candidates { return *m.candidates.Load() }
