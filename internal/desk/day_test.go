package desk_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/shopspring/decimal"

	"candela/internal/broker/binance"
	"candela/internal/config"
	"candela/internal/desk"
	"candela/internal/fake"
	venue "candela/internal/fake/binance"
	"candela/internal/guard"
	"candela/internal/ledger"
	"candela/internal/market"
	"candela/internal/order"
	"candela/internal/upstream"
)

// day is a desk over a real store that trades at a fake Binance, for half an hour
// of virtual time in which everything goes wrong.
type day struct {
	*desk.Desk
	t       *testing.T
	server  *venue.Server
	network *fake.Network
	random  *rand.Rand
	dir     string
	store   *ledger.Ledger
	calls   sync.WaitGroup
	stop    func() // ends the desk as a signal does
	kill    func() // ends it without waiting for anything

	placed, unclear, restarts, cuts, foreign int

	wiped time.Time           // when the venue was
	gone  map[string]struct{} // ids of the orders that it had then
}

// spot is the market of a fake Binance.
type spot struct{ *venue.Server }

func (m spot) Quote(_ context.Context, s market.Symbol) (order.Quote, error) {
	q, _ := m.Last(s)
	return q, nil
}

func (m spot) Last(s market.Symbol) (order.Quote, bool) {
	return order.Quote{Last: m.Price(s.Name), At: time.Now()}, true
}
func (spot) Follow([]market.Symbol) {}
func (spot) Lost() []string         { return nil }

func unlimited() guard.Policy {
	off := guard.Limit{Off: true}
	return guard.Policy{
		Limits: guard.Limits{
			MaxOrderQuantity: off, MaxOrderNotional: off, PriceBandPct: off, RestingBandPct: off, MaxSymbolExposure: off, MaxSymbolOpenOrders: off, AllowShort: true,
		},
		Currencies: []string{"USDT"}, MaxExposure: off, MaxOpenOrders: off, MaxOrdersPerMinute: off, MaxDailyNotional: off, MaxDailyLoss: off,
		MaxQuoteAge: time.Minute, MaxClockSkew: time.Minute,
	}
}

const binanceAddress = "binance.test:80"

func newDay(t *testing.T, seed uint64) *day {
	t.Helper()
	d := &day{
		t: t, network: fake.NewNetwork(), random: rand.New(rand.NewPCG(seed, 9)), dir: t.TempDir(),
		// Books so thin that most orders are filled in parts.
		server: venue.New(venue.Config{Seed: seed, Depth: decimal.New(2, -2)}),
	}
	t.Cleanup(d.network.Serve(binanceAddress, d.server))
	d.start()
	t.Cleanup(func() { d.stop() })
	return d
}

