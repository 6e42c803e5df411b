package feed_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/data/feed"
	"candela/internal/data/provider"
	"candela/internal/data/provider/replay"
	"candela/internal/data/provider/sample"
	"candela/lib/market"
)

// arrived is an event and when it came.
type arrived struct {
	feed.Event
	at time.Time
}

// arrivals runs a feed for some time and returns its events.
func arrivals(t *testing.T, f *feed.Feed, span time.Duration) []arrived {
	t.Helper()
	var all []arrived
	stop := follow(t, f, func(e feed.Event) { all = append(all, arrived{e, time.Now()}) })
	time.Sleep(span)
	stop()
	return all
}

// lossy loses the closes of some bars on the stream; over REST they are there.
type lossy struct {
	*venue
	lost map[int64]bool
}

func (v lossy) Stream(ctx context.Context, subs []provider.Sub, changes <-chan provider.Change, emit provider.Emit) error {
	return v.venue.Stream(ctx, subs, changes, func(ctx context.Context, e provider.Event) error {
		if e.Kind == provider.Closed && v.lost[e.Bar.T] {
			return nil
		}
		return emit(ctx, e)
	})
}

// Every price of the stream is handed on when it comes, whatever is missing before it.
func TestFeed_PricesDoNotWaitForMissingBars(t *testing.T) {
	t.Parallel()
	start := time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC).Unix() // of synctest
	missing := map[int64]bool{start + 180: true, start + 240: true, start + 600: true}
	cases := map[string]func() provider.Provider{
		"that the venue does not have": func() provider.Provider { return holed{newVenue(1), missing} },
		"that the stream lost":         func() provider.Provider { return lossy{newVenue(1), missing} },
	}
	for name, open := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFeed(open())
				a := sub("A", market.Minute1)
				subscribe(t, f, a)
				waited, ahead := 0, 0
				for _, e := range arrivals(t, f, 15*time.Minute) {
					if e.Kind == provider.Forming && !e.At.Equal(e.at) {
						waited++
					}
					if e.Ahead {
						ahead++
					}
				}
				if waited != 0 || ahead == 0 || f.Status().Duplicates != 0 {
					t.Errorf("%d prices waited, %d came ahead, status %+v", waited, ahead, f.Status())
				}
			})
		})
	}
}

// A bar that the stream lost comes after newer prices, and says so; those after it come again.
func TestFeed_WhatAGapHidIsLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now().Unix()
		f := newFeed(lossy{newVenue(1), map[int64]bool{start + 180: true}})
		a := sub("A", market.Minute1)
		subscribe(t, f, a)
		late, newer := 0, int64(0)
		for _, e := range arrivals(t, f, 10*time.Minute) {
			if e.Late {
				late++
				if e.Bar.T != start+180 || !e.Backfilled || newer <= e.Bar.T {
					t.Errorf("bar %d is late, after prices of %d: %+v", e.Bar.T-start, newer-start, e.Event)
				}
			}
			newer = max(newer, e.Bar.T)
		}
		if late != 1 {
			t.Errorf("%d bars were late", late)
		}
	})
}

// A replay waits for nothing: what its source lacks is a hole at once, at any speed.
func TestFeed_AReplayNeverWaitsForTheWall(t *testing.T) {
	t.Parallel()
	for name, speed := range map[string]float64{"at 60": 60, "at 36,000": 36_000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Date(2024, time.March, 1, 10, 0, 30, 0, time.UTC)
				first := start.Unix() - 30
				missing := map[int64]bool{first + 600: true, first + 1200: true, first + 1260: true}
				p, err := replay.New(replay.Config{Source: recorded{sample.New(sample.Config{Seed: 2}), missing}, Start: start, Speed: speed, Now: time.Now})
				if err != nil {
					t.Fatal(err)
				}
				f := newFeed(p)
				a := sub("SAMPLE", market.Minute1)
				subscribe(t, f, a)
				want, bars := first, 0
				for _, e := range arrivals(t, f, time.Duration(float64(time.Hour)/speed)) {
					if e.Kind != provider.Closed || e.Ahead {
						continue
					}
					for missing[want] {
						want += 60
					}
					if e.Bar.T != want {
						t.Fatalf("bar %d came, %d was next", e.Bar.T-first, want-first)
					}
					bars++
					want += 60
					// By the time of the replay the next bar may have begun, when a bar before was missing.
					if waited := p.Clock().Unix(e.at) - want; waited > 120 {
						t.Errorf("bar %d came %d s after its end", e.Bar.T-first, waited)
					}
				}
				if bars != 57 || f.Status().Holes != 2 {
					t.Errorf("%d bars and %d holes", bars, f.Status().Holes)
				}
			})
		})
	}
}

// recorded is a source that lacks some bars.
type recorded struct {
	provider.Provider
	missing map[int64]bool
}

func (r recorded) Bars(ctx context.Context, q provider.BarQuery) (provider.BarPage, error) {
	page, err := r.Provider.Bars(ctx, q)
	page.Bars = without(page.Bars, r.missing)
	return page, err
}

func without(bars market.Bars, missing map[int64]bool) market.Bars {
	kept := market.MakeBars(bars.Len(), bars.TakerBuy != nil)
	for i, t := range bars.T {
		if !missing[t] {
			kept.Append(bars.At(i))
		}
	}
	return kept
}
