package core

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/kit/principal"
)

// idleAfter is how long a lazy log holds the entries of an owner nobody reads.
const idleAfter = 10 * time.Minute

// A Reader reads the stored entries of one owner, in any order, and the highest sequence number
// before which it has missed none.
type Reader func(ctx context.Context, owner principal.Owner) (head uint64, entries []notify.Entry, err error)

// NewLazyLog returns a log that reads the entries of an owner on first use and drops them when
// nobody has read them for a while. Of other owners it holds nothing.
func NewLazyLog(now func() time.Time, log *slog.Logger, read Reader) *Log {
	l := NewLog(now, log)
	l.read = read
	return l
}

// reading is the read of an owner's entries that is under way.
type reading struct {
	done  chan struct{}  // closed when it has ended
	later []notify.Entry // appended meanwhile
}

// LoadOwner returns once the log holds the entries of an owner. It must be called before an owner of a
// lazy log is read; another log holds all entries.
func (l *Log) LoadOwner(ctx context.Context, owner principal.Owner) error {
	if l.read == nil {
		return nil
	}
	o := l.Owner(owner)
	for {
		o.Mu.Lock()
		o.usedAt = l.now()
		if o.held {
			o.Mu.Unlock()
			return nil
		}
		r, first := o.reading, o.reading == nil
		if first {
			r = &reading{done: make(chan struct{})}
			o.reading = r
		}
		o.Mu.Unlock()
		if first {
			return l.readOwner(ctx, o, r)
		}
		select {
		case <-r.done: // it may have failed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// readOwner reads the entries of an owner. What is appended meanwhile is added to them.
func (l *Log) readOwner(ctx context.Context, o *Owner, r *reading) error {
	head, entries, err := l.read(ctx, o.Name)
	o.Mu.Lock()
	defer o.Mu.Unlock()
	defer close(r.done)
	o.reading = nil
	if err != nil {
		return err
	}
	entries = append(entries, r.later...)
	slices.SortFunc(entries, func(a, b notify.Entry) int { return cmp.Compare(a.Seq, b.Seq) })
	entries = slices.CompactFunc(entries, func(a, b notify.Entry) bool { return a.Seq == b.Seq })
	v := view{head: max(head, o.view.Load().head), entries: make([]logEntry, 0, len(entries))}
	for _, e := range entries {
		v.add(e)
		v.head = max(v.head, e.Seq)
	}
	v.prune(l.now().UnixNano())
	o.view.Store(&v)
	o.held = true
	o.WakeOne()
	return nil
}

// DropIdle drops the entries of owners that nobody has read for a while. Only a lazy log can read
// them again.
func (l *Log) DropIdle() {
	if l.read == nil {
		return
	}
	before := l.now().Add(-idleAfter)
	for _, o := range l.Owners() {
		o.dropIdle(before)
	}
}

func (o *Owner) dropIdle(before time.Time) {
	o.Mu.Lock()
	defer o.Mu.Unlock()
	o.streamsMu.Lock()
	defer o.streamsMu.Unlock()
	if o.held && o.usedAt.Before(before) && len(o.waiters)+len(o.streams)+len(o.tails) == 0 {
		o.held = false
		o.view.Store(&view{head: o.Head()})
	}
}

// holds keeps entries for a read that is under way, and reports whether the log holds the owner's
// entries. Mu is held.
func (o *Owner) holds(entries []notify.Entry) bool {
	if !o.held && o.reading != nil {
		o.reading.later = append(o.reading.later, entries...)
	}
	return o.held
}
