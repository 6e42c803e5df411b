package feed_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/data/feed"
	"candela/internal/data/provider"
	"candela/internal/testkit/longtest"
	"candela/lib/market"
)

var soakDays = flag.Int("soak-days", 0, "virtual days of the feed soak; 0: 7, or 1 under the race detector, and 6 hours there in the short form")

// soakSpan is how long the soak runs in virtual time. A week takes some ten seconds,
// under the race detector a minute.
func soakSpan() time.Duration {
	switch {
	case *soakDays > 0:
		return time.Duration(*soakDays) * 24 * time.Hour
	case raced && !longtest.On():
		return 6 * time.Hour
	case raced || testing.Short():
		return 24 * time.Hour
	default:
		return 7 * 24 * time.Hour
	}
}

// atMost is how long streams live: as they do, or shorter so that some end in a soak.
func atMost(life time.Duration) time.Duration { return min(life, soakSpan()*3/4) }

func newFeed(p provider.Provider) *feed.Feed {
	rng := rand.New(rand.NewPCG(7, 7))
	return feed.New(p, feed.Config{Log: slog.New(slog.DiscardHandler), Rand: rng.Float64, Now: time.Now})
}

func sub(name string, i market.Interval) provider.Sub {
	return provider.Sub{Symbol: market.Symbol{Name: name}, Interval: i}
}

// ledger holds what a feed hands on against the truth.
type ledger struct {
	t        *testing.T
	v        *venue
	start    time.Time
	built    bool // bars are made of others: only their times are known
	next     map[provider.Sub]int64
	ahead    map[provider.Sub]map[int64]bool // closed bars that came ahead, and not again yet
	streamed map[bool]int                    // by whether the bar came over a stream, of those that closed in good times
	total    int
	formed   int
}

func (l *ledger) take(e feed.Event) {
	l.t.Helper()
	if e.Ahead {
		l.takeAhead(e)
		return
	}
	if e.Kind != provider.Closed {
		if e.Kind == provider.Forming {
			l.formed++
			if want := l.next[e.Sub]; want != 0 && e.Bar.T != want {
				l.t.Fatalf("%v: bar %d forms though %d is next", e.Sub, e.Bar.T, want)
			}
		}
		return
	}
	l.total++
	if e.Again != l.ahead[e.Sub][e.Bar.T] {
		l.t.Fatalf("%v: bar %d says again: %t", e.Sub, e.Bar.T, e.Again)
	}
	delete(l.ahead[e.Sub], e.Bar.T)
	if want := l.next[e.Sub]; want != 0 && e.Bar.T != want {
		l.t.Fatalf("%v: bar %d came, %d was next", e.Sub, e.Bar.T, want)
	}
	if want := truth(e.Symbol, e.Interval, e.Bar.T); !l.built && !e.Bar.Equal(want) {
		l.t.Fatalf("%v: %+v came, the truth is %+v", e.Sub, e.Bar, want)
	}
	span := l.v.calendar.Next(e.Interval, e.Bar.T-1)
	l.next[e.Sub] = l.v.calendar.Next(e.Interval, e.Bar.T).Open
	if at := time.Unix(span.Close, 0); at.After(l.start) && !l.troubled(at) {
		l.streamed[!e.Backfilled]++
	}
}

// takeAhead holds what comes after a gap against the truth.
func (l *ledger) takeAhead(e feed.Event) {
	l.t.Helper()
	if want := l.next[e.Sub]; e.Bar.T <= want {
		l.t.Fatalf("%v: bar %d is ahead though %d is next", e.Sub, e.Bar.T, want)
	}
	if e.Kind != provider.Closed {
		return
	}
	if l.ahead[e.Sub] == nil {
		l.ahead[e.Sub] = make(map[int64]bool)
	}
	if l.ahead[e.Sub][e.Bar.T] {
		l.t.Fatalf("%v: bar %d is ahead twice", e.Sub, e.Bar.T)
	}
	l.ahead[e.Sub][e.Bar.T] = true
	if want := truth(e.Symbol, e.Interval, e.Bar.T); !l.built && !e.Bar.Equal(want) {
		l.t.Fatalf("%v: %+v came ahead, the truth is %+v", e.Sub, e.Bar, want)
	}
}

// troubled reports whether streams did not work when a bar closed: in an outage, or
// within the minute that it takes to notice one and come back.
func (l *ledger) troubled(closed time.Time) bool {
	for _, w := range append(append([]window{}, l.v.down...), l.v.deaf...) {
		if !closed.Before(w.from.Add(-time.Second)) && closed.Before(w.to.Add(100*time.Second)) {
			return true
		}
	}
	return false
}

