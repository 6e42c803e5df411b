package ta

import (
	order "container/list"
	"sync"
	"weak"

	"candela/lib/market"
)

// Streams keeps the memory of streams at the newest bar of their warm-up, for bars in the same memory that are
// evaluated again and again: what was handed over is not written any more, so bars that begin at the same
// place are the same, and no bar is compared or copied. A stream then steps through the bars that are new, and
// gives the same bits. All callers share what is kept; what was not asked for longest goes first. It is safe
// for concurrent use, and a nil one keeps nothing.
type Streams struct {
	mu    sync.Mutex
	most  int // bytes
	used  int
	order order.List // of *warmed, the one asked for last in front
	all   map[warmedKey]*order.Element
}

// NewStreams returns an empty store of at most so many bytes.
func NewStreams(most int) *Streams { return &Streams{most: most, all: map[warmedKey]*order.Element{}} }

// Held returns how many bytes and streams the store holds.
func (k *Streams) Held() (bytes, streams int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.used, len(k.all)
}

// warmedKey names a computation and the memory of its first bar.
type warmedKey struct {
	selection string
	interval  market.Interval
	calendar  market.Calendar
	times     weak.Pointer[int64]
	columns   [6]weak.Pointer[float64]
}

// warmed is the memory of a stream after some bars. It is immutable.
type warmed struct {
	key   warmedKey
	cells []float64
	seen  int
	last  market.Bar
}

func (w *warmed) cost() int { return stateCost + len(w.key.selection) + 8*len(w.cells) }

// Warm is the stream's Warm for one of a selection that has seen no bar.
func (k *Streams) Warm(stream *Stream, s *Selection, env Env, past *market.Bars) {
	n := past.Len()
	if _, plain := s.Instance.(*series); k == nil || !plain || n < leastKept {
		stream.Warm(past)
		return
	}
	key := warmedBy(s, env, past)
	if known := k.find(key); known != nil && known.seen <= n && past.At(known.seen-1).Equal(known.last) && stream.Restore(known.cells) == nil {
		if known.seen == n {
			return
		}
		rest := past.Slice(known.seen, n)
		stream.Warm(&rest)
	} else {
		stream.Warm(past)
	}
	if stream.slab.Size() <= mostKept {
		k.keep(&warmed{key: key, cells: stream.Snapshot(nil), seen: n, last: past.At(n - 1)})
	}
}

// warmedBy returns the key of a computation over bars.
func warmedBy(s *Selection, env Env, b *market.Bars) warmedKey {
	key := warmedKey{selection: s.Key(), interval: env.Interval, calendar: env.Calendar, times: weak.Make(&b.T[0])}
	for i, column := range [...][]float64{b.O, b.H, b.L, b.C, b.V, b.TakerBuy} {
		if column != nil {
			key.columns[i] = weak.Make(&column[0])
		}
	}
	return key
}

// find returns what is kept under a key, nil if there is nothing.
func (k *Streams) find(key warmedKey) *warmed {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.all[key]
	if e == nil {
		return nil
	}
	k.order.MoveToFront(e)
	known, _ := e.Value.(*warmed)
	return known
}

// keep stores what a stream has seen, in place of what it had seen before.
func (k *Streams) keep(w *warmed) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e := k.all[w.key]; e != nil {
		k.forget(e)
	}
	k.all[w.key] = k.order.PushFront(w)
	k.used += w.cost()
	for k.used > k.most {
		k.forget(k.order.Back())
	}
}

func (k *Streams) forget(e *order.Element) {
	w, _ := k.order.Remove(e).(*warmed)
	delete(k.all, w.key)
	k.used -= w.cost()
}
