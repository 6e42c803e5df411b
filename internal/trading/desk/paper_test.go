package desk_test

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/kit/principal"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/broker/paper"
	"candela/internal/trading/broker/paper/papertest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// onPaper is a world whose venue is the paper broker. Its journal outlives it.
type onPaper struct {
	*world
	journal *papertest.Journal
	paper   *paper.Broker
	minutes int64 // fed
}

// paperMarket has the prices of the desk's market, and the rules of BTCUSDT.
type paperMarket struct{ *world }

func (m paperMarket) Quote(ctx context.Context, s market.Symbol) (order.Quote, error) {
	return m.market.Quote(ctx, s)
}

func (paperMarket) Instrument(ctx context.Context, s market.Symbol) (provider.Instrument, error) {
	return papertest.NewMarket(papertest.BTCUSDT()).Instrument(ctx, s)
}

func newPaper(t *testing.T) *onPaper {
	t.Helper()
	p := &onPaper{world: newWorld(t), journal: &papertest.Journal{}}
	p.assets, p.world.paper = false, true
	p.market.Set(papertest.BTCUSDT().Symbol, order.Quote{Last: dec("50000")})
	p.open()
	return p
}

// open starts venue and desk over what was left.
func (p *onPaper) open() {
	p.t.Helper()
	b := paper.New(paper.Config{
		Journal: p.journal, Market: paperMarket{p.world}, Rates: paper.Usual(), Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Cash: map[string]decimal.Decimal{"USDT": dec("100000")},
	})
	if err := b.Load(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	p.paper, p.broker = b, b
	p.start()
}

// feed sends a bar that begins after all earlier ones.
func (p *onPaper) feed(low string, volume float64) {
	l, _ := dec(low).Float64()
	p.minutes++
	p.paper.Observe(provider.Event{
		Sub: provider.Sub{Symbol: papertest.BTCUSDT().Symbol, Interval: market.Minute1}, Kind: provider.Closed, At: time.Now().Add(time.Hour),
		Bar: market.Bar{T: time.Now().Unix() + 60*p.minutes, O: 50000, H: 50000, L: l, C: 50000, V: volume},
	}, provider.Clock{})
}

func TestPaper_EndToEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPaper(t)
		defer func() { p.stop() }()
		time.Sleep(2 * time.Second)
		p.wants(p.place(buy("0.5")), order.Filled)
		o := p.place(limit("0.5", "49000"))
		p.wants(o, order.Accepted)
		p.feed("48000", 0.2)
		synctest.Wait()
		p.wants(p.order(o.ID), order.PartiallyFilled)
		p.stop()
		p.feed("48000", 0.1) // the venue lives on without a desk
		p.open()
		time.Sleep(5 * time.Second)
		if got := p.order(o.ID); !got.Filled.Equal(dec("0.3")) || len(got.Fills) != 2 {
			t.Errorf("the desk missed a fill: %+v", got)
		}
		p.level(guard.Active)
		positions, err := p.Positions(t.Context(), caller())
		if err != nil || len(positions) != 1 || !positions[0].Quantity.Equal(dec("0.8")) {
			t.Errorf("%+v %v", positions, err)
		}
		short := buy("0.9")
		short.Side = order.Sell
		if _, err := p.Place(t.Context(), caller(), short); fault.Of(err) == nil || !strings.Contains(fault.Of(err).Message, "allow_short") {
			t.Errorf("a short sale: %v", err)
		}
		if _, err := p.Place(t.Context(), caller(), buy("9")); fault.Of(err) == nil || fault.Of(err).Code != "order_rejected" {
			t.Errorf("more than there is cash for: %v", err)
		}
	})
}

// TestPaper_TheStopOfAnEntryThatWaits holds that an entry cannot lose its stop before it is
// filled while require_stop stands: paper cancels legs one by one.
func TestPaper_TheStopOfAnEntryThatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPaper(t)
		defer func() { p.stop() }()
		p.stop()
		p.policy.RequireStop = guard.StopAlways
		p.open()
		time.Sleep(2 * time.Second)
		entry := p.placed(bracket(limit("0.5", "49000")))
		stop, target := entry.Legs[0].ID, entry.Legs[1].ID
		if _, err := p.Cancel(t.Context(), caller(), stop); fault.Of(err) == nil || fault.Of(err).Code != "last_stop" || !strings.Contains(err.Error(), entry.ID) {
			t.Errorf("the cancel of its stop: %v", err)
		}
		if _, err := p.Cancel(t.Context(), caller(), target); err != nil {
			t.Errorf("the cancel of its target: %v", err)
		}
		p.wants(p.order(stop), order.Held)
		if o, err := p.Cancel(t.Context(), caller(), entry.ID); err != nil || o.Status != order.Canceled {
			t.Errorf("the cancel of the entry: %v, %v", o.Status, err)
		}
	})
}

