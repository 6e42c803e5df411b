package deskproxy_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/internal/store/replica/deskproxy"
	"candela/internal/store/replica/orders"
	"candela/internal/store/replica/replicatest"
	fakebinance "candela/internal/testkit/fake/binance"
	"candela/internal/trading/deploy"
	"candela/internal/trading/desk"
	"candela/internal/trading/order"
	"candela/lib/backtest"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/pine"
	"candela/lib/pine/eval"
)

var _ deskproxy.Strategies = (*termStrategies)(nil)

// flipping buys at one bar and sells at the next.
const flipping = `//@version=6
strategy("flip", initial_capital = 100000, default_qty_type = strategy.fixed, default_qty_value = 0.01)
if strategy.position_size == 0
    strategy.entry("L", strategy.long)
else
    strategy.close_all()`

// closedBars are bars of which the first ones have closed. They close when they are delivered.
type closedBars struct {
	mu     sync.Mutex
	closed []market.Bar
}

func (v *closedBars) Closed(_ context.Context, _ market.Symbol, _ market.Interval, from int64) ([]market.Bar, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	i, _ := slices.BinarySearchFunc(v.closed, from, func(b market.Bar, t int64) int { return int(b.T - t) })
	return slices.Clone(v.closed[i:]), nil
}

func (v *closedBars) Newest(context.Context, market.Symbol, market.Interval) (int64, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.closed[len(v.closed)-1].T, nil
}

func (*closedBars) Follow([]deploy.Sub) {}

// next closes another bar at a price.
func (v *closedBars) next(price decimal.Decimal) market.Bar {
	v.mu.Lock()
	defer v.mu.Unlock()
	p := price.InexactFloat64()
	b := market.Bar{T: 1_700_000_100 + int64(len(v.closed))*300, O: p, H: p, L: p, C: p, V: 1}
	v.closed = append(v.closed, b)
	return b
}

// Program compiles a script. Its bars close now, so that none is late.
func (*closedBars) Program(_ context.Context, _ principal.Owner, t *deploy.Terms) (deploy.Made, error) {
	checked, found := pine.Check(t.Program.Script, nil)
	if checked == nil {
		return deploy.Made{}, fmt.Errorf("%v", found)
	}
	return deploy.Made{
		Program: &backtest.Script{
			Program: checked.Program, Tick: 0.01, Step: t.Step.InexactFloat64(), Paper: &backtest.PaperCosts{Commission: 0.1, Slippage: 0.05},
			Env: eval.Env{Interval: t.Interval, Limits: eval.AlertLimits()},
		},
		Tick: t.Tick, Step: t.Step, Closes: func(int64) time.Time { return time.Now() },
	}, nil
}

// terms are those of a strategy that flips.
func (v *closedBars) terms() deploy.Terms {
	return deploy.Terms{
		Program: deploy.Program{Script: flipping}, Symbol: market.Symbol{Venue: "binance", Name: "BTCUSDT"}, Interval: market.Minute5, Quote: "USDT",
		Account: deploy.Account{Capital: decimal.NewFromInt(100_000), Size: deploy.SizeScript, FeeBps: decimal.NewFromInt(10), SlipBps: decimal.NewFromInt(5)},
		Tick:    decimal.New(1, -2), Step: decimal.New(1, -5), From: v.closed[0].T, First: v.closed[0].T, Engine: backtest.Engine,
	}
}

var flipSub = deploy.Sub{Symbol: market.Symbol{Venue: "binance", Name: "BTCUSDT"}, Interval: market.Minute5}

// seenJournal is a journal that lets a test stop at an append of a bar with intents.
type seenJournal struct {
	*orders.Store
	at atomic.Pointer[func(appended bool)] // called before and after such an append; nil for nothing
}

func (j *seenJournal) AppendJournal(ctx context.Context, owner principal.Owner, name string, entries [][]byte) error {
	at := j.at.Load()
	if at == nil || !bytes.Contains(entries[len(entries)-1], []byte(`"kind":"bar",`)) {
		return j.Store.AppendJournal(ctx, owner, name, entries)
	}
	(*at)(false)
	err := j.Store.AppendJournal(ctx, owner, name, entries)
	(*at)(true)
	return err
}

func (j *seenJournal) Journal(ctx context.Context, owner principal.Owner, name string) iter.Seq2[[]byte, error] {
	return j.Store.Journal(ctx, owner, name)
}

// newDeployments returns deployments that trade through a desk.
func newDeployments(v *closedBars, journal deploy.Journal, at deploy.Desk) *deploy.Deployments {
	return deploy.New(deploy.Config{
		Owner: accountName, Journal: journal, Programs: v, Bars: v, Log: replicatest.Quiet(), Now: time.Now,
		Brokers: map[deploy.Stage]deploy.Broker{deploy.Live: {Desk: at, Account: accountName}},
	})
}

// termStrategies are the strategies of a replica.
type termStrategies struct {
	own     atomic.Pointer[deploy.Deployments]
	journal atomic.Pointer[seenJournal]
}

func (s *termStrategies) open(v *closedBars, store *orders.Store, at *desk.Desk) {
	j := &seenJournal{Store: store}
	s.journal.Store(j)
	s.own.Store(newDeployments(v, j, at))
}

func (s *termStrategies) Run(ctx, hard context.Context) error {
	return s.own.Load().Run(ctx, hard, func() {})
}

func (s *termStrategies) Ask(ctx context.Context, _ principal.Owner, a deploy.Ask) (deploy.Answer, error) {
	return s.own.Load().Answer(ctx, a)
}

