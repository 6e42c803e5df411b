// Package fair shares a few slots between many owners. The owner who has used the least
// time comes first, so that one with a thousand requests makes another wait for one turn,
// not a thousand. The tokens of an owner take turns among themselves.
package fair

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// Slots are a number of slots that owners take in turns. A slot that becomes free goes to
// the waiting owner whose turns have taken the least time so far, and among the tokens of
// that owner to the one whose turn it is, of whose requests the oldest gets it. It is safe
// for concurrent use. What it holds is bounded by the requests that wait or hold a slot.
type Slots struct {
	number  int
	share   int // of the slots, for one owner
	onSpent func(owner string, took time.Duration)

	mu     sync.Mutex
	free   int
	lent   int           // requests that gave their slot to others and wait for another one
	spent  time.Duration // of the owner who was served last: where a newcomer begins
	turn   uint64
	owners map[string]*owner
}

// owner is who waits for slots or has some.
type owner struct {
	name   string
	held   int
	began  time.Duration // spent when it came
	spent  time.Duration
	turn   uint64 // of the last service, or when it began to wait
	tokens map[string]*token
	ring   list.List // of *token, next first; those with requests waiting
	lent   list.List // of chan struct{}, oldest first; these go before the tokens
}

type token struct {
	name    string
	waiting list.List // of chan struct{}, oldest first; closed when a slot is given
	place   *list.Element
}

// NewSlots returns so many free slots. One owner may have all of them.
func NewSlots(slots int) *Slots {
	return &Slots{number: slots, free: slots, share: slots, owners: make(map[string]*owner)}
}

// SetShare limits how many slots one owner has at a time. It must be called before Take.
func (s *Slots) SetShare(share int) { s.share = share }

// OnSpent sets a function that is called with the time for which an owner has had a slot. It must be
// called before Take. The function must not use the slots.
func (s *Slots) OnSpent(f func(owner string, took time.Duration)) { s.onSpent = f }

// Take waits for a slot in the name of an owner and one of its tokens. It returns how to give
// it back, or the error of ctx when that ends first.
func (s *Slots) Take(ctx context.Context, ownerName, tokenName string) (release func(), err error) {
	o, err := s.take(ctx, ownerName, tokenName)
	if err != nil {
		return nil, err
	}
	return s.release(o), nil
}

// take waits for a slot. The caller gives it back.
func (s *Slots) take(ctx context.Context, ownerName, tokenName string) (*owner, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	o := s.owner(ownerName)
	if s.free > 0 && o.held < s.share { // so nobody waits who could have it
		s.give(o)
		s.mu.Unlock()
		return o, nil
	}
	given := make(chan struct{})
	leave := s.wait(o, tokenName, given)
	s.mu.Unlock()
	return o, s.await(ctx, o, given, leave)
}

// await waits until a slot is given. If ctx ends before that, it calls leave and returns the
// error of ctx.
func (s *Slots) await(ctx context.Context, o *owner, given chan struct{}, leave func()) error {
	select {
	case <-given:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-given: // in this moment; the next one gets it
		s.takeBack(o, 0)
	default:
		leave()
		s.forget(o)
	}
	return ctx.Err()
}

func (s *Slots) owner(name string) *owner {
	o := s.owners[name]
	if o == nil {
		o = &owner{name: name, began: s.spent, spent: s.spent, tokens: make(map[string]*token)}
		s.owners[name] = o
	}
	return o
}

// wait adds a request. leave removes it.
func (s *Slots) wait(o *owner, name string, given chan struct{}) (leave func()) {
	t := o.tokens[name]
	if t == nil {
		t = &token{name: name}
		if o.ring.Len() == 0 {
			s.turn++
			o.turn = s.turn
		}
		t.place = o.ring.PushBack(t)
		o.tokens[name] = t
	}
	request := t.waiting.PushBack(given)
	return func() {
		t.waiting.Remove(request)
		o.forget(t)
	}
}

// give gives an owner a slot.
func (s *Slots) give(o *owner) {
	s.free--
	o.held++
	s.turn++
	o.turn, s.spent = s.turn, max(s.spent, o.spent)
}

// release returns a function that gives a slot back, once.
func (s *Slots) release(o *owner) func() {
	began := time.Now()
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.takeBack(o, time.Since(began))
	})
}

// takeBack counts the time of a turn and passes the slot on.
func (s *Slots) takeBack(o *owner, took time.Duration) {
	o.spent += took
	if s.onSpent != nil {
		s.onSpent(o.name, took)
	}
	o.held--
	s.free++
	s.forget(o)
	for more := true; more && s.free > 0; {
		more = s.next()
	}
}

// next gives a slot to the owner who has used the least time: to work that lent its slot, else to
// the oldest request of the next token. It returns false when nobody waits who may have one.
func (s *Slots) next() bool {
	var first *owner
	for _, o := range s.owners {
		if !o.waits() || o.held >= s.share {
			continue
		}
		if first == nil || o.before(first) {
			first = o
		}
	}
	if first == nil {
		return false
	}
	given := s.pick(first)
	s.give(first)
	close(given)
	return true
}

// pick removes the request of a waiting owner that goes next.
func (s *Slots) pick(o *owner) (given chan struct{}) {
	if front := o.lent.Front(); front != nil {
		s.lent--
		given, _ = o.lent.Remove(front).(chan struct{})
		return given
	}
	front := o.ring.Front()
	t, _ := front.Value.(*token)
	given, _ = t.waiting.Remove(t.waiting.Front()).(chan struct{})
	o.ring.MoveToBack(front)
	o.forget(t)
	return given
}

func (o *owner) waits() bool { return o.ring.Len() > 0 || o.lent.Len() > 0 }

func (o *owner) before(p *owner) bool {
	return o.spent < p.spent || o.spent == p.spent && o.turn < p.turn
}

// forget removes a token that waits for nothing.
func (o *owner) forget(t *token) {
	if t.waiting.Len() > 0 {
		return
	}
	o.ring.Remove(t.place)
	delete(o.tokens, t.name)
}

// forget removes an owner who neither waits nor has a slot. One who comes back at once must
// not be ahead of the others by what is forgotten: a newcomer begins with the time of the
// owner who was served last.
func (s *Slots) forget(o *owner) {
	if !o.waits() && o.held == 0 {
		delete(s.owners, o.name)
	}
}
