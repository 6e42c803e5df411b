package alpaca_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/fake"
	fakealpaca "candela/internal/testkit/fake/alpaca"
	"candela/internal/testkit/longtest"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/order"
)

// books keep orders as a desk does: by events alone, made of what the broker says.
type books struct {
	*scene
	t      *testing.T
	orders map[string]order.Order
	trades map[string]order.Fill // by name, from wherever they came
	stream int                   // how many the stream sent
}

func (b *books) apply(o order.Order, events ...order.Event) {
	b.t.Helper()
	for _, e := range events {
		next, err := order.Apply(o, e)
		if err != nil {
			b.t.Fatalf("%v of %+v: %v", e.Kind, o, err)
		}
		o = next
	}
	b.orders[o.ID] = o
}

// hear takes what the venue says of an order.
func (b *books) hear(r order.Report) {
	b.t.Helper()
	for _, f := range r.Fills {
		if was, ok := b.trades[f.TradeID]; ok && (!was.Quantity.Equal(f.Quantity) || !was.Price.Equal(f.Price) || was.VenueID != f.VenueID || was.Side != f.Side || !was.At.Equal(f.At)) {
			b.t.Errorf("the trade %s is %+v and %+v", f.TradeID, was, f)
		}
		b.trades[f.TradeID] = f
	}
	o := b.orders[r.ID]
	b.apply(o, order.FromReport(o, r)...)
}

// submit sends an order and keeps its fate.
func (b *books) submit(o order.Spec) {
	b.t.Helper()
	now := b.now()
	b.apply(order.Order{},
		order.Event{Kind: order.KindCreated, OrderID: o.ID, At: now, Origin: &order.Origin{Spec: o, Broker: "alpaca", Mode: order.Paper}},
		order.Event{Kind: order.KindSent, OrderID: o.ID, At: now})
	r, err := b.broker.Submit(b.t.Context(), o)
	switch fate := broker.Outcome(err); {
	case err == nil:
		b.hear(r)
	case errors.Is(fate, broker.ErrRejected):
		b.apply(b.orders[o.ID], order.Event{Kind: order.KindRejected, OrderID: o.ID, At: now, Reason: err.Error()})
	case errors.Is(fate, broker.ErrNotSent):
		b.apply(b.orders[o.ID], order.Event{Kind: order.KindNotSent, OrderID: o.ID, At: now, Reason: err.Error()})
	default:
		b.apply(b.orders[o.ID], order.Event{Kind: order.KindLost, OrderID: o.ID, At: now, Reason: err.Error()})
	}
}

// cancel asks for the end of an order.
func (b *books) cancel(id string) {
	b.t.Helper()
	o := b.orders[id]
	if o.Status.Final() {
		return
	}
	if r, err := b.broker.Cancel(b.t.Context(), o.Spec.Handle()); err == nil {
		b.hear(r)
	}
}

// reconcile asks for everything that is not over, and for the trades.
func (b *books) reconcile() {
	b.t.Helper()
	fills, _, err := b.broker.Fills(b.t.Context(), apple(), "")
	if err != nil {
		b.t.Fatal(err)
	}
	for id, o := range b.orders {
		if o.Status.Final() && !o.MissingFills() {
			continue
		}
		r, err := b.broker.Query(b.t.Context(), o.Spec.Handle())
		if errors.Is(err, broker.ErrNotFound) {
			b.apply(o, order.Event{Kind: order.KindGone, OrderID: id, At: b.now(), Reason: err.Error()})
			continue
		}
		if err != nil {
			b.t.Fatal(err)
		}
		for _, f := range fills {
			if f.VenueID == r.VenueID {
				r.Fills = append(r.Fills, f)
			}
		}
		b.hear(r)
		// A fresh answer that knows of no cancel: it was refused, and no report came.
		if o = b.orders[id]; o.Status == order.PendingCancel && (r.Status == order.Accepted || r.Status == order.PartiallyFilled) {
			b.apply(o, order.Event{Kind: order.KindCancelFailed, OrderID: id, At: b.now(), Reason: "still open"})
		}
	}
}

// trouble draws what goes wrong next: an order that is lost before or after it is
// taken, a cancel that is slow, refused or beaten.
func (b *books) trouble(random *rand.Rand) {
	names := slices.Sorted(maps.Keys(fakealpaca.OrderFaults()))
	if random.IntN(4) == 0 {
		b.Next(fakealpaca.OrderFaults()[names[random.IntN(len(names))]])
	}
	moods := []fakealpaca.Fault{fakealpaca.None, fakealpaca.None, fakealpaca.CancelSlow, fakealpaca.CancelRefused, fakealpaca.CancelLoses}
	b.SetFault(moods[random.IntN(len(moods))])
}

