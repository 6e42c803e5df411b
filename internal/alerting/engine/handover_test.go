package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/engine"
	"candela/internal/data/provider"
	"candela/internal/testkit/longtest"
	"candela/lib/fault"
	"candela/lib/market"
)

// adopt lists what the store has and lets the engine adopt the symbols to take.
func (s *scene) adopt(take func(market.Symbol) bool) {
	s.t.Helper()
	marks, err := s.store.Marks(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	var listed []alert.Alert
	for a, err := range s.store.Alerts(s.t.Context()) {
		if err != nil {
			s.t.Fatal(err)
		}
		listed = append(listed, a)
	}
	err = s.Index(s.t.Context(), listed)
	if err == nil {
		err = s.AdoptListed(s.t.Context(), take, func(_ string, of provider.Sub) int64 { return marks[of] })
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) abandon(keep func(market.Symbol) bool) {
	s.t.Helper()
	if err := s.Abandon(s.t.Context(), keep); err != nil {
		s.t.Fatal(err)
	}
}

func all(market.Symbol) bool  { return true }
func none(market.Symbol) bool { return false }

// putElsewhere puts an alert as another engine would, into the store.
func (s *scene) putElsewhere(a alert.Alert, id string, created time.Time) alert.Alert {
	s.t.Helper()
	a.ID, a.Owner, a.Created, a.Instrument = id, "ann", created, market.Symbol{Venue: "venue", Name: a.Symbol.Name}
	if err := s.store.PutAlert(s.t.Context(), ann(), a); err != nil {
		s.t.Fatal(err)
	}
	return a
}

const otherID = "01980000-0000-7000-8000-000000000001"

func TestAbandon_NothingFiresUntilItIsAdoptedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, steps(map[time.Duration]float64{2 * time.Minute: 200, 3 * time.Minute: 100}))
		defer s.stop()
		a, series := s.set(above("BTC", 150)), s.set(signal("ETH", market.Minute1, "rsi", "rsi_oversold"))
		time.Sleep(95 * time.Second)
		s.abandon(none)
		marks, err := s.store.Marks(t.Context())
		if err != nil || len(marks) != 2 {
			t.Errorf("marks %v, %v", marks, err)
		}
		for sub, at := range marks {
			if at != monday.Truncate(time.Minute).Unix() {
				t.Errorf("%v is marked at %v", sub, time.Unix(at, 0).UTC())
			}
		}
		time.Sleep(4 * time.Minute)
		if notified, status := s.fired(), s.Status(); len(notified) != 0 || status.Alerts+status.Prices+status.Series != 0 {
			t.Errorf("fired %+v, status %+v", notified, status)
		}
		if got := s.venue.streamed(); len(got) != 0 {
			t.Errorf("streams %v", got)
		}
		if after, err := s.store.Marks(t.Context()); err != nil || fmt.Sprint(after) != fmt.Sprint(marks) {
			t.Errorf("marks %v became %v, %v", marks, after, err)
		}
		s.adopt(all)
		time.Sleep(time.Second)
		if notified := s.fired(); len(notified) != 1 || notified[0].AlertID != a.ID || notified[0].Value != 200 || !notified[0].Late {
			t.Errorf("fired %+v", notified)
		}
		if ids := s.active(); !slices.Equal(ids, []string{series.ID}) {
			t.Errorf("active %v", ids)
		}
	})
}

func TestAdopt_TwiceFiresOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, steps(map[time.Duration]float64{time.Minute: 200}))
		defer s.stop()
		s.set(above("BTC", 150))
		time.Sleep(time.Second)
		reads := s.venue.asked()
		s.adopt(all)
		s.adopt(all)
		time.Sleep(time.Second)
		if n := s.venue.asked() - reads; n != 0 {
			t.Errorf("%d reads for alerts that are watched", n)
		}
		time.Sleep(2 * time.Minute)
		if notified := s.fired(); len(notified) != 1 {
			t.Errorf("fired %+v", notified)
		}
	})
}

