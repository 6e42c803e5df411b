package desk_test

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/testkit/fake"
)

// answerTime is how long an answer of a fake takes where a test counts answers by the virtual time.
const answerTime = 50 * time.Millisecond

// twoAnswers holds that what is held was never without a stop for longer than two answers of the venue: that of a
// cancel, and that of the orders that follow.
func (s *site) twoAnswers(gaps *fake.Gaps) {
	s.t.Helper()
	for _, g := range gaps.All() {
		if took := g.To.Sub(g.From); g.To.IsZero() || took > 2*answerTime {
			s.t.Errorf("%v was without a stop for %v, two answers take %v", g.Quantity, took, 2*answerTime)
		}
	}
}

// TestPlan_TheGapOfAChange changes the prices of a whole position, one call at once after the other, and counts
// the answers until it has its stops again.
func TestPlan_TheGapOfAChange(t *testing.T) {
	t.Parallel()
	for venue, chains := range map[string][]string{
		binanceToo: {"stop 48000, trail 2, stop 49500, trail 0.5", "stop 48000, target 55000, trail 2, target 54000, stop 49500, stop 49600, trail 0.5"},
		alpacaToo:  {"stop 48000, trail 2, stop 49500, trail 0.5", "stop 48000, target 55000, stop 48500, target 54000, stop 49500, stop 49600"},
	} {
		for _, chain := range chains {
			for _, lines := range []int{1, 3} {
				t.Run(venue+", "+strconv.Itoa(lines)+" lines, "+chain, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						s := newSite(t, venue)
						defer func() { s.stop() }()
						time.Sleep(2 * time.Second)
						s.changeAll(strings.Split(chain, ", "), lines)
					})
				})
			}
		}
	}
}

// changeAll makes a position of lines and changes their prices by one call after the other.
func (s *site) changeAll(steps []string, lines int) {
	s.t.Helper()
	for range lines {
		s.done(s.buys("0.01", ""))
		s.done(s.sells(s.net("0.01"), steps[0]))
	}
	s.delay(answerTime)
	gaps := s.watchGaps()
	for _, words := range steps[1:] {
		s.placed(s.sells(s.held(), words))
	}
	time.Sleep(20 * time.Second)
	s.twoAnswers(gaps)
}

// TestPlan_ATrailForItsStandIn holds that the trail takes the place of the stop that stood at its level after two
// answers, when the price is beyond the best one.
func TestPlan_ATrailForItsStandIn(t *testing.T) {
	t.Parallel()
	atSites(t, func(s *site) {
		s.trailed()
		s.sold(s.q("0.01"))
		left := s.net("0.04", "-0.01")
		s.works(s.stands(left, "trail 2", "52000"))
		s.delay(answerTime)
		gaps := s.watchGaps()
		for _, price := range []string{"53000", "53500"} {
			s.move(price)
			time.Sleep(10 * time.Second)
		}
		s.twoAnswers(gaps)
		s.planned(s.want(left, "trail 2"))
	}, binanceToo, alpacaToo)
}