// TestDay trades for hours over a bad line: answers are lost, updates come
// twice, late, swapped or not at all, streams are cut, cancels race fills. What a
// desk would have in its books at the end is what the venue has: each order once,
// in its state, each trade once, from stream or read.
func TestDay(t *testing.T) {
	t.Parallel()
	for n := range longtest.Pick[uint64](2, 4) {
		seed := longtest.Seed() + n
		play(t, noon(), fakealpaca.Config{Seed: seed, Partial: 0.4}, func(t *testing.T, s *scene) {
			t.Helper()
			random := rand.New(rand.NewPCG(seed, 1))
			b := &books{scene: s, t: t, orders: map[string]order.Order{}, trades: map[string]order.Fill{}}
			s.Updates.Set(fake.StreamFaults{Duplicate: 0.2, Reorder: 0.2, Late: 0.1, Lose: 0.1})
			l := s.listen(t)
			price := decimal.NewFromInt(100)
			for minute := range 180 {
				price = price.Add(decimal.New(int64(random.IntN(41)-20), -2))
				s.SetQuote("AAPL", price.String(), price.Add(num("0.02")).String())
				b.trouble(random)
				o := buy("AAPL", "7", "")
				if random.IntN(2) == 0 {
					o.Side = order.Sell
				}
				if random.IntN(2) == 0 {
					o.Type, o.Price = order.Limit, price.Add(decimal.New(int64(random.IntN(80)-40), -2))
				}
				b.submit(o)
				time.Sleep(time.Duration(random.IntN(60)) * time.Second)
				if ids := slices.Sorted(maps.Keys(b.orders)); random.IntN(3) == 0 {
					b.cancel(ids[max(0, len(ids)-1-random.IntN(5))])
				}
				if random.IntN(12) == 0 {
					s.Updates.Drop()
					<-l.Done
					l = s.listen(t)
				}
				b.drain(l)
				if minute%10 == 9 {
					s.Clear()
					time.Sleep(5 * time.Minute) // the broker keeps off a venue that failed
					b.reconcile()
				}
				time.Sleep(time.Minute - time.Duration(b.now().Second())*time.Second)
			}
			s.Clear()
			s.SetFault(fakealpaca.None)
			time.Sleep(5 * time.Minute)
			b.drain(l)
			_ = l.End()
			b.reconcile()
			b.compare()
		})
	}
}

// drain reads the events of the stream so far.
func (b *books) drain(l *brokertest.Listening) {
	b.t.Helper()
	for len(l.Reports) > 0 {
		r := <-l.Reports
		b.stream += len(r.Fills)
		b.hear(r)
	}
}

// compare holds the books against the venue's.
func (b *books) compare() {
	t := b.t
	t.Helper()
	truth := b.Truth()
	taken := map[string]order.Report{}
	for _, r := range truth.Orders {
		if _, twice := taken[r.ID]; twice {
			t.Errorf("the venue took %s twice", r.ID)
		}
		taken[r.ID] = r
	}
	lost := 0
	for id, o := range b.orders {
		r, ok := taken[id]
		if !ok {
			if !o.Status.Final() || !o.Filled.IsZero() {
				t.Errorf("%s is %s with %s filled, and the venue never took it", id, o.Status, o.Filled)
			}
			lost++
			continue
		}
		if o.Status != r.Status || !o.Filled.Equal(r.Filled) || order.Disagreement(o, r) != "" {
			t.Errorf("%s is %s with %s filled, at the venue %s with %s: %s", id, o.Status, o.Filled, r.Status, r.Filled, order.Disagreement(o, r))
		}
	}
	held := decimal.Decimal{}
	for _, f := range b.trades {
		held = held.Add(f.Quantity.Mul(decimal.NewFromInt(f.Side.Sign())))
	}
	if len(b.trades) != len(truth.Fills) || !held.Equal(truth.Positions["AAPL"]) {
		t.Errorf("%d trades of %d, %s held of %s", len(b.trades), len(truth.Fills), held, truth.Positions["AAPL"])
	}
	if len(truth.Orders) < 60 || len(truth.Fills) < 40 || lost == 0 || b.stream == 0 {
		t.Errorf("an idle day: %d orders, %d trades, %d never taken, %d trades sent by the stream", len(truth.Orders), len(truth.Fills), lost, b.stream)
	}
	t.Logf("%d orders taken, %d not, %d trades, of which the stream sent %d, some twice", len(truth.Orders), lost, len(truth.Fills), b.stream)
}
