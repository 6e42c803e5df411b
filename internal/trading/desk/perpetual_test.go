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
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/paper"
	"candela/internal/trading/broker/paper/papertest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

func perpetual() provider.Instrument {
	inst := papertest.BTCUSDT()
	inst.Symbol.Name, inst.Class, inst.Settle = "BTCUSDT.P", provider.Perpetual, "USDT"
	return inst
}

// perpetualMarket has the prices of the desk's market, and the rules of a perpetual future.
type perpetualMarket struct{ *world }

func (m perpetualMarket) Quote(ctx context.Context, s market.Symbol) (order.Quote, error) {
	return m.market.Quote(ctx, s)
}

func (perpetualMarket) Instrument(ctx context.Context, s market.Symbol) (provider.Instrument, error) {
	return papertest.NewMarket(perpetual()).Instrument(ctx, s)
}

// onPerp is a world whose venue is a paper account with a perpetual future.
type onPerp struct {
	*onPaper
	rates atomic.Pointer[[]provider.Funding] // nil for none
}

// inPerp runs a test in such a world, with a leverage of 5.
func inPerp(t *testing.T, test func(p *onPerp)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &onPerp{onPaper: &onPaper{world: newWorld(t), journal: &papertest.Journal{}}}
		p.assets, p.world.paper = false, true
		p.policy.AllowShort, p.policy.MaxLeverage = true, guard.Limit{Value: dec("5")}
		p.policy.MaxSymbolExposure, p.policy.MaxOrderNotional = guard.Limit{Off: true}, guard.Limit{Off: true}
		p.policy.MaxExposure, p.policy.MaxDailyNotional, p.policy.MaxDailyLoss = guard.Limit{Off: true}, guard.Limit{Off: true}, guard.Limit{Off: true}
		p.market.Set(perpetual().Symbol, order.Quote{Last: dec("50000")})
		p.open()
		defer func() { p.stop() }()
		time.Sleep(2 * time.Second)
		test(p)
	})
}

