package notify

import (
	"maps"
	"slices"
)

// renamed returns the entries under the names that their owners have now, and gives
// the polling queues of former names to the new ones. Restore calls it once.
func (l *Log) renamed(entries []Entry) []Entry {
	for from, to := range l.cfg.Formerly {
		l.mergeQueue(from, to, entries)
	}
	clear(l.former)
	if len(l.cfg.Formerly) == 0 {
		return entries
	}
	entries = slices.Clone(entries)
	for i := range entries {
		entries[i].Owner = l.now(entries[i].Owner)
	}
	return entries
}

func (l *Log) mergeQueue(from, to string, entries []Entry) {
	o := l.owner(to)
	o.mu.Lock()
	defer o.mu.Unlock()
	queues := maps.Clone(l.former)
	queues[to] = savedQueue{o.queue.cursor, o.queue.back}
	if !mergeQueues(queues, from, to, entries) {
		return
	}
	o.queue = queue{cursor: queues[to].Cursor, back: queues[to].Back}
	l.saver.touch()
}

// mergeQueues makes one polling queue of two, and reports whether there were two. What
// either name has not fetched waits in it; a name that never polled has fetched nothing.
// Where the store has given the entries of both to one name already, nobody can tell
// whose an entry was: then it rather comes twice than not at all.
func mergeQueues(queues map[string]savedQueue, from, to string, entries []Entry) bool {
	old, polled := queues[from]
	apart := slices.ContainsFunc(entries, func(e Entry) bool { return e.Owner == from })
	if !polled && !apart {
		return false
	}
	now := queues[to]
	fetched := map[string]uint64{from: old.Cursor, to: now.Cursor}
	if !apart {
		fetched[to] = min(old.Cursor, now.Cursor)
	}
	merged := savedQueue{max(old.Cursor, now.Cursor), slices.Concat(old.Back, now.Back)}
	for _, e := range entries {
		if after, ok := fetched[e.Owner]; ok && e.Seq > after {
			merged.Cursor, merged.Back = max(merged.Cursor, e.Seq), append(merged.Back, e.Seq)
		}
	}
	slices.Sort(merged.Back)
	merged.Back = slices.Compact(merged.Back)
	delete(queues, from)
	queues[to] = merged
	return true
}

// rename gives what the file has of former names to the present ones.
func (f *file) rename(formerly map[string]string, entries []Entry) {
	if f.Polling == nil {
		f.Polling = map[string]savedQueue{}
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