func (d *day) start() {
	d.t.Helper()
	var err error
	if d.store, err = ledger.Open(d.t.Context(), d.dir, time.Now); err != nil {
		d.t.Fatal(err)
	}
	hosts := upstream.NewHosts(d.network.Dial)
	b, err := binance.New(hosts, binance.Config{
		Environment: binance.Testnet, URL: "http://binance.test", Key: config.NewSecret(venue.Key), Secret: config.NewSecret(venue.Secret),
	})
	if err != nil {
		d.t.Fatal(err)
	}
	d.Desk = desk.New(desk.Config{
		Owner: owner, Broker: b, Store: d.store, Market: spot{d.server}, Policy: unlimited(), Assets: true,
		Resolve: func(_ context.Context, s market.Symbol) (market.Symbol, error) {
			s.Venue = "binance"
			return s, nil
		},
		Log: slog.New(slog.DiscardHandler), Now: time.Now, Rand: rand.Float64,
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

// request draws an order: of two symbols, whose orders the venue numbers apart.
func (d *day) request() order.Request {
	name := []string{"BTCUSDT", "BTCUSDT", "ETHUSDT"}[d.random.IntN(3)]
	price := d.server.Price(name)
	r := order.Request{
		Symbol: market.Symbol{Name: name}, Side: order.Side(1 + d.random.IntN(2)), Type: order.Market,
		Quantity: d.size(price),
	}
	if d.random.IntN(2) == 0 {
		r.Type, r.Price = order.Limit, price.Mul(decimal.New(int64(9980+d.random.IntN(40)), -4)).Round(4)
	}
	if d.random.IntN(3) == 0 {
		r.Key = "key " + strconv.Itoa(d.random.IntN(1000000))
	}
	return r
}

// size draws a quantity that takes one to five trades, and is worth enough for the
// venue.
func (d *day) size(price decimal.Decimal) decimal.Decimal {
	return decimal.Max(decimal.New(int64(1000+d.random.IntN(9000)), -5), dec("6").Div(price)).RoundUp(5)
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
			o, err := place(d.t.Context(), caller(), r)
			if err != nil && o.ID == "" {
				ids <- ""
				return
			}
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
	faults := venue.OrderFaults()
	names := slices.Sorted(maps.Keys(faults))
	if d.random.IntN(3) == 0 {
		f := faults[names[d.random.IntN(len(names))]]
		// A venue that asks to be left alone for minutes makes for a quiet day.
		if f.RetryAfter == 0 || d.random.IntN(10) == 0 {
			d.server.Next(f)
		}
	}
	switch d.random.IntN(300) {
	case 0, 1, 2, 3, 4, 5:
		d.server.User.Drop()
		d.cuts++
	case 6, 7:
		d.server.Terminate()
		d.cuts++
	case 8, 9:
		d.network.SetDown(true)
		time.Sleep(time.Duration(1+d.random.IntN(15)) * time.Second)
		d.network.SetDown(false)
		d.cuts++
	case 10, 11, 12, 13, 14, 15:
		d.server.SetLag(time.Duration(d.random.IntN(3)) * time.Second)
	case 16, 17, 18, 19:
		d.kill()
		d.start()
		d.restarts++
	case 20, 21, 22, 23, 24, 25:
		d.elsewhere()
	}
}

// elsewhere trades on the same account from somewhere else.
func (d *day) elsewhere() {
	price := d.server.Price("BTCUSDT").Mul(decimal.New(int64(9990+d.random.IntN(20)), -4)).Round(4)
	side := []string{"BUY", "SELL"}[d.random.IntN(2)]
	if d.server.Place("web_"+strconv.Itoa(d.foreign), "BTCUSDT", side, d.size(price), price) != 0 {
		d.foreign++
	}
	if d.foreign > 2 {
		d.server.Cancel("web_" + strconv.Itoa(d.random.IntN(d.foreign)))
	}
}

// trade goes on for a while, and then lets everything come to rest.
func (d *day) trade(long time.Duration) {
	d.t.Helper()
	d.server.User.Set(fake.StreamFaults{Duplicate: 0.2, Reorder: 0.2, Late: 0.1, Lose: 0.05})
	for start := time.Now(); time.Since(start) < long; time.Sleep(time.Duration(d.random.IntN(8000)) * time.Millisecond) {
		d.trouble()
		d.call()
		if d.random.IntN(3) == 0 {
			d.cancelOne()
		}
		d.unclear = max(d.unclear, d.Status().Uncertain)
	}
}

func (d *day) rest() {
	d.server.Clear()
	d.server.SetLag(0)
	d.server.User.Set(fake.StreamFaults{})
	d.calls.Wait()
	time.Sleep(5 * time.Minute)
	// Between two moves of the price, so that nothing happens while books are compared.
	time.Sleep(2*time.Second + 4*time.Second - time.Duration(time.Now().UnixNano())%(4*time.Second))
	synctest.Wait()
}

var days = flag.Uint64("days", 2, "how many days of trading there are")

// TestDay_OnBinance holds the books against the venue's after half an hour in which
// everything went wrong.
func TestDay_OnBinance(t *testing.T) {
	t.Parallel()
	for seed := range *days {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := newDay(t, seed)
				d.trade(30 * time.Minute)
				d.rest()
				d.equal()
				t.Logf("%d calls, %d orders at the venue, %d trades, %d streams or networks lost, %d restarts, %d orders from elsewhere, %d unclear at once",
					d.placed, len(d.server.Orders()), len(d.server.Trades()), d.cuts, d.restarts, d.foreign, d.unclear)
				d.trade(2 * time.Minute)
				d.wipe()
				d.trade(5 * time.Minute)
				d.accept()
				d.trade(5 * time.Minute)
				d.rest()
				d.equal()
				t.Logf("after the wipe %d orders at the venue, %d trades", len(d.server.Orders()), len(d.server.Trades()))
			})
		})
	}
}

