package desk_test

import (
	"testing"

	"candela/internal/trading/desk"
	"candela/internal/trading/order"
)

// TestOnTick_IsNearerToTheMarket holds that the stop in the place of a trail is a price that a venue takes, also where
// its tick is not known, and never further from the market than the level.
func TestOnTick_IsNearerToTheMarket(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ last, tick, level, long, short string }{
		{"100", "0.01", "98.0372", "98.04", "98.03"},
		{"100", "0.01", "98.03", "98.03", "98.03"},
		{"100", "", "98.0372", "98.04", "98.03"},
		{"99.125", "", "98.0372", "98.038", "98.037"},
		{"0.5", "", "0.48123", "0.4813", "0.4812"},
		{"0.00001234", "", "0.0000120932", "0.0000121", "0.00001209"},
	} {
		tick := desk.UsualTick(dec(c.last))
		if c.tick != "" {
			tick = dec(c.tick)
		}
		if long, short := desk.OnTick(dec(c.level), tick, order.Buy), desk.OnTick(dec(c.level), tick, order.Sell); !long.Equal(dec(c.long)) || !short.Equal(dec(c.short)) {
			t.Errorf("with the last price %s and the tick %s the level %s is %v and %v, want %s and %s", c.last, tick, c.level, long, short, c.long, c.short)
		}
	}
}