// ask asks at a replica.
func (f *tradeCluster) ask(r *trader, a deploy.Ask) deploy.Deployment {
	f.t.Helper()
	var out deploy.Answer
	var err error
	replicatest.Eventually(f.t, a.Act+" is answered", func() bool {
		out, err = r.AskStrategies(f.t.Context(), accountName, a)
		return err == nil || !retryable(err)
	})
	if err != nil || len(out.Deployments) != 1 {
		f.t.Fatalf("%s at %s: %+v %v", a.Act, r.name, out, err)
	}
	return out.Deployments[0]
}

// close closes another bar at every replica.
func (f *tradeCluster) close() market.Bar {
	b := f.bars.next(f.Price("BTCUSDT"))
	for _, r := range f.replicas {
		if own := r.strategies.own.Load(); own != nil {
			own.Deliver(flipSub, b)
		}
	}
	return b
}

// TestStrategies_RunAtTheTradingReplica proposes, starts, shows and stops a strategy at replicas that do not trade. The
// replica that runs it is killed between the record of a bar and its order: another one goes on, and each order that was
// wanted is placed once.
func TestStrategies_RunAtTheTradingReplica(t *testing.T) {
	t.Parallel()
	f := newStrategyCluster(t)
	trading := f.steady()
	aside := f.others(trading)[0]
	made := f.ask(aside, deploy.Ask{Act: deploy.AskPropose, By: "agent", Proposal: &deploy.Deployment{Name: "flip", Terms: f.bars.terms()}})
	begun := deploy.Ask{Act: deploy.AskStart, By: "owner", Name: made.ID, Stage: deploy.Live, Limits: deploy.Limits{Cap: decimal.NewFromInt(1_000_000)}}
	if d := f.ask(aside, begun); d.State != deploy.Running || d.Account != accountName {
		t.Fatalf("%+v", d)
	}
	if _, err := aside.AskStrategies(t.Context(), accountName, begun); err == nil {
		t.Error("it starts twice")
	}
	for range 4 {
		f.computed(f.close())
	}
	killed := make(chan struct{})
	stop := func(appended bool) {
		if appended {
			trading.conn.Close() // so that it cannot announce its departure
			close(killed)
		}
	}
	at := trading.strategies.journal.Load()
	at.at.Store(&stop)
	last := f.close()
	<-killed
	f.replicas = f.others(trading)
	next := f.trading()
	f.computed(last)
	if d := f.ask(f.others(next)[0], deploy.Ask{Act: deploy.AskGet, Name: "flip"}); d.State != deploy.Running || d.Terms.Program.Script != flipping || len(d.Recent()) < 5 {
		t.Errorf("after the takeover: %+v with %d intents", d, len(d.Recent()))
	}
	f.computed(f.close())
	f.ordersOfBars(next, made.ID)
	if d := f.ask(f.others(next)[0], deploy.Ask{Act: deploy.AskStop, By: "owner", Name: "flip", Close: true}); d.State != deploy.Stopping && d.State != deploy.Stopped {
		t.Errorf("%+v", d)
	}
}

func newStrategyCluster(t *testing.T) *tradeCluster {
	t.Helper()
	f := &tradeCluster{bars: &closedBars{}}
	f.begin(t, replicatest.Servers())
	for range 30 {
		f.bars.next(f.Price("BTCUSDT"))
	}
	return f
}

// computed waits until the strategy has recorded a bar, and its account has followed.
func (f *tradeCluster) computed(b market.Bar) {
	f.t.Helper()
	replicatest.Eventually(f.t, "the strategy has computed a bar", func() bool {
		out, err := f.replicas[0].AskStrategies(f.t.Context(), accountName, deploy.Ask{Act: deploy.AskList})
		if err != nil || len(out.Deployments) != 1 {
			return false
		}
		d := out.Deployments[0]
		if d.Through < b.T || d.Model == nil {
			return false
		}
		book, err := f.replicas[0].AskStrategies(f.t.Context(), accountName, deploy.Ask{Act: deploy.AskBook, Name: d.ID})
		return err == nil && book.Held.Sub(d.Model.Target).Abs().LessThan(decimal.New(1, -3)) // fees are taken from what is bought
	})
}

// ordersOfBars demands that each intent has one order at most, that the venue has each once, and that all were placed.
func (f *tradeCluster) ordersOfBars(at *trader, id string) {
	f.t.Helper()
	all, err := at.Orders(f.t.Context(), owner(), false)
	if err != nil {
		f.t.Fatal(err)
	}
	keys, filled := make(map[string]string), 0
	for _, o := range all {
		if o.Deployment != id {
			continue
		}
		if other := keys[o.Key]; other != "" {
			f.t.Errorf("%s and %s have the key %s", o.ID, other, o.Key)
		}
		if keys[o.Key] = o.ID; o.Status == order.Filled {
			filled++
		}
	}
	venue := f.Orders()
	for i, o := range venue {
		if slices.ContainsFunc(venue[:i], func(other fakebinance.Order) bool { return other.ClientID == o.ClientID }) {
			f.t.Errorf("the venue has %s twice", o.ClientID)
		}
	}
	if filled != 6 || len(venue) != 6 {
		f.t.Errorf("%d orders are filled and the venue has %d, of 6 that were wanted", filled, len(venue))
	}
}

func retryable(err error) bool { f := fault.Of(err); return f != nil && f.Retryable }
