package feed_test

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/data/feed"
	"candela/internal/data/provider"
	"candela/lib/market"
)

// named is a venue under another name.
type named struct {
	*venue
	name string
}

func (n named) Name() string { return n.name }

func TestHub_FollowsEachSymbolAtItsVenue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		venues := map[string]named{"one": {newVenue(1), "one"}, "two": {newVenue(2), "two"}}
		venues["two"].caps.Live = false
		h := feed.NewHub(func(_ context.Context, s market.Symbol) (provider.Provider, error) {
			p, ok := venues[s.Venue]
			switch {
			case s.Venue == "":
				p = venues["one"]
			case !ok:
				return nil, provider.UnknownSymbol("hub", s)
			}
			return p, nil
		}, feed.Config{Log: slog.New(slog.DiscardHandler), Rand: rand.Float64, Now: time.Now})
		subscribe := func(venue, name string) provider.Sub {
			t.Helper()
			s, err := h.Subscribe(t.Context(), provider.Sub{Symbol: market.Symbol{Venue: venue, Name: name}, Interval: market.Minute1}, 0)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		a := subscribe("", "A")
		ctx, cancel := context.WithCancel(t.Context())
		out, done := make(chan feed.Event, 4096), make(chan error, 1)
		go func() { done <- h.Run(ctx, out) }()
		time.Sleep(3*time.Minute + 30*time.Second)
		b := subscribe("two", "B")
		if again := subscribe("one", "A"); again != a {
			t.Errorf("one symbol has two names, %v and %v", a, again)
		}
		if _, err := h.Subscribe(t.Context(), sub("X", market.Minute1), 0); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Subscribe(t.Context(), provider.Sub{Symbol: market.Symbol{Venue: "none", Name: "A"}, Interval: market.Minute1}, 0); err == nil {
			t.Error("a venue that is not there was taken")
		}
		time.Sleep(3 * time.Minute)
		h.Unsubscribe(a)
		time.Sleep(3 * time.Minute)
		cancel()
		<-done
		closed := map[provider.Sub]int{}
		for len(out) > 0 {
			if e := <-out; e.Kind == provider.Closed && !e.Ahead {
				closed[e.Sub]++
			}
		}
		if closed[a] != 6 || closed[b] != 6 {
			t.Errorf("closed %v", closed)
		}
		if s := h.Status(); len(s) != 2 || s[0].Venue != "one" || s[0].Streamed == 0 || s[1].Backfilled != 6 {
			t.Errorf("status %+v", s)
		}
	})
}
