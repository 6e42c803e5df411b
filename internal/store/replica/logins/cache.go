package logins

import (
	"time"

	"candela/internal/access/oauth"
)

// cache holds the latest known message of each subject of one kind: this replica's writes at
// once, and all writes, in order, through the follower. The caller locks.
type cache[V any] struct {
	rows map[oauth.Hash]cacheRow[V]
}

// cacheRow is the latest known message of a subject.
type cacheRow[V any] struct {
	seq     uint64
	cleared bool
	value   V
}

func newCache[V any]() cache[V] { return cache[V]{rows: make(map[oauth.Hash]cacheRow[V])} }

// set stores a message unless a later one is known. A tombstone stays until the follower reaches
// it, because messages that the follower delivers before it are older.
func (v *cache[V]) set(h oauth.Hash, row cacheRow[V], followed bool) {
	old, known := v.rows[h]
	if known && old.seq > row.seq {
		return
	}
	if row.cleared && followed {
		delete(v.rows, h)
		return
	}
	v.rows[h] = row
}

// retain drops unwanted values. Tombstones stay.
func (v *cache[V]) retain(wanted func(V) bool) {
	for h, row := range v.rows {
		if !row.cleared && !wanted(row.value) {
			delete(v.rows, h)
		}
	}
}

// evictable returns the subjects of counted values to clear: expired ones and, if more than limit
// remain, the first to expire. One per new value is enough.
func (v *cache[V]) evictable(limit int, now time.Time, counts func(V) (ends time.Time, ok bool)) []oauth.Hash {
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
	if left > limit {
		gone = append(gone, first)
	}
	return gone
}
