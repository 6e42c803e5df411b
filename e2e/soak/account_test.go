package soak

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"

	"github.com/shopspring/decimal"
)

// order is an order as get_orders lists it, as far as it is read here.
type order struct {
	ID      string                     `json:"order_id"`
	Symbol  string                     `json:"symbol"`
	Side    string                     `json:"side"`
	Type    string                     `json:"type"`
	Role    string                     `json:"role"`
	Status  string                     `json:"status"`
	Whole   decimal.Decimal            `json:"quantity"`
	Limit   decimal.Decimal            `json:"limit_price"`
	Stop    decimal.Decimal            `json:"stop_price"`
	Trail   decimal.Decimal            `json:"trail_percent"`
	Filled  decimal.Decimal            `json:"filled_quantity"`
	Average *decimal.Decimal           `json:"avg_fill_price"`
	Fees    map[string]decimal.Decimal `json:"fees_by_asset"`
	Created string                     `json:"created_at"`
	Updated string                     `json:"updated_at"`
	Reason  string                     `json:"reject_reason"`
}

// final reports whether nothing more happens to the order.
func (o *order) final() bool {
	switch o.Status {
	case "filled", "canceled", "expired", "rejected", "denied":
		return true
	}
	return false
}

// unsure reports whether it is not known yet what comes of the order.
func (o *order) unsure() bool {
	switch o.Status {
	case "new", "submitted", "uncertain", "pending_cancel", "partially_filled":
		return true
	}
	return false
}

// protects reports which leg an open order is, and whether it is one.
func (o *order) protects() (leg, bool) {
	switch {
	case o.Side != "sell":
		return leg{}, false
	case o.Type == "limit" && o.Stop.IsZero(): // which may name the trail of its pair
		return leg{targetLeg, o.Limit.String()}, true
	case o.Trail.IsPositive():
		return leg{trailLeg, o.Trail.String()}, true
	case o.Stop.IsPositive():
		return leg{stopLeg, o.Stop.String()}, true
	}
	return leg{}, false
}

// left returns what the order may still fill.
func (o *order) left() decimal.Decimal { return o.Whole.Sub(o.Filled) }

// holding is what the trades of one position come to.
type holding struct {
	held     decimal.Decimal
	cost     *big.Rat // of what is held, at the average price that was paid
	realised *big.Rat
	fees     map[string]decimal.Decimal
}

// account is what the trades of all orders come to.
type account struct {
	holdings map[string]*holding
	cash     decimal.Decimal // that trades and fees brought, in the quote currency
}

const quote = "USDT"

func newAccount() *account { return &account{holdings: map[string]*holding{}} }

func (a *account) of(symbol string) *holding {
	h := a.holdings[symbol]
	if h == nil {
		h = &holding{cost: new(big.Rat), realised: new(big.Rat), fees: map[string]decimal.Decimal{}}
		a.holdings[symbol] = h
	}
	return h
}

// trade adds what an order has filled. Orders of a symbol come in the order of their trades.
// A fee in the asset that was bought never arrives: what is held is the purchase without it.
func (a *account) trade(o *order) {
	if !o.Filled.IsPositive() || o.Average == nil {
		return
	}
	if h := a.of(o.Symbol); h.held.IsZero() { // a new position has its own profit and fees
		delete(a.holdings, o.Symbol)
	}
	h, worth := a.of(o.Symbol), o.Filled.Mul(*o.Average)
	arrived := o.Filled
	for asset, fee := range o.Fees {
		h.fees[asset] = h.fees[asset].Add(fee)
		switch asset {
		case quote:
			a.cash = a.cash.Sub(fee)
		case strings.TrimSuffix(o.Symbol, quote):
			arrived = arrived.Sub(fee)
		}
	}
	if o.Side == "buy" {
		a.cash, h.held = a.cash.Sub(worth), h.held.Add(arrived)
		h.cost.Add(h.cost, arrived.Mul(*o.Average).Rat())
		return
	}
	a.cash = a.cash.Add(worth)
	gone := new(big.Rat)
	if h.held.IsPositive() {
		gone.Quo(o.Filled.Rat(), h.held.Rat())
		gone.Mul(gone, h.cost)
	}
	h.held = h.held.Sub(o.Filled)
	h.cost.Sub(h.cost, gone)
	h.realised.Add(h.realised, worth.Rat())
	h.realised.Sub(h.realised, gone)
}

// average returns the price that was paid for what is held.
func (h *holding) average() *big.Rat {
	if h.held.IsZero() {
		return new(big.Rat)
	}
	return new(big.Rat).Quo(h.cost, h.held.Rat())
}

// shows reports whether a number that is shown is an exact one, to the last digit that is
// shown, at most the fifteenth: fewer than eight decimals must be all of it.
func shows(shown decimal.Decimal, exact *big.Rat) bool {
	apart := new(big.Rat).Sub(shown.Rat(), exact)
	if apart.Sign() == 0 {
		return true
	}
	digits := min(15, -shown.Exponent())
	if digits < 8 {
		return false
	}
	apart.Abs(apart)
	return apart.Cmp(new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil))) <= 0
}

// position is a position as get_positions lists it.
type position struct {
	Symbol   string                     `json:"symbol"`
	Side     string                     `json:"side"`
	Quantity decimal.Decimal            `json:"quantity"`
	Entry    json.Number                `json:"entry_price"`
	Price    *decimal.Decimal           `json:"current_price"`
	Realised decimal.Decimal            `json:"realized_pnl"`
	Fees     map[string]decimal.Decimal `json:"fees_by_asset"`
	Guarded  decimal.Decimal            `json:"protected_quantity"`
	Plan     *[]planned                 `json:"plan"` // nil where the program knows no plans
}

// planned is a line as the program says it.
type planned struct {
	ID       string           `json:"line_id"`
	Quantity decimal.Decimal  `json:"quantity"`
	Stop     *decimal.Decimal `json:"stop_loss"`
	Trail    *decimal.Decimal `json:"trail_percent"`
	Target   *decimal.Decimal `json:"take_profit"`
}

// line returns the line of the model.
func (p planned) line() line {
	l := line{id: p.ID, quantity: p.Quantity}
	for _, field := range []struct {
		from *decimal.Decimal
		to   *decimal.Decimal
	}{{p.Stop, &l.stop}, {p.Trail, &l.trail}, {p.Target, &l.target}} {
		if field.from != nil {
			*field.to = *field.from
		}
	}
	return l
}

// differs returns how what is held differs from the trades, "" for not at all.
func (h *holding) differs(p *position) string {
	if !p.Quantity.Equal(h.held) {
		return fmt.Sprintf("quantity %s, the fills come to %s", p.Quantity, h.held)
	}
	for asset, fee := range h.fees {
		if !p.Fees[asset].Equal(fee) {
			return fmt.Sprintf("fees of %s %s, the fills come to %s", p.Fees[asset], asset, fee)
		}
	}
	return ""
}

// strays returns how the figures of a position differ from the trades, "" for not at all. A
// number of JSON has at most the digits of a float.
func (h *holding) strays(p *position) string {
	entry, err := decimal.NewFromString(p.Entry.String())
	average := h.average()
	rounded, _ := average.Float64()
	switch {
	case err != nil:
		return err.Error()
	case !shows(entry, average) && !entry.Equal(decimal.NewFromFloat(rounded)):
		return fmt.Sprintf("entry_price %s, the fills come to %s", entry, average.FloatString(20))
	case !shows(p.Realised, h.realised):
		return fmt.Sprintf("realized_pnl %s, the fills come to %s", p.Realised, h.realised.FloatString(24))
	}
	return ""
}
