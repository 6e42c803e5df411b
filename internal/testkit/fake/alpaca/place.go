package alpaca

import (
	"strings"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
)

// Place takes an order that another program sent, and returns the venue's id, or
// why it was refused.
func (s *Server) Place(o order.Spec) (id, why string) {
	in := ask{Symbol: o.Symbol.Name, Quantity: &o.Quantity, Side: o.Side.String(), Type: o.Type.String(), TimeInForce: "day", ClientOrderID: o.ID}
	if strings.Contains(in.Symbol, "/") {
		in.TimeInForce = "gtc"
	}
	if o.Type == order.Limit {
		in.LimitPrice = &o.Price
	}
	if o.StopPrice.IsPositive() {
		in.StopPrice = &o.StopPrice
		in.Type = map[order.Type]string{order.Market: typeStop, order.Limit: typeStopLimit}[o.Type]
	}
	ids, why := s.place(in)
	if why != "" {
		return "", why
	}
	return ids[0], ""
}

// PlacePair takes a pair of sales of stocks over one quantity, a target and a stop of which
// the venue fills one, as another program would, and returns the venue's ids, or why it was
// refused. The target is the parent; the venue makes up the id of the stop.
func (s *Server) PlacePair(clientID, symbol string, quantity, target, stop decimal.Decimal) (ids [2]string, why string) {
	all, why := s.place(ask{
		Symbol: symbol, Quantity: &quantity, Side: "sell", Type: typeLimit, TimeInForce: "gtc", ClientOrderID: clientID,
		OrderClass: "oco", TakeProfit: &exit{LimitPrice: &target}, StopLoss: &exit{StopPrice: &stop},
	})
	if why != "" {
		return ids, why
	}
	return [2]string(all), ""
}

// place takes an order of the account of KeyID and returns its id and those of its legs, or
// why it was refused.
func (s *Server) place(in ask) (ids []string, why string) {
	d := s.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	d.advance()
	a := d.accounts[KeyID]
	before := len(a.orders)
	if _, bad := d.submit(a, in); bad != nil {
		return nil, bad.message
	}
	for _, t := range a.orders[before:] {
		ids = append(ids, t.id)
	}
	return ids, ""
}
