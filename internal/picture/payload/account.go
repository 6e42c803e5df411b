package payload

import "time"

// Account is what somebody has in a symbol. Amounts are exact decimals in digits.
type Account struct {
	Mode     string    // paper or live
	Position *Position // nil for none
	Orders   []Order   // that are open, nearest to the price first
	Fills    []Fill    // within the bars, newest first
}

// Position is what is held.
type Position struct {
	Side, Quantity, Entry string
	Unrealized            string // "" when no price is known
}

// Order is an order that is open.
type Order struct {
	ID, Side, Type, Quantity, Filled string
	Price                            string // "" for a market order
}

// Fill is one trade.
type Fill struct {
	Side, Quantity, Price string
	At                    time.Time
}

// How many are listed.
const (
	mostOrders = 12
	mostFills  = 12
)

// account writes what there is. Who has nothing in the symbol gets nothing.
func (e *encoder) account(a *Account) {
	if a.Position == nil && len(a.Orders) == 0 && len(a.Fills) == 0 {
		return
	}
	e.text("mode", a.Mode)
	if p := a.Position; p != nil {
		e.key("position")
		e.open('{')
		e.text("side", p.Side)
		e.digits("quantity", p.Quantity)
		e.digits("entry_price", p.Entry)
		e.digits("unrealized_pnl", p.Unrealized)
		e.close('}')
	}
	e.orders(a.Orders)
	e.fills(a.Fills)
}

func (e *encoder) orders(all []Order) {
	if len(all) == 0 {
		return
	}
	e.key("open_orders")
	e.open('[')
	for _, o := range all[:min(len(all), mostOrders)] {
		e.open('{')
		e.text("order_id", o.ID)
		e.text("side", o.Side)
		e.text("type", o.Type)
		e.digits("quantity", o.Quantity)
		e.digits("price", o.Price)
		e.digits("filled_quantity", o.Filled)
		e.close('}')
	}
	e.close(']')
	if len(all) > mostOrders {
		e.int("open_orders_count", int64(len(all)))
	}
}

func (e *encoder) fills(all []Fill) {
	if len(all) == 0 {
		return
	}
	e.key("fills")
	e.open('[')
	for _, f := range all[:min(len(all), mostFills)] {
		e.open('{')
		e.text("date", f.At.UTC().Format(time.RFC3339))
		e.text("side", f.Side)
		e.digits("quantity", f.Quantity)
		e.digits("price", f.Price)
		e.close('}')
	}
	e.close(']')
	if len(all) > mostFills {
		e.int("fills_count", int64(len(all)))
	}
}

// digits writes a number to its last digit, and nothing for "".
func (e *encoder) digits(name, value string) {
	if value != "" {
		e.key(name)
		e.b = append(e.b, value...)
	}
}
