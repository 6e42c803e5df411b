package desk_test

import (
	"slices"
	"testing"
	"time"

	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// TestPlan_AnotherStopStays takes a bracket, changes its stop or target and sells a part: the rest has
// what was asked for last, and nothing that was dropped comes back.
func TestPlan_AnotherStopStays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		words, after string
		venues       []string
	}{
		"a trail":         {"trail 0.8", "trail 0.8 target 46940", []string{onThePaper, binanceToo}},
		"a tighter stop":  {"stop 44810", "stop 44810 target 46940", nil},
		"another target":  {"target 46000", "stop 44230 target 46000", nil},
		"both":            {"stop 44810 target 46000", "stop 44810 target 46000", nil},
		"the same target": {"target 46940", "stop 44230 target 46940", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atSites(t, func(s *site) {
				s.move("45150")
				time.Sleep(2 * time.Second)
				s.done(s.buys("0.05", "stop 44230 target 46940"))
				s.done(s.sells(order.RoundDown(s.held(), dec("0.00001")), c.words))
				s.planned(s.want(s.net("0.05"), c.after))
				s.sold(s.q("0.02"))
				left := s.net("0.05", "-0.02")
				s.asks(s.want(left, c.after))
				s.works(s.stands(left, c.after, "45150"))
				s.again(s.kill)
				time.Sleep(time.Minute)
				s.asks(s.want(left, c.after))
				s.works(s.stands(left, c.after, "45150"))
			}, c.venues...)
		})
	}
}

// TestPlan_NothingEndsThatIsNotNamed holds that a target beside a stop, or a limit that rests, keeps the
// stop, that a stop keeps the target, and that trading stays active.
func TestPlan_NothingEndsThatIsNotNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ has, asks, after string }{
		"a target beside a stop":       {"stop 48000", "target 53000", "stop 48000 target 53000"},
		"a limit beside a stop":        {"stop 48000", "limit 53000", "stop 48000 target 53000"},
		"a stop beside a target":       {"target 53000", "stop 48000", "stop 48000 target 53000"},
		"a moved stop of a bracket":    {"stop 48000 target 53000", "stop 49000", "stop 49000 target 53000"},
		"a limit over a bracket":       {"stop 48000 target 53000", "limit 52000", "stop 48000 target 52000"},
		"a stop_price over a bracket":  {"stop 48000 target 53000", "stop_price 49000", "stop 49000 target 53000"},
		"a stop_price beside a target": {"target 53000", "stop_price 49000", "stop 49000 target 53000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atSites(t, func(s *site) {
				for _, entry := range []bool{true, false} {
					if entry {
						s.done(s.buys("0.05", c.has))
					} else {
						s.done(s.buys("0.05", ""))
						s.done(s.sells(order.RoundDown(s.held(), dec("0.00001")), c.has))
					}
					s.done(s.asked(c.asks))
					time.Sleep(time.Minute)
					s.planned(s.want(s.net("0.05"), c.after))
					s.sold(order.RoundDown(s.held(), dec("0.00001")))
					if open := s.working(); len(open) > 0 {
						s.t.Errorf("then open are %q", open)
					}
					if dust := s.held(); dust.IsPositive() {
						s.t.Fatalf("%v is left", dust)
					}
				}
			})
		})
	}
}

// asked asks for protection of all that is held: by name, or as a limit or stop order.
func (s *site) asked(words string) order.Request {
	r := s.sells(order.RoundDown(s.held(), dec("0.00001")), "")
	var price string
	switch {
	case cut(words, "limit ", &price):
		r.Type, r.Price = order.Limit, s.p(price)
	case cut(words, "stop_price ", &price):
		r.StopPrice = s.p(price)
	default:
		r.Protect = s.protection(words)
	}
	return r
}

// cut reports whether a text begins so, and sets what follows.
func cut(text, before string, after *string) bool {
	if len(text) < len(before) || text[:len(before)] != before {
		return false
	}
	*after = text[len(before):]
	return true
}

