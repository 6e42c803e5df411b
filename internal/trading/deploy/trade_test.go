package deploy_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/kit/principal"
	"candela/internal/testkit/longtest"
	"candela/internal/trading/broker/paper"
	"candela/internal/trading/broker/paper/papertest"
	"candela/internal/trading/deploy"
	"candela/internal/trading/desk"
	"candela/internal/trading/desk/desktest"
	"candela/internal/trading/drift"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// account is a paper account with a desk, in virtual time.
type account struct {
	*desk.Desk
	broker *paper.Broker
	prices *desktest.Market
	venue  *papertest.Market
	stop   func()
}

// unlimited is a policy that lets a strategy trade whatever its model does.
func unlimited() guard.Policy {
	policy, off := guard.Default(), guard.Limit{Off: true}
	policy.MaxOrderNotional, policy.MaxSymbolExposure, policy.MaxExposure, policy.RestingBandPct, policy.MaxDailyNotional, policy.PriceBandPct = off, off, off, off, off, off
	policy.MaxDailyLoss, policy.MinStopDistancePct, policy.AllowWiderStop = off, off, true
	return policy
}

// openAccount starts a desk with a paper account that has 100,000.
func openAccount(t *testing.T) *account {
	t.Helper()
	a := &account{prices: &desktest.Market{}, venue: papertest.NewMarket(papertest.BTCUSDT())}
	a.broker = paper.New(paper.Config{
		Journal: &papertest.Journal{}, Market: a.venue, Rates: paper.Usual(), Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Cash: map[string]decimal.Decimal{"USDT": decimal.NewFromInt(100_000)},
	})
	if err := a.broker.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.Desk = desk.New(desk.Config{
		Owner: owner, Broker: a.broker, Store: desktest.NewStore(), Market: a.prices, Policy: unlimited(), Simulated: true,
		Resolve: func(_ context.Context, s market.Symbol) (market.Symbol, error) { return s, nil },
		Log:     slog.New(slog.DiscardHandler), Now: time.Now, Rand: rand.Float64,
	})
	ctx, stop := context.WithCancel(t.Context())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- a.Run(ctx, ctx, func() { close(ready) }) }()
	<-ready
	a.stop = func() { stop(); <-done }
	return a
}

// price sets the price of now.
func (a *account) price(x float64) {
	q := order.Quote{Last: decimal.NewFromFloat(x), At: time.Now()}
	a.prices.Set(papertest.BTCUSDT().Symbol, q)
	a.venue.Set(papertest.BTCUSDT().Symbol, q)
}

// smooth makes bars that open where the one before closed, the first of them before now.
func smooth(n, before int, seed uint64) []market.Bar {
	r := rand.New(rand.NewPCG(seed, 9))
	cents := func(x float64) float64 { return math.Round(x*100) / 100 }
	bars, last := make([]market.Bar, n), 100.0
	first := time.Now().Unix() - int64(before)*300
	for i := range bars {
		o := last
		c := cents(max(20, o+r.NormFloat64()))
		bars[i] = market.Bar{T: first + int64(i)*300, O: o, H: cents(max(o, c) + r.Float64()), L: cents(min(o, c) - r.Float64()), C: c, V: 1000}
		last = c
	}
	return bars
}

// dying is a desk whose user is killed at some of its calls, before or after they are carried out.
type dying struct {
	deploy.Desk
	at    func(call int) (before, after bool)
	calls int
	kill  func()
	dead  atomic.Bool
}

// mayKill takes what kills the process that begins.
func (d *dying) mayKill(stop func()) {
	d.kill = func() { d.dead.Store(true); stop() }
}

func (d *dying) Place(ctx context.Context, by principal.Caller, r order.Request) (order.Placed, error) {
	before, after := d.at(d.calls)
	if d.calls++; before {
		d.kill()
		return order.Placed{}, context.Canceled
	}
	placed, err := d.Desk.Place(ctx, by, r)
	if after {
		d.kill()
		return order.Placed{}, context.Canceled
	}
	return placed, err
}

// traded is what a run over bars came to.
type traded struct {
	fills                    []string // each with its time and price
	closes, same, less, held int
	kills                    int
	drift                    deploy.Drift
}

