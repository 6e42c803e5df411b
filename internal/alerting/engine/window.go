package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"candela/internal/market"
	"candela/internal/market/marketdata"
	"candela/internal/market/provider"
)

// window is a window at one moment. It does not change. Its closed bars share
// memory with those of later views: they are only ever appended to, by the loop,
// and each view looks no further than its own end.
type window struct {
	closed       market.Bars
	forming      market.Bar // the bar after closed, when runs
	hasForming   bool
	asOf         time.Time
	reachesStart bool // the venue has nothing before closed
	builtFrom    market.Interval
	listing      *listing
}

// publishedMap is where the loop puts things for everyone to read.
type publishedMap[K comparable, V any] struct {
	mu     sync.RWMutex
	values map[K]*atomic.Pointer[V]
}

// get returns what lies under a key, nil for nothing.
func (s *publishedMap[K, V]) get(key K) *V {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if found := s.values[key]; found != nil {
		return found.Load()
	}
	return nil
}

// put lets others see what a pointer points to, now and later.
func (s *publishedMap[K, V]) put(key K, shown *atomic.Pointer[V]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values == nil {
		s.values = make(map[K]*atomic.Pointer[V])
	}
	s.values[key] = shown
}

func (s *publishedMap[K, V]) remove(key K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.values, key)
}

// Bars answers a request from the window of a series that is followed: the same
// bars that reading them would give. It reports false when they must be read:
// nobody follows the series, the window is too short, the newest price is not new,
// or the bars are not the venue's own.
func (e *Engine) Bars(r marketdata.Request) (marketdata.BarSet, bool) {
	v := e.windows.get(provider.Sub{Symbol: r.Symbol, Interval: r.Interval})
	want := r.Bars + r.Warmup
	if v == nil || !v.hasForming || v.builtFrom.Valid() || len(r.Series) > 0 || e.cfg.Now().Sub(v.asOf) > maxPriceAge {
		return marketdata.BarSet{}, false
	}
	if v.closed.Len()+1 < want && !v.reachesStart {
		return marketdata.BarSet{}, false
	}
	span, open := v.listing.calendar.Bucket(r.Interval, v.forming.T)
	if !open || !span.Holds(v.listing.clock.Unix(e.cfg.Now())) {
		return marketdata.BarSet{}, false // the bar is over and was not told to be
	}
	past := v.closed.Tail(want - 1)
	bars := market.MakeBars(past.Len()+1, past.TakerBuy != nil)
	for i := range past.Len() {
		bars.Append(past.At(i))
	}
	bars.Append(v.forming)
	return marketdata.BarSet{
		Symbol: r.Symbol, Instrument: r.Symbol, Provider: v.listing.symbol.Venue, Bars: bars, Calendar: v.listing.calendar, Forming: true, Live: true, AsOf: v.asOf,
	}, true
}
