package research

import (
	"math"
	"strconv"

	"candela/lib/backtest"
	"candela/lib/backtest/simulate"
)

// OpenPosition is what a strategy holds at the last close.
type OpenPosition struct {
	Side     string `json:"side"`
	Quantity Exact  `json:"quantity"`
	Average  Exact  `json:"average_price"`
}

// OpenOrder is an order that a strategy has given and that has not filled at the last close. A limit or a stop beside
// it says where it is; without both it is a market order, for the next open.
type OpenOrder struct {
	Kind     string `json:"kind"` // entry, exit or close
	ID       string `json:"id,omitempty"`
	Of       string `json:"of,omitempty"` // the entry that it belongs to
	Side     string `json:"side"`
	Quantity *Exact `json:"quantity,omitempty"`
	Closes   *Exact `json:"closes,omitempty"` // how much of an entry closes what is held against it
	Limit    *Exact `json:"limit,omitempty"`
	Stop     *Exact `json:"stop,omitempty"`
	Trails   bool   `json:"trails,omitempty"` // the stop follows the price
	Waits    bool   `json:"waits_for_entry,omitempty"`

	// Of an exit that waits for its entry: from the price of that.
	LimitApart   *Exact `json:"limit_distance,omitempty"`
	StopApart    *Exact `json:"stop_distance,omitempty"`
	LimitPercent *Exact `json:"limit_pct,omitempty"`
	StopPercent  *Exact `json:"stop_pct,omitempty"`
}

// Exact is a number with all its digits.
type Exact float64

// MarshalJSON implements [json.Marshaler].
func (x Exact) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(x), 'f', -1, 64), nil
}

// given returns a number that is given: neither NaN nor, where zero means none, zero.
func given(x float64, zero bool) *Exact {
	if math.IsNaN(x) || zero && x == 0 {
		return nil
	}
	return new(Exact(x))
}

// openOrders is the number of open orders that are listed.
const openOrders = 10

// addOpen writes what the strategy holds and what it has ordered when the bars end.
func (out *BacktestAnswer) addOpen(run *backtest.Run) {
	var held, cost float64
	for i := range run.Open {
		held, cost = held+run.Open[i].Quantity, cost+float64(run.Open[i].Quantity*run.Open[i].Price)
	}
	if held > 0 {
		digits := math.Pow10(pricePlaces)
		out.OpenPosition = &OpenPosition{Side: run.Open[0].Side.String(), Quantity: Exact(math.Round(held*digits) / digits), Average: Exact(math.Round(cost/held*digits) / digits)}
	}
	out.MoreOrders = max(0, len(run.Stands)-openOrders)
	for _, s := range run.Stands[:min(len(run.Stands), openOrders)] {
		out.OpenOrders = append(out.OpenOrders, openOrder(&s))
	}
}

// pricePlaces are the digits after the point of what is computed of prices and quantities.
const pricePlaces = 8

func openOrder(s *simulate.Standing) OpenOrder {
	side := "sell"
	if s.Side == simulate.Long {
		side = "buy"
	}
	o := OpenOrder{
		Kind: s.Kind.String(), ID: s.ID, Of: s.From, Side: side, Quantity: given(s.Quantity, false), Limit: given(s.Limit, false), Stop: given(s.Stop, false), Trails: s.Trails, Waits: s.Early,
		LimitApart: given(s.Apart.Limit, true), StopApart: given(s.Apart.Stop, true), LimitPercent: given(s.Apart.LimitPercent, true), StopPercent: given(s.Apart.StopPercent, true),
	}
	if s.Kind == simulate.StandingEntry {
		o.Closes = given(s.Closes, true)
	}
	return o
}
