package report

import (
	"slices"
	"sync"
	"time"

	"candela/internal/kit/principal"
)

// Bounds of a store.
const (
	keepFor  = time.Hour
	keepSize = 64 << 20
)

// Store keeps reports for an hour, within 64 MB of all owners. It is safe for concurrent
// use.
type Store struct {
	Now func() time.Time

	mu   sync.Mutex
	kept []kept // the least recently used first
	size int
}

type kept struct {
	owner principal.Owner
	until time.Time
	*Report
}

// Put keeps a report of an owner, in place of one with the same id.
func (s *Store) Put(owner principal.Owner, r *Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(func(k *kept) bool { return k.owner == owner && k.ID == r.ID || s.Now().After(k.until) })
	s.kept = append(s.kept, kept{owner, s.Now().Add(keepFor), r})
	s.size += r.size()
	for s.size > keepSize && len(s.kept) > 1 {
		s.size -= s.kept[0].size()
		s.kept = slices.Delete(s.kept, 0, 1)
	}
}

// Get returns a report of an owner. Using it keeps it.
func (s *Store) Get(owner principal.Owner, id string) (*Report, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(func(k *kept) bool { return s.Now().After(k.until) })
	i := slices.IndexFunc(s.kept, func(k kept) bool { return k.owner == owner && k.ID == id })
	if i < 0 {
		return nil, false
	}
	found := s.kept[i]
	found.until = s.Now().Add(keepFor)
	s.kept = append(slices.Delete(s.kept, i, i+1), found)
	return found.Report, true
}

// IDs returns the ids of an owner's reports, the newest first.
func (s *Store) IDs(owner principal.Owner) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for _, k := range slices.Backward(s.kept) {
		if k.owner == owner && !s.Now().After(k.until) {
			ids = append(ids, k.ID)
		}
	}
	return ids
}

func (s *Store) remove(gone func(*kept) bool) {
	s.kept = slices.DeleteFunc(s.kept, func(k kept) bool {
		out := gone(&k)
		if out {
			s.size -= k.size()
		}
		return out
	})
}
