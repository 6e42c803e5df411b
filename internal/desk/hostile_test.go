package desk_test

import (
	"context"
	"testing"

	"candela/internal/broker/brokertest"
	"candela/internal/fault"
	"candela/internal/market"
	"candela/internal/provider"
)

// lenient is a venue that knows its symbol in more than one spelling.
type lenient struct{ *brokertest.Memory }

func (l lenient) Instrument(ctx context.Context, _ market.Symbol) (provider.Instrument, error) {
	return l.Memory.Instrument(ctx, brokertest.MemorySymbol())
}

func TestPlace_AnotherSpellingIsNoOtherSymbol(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.stop()
		w.broker = lenient{w.venue}
		w.start()
		for _, name := range []string{"BTC-USDT", "BTC/USDT"} {
			r := buy("0.5")
			r.Symbol.Name = name
			_, err := w.Place(w.t.Context(), caller(), r)
			if f := fault.Of(err); f == nil || f.Field != "symbol" || len(f.Suggestions) != 1 || f.Suggestions[0] != "BTCUSDT" {
				w.t.Errorf("%s: %v", name, err)
			}
		}
		if n := len(w.venue.Orders()); n != 0 {
			w.t.Errorf("the venue has %d orders", n)
		}
	})
}
