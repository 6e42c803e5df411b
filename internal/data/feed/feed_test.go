package feed_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/data/feed"
	"candela/internal/data/provider"
	"candela/internal/data/provider/replay"
	"candela/internal/data/provider/sample"
	"candela/lib/fault"
	"candela/lib/market"
)

// running is a feed at work whose events are read.
type running struct {
	*feed.Feed
	stop func()

	mu     sync.Mutex
	events []feed.Event
}

func (r *running) closed(s provider.Sub) (bars []int64, filled int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Sub == s && e.Kind == provider.Closed && !e.Ahead {
			bars = append(bars, e.Bar.T)
			if e.Backfilled {
				filled++
			}
		}
	}
	return bars, filled
}

// run starts a feed in a bubble. The test must call stop.
func run(t *testing.T, f *feed.Feed) *running {
	t.Helper()
	r := &running{Feed: f}
	r.stop = follow(t, f, func(e feed.Event) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.events = append(r.events, e)
	})
	return r
}

func subscribe(t *testing.T, f *feed.Feed, subs ...provider.Sub) {
	t.Helper()
	for _, s := range subs {
		if err := f.Subscribe(t.Context(), s, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// fixed hides that a venue's streams can change.
type fixed struct{ v *venue }

func (f fixed) Name() string { return f.v.Name() }
func (f fixed) Capabilities() provider.Caps {
	caps := f.v.Capabilities()
	caps.Dynamic = false
	return caps
}

func (f fixed) Instrument(ctx context.Context, s market.Symbol) (provider.Instrument, error) {
	return f.v.Instrument(ctx, s)
}

func (f fixed) Bars(ctx context.Context, q provider.BarQuery) (provider.BarPage, error) {
	return f.v.Bars(ctx, q)
}

func (f fixed) Stream(ctx context.Context, subs []provider.Sub, _ <-chan provider.Change, emit provider.Emit) error {
	return f.v.Stream(ctx, subs, nil, emit)
}

func TestFeed_SubscriptionsChangeWhileItRuns(t *testing.T) {
	t.Parallel()
	for name, changing := range map[string]bool{"on the stream": true, "with a new stream": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				v := newVenue(1)
				p := provider.Provider(v)
				if !changing {
					p = fixed{v}
				}
				r := run(t, newFeed(p))
				defer r.stop()
				a, b := sub("A", market.Minute1), sub("B", market.Minute1)
				subscribe(t, r.Feed, a)
				time.Sleep(5*time.Minute + 5*time.Second)
				subscribe(t, r.Feed, b)
				time.Sleep(5*time.Minute + 7*time.Second)
				r.Unsubscribe(a)
				time.Sleep(5 * time.Minute)
				ofA, _ := r.closed(a)
				ofB, _ := r.closed(b)
				if len(ofA) != 10 || len(ofB) != 10 {
					t.Errorf("%d bars of the first and %d of the second, want 10 each", len(ofA), len(ofB))
				}
				all, most, _ := v.seen()
				if want := map[bool]int{true: 1, false: 2}[changing]; all != want || most != want || len(v.asked()) != 0 {
					t.Errorf("%d streams, %d at a time, reads %v", all, most, v.asked())
				}
				r.Unsubscribe(b)
				time.Sleep(10 * time.Second)
				if _, _, open := v.seen(); open != 0 {
					t.Errorf("%d streams of nothing are open", open)
				}
			})
		})
	}
}

// The bar that the old stream sends while the next takes over is not read again.
func TestFeed_TheNextStreamComesFirst(t *testing.T) {
	t.Parallel()
	for name, lag := range map[string]time.Duration{"at once": 0, "a moment later": time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nextStream(t, lag)
		})
	}
}

func nextStream(t *testing.T, lag time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		v := newVenue(1)
		v.polite, v.life, v.lag = true, time.Hour, lag
		r := run(t, newFeed(v))
		defer r.stop()
		a := sub("A", market.Minute1)
		subscribe(t, r.Feed, a)
		time.Sleep(12*time.Hour + 30*time.Second)
		bars, filled := r.closed(a)
		if len(bars) != 720 || filled != 0 || len(v.asked()) != 0 {
			t.Errorf("%d bars, %d of them read in %d minutes", len(bars), filled, len(v.asked()))
		}
		if all, most, _ := v.seen(); all != 13 || most != 2 || r.Status().StreamsLost != 0 {
			t.Errorf("%d streams, %d at a time, %d lost", all, most, r.Status().StreamsLost)
		}
	})
}

