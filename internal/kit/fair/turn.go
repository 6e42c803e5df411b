package fair

import (
	"context"
	"sync"
	"time"
)

const (
	// lendAfter is how long work keeps a slot that others wait for, and how much more than others
	// an owner may use before brief work of theirs goes first.
	lendAfter = 20 * time.Millisecond
	// lookAfter is how long work runs before it looks whether others wait.
	lookAfter = time.Millisecond
	// breatheAfter is how long work runs before it lets others have its processor, and
	// breath is for how long: long enough for the scheduler to look at the network.
	breatheAfter = 2 * time.Millisecond
	breath       = 20 * time.Microsecond
)

type turnKey struct{}

// turn is a slot that work holds. One goroutine uses it.
type turn struct {
	slots    *Slots
	owner    *owner
	token    string
	brief    bool
	lost     bool      // ctx ended before there was a slot again
	since    time.Time // when the slot was taken
	looked   time.Time // when it was last seen whether others wait
	breathed time.Time // when others last had the processor
}

// Hold waits for a slot for work that may take long. The work calls Pause with the returned
// context every millisecond or so, by which the slot goes to others who wait for one. done gives
// it back.
func (s *Slots) Hold(ctx context.Context, ownerName, tokenName string) (held context.Context, done func(), err error) {
	return s.hold(ctx, ownerName, tokenName, false)
}

// HoldBriefly is Hold for work of some milliseconds, which needs memory until it ends. The slot goes
// only to owners who have used less, and then the work goes on before any other of its owner; as much
// work waits for that as there are slots.
func (s *Slots) HoldBriefly(ctx context.Context, ownerName, tokenName string) (held context.Context, done func(), err error) {
	return s.hold(ctx, ownerName, tokenName, true)
}

func (s *Slots) hold(ctx context.Context, ownerName, tokenName string, brief bool) (held context.Context, done func(), err error) {
	o, err := s.take(ctx, ownerName, tokenName)
	if err != nil {
		return nil, nil, err
	}
	t := &turn{slots: s, owner: o, token: tokenName, brief: brief}
	t.begin(time.Now())
	return context.WithValue(ctx, turnKey{}, t), sync.OnceFunc(t.end), nil
}

func (t *turn) begin(now time.Time) { t.since, t.looked, t.breathed = now, now, now }

func (t *turn) end() {
	if t.lost {
		return
	}
	t.slots.mu.Lock()
	defer t.slots.mu.Unlock()
	t.slots.takeBack(t.owner, time.Since(t.since))
}

// Pause lets others have the slot and the processor of the work that runs with ctx, if it had
// them for long. Without a slot it only looks at ctx. It returns the cause if ctx has ended:
// then the work ends.
func Pause(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t, ok := ctx.Value(turnKey{}).(*turn)
	if !ok {
		return nil
	}
	now := time.Now()
	if now.Sub(t.looked) < lookAfter {
		return nil
	}
	t.looked = now
	if given, leave := t.lend(now); given != nil {
		return t.resume(ctx, given, leave)
	}
	if now.Sub(t.breathed) >= breatheAfter {
		time.Sleep(breath) //nolint:forbidigo // too short to be cut short
		t.breathed = time.Now()
	}
	return nil
}

// lend gives the slot to a waiting request that should go first. It returns what is closed when the
// work has a slot again and how to wait no longer, or nil if it keeps its own.
func (t *turn) lend(now time.Time) (given chan struct{}, leave func()) {
	s, o, took := t.slots, t.owner, now.Sub(t.since)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case t.brief && s.lent < s.number && s.owed(o, took):
		given = make(chan struct{})
		place := o.lent.PushBack(given)
		s.lent++
		leave = func() {
			o.lent.Remove(place)
			s.lent--
		}
	case !t.brief && took >= lendAfter && s.wanted():
		given = make(chan struct{})
		leave = s.wait(o, t.token, given)
	default:
		return nil, nil
	}
	s.takeBack(o, took)
	return given, leave
}

// resume waits for another slot.
func (t *turn) resume(ctx context.Context, given chan struct{}, leave func()) error {
	if t.slots.await(ctx, t.owner, given, leave) != nil {
		t.lost = true
		return context.Cause(ctx)
	}
	t.begin(time.Now())
	return nil
}

// wanted reports whether a request waits that may have a slot if one becomes free.
func (s *Slots) wanted() bool {
	for _, o := range s.owners {
		if o.waits() {
			return true
		}
	}
	return false
}

// owed reports whether the work of an owner, which has had its slot for so long, should give it to
// the waiting request of another who has used much less since it came.
func (s *Slots) owed(o *owner, took time.Duration) bool {
	for _, p := range s.owners {
		if p == o || !p.waits() || p.held >= s.share || p.spent > o.spent+took {
			continue
		}
		if o.spent-o.began+took >= p.spent-p.began+lendAfter {
			return true
		}
	}
	return false
}
