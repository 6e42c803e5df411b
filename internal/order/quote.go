package order

import (
	"time"

	"github.com/shopspring/decimal"
)

// Quote is what a symbol trades at.
type Quote struct {
	Last decimal.Decimal // above zero
	Bid  decimal.Decimal // zero when not known
	Ask  decimal.Decimal // zero when not known
	At   time.Time       // when this was known to be the price, by our clock
	Shut bool            // the market is closed: there is no newer price until it opens
}

// Take returns the price at which the market sells to a buyer, or buys from a
// seller, and false when only the last price is known.
func (q Quote) Take(s Side) (decimal.Decimal, bool) {
	if s == Sell {
		return q.Bid, q.Bid.IsPositive()
	}
	return q.Ask, q.Ask.IsPositive()
}
