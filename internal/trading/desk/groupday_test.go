package desk_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/fake"
	"candela/internal/testkit/longtest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// groupDay is a day of groups: entries with stops and targets, pairs, stops that trail and
// stops that are moved, while requests fail, events are lost and the desk dies.
type groupDay struct {
	*day
	floor  groupFloor
	story  *story
	count  map[string]int // what was done
	faults atomic.Int32   // that a request met
	bare   time.Time      // since when a position has neither its stop nor a restriction
}

// story is what happened, in one order: the steps of a test and the log of the desk.
type story struct {
	mu   sync.Mutex
	text bytes.Buffer
	now  func() time.Time
}

// Write adds a line of the desk's log.
func (s *story) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *story) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(&s.text, "%s %s\n", s.now().Format("15:04:05.000"), fmt.Sprintf(format, args...))
}

// shorten leaves the time of a log record out of its date.
func shorten(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
		return slog.Attr{}
	}
	return a
}

// TestDay_Groups holds after half an hour of groups in which everything went wrong, in the
// short form three minutes, that orders, legs, trades, positions, balances and what is reserved
// are the venue's, and that no position lacks its stop unless a restriction says so. Then all
// is closed, and nothing stays open.
func TestDay_Groups(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*fake.Network, uint64) (groupFloor, func()){"binance": binanceGroups, "alpaca": alpacaGroups} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := range longtest.Pick(*days, 10) {
				seed := longtest.Seed() + n
				t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						network := fake.NewNetwork()
						f, shut := open(network, seed)
						t.Cleanup(shut)
						runGroupDay(t, seed, network, f)
					})
				})
			}
		})
	}
}

func runGroupDay(t *testing.T, seed uint64, network *fake.Network, f groupFloor) { //nolint:thelper // it is the test
	d := &groupDay{day: openDay(t, seed, network, f), floor: f, story: &story{now: f.now}, count: make(map[string]int)}
	d.log = slog.New(slog.NewTextHandler(d.story, &slog.HandlerOptions{ReplaceAttr: shorten, Level: slog.LevelInfo}))
	d.policy.PriceBandPct = guard.Limit{Value: dec("5")}
	if seed%2 == 1 {
		d.policy.OnUnprotected = guard.UnprotectedExit
	}
	required := d.policy.Limits
	required.RequireStop = guard.StopAlways
	d.policy.Symbols = map[market.Symbol]guard.Limits{{Venue: f.name(), Name: f.guarded()}: required}
	defer func() {
		if t.Failed() {
			t.Logf("seed %d; what happened:\n%s", seed, d.story.text.String())
		}
	}()
	d.start()
	time.Sleep(2 * time.Second)
	d.live(longtest.Pick(3*time.Minute, 30*time.Minute))
	d.settle()
	d.compare()
	d.busy()
	d.close()
}

// live trades for a while, and on until enough has happened.
func (d *groupDay) live(long time.Duration) {
	d.floor.stream(fake.StreamFaults{Duplicate: 0.2, Reorder: 0.2, Late: 0.1, Lose: 0.05})
	for start := time.Now(); time.Since(start) < long || time.Since(start) < 10*long && d.tally().missing() != ""; {
		d.trouble()
		d.act()
		d.watch()
		time.Sleep(time.Duration(500+d.random.IntN(longtest.Pick(2500, 5000))) * time.Millisecond)
	}
}

// trouble lets something go wrong, now and then.
func (d *groupDay) trouble() {
	if faults := d.floor.faults(); d.random.IntN(4) == 0 {
		// A venue that asks to be left alone for minutes makes for a quiet day.
		if f := faults[d.random.IntN(len(faults))]; f.RetryAfter == 0 || d.random.IntN(20) == 0 {
			d.arm(f)
		}
	}
	if d.random.IntN(6) == 0 {
		if text := d.floor.quirk(d.random, d.open()); text != "" {
			d.did("quirk", "%s", text)
		}
	}
	if d.steps++; d.steps%longtest.Pick(6, 15) != 0 {
		return
	}
	switch d.random.IntN(4) {
	case 0:
		d.did("cut", "the stream is lost")
		d.lose()
	case 1:
		d.did("cut", "the network is down")
		d.disconnect()
		d.story.note("the network is up")
	default:
		d.did("restart", "the desk dies")
		d.restart()
	}
}

