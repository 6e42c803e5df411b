package engine_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/engine"
	"candela/internal/data/provider"
	"candela/internal/data/provider/aggregate"
	played "candela/internal/data/provider/replay"
	"candela/internal/testkit/longtest"
	"candela/lib/fault"
	"candela/lib/market"
)

// follow asks for the bars of a symbol since a number of bars ago, 0 for those from now on.
func follow(name string, i market.Interval, ago int64) engine.BarSub {
	s := engine.BarSub{Sub: provider.Sub{Symbol: market.Symbol{Venue: "venue", Name: name}, Interval: i}}
	if step := i.Seconds(); ago > 0 {
		s.Since = (time.Now().Unix()/step - ago - 1) * step
	}
	return s
}

// stream follows bars.
func (s *scene) stream(ctx context.Context, subs ...engine.BarSub) *engine.BarStream {
	s.t.Helper()
	b, err := s.FollowBars(ctx, subs)
	if err != nil {
		s.t.Fatal(err)
	}
	return b
}

// waiting takes what waits in a stream.
func waiting(b *engine.BarStream) (all []engine.ClosedBar) {
	for {
		select {
		case one, ok := <-b.Bars:
			if !ok {
				return all
			}
			all = append(all, one)
		default:
			return all
		}
	}
}

// whole holds that bars of a subscription are all that closed after one, up to the newest or the one before it, each once, in order and
// as the venue has them. It returns them.
func (s *scene) whole(all []engine.ClosedBar, of engine.BarSub, after int64) []engine.ClosedBar {
	s.t.Helper()
	step := of.Interval.Seconds()
	var own []engine.ClosedBar
	for _, one := range all {
		if one.Sub != of.Sub {
			continue
		}
		own = append(own, one)
		want := s.venue.closed(symbol(of.Symbol.Name), of.Interval, after+step)
		if slices.Index([]market.Interval{market.Minute1, market.Minute5, market.Hour1}, of.Interval) < 0 { // it is built
			want.V, want.TakerBuy = one.Bar.V, one.Bar.TakerBuy
		}
		if after += step; one.Bar.T != after || !one.Bar.Equal(want) {
			s.t.Fatalf("%v delivers %+v, want the bar at %d", of.Sub, one, after)
		}
		if !one.Closed.Equal(time.Unix(after+step, 0)) || one.Delay < 0 {
			s.t.Errorf("%v says that the bar at %d closed at %v, %v late", of.Sub, after, one.Closed, one.Delay)
		}
	}
	if newest := time.Now().Unix()/step*step - step; after < newest-step {
		s.t.Errorf("%v ends at %d, want %d", of.Sub, after, newest)
	}
	return own
}

