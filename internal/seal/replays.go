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

// Take returns nil for an attempt that was sealed at a time close to now, if none of
// the same id has come before but such that were refused, and remembers it.
func (r *Replays) Take(try Try, at, now time.Time) error {
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
		r.before, r.seen, r.turned = r.seen, make(map[ID]taken), now
		if since >= 4*r.window {
			r.before = nil
		}
	}
	last, known := r.find(try.ID)
	switch {
	case known && (!last.refused || try.Number <= last.number):
		return ErrReplayed
	case len(r.seen) >= r.most:
		return ErrFull
	}
	r.seen[try.ID] = taken{number: try.Number}
	return nil
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