// arm lets the next order or cancel fail, and counts when it does.
func (d *groupDay) arm(f fake.Fault) {
	on, text := f.On, fmt.Sprintf("status %d, %.40q, hang %v, done %v", f.Status, f.Body, f.Hang || f.Stall, !f.Skip && !f.Hang)
	f.On = func(r *http.Request) bool {
		if !on(r) {
			return false
		}
		d.faults.Add(1)
		d.story.note("%s %s fails: %s", r.Method, r.URL.Path, text)
		return true
	}
	d.floor.next(f)
}

// did counts and notes something.
func (d *groupDay) did(what, format string, args ...any) {
	d.count[what]++
	d.story.note(format, args...)
}

// act does one thing.
func (d *groupDay) act() {
	if d.restricted(d.floor.guarded()) && d.random.IntN(8) == 0 {
		d.exit(d.floor.guarded()) // as an owner does who is notified
		return
	}
	switch n := d.random.IntN(20); {
	case n < 6:
		d.enter()
	case n < 8:
		d.buy()
	case n < 11:
		d.protect()
	case n < 13:
		d.move()
	case n < 14:
		d.exit([]string{d.floor.guarded(), d.floor.plain()}[d.random.IntN(2)])
	case n < 15:
		d.drop()
	case n < 17:
		d.part()
	default:
		d.push()
	}
}

// open returns the orders that the desk has as open.
func (d *groupDay) open() []order.Order {
	open, err := d.Orders(d.t.Context(), caller(), true)
	if err != nil {
		return nil
	}
	return open
}

// pick returns one of the open orders that pass.
func (d *groupDay) pick(pass func(order.Order) bool) (order.Order, bool) {
	open := slices.DeleteFunc(d.open(), func(o order.Order) bool { return !pass(o) })
	if len(open) == 0 {
		return order.Order{}, false
	}
	return open[d.random.IntN(len(open))], true
}

func (d *groupDay) symbol(name string) market.Symbol {
	return market.Symbol{Venue: d.floor.name(), Name: name}
}

func (d *groupDay) price(name string) decimal.Decimal {
	q, _ := d.floor.LastQuote(d.symbol(name))
	return q.Last
}

// off returns a price that is some tenths of a per cent away, up or down.
func (d *groupDay) off(price decimal.Decimal, sign int64, least, most int) decimal.Decimal {
	share := decimal.New(sign*int64(least+d.random.IntN(most-least+1)), -3)
	return d.floor.tick(price.Add(price.Mul(share)))
}

// place places an order and does not wait for it.
func (d *groupDay) place(what string, r order.Request) {
	r.Symbol.Venue = d.floor.name()
	d.count[what]++
	place := d.Place
	d.story.note("%s: %v %v %v %s at %v, stop %v, legs %+v, replaces %s", what, r.Side, r.Type, r.Quantity, r.Symbol.Name, r.Price, r.StopPrice, r.Protect, r.Replaces)
	d.calls.Go(func() {
		p, err := place(d.t.Context(), caller(), r)
		d.story.note("%s is %s: %v %v", what, p.ID, p.Status, err)
	})
}

// enter places an entry with legs.
func (d *groupDay) enter() {
	name := d.floor.guarded()
	if n := len(slices.DeleteFunc(d.open(), func(o order.Order) bool { return o.Symbol.Name != name || !o.IsStop() })); n > 3 {
		return // a venue takes only so many stops
	}
	last := d.price(name)
	r := order.Request{Symbol: market.Symbol{Name: name}, Side: order.Buy, Type: order.Market, Quantity: d.floor.lot(d.random, name)}
	held := d.floor.held(name)
	if d.floor.shorts() && (held.IsNegative() || held.IsZero() && d.random.IntN(2) == 0 || d.random.IntN(10) == 0) {
		r.Side = order.Sell
	}
	worst := last
	if d.random.IntN(2) == 0 {
		r.Type, r.Price = order.Limit, d.off(last, 1-2*int64(d.random.IntN(2)), 0, 3)
		worst = r.Price
	}
	low, high := decimal.Min(worst, last), decimal.Max(worst, last)
	r.Protect.StopLoss = d.off(low, -1, 3, 12)
	target := d.off(high, 1, 3, 12)
	if r.Side == order.Sell {
		r.Protect.StopLoss, target = d.off(high, 1, 3, 12), d.off(low, -1, 3, 12)
	}
	if d.floor.trails() && d.random.IntN(4) == 0 {
		r.Protect.StopLoss, r.Protect.TrailPercent = decimal.Zero, decimal.New(int64(5+d.random.IntN(15)), -1)
	}
	if d.random.IntN(3) > 0 {
		r.Protect.TakeProfit = target
	}
	d.place("entry", r)
}