// TestPlan_ThePricePassesTheStop lets the price go through the stop of a bracket in the moment in which a
// partial exit has ended it, and holds that all is sold as the stop would have done: also when
// the price is back before the orders for the rest would be placed. The stop is not set again.
func TestPlan_ThePricePassesTheStop(t *testing.T) {
	t.Parallel()
	for _, words := range []string{"stop 48000", "stop 48000 target 55000"} {
		for name, back := range map[string]time.Duration{"it stays": 0, "it is back at once": 5 * time.Millisecond, "it is back later": 100 * time.Millisecond} {
			t.Run(words+" "+name, func(t *testing.T) {
				t.Parallel()
				atSites(t, func(s *site) {
					s.done(s.buys("0.05", words))
					s.delay(50 * time.Millisecond)
					exit, calls := s.sells(s.q("0.02"), ""), make(chan struct{})
					go func() {
						defer close(calls)
						_, _ = s.Place(s.t.Context(), caller(), exit)
					}()
					s.until("the stop ends", s.bareAtVenue)
					s.move("47900")
					if back > 0 {
						time.Sleep(back)
						s.move("50000")
					}
					<-calls
					s.delay(0)
					time.Sleep(30 * time.Second)
					if held := s.held(); held.GreaterThan(s.q("0.0001")) {
						s.t.Errorf("%v is held, the plan is %q", held, s.lines())
					}
					if open := s.working(); len(open) > 0 {
						s.t.Errorf("open are %q", open)
					}
					if r := s.Status().State.Restrictions; len(r) > 0 {
						s.t.Errorf("trading is restricted: %+v", r)
					}
					s.wantsSoldByStop()
				}, binanceToo, alpacaToo)
			})
		}
	}
}

// wantsSoldByStop holds that an order which sold at the market is a stop.
func (s *site) wantsSoldByStop() {
	s.t.Helper()
	for _, o := range s.store.Book(owner).Orders() {
		if o.Role == order.StopLoss && o.Filled.IsPositive() && o.StopPrice.IsZero() {
			return
		}
	}
	s.t.Error("no order sold as the stop")
}

// TestPlan_ThePricePassesTheStopWhileStopped holds that a line without its stop is sold at the start if the
// price is beyond it then.
func TestPlan_ThePricePassesTheStopWhileStopped(t *testing.T) {
	t.Parallel()
	atSites(t, func(s *site) {
		s.done(s.buys("0.05", "stop 48000"))
		s.delay(50 * time.Millisecond)
		exit, place := s.sells(s.q("0.02"), ""), s.Place
		go func() { _, _ = place(s.t.Context(), caller(), exit) }()
		s.until("the stop ends", s.bareAtVenue)
		s.delay(0)
		s.kill()
		s.move("47900")
		s.start()
		time.Sleep(30 * time.Second)
		if held := s.held(); held.GreaterThan(s.q("0.0001")) {
			s.t.Errorf("%v is held, the plan is %q, at the venue is %q", held, s.lines(), s.working())
		}
	}, binanceToo, alpacaToo)
}

// fiveLots buys five lots with a stop each.
func (s *site) fiveLots() {
	s.t.Helper()
	for range 5 {
		s.done(s.buys("0.01", "stop 48000"))
	}
}

// TestPlan_ASixthStop holds that a stop which the venue has no room for is denied before anything
// ends.
func TestPlan_ASixthStop(t *testing.T) {
	t.Parallel()
	atSites(t, func(s *site) {
		s.fiveLots()
		var stops []string
		for _, o := range s.store.Book(owner).Open() {
			stops = append(stops, o.ID)
		}
		s.done(s.buys("0.01", ""))
		s.denied(s.sells(s.q("0.00999"), "stop 48000"), "max_stops")
		s.denied(s.sells(s.q("0.01"), "stop 48000"), "max_stops")
		s.denied(s.buys("0.01", "stop 48000"), "max_stops")
		s.denied(s.buys("0.01", "stop 48000 target 55000"), "max_stops")
		for _, id := range stops {
			if o := s.order(id); o.Status != order.Accepted || o.CancelTried {
				s.t.Errorf("the stop %s is %v", id, o.Status)
			}
		}
		s.works(slices.Repeat([]string{s.want(s.net("0.01"), "stop 48000")}, 5)...)
		s.done(s.buys("0.01", "target 55000")) // it needs no stop
	}, binanceToo)
}

