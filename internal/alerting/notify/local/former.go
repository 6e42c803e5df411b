package local

import (
	"maps"
	"slices"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/records"
)

// renamed returns the entries under the present names of their owners, and merges the
// polling queues of former names into those of the present ones.
func (b *Inbox) renamed(entries []notify.Entry) []notify.Entry {
	for from, to := range b.cfg.Formerly {
		b.mergeQueue(from, to, entries)
	}
	clear(b.formerQueues)
	if len(b.cfg.Formerly) == 0 {
		return entries
	}
	entries = slices.Clone(entries)
	for i := range entries {
		entries[i].Owner = b.ownerName(entries[i].Owner)
	}
	return entries
}

func (b *Inbox) mergeQueue(from, to string, entries []notify.Entry) {
	o := b.Owner(to)
	o.Mu.Lock()
	defer o.Mu.Unlock()
	queues := maps.Clone(b.formerQueues)
	queues[to] = SavedQueue{o.Queue.Cursor, o.Queue.Returned}
	if !mergeQueues(queues, from, to, entries) {
		return
	}
	o.Queue = records.Queue{Cursor: queues[to].Cursor, Returned: queues[to].Back}
	b.file.markDirty()
}

// mergeQueues merges the polling queue of a former name into that of the present one, and
// reports whether there was one. Entries that either name has not polled wait in it; a name
// that never polled has polled nothing. If the store has already renamed the entries, an
// entry that only one of the two polled is polled again rather than lost.
func mergeQueues(queues map[string]SavedQueue, from, to string, entries []notify.Entry) bool {
	old, polled := queues[from]
	separate := slices.ContainsFunc(entries, func(e notify.Entry) bool { return e.Owner == from })
	if !polled && !separate {
		return false
	}
	present := queues[to]
	polledThrough := map[string]uint64{from: old.Cursor, to: present.Cursor}
	if !separate {
		polledThrough[to] = min(old.Cursor, present.Cursor)
	}
	merged := SavedQueue{max(old.Cursor, present.Cursor), slices.Concat(old.Back, present.Back)}
	for _, e := range entries {
		if through, ok := polledThrough[e.Owner]; ok && e.Seq > through {
			merged.Cursor, merged.Back = max(merged.Cursor, e.Seq), append(merged.Back, e.Seq)
		}
	}
	slices.Sort(merged.Back)
	merged.Back = slices.Compact(merged.Back)
	delete(queues, from)
	queues[to] = merged
	return true
}

// Rename replaces former names of owners by the present ones. entries are those of the store
// that the file belongs to.
func (f *File) Rename(formerly map[string]string, entries []notify.Entry) {
	if f.Polling == nil {
		f.Polling = map[string]SavedQueue{}
	}
	for from, to := range formerly {
		mergeQueues(f.Polling, from, to, entries)
		for key, s := range f.Subscriptions {
			if s.Owner == from {
				s.Owner = to
				f.Subscriptions[key] = s
			}
		}
	}
}
