package engine_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/testkit/longtest"
	"candela/lib/fault"
	"candela/lib/market"
)

// reached returns the first tick from a time on at which the price satisfies an
// alert, and false when there is none before until.
func (v *venue) reached(a alert.Alert, from, until int64) (at int64, ok bool) {
	threshold := a.Condition.Threshold.InexactFloat64()
	for t := (from + tickEvery - 1) / tickEvery * tickEvery; t <= until; t += tickEvery {
		p := v.wave(symbol(a.Symbol.Name), t)
		if a.Condition.Type == alert.PriceAbove && p >= threshold || a.Condition.Type == alert.PriceBelow && p <= threshold {
			return t, true
		}
	}
	return 0, false
}

// near is an alert not far from the price.
func (s *scene) near(rng *rand.Rand, name string) alert.Alert {
	price := s.venue.wave(symbol(name), time.Now().Unix()/tickEvery*tickEvery)
	away := math.Round((rng.Float64()*40-2)*100) / 100
	if rng.IntN(2) == 0 {
		return above(name, price+away)
	}
	return below(name, price-away)
}

// Without trouble an alert fires with the very tick that reaches it.
func TestPrice_FiresWithTheTickThatReachesIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, waves)
		defer s.stop()
		rng := rand.New(rand.NewPCG(longtest.Seed(), 2))
		var alerts []alert.Alert
		for range longtest.Pick(120, 300) {
			time.Sleep(time.Duration(rng.IntN(60_000)) * time.Millisecond)
			alerts = append(alerts, s.set(s.near(rng, []string{"BTC", "ETH", "SOLANA"}[rng.IntN(3)])))
		}
		time.Sleep(2 * time.Hour)
		notified := map[string]firing{}
		for _, f := range s.fired() {
			notified[f.AlertID] = f
		}
		fired := 0
		for _, a := range alerts {
			// The tick before counts, too: it is the price when the alert was made.
			tick, want := s.venue.reached(a, a.Created.Unix()/tickEvery*tickEvery, time.Now().Unix()-tickEvery)
			f, got := notified[a.ID]
			if want != got {
				t.Errorf("%+v: fired %v, reached %v at %v", a, got, want, time.Unix(tick, 0).UTC())
				continue
			}
			if !got {
				continue
			}
			fired++
			at := time.Unix(tick, 0)
			if at.Before(a.Created) {
				at = a.Created
			}
			if !f.Triggered.Equal(at) || f.Value != s.venue.wave(a.Symbol, tick) || f.Late {
				t.Errorf("%v of %v: fired %+v, reached by %v at %v", a.Condition, a.Created, f, s.venue.wave(a.Symbol, tick), at.UTC())
			}
		}
		if fired < len(alerts)/3 || fired == len(alerts) {
			t.Errorf("%d of %d fired", fired, len(alerts))
		}
	})
}

var troubles = flag.Uint64("troubles", longtest.Pick[uint64](3, 6), "how many random histories of outages and restarts the engine goes through")

// TestEngine_LosesNothingAndDoublesNothing cuts the venue off and restarts the
// engine again and again. What fires must be what a price that nobody missed would
// have fired, each once.
func TestEngine_LosesNothingAndDoublesNothing(t *testing.T) {
	t.Parallel()
	seeds := *troubles
	if raced {
		seeds = longtest.Pick[uint64](1, 3)
	}
	for n := range seeds {
		seed := longtest.Seed() - 1 + n // so that the first is 0
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { throughTrouble(t, seed) })
		})
	}
}

