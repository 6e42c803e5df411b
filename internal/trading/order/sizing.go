package order

import "github.com/shopspring/decimal"

// Sizing is what a client says in place of a quantity and of prices, which follow from it when the
// order is judged. It is kept as it was said, so that a repeated key names the same order at
// another price.
type Sizing struct {
	Percent decimal.Decimal `json:"percent,omitzero"` // loss at the stop, of the equity
	Amount  decimal.Decimal `json:"amount,omitzero"`  // the same in the account's currency
	Most    decimal.Decimal `json:"most,omitzero"`    // with one of them: the quantity is at most this; zero for no bound

	Notional decimal.Decimal `json:"notional,omitzero"` // worth of the order in the quote currency
	All      bool            `json:"all,omitempty"`     // all that is held

	StopLossPct   decimal.Decimal `json:"stop_loss_pct,omitzero"`   // distance of the stop from From
	TakeProfitPct decimal.Decimal `json:"take_profit_pct,omitzero"` // distance of the target from From

	Price decimal.Decimal `json:"price,omitzero"` // found: at which Notional became the quantity
	From  decimal.Decimal `json:"from,omitzero"`  // found: from which the distances count
}

// IsZero reports whether nothing is said.
func (s Sizing) IsZero() bool { return !s.SetsQuantity() && !s.SetsPrices() }

// SetsQuantity reports whether the quantity follows from it.
func (s Sizing) SetsQuantity() bool { return s.Risks() || s.All || !s.Notional.IsZero() }

// SetsPrices reports whether a stop or a target follows from it.
func (s Sizing) SetsPrices() bool { return !s.StopLossPct.IsZero() || !s.TakeProfitPct.IsZero() }

// Risks reports whether the quantity follows from what may be lost.
func (s Sizing) Risks() bool { return !s.Percent.IsZero() || !s.Amount.IsZero() }

// Equal reports whether the same was said, whatever followed from it.
func (s Sizing) Equal(other Sizing) bool {
	return s.Percent.Equal(other.Percent) && s.Amount.Equal(other.Amount) && s.Most.Equal(other.Most) && s.Notional.Equal(other.Notional) &&
		s.All == other.All && s.StopLossPct.Equal(other.StopLossPct) && s.TakeProfitPct.Equal(other.TakeProfitPct)
}

// Unsized is the quantity with which an order is recorded that was denied before its quantity followed from its
// sizing: no rule denies so little.
func Unsized() decimal.Decimal { return decimal.New(1, -8) }

// KnownQuantity returns the quantity of an order, zero if it was denied before there was one.
func (o Order) KnownQuantity() decimal.Decimal {
	if o.Status == Denied && o.Sizing.SetsQuantity() && o.Quantity.Equal(Unsized()) {
		return decimal.Zero
	}
	return o.Quantity
}

// HasStop reports whether a loss is bounded, by a price or by a distance.
func (r Request) HasStop() bool { return r.Protect.HasStop() || r.Sizing.StopLossPct.IsPositive() }

// Protects reports whether it asks for a stop or a target, by a price or by a distance.
func (r Request) Protects() bool { return !r.Protect.IsZero() || r.Sizing.SetsPrices() }

// Terms returns what was asked for, without what followed from a Sizing.
func (r Request) Terms() Terms {
	if r.Sizing.SetsQuantity() {
		r.Quantity = decimal.Zero
	}
	if !r.Sizing.StopLossPct.IsZero() {
		r.Protect.StopLoss = decimal.Zero
	}
	if !r.Sizing.TakeProfitPct.IsZero() {
		r.Protect.TakeProfit = decimal.Zero
	}
	return r.Spec("", "").Terms()
}

// Sized says what followed from a Sizing, as clients see it.
type Sized struct {
	AskedNotional decimal.Decimal `json:"asked_notional,omitzero"`
	Price         decimal.Decimal `json:"price,omitzero"` // at which the notional became the quantity
	Quantity      decimal.Decimal `json:"quantity,omitzero"`
	Notional      decimal.Decimal `json:"notional,omitzero"` // of the quantity at that price
	Left          decimal.Decimal `json:"left,omitzero"`     // of the notional

	From          decimal.Decimal `json:"from,omitzero"` // price from which the distances count
	StopLossPct   decimal.Decimal `json:"stop_loss_pct,omitzero"`
	StopLoss      decimal.Decimal `json:"stop_loss,omitzero"`
	TakeProfitPct decimal.Decimal `json:"take_profit_pct,omitzero"`
	TakeProfit    decimal.Decimal `json:"take_profit,omitzero"`
}

// Sized returns what followed from the sizing of an order, nil if nothing did but a risk, which the estimate
// shows.
func (o Order) Sized() *Sized {
	s := o.Sizing
	var r Sized
	switch {
	case s.Price.IsPositive():
		worth := o.Quantity.Mul(s.Price)
		r = Sized{AskedNotional: s.Notional, Price: s.Price, Quantity: o.Quantity, Notional: worth, Left: s.Notional.Sub(worth)}
	case s.All:
		r.Quantity = o.Quantity
	case !s.From.IsPositive():
		return nil
	}
	r.From, r.StopLossPct, r.TakeProfitPct = s.From, s.StopLossPct, s.TakeProfitPct
	if s.StopLossPct.IsPositive() {
		if r.StopLoss = o.Protect.StopLoss; o.Role == StopLoss {
			r.StopLoss = o.StopPrice
		}
	}
	if s.TakeProfitPct.IsPositive() {
		if r.TakeProfit = o.Protect.TakeProfit; o.Role == TakeProfit {
			r.TakeProfit = o.Price
		}
	}
	return &r
}
