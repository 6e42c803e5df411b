package feed

import (
	"context"
	"maps"
	"slices"
	"sync"

	"candela/internal/market"
	"candela/internal/market/provider"
)

// Hub follows the symbols of many venues, with a Feed for each that is started by
// its first subscription. It is safe for concurrent use.
type Hub struct {
	route func(context.Context, market.Symbol) (provider.Provider, error)
	cfg   Config

	mu    sync.Mutex
	feeds map[string]*Feed // by venue
	start func(*Feed)      // nil while Run does not run
}

// NewHub returns a hub that asks route which venue a symbol is of. The numbers of
// cfg.Rand are drawn by several goroutines at once.
func NewHub(route func(context.Context, market.Symbol) (provider.Provider, error), cfg Config) *Hub {
	return &Hub{route: route, cfg: cfg, feeds: make(map[string]*Feed)}
}

// Subscribe is Feed.Subscribe at the venue of the symbol. It returns the
// subscription as events will bear it: with the venue named, so that one symbol
// has one name however it was asked for.
func (h *Hub) Subscribe(ctx context.Context, sub provider.Sub, since int64) (provider.Sub, error) {
	p, err := h.route(ctx, sub.Symbol)
	if err != nil {
		return sub, err
	}
	sub.Symbol.Venue = p.Name()
	return sub, h.feed(p).Subscribe(ctx, sub, since)
}

// feed returns the feed of a venue, a new one if there is none.
func (h *Hub) feed(p provider.Provider) *Feed {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.feeds[p.Name()]
	if f == nil {
		f = New(p, h.cfg)
		h.feeds[p.Name()] = f
		if h.start != nil {
			h.start(f)
		}
	}
	return f
}

// Unsubscribe ends a subscription that Subscribe has returned.
func (h *Hub) Unsubscribe(sub provider.Sub) {
	h.mu.Lock()
	f := h.feeds[sub.Symbol.Venue]
	h.mu.Unlock()
	if f != nil {
		f.Unsubscribe(sub)
	}
}

// Run runs the feeds, those that come later too, until ctx ends, and returns its
// error when all have stopped. It must be called once. What Feed.Run says of out
// holds for each venue: one that is quiet does not wait for a busy one, but all
// wait for a reader that is slow.
func (h *Hub) Run(ctx context.Context, out chan<- Event) error {
	var running sync.WaitGroup
	h.mu.Lock()
	h.start = func(f *Feed) {
		running.Go(func() { _ = f.Run(ctx, out) }) // that of ctx, which Run returns
	}
	for _, f := range h.feeds {
		h.start(f)
	}
	h.mu.Unlock()
	<-ctx.Done()
	h.mu.Lock()
	h.start = nil
	h.mu.Unlock()
	running.Wait()
	return ctx.Err()
}

// Status returns that of every venue, in the order of their names.
func (h *Hub) Status() []Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]Status, 0, len(h.feeds))
	for _, name := range slices.Sorted(maps.Keys(h.feeds)) {
		all = append(all, h.feeds[name].Status())
	}
	return all
}
