package feed

import (
	"context"
	"maps"
	"slices"
	"sync"

	"candela/internal/data/provider"
	"candela/lib/market"
)

// Hub delivers the bars of many venues. It starts the Feed of a venue with its first
// subscription. It is safe for concurrent use.
type Hub struct {
	route func(context.Context, market.Symbol) (provider.Provider, error)
	cfg   Config

	mu    sync.Mutex
	feeds map[string]*Feed // by venue
	start func(*Feed)      // nil unless Run runs
}

// NewHub returns a hub that uses route to find the venue of a symbol. cfg.Rand must be
// safe for concurrent use.
func NewHub(route func(context.Context, market.Symbol) (provider.Provider, error), cfg Config) *Hub {
	return &Hub{route: route, cfg: cfg, feeds: make(map[string]*Feed)}
}

// Subscribe calls Feed.Subscribe at the venue of the symbol. It returns the subscription
// as events carry it: with the venue, so that a symbol has one name.
func (h *Hub) Subscribe(ctx context.Context, sub provider.Sub, since int64) (provider.Sub, error) {
	p, err := h.route(ctx, sub.Symbol)
	if err != nil {
		return sub, err
	}
	sub.Symbol.Venue = p.Name()
	return sub, h.feed(p).Subscribe(ctx, sub, since)
}

// feed returns the feed of a venue and creates it if it is missing.
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

// Unsubscribe ends a subscription that Subscribe returned.
func (h *Hub) Unsubscribe(sub provider.Sub) {
	h.mu.Lock()
	f := h.feeds[sub.Symbol.Venue]
	h.mu.Unlock()
	if f != nil {
		f.Unsubscribe(sub)
	}
}

// Run runs the feeds, including those created later, until ctx ends, and returns the
// error of ctx after all have stopped. It must be called once. All venues wait for a
// slow reader of out; see Feed.Run.
func (h *Hub) Run(ctx context.Context, out chan<- Event) error {
	var running sync.WaitGroup
	h.mu.Lock()
	h.start = func(f *Feed) {
		running.Go(func() { _ = f.Run(ctx, out) }) // the error of ctx, which Run returns
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

// Status returns the status of every venue, ordered by name.
func (h *Hub) Status() []Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]Status, 0, len(h.feeds))
	for _, name := range slices.Sorted(maps.Keys(h.feeds)) {
		all = append(all, h.feeds[name].Status())
	}
	return all
}
