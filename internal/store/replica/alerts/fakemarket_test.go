package alerts_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"candela/internal/data/provider"
	"candela/lib/market"
)

// fakeMarket is a real-time market whose prices the test sets. Bars include all earlier prices.
type fakeMarket struct {
	mu      sync.Mutex
	prices  map[string][]trade // by symbol, ascending
	streams map[*fakeStream]bool
}

type trade struct {
	at    int64
	price float64
}

type fakeStream struct {
	subs map[provider.Sub]bool
	wake chan struct{}
}

const calm = 100.0 // the price before anything happens

func newFakeMarket() *fakeMarket {
	return &fakeMarket{prices: make(map[string][]trade), streams: make(map[*fakeStream]bool)}
}

// trade sets the price of symbols.
func (b *fakeMarket) trade(price float64, symbols ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range symbols {
		b.prices[s] = append(b.prices[s], trade{time.Now().Unix(), price})
	}
	for s := range b.streams {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

// streamed returns the number of streams of each symbol.
func (b *fakeMarket) streamed() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make(map[string]int)
	for s := range b.streams {
		for sub := range s.subs {
			all[sub.Symbol.Name]++
		}
	}
	return all
}

func (b *fakeMarket) Name() string { return "market" }
func (b *fakeMarket) Capabilities() provider.Caps {
	return provider.Caps{Intervals: []market.Interval{market.Minute1}, PageSize: 1000, Live: true, Dynamic: true}
}

func (b *fakeMarket) Instrument(_ context.Context, s market.Symbol) (provider.Instrument, error) {
	if s.Name == "NONE" {
		return provider.Instrument{}, provider.UnknownSymbol("market", s, "S1")
	}
	return provider.Instrument{Symbol: s}, nil
}

// bar returns the bar that opened at t. The caller holds the lock.
func (b *fakeMarket) bar(symbol string, t int64) market.Bar {
	open := calm
	bar := market.Bar{T: t, V: 1}
	first := true
	for _, p := range b.prices[symbol] {
		switch {
		case p.at < t:
			open = p.price
		case p.at < t+60 && first:
			bar.H, bar.L, bar.C = max(open, p.price), min(open, p.price), p.price
			first = false
		case p.at < t+60:
			bar.H, bar.L, bar.C = max(bar.H, p.price), min(bar.L, p.price), p.price
		}
	}
	if bar.O = open; first {
		bar.H, bar.L, bar.C = open, open, open
	}
	return bar
}

func (b *fakeMarket) Bars(_ context.Context, q provider.BarQuery) (provider.BarPage, error) {
	q, err := b.Capabilities().Normalize("market", q)
	if err != nil {
		return provider.BarPage{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now().Unix()
	to := now + 1
	if q.To != 0 {
		to = min(to, q.To)
	}
	last := (to - 1) / 60 * 60
	from := last - int64(q.Limit-1)*60
	page := provider.BarPage{More: true, Next: from}
	if q.From != 0 {
		from = (q.From + 59) / 60 * 60
		end := min(last, from+int64(q.Limit-1)*60)
		page.More, page.Next = end < last, end+60
		last = end
	}
	for t := from; t <= last; t += 60 {
		page.Bars.Append(b.bar(q.Symbol.Name, t))
		page.Running = t+60 > now
	}
	return page, nil
}

func (b *fakeMarket) Stream(ctx context.Context, subs []provider.Sub, changes <-chan provider.Change, emit provider.Emit) error {
	s := &fakeStream{subs: make(map[provider.Sub]bool), wake: make(chan struct{}, 1)}
	b.mu.Lock()
	for _, sub := range subs {
		s.subs[sub] = true
	}
	b.streams[s] = true
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		delete(b.streams, s)
		b.mu.Unlock()
	}()
	closed := time.Now().Unix() / 60 * 60
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case c := <-changes:
			b.mu.Lock()
			for _, sub := range c.Drop {
				delete(s.subs, sub)
			}
			for _, sub := range c.Add {
				s.subs[sub] = true
			}
			b.mu.Unlock()
		case <-tick.C:
		case <-s.wake:
		}
		now := time.Now()
		for _, e := range b.events(s, &closed, now) {
			if err := emit(ctx, e); err != nil {
				return err
			}
		}
	}
}

// events returns the current bar of each subscription and, after a minute, the closed one.
func (b *fakeMarket) events(s *fakeStream, closed *int64, now time.Time) []provider.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	open := now.Unix() / 60 * 60
	var events []provider.Event
	for sub := range maps.Keys(s.subs) {
		if open > *closed {
			bar := b.bar(sub.Symbol.Name, open-60)
			events = append(events, provider.Event{Sub: sub, Kind: provider.Closed, Bar: bar, Price: bar.C, At: now})
		}
		bar := b.bar(sub.Symbol.Name, open)
		events = append(events, provider.Event{Sub: sub, Kind: provider.Forming, Bar: bar, Price: bar.C, At: now})
	}
	*closed = open
	return slices.Clip(events)
}
