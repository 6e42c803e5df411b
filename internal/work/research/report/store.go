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

// Kept is a report in a store.
type Kept struct {
	At time.Time // when it was made
	By string    // the client that asked for it
	*Report
}

type kept struct {
	owner principal.Owner
	until time.Time
	Kept
}

// Put keeps a report of an owner that a client asked for, in place of one with the same id.
func (s *Store) Put(owner principal.Owner, client string, r *Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(func(k *kept) bool { return k.owner == owner && k.ID == r.ID || s.Now().After(k.until) })
	s.kept = append(s.kept, kept{owner, s.Now().Add(keepFor), Kept{s.Now(), client, r}})
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

// List returns an owner's reports, the newest first. Listing them does not keep them.
func (s *Store) List(owner principal.Owner) []Kept {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Kept
	for i := range s.kept {
		if k := &s.kept[i]; k.owner == owner && !s.Now().After(k.until) {
			all = append(all, k.Kept)
		}
	}
	slices.SortStableFunc(all, func(a, b Kept) int { return b.At.Compare(a.At) })
	return all
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
