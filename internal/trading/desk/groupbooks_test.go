package desk_test

import (
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// settle lets everything come to an end.
func (d *groupDay) settle() {
	d.story.note("calm")
	d.floor.shove(d.floor.guarded(), decimal.Zero)
	d.floor.shove(d.floor.plain(), decimal.Zero)
	d.floor.clear()
	d.rest()
}

// stops returns how much of a position the working stops at the venue would close.
func (d *groupDay) stops(name string) decimal.Decimal {
	sum, held := decimal.Zero, d.floor.held(name)
	for _, r := range d.floor.orders() {
		if r.Symbol.Name == name && r.IsStop() && int(r.Side.Sign()) == -held.Sign() && (r.Status == order.Accepted || r.Status == order.PartiallyFilled) {
			sum = sum.Add(r.Quantity.Sub(r.Filled))
		}
	}
	return sum
}

// lacks returns how much of a position in which every entry needs a stop has none.
func (d *groupDay) lacks() decimal.Decimal {
	name := d.floor.guarded()
	return d.floor.held(name).Abs().Sub(d.stops(name))
}

// dust returns how much may lack its stop: less than the venue trades of each entry.
func (d *groupDay) dust() decimal.Decimal {
	name := d.floor.guarded()
	unit, sum := d.floor.unit(name), d.floor.unit(name)
	for _, line := range d.book().Lines(d.symbol(name)) {
		if line.Quantity.LessThan(unit) {
			sum = sum.Add(line.Quantity)
		} else {
			sum = sum.Add(line.Quantity.Mod(dec("1"))) // off the venue's step
		}
	}
	return decimal.Min(sum, unit.Mul(decimal.NewFromInt(int64(1+len(d.book().Lines(d.symbol(name)))))))
}

// restricted reports whether a restriction says that a position lacks its stop.
func (d *groupDay) restricted(name string) bool {
	for _, r := range d.Status().State.Restrictions {
		if r.Kind == guard.Unprotected && r.Subject == d.symbol(name).String() {
			return true
		}
	}
	return false
}

// watch holds that a position does not lack its stop for long without a restriction. The venue
// may be away for two minutes, and what no event reports is found within one.
func (d *groupDay) watch() {
	d.t.Helper()
	switch now := d.floor.now(); {
	case d.lacks().LessThan(d.floor.unit(d.floor.guarded())), d.restricted(d.floor.guarded()):
		d.bare = time.Time{}
	case d.bare.IsZero():
		d.bare = now
	case now.Sub(d.bare) > 6*time.Minute && d.lacks().GreaterThanOrEqual(d.dust()):
		d.t.Errorf("%v of %s has no stop since %s, and the restrictions are %s", d.lacks(), d.floor.guarded(), d.bare.Format("15:04:05"), d.causes())
		d.bare = now
	}
}

// compare holds the books against the venue's when all is calm.
func (d *groupDay) compare() {
	d.t.Helper()
	s := d.Status()
	for _, r := range s.State.Restrictions {
		if r.Kind != guard.Unprotected {
			d.t.Errorf("trading is restricted: %+v", r)
			d.explain(r.Reason)
		}
	}
	if s.Uncertain != 0 || !s.Connected {
		d.t.Errorf("the desk is %+v", s)
	}
	all := d.book().Orders()
	d.equalOrders(all)
	d.equalTrades(all)
	d.equalStore(d.all())
	for _, name := range []string{d.floor.guarded(), d.floor.plain()} {
		held, stops := d.floor.held(name), d.stops(name)
		// A venue that sizes a stop before its fee takes the fee from elsewhere.
		if p := d.book().Position(d.symbol(name)); !p.Quantity.Sub(p.Fees[base(name)]).Add(p.FeesInBase).Equal(held) {
			d.t.Errorf("%s of %s is held here, %s at the venue", p.Quantity, name, held)
		}
		// A venue may size a stop before its fee.
		if over := stops.Sub(held.Abs()); over.GreaterThan(held.Abs().Mul(dec("0.002"))) {
			d.t.Errorf("stops close %s of %s, and %s is held", stops, name, held)
		}
		if bare := held.Abs().Sub(stops); d.restricted(name) && bare.LessThan(d.floor.unit(name)) {
			d.t.Errorf("all but %s of %s has its stop, and the restrictions are %s", bare, name, d.causes())
		}
	}
	if lacks := d.lacks(); lacks.GreaterThanOrEqual(d.dust()) && !d.restricted(d.floor.guarded()) {
		d.t.Errorf("%s of %s has no stop, and the restrictions are %q", lacks, d.floor.guarded(), d.causes())
		d.explain("")
	}
}

// explain shows the entries that are held or named in a text, with their exits.
func (d *groupDay) explain(text string) {
	d.t.Helper()
	book := d.book()
	for _, name := range []string{d.floor.guarded(), d.floor.plain()} {
		covers, orphans := book.Covers(d.symbol(name), func(l order.Line) order.Protection { return l.Protect }, func(string) bool { return false })
		for _, c := range covers {
			if text != "" && !strings.Contains(text, c.ID) {
				continue
			}
			d.t.Logf("line %s of %s: %v, %+v, has %v, lacks %v, waits %v, fills %v, newest %v %s", c.ID, name, c.Quantity, c.Protect, c.Has, c.Lacks, c.Waits, c.Fills, c.Newest.Status, c.Newest.Reason)
			for _, o := range append(book.Exits(c.ID), c.Legs...) {
				d.t.Logf("  %v %s: %v, %v of %v filled, group %s, cancel %v for %q, %s", o.Role, o.ID, o.Status, o.Filled, o.Quantity, o.Group.Name, !o.CancelRequested.IsZero(), o.CancelFor, o.Reason)
				d.record(o.ID)
			}
		}
		for _, o := range orphans {
			d.t.Logf("%v %s of no line: %v", o.Role, o.ID, o.Status)
		}
	}
}

// base is the asset that fees are taken in, where a venue does that.
func base(name string) string { return name[:3] }

// close has the client cancel its entries and sell what it holds. Afterwards nothing is open.
func (d *groupDay) close() {
	d.t.Helper()
	for _, o := range d.open() {
		if o.Role == order.Entry || o.Role == 0 {
			if _, err := d.Cancel(d.t.Context(), caller(), o.ID); err != nil {
				d.t.Errorf("cancel of %s: %v", o.ID, err)
			}
		}
	}
	d.settle()
	d.compare()
	d.reserves()
	for range 5 { // a thin book does not take all at once
		for _, name := range []string{d.floor.guarded(), d.floor.plain()} {
			d.sell(name)
		}
		d.settle()
	}
	d.compare()
	d.reserves()
	for _, o := range d.open() {
		d.t.Errorf("the %v %s is still %v", o.Role, o.ID, o.Status)
	}
	if text := d.causes(); text != "" {
		d.t.Errorf("trading is still restricted: %s", text)
	}
}

// sell closes a position, and releases what holds it.
func (d *groupDay) sell(name string) {
	d.t.Helper()
	held := d.floor.held(name)
	r := order.Request{Symbol: d.symbol(name), Side: order.Sell, Type: order.Market, ReduceOnly: true, Quantity: d.floor.whole(held.Abs())}
	if held.IsNegative() {
		r.Side = order.Buy
	}
	if r.Quantity.LessThan(d.floor.unit(name)) {
		return
	}
	d.story.note("sell all of %s: %v", name, r.Quantity)
	if p, err := d.Place(d.t.Context(), caller(), r); err != nil {
		d.t.Errorf("%s of %s cannot be sold: %v %v", r.Quantity, name, p.Status, err)
	}
}

// reserves holds that open orders hold as much of a position here as at the venue. No entry is
// open.
func (d *groupDay) reserves() {
	d.t.Helper()
	book := d.book()
	for _, name := range []string{d.floor.guarded(), d.floor.plain()} {
		s := d.symbol(name)
		facts := guard.Gather(d.policy, book, guard.Prices{Now: d.floor.now()}, s, order.Paper)
		ours := facts.OpenSell
		if d.floor.held(name).IsNegative() {
			ours = facts.OpenBuy
		}
		if theirs := d.floor.reserved(name); !theirs.Equal(ours) {
			d.t.Errorf("orders hold %s of %s here, %s at the venue", ours, name, theirs)
		}
	}
}
