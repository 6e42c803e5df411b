package oauth

import (
	"container/heap"
	"time"

	"candela/internal/kit/principal"
)

// shelf holds values that end, found by their hash, by their owner and by their end. The
// caller locks.
type shelf[V any] struct {
	items map[Hash]*item[V]
	owned map[principal.Owner][]*item[V] // by owner, in the order of insertion
	ends  byEnd[V]
	added uint64
}

type item[V any] struct {
	hash  Hash
	owner principal.Owner
	ends  time.Time
	seq   uint64 // of the insertion
	place int    // in the heap
	value V
}

func newShelf[V any]() *shelf[V] {
	return &shelf[V]{items: map[Hash]*item[V]{}, owned: map[principal.Owner][]*item[V]{}}
}

func (s *shelf[V]) len() int { return len(s.items) }

func (s *shelf[V]) has(h Hash) bool { return s.items[h] != nil }

func (s *shelf[V]) get(h Hash) (value V, ok bool) {
	if one := s.items[h]; one != nil {
		return one.value, true
	}
	return value, false
}

// put adds a value, or replaces the one with the same hash.
func (s *shelf[V]) put(h Hash, owner principal.Owner, ends time.Time, value V) {
	s.remove(h)
	s.added++
	one := &item[V]{hash: h, owner: owner, ends: ends, seq: s.added, value: value}
	s.items[h] = one
	s.owned[owner] = append(s.owned[owner], one)
	heap.Push(&s.ends, one)
}

// change replaces a value. Its owner and its end stay.
func (s *shelf[V]) change(h Hash, value V) {
	if one := s.items[h]; one != nil {
		one.value = value
	}
}

func (s *shelf[V]) remove(h Hash) {
	one := s.items[h]
	if one == nil {
		return
	}
	delete(s.items, h)
	heap.Remove(&s.ends, one.place)
	left := s.owned[one.owner]
	for i := range left {
		if left[i] == one {
			copy(left[i:], left[i+1:])
			left[len(left)-1] = nil
			left = left[:len(left)-1]
			break
		}
	}
	if len(left) == 0 {
		delete(s.owned, one.owner)
		return
	}
	s.owned[one.owner] = left
}

// expire removes what has ended.
func (s *shelf[V]) expire(now time.Time) {
	for len(s.ends) > 0 && !now.Before(s.ends[0].ends) {
		s.remove(s.ends[0].hash)
	}
}

// makeRoom removes the values of an owner that end first until another of that owner fits, and
// returns them. It returns ErrFull when the shelf has no room and the owner's share is not
// used up: nothing of another owner is removed.
func (s *shelf[V]) makeRoom(owner principal.Owner, share, most int) (gone []Hash, err error) {
	for len(s.owned[owner]) >= share {
		first := s.owned[owner][0]
		for _, one := range s.owned[owner] {
			if one.before(first) {
				first = one
			}
		}
		gone = append(gone, first.hash)
		s.remove(first.hash)
	}
	if s.len() >= most {
		return gone, ErrFull
	}
	return gone, nil
}

func (s *shelf[V]) clear() {
	clear(s.items)
	clear(s.owned)
	s.ends = nil
}

func (i *item[V]) before(j *item[V]) bool {
	return i.ends.Before(j.ends) || i.ends.Equal(j.ends) && i.seq < j.seq
}

// byEnd is a heap of values, the first to end first.
type byEnd[V any] []*item[V]

// Len implements heap.Interface.
func (b byEnd[V]) Len() int { return len(b) }

// Less implements heap.Interface.
func (b byEnd[V]) Less(i, j int) bool { return b[i].before(b[j]) }

// Swap implements heap.Interface.
func (b byEnd[V]) Swap(i, j int) {
	b[i], b[j] = b[j], b[i]
	b[i].place, b[j].place = i, j
}

// Push implements heap.Interface.
func (b *byEnd[V]) Push(x any) {
	one, _ := x.(*item[V])
	one.place = len(*b)
	*b = append(*b, one)
}

// Pop implements heap.Interface.
func (b *byEnd[V]) Pop() any {
	all := *b
	last := all[len(all)-1]
	all[len(all)-1] = nil
	*b = all[:len(all)-1]
	return last
}