// TestPlan_ARestoreWithoutRoom lets somebody else take the place of a stop that a partial exit ended. The
// rest is bare, that is shown and restricts trading; when there is room, also after a restart, it gets its
// stop and the restriction ends by itself. How long it was bare is counted over the restart.
func TestPlan_ARestoreWithoutRoom(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]bool{"at once": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atSites(t, func(s *site) {
				s.fiveLots()
				s.done(s.buys("0.01", "")) // what somebody else sells
				s.delay(50 * time.Millisecond)
				exit := s.sells(s.q("0.003"), "")
				for _, o := range s.store.Book(owner).Open() {
					exit.Replaces = o.ID
				}
				calls := make(chan struct{})
				go func() {
					defer close(calls)
					_, _ = s.Place(s.t.Context(), caller(), exit)
				}()
				s.until("a stop ends", func() bool { return s.stopsAtVenue().LessThan(s.net("0.05")) })
				if _, list := s.binance.PlacePair("web", "BTCUSDT", s.q("0.0002"), dec("55000"), dec("48000")); list == 0 {
					s.t.Fatal("the venue refuses the pair")
				}
				<-calls
				s.delay(0)
				time.Sleep(time.Minute)
				gap := s.gap()
				if gap.For < 50*time.Second || !s.restricted(guard.Unprotected) {
					s.t.Errorf("the gap is %+v, restrictions are %+v", gap, s.Status().State.Restrictions)
				}
				if again {
					s.again(s.kill)
					if after := s.gap(); after.For < gap.For {
						s.t.Errorf("after a restart the gap has lasted %v, before %v", after.For, gap.For)
					}
				}
				s.binance.Cancel("web_stop")
				s.binance.Cancel("web_target")
				time.Sleep(3 * time.Minute)
				if got, want := s.stopsAtVenue(), s.net("0.05", "-0.003"); !got.Equal(want) || s.restricted(guard.Unprotected) {
					s.t.Errorf("with room stops close %v, want %v; restrictions are %+v", got, want, s.Status().State.Restrictions)
				}
			}, binanceToo)
		})
	}
}

// gap returns the only gap of the position.
func (s *site) gap() order.Gap {
	s.t.Helper()
	positions, err := s.Positions(s.t.Context(), caller())
	if err != nil || len(positions) != 1 || len(positions[0].Gaps) != 1 {
		s.t.Fatalf("the positions are %+v, %v", positions, err)
	}
	return positions[0].Gaps[0]
}

// TestPlan_AStopForWhatWasBought holds that a stop for exactly what was bought is cut to what the fee
// left of it, and touches no other line.
func TestPlan_AStopForWhatWasBought(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{"beside a pair": "stop 48000 target 55000", "beside a stop": "stop 48000", "alone": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atSites(t, func(s *site) {
				var before []order.Order
				var lines []string
				if first != "" {
					s.done(s.buys("0.01", first))
					lines = append(lines, s.want(s.net("0.01"), first))
					before = s.store.Book(owner).Open()
				}
				s.done(s.buys("0.01", ""))
				p := s.done(s.sells(s.q("0.01"), "stop 49000"))
				if !p.Quantity.Equal(s.net("0.01")) || len(p.Released) > 0 {
					s.t.Errorf("the stop is over %v, released are %v", p.Quantity, p.Released)
				}
				s.planned(append(lines, s.want(s.net("0.01"), "stop 49000"))...)
				for _, o := range before {
					if now := s.order(o.ID); now.Status != o.Status || now.CancelTried {
						s.t.Errorf("the %v of the other line is %v", o.Role, now.Status)
					}
				}
			}, binanceToo)
		})
	}
}
