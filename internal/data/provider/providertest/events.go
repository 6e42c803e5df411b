package providertest

import (
	"fmt"
	"slices"

	"candela/internal/data/provider"
	"candela/lib/market"
)

// CheckEvents holds what a Streamer sent for its subscriptions against the
// contract: bars are sound, closed ones strictly ascend, a forming one never
// opens before or at the last closed one, time does not run back, a mark has a
// price and a time, and nothing comes that was not asked for. An Ending or an Alive belongs to no
// subscription.
func CheckEvents(subs []provider.Sub, events []provider.Event) error {
	last := map[provider.Sub]provider.Event{}
	closed := map[provider.Sub]int64{}
	for i, e := range events {
		before, seen := last[e.Sub]
		closedAt, hasClosed := closed[e.Sub]
		switch {
		case (e.Kind == provider.Ending || e.Kind == provider.Alive) && e.Sub == provider.Sub{} && !e.At.IsZero():
			continue
		case !slices.Contains(subs, e.Sub):
			return fmt.Errorf("event %d is of %v %v, which nobody asked for", i, e.Symbol, e.Interval)
		case e.Kind == provider.Marked && e.Price > 0 && !e.At.IsZero() && e.Bar == (market.Bar{}):
			continue
		case e.At.IsZero() || seen && e.At.Before(before.At):
			return fmt.Errorf("event %d happened at %v, the one before at %v", i, e.At, before.At)
		}
		last[e.Sub] = e
		if e.Kind == provider.Traded {
			continue
		}
		if err := e.Bar.Check(); err != nil {
			return fmt.Errorf("event %d: %w", i, err)
		}
		switch {
		case e.Kind != provider.Forming && e.Kind != provider.Closed:
			return fmt.Errorf("event %d is of kind %d", i, e.Kind)
		case e.Price != e.Bar.C:
			return fmt.Errorf("event %d has price %v and close %v", i, e.Price, e.Bar.C)
		case hasClosed && e.Bar.T <= closedAt:
			return fmt.Errorf("event %d has the bar at %d after that at %d has closed", i, e.Bar.T, closedAt)
		case e.Kind == provider.Forming && seen && before.Kind == provider.Forming && e.Bar.T < before.Bar.T:
			return fmt.Errorf("event %d goes back from the bar at %d to that at %d", i, before.Bar.T, e.Bar.T)
		}
		if e.Kind == provider.Closed {
			closed[e.Sub] = e.Bar.T
		}
	}
	return nil
}
