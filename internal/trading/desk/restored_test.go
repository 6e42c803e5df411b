package desk_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/store/ledger"
	"candela/internal/testkit/fake"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// atFakes runs a test with a desk at each fake venue, and a symbol and a quantity there.
func atFakes(t *testing.T, test func(t *testing.T, d *day, buy order.Request)) {
	t.Helper()
	for name, c := range map[string]struct {
		open             func(*fake.Network, uint64) (floor, func())
		symbol, quantity string
	}{
		"binance": {binanceFloor, "BTCUSDT", "0.03"},
		"alpaca":  {alpacaFloor, "AAPL", "3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				network := fake.NewNetwork()
				f, shut := c.open(network, 1)
				t.Cleanup(shut)
				d := newDay(t, 1, network, f)
				time.Sleep(5 * time.Second)
				test(t, d, order.Request{Symbol: market.Symbol{Name: c.symbol}, Side: order.Buy, Type: order.Market, Quantity: dec(c.quantity)})
			})
		})
	}
}

// backUp returns what restores the store as it is now. The desk starts again both times.
func (d *day) backUp() (restore func()) {
	d.t.Helper()
	path := filepath.Join(d.dir, ledger.FileName)
	d.stop()
	data, err := os.ReadFile(path)
	if err != nil {
		d.t.Fatal(err)
	}
	d.start()
	newest := d.floor.now()
	return func() {
		d.stop()
		if err := os.WriteFile(path, data, 0o600); err != nil {
			d.t.Fatal(err)
		}
		kept, err := ledger.Open(d.t.Context(), d.dir, d.floor.now)
		if err != nil {
			d.t.Fatal(err)
		}
		if _, err := desk.SetStoredRestored(d.t.Context(), kept, owner, "candela restore", newest, d.floor.now()); err != nil {
			d.t.Fatal(err)
		}
		if err := kept.Close(); err != nil {
			d.t.Fatal(err)
		}
		d.start()
	}
}

// bought returns how many orders the venue has and how much of them it filled.
func (d *day) bought() (orders int, filled decimal.Decimal) {
	for _, o := range d.floor.orders() {
		orders++
		filled = filled.Add(o.Filled)
	}
	return orders, filled
}

// TestRestore_ARepeatBuysOnce holds that a purchase with a key after the backup is not made
// again when the client repeats it after the restore: halted, resumed, and after another start.
func TestRestore_ARepeatBuysOnce(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]bool{"the symbol is in the backup": true, "the symbol is new": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atFakes(t, func(t *testing.T, d *day, buy order.Request) {
				t.Helper()
				orders, want := 1, buy.Quantity
				if before {
					first := buy
					first.Key = "k1"
					d.mustPlace(first)
					orders, want = 2, want.Add(buy.Quantity)
				}
				restore := d.backUp()
				buy.Key = "k2"
				d.mustPlace(buy)
				time.Sleep(time.Minute)
				restore()
				time.Sleep(30 * time.Second)
				d.repeat(buy)
				d.resume()
				d.repeat(buy)
				d.stop()
				d.start()
				time.Sleep(30 * time.Second)
				d.repeat(buy)
				if n, filled := d.bought(); n != orders || !filled.Equal(want) {
					t.Errorf("%d orders over %v, want %d over %v: %+v", n, filled, orders, want, d.floor.orders())
				}
				buy.Key = "k3"
				d.mustPlace(buy)
				other := buy
				other.Key, other.Quantity = "k2", buy.Quantity.Add(buy.Quantity)
				if _, err := d.Place(t.Context(), caller(), other); err == nil || !strings.Contains(err.Error(), "idempotency_key") {
					t.Errorf("another order under the key: %v", err)
				}
				if n, _ := d.bought(); n != orders+1 {
					t.Errorf("%d orders in the end", n)
				}
			})
		})
	}
}

func (d *day) mustPlace(r order.Request) order.Placed {
	d.t.Helper()
	p, err := d.Place(d.t.Context(), caller(), r)
	if err != nil {
		d.t.Fatal(err)
	}
	time.Sleep(time.Second)
	return p
}

// repeat repeats a purchase, which the venue has.
func (d *day) repeat(r order.Request) {
	d.t.Helper()
	p, err := d.Place(d.t.Context(), caller(), r)
	if err != nil || p.Status != order.Filled || !p.Filled.Equal(r.Quantity) {
		d.t.Errorf("the repeat is %+v, %v", p, err)
	}
}