// TestFollowBars_DeliversEveryBar holds that every closed bar comes once and in order: what closed before, what closed while the venue
// was down, also of intervals that are built, and beside alerts that share a subscription and fire as they would alone.
func TestFollowBars_DeliversEveryBar(t *testing.T) {
	t.Parallel()
	var fired [2][]firing
	for run := range fired {
		synctest.Test(t, func(t *testing.T) {
			s := newScene(t, waves)
			defer func() { s.stop() }()
			alone := run == 0
			subs := []engine.BarSub{
				follow("BTC", market.Minute1, 200), follow("BTC", market.Minute5, 100), follow("BTC", 15*market.Minute1, 50), follow("ETH", market.Minute5, 0), follow("BTC", market.Hour1, 3),
			}
			var b *engine.BarStream
			if !alone {
				b = s.stream(t.Context(), subs[:2]...)
			}
			for _, price := range []float64{1010, 1020, 1030} {
				s.set(above("BTC", price))
			}
			s.set(signal("BTC", market.Minute5, "rsi", "rsi_oversold"))
			time.Sleep(7 * time.Minute)
			if !alone {
				if err := b.Follow(t.Context(), subs); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(20 * time.Minute)
			s.venue.setDown(true)
			time.Sleep(17 * time.Minute)
			s.venue.setDown(false)
			time.Sleep(40 * time.Minute)
			for _, f := range s.fired() {
				f.Seq, f.AlertID = 0, ""
				fired[run] = append(fired[run], f)
			}
			if alone {
				return
			}
			all := waiting(b)
			for _, of := range subs {
				after := of.Since
				if after == 0 {
					after = (monday.Unix()+7*60)/300*300 - 300
				}
				live := slices.DeleteFunc(s.whole(all, of, after), func(one engine.ClosedBar) bool { return one.Missed })
				if len(live) == 0 || slices.ContainsFunc(live, func(one engine.ClosedBar) bool { return one.Delay > 10*time.Second || one.Skipped > 0 }) {
					t.Errorf("%v delivers %d bars live: %+v", of.Sub, len(live), live)
				}
			}
		})
	}
	if !slices.Equal(fired[0], fired[1]) || len(fired[0]) == 0 {
		t.Errorf("the alerts fired %+v\nbeside followed bars %+v", fired[0], fired[1])
	}
}

// TestFollowBars_WaitsForNoReader holds that a reader who does not read delays nobody, and gets every bar in the end, as far back as is
// read.
func TestFollowBars_WaitsForNoReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, waves)
		defer func() { s.stop() }()
		behind, far := follow("BTC", market.Minute1, 3000), follow("ETH", market.Minute1, 30_000)
		b, beside := s.stream(t.Context(), behind), s.stream(t.Context(), follow("BTC", market.Minute1, 0))
		time.Sleep(30 * time.Minute)
		if n := len(waiting(beside)); n < 29 {
			t.Errorf("the one beside got %d bars", n)
		}
		var all []engine.ClosedBar
		for range 10 {
			all = append(all, waiting(b)...)
			time.Sleep(5 * time.Second)
		}
		s.whole(all, behind, behind.Since)
		if err := b.Follow(t.Context(), []engine.BarSub{far}); err != nil {
			t.Fatal(err)
		}
		all = nil
		for range 20 {
			time.Sleep(5 * time.Second)
			all = append(all, waiting(b)...)
		}
		left := all[0].Skipped
		if left < 14_000 || left > 16_000 {
			t.Errorf("%d bars were skipped", left)
		}
		s.whole(all, far, all[0].Bar.T-60)
	})
}

// TestFollowBars_Ends holds that streams end with their context and with the engine, and leave no subscription.
func TestFollowBars_Ends(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, waves)
		ctx, cancel := context.WithCancel(t.Context())
		b, other := s.stream(ctx, follow("BTC", market.Minute1, 0)), s.stream(t.Context(), follow("BTC", market.Minute1, 0), follow("ETH", market.Minute5, 0))
		time.Sleep(3 * time.Minute)
		cancel()
		time.Sleep(2 * time.Second)
		if waiting(b); b.Follow(t.Context(), nil) == nil {
			t.Error("a stream that has ended goes on")
		}
		if _, open := <-b.Bars; open {
			t.Error("its bars go on")
		}
		if got := s.venue.streamed(); !slices.Equal(got, []string{"venue:BTC 1m", "venue:ETH 5m"}) {
			t.Errorf("streams %v", got)
		}
		if err := other.Follow(t.Context(), []engine.BarSub{follow("ETH", market.Minute5, 0)}); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if got := s.venue.streamed(); !slices.Equal(got, []string{"venue:ETH 5m"}) {
			t.Errorf("streams %v", got)
		}
		marks, err := s.store.Marks(t.Context())
		if err != nil || len(marks) > 0 {
			t.Errorf("marks %v, %v", marks, err)
		}
		if err := other.Follow(t.Context(), make([]engine.BarSub, 1001)); fault.KindOf(err) != fault.Invalid {
			t.Errorf("too many: %v", err)
		}
		s.stop()
		waiting(other)
		if _, open := <-other.Bars; open {
			t.Error("the bars of an engine that has ended go on")
		}
	})
}

