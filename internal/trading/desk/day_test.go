package desk_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/upstream"
	"candela/internal/store/ledger"
	"candela/internal/testkit/fake"
	"candela/internal/testkit/longtest"
	"candela/internal/trading/broker"
	"candela/internal/trading/desk"
	"candela/internal/trading/desk/desktest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// floor is a fake venue as a day of trading needs it.
type floor interface {
	desk.Market
	open(hosts *upstream.Hosts) (broker.Broker, error)
	name() string
	assets() bool
	now() time.Time

	symbols() []string // drawn from
	size(random *rand.Rand, price decimal.Decimal) decimal.Decimal
	limit(random *rand.Rand, price decimal.Decimal) decimal.Decimal // a price near by

	faults() []fake.Fault // of orders and cancels
	next(fake.Fault)
	moods(random *rand.Rand) // changes how the venue behaves
	stream(fake.StreamFaults)
	drop(random *rand.Rand) // ends the stream
	clear()                 // ends all faults
	wipe()

	// elsewhere trades on the account, as somebody else does, and returns how many
	// orders that were.
	elsewhere(random *rand.Rand, number int, symbol string, quantity, price decimal.Decimal) int

	orders() []order.Report
	fills() []order.Fill
	// unlike returns in what the account differs from what positions make of it.
	unlike(positions []order.Position) string
}

// day is a desk over a real store that trades at a fake venue for some virtual time
// in which everything goes wrong.
type day struct {
	*desk.Desk
	t       *testing.T
	floor   floor
	network *fake.Network
	random  *rand.Rand
	policy  guard.Policy
	log     *slog.Logger
	dir     string
	store   dayStore
	broker  broker.Broker
	memory  *desktest.Store // in place of files, if it is set
	calls   sync.WaitGroup
	steps   int
	coming  []func() // what happens next to the venue or to the desk
	stop    func()   // ends the desk as a signal does
	kill    func()   // ends it without waiting for anything

	placed, unclear, restarts, cuts, foreign int

	wiped time.Time           // when the venue was
	gone  map[string]struct{} // ids of the orders that it had then
}

func unlimited() guard.Policy {
	off := guard.Limit{Off: true}
	return guard.Policy{
		Limits: guard.Limits{
			MaxOrderQuantity: off, MaxOrderNotional: off, PriceBandPct: off, RestingBandPct: off, MaxSymbolExposure: off, MaxSymbolOpenOrders: off, AllowShort: true,
			Protective: guard.Protective{RequireStop: guard.StopNever, MaxTradeRisk: off, MaxTradeRiskPct: off, MinStopDistancePct: off, MaxStopDistancePct: off, MaxTargetDistancePct: off},
		},
		Currencies: []string{"USDT", "USD"}, MaxExposure: off, MaxOpenOrders: off, MaxOrdersPerMinute: off, MaxDailyNotional: off, MaxDailyLoss: off, MaxOpenRisk: off,
		UnprotectedGrace: 10 * time.Second, OnUnprotected: guard.UnprotectedAlarm,
		MaxQuoteAge: time.Minute, MaxClockSkew: time.Minute,
	}
}

func newDay(t *testing.T, seed uint64, network *fake.Network, f floor) *day {
	t.Helper()
	d := openDay(t, seed, network, f)
	d.start()
	return d
}

// openDay returns a day whose desk has not started.
func openDay(t *testing.T, seed uint64, network *fake.Network, f floor) *day {
	t.Helper()
	d := &day{
		t: t, network: network, floor: f, random: rand.New(rand.NewPCG(seed, 9)), policy: unlimited(), log: slog.New(slog.DiscardHandler), dir: t.TempDir(),
		stop: func() {},
	}
	t.Cleanup(func() { d.stop() })
	return d
}