// TestPaper_TheStopIsKept holds that no order strips a position of its stop or widens it while
// require_stop stands, and that exits at the market pass.
func TestPaper_TheStopIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPaper(t)
		defer func() { p.stop() }()
		p.stop()
		p.policy.RequireStop = guard.StopAlways
		p.open()
		time.Sleep(2 * time.Second)
		entry := buy("0.1")
		entry.Protect.StopLoss = dec("49000")
		stop := p.placed(entry).Legs[0].ID
		exit := order.Request{Symbol: entry.Symbol, Side: order.Sell, Type: order.Market, Quantity: dec("0.1"), ReduceOnly: true}
		trail, target, rests, far, opens := exit, exit, exit, exit, exit
		trail.Protect.TrailPercent, trail.Replaces = dec("15"), stop
		target.Protect.TakeProfit = dec("55000")
		rests.Type, rests.Price = order.Limit, dec("52000")
		far.StopPrice = dec("48000")
		opens.ReduceOnly, opens.StopPrice, opens.Replaces = false, dec("48000"), stop
		for rule, r := range map[string]order.Request{"allow_wider_stop: trail_percent": trail, "allow_wider_stop: stop_price": far, "Say reduce_only true": opens} {
			if _, err := p.Place(t.Context(), caller(), r); err == nil || !strings.Contains(err.Error(), rule) {
				t.Errorf("%s: %v", rule, err)
			}
		}
		p.wants(p.order(stop), order.Accepted)
		for _, r := range []order.Request{target, rests} { // a target beside the stop
			placed := p.placed(r)
			p.wants(placed.Order, order.Accepted)
			if len(placed.Legs) != 1 || !placed.Legs[0].StopPrice.Equal(dec("49000")) {
				t.Errorf("beside the target are %+v", placed.Legs)
			}
			stop = placed.Legs[0].ID
		}
		nearer := exit
		nearer.Protect.StopLoss, nearer.Replaces = dec("49500"), stop
		moved := p.placed(nearer)
		p.wants(moved.Order, order.Accepted)
		if len(moved.Legs) != 1 || !moved.Legs[0].Price.Equal(dec("52000")) {
			t.Errorf("beside the stop are %+v", moved.Legs)
		}
		p.wants(p.place(exit), order.Filled)
	})
}

func TestPaper_AccountHasCashAndTheUseOfLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPaper(t)
		defer func() { p.stop() }()
		time.Sleep(2 * time.Second)
		p.wants(p.place(buy("0.1")), order.Filled)
		p.wants(p.place(limit("0.1", "49000")), order.Accepted)
		time.Sleep(5 * time.Second)
		a, err := p.Account(t.Context(), caller())
		if err != nil || a.Mode != order.Paper || a.State.Level() != guard.Active || a.Unread != "" || len(a.Rules) == 0 || len(a.Balances) != 2 {
			t.Fatalf("%+v, %v", a, err)
		}
		cash, held := a.Balances[0], a.Balances[1]
		if !cash.Cash || cash.Asset != "USDT" || !cash.Quantity.GreaterThan(dec("94900")) || !cash.Quantity.LessThanOrEqual(dec("95000")) || !cash.Available.LessThanOrEqual(dec("90100")) {
			t.Errorf("cash: %+v", cash)
		}
		if held.Cash || held.Symbol != papertest.BTCUSDT().Symbol || !a.Equity.Equal(cash.Quantity.Add(held.Quantity.Mul(dec("50000")))) {
			t.Errorf("held: %+v, equity %v", held, a.Equity)
		}
		used := make(map[string]decimal.Decimal)
		for _, u := range a.Usage {
			used[u.Rule] = u.Used
		}
		if !used["max_open_orders"].Equal(dec("1")) || !used["max_orders_per_minute"].Equal(dec("2")) || !used["max_daily_notional"].GreaterThanOrEqual(dec("9900")) || used["max_exposure"].IsZero() {
			t.Errorf("used: %v", used)
		}
		if _, err := p.Account(t.Context(), principal.Caller{Subject: "another"}); err == nil {
			t.Error("another owner sees the account")
		}
	})
}

// TestPaper_TakesOverPositions begins on an account that holds something.
func TestPaper_TakesOverPositions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPaper(t)
		defer func() { p.stop() }()
		time.Sleep(2 * time.Second)
		p.place(buy("0.5"))
		p.stop()
		p.store = newWorld(t).store // another desk, which knows nothing
		p.open()
		time.Sleep(10 * time.Second)
		positions, err := p.Positions(t.Context(), caller())
		if err != nil || len(positions) != 1 || !positions[0].Quantity.Equal(dec("0.5")) || !positions[0].Unrealised(dec("50000")).IsZero() {
			t.Errorf("%+v %v", positions, err)
		}
		p.level(guard.Active)
		time.Sleep(2 * time.Minute)
		p.level(guard.Active)
		sell := buy("0.5")
		sell.Side = order.Sell
		p.wants(p.place(sell), order.Filled)
	})
}