func TestFeed_AnOutageIsRetriedOneReadAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newVenue(1)
		start := time.Now()
		v.down = []window{{start.Add(10 * time.Minute), start.Add(70 * time.Minute)}}
		r := run(t, newFeed(v))
		defer r.stop()
		var subs []provider.Sub
		for i := range 50 {
			subs = append(subs, sub(fmt.Sprintf("S%d", i), market.Minute1))
		}
		subscribe(t, r.Feed, subs...)
		time.Sleep(71 * time.Minute)
		// An hour at 15 to 30 s a try.
		if all, _, _ := v.seen(); all < 120 || all > 260 {
			t.Errorf("%d attempts to connect in an hour", all)
		}
		for minute, n := range v.asked() {
			if at := time.Unix(minute*60, 0); at.Before(start.Add(69*time.Minute)) && n > 20 {
				t.Errorf("%d reads in the minute %v of the outage", n, at.Sub(start))
			}
		}
		for _, s := range subs {
			if bars, _ := r.closed(s); len(bars) < 70 {
				t.Fatalf("%v: %d bars a minute after the outage", s, len(bars))
			}
		}
		if s := r.Status(); s.Overdue != 0 || s.Silent != 0 || s.Connected != 1 {
			t.Errorf("status %+v", s)
		}
	})
}

func TestFeed_AStormOf429IsWaitedOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newVenue(1)
		v.caps.Live = false
		start := time.Now()
		v.storms = []window{{start.Add(10 * time.Minute), start.Add(40 * time.Minute)}}
		r := run(t, newFeed(v))
		defer r.stop()
		var subs []provider.Sub
		for i := range 50 {
			subs = append(subs, sub(fmt.Sprintf("S%d", i), market.Minute1))
		}
		subscribe(t, r.Feed, subs...)
		time.Sleep(43 * time.Minute)
		for minute, n := range v.asked() {
			inside := within(v.storms, time.Unix(minute*60, 0)) && within(v.storms, time.Unix(minute*60+59, 0))
			if inside && n > 12 || n > 250 {
				t.Errorf("%d reads in minute %v", n, time.Unix(minute*60, 0).Sub(start))
			}
		}
		for _, s := range subs {
			if bars, _ := r.closed(s); len(bars) < 42 {
				t.Fatalf("%v: %d bars after the storm", s, len(bars))
			}
		}
	})
}

func TestFeed_ASlowReaderLosesNoBar(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newVenue(1)
		v.every = time.Second
		f := newFeed(v)
		a, b := sub("A", market.Minute1), sub("B", market.Minute1)
		subscribe(t, f, a, b)
		ctx, cancel := context.WithCancel(t.Context())
		out, done := make(chan feed.Event, 1), make(chan error, 1)
		go func() { done <- f.Run(ctx, out) }()
		end := time.Now().Add(2 * time.Hour)
		next, formed := map[provider.Sub]int64{}, 0
		for time.Now().Before(end) {
			time.Sleep(17 * time.Second)
			e := <-out
			if e.Kind != provider.Closed {
				formed++
				continue
			}
			if want := next[e.Sub]; want != 0 && e.Bar.T != want {
				t.Fatalf("bar %d came, %d was next", e.Bar.T, want)
			}
			next[e.Sub] = e.Bar.T + 60
		}
		cancel()
		<-done
		for _, s := range []provider.Sub{a, b} {
			if behind := time.Now().Unix() - next[s]; behind > 600 {
				t.Errorf("%v is %d s behind", s, behind)
			}
		}
		if s := f.Status(); s.Replaced == 0 || formed == 0 {
			t.Errorf("%d prices replaced, %d handed on", s.Replaced, formed)
		}
	})
}

func TestFeed_AnUnknownSymbolDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newVenue(1)
		v.unknown = "GONE"
		r := run(t, newFeed(v))
		defer r.stop()
		a := sub("A", market.Minute1)
		subscribe(t, r.Feed, a, sub("GONE", market.Minute1), sub("GONE", market.Hour1))
		time.Sleep(10*time.Minute + 5*time.Second)
		if bars, _ := r.closed(a); len(bars) != 10 {
			t.Errorf("%d bars", len(bars))
		}
		if r.Status().Overdue != 1 {
			t.Errorf("status %+v", r.Status())
		}
	})
}

func TestFeed_Subscribe_RefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	v := newVenue(1)
	v.unknown, v.caps.Sessions, v.caps.Intervals = "GONE", true, []market.Interval{market.Hour1}
	f := newFeed(v)
	if err := f.Subscribe(t.Context(), sub("GONE", market.Hour1), 0); fault.KindOf(err) != fault.NotFound {
		t.Errorf("an unknown symbol: %v", err)
	}
	if err := f.Subscribe(t.Context(), sub("A", market.Minute1), 0); fault.KindOf(err) != fault.Invalid {
		t.Errorf("an interval that cannot be built: %v", err)
	}
	if err := f.Subscribe(t.Context(), sub("A", market.Hour4), 0); err != nil {
		t.Errorf("an interval that can be built: %v", err)
	}
}