// Another engine has set an alert on a symbol that is watched here, and has stopped
// to watch it before its price was reached.
func TestAdopt_EvaluatesWhatWasMissedOnASymbolThatIsWatched(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spike    time.Duration // for 6 s
		unmarked bool
		fires    bool
	}{
		"in a bar that closed":             {65 * time.Second, true, true},
		"in the bar that runs":             {174 * time.Second, true, true},
		"before it was made":               {15 * time.Second, true, false},
		"in a bar that another has marked": {65 * time.Second, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, steps(map[time.Duration]float64{c.spike: 200, c.spike + 6*time.Second: 100}))
				defer s.stop()
				s.set(above("BTC", 500))
				time.Sleep(50 * time.Second) // a bar begins at 53 s
				a := s.putElsewhere(above("BTC", 150), otherID, time.Now())
				time.Sleep(135 * time.Second) // 12:03:12
				h := engine.Handed{Alert: a}
				if !c.unmarked {
					h.Mark = monday.Truncate(time.Minute).Add(2 * time.Minute).Unix()
				}
				if err := s.Adopt(t.Context(), []engine.Handed{h}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				if notified := s.fired(); (len(notified) == 1) != c.fires {
					t.Errorf("fired %+v", notified)
				}
				time.Sleep(time.Minute)
				if notified := s.fired(); len(notified) != 0 {
					t.Errorf("fired later %+v", notified)
				}
			})
		})
	}
}

func TestAbandon_WhatIsNotCommittedIsFoundAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, steps(map[time.Duration]float64{70 * time.Second: 200, 90 * time.Second: 100}))
		defer s.stop()
		a, kept := s.set(above("BTC", 150)), s.set(above("ETH", 150))
		s.store.refuse(fault.Unreachable(nil, 0, "the disk is full"))
		time.Sleep(3 * time.Minute)
		s.abandon(func(m market.Symbol) bool { return m.Name == "ETH" })
		marks, err := s.store.Marks(t.Context())
		if at := marks[provider.Sub{Symbol: a.Instrument}]; err != nil || at >= monday.Add(60*time.Second).Unix() {
			t.Errorf("marked at %v before it was committed, %v", time.Unix(at, 0).UTC(), err)
		}
		s.store.refuse(nil)
		time.Sleep(time.Minute)
		if notified := s.fired(); len(notified) != 1 || notified[0].AlertID != kept.ID {
			t.Errorf("fired %+v", notified)
		}
		s.adopt(all)
		time.Sleep(time.Second)
		if notified := s.fired(); len(notified) != 1 || notified[0].AlertID != a.ID || notified[0].Value != 200 {
			t.Errorf("fired %+v", notified)
		}
		if st := s.Status(); !st.Ready() {
			t.Errorf("status %+v", st)
		}
	})
}

func TestAbandon_WhatIsFollowedForOthersStaysFollowedAndUnmarked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, steps(map[time.Duration]float64{160 * time.Second: 200, 180 * time.Second: 100}))
		defer s.stop()
		a := s.set(above("BTC", 150))
		s.Follow([]market.Symbol{a.Instrument})
		time.Sleep(95 * time.Second)
		s.abandon(none)
		before, err := s.store.Marks(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(90 * time.Second)
		if got := s.venue.streamed(); !slices.Equal(got, []string{"venue:BTC 1m"}) {
			t.Errorf("streams %v", got)
		}
		if q, known := s.LastQuote(a.Instrument); !known || time.Since(q.At) > 5*time.Second {
			t.Errorf("the price is %+v, %v", q, known)
		}
		after, err := s.store.Marks(t.Context())
		if err != nil || fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("marks %v became %v, %v", before, after, err)
		}
		// The price was seen going up and down while the alert was not watched.
		s.adopt(all)
		time.Sleep(time.Second)
		if notified := s.fired(); len(notified) != 1 || notified[0].AlertID != a.ID {
			t.Errorf("fired %+v", notified)
		}
		s.Follow(nil)
		time.Sleep(2 * time.Minute)
		if after, err := s.store.Marks(t.Context()); err != nil || len(after) != 0 {
			t.Errorf("marks %v are left, %v", after, err)
		}
	})
}

