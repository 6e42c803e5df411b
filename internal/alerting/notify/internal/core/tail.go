package core

import (
	"slices"
	"time"

	"candela/internal/alerting/notify"
)

// tail implements notify.Tail.
type tail struct {
	owner *Owner
	ready chan struct{} // holds one token
}

// Tail implements notify.Inbox.
func (l *Log) Tail(owner string) notify.Tail {
	t := &tail{owner: l.Owner(owner), ready: make(chan struct{}, 1)}
	t.owner.streamsMu.Lock()
	defer t.owner.streamsMu.Unlock()
	t.owner.tails = append(t.owner.tails, t)
	return t
}

func (t *tail) Ready() <-chan struct{} { return t.ready }

func (t *tail) Head() uint64 { return t.owner.Head() }

func (t *tail) Next(seq uint64, ttl time.Duration, limit int) (next *notify.Entry, skippedThrough uint64, count int) {
	now := t.owner.now().UnixNano()
	rest := t.owner.view.Load().after(seq)
	for i := range rest {
		if e := &rest[i]; len(rest)-i <= limit && e.youngerThan(ttl, now) {
			entry := e.entry(t.owner.Name)
			return &entry, seq, i
		}
		seq = rest[i].seq
	}
	return nil, seq, len(rest)
}

func (t *tail) Close() {
	t.owner.streamsMu.Lock()
	defer t.owner.streamsMu.Unlock()
	t.owner.tails = slices.DeleteFunc(t.owner.tails, func(other *tail) bool { return other == t })
}