// resume resumes a restored account. What differs is shown first.
func (d *day) resume() {
	d.t.Helper()
	state := d.Status().State
	restored, ok := state.Find(guard.Restored)
	if !ok || state.Level() != guard.Halted || !strings.Contains(restored.Reason, "restored from a backup of") {
		d.t.Fatalf("after the restore the state is %+v", state)
	}
	for range 2 {
		var err error
		if state, err = d.Resume(d.t.Context(), "the owner"); err != nil {
			d.t.Fatal(err)
		}
		if state.Level() == guard.Active {
			break
		}
	}
	time.Sleep(time.Minute)
	if state = d.Status().State; state.Level() != guard.Active {
		d.t.Fatalf("after resume the state is %+v", state)
	}
}

// TestRestore_ShowsOpenOrdersOfItsOwn holds that an order that candela placed after the backup
// comes back under its ID, is named before the halt is lifted, and can be cancelled.
func TestRestore_ShowsOpenOrdersOfItsOwn(t *testing.T) {
	t.Parallel()
	atFakes(t, func(t *testing.T, d *day, buy order.Request) {
		t.Helper()
		d.mustPlace(buy)
		restore := d.backUp()
		q, _ := d.floor.LastQuote(market.Symbol{Venue: d.floor.name(), Name: buy.Symbol.Name})
		buy.Type, buy.Price = order.Limit, q.Last.Mul(dec("0.9")).Round(2)
		rests := d.mustPlace(buy)
		restore()
		time.Sleep(30 * time.Second)
		state, err := d.Resume(t.Context(), "the owner")
		restored, _ := state.Find(guard.Restored)
		if err != nil || state.Level() != guard.Halted || !strings.Contains(restored.Reason, "order "+rests.ID) || !strings.Contains(restored.Reason, "Resume once more") {
			t.Fatalf("the first resume: %+v, %v", state, err)
		}
		if _, err := d.Place(t.Context(), caller(), buy); err == nil {
			t.Error("an order passed before the halt was lifted")
		}
		if state, err = d.Resume(t.Context(), "the owner"); err != nil || state.Level() != guard.Active {
			t.Fatalf("the second resume: %+v, %v", state, err)
		}
		o, err := d.Cancel(t.Context(), caller(), rests.ID)
		time.Sleep(time.Minute)
		if err != nil || !o.External || !o.Recovered {
			t.Errorf("cancelled: %+v, %v", o, err)
		}
		for _, r := range d.floor.orders() {
			if r.ID == rests.ID && r.Status != order.Canceled {
				t.Errorf("the venue has %+v", r)
			}
		}
		if s := d.Status(); s.Open != 0 || s.State.Level() != guard.Active {
			t.Errorf("in the end: %+v", s)
		}
	})
}

// TestRestore_SendsNothing holds that a halt after a restore keeps positions as they are, and
// that a resume without a desk does not lift it.
func TestRestore_SendsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		if _, err := desk.SetStoredRestored(t.Context(), w.store, owner, "candela restore", time.Now(), time.Now()); err != nil {
			t.Fatal(err)
		}
		if state, err := desk.ResumeStored(t.Context(), w.store, owner, "candela resume"); err != nil || state.Level() != guard.Halted {
			t.Fatalf("%+v, %v", state, err)
		}
		w.venue.Deaf(errors.New("out of order"))
		w.start()
		defer func() { w.stop() }()
		time.Sleep(2 * time.Second)
		if _, err := w.Resume(t.Context(), "the owner"); err == nil || !strings.Contains(err.Error(), "not yet compared") {
			t.Errorf("resume before the comparison: %v", err)
		}
		w.venue.Deaf(nil)
		time.Sleep(time.Minute)
		time.Sleep(2 * time.Second)
		if _, err := w.Place(t.Context(), caller(), buy("0.01")); err == nil || !strings.Contains(err.Error(), "restored from a backup") {
			t.Errorf("an order passed: %v", err)
		}
		if state, err := w.Resume(t.Context(), "the owner"); err != nil || state.Level() != guard.Active || state.Restored.IsZero() {
			t.Errorf("resume without a difference: %+v, %v", state, err)
		}
	})
}