// tradeOver lets a strategy trade on the paper account over bars, killed at some calls of its desk. At each close its
// book is what its model will hold at the next open, or less, and never on the other side.
func tradeOver(t *testing.T, n int, at func(call int) (before, after bool)) (out traded) {
	t.Helper()
	const begun = 120
	a := openAccount(t)
	defer a.stop()
	j, v := newJournals(), &venue{bars: smooth(n, begun, 4), closed: begun}
	a.price(v.bars[begun-1].C)
	time.Sleep(2 * time.Second)
	through := &dying{Desk: a.Desk, at: at}
	cfg := config(j, v, time.Now)
	cfg.Desk, cfg.Highest = through, deploy.Paper
	p := startWith(t, cfg, through.mayKill)
	terms := termsOf(v, 60)
	terms.Symbol = papertest.BTCUSDT().Symbol
	d, err := p.Propose(t.Context(), "agent", deploy.Deployment{Name: "x", Terms: terms})
	if err == nil {
		d, err = p.Start(t.Context(), "owner", d.ID, deploy.Paper, &deploy.Limits{Cap: decimal.NewFromInt(20_000)})
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := begun; i < n; i++ {
		b := v.bars[i]
		time.Sleep(time.Until(time.Unix(b.T+300, 0)))
		a.broker.Observe(provider.Event{Sub: provider.Sub{Symbol: terms.Symbol, Interval: market.Minute5}, Kind: provider.Closed, Bar: b, Price: b.C, At: time.Now()}, provider.Clock{})
		a.price(b.C)
		synctest.Wait()
		v.close(i + 1)
		p.Deliver(deploy.Sub{Symbol: terms.Symbol, Interval: market.Minute5}, b)
		now, err := p.Synced(t.Context(), d.ID)
		for err != nil || through.dead.Load() {
			p.kill()
			out.kills++
			through.dead.Store(false)
			p = startWith(t, cfg, through.mayKill)
			now, err = p.Synced(t.Context(), d.ID)
		}
		if now.State != deploy.Running || now.Through != b.T {
			t.Fatalf("%+v", now)
		}
		_, has, err := a.DeploymentBook(t.Context(), d.ID, terms.Symbol)
		if err != nil {
			t.Fatal(err)
		}
		target := now.Model.Target
		switch out.closes++; {
		case has.IsNegative() || has.GreaterThan(target):
			t.Fatalf("bar %d: the book has %s, the model %s", i, has, target)
		case has.Equal(target):
			out.same++
		default:
			out.less++ // a stop whose price has passed at the close, or an entry that a rule denied
		}
		if !has.IsZero() {
			out.held++
		}
	}
	all, err := a.Orders(t.Context(), desk.DeploymentCaller(owner, d.ID, "x"), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		for _, f := range o.Fills {
			out.fills = append(out.fills, fmt.Sprintf("%s %s %s at %s", f.At.Format(time.DateTime), f.Side, f.Quantity, f.Price))
		}
	}
	slices.Sort(out.fills)
	out.drift = checkDrift(t, a, p.Deployments, d.ID)
	p.kill()
	return out
}

// checkDrift compares a strategy with its account: what it wanted is computed again, and the steps from the model to the
// account add up to what the desk says that it earned.
func checkDrift(t *testing.T, a *account, of *deploy.Deployments, id string) deploy.Drift {
	t.Helper()
	got, v, err := of.Drift(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	book, _, err := a.DeploymentBook(t.Context(), id, v.Terms.Symbol)
	if err != nil {
		t.Fatal(err)
	}
	p := book.Position(v.Terms.Symbol)
	earned, _ := p.Net(v.Terms.Quote)
	earned = earned.Add(p.Quantity.Mul(got.Mark)).Sub(p.Cost)
	steps := decimal.Zero
	for _, s := range got.Steps {
		steps = steps.Add(s.Amount)
	}
	if got.Different != "" || got.Intents != v.Intents || got.Revised > 0 || !got.Account.Sub(earned).Round(8).IsZero() || !got.Held.Equal(p.Quantity) || !steps.Equal(got.Gap) {
		t.Errorf("%+v: earned %s, held %s, steps %s", got, earned, p.Quantity, steps)
	}
	return got
}

// TestTrade_BookFollowsTheModel lets a strategy trade on the paper account, and kills it before and after calls of the
// desk: its fills are those of a run that is not killed, and none is doubled.
func TestTrade_BookFollowsTheModel(t *testing.T) {
	t.Parallel()
	run := func(t *testing.T, at func(call int) (before, after bool)) (out traded) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) { out = tradeOver(t, longtest.Pick(180, 600), at) })
		return out
	}
	whole := run(t, func(int) (before, after bool) { return false, false })
	if whole.held < 8 || len(whole.fills) < 8 || whole.less > whole.closes/20 {
		t.Errorf("of %d closes %d are equal, at %d the book has less; %d with a position, %d fills", whole.closes, whole.same, whole.less, whole.held, len(whole.fills))
	}
	// At equal costs the account differs only where another order of the strategy filled within a bar.
	if is := whole.drift; is.Entries < 3 || len(is.Causes) > 0 || len(is.Steps) > 1 || len(is.Steps) == 1 && is.Steps[0].Name != drift.Path {
		t.Errorf("%+v", is)
	}
	for name, most := range map[string]int{"before": 0, "before or after": 1} {
		if name == "before" && !longtest.On() {
			continue
		}
		r := rand.New(rand.NewPCG(longtest.Seed(), 11))
		at := func(int) (before, after bool) {
			if r.IntN(2) > 0 {
				return false, false
			}
			after = r.IntN(most+1) > 0
			return !after, after
		}
		got := run(t, at)
		if got.kills < 3 || !slices.Equal(got.fills, whole.fills) {
			t.Errorf("killed %d times %s a call: %d fills, not %d", got.kills, name, len(got.fills), len(whole.fills))
			for i := range min(len(got.fills), len(whole.fills)) {
				if got.fills[i] != whole.fills[i] {
					t.Errorf("%s, not %s", got.fills[i], whole.fills[i])
				}
			}
		}
	}
}
