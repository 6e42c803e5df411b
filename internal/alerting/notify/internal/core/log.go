// Package core holds what the implementations of notify.Inbox share: the log of each owner,
// the matching of filters, backlogs, streams, tails and polling queues.
package core

import (
	"log/slog"
	"maps"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/records"
	"candela/internal/kit/principal"
	"candela/lib/market"
)

// A Log holds the entries of all owners. It is safe for concurrent use.
//
// Locks are acquired in this order: that of the inbox, Subscriber.Mu, Owner.Mu, and the
// streams of an owner. Append and Take, which run for every entry and every client, do not
// acquire that of the inbox.
type Log struct {
	now func() time.Time
	log *slog.Logger

	read Reader // nil unless entries are read on first use

	mu           sync.RWMutex
	owners       map[principal.Owner]*Owner
	restoredHead uint64 // the head of owners that are added later
	none         *view  // of such owners
}

// NewLog returns an empty log, which holds the entries of all owners.
func NewLog(now func() time.Time, log *slog.Logger) *Log {
	return &Log{now: now, log: log, owners: map[principal.Owner]*Owner{}}
}

// An Owner holds one owner's entries, polling queue and streams.
type Owner struct {
	Name principal.Owner
	now  func() time.Time
	view atomic.Pointer[view]

	Mu      sync.Mutex // guards the next view and the fields up to streamsMu
	Queue   records.Queue
	waiters []waiter  // of Poll
	held    bool      // the view has all entries
	reading *reading  // of a lazy log; nil if none is under way
	usedAt  time.Time // of a lazy log

	streamsMu sync.Mutex
	streams   []*Stream // connected, in no order
	tails     []*tail   // guarded by streamsMu too
}

// A view is an immutable list of one owner's entries, ascending by sequence number.
type view struct {
	entries       []logEntry
	head          uint64 // the highest sequence number ever assigned
	droppedPrefix int    // entries dropped before the first that its array may still hold
	held          remaining
	unswept       int // entries added since all expired ones were dropped
}

func (v *view) add(e notify.Entry) {
	v.entries = append(v.entries, newLogEntry(e))
	v.held.all++
	v.held.ofKind[e.Kind]++
	v.unswept++
}

// after returns the entries after seq. Most readers are near the end, so the search begins
// there.
func (v *view) after(seq uint64) []logEntry {
	n := len(v.entries)
	lo, step := n, 1
	for lo > 0 && v.entries[lo-1].seq > seq {
		lo, step = max(0, lo-step), step*2
	}
	return v.entries[lo+sort.Search(n-lo, func(i int) bool { return v.entries[lo+i].seq > seq }):]
}

// find returns the entry with a sequence number, nil if it is not held.
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

// Restore appends the stored entries and raises the head of every owner.
func (l *Log) Restore(head uint64, entries []notify.Entry) {
	l.Append(entries)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.restoredHead = head
	for _, o := range l.owners {
		o.update(func(v *view) { v.head = max(v.head, head) })
	}
}

// Append adds entries as notify.Inbox says.
func (l *Log) Append(entries []notify.Entry) {
	now := l.now().UnixNano()
	for len(entries) > 0 {
		n := 1
		for n < len(entries) && entries[n].Owner == entries[0].Owner {
			n++
		}
		o := l.appended(entries[0].Owner)
		if o == nil {
			entries = entries[n:]
			continue
		}
		added, outOfOrder := o.append(entries[:n], now)
		for _, seq := range outOfOrder {
			l.log.Error("notification dropped: out of order", "seq", seq, "owner", o.Name)
		}
		o.wakeStreams(added)
		entries = entries[n:]
	}
}

// appended returns the owner to whose entries some are added, nil if a lazy log knows nobody who
// reads them.
func (l *Log) appended(name principal.Owner) *Owner {
	if l.read == nil {
		return l.Owner(name)
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.owners[name]
}

// Owner returns an owner's part of the log.
func (l *Log) Owner(name principal.Owner) *Owner {
	l.mu.RLock()
	o := l.owners[name]
	l.mu.RUnlock()
	if o != nil {
		return o
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if o = l.owners[name]; o == nil {
		o = &Owner{Name: name, now: l.now, held: l.read == nil}
		if l.none == nil || l.none.head != l.restoredHead {
			l.none = &view{head: l.restoredHead}
		}
		o.view.Store(l.none)
		l.owners[name] = o
	}
	return o
}

// Forget drops an owner's entries and polling queue.
func (l *Log) Forget(name principal.Owner) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.owners, name)
}

// Owners returns all owners.
func (l *Log) Owners() []*Owner {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return slices.AppendSeq(make([]*Owner, 0, len(l.owners)), maps.Values(l.owners))
}

// Prune drops expired entries.
func (l *Log) Prune() {
	now := l.now().UnixNano()
	for _, o := range l.Owners() {
		o.update(func(v *view) { v.prune(now) })
	}
}

// Stats counts the contents of the log and adds the number of subscriptions.
func (l *Log) Stats(subscriptions int) notify.Stats {
	s := notify.Stats{Subscriptions: subscriptions}
	for _, o := range l.Owners() {
		o.Mu.Lock()
		v := o.view.Load()
		s.Entries += len(v.entries)
		s.Unpolled += min(countOf(v.after(o.Queue.Cursor), notify.Alert)+len(o.Queue.Returned), notify.MaxPolled)
		o.Mu.Unlock()
		o.streamsMu.Lock()
		s.Streams += len(o.streams)
		o.streamsMu.Unlock()
	}
	return s
}