// TestFollowBars_OfAReplay holds that bars come in order from a replay, and that their delay is in its time.
func TestFollowBars_OfAReplay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(monday))
		source := newVenue(waves)
		begin := monday.Add(-48 * time.Hour).Truncate(time.Hour)
		from, err := played.New(played.Config{Source: aggregate.Over(source, time.Now), Start: begin, Speed: 60, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		s := &scene{t: t, venue: source, from: from, dir: t.TempDir()}
		s.start()
		defer func() { s.stop() }()
		sub := engine.BarSub{Sub: provider.Sub{Symbol: market.Symbol{Venue: "replay", Name: "BTC"}, Interval: market.Minute5}, Since: begin.Unix() - 3000}
		b := s.stream(t.Context(), sub)
		time.Sleep(2 * time.Minute) // two hours
		all, after := waiting(b), sub.Since
		for _, one := range all {
			if after += 300; one.Bar.T != after || !one.Bar.Equal(source.closed(symbol("BTC"), market.Minute5, after)) {
				t.Fatalf("%+v, want the bar at %d", one, after)
			}
			if live := after >= begin.Unix(); one.Missed == live || live && one.Delay > 3*time.Minute || one.Delay < time.Duration(begin.Unix()-after-301)*time.Second {
				t.Errorf("the bar at %d is %v late, missed %v", after-begin.Unix(), one.Delay, one.Missed)
			}
		}
		if len(all) < 10+22 {
			t.Errorf("%d bars", len(all))
		}
	})
}

// TestFollowBars_ThroughTrouble holds that bars come once and in order while the venue is cut off, answers slowly or only over its
// stream, readers pause, and alerts come and go on the same subscriptions.
func TestFollowBars_ThroughTrouble(t *testing.T) {
	t.Parallel()
	for seed := range uint64(longtest.Pick(6, 300)) {
		synctest.Test(t, func(t *testing.T) {
			s := newScene(t, waves)
			defer func() { s.stop() }()
			random := rand.New(rand.NewPCG(longtest.Seed(), seed))
			subs := []engine.BarSub{follow("BTC", market.Minute1, int64(random.IntN(300))+1), follow("BTC", market.Minute5, int64(random.IntN(40))+1), follow("ETH", market.Minute1, 1)}
			b := s.stream(t.Context(), subs[:1+random.IntN(3)]...)
			var all []engine.ClosedBar
			var set []alert.Alert
			for range 40 {
				switch random.IntN(9) {
				case 0:
					s.venue.setDown(true)
				case 1:
					s.venue.setDry(true)
				case 2:
					s.venue.setSlow(time.Duration(random.IntN(90)) * time.Second)
				case 3:
					all = append(all, waiting(b)...)
				case 4:
					if len(set) > 0 {
						_ = s.Cancel(t.Context(), ann(), set[0].ID)
						set = set[1:]
					}
				case 5:
					s.venue.setDown(false)
					s.venue.setDry(false)
					s.venue.setSlow(0)
					a := above("BTC", 5000)
					if random.IntN(2) == 0 {
						a = signal("BTC", market.Minute5, "rsi", "rsi_oversold")
					}
					set = append(set, s.set(a))
				default:
					s.venue.setDown(false)
					s.venue.setDry(false)
				}
				if err := b.Follow(t.Context(), subs); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Duration(random.IntN(400)) * time.Second)
			}
			s.venue.setDown(false)
			s.venue.setDry(false)
			s.venue.setSlow(0)
			time.Sleep(15 * time.Minute)
			for all = append(all, waiting(b)...); ; {
				time.Sleep(5 * time.Second)
				more := waiting(b)
				if all = append(all, more...); len(more) == 0 {
					break
				}
			}
			for _, of := range subs {
				s.whole(all, of, of.Since)
			}
		})
	}
}
