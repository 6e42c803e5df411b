package binance_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/testkit/fake"
	venue "candela/internal/testkit/fake/binance"
	"candela/internal/testkit/longtest"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/binance"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/order"
)

// groupDay is half an hour of groups with faults of requests and of the stream.
type groupDay struct {
	server  *venue.Server
	broker  *binance.Broker
	random  *rand.Rand
	books   account
	faults  []fake.Fault
	stream  *brokertest.Listening
	unknown int
	lost    int
	refused map[string]bool // orders that are not at the venue
}

// TestBroker_HalfAnHourOfGroups holds that afterwards every order of a group is what it is
// at the venue, and that no group was placed in part or twice.
func TestBroker_HalfAnHourOfGroups(t *testing.T) {
	t.Parallel()
	for n := range longtest.Pick[uint64](1, 5) {
		seed := longtest.Seed() + n
		recorded(t, venue.Config{Seed: seed, Depth: dec("0.05")}, func(t *testing.T, s *venue.Server, b *binance.Broker, _ *sent) {
			t.Helper()
			d := &groupDay{server: s, broker: b, random: rand.New(rand.NewPCG(seed, 13)), books: account{}, refused: map[string]bool{}}
			all := venue.OrderFaults()
			for _, name := range slices.Sorted(maps.Keys(all)) {
				if f := all[name]; f.RetryAfter == 0 {
					d.faults = append(d.faults, f)
				}
			}
			s.User.Set(fake.StreamFaults{Duplicate: 0.2, Reorder: 0.2, Late: 0.1, Lose: 0.1})
			d.run(t)
		})
	}
}

func (d *groupDay) run(t *testing.T) {
	t.Helper()
	d.stream = brokertest.Listen(t.Context(), d.broker)
	<-d.stream.Ready
	groups := 0
	for start := time.Now(); time.Since(start) < 30*time.Minute; groups++ {
		d.server.Move("BTCUSDT", dec("50000"))
		if orders := d.groupOf(); d.submit(t, orders) {
			d.happen(orders)
			d.end(t, orders)
		}
		d.listen(t)
	}
	d.server.Clear()
	time.Sleep(time.Minute)
	_ = d.stream.End()
	d.reconcile(t)
	compareGroups(t, d.server, d.books)
	for _, o := range d.server.Orders() {
		if d.refused[o.ClientID] {
			t.Errorf("%s counts as refused", o.ClientID)
		}
	}
	if d.unknown < 5 || d.lost < 2 {
		t.Errorf("too little happened: %d unknown, %d streams lost", d.unknown, d.lost)
	}
	t.Logf("%d groups, %d lists, %d unknown, %d streams lost", groups, len(d.server.Lists()), d.unknown, d.lost)
}

func (d *groupDay) groupOf() []order.Spec {
	switch d.random.IntN(3) {
	case 0:
		return pair(nil)
	case 1:
		return edged(bracket(func(r *order.Request) { r.Type, r.Price = order.Market, dec("0") }), "50250")
	}
	return bracket(nil)
}

// submit sends a group, perhaps with a fault, and reports whether it is at the venue. An
// unknown outcome is queried, order by order.
func (d *groupDay) submit(t *testing.T, orders []order.Spec) bool {
	t.Helper()
	d.books.add(t, orders)
	if d.random.IntN(2) == 0 {
		d.server.Next(d.faults[d.random.IntN(len(d.faults))])
	}
	reports, err := d.broker.SubmitGroup(t.Context(), orders)
	d.server.Clear()
	if errors.Is(err, broker.ErrUnknown) {
		d.unknown++
		time.Sleep(5 * time.Second) // the grace
		reports, err = d.queryAll(t, orders)
	}
	switch {
	case err == nil:
		for _, r := range reports {
			d.books.apply(t, order.FromReport(d.books[r.ID], r)...)
		}
	case errors.Is(err, broker.ErrRejected), errors.Is(err, broker.ErrNotSent), errors.Is(err, broker.ErrNotFound):
		for _, o := range orders {
			delete(d.books, o.ID)
			d.refused[o.ID] = true
		}
	default:
		t.Fatal(err)
	}
	return err == nil
}

// queryAll asks for each order of a group: all are there, or none.
func (d *groupDay) queryAll(t *testing.T, orders []order.Spec) ([]order.Report, error) {
	t.Helper()
	var reports []order.Report
	var missing error
	for _, o := range orders {
		r, err := d.broker.Query(t.Context(), o.Handle())
		switch {
		case err == nil:
			reports = append(reports, r)
		case errors.Is(err, broker.ErrNotFound):
			missing = err
		default:
			t.Fatal(err)
		}
	}
	if missing != nil && len(reports) > 0 {
		t.Fatalf("%d of %d orders are there", len(reports), len(orders))
	}
	return reports, missing
}

// happen lets something become of a group.
func (d *groupDay) happen(orders []order.Spec) {
	for range 1 + d.random.IntN(3) {
		switch d.random.IntN(5) {
		case 0:
			d.server.Trade(orders[d.random.IntN(len(orders))].ID, dec("0.03"))
		case 1:
			d.server.Trade(orders[0].ID, dec("0.1"))
		case 2:
			d.server.Move("BTCUSDT", dec("46000"))
		case 3:
			d.server.Move("BTCUSDT", dec("55500"))
		case 4:
			d.server.User.Drop()
		}
		time.Sleep(time.Duration(d.random.IntN(3000)) * time.Millisecond)
	}
}

// end cancels what is left of a group, again while the outcome is unknown.
func (d *groupDay) end(t *testing.T, orders []order.Spec) {
	t.Helper()
	for _, o := range orders {
		if d.random.IntN(3) == 0 {
			d.server.Next(d.faults[d.random.IntN(len(d.faults))])
		}
		r, err := d.broker.Cancel(t.Context(), o.Handle())
		d.server.Clear()
		for tries := 0; err != nil && tries < 10; tries++ {
			time.Sleep(5 * time.Second)
			r, err = d.broker.Cancel(t.Context(), o.Handle())
		}
		if err != nil {
			t.Fatal(err)
		}
		d.books.apply(t, order.FromReport(d.books[r.ID], r)...)
	}
}

// listen folds what came over the stream, and starts it again when it was lost.
func (d *groupDay) listen(t *testing.T) {
	t.Helper()
	synctest.Wait()
	d.books.take(t, d.stream)
	select {
	case <-d.stream.Done:
		d.lost++
		d.stream = brokertest.Listen(t.Context(), d.broker)
		<-d.stream.Ready
	default:
	}
}

// reconcile reads the trades and asks for every order.
func (d *groupDay) reconcile(t *testing.T) {
	t.Helper()
	fills, _, err := d.broker.Fills(t.Context(), btc(), "")
	if err != nil {
		t.Fatal(err)
	}
	for id, o := range d.books {
		r, err := d.broker.Query(t.Context(), o.Handle())
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range fills {
			if f.VenueID == r.VenueID {
				f.OrderID = id
				r.Fills = append(r.Fills, f)
			}
		}
		d.books.apply(t, order.FromAnswer(o, r)...)
		if why := order.Disagreement(d.books[id], r); why != "" {
			t.Errorf("%s %s: %s", o.Role, id, why)
		}
		time.Sleep(50 * time.Millisecond) // within the weight of a minute
	}
}