// wipe has the venue forget everything, as testnets do.
func (d *day) wipe() {
	d.gone, d.wiped = make(map[string]struct{}), time.Now()
	for _, o := range d.server.Orders() {
		d.gone[o.ClientID] = struct{}{}
	}
	d.server.Wipe()
}

// accept has the owner see that the venue was wiped, and say that it is fine.
func (d *day) accept() {
	d.t.Helper()
	d.calls.Wait()
	for range 10 {
		if s := d.Status().State; s.Level() == guard.Reducing && strings.Contains(s.Why(), "it was wiped") {
			_, err := d.Resume(d.t.Context(), "the owner")
			if err != nil {
				d.t.Fatal(err)
			}
			d.server.Clear()
			time.Sleep(3 * time.Minute)
			return
		}
		time.Sleep(30 * time.Second)
	}
	d.t.Fatalf("the wipe is not told: %+v", d.Status())
}

// known returns the orders that the venue should have.
func (d *day) known(all []order.Order) []order.Order {
	return slices.DeleteFunc(slices.Clone(all), func(o order.Order) bool {
		_, gone := d.gone[o.ID]
		gone = gone || o.External && o.Created.Before(d.wiped)
		if gone && (!o.Status.Final() || o.Unsettled()) {
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

func statuses() map[string]order.Status {
	return map[string]order.Status{
		"NEW": order.Accepted, "PARTIALLY_FILLED": order.PartiallyFilled, "FILLED": order.Filled, "CANCELED": order.Canceled, "EXPIRED": order.Expired,
	}
}

// equalOrders wants each order once at the venue, in the same state, and those that
// are not there to have ended with nothing. What was placed elsewhere may be known
// by its trades alone.
func (d *day) equalOrders(all []order.Order) {
	d.t.Helper()
	ours, theirs := make(map[string]order.Order), make(map[string]decimal.Decimal)
	for _, o := range all {
		if name := o.Symbol.Name + " " + o.VenueID; o.External {
			theirs[name] = theirs[name].Add(o.Filled)
		} else {
			ours[o.ID] = o
		}
	}
	for _, o := range d.server.Orders() {
		have, known := ours[o.ClientID]
		name := o.Symbol + " " + strconv.FormatInt(o.ID, 10)
		switch {
		case strings.HasPrefix(o.ClientID, "web_"):
			if !theirs[name].Equal(o.Executed) {
				d.t.Errorf("of the order %+v from elsewhere %s is known", o, theirs[name])
			}
			delete(theirs, name)
		case !known:
			d.t.Errorf("the desk does not know %+v, or it is there twice", o)
		case have.Status != statuses()[o.Status] || !have.Filled.Equal(o.Executed) || !have.Cost.Equal(o.Quote) || have.Doubtful() || have.Behind():
			d.t.Errorf("order %s is %v with %s for %s here, and %s with %s for %s at the venue (%s)", have.ID, have.Status, have.Filled, have.Cost, o.Status, o.Executed, o.Quote, have.Doubt)
			d.tell(have.ID)
		}
		delete(ours, o.ClientID)
	}
	for _, o := range ours {
		if !o.Status.Final() || !o.Filled.IsZero() {
			d.t.Errorf("order %s is %v with %s, and the venue never took it", o.ID, o.Status, o.Filled)
			d.tell(o.ID)
		}
	}
	if len(theirs) > 0 {
		d.t.Errorf("the venue has no such orders from elsewhere: %v", theirs)
	}
}

// equalTrades wants each trade once, with its fee, positions that follow from them,
// and balances that follow from the positions.
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
	held, cash := map[string]decimal.Decimal{}, map[string]decimal.Decimal{}
	trades := d.server.Trades()
	for _, tr := range trades {
		side := order.Sell
		if tr.Buyer {
			side = order.Buy
		}
		f, ok := known[order.Fill{Symbol: market.Symbol{Venue: "binance", Name: tr.Symbol}, TradeID: strconv.FormatInt(tr.ID, 10), Side: side}.Key()]
		if !ok || !f.Quantity.Equal(tr.Quantity) || !f.Price.Equal(tr.Price) || !f.Fee.Equal(tr.Fee) || f.FeeAsset != tr.FeeAsset {
			d.t.Errorf("trade %+v is known as %+v", tr, f)
		}
		signed := tr.Quantity.Mul(decimal.NewFromInt(side.Sign()))
		held[tr.Symbol], cash[tr.Symbol] = held[tr.Symbol].Add(signed), cash[tr.Symbol].Sub(signed.Mul(tr.Price))
	}
	if len(known) != len(trades) {
		d.t.Errorf("%d trades are known, the venue has %d", len(known), len(trades))
	}
	book := d.book()
	for name, quantity := range held {
		p := book.Position(market.Symbol{Venue: "binance", Name: name})
		mark := d.server.Price(name)
		if !p.Quantity.Equal(quantity) || !p.Cash().Equal(cash[name]) || !p.Realised.Add(p.Unrealised(mark)).Equal(cash[name].Add(quantity.Mul(mark))) {
			d.t.Errorf("%s: %s held and %s of cash here, %s and %s at the venue", name, p.Quantity, p.Cash(), quantity, cash[name])
		}
	}
	d.equalBalances(book)
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

func (d *day) equalBalances(book *order.Book) {
	d.t.Helper()
	want := map[string]decimal.Decimal{"USDT": dec("100000"), "USDC": dec("100000"), "BTC": dec("2"), "ETH": dec("20")}
	for _, p := range book.Positions() {
		base := p.Symbol.Name[:3]
		want[base], want["USDT"] = want[base].Add(p.Quantity), want["USDT"].Add(p.Cash())
		for asset, fee := range p.Fees {
			want[asset] = want[asset].Sub(fee)
		}
	}
	for asset, b := range d.server.Balances() {
		if !b.Free.Add(b.Locked).Equal(want[asset]) {
			d.t.Errorf("the venue has %s %s, the books make it %s", b.Free.Add(b.Locked), asset, want[asset])
		}
	}
}

// tell writes down what became of an order.
func (d *day) tell(id string) {
	d.t.Helper()
	for e, err := range d.store.OrderEvents(d.t.Context(), owner) {
		if err == nil && e.OrderID == id {
			d.t.Logf("  %s %v %s (%s) external %v %v", e.At.Format("15:04:05.000"), e.Kind, e.Reason, e.VenueID, e.Origin != nil && e.Origin.External, e.Fill)
		}
	}
}

// equalStore wants the rows of the store, and its events replayed, to be what the
// desk shows.
func (d *day) equalStore(all []order.Order) {
	d.t.Helper()
	stored, err := d.store.Orders(d.t.Context(), owner, len(all))
	if err != nil {
		d.t.Fatal(err)
	}
	byID := cmpopts.SortSlices(func(a, b order.Order) bool { return a.ID < b.ID })
	if diff := cmp.Diff(all, stored, cmpopts.EquateEmpty(), byID); diff != "" {
		d.t.Errorf("the store has other orders:\n%s", diff)
	}
	if diff := cmp.Diff(all, d.book().Newest(len(all)), cmpopts.EquateEmpty()); diff != "" {
		d.t.Errorf("replay differs:\n%s", diff)
	}
}
