package binance

import (
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/fake"
)

// watch measures how long what was bought in a symbol has no stop.
type watch struct {
	*fake.Gaps
	symbol string
	held   decimal.Decimal // by the trades so far, without the funds that were there before
	trades int             // of the exchange, that are counted in it
}

// Watch measures from now on how long what the trades in a symbol brought has no stop that
// works. Less than least counts as nothing. Pending legs do not work.
func (s *Server) Watch(symbol string, least decimal.Decimal) *fake.Gaps {
	e, now := s.exchange, s.config.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.advance(now)
	w := &watch{Gaps: fake.NewGaps(least), symbol: symbol}
	e.watches = append(e.watches, w)
	e.see(symbol, now)
	return w.Gaps
}

// see lets the watches of a symbol see what is held and which stops work.
func (e *exchange) see(symbol string, at time.Time) {
	for _, w := range e.watches {
		if w.symbol != symbol {
			continue
		}
		base, _ := split(symbol)
		for ; w.trades < len(e.trades); w.trades++ {
			if t := e.trades[w.trades]; t.Symbol == symbol {
				w.held = w.held.Add(t.brought(base))
			}
		}
		covered := decimal.Zero
		for _, o := range e.orders {
			if o.placed() && o.Symbol == symbol && stops(o.Type) && (o.Side == sideSell) == w.held.IsPositive() {
				covered = covered.Add(o.left())
			}
		}
		w.See(at, w.held.Abs(), covered)
	}
}

// brought returns what a trade changed of the base asset.
func (t Trade) brought(base string) decimal.Decimal {
	signed := t.Quantity
	if !t.Buyer {
		signed = signed.Neg()
	}
	if t.FeeAsset == base {
		signed = signed.Sub(t.Fee)
	}
	return signed
}