// trouble draws outages, storms and silences over some time: so many a day, and one of
// each at least.
func trouble(v *venue, start time.Time, span time.Duration) {
	days := span.Hours() / 24
	rng := rand.New(rand.NewPCG(max(1, uint64(days)), 99))
	draw := func(perDay int, least, most time.Duration) []window {
		var all []window
		for range max(1, int(float64(perDay)*days)) {
			from := start.Add(time.Duration(rng.Float64() * float64(span)))
			all = append(all, window{from, from.Add(least + time.Duration(rng.Float64()*float64(most-least)))})
		}
		return all
	}
	v.down = draw(2, 5*time.Second, 40*time.Minute)
	v.storms = draw(4, time.Minute, 20*time.Minute)
	v.deaf = draw(1, 30*time.Second, 10*time.Minute)
}

func TestSoak_EveryBarOnceInOrderWithoutAGap(t *testing.T) {
	t.Parallel()
	newYork, err := market.NewCalendar(market.USEquities())
	if err != nil {
		t.Fatal(err)
	}
	wrong := faults{repeat: 0.03, swap: 0.01, late: 0.01, lose: 0.01}
	cases := map[string]struct {
		set       func(*venue)
		intervals []market.Interval
		live      bool
	}{
		"streams that change, with an announced end": {func(v *venue) { v.polite, v.life = true, atMost(24*time.Hour) }, []market.Interval{market.Minute1, market.Minute15}, true},
		"streams that end after a day untold":        {func(v *venue) { v.life = atMost(24*time.Hour + time.Minute) }, []market.Interval{market.Minute1, market.Hour1}, true},
		"one stream at a time, with sessions": {func(v *venue) {
			v.calendar, v.caps.Sessions, v.caps.OneStream, v.life = newYork, true, true, atMost(20*time.Hour)
		}, []market.Interval{market.Minute1, market.Hour1}, true},
		"read by the clock, with sessions": {func(v *venue) { v.calendar, v.caps.Sessions, v.caps.Live = newYork, true, false }, []market.Interval{market.Minute1, market.Hour1}, false},
		"intervals that are built":         {func(v *venue) { v.caps.Intervals, v.life = []market.Interval{market.Minute1}, atMost(24*time.Hour) }, []market.Interval{market.Minute1, market.Minute3}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				v := newVenue(42)
				v.faults = wrong
				tc.set(v)
				time.Sleep((48 + 14) * time.Hour) // the bubble begins on a Saturday, and New York opens at 14:30
				trouble(v, time.Now(), soakSpan())
				subs := []provider.Sub{}
				for i := range longtest.Pick(2, 3) {
					for _, iv := range tc.intervals {
						subs = append(subs, sub(fmt.Sprintf("S%d", i), iv))
					}
				}
				l := soak(t, v, subs, soakSpan())
				share := float64(l.streamed[true]) / float64(max(1, l.streamed[true]+l.streamed[false]))
				t.Logf("%d bars, %.2f%% of %d outside outages over the stream", l.total, 100*share, l.streamed[true]+l.streamed[false])
				if tc.live && share < 0.95 {
					t.Errorf("the stream carried %.2f%% outside outages, want 95", 100*share)
				}
			})
		})
	}
}

// soak runs a feed for a while and then until it has caught up.
func soak(t *testing.T, v *venue, subs []provider.Sub, d time.Duration) *ledger {
	t.Helper()
	f := newFeed(v)
	l := &ledger{t: t, v: v, start: time.Now(), built: len(v.caps.Intervals) == 1, next: map[provider.Sub]int64{}, ahead: map[provider.Sub]map[int64]bool{}, streamed: map[bool]int{}}
	for _, s := range subs {
		since := v.calendar.Prev(s.Interval, time.Now().Add(-time.Hour).Unix()).Open
		if err := f.Subscribe(t.Context(), s, since); err != nil {
			t.Fatal(err)
		}
		l.next[s] = v.calendar.Next(s.Interval, since).Open
	}
	ctx, stop := context.WithCancel(t.Context())
	out, done := make(chan feed.Event, 256), make(chan error, 1)
	end := time.Now().Add(d)
	go func() {
		done <- f.Run(ctx, out)
		close(out)
	}()
	calm := end.Add(time.Hour) // long enough for every outage to be over
	time.AfterFunc(time.Until(calm), stop)
	for e := range out {
		l.take(e)
	}
	<-done
	for _, s := range subs {
		if last := v.calendar.Prev(s.Interval, l.next[s]); time.Unix(last.Close, 0).Before(calm.Add(-s.Interval.Duration()-time.Minute)) && v.calendar.RoundTheClock() {
			t.Errorf("%v: the last bar closed at %v, it is %v", s, time.Unix(last.Close, 0).UTC(), calm)
		}
		if missing := v.calendar.Count(s.Interval, market.Span{Open: l.next[s], Close: calm.Unix()}); missing > 2 {
			t.Errorf("%v: %d bars are missing at the end", s, missing)
		}
	}
	t.Logf("%+v", f.Status())
	return l
}