func throughTrouble(t *testing.T, seed uint64) {
	t.Helper()
	s := newScene(t, waves)
	if seed%3 == 2 {
		s.stop()
		s.venue.caps.Live = false // a venue that is read by the clock
		s.start()
	}
	rng := rand.New(rand.NewPCG(seed, 3))
	within := func(least, most time.Duration) time.Duration {
		return least + time.Duration(rng.Int64N(int64(most-least)))
	}
	var prices, signals []alert.Alert
	cancelled := map[string]bool{}
	labels := everySignal("BTC", market.Minute1)
	turns := 150
	if raced {
		turns = 25 // the detector wants the code run, the figures come without it
	}
	for range turns {
		time.Sleep(within(time.Second, 2*time.Minute))
		switch n := rng.IntN(20); {
		case n < 12:
			if a, err := s.Set(t.Context(), ann(), s.near(rng, "BTC")); err == nil {
				prices = append(prices, a)
			}
		case n < 15:
			if a, err := s.Set(t.Context(), ann(), labels[rng.IntN(len(labels))]); err == nil {
				signals = append(signals, a)
			}
		case n == 15 && len(prices) > 0:
			if id := prices[rng.IntN(len(prices))].ID; s.Cancel(t.Context(), ann(), id) == nil {
				cancelled[id] = true
			}
		case n == 16:
			s.stop()
			time.Sleep(within(time.Millisecond, 20*time.Second))
			s.start()
		case n == 17:
			s.stop()
			time.Sleep(within(time.Minute, 5*time.Hour))
			s.start()
		case n == 18:
			s.venue.setDown(true)
			time.Sleep(within(time.Second, time.Hour))
			s.venue.setDown(false)
		case n == 19: // starts while the venue is away
			s.stop()
			s.venue.setDown(true)
			s.start()
			time.Sleep(within(time.Second, 20*time.Minute))
			s.venue.setDown(false)
		}
	}
	// For every seed, this outage makes an alert late: in five hours the price moves
	// by more than 3.
	time.Sleep(time.Minute)
	price := s.venue.wave(symbol("BTC"), time.Now().Unix()/tickEvery*tickEvery)
	prices = append(prices, s.set(above("BTC", price+3)), s.set(below("BTC", price-3)))
	s.stop()
	time.Sleep(5 * time.Hour)
	s.start()
	time.Sleep(20 * time.Minute) // for what waits to be read
	notified := s.fired()
	s.stop()
	var ofSignals []firing
	by := map[string]firing{}
	for _, f := range notified {
		if f.Interval != "" {
			ofSignals = append(ofSignals, f)
			continue
		}
		if _, twice := by[f.AlertID]; twice {
			t.Errorf("fired twice: %+v", f)
		}
		by[f.AlertID] = f
	}
	fired := s.hold(signals, ofSignals, time.Now())
	unknowable := 0
	for _, a := range prices {
		f, got := by[a.ID]
		tick, want := s.venue.reached(a, a.Created.Unix()/tickEvery*tickEvery, time.Now().Unix())
		if !got && tick > time.Now().Unix()-60 {
			continue // it may be on its way
		}
		switch {
		case got && (!want || f.Triggered.Unix() < tick):
			t.Errorf("%+v of %v fired %+v and was not reached", a.Condition, a.Created, f)
		case !got && want && cancelled[a.ID]:
		case !got && want && s.venue.ambiguous(a, tick):
			unknowable++
		case !got && want:
			t.Errorf("%+v of %v did not fire, reached at %v", a.Condition, a.Created, time.Unix(tick, 0).UTC())
		}
		if got {
			fired++
		}
	}
	late := slices.DeleteFunc(notified, func(f firing) bool { return !f.Late })
	t.Logf("%d alerts, %d fired, %d of them late, %d ambiguous", len(prices)+len(signals), fired, len(late), unknowable)
	if fired < turns/6 || len(late) == 0 || unknowable > 5 {
		t.Errorf("%d fired, %d late, %d unknowable: the trouble does not test much", fired, len(late), unknowable)
	}
}

// ambiguous reports whether a bar alone does not show that an alert was reached: only
// in the minute it was made in, which had been there before.
func (v *venue) ambiguous(a alert.Alert, tick int64) bool {
	minute := a.Created.Unix() / 60 * 60
	_, before := v.reached(a, minute, a.Created.Unix())
	_, later := v.reached(a, minute+60, time.Now().Unix()-60)
	return tick < minute+60 && before && !later
}

