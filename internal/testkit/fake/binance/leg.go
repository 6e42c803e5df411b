package binance

import (
	"slices"
	"strconv"
)

// part names the parameters of one order of a request. Orders of a list have a prefix,
// and may share side and quantity.
type part struct{ kind, side, price, quantity, stop, trail, force, id string }

// single names the parameters of a request for one order.
func single() part {
	return part{"type", "side", "price", "quantity", "stopPrice", "trailingDelta", "timeInForce", "newClientOrderId"}
}

// prefixed names the parameters of one order of a list.
func prefixed(prefix, side, quantity string) part {
	return part{
		prefix + "Type", side, prefix + "Price", quantity, prefix + "StopPrice", prefix + "TrailingDelta", prefix + "TimeInForce",
		prefix + "ClientOrderId",
	}
}

// names returns the parameters, without those that are not there.
func (p part) names() []string {
	all := []string{p.kind, p.side, p.price, p.stop, p.trail, p.force, p.id}
	if p.quantity != "" {
		all = append(all, p.quantity)
	}
	return all
}

// one refuses a parameter that a type of order does not have, or lacks.
func (c call) one(name string, wanted bool) *refusal {
	switch has := c.params.Get(name) != ""; {
	case has && !wanted:
		return &refusal{400, -1106, "Parameter '" + name + "' sent when not required."}
	case !has && wanted:
		return missing(name)
	}
	return nil
}

// read reads one order of a request. The quantity of one without a parameter for it
// comes from the venue.
func (c call) read(p part) (*Order, *refusal) {
	o := &Order{Side: c.params.Get(p.side), Type: c.params.Get(p.kind), TimeInForce: timeInForceOpen, unsized: p.quantity == ""}
	var no *refusal
	if o.Symbol, no = c.symbol(); no != nil {
		return nil, no
	}
	if no = c.readKind(o, p); no != nil {
		return nil, no
	}
	if no = c.readPrices(o, p); no != nil {
		return nil, no
	}
	if !o.unsized {
		if o.Quantity, no = c.amount(p.quantity); no != nil {
			return nil, no
		}
		if !o.Quantity.IsPositive() {
			return nil, &refusal{400, -1013, "Invalid quantity."}
		}
	}
	o.ClientID, no = c.clientID(p.id)
	return o, no
}

// readKind checks side, type and time in force.
func (c call) readKind(o *Order, p part) *refusal {
	switch {
	case o.Side == "":
		return missing(p.side)
	case o.Type == "":
		return missing(p.kind)
	case o.Side != sideBuy && o.Side != sideSell:
		return &refusal{400, -1117, "Invalid side."}
	case !slices.Contains(orderTypes(), o.Type):
		return &refusal{400, -1116, "Invalid orderType."}
	}
	if no := c.one(p.force, forced(o.Type)); no != nil || !forced(o.Type) {
		return no
	}
	switch o.TimeInForce = c.params.Get(p.force); o.TimeInForce {
	case timeInForceOpen, timeInForceNow, timeInForceWhole:
		return nil
	}
	return &refusal{400, -1115, "Invalid timeInForce."}
}

// readPrices reads the price, the stop price and the trail, as far as the type has them.
func (c call) readPrices(o *Order, p part) *refusal {
	if no := c.one(p.price, limited(o.Type)); no != nil {
		return no
	}
	var no *refusal
	if limited(o.Type) {
		if o.Price, no = c.amount(p.price); no != nil {
			return no
		}
	}
	if !contingent(o.Type) {
		if no = c.one(p.stop, false); no == nil {
			no = c.one(p.trail, false)
		}
		return no
	}
	stop, trail := c.params.Get(p.stop), c.params.Get(p.trail)
	if stop == "" && trail == "" {
		return &refusal{400, -1102, "Param '" + p.stop + "' or '" + p.trail + "' must be sent, but both were empty/null!"}
	}
	if stop != "" {
		if o.StopPrice, no = c.amount(p.stop); no != nil {
			return no
		}
	}
	if trail != "" {
		n, err := strconv.ParseInt(trail, 10, 64)
		if err != nil || n < 0 {
			return &refusal{400, -1100, "Illegal characters found in parameter '" + p.trail + "'; legal range is '^[0-9]{1,20}$'."}
		}
		if n == 0 {
			return filtered("TRAILING_DELTA")
		}
		o.TrailingDelta = n
	}
	return nil
}
