package desk_test

import (
	"errors"
	"iter"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/testkit/fake"
	fakebinance "candela/internal/testkit/fake/binance"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/broker/paper/papertest"
	"candela/internal/trading/desk"
	"candela/internal/trading/desk/desktest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// planVenue is a desk at a venue, as a sequence of changes of a plan needs it.
type planVenue interface {
	desk() *desk.Desk
	events() iter.Seq2[order.Event, error]
	symbol() market.Symbol
	last() decimal.Decimal
	lot(*rand.Rand) decimal.Decimal
	step() decimal.Decimal
	fee() string // asset of which the venue may take its fee; "" for none
	trails() bool
	simulated() bool // a backup has the venue, too

	move(price decimal.Decimal) // and meet the orders at once
	trade(o order.Order, quantity decimal.Decimal)
	fault(*rand.Rand) string // lets a request fail
	calm()                   // ends all faults
	restart(kill bool)
	backUp() (restore func())  // of all that candela keeps
	cancelThere(o order.Order) // as the owner does at the venue
	held() decimal.Decimal
	gaps() []fake.Gap                   // in which the venue saw what is held without a stop
	left(o order.Order) decimal.Decimal // of an order that the venue has and that waits for no entry, else zero
}

// planPolicy lets a sequence do what it wants.
func planPolicy(p guard.Policy) guard.Policy {
	off := guard.Limit{Off: true}
	p.MaxDailyLoss, p.MaxOrdersPerMinute, p.MaxSymbolExposure, p.MinStopDistancePct, p.MaxStopDistancePct, p.MaxOpenOrders, p.MaxSymbolOpenOrders = off, off, off, off, off, off, off
	p.DuplicateWindow, p.PriceBandPct = 0, guard.Limit{Value: dec("20")}
	return p
}

// planInMemory is a venue in memory.
type planInMemory struct{ *world }

func newPlanInMemory(t *testing.T, manner brokertest.Manner, swaps, feeInBase bool) planVenue {
	t.Helper()
	w := newWorld(t)
	w.policy = planPolicy(w.policy)
	w.venue.Behave(manner)
	if feeInBase {
		w.venue.FeeInBase()
	}
	if swaps {
		w.broker = brokertest.Swapping{Memory: w.venue}
	}
	w.start()
	t.Cleanup(func() { w.stop() })
	return planInMemory{w}
}

func (v planInMemory) desk() *desk.Desk { return v.Desk }
func (v planInMemory) events() iter.Seq2[order.Event, error] {
	return v.store.OrderEvents(v.t.Context(), owner)
}
func (planInMemory) symbol() market.Symbol { return brokertest.MemorySymbol() }
func (planInMemory) lot(random *rand.Rand) decimal.Decimal {
	return decimal.New(int64(2000+random.IntN(8000)), -5)
}
func (planInMemory) step() decimal.Decimal                    { return dec("0.00001") }
func (planInMemory) fee() string                              { return "BTC" }
func (planInMemory) gaps() []fake.Gap                         { return nil }
func (planInMemory) simulated() bool                          { return false }
func (planInMemory) trails() bool                             { return false }
func (v planInMemory) calm()                                  { v.venue.Calm() }
func (v planInMemory) trade(o order.Order, q decimal.Decimal) { v.venue.Trade(o.ID, q) }

func (v planInMemory) last() decimal.Decimal {
	q, _ := v.market.LastQuote(v.symbol())
	return q.Last
}

func (v planInMemory) move(price decimal.Decimal) {
	v.market.Set(v.symbol(), order.Quote{Last: price})
	v.venue.SetPrice(price)
	f, _ := price.Float64()
	v.Observe(provider.Event{
		Sub: provider.Sub{Symbol: v.symbol(), Interval: market.Minute1}, Kind: provider.Forming, At: time.Now(),
		Bar: market.Bar{T: time.Now().Unix() / 60 * 60, O: f, H: f, L: f, C: f, V: 1},
	})
}

func (v planInMemory) fault(random *rand.Rand) string {
	fate := []error{broker.ErrRejected, broker.ErrNotSent, broker.ErrUnknown}[random.IntN(3)]
	f := brokertest.Fault{Fate: fate, Done: errors.Is(fate, broker.ErrUnknown) && random.IntN(2) == 0}
	f.Passing = errors.Is(fate, broker.ErrRejected)
	faults := make([]brokertest.Fault, random.IntN(3), 3)
	v.venue.Fail(append(faults, f)...)
	return fate.Error()
}

func (v planInMemory) restart(kill bool) {
	if kill {
		v.kill()
	} else {
		v.stop()
	}
	v.start()
}

func (v planInMemory) backUp() (restore func()) { return v.world.backUp(func() {}, v.start) }

// backUp returns what brings the store back as it is now. bring brings back what else there is, and open
// starts the desk.
func (w *world) backUp(bring, open func()) (restore func()) {
	kept, newest := w.store.Copy(), time.Now()
	return func() {
		w.stop()
		w.store = kept.Copy()
		bring()
		if _, err := desk.SetStoredRestored(w.t.Context(), w.store, owner, "candela restore", newest, time.Now()); err != nil {
			w.t.Fatal(err)
		}
		open()
	}
}

func (v planInMemory) cancelThere(o order.Order) { _, _ = v.broker.Cancel(v.t.Context(), o.Handle()) }

func (v planInMemory) held() decimal.Decimal {
	all, err := v.venue.Holdings(v.t.Context())
	if err != nil {
		v.t.Fatal(err)
	}
	for _, h := range all {
		if h.Asset == "BTC" {
			return h.Quantity
		}
	}
	return decimal.Zero
}

func (v planInMemory) left(o order.Order) decimal.Decimal {
	for _, r := range v.venue.Orders() {
		if r.ID == o.ID || r.VenueID != "" && r.VenueID == o.VenueID {
			return workingPart(r)
		}
	}
	return decimal.Zero
}

// planOnPaper is the paper account.
type planOnPaper struct{ *onPaper }

func newPlanOnPaper(t *testing.T) planVenue {
	t.Helper()
	p := newPaper(t)
	p.stop()
	p.policy = planPolicy(p.policy)
	p.open()
	t.Cleanup(func() { p.stop() })
	return planOnPaper{p}
}

func (v planOnPaper) desk() *desk.Desk { return v.Desk }
func (v planOnPaper) events() iter.Seq2[order.Event, error] {
	return v.store.OrderEvents(v.t.Context(), owner)
}
func (planOnPaper) symbol() market.Symbol { return papertest.BTCUSDT().Symbol }
func (planOnPaper) lot(random *rand.Rand) decimal.Decimal {
	return decimal.New(int64(2000+random.IntN(8000)), -5)
}
func (planOnPaper) step() decimal.Decimal              { return papertest.BTCUSDT().Step }
func (planOnPaper) fee() string                        { return "" }
func (planOnPaper) gaps() []fake.Gap                   { return nil }
func (planOnPaper) simulated() bool                    { return true }
func (planOnPaper) trails() bool                       { return true }
func (planOnPaper) calm()                              {}
func (planOnPaper) fault(*rand.Rand) string            { return "none on paper" }
func (planOnPaper) trade(order.Order, decimal.Decimal) {}

func (v planOnPaper) last() decimal.Decimal {
	q, _ := v.market.LastQuote(v.symbol())
	return q.Last
}

// move is a bar from the last price to another one, in which little may be traded.
func (v planOnPaper) move(price decimal.Decimal) {
	from, _ := v.last().Float64()
	to, _ := price.Float64()
	v.market.Set(v.symbol(), order.Quote{Last: price})
	v.minutes++
	e := provider.Event{
		Sub: provider.Sub{Symbol: v.symbol(), Interval: market.Minute1}, Kind: provider.Closed, At: time.Now().Add(time.Hour),
		Bar: market.Bar{T: time.Now().Unix() + 60*v.minutes, O: from, H: max(from, to), L: min(from, to), C: to, V: 0.03},
	}
	v.paper.Observe(e, provider.Clock{})
	v.Observe(e)
}

func (v planOnPaper) restart(kill bool) {
	if kill {
		v.kill()
	} else {
		v.stop()
	}
	v.open()
}

func (v planOnPaper) backUp() (restore func()) {
	journal := v.journal.Copy()
	return v.world.backUp(func() { v.journal = journal.Copy() }, v.open)
}

func (planOnPaper) cancelThere(order.Order) {}

func (v planOnPaper) held() decimal.Decimal {
	all, err := v.paper.Holdings(v.t.Context())
	if err != nil {
		v.t.Fatal(err)
	}
	for _, h := range all {
		if h.Symbol == v.symbol() {
			return h.Quantity
		}
	}
	return decimal.Zero
}

func (v planOnPaper) left(o order.Order) decimal.Decimal {
	r, err := v.paper.Query(v.t.Context(), o.Handle())
	if err != nil {
		return decimal.Zero
	}
	return workingPart(r)
}

// workingPart returns what is left of an order that works.
func workingPart(r order.Report) decimal.Decimal {
	if r.Status != order.Accepted && r.Status != order.PartiallyFilled {
		return decimal.Zero
	}
	return r.Quantity.Sub(r.Filled)
}

// planAtFake is a real broker at a fake of its venue.
type planAtFake struct {
	*day
	f     groupFloor
	base  string
	trail bool

	watched *fake.Gaps
}

func newPlanAtFake(t *testing.T, seed uint64, open func(*fake.Network, uint64) (groupFloor, func()), base string, trail bool) planVenue {
	t.Helper()
	network := fake.NewNetwork()
	f, shut := open(network, seed)
	t.Cleanup(shut)
	d := openDay(t, seed, network, f)
	d.policy = planPolicy(d.policy)
	d.policy.AllowShort = false
	d.memory = desktest.NewStore()
	d.start()
	v := planAtFake{day: d, f: f, base: base, trail: trail}
	f.shove(f.guarded(), v.last())
	v.watched = f.watch(f.guarded(), dec("24").Div(v.last()))
	if seed%2 == 0 {
		f.slow(planAnswer)
	}
	return v
}

// deepBinance is a Binance whose books take every order at once.
func deepBinance(network *fake.Network, seed uint64) (groupFloor, func()) {
	server := fakebinance.New(fakebinance.Config{Seed: seed, Depth: dec("1000"), Symbols: map[string]fakebinance.Features{"BTCUSDT": {}, "ETHUSDT": {}}})
	return onBinance{server}, network.Serve("binance.test:80", server)
}

func (v planAtFake) desk() *desk.Desk { return v.Desk }
func (v planAtFake) events() iter.Seq2[order.Event, error] {
	return v.store.OrderEvents(v.t.Context(), owner)
}

func (v planAtFake) symbol() market.Symbol {
	return market.Symbol{Venue: v.f.name(), Name: v.f.guarded()}
}

func (v planAtFake) lot(random *rand.Rand) decimal.Decimal {
	return v.f.lot(random, v.f.guarded()).Add(v.f.unit(v.f.guarded()).Mul(dec("6")))
}

func (v planAtFake) step() decimal.Decimal {
	if v.base == "" {
		return decimal.NewFromInt(1)
	}
	return dec("0.00001")
}
func (v planAtFake) fee() string                            { return v.base }
func (v planAtFake) gaps() []fake.Gap                       { return v.watched.All() }
func (planAtFake) simulated() bool                          { return false }
func (v planAtFake) trails() bool                           { return v.trail }
func (v planAtFake) trade(o order.Order, q decimal.Decimal) { v.f.trade(o, q) }
func (v planAtFake) calm()                                  { v.f.clear() }
func (v planAtFake) held() decimal.Decimal                  { return v.f.held(v.f.guarded()) }
func (v planAtFake) move(price decimal.Decimal)             { v.f.shove(v.f.guarded(), v.f.tick(price)) }

func (v planAtFake) last() decimal.Decimal {
	q, _ := v.f.LastQuote(v.symbol())
	return q.Last
}

func (v planAtFake) fault(random *rand.Rand) string {
	faults := v.f.faults()
	f := faults[random.IntN(len(faults))]
	if f.RetryAfter > 0 {
		return "none"
	}
	v.f.next(f)
	return f.Body
}

func (v planAtFake) restart(kill bool) {
	if kill {
		v.kill()
	} else {
		v.stop()
	}
	v.start()
}

func (v planAtFake) backUp() (restore func()) {
	kept, newest := v.memory.Copy(), v.f.now()
	return func() {
		v.stop()
		v.memory = kept.Copy()
		if _, err := desk.SetStoredRestored(v.t.Context(), v.memory, owner, "candela restore", newest, v.f.now()); err != nil {
			v.t.Fatal(err)
		}
		v.start()
	}
}

func (v planAtFake) cancelThere(o order.Order) { _, _ = v.broker.Cancel(v.t.Context(), o.Handle()) }

func (v planAtFake) left(o order.Order) decimal.Decimal {
	for _, r := range v.f.orders() {
		if r.ID == o.ID || r.VenueID != "" && r.VenueID == o.VenueID {
			return workingPart(r)
		}
	}
	return decimal.Zero
}
