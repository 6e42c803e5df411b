package desk_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/fake"
	"candela/internal/testkit/longtest"
	"candela/internal/trading/order"
)

// watchGaps measures at a fake how long what is held has no stop.
func (s *site) watchGaps() *fake.Gaps {
	least := s.q("0.001")
	if s.binance != nil {
		return s.binance.Watch(s.symbol.Name, least)
	}
	return s.alpaca.Watch(s.symbol.Name, least)
}

// TestPlan_TheGapOfAPartialExit sells parts of positions at fakes whose answers take 50 ms, and holds that
// what is left is without a stop for the time of two answers at most: that of the cancel, and that of
// the orders that follow.
func TestPlan_TheGapOfAPartialExit(t *testing.T) {
	t.Parallel()
	const answer = 50 * time.Millisecond
	for _, words := range []string{"stop 48000", "stop 48000 target 55000"} {
		for _, venue := range []string{binanceToo, alpacaToo} {
			t.Run(venue+" "+words, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := newSite(t, venue)
					defer func() { s.stop() }()
					time.Sleep(2 * time.Second)
					all := s.measureExits(words, answer, longtest.Pick(50, 1000)/2)
					slices.Sort(all)
					longest := all[len(all)-1]
					t.Logf("%d exits: median %v, longest %v", len(all), all[len(all)/2], longest)
					if longest > 2*answer+5*time.Millisecond {
						t.Errorf("the longest time without a stop is %v, two answers take %v", longest, 2*answer)
					}
				})
			})
		}
	}
}

// measureExits sells tenths of positions so many times, and returns how long each left the rest without
// its stop.
func (s *site) measureExits(words string, answer time.Duration, exits int) []time.Duration {
	s.t.Helper()
	var all []time.Duration
	for len(all) < exits {
		s.done(s.buys("0.1", words))
		s.delay(answer)
		gaps, seen := s.watchGaps(), 0
		for n := 0; n < 8 && len(all) < exits; n++ {
			p := s.placed(s.sells(s.q("0.01"), ""))
			time.Sleep(20 * time.Second) // a venue takes so many requests a minute
			s.wants(s.order(p.ID), order.Filled)
			found := gaps.All()[seen:]
			longest := time.Duration(0)
			for _, g := range found {
				if g.To.IsZero() {
					s.t.Fatalf("after exit %d what is left has no stop: %+v", len(all), g)
				}
				longest = max(longest, g.To.Sub(g.From))
			}
			seen += len(found)
			all = append(all, longest)
		}
		s.delay(0)
		left := order.RoundDown(s.held(), s.q("0.00001"))
		s.works(s.want(left, words))
		s.sold(left)
	}
	return all
}

// TestPlan_NoGapOnPaper sells parts of positions on paper, and holds that the end of the old stop, the sale
// and the new stop are one append to the journal of the account, so that there is no moment
// without a stop.
func TestPlan_NoGapOnPaper(t *testing.T) {
	t.Parallel()
	atSites(t, func(s *site) {
		exits := 0
		for exits < longtest.Pick(50, 1000) {
			words := []string{"stop 48000", "stop 48000 target 55000", "trail 2", "trail 2 target 55000"}[exits/8%4]
			s.done(s.buys("0.1", words))
			for n := 1; n <= 8; n++ {
				before := s.paper.journal.Appends()
				s.wants(s.placed(s.sells(s.q("0.01"), "")).Order, order.Filled)
				if n := s.paper.journal.Appends() - before; n != 1 {
					s.t.Fatalf("exit %d of %s: %d appends", exits, words, n)
				}
				left := s.net("0.1").Sub(decimal.New(int64(n), -2))
				s.planned(s.want(left, words))
				exits++
				if s.t.Failed() {
					s.t.Fatal(fmt.Sprint("exit ", exits, " of ", words))
				}
			}
			s.sold(s.held())
			s.planned()
		}
	}, onThePaper)
}
