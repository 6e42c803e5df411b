package desk_test

import (
	"errors"
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/shopspring/decimal"

	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// known returns the orders that the venue should have.
func (d *day) known(all []order.Order) []order.Order {
	d.t.Helper()
	return slices.DeleteFunc(slices.Clone(all), func(o order.Order) bool {
		_, gone := d.gone[o.ID]
		gone = gone || o.External && o.Created.Before(d.wiped)
		if gone && (!o.Status.Final() || o.NeedsQuery()) {
			d.t.Errorf("order %s is %v, and the venue has forgotten it", o.ID, o.Status)
		}
		return gone
	})
}

// equal holds what the desk knows against what the venue does.
func (d *day) equal() {
	d.t.Helper()
	all, err := d.Orders(d.t.Context(), caller(), false)
	if err != nil {
		d.t.Fatal(err)
	}
	if s := d.Status(); s.State.Level() != guard.Active || s.Uncertain != 0 || !s.Connected {
		d.t.Errorf("the desk is %+v", s)
	}
	d.equalOrders(d.known(all))
	d.equalTrades(d.known(all))
	d.equalStore(all)
}

// equalOrders wants each order once at the venue, in the same state, and those that
// are not there to have ended with nothing. What was placed elsewhere may be known
// by its trades alone.
func (d *day) equalOrders(all []order.Order) {
	d.t.Helper()
	ours, theirs := make(map[string]order.Order), make(map[string]decimal.Decimal)
	named := make(map[string]string) // the IDs of ours by those of the venue
	for _, o := range all {
		name := o.Symbol.Name + " " + o.VenueID
		if o.External {
			theirs[name] = theirs[name].Add(o.Filled)
			continue
		}
		ours[o.ID], named[name] = o, o.ID
	}
	for _, r := range d.floor.orders() {
		name := r.Symbol.Name + " " + r.VenueID
		have, known := ours[r.ID]
		if !known { // a leg has an ID of the venue's
			have, known = ours[named[name]]
		}
		switch {
		case isForeign(r.ID):
			if !theirs[name].Equal(r.Filled) {
				d.t.Errorf("of the order %+v from elsewhere %s is known", r, theirs[name])
			}
			delete(theirs, name)
		case !known:
			d.t.Errorf("the desk does not know %+v, or it is there twice", r)
		case have.Status != r.Status || !have.Filled.Equal(r.Filled) || have.Doubtful() || have.MissingFills():
			d.t.Errorf("order %s is %v with %s here, and %v with %s at the venue (%s)", have.ID, have.Status, have.Filled, r.Status, r.Filled, have.Doubt)
			d.record(have.ID)
		case !r.Status.Final() && r.Quantity.IsPositive() && !r.Quantity.Equal(have.Quantity):
			d.t.Errorf("order %s is over %s here, and over %s at the venue", have.ID, have.Quantity, r.Quantity)
			d.record(have.ID)
		}
		delete(ours, have.ID)
	}
	for _, o := range ours {
		if !o.Status.Final() || !o.Filled.IsZero() {
			d.t.Errorf("order %s is %v with %s, and the venue never took it", o.ID, o.Status, o.Filled)
			d.record(o.ID)
		}
	}
	for name, filled := range theirs {
		if !filled.IsZero() {
			d.t.Errorf("the venue has no order %s from elsewhere with %s", name, filled)
		}
	}
}

// record records the outcome of an order.
func (d *day) record(id string) {
	d.t.Helper()
	for e, err := range d.store.OrderEvents(d.t.Context(), owner) {
		if err == nil && e.OrderID == id {
			d.t.Logf("  %s %v %s (%s) %v", e.At.Format("15:04:05.000"), e.Kind, e.Reason, e.VenueID, e.Fill)
		}
	}
}

// equalTrades wants each trade once, with its fee, positions that follow from them,
// and an account that follows from the positions.
func (d *day) equalTrades(all []order.Order) {
	d.t.Helper()
	known := make(map[string]order.Fill)
	for _, o := range all {
		for _, f := range o.Fills {
			if _, twice := known[f.Key()]; twice {
				d.t.Errorf("trade %s counts twice", f.Key())
			}
			known[f.Key()] = f
		}
	}
	held, cash := map[market.Symbol]decimal.Decimal{}, map[market.Symbol]decimal.Decimal{}
	trades := d.floor.fills()
	for _, tr := range trades {
		f, ok := known[tr.Key()]
		if !ok || !f.Quantity.Equal(tr.Quantity) || !f.Price.Equal(tr.Price) || !f.Fee.Equal(tr.Fee) || f.FeeAsset != tr.FeeAsset {
			d.t.Errorf("trade %+v is known as %+v", tr, f)
		}
		if f.FeeAsset != "" && f.Base != tr.Symbol.Name[:3] {
			d.t.Errorf("trade %+v is stored without the asset that is traded", f)
		}
		signed := tr.Quantity.Mul(decimal.NewFromInt(tr.Side.Sign()))
		held[tr.Symbol], cash[tr.Symbol] = held[tr.Symbol].Add(signed), cash[tr.Symbol].Sub(signed.Mul(tr.Price))
	}
	if len(known) != len(trades) {
		d.t.Errorf("%d trades are known, the venue has %d", len(known), len(trades))
	}
	book := d.book()
	for s, quantity := range held {
		p := book.Position(s)
		q, _ := d.floor.LastQuote(s)
		if !p.Quantity.Add(p.FeesInBase).Equal(quantity) || d.wiped.IsZero() && !p.Cash().Equal(cash[s]) || !p.Realised.Add(p.Unrealised(q.Last)).Sub(p.FeesWorth).Equal(p.Cash().Add(p.Quantity.Mul(q.Last))) {
			d.t.Errorf("%s: %s held and %s of cash here, %s and %s at the venue", s, p.Quantity, p.Cash(), quantity, cash[s])
		}
	}
	if text := d.floor.unlike(book.Positions()); text != "" && (d.wiped.IsZero() || d.floor.assets()) {
		d.t.Error(text)
	}
}

// book is what the events in the store make.
func (d *day) book() *order.Book {
	d.t.Helper()
	b := order.NewBook(owner)
	for e, err := range d.store.OrderEvents(d.t.Context(), owner) {
		if err = errors.Join(err, b.Apply(e)); err != nil {
			d.t.Fatal(err)
		}
	}
	return b
}

// equalStore wants the rows of the store, and its events replayed, to be what the
// desk shows.
func (d *day) equalStore(all []order.Order) {
	d.t.Helper()
	all = slices.Clone(all)
	for i, o := range all {
		stored, err := d.store.Order(d.t.Context(), owner, o.ID)
		if err != nil {
			d.t.Fatal(err)
		}
		if o.TrailPercent.IsPositive() { // it is shown as it is at the moment
			o.StopPrice = stored.StopPrice
			all[i] = o
		}
		if diff := cmp.Diff(o, stored, cmpopts.EquateEmpty()); diff != "" {
			d.t.Errorf("the store has another order:\n%s", diff)
		}
	}
	if diff := cmp.Diff(all, d.book().Newest(len(all)), cmpopts.EquateEmpty()); diff != "" {
		d.t.Errorf("replay differs:\n%s", diff)
	}
}