// TestPaper_Mismatch has a venue that counts positions and lost one.
func TestPaper_Mismatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPaper(t)
		defer func() { p.stop() }()
		time.Sleep(2 * time.Second)
		p.place(buy("0.5"))
		p.stop()
		p.journal = &papertest.Journal{}
		p.open()
		time.Sleep(20 * time.Second)
		p.level(guard.Reducing)
		if why := p.Status().State.Explain(); !strings.Contains(why, "the venue holds 0 of binance:BTCUSDT, the known trades sum to 0.5") {
			t.Error(why)
		}
		if _, err := p.Resume(t.Context(), "owner"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		p.level(guard.Active)
	})
}

// skewed is a venue whose clock differs.
type skewed struct {
	*brokertest.Memory
	skew atomic.Int64
}

func (s *skewed) Skew(context.Context) (time.Duration, error) {
	return time.Duration(s.skew.Load()), nil
}

func TestClockSkew_Reduces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		venue := &skewed{Memory: w.venue}
		venue.skew.Store(int64(-1100 * time.Millisecond))
		w.broker = venue
		w.start()
		defer func() { w.stop() }()
		time.Sleep(5 * time.Second)
		w.level(guard.Reducing)
		venue.skew.Store(int64(900 * time.Millisecond))
		time.Sleep(time.Minute)
		w.level(guard.Active)
	})
}

// TestForeign_TradesCount finds trades of orders that were placed elsewhere and
// were over before anybody listened.
func TestForeign_TradesCount(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.place(buy("0.5"))
		w.stop()
		elsewhere := order.Spec{ID: "e1", Symbol: brokertest.MemorySymbol(), Side: order.Buy, Type: order.Market, Quantity: dec("0.25")}
		w.venue.Place(elsewhere)
		rests := order.Spec{ID: "e2", Symbol: brokertest.MemorySymbol(), Side: order.Buy, Type: order.Limit, Quantity: dec("0.4"), Price: dec("49000")}
		w.venue.Place(rests)
		w.venue.Trade("e2", dec("0.1"))
		w.start()
		time.Sleep(2 * time.Minute) // wait for late reports
		held := func(want string) {
			w.t.Helper()
			p, err := w.Positions(w.t.Context(), caller())
			if err != nil || len(p) != 1 || !p[0].Quantity.Equal(dec(want)) {
				w.t.Errorf("%+v %v, want %s", p, err, want)
			}
		}
		held("0.85")
		w.venue.Drop()
		w.venue.Trade("e2", dec("0.1"))
		if _, err := w.venue.Cancel(w.t.Context(), rests.Handle()); err != nil {
			w.t.Fatal(err)
		}
		time.Sleep(2 * time.Minute) // wait for late reports
		held("0.95")
		w.level(guard.Active)
		open, err := w.Orders(w.t.Context(), caller(), true)
		if err != nil || len(open) != 0 {
			w.t.Errorf("open are %+v, %v", open, err)
		}
		w.stop()
		w.start()
		time.Sleep(2 * time.Minute) // wait for late reports
		held("0.95")                // nothing counts twice
	})
}

// TestPaper_ARiskIsSizedWithinTheCash holds that a quantity that follows from a risk can be paid
// for: the dry run and the order have the same, and the order fills.
func TestPaper_ARiskIsSizedWithinTheCash(t *testing.T) {
	t.Parallel()
	for name, risk := range map[string]order.Sizing{"an amount": {Amount: dec("2000")}, "a percentage": {Percent: dec("2")}} {
		synctest.Test(t, func(t *testing.T) {
			p := newPaper(t)
			defer func() { p.stop() }()
			time.Sleep(2 * time.Second)
			p.place(limit("0.5", "49000")) // reserves some of the cash
			r := buy("0")
			r.Sizing, r.Protect.StopLoss, r.DryRun = risk, dec("49940"), true
			dry, err := p.Place(t.Context(), caller(), r)
			if err != nil || dry.Estimate == nil || dry.Estimate.CappedBy != "cash" || !dry.Estimate.Quantity.Equal(dec("1.43619")) {
				t.Fatalf("%s: the dry run is %+v, %v", name, dry.Estimate, err)
			}
			r.DryRun = false
			placed, err := p.Place(t.Context(), caller(), r)
			if err != nil || placed.Status != order.Filled || !placed.Quantity.Equal(dry.Estimate.Quantity) || placed.Estimate.CappedBy != "cash" {
				t.Errorf("%s: the order is %+v, %v", name, placed, err)
			}
		})
	}
}

// TestPaper_ExitLeavesDust holds that a sale passes that leaves less than the venue trades: its rest can
// get no stop.
func TestPaper_ExitLeavesDust(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPaper(t)
		defer func() { p.stop() }()
		entry := buy("0.1")
		entry.Protect.StopLoss = dec("49000")
		p.placed(entry)
		p.wants(p.place(order.Request{Symbol: entry.Symbol, Side: order.Sell, Type: order.Market, Quantity: dec("0.09999"), ReduceOnly: true}), order.Filled)
	})
}
