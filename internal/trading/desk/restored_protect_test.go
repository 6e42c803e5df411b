package desk_test

import (
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// TestRestore_ARepeatKeepsItsProtection buys with a key and a stop after the backup, as a price or as a distance, and repeats that
// after the restore. Nothing is bought again. What was bought has its stop, or the repeat says that it has none: a stop that candela
// held is at no venue.
func TestRestore_ARepeatKeepsItsProtection(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		known    bool // the records know the symbol
		distance bool
	}{
		"a price, the symbol is new": {}, "a distance, the symbol is new": {distance: true},
		"a price, the symbol is known": {known: true}, "a distance, the symbol is known": {known: true, distance: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atFakes(t, func(t *testing.T, d *day, buy order.Request) {
				t.Helper()
				d.stop()
				d.policy.HeldStops = guard.HeldAllow
				d.start()
				time.Sleep(5 * time.Second)
				if c.known {
					d.mustPlace(buy)
					out := buy
					out.Side = order.Sell
					d.mustPlace(out)
				}
				restore := d.backUp()
				q, _ := d.floor.LastQuote(market.Symbol{Venue: d.floor.name(), Name: buy.Symbol.Name})
				if buy.Key = "k2"; c.distance {
					buy.Sizing.StopLossPct = dec("5")
				} else {
					buy.Protect.StopLoss = q.Last.Mul(dec("0.95")).Round(2)
				}
				d.mustPlace(buy)
				time.Sleep(time.Minute)
				before := d.floor.orders()
				restore()
				time.Sleep(30 * time.Second)
				d.resume()
				p, err := d.Place(t.Context(), caller(), buy)
				time.Sleep(time.Minute)
				if n := len(d.floor.orders()); n < len(before) || !d.bare().IsPositive() && n != len(before) {
					t.Errorf("the venue had %d orders, now %d", len(before), n)
				}
				said := fault.Of(err) != nil && fault.Of(err).Code == "restored_without_stop"
				if t.Logf("the repeat is %v with %+v: %v; %v has no stop", p.Status, p.Protect, err, d.bare()); d.bare().IsPositive() && !said {
					t.Error("the repeat does not say that there is no stop")
				}
				if said && !d.bare().IsPositive() {
					t.Error("the repeat says that there is no stop, but there is one")
				}
				if !said && (err != nil || p.Status != order.Filled) {
					t.Errorf("the repeat is %+v, %v", p.Order, err)
				}
			})
		})
	}
}

// bare returns what is held without a stop.
func (d *day) bare() (sum decimal.Decimal) {
	d.t.Helper()
	held, err := d.Positions(d.t.Context(), caller())
	if err != nil {
		d.t.Fatal(err)
	}
	open, err := d.Orders(d.t.Context(), caller(), true)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, one := range held {
		sum = sum.Add(order.WithoutStop(one.Quantity, open))
	}
	return sum
}