// buy places an order without legs.
func (d *groupDay) buy() {
	r := order.Request{Symbol: market.Symbol{Name: d.floor.plain()}, Side: order.Buy, Type: order.Market, Quantity: d.floor.lot(d.random, d.floor.plain())}
	if d.random.IntN(3) == 0 {
		r.Type, r.Price = order.Limit, d.off(d.price(d.floor.plain()), -1, 0, 3)
	}
	d.place("purchase", r)
}

// protect places a stop, a stop that trails or a pair for what is held without one.
func (d *groupDay) protect() {
	name := d.floor.plain()
	if d.random.IntN(5) == 0 {
		name = d.floor.guarded()
	}
	free := d.floor.whole(d.floor.held(name).Abs().Sub(d.stops(name)))
	if !free.IsPositive() {
		return
	}
	last, way := d.price(name), int64(-1)
	r := order.Request{Symbol: market.Symbol{Name: name}, Side: order.Sell, Type: order.Market, Quantity: free, ReduceOnly: true}
	if d.floor.held(name).IsNegative() {
		r.Side, way = order.Buy, 1
	}
	what := "stop"
	switch r.Protect.StopLoss = d.off(last, way, 3, 12); d.random.IntN(4) {
	case 0:
		what, r.Protect.StopLoss, r.Protect.TrailPercent = "trail", decimal.Zero, decimal.New(int64(5+d.random.IntN(15)), -1)
	case 1, 2:
		what, r.Protect.TakeProfit = "pair", d.off(last, -way, 3, 12)
	}
	d.place(what, r)
}

// move moves a stop nearer to the market, or to where it trails.
func (d *groupDay) move() {
	o, ok := d.pick(func(o order.Order) bool { return o.IsStop() && o.ReduceOnly && !o.Waiting })
	if !ok {
		return
	}
	last := d.price(o.Symbol.Name)
	r := order.Request{Symbol: o.Symbol, Side: o.Side, Type: order.Market, Quantity: o.Remaining(), ReduceOnly: true, Replaces: o.ID}
	r.Protect.StopLoss, r.Protect.TrailPercent = o.StopPrice, o.TrailPercent
	if o.TrailPercent.IsPositive() {
		r.Protect.StopLoss = decimal.Zero
		r.Protect.TrailPercent = decimal.Max(o.TrailPercent.Sub(dec("0.1")), dec("0.2"))
	} else if next := d.floor.tick(o.StopPrice.Add(last.Sub(o.StopPrice).Mul(dec("0.4")))); next.IsPositive() {
		r.Protect.StopLoss = next
	}
	for _, other := range d.open() {
		if other.Role == order.TakeProfit && other.Group.Name != "" && other.Group.Name == o.Group.Name {
			r.Protect.TakeProfit = other.Price
		}
	}
	d.place("move", r)
}

// exit closes a part of a position or all of it.
func (d *groupDay) exit(name string) {
	held := d.floor.held(name)
	r := order.Request{Symbol: market.Symbol{Name: name}, Side: order.Sell, Type: order.Market, ReduceOnly: true, Quantity: held.Abs()}
	if held.IsNegative() {
		r.Side = order.Buy
	}
	if d.random.IntN(2) == 0 {
		r.Quantity = r.Quantity.Div(dec("2"))
	}
	if r.Quantity = d.floor.whole(r.Quantity); r.Quantity.IsPositive() {
		d.place("exit", r)
	}
}

// drop cancels an order, most often an entry.
func (d *groupDay) drop() {
	all := d.random.IntN(4) == 0
	o, ok := d.pick(func(o order.Order) bool { return all || o.Role == order.Entry })
	if !ok {
		return
	}
	if d.random.IntN(4) == 0 && o.Role == order.Entry {
		d.did("expiry", "the venue ends %s", o.ID)
		d.floor.expire(o)
		return
	}
	d.did("cancel", "cancel the %v %s", o.Role, o.ID)
	cancel := d.Cancel
	d.calls.Go(func() {
		o, err := cancel(d.t.Context(), caller(), o.ID)
		d.story.note("the cancel of %s: %v %v", o.ID, o.Status, err)
	})
}

