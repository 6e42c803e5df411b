package console

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
	"candela/lib/market"
)

// positions is the panel of what is held.
type positions struct {
	Rows       []positionRow
	Value      decimal.Decimal // of all that have a price
	Unrealized decimal.Decimal
}

// positionRow is a position as tables show it.
type positionRow struct {
	Full       market.Symbol
	Symbol     string // without its venue
	Held       decimal.Decimal
	Average    decimal.Decimal
	Last       decimal.Decimal // zero if unknown
	Stale      bool
	Value      decimal.Decimal
	Unrealized decimal.Decimal
	Percent    decimal.Decimal
	Plan       []order.Line    // what should protect it
	Unguarded  decimal.Decimal // without a stop
	Day        *spark          // the last 24 hours; nil if they are unknown
	Stake      *stakeRow       // nil without a margin
	Opened     time.Time       // zero if unknown
}

// positions reads the open positions with their prices.
func (c *Console) positions(v *visit) (positions, error) {
	var all positions
	held, err := c.cfg.Account.Positions(v.ctx(), v.caller())
	for _, p := range held {
		row := newPositionRow(p)
		row.Stale = p.Quote.Stalled(v.now)
		all.Rows = append(all.Rows, row)
		all.Value, all.Unrealized = all.Value.Add(row.Value), all.Unrealized.Add(row.Unrealized)
	}
	return all, err
}

func newPositionRow(p order.PricedPosition) positionRow {
	row := positionRow{Full: p.Symbol, Symbol: p.Symbol.Name, Held: p.Quantity, Last: p.Quote.Last, Opened: p.Opened}
	row.Average, _ = p.Average()
	row.Stake = newStakeRow(p)
	row.Plan = slices.DeleteFunc(slices.Clone(p.Plan), func(l order.Line) bool { return !l.Quantity.IsPositive() })
	row.Unguarded = decimal.Max(decimal.Zero, row.Held.Abs().Sub(p.Protected))
	if row.Last.IsPositive() {
		row.Value, row.Unrealized = row.Held.Abs().Mul(row.Last), p.Unrealised(row.Last)
		if cost := p.Cost.Abs(); cost.IsPositive() {
			row.Percent = row.Unrealized.Mul(decimal.NewFromInt(100)).DivRound(cost, 4)
		}
	}
	return row
}

// prices returns the last price of each symbol that is held.
func (p positions) prices() map[market.Symbol]decimal.Decimal {
	all := map[market.Symbol]decimal.Decimal{}
	for _, row := range p.Rows {
		all[row.Full] = row.Last
	}
	return all
}