func TestFollow_ClearsNoWatermarkOfAnotherEngine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, steps(nil))
		defer s.stop()
		btc := market.Symbol{Venue: "venue", Name: "BTC"}
		theirs := map[provider.Sub]int64{{Symbol: btc}: monday.Unix()}
		if err := s.store.SaveMarks(t.Context(), theirs); err != nil {
			t.Fatal(err)
		}
		s.Follow([]market.Symbol{btc})
		time.Sleep(3 * time.Minute)
		s.Follow(nil)
		time.Sleep(3 * time.Minute)
		if marks, err := s.store.Marks(t.Context()); err != nil || fmt.Sprint(marks) != fmt.Sprint(theirs) {
			t.Errorf("marks %v, %v", marks, err)
		}
	})
}

func TestAbandon_WhileHistoryIsRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, steps(map[time.Duration]float64{4 * time.Minute: 200}))
		a := s.set(above("BTC", 150))
		s.set(signal("BTC", market.Minute5, "rsi", "rsi_oversold"))
		s.stop()
		s.venue.setSlow(2 * time.Second)
		s.start()
		defer func() { s.stop() }()
		for range 5 { // each a moment after reads have begun
			time.Sleep(time.Second)
			s.abandon(none)
			s.adopt(all)
		}
		time.Sleep(time.Minute)
		if st := s.Status(); st.Loading != 0 || st.Alerts != 2 || st.Prices != 1 || st.Series != 1 {
			t.Errorf("status %+v", st)
		}
		if got := s.venue.streamed(); !slices.Equal(got, []string{"venue:BTC 1m", "venue:BTC 5m"}) {
			t.Errorf("streams %v", got)
		}
		time.Sleep(4 * time.Minute)
		if notified := s.fired(); len(notified) != 1 || notified[0].AlertID != a.ID || notified[0].Late {
			t.Errorf("fired %+v", notified)
		}
	})
}

// Alerts that come while history is read for others are evaluated after it.
func TestAdopt_WhileHistoryIsRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, steps(map[time.Duration]float64{70 * time.Second: 200, 75 * time.Second: 100}))
		s.set(above("BTC", 500))
		older := s.putElsewhere(above("BTC", 150), otherID, time.Now())
		time.Sleep(5 * time.Minute)
		s.stop()
		s.venue.setSlow(2 * time.Second)
		s.start()
		defer func() { s.stop() }()
		s.abandon(none)
		newer := s.putElsewhere(above("BTC", 400), "01980000-0000-7000-8000-000000000002", time.Now())
		if err := s.Adopt(t.Context(), []engine.Handed{{Alert: newer}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if err := s.Adopt(t.Context(), []engine.Handed{{Alert: older}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		if notified := s.fired(); len(notified) != 1 || notified[0].AlertID != older.ID || !notified[0].Late {
			t.Errorf("fired %+v", notified)
		}
	})
}

// A watermark would claim that the alert was evaluated up to there.
func TestAdopt_SetsNoWatermarkBeforeTheEvaluation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, steps(nil))
		defer func() { s.stop() }()
		set := s.set(above("BTC", 500))
		a := s.putElsewhere(above("BTC", 150), otherID, time.Now())
		time.Sleep(54*time.Second + 500*time.Millisecond) // a bar has closed and is not marked yet
		before, err := s.store.Marks(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.venue.setSlow(2 * time.Minute)
		if err := s.Adopt(t.Context(), []engine.Handed{{Alert: a}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(90 * time.Second)
		after, err := s.store.Marks(t.Context())
		if sub := (provider.Sub{Symbol: set.Instrument}); err != nil || after[sub] != before[sub] || before[sub] == monday.Truncate(time.Minute).Unix() {
			t.Errorf("marks %v became %v, %v", before, after, err)
		}
		time.Sleep(10 * time.Minute)
	})
}

func TestEnded_IsWatchedNoLonger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, steps(map[time.Duration]float64{time.Minute: 200}))
		defer s.stop()
		a := s.set(above("BTC", 150))
		names := []engine.Name{{Owner: "bob", ID: a.ID}, {Owner: "ann", ID: "nothing"}}
		if err := s.Ended(t.Context(), names); err != nil || len(s.active()) != 1 {
			t.Fatalf("active %v, %v", s.active(), err)
		}
		if err := s.Ended(t.Context(), []engine.Name{{Owner: "ann", ID: a.ID}}); err != nil || len(s.active()) != 0 {
			t.Fatalf("active %v, %v", s.active(), err)
		}
		time.Sleep(3 * time.Minute)
		if notified, st := s.fired(), s.Status(); len(notified) != 0 || st.Prices != 0 {
			t.Errorf("fired %+v, status %+v", notified, st)
		}
	})
}

