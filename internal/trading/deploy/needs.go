package deploy

import (
	"fmt"

	"candela/internal/trading/order"
)

// Needs counts what a strategy has asked for in its back-test.
type Needs struct {
	Entries    int `json:"market_entries"`
	Limits     int `json:"limit_entries"`
	Stops      int `json:"stop_entries"`
	StopLimits int `json:"stop_limit_entries,omitempty"`
	Lines      int `json:"exits_at_prices"`
	Trails     int `json:"exits_that_trail"`
	Closes     int `json:"market_exits"`
	Turns      int `json:"turns"` // entries against a position
	Shorts     int `json:"short_entries"`
	Unguarded  int `json:"entries_without_stop"`
	Guarded    int `json:"entries_with_stop,omitempty"`
	Fractions  int `json:"fractional_entries,omitempty"`
	Parts      int `json:"fractional_exits,omitempty"`
}

// Count adds an intent.
func (n *Needs) Count(i *Intent) {
	add := func(to *int, when bool) {
		if when {
			*to++
		}
	}
	entry := i.Kind == EntryKind
	add(&n.Entries, entry && i.Market())
	add(&n.Limits, entry && i.Limit.IsPositive())
	add(&n.Stops, entry && i.Stop.IsPositive())
	add(&n.StopLimits, entry && i.Stop.IsPositive() && i.Limit.IsPositive())
	add(&n.Turns, entry && i.Closes.IsPositive())
	add(&n.Shorts, entry && i.Side.Sign() < 0 && i.Quantity.GreaterThan(i.Closes))
	unguarded := i.StopLoss.IsZero() && i.StopApart.IsZero() && i.StopPercent.IsZero()
	add(&n.Unguarded, entry && unguarded)
	add(&n.Guarded, entry && !unguarded)
	add(&n.Fractions, entry && !i.Quantity.IsInteger())
	add(&n.Lines, i.Kind == LineKind)
	add(&n.Parts, i.Kind == LineKind && !i.Quantity.IsInteger())
	add(&n.Trails, i.Kind == LineKind && i.Trails)
	add(&n.Closes, i.Kind == CloseKind)
}

// Lacks says what a venue does not hold of what is needed, "" for nothing.
func (n *Needs) Lacks(c order.Capabilities, shorts bool) string {
	switch exits := n.Lines + n.Guarded; {
	case exits > 0 && !c.Stops:
		return fmt.Sprintf("%d exits at prices, and the venue holds no stops", exits)
	case exits > 0 && n.Fractions > 0 && c.WholeLegs:
		return fmt.Sprintf("%d entries of fractional quantities, and the venue holds stops of whole units alone: set quantity", n.Fractions)
	case n.Parts > 0 && c.WholeLegs:
		return fmt.Sprintf("%d exits of fractional quantities, and the venue holds stops and targets of whole units alone: set quantity, or let each exit close a whole number", n.Parts)
	case n.Stops > n.StopLimits && !c.Stops:
		return fmt.Sprintf("%d entries at stop prices, and the venue holds none", n.Stops)
	case n.StopLimits > 0 && !c.StopLimits:
		return fmt.Sprintf("%d entries with a stop and a limit, and the venue holds none", n.StopLimits)
	case shorts && n.Shorts > 0 && !c.Perpetuals:
		return fmt.Sprintf("%d short entries, and the venue lends nothing", n.Shorts)
	}
	return ""
}