// Head returns the highest sequence number ever assigned.
func (o *Owner) Head() uint64 { return o.view.Load().head }

func (o *Owner) update(change func(*view)) {
	o.Mu.Lock()
	defer o.Mu.Unlock()
	v := *o.view.Load()
	change(&v)
	o.view.Store(&v)
}

// append publishes a view with the entries. It returns those that it added, and the
// sequence numbers of those that came too late for an ascending log.
func (o *Owner) append(entries []notify.Entry, now int64) (added []logEntry, outOfOrder []uint64) {
	o.Mu.Lock()
	defer o.Mu.Unlock()
	if !o.holds(entries) {
		return nil, nil
	}
	v := *o.view.Load()
	held := len(v.entries)
	for _, e := range entries {
		if e.Seq > v.head {
			// Readers of older views do not look beyond their length.
			v.add(e)
			v.head = e.Seq
		} else if v.find(e.Seq) == nil {
			outOfOrder = append(outOfOrder, e.Seq)
		}
	}
	added = v.entries[held:]
	v.prune(now)
	o.view.Store(&v)
	if len(added) > 0 {
		o.WakeOne()
	}
	return added, outOfOrder
}

// prune drops expired entries from the front, and those between others once as many were added as can be
// polled: an entry of a kind that is rare holds up those behind it, which may be many. Readers of an older
// view keep its array, so nothing is overwritten; the array is freed once the remaining entries are copied.
func (v *view) prune(now int64) {
	drop := 0
	for drop < len(v.entries) && !v.held.keeps(&v.entries[drop], now) {
		v.held.pass(&v.entries[drop])
		drop++
	}
	v.entries = v.entries[drop:]
	if v.droppedPrefix += drop; v.droppedPrefix > len(v.entries) {
		v.entries, v.droppedPrefix = slices.Clone(v.entries), 0
	}
	if v.unswept > notify.MaxPolled {
		v.sweep(now)
	}
}

// sweep drops all expired entries.
func (v *view) sweep(now int64) {
	left, kept := v.held, make([]logEntry, 0, len(v.entries))
	for i := range v.entries {
		e := &v.entries[i]
		if left.keeps(e, now) {
			kept = append(kept, *e)
		} else {
			v.held.pass(e)
		}
		left.pass(e)
	}
	v.entries, v.droppedPrefix, v.unswept = kept, 0, 0
}

// remaining counts the entries from one on, in all and of each kind.
type remaining struct {
	all    int
	ofKind [notify.NumKinds]int
}

func (r *remaining) pass(e *logEntry) {
	r.all--
	r.ofKind[e.kind]--
}

// keeps reports whether an entry, the first of those that remain, can be polled or pushed.
func (r *remaining) keeps(e *logEntry, now int64) bool {
	return r.ofKind[e.kind] <= notify.MaxPolled && e.youngerThan(notify.PollTTL, now) || r.all <= notify.MaxRetained && e.youngerThan(notify.PushTTL, now)
}

// logEntry is an entry as the log holds it.
type logEntry struct {
	seq    uint64
	at     int64 // unix nanoseconds
	kind   notify.Kind
	symbol market.Symbol
	typ    string
	event  notify.Event
}

func newLogEntry(e notify.Entry) logEntry {
	return logEntry{seq: e.Seq, at: e.At.UnixNano(), kind: e.Kind, symbol: e.Symbol, typ: e.Type, event: notify.EventOf(&e)}
}

func (e *logEntry) entry(owner principal.Owner) notify.Entry {
	return notify.Entry{Seq: e.seq, Owner: owner, Kind: e.kind, Symbol: e.symbol, Type: e.typ, At: time.Unix(0, e.at).UTC(), Data: e.event.Params()}
}

func (e *logEntry) youngerThan(age time.Duration, now int64) bool { return now-e.at < int64(age) }

// matcher is a filter prepared for lookups. It is immutable.
type matcher struct {
	symbols map[market.Symbol]struct{} // nil for all
	types   []string                   // of alerts, nil for all
	kinds   notify.Kinds
}

func newMatcher(f notify.Filter) *matcher {
	m := &matcher{types: slices.Clone(f.Types), kinds: f.Kinds}
	if len(f.Symbols) > 0 {
		m.symbols = make(map[market.Symbol]struct{}, len(f.Symbols)+len(f.Instruments))
		for _, s := range slices.Concat(f.Symbols, f.Instruments) {
			m.symbols[s] = struct{}{}
		}
	}
	return m
}

func (m *matcher) matches(e *logEntry) bool {
	if !m.kinds.Has(e.kind) || e.kind == notify.Alert && len(m.types) > 0 && !slices.Contains(m.types, e.typ) {
		return false
	}
	if m.symbols == nil || e.symbol.IsZero() {
		return true
	}
	_, ok := m.symbols[e.symbol]
	if !ok {
		_, ok = m.symbols[market.Symbol{Name: e.symbol.Name}]
	}
	return ok
}

// maxFilterChecks is up to how many new entries are matched before a stream is woken. One
// of more than that is assumed to match.
const maxFilterChecks = 8

func (m *matcher) matchesAny(added []logEntry) bool {
	if len(added) > maxFilterChecks {
		return true
	}
	for i := range added {
		if m.matches(&added[i]) {
			return true
		}
	}
	return false
}
