package notify

import "slices"

// renamed returns the entries under the names that their owners have now, and gives
// the polling queues of former names to the new ones. Restore calls it once.
func (l *Log) renamed(entries []Entry) []Entry {
	for from, to := range l.cfg.Formerly {
		l.mergeQueue(from, to, entries)
	}
	l.former = nil
	if len(l.cfg.Formerly) == 0 {
		return entries
	}
	entries = slices.Clone(entries)
	for i := range entries {
		entries[i].Owner = l.now(entries[i].Owner)
	}
	return entries
}

// mergeQueue makes one polling queue of two. What either name has not fetched waits
// in it; a name that never polled has fetched nothing. Where the store has given the
// entries of both to one name already, nobody can tell whose an entry was: then it
// rather comes twice than not at all.
func (l *Log) mergeQueue(from, to string, entries []Entry) {
	old, polled := l.former[from]
	apart := slices.ContainsFunc(entries, func(e Entry) bool { return e.Owner == from })
	if !polled && !apart {
		return
	}
	o := l.owner(to)
	o.mu.Lock()
	defer o.mu.Unlock()
	q := &o.queue
	fetched := map[string]uint64{from: old.Cursor, to: q.cursor}
	if !apart {
		fetched[to] = min(old.Cursor, q.cursor)
	}
	back, cursor := slices.Concat(old.Back, q.back), max(old.Cursor, q.cursor)
	for _, e := range entries {
		if after, ok := fetched[e.Owner]; ok && e.Seq > after {
			back, cursor = append(back, e.Seq), max(cursor, e.Seq)
		}
	}
	slices.Sort(back)
	*q = queue{cursor: cursor, back: slices.Compact(back)}
	l.saver.touch()
}
