package alpaca_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/fake"
	fakealpaca "candela/internal/testkit/fake/alpaca"
	"candela/internal/testkit/longtest"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/order"
)

// groupDay is half an hour of groups with faults of requests and of the stream.
type groupDay struct {
	books
	random  *rand.Rand
	l       *brokertest.Listening
	groups  int
	unknown int
	lost    int
}

// TestBroker_HalfAnHourOfGroups holds that afterwards every order of a group is what it is
// at the venue, and that no group was placed in part or twice.
func TestBroker_HalfAnHourOfGroups(t *testing.T) {
	t.Parallel()
	for n := range longtest.Pick[uint64](1, 5) {
		seed := longtest.Seed() + n
		play(t, noon(), fakealpaca.Config{Seed: seed, Partial: 0.3}, func(t *testing.T, s *scene) {
			t.Helper()
			d := &groupDay{
				books:  books{scene: s, t: t, orders: map[string]order.Order{}, trades: map[string]order.Fill{}},
				random: rand.New(rand.NewPCG(seed, 14)),
			}
			s.SetUnlimited()
			s.Updates.Set(fake.StreamFaults{Duplicate: 0.2, Reorder: 0.2, Late: 0.1, Lose: 0.1})
			d.l = s.listen(t)
			for start := time.Now(); time.Since(start) < 30*time.Minute; d.groups++ {
				s.SetQuote("AAPL", "99.99", "100.01")
				if orders := d.place(); orders != nil {
					d.happen(orders)
					d.end(orders)
				}
				d.listen()
			}
			s.SetFault(fakealpaca.None)
			time.Sleep(time.Minute)
			_ = d.l.End()
			d.compareGroups()
		})
	}
}

// place sends a group, perhaps with a fault, and returns it if it is at the venue. An unknown
// outcome is queried, order by order: all are there, or none.
func (d *groupDay) place() []order.Spec {
	d.t.Helper()
	orders := bracket(nil)
	switch held := d.Truth().Positions["AAPL"]; {
	case held.GreaterThanOrEqual(num("10")) && d.random.IntN(2) == 0:
		orders = pair(nil)
	case d.random.IntN(2) == 0:
		orders = bracket(atMarket)
	}
	faults := fakealpaca.OrderFaults()
	delete(faults, "throttled") // it only makes the client wait
	names := slices.Sorted(maps.Keys(faults))
	if d.random.IntN(2) == 0 {
		d.Next(faults[names[d.random.IntN(len(names))]])
	}
	reports, err := d.broker.SubmitGroup(d.t.Context(), orders)
	d.Clear()
	if errors.Is(broker.Outcome(err), broker.ErrUnknown) {
		d.unknown++
		time.Sleep(time.Minute) // the broker keeps off a venue that failed
		reports, err = d.queryAll(orders)
	}
	if err != nil {
		if n := len(slices.DeleteFunc(d.Truth().Orders, func(r order.Report) bool { return r.ID != orders[0].ID })); n != 0 {
			d.t.Errorf("the venue has a group that counts as not placed: %v", err)
		}
		time.Sleep(time.Minute)
		return nil
	}
	for i, o := range orders {
		d.apply(order.Order{},
			order.Event{Kind: order.KindCreated, OrderID: o.ID, At: d.now(), Origin: &order.Origin{Spec: o, Broker: "alpaca", Mode: order.Paper}},
			order.Event{Kind: order.KindSent, OrderID: o.ID, At: d.now()})
		d.hear(reports[i])
	}
	return orders
}

func (d *groupDay) queryAll(orders []order.Spec) (reports []order.Report, missing error) {
	d.t.Helper()
	for _, o := range orders {
		r, err := d.broker.Query(d.t.Context(), o.Handle())
		switch {
		case err == nil:
			reports = append(reports, r)
		case errors.Is(err, broker.ErrNotFound):
			missing = err
		default:
			d.t.Fatal(err)
		}
	}
	if missing != nil && len(reports) > 0 {
		d.t.Fatalf("%d of %d orders are there", len(reports), len(orders))
	}
	return reports, missing
}