func (d *day) start() {
	d.t.Helper()
	var err error
	if d.store, err = d.openStore(); err != nil {
		d.t.Fatal(err)
	}
	hosts := upstream.NewHosts(d.network.Dial)
	b, err := d.floor.open(hosts)
	if err != nil {
		d.t.Fatal(err)
	}
	d.broker = b
	d.Desk = desk.New(desk.Config{
		Owner: owner, Broker: b, Store: d.store, Market: d.floor, Policy: d.policy, AssetBalances: d.floor.assets(),
		Resolve: func(_ context.Context, s market.Symbol) (market.Symbol, error) {
			s.Venue = d.floor.name()
			return s, nil
		},
		Log: d.log, Now: d.floor.now, Rand: rand.Float64,
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(d.t.Context()))
	hard, kill := context.WithCancel(context.WithoutCancel(d.t.Context()))
	ready, done := make(chan struct{}), make(chan error, 1)
	run := d.Run
	go func() { done <- run(ctx, hard, func() { close(ready) }) }()
	<-ready
	end := func(first func()) func() {
		return func() {
			first()
			if err := <-done; err != nil {
				d.t.Errorf("the desk ended with %v", err)
			}
			cancel()
			kill()
			d.calls.Wait()
			if err := errors.Join(hosts.Close(), d.store.Close()); err != nil {
				d.t.Error(err)
			}
			d.stop, d.kill = func() {}, func() {}
		}
	}
	d.stop, d.kill = end(cancel), end(func() { kill(); cancel() })
}

// dayStore is a store that a day opens.
type dayStore interface {
	desk.Store
	Close() error
}

// inMemory is a store in memory, which outlives the desk.
type inMemory struct{ *desktest.Store }

func (inMemory) Close() error { return nil }

func (d *day) openStore() (dayStore, error) {
	if d.memory != nil {
		return inMemory{d.memory}, nil
	}
	return ledger.Open(d.t.Context(), d.dir, d.floor.now)
}

// draw draws a symbol, its price and a quantity.
func (d *day) draw() (name string, price, quantity decimal.Decimal) {
	all := d.floor.symbols()
	name = all[d.random.IntN(len(all))]
	q, _ := d.floor.LastQuote(market.Symbol{Venue: d.floor.name(), Name: name})
	return name, q.Last, d.floor.size(d.random, q.Last)
}

// request draws an order.
func (d *day) request() order.Request {
	name, price, quantity := d.draw()
	r := order.Request{Symbol: market.Symbol{Name: name}, Side: order.Side(1 + d.random.IntN(2)), Type: order.Market, Quantity: quantity}
	if d.random.IntN(2) == 0 {
		r.Type, r.Price = order.Limit, d.floor.limit(d.random, price)
	}
	if d.random.IntN(3) == 0 {
		r.Key = "key " + strconv.Itoa(d.random.IntN(1000000))
	}
	return r
}

// call places an order, twice at once where it has a key.
func (d *day) call() {
	r, times := d.request(), 1
	if r.Key != "" {
		times = 2
	}
	place := d.Place
	ids := make(chan string, times)
	for range times {
		d.calls.Go(func() {
			o, _ := place(d.t.Context(), caller(), r)
			ids <- o.ID
		})
	}
	d.placed++
	if times == 2 {
		d.calls.Go(func() {
			if a, b := <-ids, <-ids; a != b && a != "" && b != "" {
				d.t.Errorf("one key gave the orders %s and %s", a, b)
			}
		})
	}
}

// cancelOne asks for the end of one of the open orders.
func (d *day) cancelOne() {
	open, err := d.Orders(d.t.Context(), caller(), true)
	if err != nil || len(open) == 0 {
		return
	}
	id, cancel := open[d.random.IntN(len(open))].ID, d.Cancel
	d.calls.Go(func() { _, _ = cancel(d.t.Context(), caller(), id) })
}

// trouble lets something go wrong, now and then.
func (d *day) trouble() {
	if faults := d.floor.faults(); d.random.IntN(3) == 0 {
		f := faults[d.random.IntN(len(faults))]
		// A venue that asks to be left alone for minutes makes for a quiet day.
		if f.RetryAfter == 0 || d.random.IntN(10) == 0 {
			d.floor.next(f)
		}
	}
	if d.steps++; d.steps%longtest.Pick(4, 10) == 0 {
		d.incident()
	}
}

// incident lets one thing happen. Each kind comes before any comes more often than it
// is drawn, so that a short day has all of them.
func (d *day) incident() {
	if len(d.coming) == 0 {
		for kind, times := range longtest.Pick([]int{1, 1, 1, 1, 2}, []int{8, 2, 6, 4, 6}) {
			do := []func(){d.lose, d.disconnect, func() { d.floor.moods(d.random) }, d.restart, d.others}[kind]
			d.coming = append(d.coming, slices.Repeat([]func(){do}, times)...)
		}
		d.random.Shuffle(len(d.coming), func(i, k int) { d.coming[i], d.coming[k] = d.coming[k], d.coming[i] })
	}
	d.coming[0]()
	d.coming = d.coming[1:]
}

// lose ends the stream.
func (d *day) lose() {
	d.floor.drop(d.random)
	d.cuts++
}

// disconnect takes the network away for a while.
func (d *day) disconnect() {
	d.network.SetDown(true)
	time.Sleep(time.Duration(1+d.random.IntN(15)) * time.Second)
	d.network.SetDown(false)
	d.cuts++
}

// restart ends the desk without warning and starts another.
func (d *day) restart() {
	d.kill()
	d.start()
	d.restarts++
}

// others trade on the account.
func (d *day) others() {
	name, price, quantity := d.draw()
	d.foreign += d.floor.elsewhere(d.random, d.foreign, name, quantity, d.floor.limit(d.random, price))
}

// trade goes on for a while.
func (d *day) trade(long time.Duration) {
	d.t.Helper()
	d.floor.stream(fake.StreamFaults{Duplicate: 0.2, Reorder: 0.2, Late: 0.1, Lose: 0.05})
	for start := time.Now(); time.Since(start) < long; time.Sleep(time.Duration(d.random.IntN(8000)) * time.Millisecond) {
		d.trouble()
		d.call()
		if d.random.IntN(3) == 0 {
			d.cancelOne()
		}
		d.unclear = max(d.unclear, d.Status().Uncertain)
	}
}

// rest lets everything come to an end. The longest pause that is made for a venue
// which refuses requests again and again takes five minutes.
func (d *day) rest() {
	d.floor.clear()
	d.calls.Wait()
	time.Sleep(7 * time.Minute)
	// Between two moves of the price, so that nothing happens while books are compared.
	time.Sleep(2*time.Second + 4*time.Second - time.Duration(d.floor.now().UnixNano())%(4*time.Second))
	synctest.Wait()
}

var days = flag.Uint64("days", longtest.Pick[uint64](1, 2), "how many days of trading there are at each venue")

// TestDay holds the books against the venue's after a time in which everything went
// wrong, in the long form half an hour, and again after the venue was wiped.
func TestDay(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*fake.Network, uint64) (floor, func()){"binance": binanceFloor, "alpaca": alpacaFloor} {
		for n := range *days {
			seed := longtest.Seed() + n
			t.Run(fmt.Sprint(name, " ", seed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					network := fake.NewNetwork()
					f, shut := open(network, seed)
					t.Cleanup(shut)
					d := newDay(t, seed, network, f)
					d.trade(longtest.Pick(3*time.Minute, 30*time.Minute))
					d.rest()
					d.equal()
					if d.cuts < 2 || d.restarts == 0 || len(f.fills()) < 10 {
						t.Errorf("an idle day: %d streams or networks lost, %d restarts, %d trades", d.cuts, d.restarts, len(f.fills()))
					}
					t.Logf("%d calls, %d orders at the venue, %d trades, %d streams or networks lost, %d restarts, %d orders from elsewhere, %d unclear at once",
						d.placed, len(f.orders()), len(f.fills()), d.cuts, d.restarts, d.foreign, d.unclear)
					d.trade(longtest.Pick(30*time.Second, 2*time.Minute))
					d.wipe()
					d.trade(longtest.Pick(time.Minute, 5*time.Minute))
					d.accept()
					d.trade(longtest.Pick(time.Minute, 5*time.Minute))
					d.rest()
					d.equal()
					t.Logf("after the wipe %d orders at the venue, %d trades", len(f.orders()), len(f.fills()))
				})
			})
		}
	}
}

// wipe has the venue forget everything, as testnets do.
func (d *day) wipe() {
	d.gone, d.wiped = make(map[string]struct{}), d.floor.now()
	for _, o := range d.floor.orders() {
		d.gone[o.ID] = struct{}{}
	}
	d.floor.wipe()
}

// accept has the owner see that the account is another one, and say that it is fine.
func (d *day) accept() {
	d.t.Helper()
	d.calls.Wait()
	for range 10 {
		s := d.Status().State
		if s.Level() == guard.Reducing && slices.ContainsFunc(s.Restrictions, func(c guard.Restriction) bool { return c.Kind == guard.Mismatch }) {
			if _, err := d.Resume(d.t.Context(), "the owner"); err != nil {
				d.t.Fatal(err)
			}
			d.floor.clear()
			time.Sleep(3 * time.Minute)
			return
		}
		time.Sleep(30 * time.Second)
	}
	d.t.Fatalf("the reset is not reported: %+v", d.Status())
}

// isForeign reports whether an id is one of elsewhere's.
func isForeign(id string) bool { return strings.HasPrefix(id, "web_") }
