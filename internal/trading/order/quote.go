package order

import (
	"time"

	"github.com/shopspring/decimal"
)

// Quote is what a symbol trades at.
type Quote struct {
	Last         decimal.Decimal `json:"Last"` // above zero
	Bid          decimal.Decimal `json:"Bid"`  // zero when not known
	Ask          decimal.Decimal `json:"Ask"`  // zero when not known
	At           time.Time       `json:"At"`   // the venue's time of it, by our clock; never when it was read
	MarketClosed bool            `json:"Shut"` // the market is closed: there is no newer price until it opens
}

// maxFeedPause is how long a feed that works may be silent. A price that is older does not
// become new by waiting a moment.
const maxFeedPause = time.Minute

// Stalled reports whether a newer price is not to be expected within a moment: the
// market is closed, the feed is lost or the file is old.
func (q Quote) Stalled(now time.Time) bool { return q.MarketClosed || now.Sub(q.At) > maxFeedPause }

// TakerPrice returns the price at which the market sells to a buyer, or buys from a
// seller, and false when only the last price is known.
func (q Quote) TakerPrice(s Side) (decimal.Decimal, bool) {
	if s == Sell {
		return q.Bid, q.Bid.IsPositive()
	}
	return q.Ask, q.Ask.IsPositive()
}
