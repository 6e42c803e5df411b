// Package fair shares a few slots between many parties. The party with the fewest turns
// comes first, so that one with a thousand requests makes another wait for one turn, not a
// thousand.
package fair

import (
	"container/list"
	"context"
	"sync"
)

// Slots are a number of slots that parties take in turns. Parties with requests
// waiting form a ring; a slot that becomes free goes to the next party of the ring, of
// whose requests the oldest gets it. It is safe for concurrent use. What it holds is
// bounded by the requests that wait.
type Slots struct {
	mu      sync.Mutex
	free    int
	parties map[string]*party
	ring    list.List // of *party, next first; those with requests waiting
}

type party struct {
	name    string
	waiting list.List // of chan struct{}, oldest first; closed when a slot is given
	place   *list.Element
}

// NewSlots returns so many free slots.
func NewSlots(slots int) *Slots {
	return &Slots{free: slots, parties: make(map[string]*party)}
}

// Take waits for a slot in a party's name and returns how to give it back, or the
// error of ctx when that ends first.
func (s *Slots) Take(ctx context.Context, name string) (release func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	if s.free > 0 { // so nobody waits
		s.free--
		s.mu.Unlock()
		return s.release(), nil
	}
	p := s.parties[name]
	if p == nil {
		p = &party{name: name}
		p.place = s.ring.PushBack(p)
		s.parties[name] = p
	}
	given := make(chan struct{})
	request := p.waiting.PushBack(given)
	s.mu.Unlock()
	select {
	case <-given:
		return s.release(), nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-given: // in this moment; the next party gets it
		s.next()
	default:
		p.waiting.Remove(request)
		s.forget(p)
	}
	return nil, ctx.Err()
}

// release returns a function that gives a slot back, once.
func (s *Slots) release() func() {
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.next()
	})
}

// next gives a slot to the oldest request of the next party, which then goes to the
// end of the ring.
func (s *Slots) next() {
	front := s.ring.Front()
	if front == nil {
		s.free++
		return
	}
	p, _ := front.Value.(*party)
	given, _ := p.waiting.Remove(p.waiting.Front()).(chan struct{})
	s.ring.MoveToBack(front)
	s.forget(p)
	close(given)
}

// forget removes a party that waits for nothing.
func (s *Slots) forget(p *party) {
	if p.waiting.Len() > 0 {
		return
	}
	s.ring.Remove(p.place)
	delete(s.parties, p.name)
}
