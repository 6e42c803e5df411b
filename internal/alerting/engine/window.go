package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"candela/internal/market"
	"candela/internal/market/marketdata"
	"candela/internal/market/provider"
)

// view is a window at one moment. It does not change. Its closed bars share
// memory with those of later views: they are only ever appended to, by the loop,
// and each view looks no further than its own end.
type view struct {
	closed  market.Bars
	running market.Bar // the bar after closed, when runs
	runs    bool
	asOf    time.Time
	whole   bool // the venue has nothing before closed
	built   market.Interval
	place   *place
}

// shelf is where the loop puts things for everyone to read.
type shelf[K comparable, V any] struct {
	mu sync.RWMutex
	of map[K]*atomic.Pointer[V]
}

// get returns what lies under a key, nil for nothing.
func (s *shelf[K, V]) get(key K) *V {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if found := s.of[key]; found != nil {
		return found.Load()
	}
	return nil
}

// put lets others see what a pointer points to, now and later.
func (s *shelf[K, V]) put(key K, shown *atomic.Pointer[V]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = make(map[K]*atomic.Pointer[V])
	}
	s.of[key] = shown
}

func (s *shelf[K, V]) remove(key K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, key)
}

// Bars answers a request from the window of a series that is followed: the same
// bars that reading them would give. It reports false when they must be read:
// nobody follows the series, the window is too short, the newest price is not new,
// or the bars are not the venue's own.
func (e *Engine) Bars(r marketdata.Request) (marketdata.BarSet, bool) {
	v := e.windows.get(provider.Sub{Symbol: r.Symbol, Interval: r.Interval})
	want := r.Bars + r.Warmup
	if v == nil || !v.runs || v.built.Valid() || len(r.Series) > 0 || e.cfg.Now().Sub(v.asOf) > freshFor {
		return marketdata.BarSet{}, false
	}
	if v.closed.Len()+1 < want && !v.whole {
		return marketdata.BarSet{}, false
	}
	span, open := v.place.calendar.Bucket(r.Interval, v.running.T)
	if !open || !span.Holds(v.place.clock.Unix(e.cfg.Now())) {
		return marketdata.BarSet{}, false // the bar is over and was not told to be
	}
	past := v.closed.Tail(want - 1)
	bars := market.MakeBars(past.Len()+1, past.TakerBuy != nil)
	for i := range past.Len() {
		bars.Append(past.At(i))
	}
	bars.Append(v.running)
	return marketdata.BarSet{
		Symbol: r.Symbol, Instrument: r.Symbol, Provider: v.place.symbol.Venue, Bars: bars, Calendar: v.place.calendar, Forming: true, Live: true, AsOf: v.asOf,
	}, true
}
