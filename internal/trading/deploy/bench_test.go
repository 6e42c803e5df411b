package deploy_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/internal/store/ledger"
	"candela/internal/trading/broker/paper"
	"candela/internal/trading/broker/paper/papertest"
	"candela/internal/trading/deploy"
	"candela/internal/trading/desk"
	"candela/internal/trading/desk/desktest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// BenchmarkStart_YearOfFiveMinutes starts with a strategy that has recorded a year of bars of five minutes.
func BenchmarkStart_YearOfFiveMinutes(b *testing.B) {
	b.Run("wants at most bars", func(b *testing.B) { startYear(b, script) })
	b.Run("wants seldom", func(b *testing.B) { startYear(b, seldom) })
}

// seldom wants something at a few bars of a day.
const seldom = `//@version=6
strategy("x", initial_capital = 10000)
if ta.crossover(ta.sma(close, 50), ta.sma(close, 200))
    strategy.entry("L", strategy.long, qty = 1)
if ta.crossunder(ta.sma(close, 50), ta.sma(close, 200))
    strategy.close_all()`

func startYear(b *testing.B, source string) {
	b.Helper()
	const year = 365 * 24 * 12
	j, v := newJournals(), &venue{bars: walk(year, 3), closed: 1000}
	p := startWith(b, config(j, v, v.now))
	terms := termsOf(v, 60)
	terms.Program.Script = source
	d := runBench(b, p, terms, deploy.Shadow)
	for n := 1000; n < year; {
		n = min(n+1000, year) // more at once would pause it
		p.Deliver(deploy.Sub{Symbol: d.Terms.Symbol, Interval: d.Terms.Interval}, v.close(n))
		d = synced(b, p, d.ID)
	}
	p.kill()
	intents := d.Intents
	for b.Loop() {
		p = startWith(b, config(j, v, v.now))
		d = synced(b, p, d.ID)
		b.StopTimer()
		if d.Through != v.bars[year-1].T || d.State != deploy.Running {
			b.Fatalf("%+v", d)
		}
		p.kill()
		b.StartTimer()
	}
	b.ReportMetric(float64(intents), "intents")
}

// always wants something new at each bar.
const always = `//@version=6
strategy("x", initial_capital = 10000)
if strategy.position_size == 0
    strategy.entry("L", strategy.long, qty = 0.2)
    strategy.exit("X", "L", profit = 2000, loss = 500)
else
    strategy.close_all()`

// BenchmarkDeployments_CloseToSent delivers a bar to 100 strategies of ten owners at once, each of which places an order
// at it, on paper accounts and one store on disk.
func BenchmarkDeployments_CloseToSent(b *testing.B) {
	const owners, each, past = 10, 10, 120
	l, err := ledger.Open(b.Context(), b.TempDir(), time.Now)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close() })
	v := &venue{bars: smooth(20_000), closed: past}
	for i := range v.bars { // the price of the account stays
		v.bars[i].O, v.bars[i].H, v.bars[i].L, v.bars[i].C = 100, 100.5, 99.5, 100
	}
	watch := &sent{}
	var all []*process
	var ids []string
	for n := range owners {
		who := principal.Owner(fmt.Sprintf("owner-%d", n))
		cfg := deploy.Config{Owner: who, Journal: l, Programs: programs{}, Bars: v, Log: slog.New(slog.DiscardHandler), Now: time.Now}
		cfg.Brokers = onPaper(&timed{Desk: paperDesk(b, who, l), to: watch})
		p := startWith(b, cfg)
		defer p.kill()
		for k := range each {
			terms := termsOf(v, 60)
			terms.Program.Script, terms.Symbol = fmt.Sprintf("%s\n// %d", always, k), papertest.BTCUSDT().Symbol
			all, ids = append(all, p), append(ids, runBench(b, p, terms, deploy.Paper).ID)
		}
	}
	var took []time.Duration
	next := past
	for b.Loop() {
		watch.begin()
		bar := v.close(next + 1)
		next++
		for i := 0; i < len(all); i += each {
			all[i].Deliver(deploy.Sub{Symbol: papertest.BTCUSDT().Symbol, Interval: market.Minute5}, bar)
		}
		for i := range all {
			synced(b, all[i], ids[i])
		}
		took = append(took, watch.end()...)
	}
	slices.Sort(took)
	if len(took) < b.N*owners*each*9/10 {
		b.Errorf("%d orders at %d bars", len(took), b.N)
	}
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// sent notes how long after a bar its orders were placed.
type sent struct {
	mu    sync.Mutex
	since time.Time
	took  []time.Duration
}

func (s *sent) begin() { s.mu.Lock(); s.since, s.took = time.Now(), nil; s.mu.Unlock() }

func (s *sent) end() []time.Duration { s.mu.Lock(); defer s.mu.Unlock(); return s.took }

type timed struct {
	deploy.Desk
	to *sent
}

func (d *timed) Place(ctx context.Context, by principal.Caller, r order.Request) (order.Placed, error) {
	placed, err := d.Desk.Place(ctx, by, r)
	if err == nil && (r.Side == order.Buy || !r.Protect.HasStop()) {
		d.to.mu.Lock()
		d.to.took = append(d.to.took, time.Since(d.to.since))
		d.to.mu.Unlock()
	}
	return placed, err
}

// paperDesk runs a desk of an owner with a paper account.
func paperDesk(b *testing.B, who principal.Owner, l *ledger.Ledger) *desk.Desk {
	b.Helper()
	prices, venue := &desktest.Market{}, papertest.NewMarket(papertest.BTCUSDT())
	broker := paper.New(paper.Config{
		Journal: &papertest.Journal{}, Market: venue, Rates: paper.Usual(), Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Cash: map[string]decimal.Decimal{"USDT": decimal.NewFromInt(100_000)},
	})
	if err := broker.Load(b.Context()); err != nil {
		b.Fatal(err)
	}
	policy := unlimited()
	policy.MaxOrdersPerMinute = guard.Limit{Off: true}
	d := desk.New(desk.Config{
		Owner: who, Broker: broker, Store: l, Market: prices, Policy: policy, Simulated: true,
		Resolve: func(_ context.Context, s market.Symbol) (market.Symbol, error) { return s, nil },
		Log:     slog.New(slog.DiscardHandler), Now: time.Now, Rand: rand.Float64,
	})
	q := order.Quote{Last: decimal.NewFromInt(100), At: time.Now().Add(time.Hour)}
	prices.Set(papertest.BTCUSDT().Symbol, q)
	venue.Set(papertest.BTCUSDT().Symbol, q)
	ctx, stop := context.WithCancel(b.Context())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- d.Run(ctx, ctx, func() { close(ready) }) }()
	<-ready
	b.Cleanup(func() { stop(); <-done })
	return d
}

// runBench proposes and starts a strategy.
func runBench(b *testing.B, p *process, terms deploy.Terms, stage deploy.Stage) deploy.Deployment {
	b.Helper()
	d, err := p.Propose(b.Context(), "agent", deploy.Deployment{Name: "x" + strconv.Itoa(len(terms.Program.Script)) + terms.Program.Script[len(terms.Program.Script)-1:], Terms: terms})
	if err == nil {
		d, err = p.Start(b.Context(), "owner", d.ID, stage, &deploy.Limits{Cap: decimal.NewFromInt(20_000)})
	}
	if err != nil {
		b.Fatal(err)
	}
	return d
}

// synced returns a deployment after the bars that were delivered.
func synced(b *testing.B, p *process, id string) deploy.Deployment {
	b.Helper()
	d, err := p.Synced(b.Context(), id)
	if err != nil {
		b.Fatal(err)
	}
	return d
}