// TestHandOver_FiresWhatOneEngineFires hands symbols over at random moments, and holds
// what fired against an engine that was left alone.
func TestHandOver_FiresWhatOneEngineFires(t *testing.T) {
	t.Parallel()
	run := func(seed uint64) (fired map[string]int) {
		synctest.Test(t, func(t *testing.T) {
			s := newScene(t, waves)
			defer s.stop()
			chance := rand.New(rand.NewPCG(seed, 1))
			ids := make(map[string]string)
			for i := range 60 {
				price := 950 + float64(i)*100/60
				for _, a := range []alert.Alert{above("BTC", price), below("ETH", price)} {
					set := s.set(a)
					ids[set.ID] = fmt.Sprint(a.Symbol, a.Condition.Type, price)
				}
				time.Sleep(3 * time.Second)
			}
			set := s.set(signal("BTC", market.Minute1, "macd", "cross_up"))
			ids[set.ID] = "signal"
			for end := time.Now().Add(3 * time.Hour); time.Now().Before(end); {
				if seed == 0 {
					time.Sleep(time.Until(end))
					break
				}
				time.Sleep(time.Duration(chance.IntN(300)) * time.Second)
				gone := [...]string{"BTC", "ETH"}[chance.IntN(2)]
				s.abandon(func(m market.Symbol) bool { return m.Name != gone })
				time.Sleep(time.Duration(chance.IntN(100_000)) * time.Millisecond)
				s.adopt(all)
			}
			time.Sleep(10 * time.Second)
			fired = make(map[string]int)
			for _, f := range s.fired() {
				fired[ids[f.AlertID]]++
			}
		})
		return fired
	}
	alone := run(0)
	if len(alone) < 20 {
		t.Fatalf("only %d fired", len(alone))
	}
	for n := range longtest.Pick[uint64](2, 6) {
		seed := longtest.Seed() + n
		if seed == 0 {
			continue // that is the engine that was left alone
		}
		handed := run(seed)
		for what, n := range handed {
			if n != 1 || alone[what] != 1 {
				t.Errorf("seed %d: %s fired %d times, and %d times at an engine that was left alone", seed, what, n, alone[what])
			}
		}
		if len(handed) != len(alone) {
			t.Errorf("seed %d: %d fired, and %d at an engine that was left alone", seed, len(handed), len(alone))
		}
	}
}

// Listed returns every alert of the store, page by page, and says when one could not be listed.
func TestListed_ReturnsWhatTheStoreHas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, steps(nil))
		defer s.stop()
		var want []string
		elsewhere := make([]alert.Alert, 9000) // more than one page has
		for i := range elsewhere {
			a := above("BTC", 150)
			a.ID, a.Owner, a.Created, a.Instrument = fmt.Sprintf("01980000-0000-7000-8000-%012x", i), "ann", monday, market.Symbol{Venue: "venue", Name: "BTC"}
			elsewhere[i] = a
			want = append(want, a.ID)
		}
		if err := s.Index(t.Context(), elsewhere); err != nil {
			t.Fatal(err)
		}
		want = append(want, s.set(above("ETH", 150)).ID)
		list := func() (ids []string, err error) {
			for next, more := 0, true; more && err == nil; more = next != 0 {
				var page []alert.Alert
				page, next, err = s.Listed(t.Context(), next)
				for _, a := range page {
					ids = append(ids, a.ID)
				}
			}
			slices.Sort(ids)
			return ids, err
		}
		slices.Sort(want)
		if got, err := list(); err != nil || !slices.Equal(got, want) {
			t.Errorf("%d of %d alerts, %v", len(got), len(want), err)
		}
		unknown := signal("BTC", market.Minute1, "no_such_indicator", "x")
		unknown.ID, unknown.Owner, unknown.Instrument = "01980001"+otherID[8:], "ann", market.Symbol{Venue: "venue", Name: "BTC"}
		if err := s.Index(t.Context(), []alert.Alert{unknown}); err != nil {
			t.Fatal(err)
		}
		if _, err := list(); err == nil {
			t.Error("a list that lacks an alert is no error")
		}
	})
}