// After days away the minutes are read in hours, and nothing is lost either.
func TestEngine_DaysAwayAreReadInLongerBars(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, waves)
		rng := rand.New(rand.NewPCG(5, 6))
		var alerts []alert.Alert
		for i := range 40 {
			time.Sleep(time.Duration(rng.IntN(20_000)) * time.Millisecond)
			a := s.near(rng, "BTC")
			if i%4 == 0 { // some are far
				a = above("BTC", 1050+float64(i))
			}
			alerts = append(alerts, s.set(a))
		}
		notified := s.fired()
		s.stop()
		time.Sleep(4 * 24 * time.Hour)
		before := s.venue.reads
		s.start()
		time.Sleep(2 * time.Minute)
		notified = append(notified, s.fired()...)
		if n := s.venue.reads - before; n > 15 {
			t.Errorf("%d requests to catch up", n)
		}
		s.stop()
		by := map[string]firing{}
		for _, f := range notified {
			by[f.AlertID] = f
		}
		late := 0
		for _, a := range alerts {
			tick, want := s.venue.reached(a, a.Created.Unix()/tickEvery*tickEvery, time.Now().Unix()-60)
			f, got := by[a.ID]
			switch {
			case want != got && (got || !s.venue.ambiguous(a, tick)):
				t.Errorf("%+v of %v: fired %v, reached %v at %v", a.Condition, a.Created, got, want, time.Unix(tick, 0).UTC())
			case got && f.Late:
				late++
				// In the day before the start the minute is known, before that the hour, and
				// in the hour in which the alert was made the minute again.
				if off := f.Triggered.Unix() - tick; off <= 0 || off > 3600 {
					t.Errorf("%+v: reached at %v, fired at %v", a.Condition, time.Unix(tick, 0).UTC(), f.Triggered)
				}
			}
		}
		if late < 10 {
			t.Errorf("%d of %d came late", late, len(alerts))
		}
		if status := s.Status(); status.Late == 0 || status.Late > status.Firings {
			t.Errorf("%d late of %d", status.Late, status.Firings)
		}
	})
}

// TestSet_ReadsAgainWhatGrewOldBeforeItsTurn has the engine wait for its store while
// the price of a new alert is read: it goes beyond the threshold and back before the
// alert is made.
func TestSet_ReadsAgainWhatGrewOldBeforeItsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, func(symbol market.Symbol, unix int64) float64 {
			switch after := unix - monday.Unix(); {
			case symbol.Name == "BTC" && after >= 63: // 12:01:10
				return 110
			case symbol.Name == "ETH" && after >= 68 && after < 73:
				return 102
			default:
				return 100
			}
		})
		defer s.stop()
		s.set(above("BTC", 105))
		time.Sleep(62 * time.Second)
		s.store.stall(20 * time.Second)
		s.venue.mu.Lock()
		s.venue.slow = 2 * time.Second
		s.venue.mu.Unlock()
		eth := s.set(above("ETH", 101))
		if made := eth.Created.Sub(monday); made < 83*time.Second {
			t.Fatalf("made after %s, before the store has answered", made)
		}
		time.Sleep(20 * time.Second) // to the end of the minute
		if notified := s.fired(); len(notified) != 1 || notified[0].Symbol != "BTC" {
			t.Errorf("fired %+v; ETH was at 102 before the alert was made, and not since", notified)
		}
	})
}

// TestSet_ReadsThePriceWhenItsTurnComes has so many callers set alerts on a slow store that a price
// that was read before the wait has grown old after it.
func TestSet_ReadsThePriceWhenItsTurnComes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, steps(nil))
		defer s.stop()
		s.store.mu.Lock()
		s.store.puts = 350 * time.Millisecond
		s.store.mu.Unlock()
		var wg sync.WaitGroup
		for i := range 60 {
			wg.Go(func() {
				if _, err := s.Set(t.Context(), ann(), above(fmt.Sprint("S", i), 500)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := len(s.active()); n != 60 {
			t.Errorf("%d alerts are active, want 60", n)
		}
	})
}

// TestSet_GivesUpOnAPriceThatIsAlwaysOld has each step of the engine take so long that
// every price has grown old when its turn comes.
func TestSet_GivesUpOnAPriceThatIsAlwaysOld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, steps(nil))
		s.stop()
		var asked atomic.Int64
		s.now = func() time.Time { return time.Now().Add(time.Duration(asked.Add(1)) * 4 * time.Second) }
		s.start()
		defer func() { s.stop() }()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := s.Set(ctx, ann(), above("BTC", 500))
		if fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "outdated") {
			t.Errorf("%v", err)
		}
		if active := s.active(); len(active) > 0 {
			t.Errorf("active are %v", active)
		}
	})
}
