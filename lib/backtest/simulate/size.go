package simulate

import "math"

// wanted returns the units that a request asks for, before they are rounded down: those it names, or
// those of the account's default size at the newest price.
func (a *Account) wanted(r Request) float64 {
	if !math.IsNaN(r.Quantity) {
		return r.Quantity
	}
	price := a.price
	unit := price * a.unit
	switch a.cfg.Sizing {
	case Cash:
		return a.cfg.Size / unit
	case PercentOfEquity:
		money := a.Equity() * a.cfg.Size / 100
		switch a.cfg.Charge { // the commission is set aside
		case PerUnit:
			unit += a.cfg.Commission
		case PerOrder:
			money -= a.cfg.Commission
		default:
			unit *= 1 + a.cfg.Commission/100
		}
		return money / unit
	default:
		return a.cfg.Size
	}
}

// cut rounds a quantity down to the step.
func (a *Account) cut(q float64) float64 {
	const slack = 1e-6
	if !(q > 0) {
		return 0
	}
	n := math.Floor(q/a.cfg.Step + slack)
	if a.perStep > 0 {
		return n / a.perStep
	}
	return n * a.cfg.Step
}

// cutSigned rounds a position to the step.
func (a *Account) cutSigned(q float64) float64 {
	n := math.Round(q / a.cfg.Step)
	if a.perStep > 0 {
		return n / a.perStep
	}
	return n * a.cfg.Step
}

// slip moves the price of a market or stop fill against the order.
func (a *Account) slip(side Side, p float64) float64 {
	if a.cfg.SlipPercent > 0 {
		p = a.snap(p*(1+float64(float64(side)*a.cfg.SlipPercent/100)), side, true)
	}
	if a.cfg.Slippage == 0 {
		return p
	}
	return a.round(p + float64(float64(side)*float64(a.cfg.Slippage)*a.cfg.Tick))
}

// commission returns what a fill costs.
func (a *Account) commission(qty, p float64) float64 {
	switch a.cfg.Charge {
	case PerUnit:
		return qty * a.cfg.Commission
	case PerOrder:
		return a.cfg.Commission
	default:
		return float64(qty*float64(p*a.unit)) * a.cfg.Commission / 100
	}
}

// margin returns the ratio of a position's value that equity must cover.
func (a *Account) margin(side Side) float64 {
	if side == Long {
		return a.cfg.MarginLong / 100
	}
	return a.cfg.MarginShort / 100
}

// covered reports whether equity covers the position that an order would lead to. An
// order that only closes is always covered.
func (a *Account) covered(o *order, qty, p float64) bool {
	m := a.margin(o.side)
	after := math.Abs(a.size + float64(qty*float64(o.side)))
	if m == 0 || after <= math.Abs(a.size) && a.size*float64(o.side) < 0 {
		return true
	}
	equity := a.cfg.Capital + a.realized + a.openAt(p)
	return equity-float64(after*p*a.unit*m) >= -1e-9*equity
}

// marginCall sells a part of the position when equity no longer covers it.
func (a *Account) marginCall(p float64) {
	if a.size == 0 {
		return
	}
	side := Long
	if a.size < 0 {
		side = Short
	}
	m := a.margin(side)
	if m == 0 {
		return
	}
	value := math.Abs(a.size) * p * a.unit
	equity := a.cfg.Capital + a.realized + a.openAt(p)
	free := equity - float64(value*m)
	if free >= -1e-9*value {
		return
	}
	cover := a.cut(-free / m / (p * a.unit))
	qty := min(4*cover, math.Abs(a.size))
	if qty <= 0 {
		return
	}
	a.requests.Calls++
	a.reduce(-side, qty, p, "", "Margin call", "Margin call")
	a.after(&order{kind: closeOrder, side: -side}, qty)
}
