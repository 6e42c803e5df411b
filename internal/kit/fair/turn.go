package fair

import (
	"context"
	"time"
)

const (
	// lendAfter is how long work keeps a slot that others wait for.
	lendAfter = 20 * time.Millisecond
	// breatheAfter is how long work runs before it lets others have its processor, and
	// breath is for how long: long enough for the scheduler to look at the network.
	breatheAfter = 2 * time.Millisecond
	breath       = 20 * time.Microsecond
)

type turnKey struct{}

// turn is a slot that long work holds. One goroutine uses it.
type turn struct {
	slots        *Slots
	owner, token string
	release      func()
	since        time.Time // when the slot was taken
	breathed     time.Time // when others last had the processor
}

// Hold waits for a slot for work that may take long. The work calls Pause with the returned
// context every millisecond or so, by which the slot goes to others who wait for one. done gives
// it back.
func (s *Slots) Hold(ctx context.Context, ownerName, tokenName string) (held context.Context, done func(), err error) {
	release, err := s.Take(ctx, ownerName, tokenName)
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	t := &turn{slots: s, owner: ownerName, token: tokenName, release: release, since: now, breathed: now}
	return context.WithValue(ctx, turnKey{}, t), func() { t.release() }, nil
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
	if now.Sub(t.since) >= lendAfter && t.slots.wanted() {
		return t.lend(ctx)
	}
	if now.Sub(t.breathed) >= breatheAfter {
		time.Sleep(breath) //nolint:forbidigo // too short to be cut short
		t.breathed = time.Now()
	}
	return nil
}

// lend gives the slot to a waiting request, and waits for another slot.
func (t *turn) lend(ctx context.Context) error {
	t.release()
	release, err := t.slots.Take(ctx, t.owner, t.token)
	if err != nil {
		t.release = func() {}
		return context.Cause(ctx)
	}
	t.release, t.since = release, time.Now()
	t.breathed = t.since
	return nil
}

// wanted reports whether a request waits that may have a slot if one becomes free.
func (s *Slots) wanted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.owners {
		if o.ring.Len() > 0 {
			return true
		}
	}
	return false
}
