package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"candela/internal/data/marketdata"
	"candela/internal/data/provider"
	"candela/lib/market"
)

// window is an immutable snapshot of a rolling window. Its closed bars share memory with
// later snapshots: the loop only appends, beyond the length of every older one.
type window struct {
	closed       market.Bars
	forming      market.Bar // valid if hasForming
	hasForming   bool
	asOf         time.Time
	reachesStart bool // the venue has no older bars
	builtFrom    market.Interval
	listing      *listing
}

// publishedMap holds values that the loop writes and others read.
type publishedMap[K comparable, V any] struct {
	mu     sync.RWMutex
	values map[K]*atomic.Pointer[V]
}

// get returns the present value, nil if there is none.
func (s *publishedMap[K, V]) get(key K) *V {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if found := s.values[key]; found != nil {
		return found.Load()
	}
	return nil
}

// put publishes the present and later values of a pointer.
func (s *publishedMap[K, V]) put(key K, value *atomic.Pointer[V]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values == nil {
		s.values = make(map[K]*atomic.Pointer[V])
	}
	s.values[key] = value
}

func (s *publishedMap[K, V]) remove(key K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.values, key)
}

// Bars returns the requested bars from the rolling window, equal to those that would be
// read. It reports false if they must be fetched instead: they are not tracked, too few,
// too old, or built from shorter ones.
func (e *Engine) Bars(r marketdata.Request) (marketdata.BarSet, bool) {
	if r.End != 0 {
		return marketdata.BarSet{}, false // the window is of the newest bars
	}
	w := e.windows.get(provider.Sub{Symbol: r.Symbol, Interval: r.Interval})
	total := r.Bars + r.Warmup
	if w == nil || !w.hasForming || w.builtFrom.Valid() || len(r.Series) > 0 || e.cfg.Now().Sub(w.asOf) > maxPriceAge {
		return marketdata.BarSet{}, false
	}
	if w.closed.Len()+1 < total && !w.reachesStart {
		return marketdata.BarSet{}, false
	}
	span, open := w.listing.calendar.Bucket(r.Interval, w.forming.T)
	if !open || !span.Holds(w.listing.clock.Unix(e.cfg.Now())) {
		return marketdata.BarSet{}, false // the bar has ended, and its close was not received yet
	}
	bars := copyOf(w.closed.Tail(total-1), 1)
	bars.Append(w.forming)
	set := marketdata.BarSet{
		Symbol: r.Symbol, Instrument: r.Symbol, Provider: w.listing.symbol.Venue, Bars: bars, Calendar: w.listing.calendar, Forming: true, Live: true, AsOf: w.asOf, Facts: w.listing.facts,
	}
	set.Share(w.closed.Tail(total - 1))
	return set, true
}
