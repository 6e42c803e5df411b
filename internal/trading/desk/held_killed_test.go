package desk_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/fake"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// TestHeld_KilledAtTheVenues kills the desk at both fakes while it holds a stop: before the price
// passes it, and when its trigger is persisted and the venue has not got the order. In the end what
// was bought is sold once, or is held with its stop where the price came back.
func TestHeld_KilledAtTheVenues(t *testing.T) {
	t.Parallel()
	for name, v := range heldVenues() {
		for _, row := range []string{"the price passes while down", "trigger persisted, not sent", "trigger persisted, not sent, and the price came back"} {
			t.Run(name+", "+row, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { v.killed(t, row) })
			})
		}
	}
}

func (v heldAt) killed(t *testing.T, row string) {
	t.Helper()
	network := fake.NewNetwork()
	f, shut := v.open(network)
	t.Cleanup(shut)
	d := openDay(t, 1, network, f)
	d.policy.HeldStops = guard.HeldAllow
	d.start()
	v.pin(f, v.from)
	time.Sleep(5 * time.Second)
	p, err := d.Place(t.Context(), caller(), order.Request{
		Symbol: market.Symbol{Name: v.symbol}, Side: order.Buy, Type: order.Market, Quantity: dec(v.quantity), Protect: v.protect,
	})
	if err != nil || p.Holder != order.HolderCandela {
		t.Fatalf("placed %+v, %v", p, err)
	}
	time.Sleep(time.Minute)
	back := row == "trigger persisted, not sent, and the price came back"
	if row == "the price passes while down" {
		d.kill()
		v.pin(f, v.to)
	} else {
		f.next(v.faults["hang"])
		v.pin(f, v.to)
		for began := time.Now(); !d.fired(); time.Sleep(100 * time.Millisecond) {
			if time.Since(began) > time.Minute {
				t.Fatal("nothing was triggered")
			}
		}
		d.kill()
		f.clear()
		if v.pin(f, v.to); back {
			v.pin(f, v.from)
		}
	}
	d.start()
	time.Sleep(5 * time.Minute)
	v.judgeKilled(t, d, d.get(p.ID), back)
}

// fired reports whether candela has sent an order that it held.
func (d *day) fired() bool {
	return slices.ContainsFunc(d.book().Orders(), func(o order.Order) bool { return o.Fired })
}

// judgeKilled holds that what the entry brought was sold once, or has its stop.
func (v heldAt) judgeKilled(t *testing.T, d *day, entry order.Order, back bool) {
	t.Helper()
	var sold, guarded decimal.Decimal
	sales := 0
	for _, r := range d.floor.orders() {
		if r.Side == order.Sell {
			sold = sold.Add(r.Filled)
			sales++
		}
	}
	for _, o := range d.book().Open() {
		if o.Local() && o.Status == order.Held && o.IsStop() {
			guarded = guarded.Add(o.Remaining())
		}
	}
	least := entry.Filled.Mul(dec("0.99")) // the fee may be taken from what was bought
	switch {
	case back && (sales != 0 || guarded.LessThan(least)):
		t.Errorf("%d sales of %v, and stops over %v are held for %v", sales, sold, guarded, entry.Filled)
	case !back && (sales != 1 || sold.LessThan(least) || sold.GreaterThan(entry.Filled) || !guarded.IsZero()):
		t.Errorf("%d sales of %v of %v, and stops over %v are held", sales, sold, entry.Filled, guarded)
	}
}
