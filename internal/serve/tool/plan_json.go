package tool

import "candela/internal/trading/order"

// lineJSON is the protection of a part of a position: a line of its plan.
type lineJSON struct {
	LineID        string `json:"line_id"`
	Quantity      string `json:"quantity"`
	StopLoss      string `json:"stop_loss,omitempty"`
	StopLossLimit string `json:"stop_loss_limit,omitempty"`
	TrailPercent  string `json:"trail_percent,omitempty"`
	TakeProfit    string `json:"take_profit,omitempty"`
}

func toPlanJSON(lines []order.Line) []lineJSON {
	all := make([]lineJSON, 0, len(lines))
	for _, l := range lines {
		p := l.Protect
		all = append(all, lineJSON{
			LineID: l.ID, Quantity: l.Quantity.String(), StopLoss: exact(p.StopLoss), StopLossLimit: exact(p.StopLossLimit),
			TrailPercent: exact(p.TrailPercent), TakeProfit: exact(p.TakeProfit),
		})
	}
	return all
}
