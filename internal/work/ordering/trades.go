package ordering

import (
	"context"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
)

// Trade is a trade that closed something, as clients see it. Amounts are exact decimals in strings, except for the rounded prices.
type Trade struct {
	Symbol     string            `json:"symbol"`
	Venue      string            `json:"venue"`
	Side       string            `json:"side"`
	Quantity   string            `json:"quantity"`
	EntryPrice string            `json:"entry_price"`
	ExitPrice  string            `json:"exit_price"`
	Opened     string            `json:"opened_at"`
	Closed     string            `json:"closed_at"`
	Realised   string            `json:"realized_pnl"`
	Fees       string            `json:"fees"`
	Funding    string            `json:"funding,omitempty"` // of perpetual futures: paid, negative when received
	Net        string            `json:"net"`
	Currency   string            `json:"currency,omitempty"`
	OtherFees  map[string]string `json:"other_fees,omitempty"`
	Reason     string            `json:"reason"`
	OrderID    string            `json:"order_id,omitempty"`
}

// TradeSum is what trades in one currency earned, as clients see it.
type TradeSum struct {
	Currency  string            `json:"currency,omitempty"`
	Realised  string            `json:"realized_pnl"`
	Fees      string            `json:"fees"`
	Funding   string            `json:"funding,omitempty"`
	Net       string            `json:"net"`
	OtherFees map[string]string `json:"other_fees,omitempty"`
	Wins      int               `json:"wins"`
	Losses    int               `json:"losses"`
}

// Trades are the trades of an account, newest first, and the sums of all that were asked for.
type Trades struct {
	Trades []Trade    `json:"trades"`
	Sums   []TradeSum `json:"sums"`
	Since  string     `json:"complete_since,omitempty"`
}

// TradesOf returns a part of a list of trades as clients see it.
func TradesOf(p order.TradePage) Trades {
	r := Trades{Trades: []Trade{}, Sums: []TradeSum{}}
	for _, one := range p.Trades {
		r.Trades = append(r.Trades, tradeOf(one))
	}
	for _, s := range p.Sums {
		sum := TradeSum{Currency: s.Currency, Realised: s.Realised.String(), Fees: s.Fees.String(), Funding: amountOf(s.Funding), Net: s.Net().String(), Wins: s.Wins, Losses: s.Losses}
		_, sum.OtherFees = s.Other.Texts()
		r.Sums = append(r.Sums, sum)
	}
	if !p.Since.IsZero() {
		r.Since = Stamp(p.Since)
	}
	return r
}

func tradeOf(one order.Trade) Trade {
	fees, other := one.Fees()
	r := Trade{
		Symbol: one.Symbol.Name, Venue: one.Symbol.Venue, Side: one.Side.String(), Quantity: one.Quantity.String(),
		EntryPrice: one.Entry().String(), ExitPrice: one.Exit().String(), Opened: Stamp(one.Opened), Closed: Stamp(one.Closed),
		Realised: one.Realised.String(), Fees: fees.String(), Funding: amountOf(one.Paid.Funding), Net: one.Net().String(), Currency: one.Currency,
		Reason: one.Reason, OrderID: one.OrderID,
	}
	_, r.OtherFees = other.Texts()
	return r
}

// amountOf writes an amount, "" for none.
func amountOf(d decimal.Decimal) string {
	if d.IsZero() {
		return ""
	}
	return d.String()
}

// Stamp is how clients see a time.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// tradePage is how many trades are asked for at once. A message between replicas has room for them.
const tradePage = 500

// AllTrades asks for every trade of a query, part by part. The sums are those of the first part: what is closed meanwhile is
// newer than all of them.
func AllTrades(ctx context.Context, q order.TradeQuery, ask func(context.Context, order.TradeQuery) (order.TradePage, error)) (order.TradePage, error) {
	q.Most, q.After = tradePage, order.Mark{}
	all, err := ask(ctx, q)
	for left := all.Left; err == nil && left > 0; {
		var next order.TradePage
		q.After = all.Trades[len(all.Trades)-1].Mark()
		if next, err = ask(ctx, q); len(next.Trades) == 0 {
			break
		}
		left, all.Trades = next.Left, slices.Concat(all.Trades, next.Trades)
	}
	all.Left = 0
	return all, err
}
