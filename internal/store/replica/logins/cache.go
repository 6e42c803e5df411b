package logins

import (
	"container/heap"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/kit/principal"
)

// cache holds the latest known message of each subject of one kind: this replica's writes at
// once, and all writes, in order, through the follower. The caller locks.
type cache[V any] struct {
	describe func(V) traits
	rows     map[oauth.Hash]cacheRow[V]

	// The values by owner, how many there are of each sort, and their ends. A replaced value
	// leaves its end behind until the heap is made again.
	owned map[principal.Owner]map[oauth.Hash]struct{}
	count [2]int
	ends  endHeap
}

// traits are what a cache must know of a value.
type traits struct {
	owner principal.Owner
	ends  time.Time
	sort  int // 0 or 1; each has a limit of its own
}

// cacheRow is the latest known message of a subject.
type cacheRow[V any] struct {
	seq     uint64
	cleared bool
	value   V
}

func newCache[V any](describe func(V) traits) cache[V] {
	return cache[V]{describe: describe, rows: make(map[oauth.Hash]cacheRow[V]), owned: make(map[principal.Owner]map[oauth.Hash]struct{})}
}

// set stores a message unless a later one is known. A tombstone stays until the follower reaches
// it, because messages that the follower delivers before it are older.
func (v *cache[V]) set(h oauth.Hash, row cacheRow[V], followed bool) {
	old, known := v.rows[h]
	if known && old.seq > row.seq {
		return
	}
	v.remove(h)
	if row.cleared && followed {
		return
	}
	v.rows[h] = row
	if row.cleared {
		return
	}
	t := v.describe(row.value)
	if v.owned[t.owner] == nil {
		v.owned[t.owner] = make(map[oauth.Hash]struct{})
	}
	v.owned[t.owner][h] = struct{}{}
	v.count[t.sort]++
	heap.Push(&v.ends, end{at: t.ends, seq: row.seq, hash: h})
	if len(v.ends) > 2*len(v.rows)+64 {
		v.rebuild()
	}
}

func (v *cache[V]) remove(h oauth.Hash) {
	row, known := v.rows[h]
	if !known {
		return
	}
	delete(v.rows, h)
	if row.cleared {
		return
	}
	t := v.describe(row.value)
	delete(v.owned[t.owner], h)
	if len(v.owned[t.owner]) == 0 {
		delete(v.owned, t.owner)
	}
	v.count[t.sort]--
}

// rebuild drops the ends of values that were replaced or removed.
func (v *cache[V]) rebuild() {
	v.ends = v.ends[:0]
	for h, row := range v.rows {
		if !row.cleared {
			v.ends = append(v.ends, end{at: v.describe(row.value).ends, seq: row.seq, hash: h})
		}
	}
	heap.Init(&v.ends)
}

// retain drops unwanted values. Tombstones stay.
func (v *cache[V]) retain(wanted func(V) bool) {
	for h, row := range v.rows {
		if !row.cleared && !wanted(row.value) {
			v.remove(h)
		}
	}
}

// takeExpired returns the subjects of expired values, once. If clearing them fails, rebuild
// makes them known again.
func (v *cache[V]) takeExpired(now time.Time) []oauth.Hash {
	var gone []oauth.Hash
	for len(v.ends) > 0 && !now.Before(v.ends[0].at) {
		e, _ := heap.Pop(&v.ends).(end)
		if row, known := v.rows[e.hash]; known && !row.cleared && row.seq == e.seq {
			gone = append(gone, e.hash)
		}
	}
	return gone
}

// overShare returns the owner's live value that ends first if it has a whole share of a sort.
// One per new value is enough.
func (v *cache[V]) overShare(owner principal.Owner, sort, share int, now time.Time) []oauth.Hash {
	var first end
	own := 0
	for h := range v.owned[owner] {
		row := v.rows[h]
		t := v.describe(row.value)
		if t.sort != sort || !now.Before(t.ends) {
			continue
		}
		one := end{at: t.ends, seq: row.seq, hash: h}
		if own == 0 || one.before(first) {
			first = one
		}
		own++
	}
	if own < share {
		return nil
	}
	return []oauth.Hash{first.hash}
}

// end is when a value ends.
type end struct {
	at   time.Time
	seq  uint64
	hash oauth.Hash
}

func (e end) before(f end) bool { return e.at.Before(f.at) || e.at.Equal(f.at) && e.seq < f.seq }

// endHeap has the first end first.
type endHeap []end

// Len implements heap.Interface.
func (e endHeap) Len() int { return len(e) }

// Less implements heap.Interface.
func (e endHeap) Less(i, j int) bool { return e[i].before(e[j]) }

// Swap implements heap.Interface.
func (e endHeap) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

// Push implements heap.Interface.
func (e *endHeap) Push(x any) {
	one, _ := x.(end)
	*e = append(*e, one)
}

// Pop implements heap.Interface.
func (e *endHeap) Pop() any {
	all := *e
	last := all[len(all)-1]
	*e = all[:len(all)-1]
	return last
}
