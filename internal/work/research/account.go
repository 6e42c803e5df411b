package research

import (
	"fmt"

	"candela/lib/backtest"
	"candela/lib/backtest/simulate"
)

// Account describes a simulated account.
type Account struct {
	Capital   float64
	Percent   float64 // of the equity for a position
	Quantity  float64 // for a position, in place of Percent; 0 for none
	Fee, Slip float64 // basis points
	Fills     string  // the fill model
	Leverage  float64 // of a perpetual future with the paper account; 1 without
	Chosen    Chosen

	perp *simulate.Perp // nil but for such a future
}

// Chosen says which settings the call gives itself. Those of a script give way to them.
type Chosen struct{ Capital, Percent, Quantity, Fee, Slip bool }

// text writes the account for the id of a run.
func (a *Account) text() string {
	leverage := ""
	if a.perp != nil {
		leverage = fmt.Sprintf(" leverage:%v funding:%v", a.Leverage, a.perp.Funding)
	}
	return fmt.Sprintf("{capital:%v percent:%v quantity:%v fee:%v slip:%v fills:%v chosen:%v%s}", a.Capital, a.Percent, a.Quantity, a.Fee, a.Slip, a.Fills, a.Chosen, leverage)
}

// The fill models: TradingView's rules, and those of the paper account.
const (
	FillsPine  = "pine"
	FillsPaper = "paper"
)

// marginLeft is the part of a position's value, in percent, below which equity is too low to
// hold a position of the whole equity.
const marginLeft = 50

// paperCosts returns what the paper account takes, nil for another fill model.
func (a *Account) paperCosts() *backtest.PaperCosts {
	if a.Fills != FillsPaper {
		return nil
	}
	return &backtest.PaperCosts{Commission: a.Fee / 100, Slippage: a.Slip / 100, Perp: a.perp}
}

// adjust puts what the call gives in the place of what a script declares.
func (a *Account) adjust(c *simulate.Config) {
	if a.Chosen.Capital {
		c.Capital = a.Capital
	}
	if a.Chosen.Percent {
		c.Sizing, c.Size = simulate.PercentOfEquity, a.Percent
	}
	if a.Chosen.Quantity {
		c.Sizing, c.Size = simulate.Fixed, a.Quantity
	}
	if a.Chosen.Fee {
		c.Charge, c.Commission = simulate.Percent, a.Fee/100
	}
	if a.Chosen.Slip {
		c.Slippage, c.SlipPercent = 0, a.Slip/100
	}
}

func (a *Account) config(tick float64) simulate.Config {
	c := simulate.Config{
		Capital: a.Capital, Tick: tick, Step: 1e-8, PointValue: 1, Sizing: simulate.PercentOfEquity, Size: a.Percent,
		Charge: simulate.Percent, Commission: a.Fee / 100, SlipPercent: a.Slip / 100,
	}
	// A position is sized before its price is known. The margin leaves room for what the
	// price moves until then: without it, the excess of a whole equity would be sold at once.
	c.MarginLong = marginLeft / max(1, a.Percent/100)
	c.MarginShort = c.MarginLong
	if a.Fills == FillsPaper {
		c.Paper, c.MarginLong, c.MarginShort, c.Perp = true, 0, 0, a.perp
	}
	if a.Quantity > 0 {
		c.Sizing, c.Size = simulate.Fixed, a.Quantity
	}
	return c
}
