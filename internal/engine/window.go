package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"candela/internal/market"
	"candela/internal/marketdata"
	"candela/internal/provider"
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

// window is the newest bars of a series, for everyone to read.
type window struct{ atomic.Pointer[view] }

// windows are those that are ready to be read.
type windows struct {
	mu sync.RWMutex
	of map[provider.Sub]*window
}

func (w *windows) get(sub provider.Sub) *view {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if found := w.of[sub]; found != nil {
		return found.Load()
	}
	return nil
}

func (w *windows) put(sub provider.Sub, added *window) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of = make(map[provider.Sub]*window)
	}
	w.of[sub] = added
}

func (w *windows) remove(sub provider.Sub) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.of, sub)
}

// Bars answers a request from the window of a series that is followed: the same
// bars that reading them would give. It reports false when they must be read:
// nobody follows the series, the window is too short, the newest price is not new,
// or the bars are not the venue's own.
func (e *Engine) Bars(r marketdata.Request) (marketdata.Set, bool) {
	v := e.windows.get(provider.Sub{Symbol: r.Symbol, Interval: r.Interval})
	want := r.Bars + r.Warmup
	if v == nil || !v.runs || v.built.Valid() || len(r.Series) > 0 || e.cfg.Now().Sub(v.asOf) > freshFor {
		return marketdata.Set{}, false
	}
	if v.closed.Len()+1 < want && !v.whole {
		return marketdata.Set{}, false
	}
	span, open := v.place.calendar.Bucket(r.Interval, v.running.T)
	if !open || !span.Holds(v.place.clock.Unix(e.cfg.Now())) {
		return marketdata.Set{}, false // the bar is over and was not told to be
	}
	past := v.closed.Tail(want - 1)
	bars := market.MakeBars(past.Len()+1, past.TakerBuy != nil)
	for i := range past.Len() {
		bars.Append(past.At(i))
	}
	bars.Append(v.running)
	return marketdata.Set{
		Symbol: r.Symbol, Provider: v.place.symbol.Venue, Bars: bars, Calendar: v.place.calendar, Running: true, AsOf: v.asOf,
	}, true
}
