package logins

import (
	"time"

	"candela/internal/access/oauth"
)

// cache is what a replica knows of the subjects of one kind. It is told of its own
// writes at once and of all writes, in order, by its watcher. The caller locks.
type cache[V any] struct {
	rows map[oauth.Hash]cacheRow[V]
}

// cacheRow is the last message that is known of a subject.
type cacheRow[V any] struct {
	seq     uint64
	cleared bool
	value   V
}

func newCache[V any]() cache[V] { return cache[V]{rows: make(map[oauth.Hash]cacheRow[V])} }

// set notes a message, unless a later one is known. A subject that is cleared is
// remembered until the watcher has come to that message: what it is told of the
// subject before then is older.
func (v *cache[V]) set(h oauth.Hash, row cacheRow[V], watched bool) {
	old, known := v.rows[h]
	if known && old.seq > row.seq {
		return
	}
	if row.cleared && watched {
		delete(v.rows, h)
		return
	}
	v.rows[h] = row
}

// retain forgets values that are not wanted. What was cleared stays.
func (v *cache[V]) retain(wanted func(V) bool) {
	for h, row := range v.rows {
		if !row.cleared && !wanted(row.value) {
			delete(v.rows, h)
		}
	}
}

// evictable returns subjects to clear, of those that count: which have ended and, if
// more than so many are left, the first to end, of several the first written. One goes for each that comes, so
// that is enough.
func (v *cache[V]) evictable(most int, now time.Time, counts func(V) (ends time.Time, ok bool)) []oauth.Hash {
	var gone []oauth.Hash
	var first oauth.Hash
	var at time.Time
	var seq uint64
	left := 0
	for h, row := range v.rows {
		end, ok := counts(row.value)
		if row.cleared || !ok {
			continue
		}
		if !now.Before(end) {
			gone = append(gone, h)
			continue
		}
		left++
		if at.IsZero() || end.Before(at) || end.Equal(at) && row.seq < seq {
			first, at, seq = h, end, row.seq
		}
	}
	if left > most {
		gone = append(gone, first)
	}
	return gone
}