// part fills a part of an entry or target.
func (d *groupDay) part() {
	o, ok := d.pick(func(o order.Order) bool { return !o.IsStop() && o.VenueID != "" && !o.Waiting })
	if !ok {
		return
	}
	quantity := o.Remaining().Div(decimal.NewFromInt(int64(1 + d.random.IntN(3))))
	d.did("part", "fill %v of the %v %s", quantity, o.Role, o.ID)
	d.floor.trade(o, quantity)
}

// push moves the price to a stop or a target, or anywhere near, and lets go of it later.
func (d *groupDay) push() {
	name := []string{d.floor.guarded(), d.floor.plain()}[d.random.IntN(2)]
	price := d.off(d.price(name), 1-2*int64(d.random.IntN(2)), 0, 15)
	stops := d.random.IntN(2) == 0
	o, ok := d.pick(func(o order.Order) bool {
		return o.Symbol.Name == name && !o.Waiting && (stops && o.StopPrice.IsPositive() || !stops && o.Role == order.TakeProfit)
	})
	if ok && d.random.IntN(4) > 0 {
		level, way := o.Price, o.Side.Sign() // a purchase waits for a lower price
		if o.StopPrice.IsPositive() {
			level, way = o.StopPrice, -way
		}
		price = d.floor.tick(level.Mul(decimal.New(10000-10*way, -4)))
	}
	d.did("push", "the price of %s goes to %v", name, price)
	d.floor.shove(name, price)
	time.Sleep(time.Duration(500+d.random.IntN(4000)) * time.Millisecond)
	d.floor.shove(name, decimal.Zero)
	d.story.note("the price of %s is %v again", name, d.price(name))
}

// tally is how much happened on a day.
type tally struct {
	groups, orders, fills, stops, targets, faults int
	did                                           map[string]int
}

func (d *groupDay) tally() tally {
	t := tally{groups: d.floor.groups(), orders: len(d.floor.orders()), fills: len(d.floor.fills()), faults: int(d.faults.Load()), did: d.count}
	for _, o := range d.book().Orders() {
		switch {
		case o.Filled.IsZero():
		case o.IsStop(), o.Role == order.StopLoss: // or candela sold what the stop missed
			t.stops++
		case o.Role == order.TakeProfit:
			t.targets++
		}
	}
	return t
}

// missing returns what happened too rarely, "" if nothing did.
func (t tally) missing() string {
	var few []string
	for what, c := range map[string]struct{ n, short, long int }{
		"group": {t.groups, 4, 30}, "order": {t.orders, 15, 100}, "fill": {t.fills, 8, 80}, "stop filled": {t.stops, 1, 8}, "target filled": {t.targets, 1, 5},
		"failed request": {t.faults, 4, 50}, "cut": {t.did["cut"], 1, 8}, "restart": {t.did["restart"], 1, 8},
	} {
		if c.n < longtest.Pick(c.short, c.long) {
			few = append(few, fmt.Sprint(c.n, " of ", what))
		}
	}
	for _, what := range []string{"entry", "purchase", "stop", "trail", "pair", "move", "exit", "cancel", "expiry", "part", "push", "quirk"} {
		if t.did[what] < longtest.Pick(0, 1) {
			few = append(few, "no "+what)
		}
	}
	return strings.Join(few, ", ")
}

// busy refuses a day on which too little happened.
func (d *groupDay) busy() {
	d.t.Helper()
	t := d.tally()
	d.t.Logf("%d groups, %d orders, %d fills, %d stops and %d targets filled, %d requests failed, done: %v", t.groups, t.orders, t.fills, t.stops, t.targets, t.faults, t.did)
	if few := t.missing(); few != "" {
		d.t.Errorf("too little happened: %s", few)
	}
}

func (d *groupDay) all() []order.Order {
	d.t.Helper()
	all, err := d.Orders(d.t.Context(), caller(), false)
	if err != nil {
		d.t.Fatal(err)
	}
	return all
}

// causes lists the restrictions.
func (d *groupDay) causes() string {
	var all []string
	for _, r := range d.Status().State.Restrictions {
		all = append(all, string(r.Kind)+" "+r.Subject+" ("+r.Reason+")")
	}
	return strings.Join(all, "; ")
}
