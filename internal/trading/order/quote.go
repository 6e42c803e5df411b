package order

import (
	"time"

	"github.com/shopspring/decimal"
)

// Quote is the price of a symbol.
type Quote struct {
	Last         decimal.Decimal `json:"Last"` // above zero
	Bid          decimal.Decimal `json:"Bid"`  // zero if unknown
	Ask          decimal.Decimal `json:"Ask"`  // zero if unknown
	At           time.Time       `json:"At"`   // the venue's time, never the time of reading
	MarketClosed bool            `json:"Shut"` // no newer price until the market opens
}

// maxFeedPause is how long a working feed may be silent.
const maxFeedPause = time.Minute

// Stalled reports whether no newer price is expected soon: the market is closed, the
// feed is lost or the file is old.
func (q Quote) Stalled(now time.Time) bool { return q.MarketClosed || now.Sub(q.At) > maxFeedPause }

// TakerPrice returns the price that a market order on a side gets, and false if only the
// last price is known.
func (q Quote) TakerPrice(s Side) (decimal.Decimal, bool) {
	if s == Sell {
		return q.Bid, q.Bid.IsPositive()
	}
	return q.Ask, q.Ask.IsPositive()
}
