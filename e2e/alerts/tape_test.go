package alerts

import (
	"net/http/httptest"
	"testing"
	"time"

	"candela/internal/fake"
	"candela/internal/fake/binance"
	"candela/internal/market"
	"candela/internal/provider"
)

const (
	seed = 7
	step = 4 // seconds between two moves of a price
)

// newVenue starts the fake venue and returns where. Its streams misbehave a little.
func newVenue(t *testing.T) string {
	t.Helper()
	venue := binance.New(binance.Config{
		Seed: seed, Step: 250 * time.Millisecond, Limit: 1_000_000,
		Knows: func(string) bool { return true },
	})
	venue.Feed.Set(fake.StreamFaults{Duplicate: 0.05, Reorder: 0.05, Lose: 0.05})
	server := httptest.NewServer(venue)
	t.Cleanup(server.Close)
	return server.URL
}

// tape is what the venue shows, at any time. One goroutine only.
type tape struct {
	now    time.Time
	prices *fake.Prices
	seen   map[look]market.Bar
}

type look struct {
	symbol string
	at     int64
}

func newTape() *tape {
	tp := &tape{seen: map[look]market.Bar{}}
	tp.prices = fake.NewPrices(seed, 0, func() time.Time { return tp.now })
	return tp
}

// at returns the newest minute of a symbol as it is shown at a time.
func (tp *tape) at(symbol string, unix int64) market.Bar {
	key := look{symbol, unix - unix%step}
	bar, ok := tp.seen[key]
	if !ok {
		tp.now = time.Unix(key.at, 0)
		bars, _ := tp.prices.Bars(symbol, provider.BarQuery{Interval: market.Minute1, Limit: 2})
		bar = bars.At(bars.Len() - 1)
		tp.seen[key] = bar
	}
	return bar
}

// reached reports whether what is shown at a step tells that the price has reached
// the threshold since the step before. A price that went as far as it had before in
// the same minute does not show.
func (tp *tape) reached(w *want, at int64) bool {
	before, bar := tp.at(w.Symbol, at-step), tp.at(w.Symbol, at)
	if w.Above {
		return bar.C >= w.Threshold || bar.H >= w.Threshold && (bar.T != before.T || bar.H > before.H)
	}
	return bar.C <= w.Threshold || bar.L <= w.Threshold && (bar.T != before.T || bar.L < before.L)
}

// touched reports whether the minute that runs at a time has reached the threshold.
func (tp *tape) touched(w *want, unix int64) bool {
	bar := tp.at(w.Symbol, unix)
	return bar.T+60 > unix && (w.Above && bar.H >= w.Threshold || !w.Above && bar.L <= w.Threshold)
}

// due reports whether an alert made at a time must have fired when everything shown
// up to the end is known, however often nobody looked meanwhile: a minute that began
// after it reached the threshold, or the one it was made in did and had not before.
func (tp *tape) due(w *want, made, end time.Time) bool {
	from := made.Unix() + 2 // made while the price was read
	fresh := !tp.touched(w, from)
	for at := from - from%step + step; at <= end.Unix(); at += step {
		if began := tp.at(w.Symbol, at).T; tp.reached(w, at) && (began > made.Unix() || fresh) {
			return true
		}
	}
	return false
}

// caused reports whether the price gave an alert a reason to fire. What the price
// did shortly before it was made may count, because the price was known from then.
func (tp *tape) caused(w *want, made, fired time.Time) bool {
	for at := made.Unix() - made.Unix()%step - step; at <= fired.Unix()+1; at += step {
		if tp.reached(w, at) {
			return true
		}
	}
	return false
}
