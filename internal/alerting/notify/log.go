package notify

import (
	"log/slog"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

// Config is what a Log is given. Now and Log are required.
type Config struct {
	Path string // of subscriptions.json; "" remembers nothing
	// Formerly are names of owners that earlier versions used, and what they are called
	// now.
	Formerly map[string]string
	Now      func() time.Time
	Log      *slog.Logger
}

// Log is what happened and how far each reader has come. It is safe for
// concurrent use.
//
// Locks are taken in this order and most are taken alone: mu, then a
// subscriber's, then those of an owner. Append and Take, which run for every
// entry and every client, do not take mu.
type Log struct {
	cfg    Config
	saver  saver
	shared *shared // nil for one node, which has the file

	mu          sync.Mutex             // guards the two maps, and who is a subscriber under which key
	subscribers map[string]*subscriber // by principal.Caller.Key; with a subscription, a stream or both
	clients     map[client][]*subscriber

	ownersMu sync.RWMutex
	owners   map[string]*owner
	last     uint64 // as restored: a new owner's view begins here

	former map[string]savedQueue // of names in Formerly, until Restore
}

func newLog(cfg Config) *Log {
	return &Log{
		cfg: cfg, saver: saver{signal: make(chan struct{}, 1)},
		subscribers: map[string]*subscriber{}, clients: map[client][]*subscriber{}, owners: map[string]*owner{}, former: map[string]savedQueue{},
	}
}

// owner is the part of the log that concerns one owner.
type owner struct {
	name string
	view atomic.Pointer[view] // replaced, never changed: a reader needs no lock

	mu    sync.Mutex // guards the next view and the polling queue
	queue queue

	streamsMu sync.Mutex
	streams   []*stream // connected, in no order
	tails     []*Tail   // guarded by streamsMu too
}

// view is an owner's entries as of one moment, ascending by seq.
type view struct {
	entries []logEntry
	head    uint64 // the highest seq there was, also of an entry that is gone
	waste   int    // at most so many dropped entries stand before the first in its array
}

// after returns the entries beyond seq. Most readers are near the end, so the
// search begins there.
func (v *view) after(seq uint64) []logEntry {
	n := len(v.entries)
	lo, step := n, 1
	for lo > 0 && v.entries[lo-1].seq > seq {
		lo, step = max(0, lo-step), step*2
	}
	return v.entries[lo+sort.Search(n-lo, func(i int) bool { return v.entries[lo+i].seq > seq }):]
}

// find returns the entry of a seq, nil when it is not held.
func (v *view) find(seq uint64) *logEntry {
	if seq == 0 {
		return nil
	}
	rest := v.after(seq - 1)
	if len(rest) == 0 || rest[0].seq != seq {
		return nil
	}
	return &rest[0]
}

// Restore gives the log, before anything else reads it, the entries that a store
// has kept and the highest seq that the store ever gave out. Readers that have
// come further than that are set back: the store is an older one than they knew,
// and they would hear nothing until it had caught up. Readers that several replicas
// share are not: another may have come further than this one.
//
// Entries of former names of an owner become those of the present one. A store that
// does the same does it after a Flush: without the names, what was not polled under
// one of them is not known.
func (l *Log) Restore(last uint64, entries []Entry) {
	l.Append(l.renamed(entries))
	l.ownersMu.Lock()
	l.last = last
	for _, o := range l.owners {
		o.mu.Lock()
		v := *o.view.Load()
		v.head = max(v.head, last)
		o.view.Store(&v)
		o.mu.Unlock()
	}
	l.ownersMu.Unlock()
	if l.shared == nil {
		l.setBack(last)
	}
}

// Append puts entries into the log in the order of their commits and wakes who
// wants them. Nothing may be appended that could still be rolled back. It waits
// for no reader. An entry that is there already is passed over.
func (l *Log) Append(entries []Entry) {
	now := l.cfg.Now().UnixNano()
	for len(entries) > 0 {
		n := 1
		for n < len(entries) && entries[n].Owner == entries[0].Owner {
			n++
		}
		o := l.owner(entries[0].Owner)
		fresh, astray := o.append(entries[:n], now)
		for _, seq := range astray {
			l.cfg.Log.Error("a notification came after a later one and reaches nobody", "seq", seq, "owner", o.name)
		}
		o.wake(fresh)
		entries = entries[n:]
	}
}

// owner returns an owner's part of the log.
func (l *Log) owner(name string) *owner {
	l.ownersMu.RLock()
	o := l.owners[name]
	l.ownersMu.RUnlock()
	if o != nil {
		return o
	}
	l.ownersMu.Lock()
	defer l.ownersMu.Unlock()
	if o = l.owners[name]; o == nil {
		o = &owner{name: name}
		o.view.Store(&view{head: l.last})
		l.owners[name] = o
	}
	return o
}

// append publishes a view with the entries and returns their records, and the
// seqs of those that came too late for an ascending log.
func (o *owner) append(entries []Entry, now int64) (fresh []logEntry, astray []uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	v := *o.view.Load()
	held := len(v.entries)
	for _, e := range entries {
		if e.Seq > v.head {
			// Readers of older views do not look beyond their length.
			v.entries = append(v.entries, newLogEntry(e))
			v.head = e.Seq
		} else if v.find(e.Seq) == nil {
			astray = append(astray, e.Seq)
		}
	}
	fresh = v.entries[held:]
	v.prune(now)
	o.view.Store(&v)
	if len(fresh) > 0 {
		o.queue.wake()
	}
	return fresh, astray
}

// prune drops from the front what nobody may ask for any more. Readers of an
// older view go on with its array, so nothing in it is overwritten; it is freed
// when the rest has moved to another one.
func (v *view) prune(now int64) {
	drop := 0
	for drop < len(v.entries) {
		r, left := &v.entries[drop], len(v.entries)-drop
		if left <= MaxPolled && r.younger(PollTTL, now) || left <= MaxRetained && r.younger(PushTTL, now) {
			break
		}
		drop++
	}
	v.entries = v.entries[drop:]
	if v.waste += drop; v.waste > len(v.entries) {
		v.entries, v.waste = slices.Clone(v.entries), 0
	}
}

func (l *Log) allOwners() []*owner {
	l.ownersMu.RLock()
	defer l.ownersMu.RUnlock()
	all := make([]*owner, 0, len(l.owners))
	for _, o := range l.owners {
		all = append(all, o)
	}
	return all
}
