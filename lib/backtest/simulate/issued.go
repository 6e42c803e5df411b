package simulate

// Issued says what a strategy orders at a close: by an order that fills at the next price, or by a
// stop or limit that has filled in the bar.
type Issued struct{ EntryLong, ExitLong, EntryShort, ExitShort bool }

// Issued returns what the strategy that was computed at the close of the newest bar orders there. It is
// called before Computed.
func (a *Account) Issued() Issued {
	out := a.resting
	for _, o := range a.orders {
		if o.fresh && o.kind != exitOrder && o.market() {
			out.add(o, a.size)
		}
	}
	return out
}

// add notes an order against a position of a size.
func (i *Issued) add(o *order, size float64) {
	against := size*float64(o.side) < 0
	if o.kind == closeOrder || against && (o.kind == plainOrder || o.reverse > 0) {
		i.exits(-o.side)
	}
	switch {
	case o.kind == closeOrder || against && o.kind == plainOrder && o.qty <= size*float64(-o.side):
	case o.side == Long:
		i.EntryLong = true
	default:
		i.EntryShort = true
	}
}

// exits notes that a position of a side is closed, or a part of it.
func (i *Issued) exits(side Side) {
	if side == Long {
		i.ExitLong = true
	} else {
		i.ExitShort = true
	}
}
