package desk_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	fakebinance "candela/internal/testkit/fake/binance"
	"candela/lib/market"
)

// TestPlan_ATrailOutlivesAKill holds that a trail at a venue which does not report its level is at the level that it
// had reached, when it is placed again after a crash and the price is lower than before.
func TestPlan_ATrailOutlivesAKill(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before func(s *site)
		bars   func() []market.Bar // that are read after the start
		after  string              // the price then
		level  string
	}{
		"it began a moment ago":       {func(*site) {}, nil, "49700", "49000"},
		"the price went up and back":  {func(s *site) { s.move("52000"); synctest.Wait(); s.move("51500"); synctest.Wait() }, nil, "51400", "50960"},
		"the price went up while off": {func(*site) { time.Sleep(2 * time.Minute) }, risen("53000"), "52500", "51940"},
		"it went up a little and back before": {
			func(s *site) {
				time.Sleep(2 * time.Minute)
				s.move("50050")
				time.Sleep(5 * time.Second)
				s.move("49900")
			}, risen("50050"), "49700", "49049",
		},
		"a bar that was higher before it began": {
			func(*site) {}, func() []market.Bar {
				return []market.Bar{{T: time.Now().Unix() / 60 * 60, O: 55000, H: 55000, L: 49800, C: 49800, V: 1}}
			}, "49700", "49000",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atSites(t, func(s *site) {
				s.world.bars = func(context.Context, market.Symbol, time.Time) ([]market.Bar, error) {
					if c.bars == nil {
						return nil, nil
					}
					return c.bars(), nil
				}
				s.done(s.buys("0.04", "trail 2"))
				c.before(s)
				s.kill()
				s.move(c.after)
				s.start()
				time.Sleep(5 * time.Second)
				s.sold(s.q("0.01"))
				s.levelAtVenue(c.level)
			}, binanceToo)
		})
	}
}

// TestPlan_ALackedTrailFollowsNothingOlder holds that a trail which a position lacks, because the venue does not answer,
// does not follow what the price did before it began: the position would be sold at once. Also after a crash.
func TestPlan_ALackedTrailFollowsNothingOlder(t *testing.T) {
	t.Parallel()
	for name, killed := range map[string]bool{"running": false, "killed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atSites(t, func(s *site) {
				s.world.bars = func(context.Context, market.Symbol, time.Time) ([]market.Bar, error) {
					return []market.Bar{{T: time.Now().Unix() / 60 * 60, O: 55000, H: 55000, L: 49800, C: 49800, V: 1}}, nil
				}
				s.again(s.kill)
				s.done(s.buys("0.04", "trail 2"))
				lost := fakebinance.OrderFaults()["outage"]
				lost.On = stopOrder
				s.next(lost)
				s.placed(s.sells(s.q("0.01"), ""))
				s.move("50100")
				synctest.Wait()
				if killed {
					s.kill()
					s.start()
				}
				time.Sleep(5 * time.Minute)
				s.works(s.want(s.net("0.04", "-0.01"), "trail 2"))
			}, binanceToo)
		})
	}
}

// risen returns bars since a minute ago whose highest price is this.
func risen(high string) func() []market.Bar {
	return func() []market.Bar {
		h, now := dec(high).InexactFloat64(), time.Now().Unix()/60*60
		return []market.Bar{{T: now - 60, O: 49900, H: h, L: 49800, C: 49900, V: 1}, {T: now, O: 49900, H: 49900, L: 49800, C: 49800, V: 1}}
	}
}
