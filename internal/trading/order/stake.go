package order

import "github.com/shopspring/decimal"

// Stake is the margin behind an order or a position in a perpetual future, and where the position is liquidated.
type Stake struct {
	Margin      decimal.Decimal `json:"margin"`
	Leverage    decimal.Decimal `json:"leverage"`
	Liquidation decimal.Decimal `json:"liquidation,omitzero"` // zero if no price liquidates the position
	Distance    decimal.Decimal `json:"distance,omitzero"`    // of the liquidation in percent, from the price at the time; zero if unknown
}

// Stake returns what an order in a perpetual future sets aside, nil for one that sets nothing aside.
func (e Estimate) Stake() *Stake {
	if !e.Margin.IsPositive() {
		return nil
	}
	return &Stake{Margin: e.Margin, Leverage: e.Leverage, Liquidation: e.Liquidation, Distance: e.LiquidationDistance}
}

// Stake returns what stands behind a position in a perpetual future, nil where there is no margin or none is known.
func (m PricedPosition) Stake() *Stake {
	if m.Margin == nil {
		return nil
	}
	at, distance, _ := m.Liquidation()
	return &Stake{Margin: m.Margin.Margin, Leverage: m.Margin.Leverage, Liquidation: at, Distance: distance}
}

// Text says both in a line, with prices and other amounts as the caller writes them.
func (s Stake) Text(price, amount func(decimal.Decimal) string) string {
	return "margin " + amount(s.Margin) + " at " + amount(s.Leverage) + "x, " + s.LiquidationText(price, amount)
}

// LiquidationText says where the position is liquidated and how far away that is.
func (s Stake) LiquidationText(price, amount func(decimal.Decimal) string) string {
	switch {
	case !s.Liquidation.IsPositive():
		return "no price liquidates it"
	case !s.Distance.IsPositive():
		return "liquidation at " + price(s.Liquidation)
	}
	return "liquidation at " + price(s.Liquidation) + ", " + amount(s.Distance) + " % away"
}
