package notify

import (
	"slices"
	"time"
)

// Tail reads the entries of one owner for a part of the program that keeps its own
// place in the log, such as a webhook. It has no filter and is in no file. One
// goroutine uses it.
type Tail struct {
	log   *Log
	owner *owner
	ready chan struct{} // holds one token
}

// Tail begins to follow the entries of an owner. It must be closed.
func (l *Log) Tail(owner string) *Tail {
	t := &Tail{log: l, owner: l.owner(owner), ready: make(chan struct{}, 1)}
	t.owner.streamsMu.Lock()
	defer t.owner.streamsMu.Unlock()
	t.owner.tails = append(t.owner.tails, t)
	return t
}

// Ready delivers when entries have come since it last did.
func (t *Tail) Ready() <-chan struct{} { return t.ready }

// Head returns the highest seq there was, also of an entry that is gone.
func (t *Tail) Head() uint64 { return t.owner.view.Load().head }

// Next returns the first entry after seq that is younger than ttl and one of the
// newest most, nil when there is none. The entries before it that are held and are
// neither are passed over: it counts them, and passed is the seq of the last, or
// seq.
func (t *Tail) Next(seq uint64, ttl time.Duration, most int) (next *Entry, passed uint64, count int) {
	now := t.log.cfg.Now().UnixNano()
	rest := t.owner.view.Load().after(seq)
	for i := range rest {
		if r := &rest[i]; len(rest)-i <= most && r.younger(ttl, now) {
			e := r.entry(t.owner.name)
			return &e, seq, i
		}
		seq = rest[i].seq
	}
	return nil, seq, len(rest)
}

// Close ends the tail.
func (t *Tail) Close() {
	t.owner.streamsMu.Lock()
	defer t.owner.streamsMu.Unlock()
	t.owner.tails = slices.DeleteFunc(t.owner.tails, func(other *Tail) bool { return other == t })
}

func (t *Tail) signal() {
	select {
	case t.ready <- struct{}{}:
	default:
	}
}