// open starts venue and desk over what was left.
func (p *onPerp) open() {
	p.t.Helper()
	b := paper.New(paper.Config{
		Journal: p.journal, Market: perpetualMarket{p.world}, Rates: paper.Usual(), Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Cash:     map[string]decimal.Decimal{"USDT": dec("100000")},
		Leverage: func(s market.Symbol) decimal.Decimal { return p.policy.For(s).MaxLeverage.Value },
		Funding: func(_ context.Context, _ market.Symbol, from, to time.Time) ([]provider.Funding, error) {
			var found []provider.Funding
			all := p.rates.Load()
			if all == nil {
				return nil, nil
			}
			for _, r := range *all {
				if r.At.After(from) && !r.At.After(to) {
					found = append(found, r)
				}
			}
			return found, nil
		},
	})
	if err := b.Load(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	p.paper, p.broker = b, b
	p.start()
}

// bar sends a bar that begins after all earlier ones, and lets the desk hear of it.
func (p *onPerp) bar(open, high, low, last float64) {
	p.minutes++
	p.paper.Observe(provider.Event{
		Sub: provider.Sub{Symbol: perpetual().Symbol, Interval: market.Minute1}, Kind: provider.Closed, At: time.Now().Add(time.Hour),
		Bar: market.Bar{T: time.Now().Unix() + 60*p.minutes, O: open, H: high, L: low, C: last, V: 1000},
	}, provider.Clock{})
	p.market.Set(perpetual().Symbol, order.Quote{Last: decimal.NewFromFloat(last)})
	time.Sleep(3 * time.Second)
}

func short(quantity string) order.Request {
	r := buy(quantity)
	r.Symbol.Name, r.Side = "BTCUSDT.P", order.Sell
	return r
}

// guarded is a short with a stop and a target.
func guarded(quantity string) order.Request {
	r := short(quantity)
	r.Protect = order.Protection{StopLoss: dec("52000"), TakeProfit: dec("45000")}
	return r
}

// cover buys a part of a short back.
func cover(quantity string) order.Request {
	r := short(quantity)
	r.Side, r.ReduceOnly = order.Buy, true
	return r
}

func (p *onPerp) held() decimal.Decimal {
	return p.store.Book(owner).Position(perpetual().Symbol).Quantity
}

func (p *onPerp) wantFlat() {
	p.t.Helper()
	if held := p.held(); !held.IsZero() {
		p.t.Errorf("%v are held", held)
	}
}

func TestPerpetual_ShortBracket(t *testing.T) {
	t.Parallel()
	inPerp(t, func(p *onPerp) {
		p.wants(p.placed(guarded("0.5")).Order, order.Filled)
		time.Sleep(2 * time.Second)
		p.stops("0.5")
		positions, err := p.Positions(p.t.Context(), caller())
		if err != nil || positions[0].Margin == nil || positions[0].Side() != order.Sell {
			t.Fatalf("%+v %v", positions, err)
		}
		if price, distance, ok := positions[0].Liquidation(); !ok || !price.Equal(dec("59731.07")) || !distance.Equal(dec("19.46")) {
			t.Errorf("liquidation at %v, %v %%", price, distance)
		}
		// A part is bought back: the rest has legs of its size.
		p.wants(p.place(cover("0.2")), order.Filled)
		time.Sleep(2 * time.Second)
		p.stops("0.3")
		// The process ends and starts again.
		p.stop()
		p.open()
		time.Sleep(5 * time.Second)
		p.stops("0.3")
		p.level(guard.Active)
		// A stop that is nearer, and one that is wider.
		tighter := cover("0.3")
		tighter.Protect.StopLoss = dec("51500")
		p.placed(tighter)
		time.Sleep(2 * time.Second)
		p.stops("0.3")
		wider := tighter
		wider.Protect.StopLoss = dec("53000")
		if _, err := p.Place(p.t.Context(), caller(), wider); fault.Of(err) == nil || !strings.Contains(fault.Of(err).Message, "allow_wider_stop") {
			t.Errorf("a wider stop: %v", err)
		}
		// A halt keeps what protects.
		if _, err := p.Halt(p.t.Context(), "me", "lunch"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		p.stopsOpen("0.3")
		p.bar(50000, 51600, 49900, 51000)
		p.wantFlat()
		time.Sleep(5 * time.Second)
		p.stopsOpen("0")
		if trades := p.store.Book(owner).Trades(); len(trades) != 2 || trades[0].Reason != order.ByStop {
			t.Errorf("%+v", trades)
		}
	})
}

// stopsOpen holds how much the open stops on paper close.
func (p *onPerp) stopsOpen(quantity string) {
	p.t.Helper()
	open, err := p.paper.Open(p.t.Context())
	sum := dec("0")
	for _, r := range open {
		if r.IsStop() && r.Status != order.Held {
			sum = sum.Add(r.Quantity.Sub(r.Filled))
		}
	}
	if err != nil || !sum.Equal(dec(quantity)) {
		p.t.Errorf("stops close %v, want %s: %v", sum, quantity, err)
	}
}

func TestPerpetual_TrailAndTargetOfAShort(t *testing.T) {
	t.Parallel()
	inPerp(t, func(p *onPerp) {
		r := short("0.5")
		r.Protect = order.Protection{TrailPercent: dec("2"), TakeProfit: dec("44000")}
		p.placed(r)
		time.Sleep(2 * time.Second)
		p.bar(50000, 50000, 47000, 47500)
		p.wants(p.place(cover("0.1")), order.Filled) // the trail goes on from its best price
		time.Sleep(2 * time.Second)
		p.stopsOpen("0.4")
		p.stop()
		p.open()
		time.Sleep(5 * time.Second)
		p.stopsOpen("0.4")
		p.bar(47500, 47950, 47400, 47900) // 2 % above 47,000
		p.wantFlat()
		p.level(guard.Active)
		p.placed(r)
		time.Sleep(2 * time.Second)
		p.bar(47900, 47950, 43900, 44100)
		p.wantFlat()
		if trades := p.store.Book(owner).Trades(); trades[0].Reason != order.ByTarget {
			t.Errorf("%+v", trades[0])
		}
		time.Sleep(5 * time.Second)
		p.stopsOpen("0")
	})
}

func TestPerpetual_LiquidatedWhileTheDeskIsDown(t *testing.T) {
	t.Parallel()
	for _, down := range []bool{false, true} {
		inPerp(t, func(p *onPerp) {
			p.wants(p.place(short("0.5")), order.Filled)
			time.Sleep(2 * time.Second)
			p.bar(50000, 57500, 49900, 57000) // 4.8 % before it
			if !p.restricted(guard.NearEnd) {
				t.Errorf("near its liquidation: %+v", p.Status().State.Restrictions)
			}
			p.bar(57000, 57000, 50000, 50000)
			if p.restricted(guard.NearEnd) {
				t.Errorf("far from its liquidation: %+v", p.Status().State.Restrictions)
			}
			if down {
				p.stop()
				p.paper.Observe(provider.Event{
					Sub: provider.Sub{Symbol: perpetual().Symbol}, Kind: provider.Marked, Price: 60000, At: time.Now(),
				}, provider.Clock{})
				p.open()
				time.Sleep(20 * time.Second)
			} else {
				p.bar(50000, 60000, 49900, 59000)
			}
			p.wantFlat()
			if !p.restricted(guard.Liquidated) {
				t.Errorf("%+v", p.Status().State.Restrictions)
			}
			p.level(guard.Halted)
			trades := p.store.Book(owner).Trades()
			if len(trades) != 1 || trades[0].Reason != order.ByLiquidation {
				t.Fatalf("%+v", trades)
			}
			// The margin is gone, and nothing else: what was lost and the fee are the margin and the entry's fee.
			holdings, err := p.paper.Holdings(p.t.Context())
			if err != nil || !holdings[0].Quantity.Equal(dec("94990.00625")) {
				t.Errorf("%+v %v", holdings, err)
			}
			positions, err := p.Positions(p.t.Context(), caller())
			if err != nil || len(positions) != 0 {
				t.Errorf("%+v %v", positions, err)
			}
			if _, err := p.Resume(p.t.Context(), "me"); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Minute)
			p.level(guard.Active)
		})
	}
}

func TestPerpetual_FundingIsRecordedOnce(t *testing.T) {
	t.Parallel()
	inPerp(t, func(p *onPerp) {
		p.wants(p.place(short("0.5")), order.Filled)
		p.rates.Store(&[]provider.Funding{{At: time.Now().Add(30 * time.Second), Rate: 0.0001, Mark: 50000}, {At: time.Now().Add(2 * time.Hour), Rate: -0.0002, Mark: 50000}})
		time.Sleep(3 * time.Minute)
		want := func(funding string) {
			t.Helper()
			if got := p.store.Book(owner).Position(perpetual().Symbol).Funding; !got.Equal(dec(funding)) {
				t.Errorf("funding is %v, want %s", got, funding)
			}
		}
		want("-2.5")
		p.stop()
		time.Sleep(3 * time.Hour)
		p.open()
		time.Sleep(3 * time.Minute)
		want("2.5")
		account, err := p.Account(p.t.Context(), caller())
		if err != nil || !account.Earned[len(account.Earned)-1].Funding.Equal(dec("2.5")) {
			t.Errorf("%+v %v", account.Earned, err)
		}
		p.level(guard.Active)
	})
}

// TestPerpetual_FundingOfNothing has a funding time at which nobody pays: nothing is recorded of it, however often it is read.
func TestPerpetual_FundingOfNothing(t *testing.T) {
	t.Parallel()
	inPerp(t, func(p *onPerp) {
		p.wants(p.place(short("0.5")), order.Filled)
		p.rates.Store(&[]provider.Funding{{At: time.Now().Add(30 * time.Second), Mark: 50000}})
		time.Sleep(time.Hour)
		recorded := 0
		for _, e := range p.store.Audit() {
			if e.Event.Kind == order.KindFunded {
				recorded++
			}
		}
		if recorded != 0 {
			t.Errorf("%d payments of nothing are recorded", recorded)
		}
	})
}

func TestPerpetual_RefusedWithoutLeverage(t *testing.T) {
	t.Parallel()
	inPerp(t, func(p *onPerp) {
		p.stop()
		p.policy.MaxLeverage = guard.Limit{}
		p.open()
		time.Sleep(2 * time.Second)
		before := p.journal.Appends()
		for _, r := range []order.Request{short("0.1"), guarded("0.1"), cover("0.1")} {
			if _, err := p.Place(p.t.Context(), caller(), r); fault.Of(err) == nil || !strings.Contains(fault.Of(err).Message, "max_leverage") {
				t.Errorf("%+v: %v", r, err)
			}
		}
		if p.journal.Appends() != before {
			t.Error("the account heard of them")
		}
	})
}

// TestPerpetual_ApprovalSaysWhatIsAtStake holds that the owner is asked with the margin and the liquidation that a dry
// run of the same order names.
func TestPerpetual_ApprovalSaysWhatIsAtStake(t *testing.T) {
	t.Parallel()
	inPerp(t, func(p *onPerp) {
		dry := guarded("0.5")
		dry.DryRun = true
		tried := p.placed(dry).Estimate
		p.policy.Approval.Above = guard.Limit{Value: dec("1000")}
		p.stop()
		p.open()
		time.Sleep(2 * time.Second)
		o := p.placed(guarded("0.5")).Order
		p.wants(o, order.PendingApproval)
		text := func(s *order.Stake) string { return s.Text(decimal.Decimal.String, decimal.Decimal.String) }
		const want = "margin 5000 at 5x, liquidation at 59760.95, 19.52 % away"
		if got := o.Approval.Stake; got == nil || text(got) != want || text(tried.Stake()) != want {
			t.Errorf("%+v, a dry run says %+v", got, tried.Stake())
		}
		p.stop()
		p.open()
		all, err := p.Pending(p.t.Context())
		if err != nil || len(all) != 1 || all[0].Approval.Stake == nil || text(all[0].Approval.Stake) != want {
			t.Errorf("after a restart: %+v %v", all, err)
		}
	})
}

// modedPaper is a paper account at a venue whose owner chooses how positions are held.
type modedPaper struct {
	*paper.Broker
	modes atomic.Pointer[order.Modes] // nil while the venue does not answer
	asked atomic.Int64
}

func (m *modedPaper) Modes(context.Context, market.Symbol) (order.Modes, error) {
	m.asked.Add(1)
	if modes := m.modes.Load(); modes != nil {
		return *modes, nil
	}
	return order.Modes{}, broker.ErrNotSent
}

// TestPerpetual_ModesOfTheAccount holds that no position opens while the account holds positions in another way than
// the rules count with, or while nobody knows how; that what closes passes; and that a change counts within a minute.
func TestPerpetual_ModesOfTheAccount(t *testing.T) {
	t.Parallel()
	inPerp(t, func(p *onPerp) {
		m := &modedPaper{Broker: p.paper}
		p.stop()
		p.broker = m
		p.start()
		time.Sleep(2 * time.Second)
		denied := func(want string) {
			t.Helper()
			_, err := p.Place(p.t.Context(), caller(), guarded("0.1"))
			if f := fault.Of(err); f == nil || !strings.Contains(f.Message, "account_mode") || !strings.Contains(f.Message, want) {
				p.t.Errorf("%v, want %s", err, want)
			}
		}
		denied("the venue does not say it")
		m.modes.Store(&order.Modes{Leverage: dec("5")})
		p.wants(p.placed(guarded("0.5")).Order, order.Filled)
		asked := m.asked.Load()
		m.modes.Store(&order.Modes{Hedged: true, Leverage: dec("10"), Change: "the venue's page"})
		time.Sleep(time.Minute)
		denied("hedge mode instead of one-way mode, a leverage of 10 instead of at most 5 in binance:BTCUSDT.P. Only its owner changes that, at the venue: the venue's page.")
		p.wants(p.place(cover("0.2")), order.Filled)
		m.modes.Store(nil)
		p.wants(p.place(cover("0.1")), order.Filled)
		m.modes.Store(&order.Modes{Leverage: dec("3")})
		time.Sleep(time.Minute)
		p.wants(p.place(short("0.1")), order.Filled)
		p.wants(p.place(short("0.11")), order.Filled)
		if n := m.asked.Load() - asked; n != 2 {
			p.t.Errorf("the venue was asked %d times for two changes", n)
		}
	})
}
