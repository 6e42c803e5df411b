package payload

import "time"

// Account is the caller's account in one symbol. Amounts are decimal strings.
type Account struct {
	Mode     string    // paper or live
	Position *Position // nil for none
	Orders   []Order   // open orders, nearest to the price first
	Fills    []Fill    // within the bars, newest first
}

// Position is an open position.
type Position struct {
	Side, Quantity, Entry string
	Unrealized            string // "" when no price is known
}

// Order is an open order.
type Order struct {
	ID, Side, Type, Quantity, Filled string

	Role  string // "" for an order on its own
	Price string // "" for a market order
	Stop  string // the price that triggers it, "" where it waits for none
}

// Fill is one execution.
type Fill struct {
	Side, Quantity, Price string
	At                    time.Time
}

// Limits of the lists.
const (
	maxOrders = 12
	maxFills  = 12
)

// account writes the account, or nothing if it is empty.
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
	listFirst(e, "open_orders", a.Orders, maxOrders, func(o Order) {
		e.text("order_id", o.ID)
		if o.Role != "" {
			e.text("role", o.Role)
		}
		e.text("side", o.Side)
		e.text("type", o.Type)
		e.digits("quantity", o.Quantity)
		e.digits("price", o.Price)
		e.digits("stop_price", o.Stop)
		e.digits("filled_quantity", o.Filled)
	})
	listFirst(e, "fills", a.Fills, maxFills, func(f Fill) {
		e.text("date", f.At.UTC().Format(time.RFC3339))
		e.text("side", f.Side)
		e.digits("quantity", f.Quantity)
		e.digits("price", f.Price)
	})
}

// digits writes a decimal string as a number, and nothing for "".
func (e *encoder) digits(name, value string) {
	if value != "" {
		e.key(name)
		e.b = append(e.b, value...)
	}
}