// happen lets something become of a group.
func (d *groupDay) happen(orders []order.Spec) {
	moods := []fakealpaca.Fault{fakealpaca.None, fakealpaca.QuietLegs, fakealpaca.TargetReplaced, fakealpaca.CancelSlow, fakealpaca.CancelLoses}
	d.SetFault(moods[d.random.IntN(len(moods))])
	for range 1 + d.random.IntN(3) {
		switch o := d.orders[orders[d.random.IntN(len(orders))].ID]; d.random.IntN(6) {
		case 0:
			d.Trade(o.VenueID, num("3"))
		case 1:
			d.Trade(orders[0].ID, num("10"))
		case 2:
			d.SetQuote("AAPL", "94.90", "94.92")
		case 3:
			d.SetQuote("AAPL", "110.10", "110.12")
		case 4:
			d.SetQuote("AAPL", "98.90", "98.92")
		case 5:
			d.Updates.Drop()
		}
		time.Sleep(time.Duration(d.random.IntN(3000)) * time.Millisecond)
	}
}

// end cancels what is left of a group until it is over.
func (d *groupDay) end(orders []order.Spec) {
	d.t.Helper()
	for _, o := range orders {
		for tries := 0; ; tries++ {
			r, err := d.broker.Cancel(d.t.Context(), order.Handle{Spec: o, VenueID: d.orders[o.ID].VenueID})
			if err == nil {
				d.hear(r)
			}
			if err == nil && r.Status.Final() {
				break
			}
			if tries == 20 {
				d.t.Fatalf("the %v is not over: %+v, %v", o.Role, r, err)
			}
			time.Sleep(3 * time.Second)
		}
	}
}

// listen takes what came over the stream, by the venue's ids as a desk does, and starts it
// again when it was lost.
func (d *groupDay) listen() {
	d.t.Helper()
	synctest.Wait()
	for len(d.l.Reports) > 0 {
		r := <-d.l.Reports
		for id, o := range d.orders {
			if o.VenueID == r.VenueID {
				r.ID = id
				d.stream += len(r.Fills)
				d.hear(r)
			}
		}
	}
	select {
	case <-d.l.Done:
		d.lost++
		d.l = d.scene.listen(d.t)
	default:
	}
}

// compareGroups asks for every order and holds the books against the venue's.
func (d *groupDay) compareGroups() {
	d.t.Helper()
	fills, _, err := d.broker.Fills(d.t.Context(), apple(), "")
	if err != nil {
		d.t.Fatal(err)
	}
	truth := map[string]order.Report{}
	for _, r := range d.Truth().Orders {
		truth[r.VenueID] = r
	}
	triggered, filled := 0, 0
	for id, o := range d.orders {
		r, err := d.broker.Query(d.t.Context(), o.Handle())
		if err != nil {
			d.t.Fatal(err)
		}
		for _, f := range fills {
			if f.VenueID == r.VenueID {
				r.Fills = append(r.Fills, f)
			}
		}
		d.apply(o, order.FromAnswer(o, r)...)
		o = d.orders[id]
		want := truth[o.VenueID]
		if o.Status != want.Status || !o.Filled.Equal(want.Filled) || o.Doubtful() || o.MissingFills() || order.Disagreement(o, r) != "" {
			d.t.Errorf("%v %s is %v with %s filled, at the venue %v with %s: %s %s", o.Role, id, o.Status, o.Filled, want.Status, want.Filled, o.Doubt, order.Disagreement(o, r))
		}
		if isStop := o.StopPrice.IsPositive(); isStop && o.Triggered.IsZero() != o.Filled.IsZero() {
			d.t.Errorf("%v %s was triggered at %v with %s filled", o.Role, id, o.Triggered, o.Filled)
		} else if isStop && !o.Filled.IsZero() {
			triggered++
		}
		if o.Status == order.Filled {
			filled++
		}
	}
	sum := decimal.Decimal{}
	for _, o := range d.orders {
		sum = sum.Add(o.Filled.Mul(decimal.NewFromInt(o.Side.Sign())))
	}
	if len(truth) != len(d.orders) || !sum.Equal(d.Truth().Positions["AAPL"]) {
		d.t.Errorf("%d orders of %d, %s held of %s", len(d.orders), len(truth), sum, d.Truth().Positions["AAPL"])
	}
	if d.unknown < 5 || d.lost < 2 || triggered == 0 || filled < 10 || d.stream == 0 {
		d.t.Errorf("too little happened: %d unknown, %d streams lost, %d triggered, %d filled", d.unknown, d.lost, triggered, filled)
	}
	d.t.Logf("%d groups, %d orders, %d unknown, %d streams lost, %d triggered, %d filled", d.groups, len(d.orders), d.unknown, d.lost, triggered, filled)
}
