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

// Try names one attempt at something. The attempts of one have the same id and count
// up.
type Try struct {
	ID     ID     `json:"id"`
	Number uint32 `json:"number"`
}

// Replays finds messages that come again. It remembers each for as long as its time
// would let it in, and no longer. It is safe for concurrent use.
type Replays struct {
	window time.Duration
	most   int

	mu     sync.Mutex
	turned time.Time    // when seen began
	seen   map[ID]taken // those of the present span of two windows
	before map[ID]taken // and of the one before
	// The latest time of a message in seen, in before, and of those that are forgotten.
	// One that is not later than the last may be forgotten itself: the clock here was
	// set back.
	latest, former, forgotten time.Time
}

// taken is the last attempt that was let in.
type taken struct {
	number  uint32
	refused bool // nothing came of it
}

// NewReplays returns a memory for messages whose time differs from the time here by at
// most window, of at most so many in twice that.
func NewReplays(window time.Duration, most int) *Replays {
	return &Replays{window: window, most: most, seen: make(map[ID]taken)}
}

// Take returns nil for an attempt that was sealed at a time close to now, if no earlier
// attempt with this id was accepted, and remembers it. One that has come before is
// ErrReplayed, however old it is by now: it may be under way.
func (r *Replays) Take(try Try, at, now time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, known := r.find(try.ID)
	off := now.Sub(at)
	switch {
	case known && (!last.refused || try.Number <= last.number):
		return ErrReplayed
	case off.Abs() > r.window, !at.After(r.forgotten):
		return ErrStale
	}
	r.turn(now)
	switch {
	case !at.After(r.forgotten):
		return ErrStale
	case len(r.seen) >= r.most:
		return ErrFull
	}
	r.seen[try.ID] = taken{number: try.Number}
	if at.After(r.latest) {
		r.latest = at
	}
	return nil
}

// turn forgets those that are no longer let in. A message dated one window ahead stays
// acceptable for two windows. The caller has locked.
func (r *Replays) turn(now time.Time) {
	if r.turned.IsZero() {
		r.turned = now
	}
	since := now.Sub(r.turned)
	if since < 2*r.window {
		return
	}
	r.forget(r.former)
	r.before, r.former = r.seen, r.latest
	r.seen, r.latest, r.turned = make(map[ID]taken), time.Time{}, now
	if since >= 4*r.window {
		r.forget(r.former)
		r.before, r.former = nil, time.Time{}
	}
}

// forget notes that messages up to a time are not remembered any more. The caller has
// locked.
func (r *Replays) forget(latest time.Time) {
	if latest.After(r.forgotten) {
		r.forgotten = latest
	}
}

// Refuse notes that nothing came of an attempt: a later one may be let in.
func (r *Replays) Refuse(try Try) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, span := range []map[ID]taken{r.seen, r.before} {
		if last, known := span[try.ID]; known && last.number == try.Number {
			span[try.ID] = taken{try.Number, true}
		}
	}
}

// find returns the last attempt of an id. The caller has locked.
func (r *Replays) find(id ID) (last taken, known bool) {
	if last, known = r.seen[id]; !known {
		last, known = r.before[id]
	}
	return last, known
}