func TestFeed_SilenceIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newVenue(1)
		start := time.Now()
		v.deaf = []window{{start.Add(10 * time.Minute), start.Add(20 * time.Minute)}}
		var log bytes.Buffer
		f := feed.New(v, feed.Config{Log: slog.New(slog.NewTextHandler(&log, nil)), Rand: func() float64 { return 0.5 }, Now: time.Now})
		r := run(t, f)
		a := sub("A", market.Minute1)
		subscribe(t, f, a)
		time.Sleep(15 * time.Minute)
		if s := f.Status(); s.Silent != 1 {
			t.Errorf("status %+v", s)
		}
		time.Sleep(15*time.Minute + 5*time.Second)
		if s := f.Status(); s.Silent != 0 || s.Connected != 1 || time.Since(s.LastEvent) > 20*time.Second {
			t.Errorf("status %+v", s)
		}
		if bars, filled := r.closed(a); len(bars) != 30 || filled < 9 || filled > 12 {
			t.Errorf("%d bars, %d of them read", len(bars), filled)
		}
		r.stop()
		if n := strings.Count(log.String(), "stream silent"); n != 1 || strings.Count(log.String(), "stream recovered") != 1 {
			t.Errorf("reported %d times: %s", n, &log)
		}
	})
}

// holed has no bar at some times, on the stream or over REST.
type holed struct {
	*venue
	missing map[int64]bool
}

func (h holed) Bars(ctx context.Context, q provider.BarQuery) (provider.BarPage, error) {
	page, err := h.venue.Bars(ctx, q)
	kept := without(page.Bars, h.missing)
	page.Bars, page.Running = kept, page.Running && kept.Len() > 0
	return page, err
}

func (h holed) Stream(ctx context.Context, subs []provider.Sub, changes <-chan provider.Change, emit provider.Emit) error {
	return h.venue.Stream(ctx, subs, changes, func(ctx context.Context, e provider.Event) error {
		if h.missing[e.Bar.T] {
			return nil
		}
		return emit(ctx, e)
	})
}

func TestFeed_AHoleIsConfirmedByALaterBar(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now().Unix()
		h := holed{newVenue(1), map[int64]bool{start + 180: true, start + 240: true, start + 600: true, start - 600: true}}
		f := newFeed(h)
		a := sub("A", market.Minute1)
		if err := f.Subscribe(t.Context(), a, start-1200); err != nil {
			t.Fatal(err)
		}
		r := run(t, f)
		defer r.stop()
		time.Sleep(20*time.Minute + 30*time.Second)
		bars, _ := r.closed(a)
		want := start - 1140
		for _, got := range bars {
			for h.missing[want] {
				want += 60
			}
			if got != want {
				t.Fatalf("bar %d came, %d was next", got-start, want-start)
			}
			want += 60
		}
		if len(bars) != 19+20-4 || f.Status().Holes != 3 {
			t.Errorf("%d bars and %d holes", len(bars), f.Status().Holes)
		}
	})
}

// TestFeed_FollowsAReplay plays sample bars of 2024 at sixty times their speed.
func TestFeed_FollowsAReplay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := sample.New(sample.Config{Seed: 2})
		start := time.Date(2024, time.March, 1, 10, 0, 30, 0, time.UTC)
		p, err := replay.New(replay.Config{Source: source, Start: start, Speed: 60, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		f := newFeed(p)
		minutes, hours := sub("SAMPLE", market.Minute1), sub("SAMPLE", market.Hour1)
		if err := f.Subscribe(t.Context(), minutes, start.Unix()-30-10*60); err != nil {
			t.Fatal(err)
		}
		subscribe(t, f, hours)
		r := run(t, f)
		defer r.stop()
		time.Sleep(3*time.Minute + 10*time.Second)
		bars, filled := r.closed(minutes)
		if len(bars) < 9+189 || filled > 20 || bars[0] != start.Unix()-30-9*60 {
			t.Errorf("%d minutes from %d on, %d of them read", len(bars), bars[0], filled)
		}
		for i := 1; i < len(bars); i++ {
			if bars[i] != bars[i-1]+60 {
				t.Fatalf("the minute at %d follows that at %d", bars[i], bars[i-1])
			}
		}
		if bars, filled := r.closed(hours); len(bars) != 3 || filled != 0 {
			t.Errorf("%d hours, %d of them read", len(bars), filled)
		}
	})
}
