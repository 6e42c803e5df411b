// Package tape knows what the fake venue shows at any time, and from that which
// alerts on prices and on signals must have fired.
package tape

import (
	"sync"
	"time"

	"candela/internal/data/provider"
	"candela/internal/testkit/fake"
	"candela/lib/market"
)

// Step is how many seconds lie between two moves of a price.
const Step = 4

// Want is a price that an alert waits for.
type Want struct {
	Symbol    string
	Above     bool
	Threshold float64
}

// Tape is what the venue shows. It is safe for concurrent use.
type Tape struct {
	mu       sync.Mutex
	now      time.Time
	prices   *fake.Prices
	seen     map[look]market.Bar
	closings map[closing]market.Bar

	charting sync.Mutex // before mu
	windows  map[string]window
	charts   map[chart]map[string]float64 // values by label
}

type look struct {
	symbol string
	at     int64
}

// New returns the tape of a venue with a seed.
func New(seed uint64) *Tape {
	t := &Tape{seen: map[look]market.Bar{}, closings: map[closing]market.Bar{}, windows: map[string]window{}, charts: map[chart]map[string]float64{}}
	t.prices = fake.NewPrices(seed, 0, func() time.Time { return t.now })
	return t
}

// At returns the newest minute of a symbol as it is shown at a time.
func (t *Tape) At(symbol string, unix int64) market.Bar {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := look{symbol, unix - unix%Step}
	bar, ok := t.seen[key]
	if !ok {
		t.now = time.Unix(key.at, 0)
		bars, _ := t.prices.Bars(symbol, provider.BarQuery{Interval: market.Minute1, Limit: 2})
		bar = bars.At(bars.Len() - 1)
		t.seen[key] = bar
	}
	return bar
}

// Minutes returns the newest minutes of a symbol as they are shown at a time.
func (t *Tape) Minutes(symbol string, at time.Time, limit int) market.Bars {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now = at
	bars, _ := t.prices.Bars(symbol, provider.BarQuery{Interval: market.Minute1, Limit: limit})
	return bars
}

// reached reports whether the prices shown at a step imply that the price reached the
// threshold since the step before. A price that went as far as it had before in
// the same minute does not show.
func (t *Tape) reached(w *Want, at int64) bool {
	before, bar := t.At(w.Symbol, at-Step), t.At(w.Symbol, at)
	if w.Above {
		return bar.C >= w.Threshold || bar.H >= w.Threshold && (bar.T != before.T || bar.H > before.H)
	}
	return bar.C <= w.Threshold || bar.L <= w.Threshold && (bar.T != before.T || bar.L < before.L)
}

// touched reports whether the minute that runs at a time has reached the threshold.
func (t *Tape) touched(w *Want, unix int64) bool {
	bar := t.At(w.Symbol, unix)
	return bar.T+60 > unix && (w.Above && bar.H >= w.Threshold || !w.Above && bar.L <= w.Threshold)
}

// Due returns when an alert made at a time must have fired when everything shown up
// to the end is known, however often nobody looked meanwhile: at the step in which a
// minute that began after it reached the threshold, or the one it was made in did and
// had not before. The zero time means that it need not have fired.
func (t *Tape) Due(w *Want, made, end time.Time) time.Time {
	from := made.Unix() + 2 // made while the price was read
	fresh := !t.touched(w, from)
	for at := from - from%Step + Step; at <= end.Unix(); at += Step {
		if began := t.At(w.Symbol, at).T; t.reached(w, at) && (began > made.Unix() || fresh) {
			return time.Unix(at, 0)
		}
	}
	return time.Time{}
}

// Caused reports whether the price gave an alert a reason to fire. What the price
// did shortly before it was made may count, because the price was known from then.
func (t *Tape) Caused(w *Want, made, fired time.Time) bool {
	for at := made.Unix() - made.Unix()%Step - Step; at <= fired.Unix()+1; at += Step {
		if t.reached(w, at) {
			return true
		}
	}
	return false
}
