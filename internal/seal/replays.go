package seal

import (
	"crypto/rand"
	"errors"
	"sync"
	"time"
)

// ID names one message.
type ID [16]byte

// NewID draws an id.
func NewID() (id ID) {
	_, _ = rand.Read(id[:]) // it never fails
	return id
}

// Why a message does not count.
var (
	ErrStale    = errors.New("its time is too far from the time here")
	ErrReplayed = errors.New("it has come before")
	ErrFull     = errors.New("too many have come to remember them all")
)

// Replays finds messages that come again. It remembers each for as long as its time
// would let it in, and no longer. It is safe for concurrent use.
type Replays struct {
	window time.Duration
	most   int

	mu     sync.Mutex
	turned time.Time       // when seen began
	seen   map[ID]struct{} // those of the present span of two windows
	before map[ID]struct{} // and of the one before
}

// NewReplays returns a memory for messages whose time differs from the time here by at
// most window, of at most so many in twice that.
func NewReplays(window time.Duration, most int) *Replays {
	return &Replays{window: window, most: most, seen: make(map[ID]struct{})}
}

// Take returns nil for a message that was sealed at a time close to now and has not
// come before, and remembers it.
func (r *Replays) Take(id ID, at, now time.Time) error {
	if off := now.Sub(at); off > r.window || off < -r.window {
		return ErrStale
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.turned.IsZero() {
		r.turned = now
	}
	// A message from the future, by a window, is let in for two more.
	if since := now.Sub(r.turned); since >= 2*r.window {
		r.before, r.seen, r.turned = r.seen, make(map[ID]struct{}), now
		if since >= 4*r.window {
			r.before = nil
		}
	}
	_, lately := r.seen[id]
	_, then := r.before[id]
	switch {
	case lately || then:
		return ErrReplayed
	case len(r.seen) >= r.most:
		return ErrFull
	}
	r.seen[id] = struct{}{}
	return nil
}
