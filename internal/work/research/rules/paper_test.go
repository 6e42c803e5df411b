package rules_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/data/provider"
	"candela/internal/testkit/longtest"
	"candela/internal/trading/broker/paper"
	"candela/internal/trading/broker/paper/papertest"
	"candela/internal/trading/order"
	"candela/internal/work/research/rules"
	"candela/lib/backtest"
	"candela/lib/backtest/simulate"
	"candela/lib/market"
	"candela/lib/pine"
	"candela/lib/pine/eval"
)

// noticed is a program whose account reports what it sends and fills.
type noticed struct {
	backtest.Program
	notices []simulate.Notice
}

func (n *noticed) Start(a *simulate.Account) (backtest.Instance, error) {
	a.Notify(func(x simulate.Notice) { n.notices = append(n.notices, x) })
	return n.Program.Start(a)
}

// traded makes bars with volumes, of which some are too small for a position.
func traded(n int, seed uint64) *market.Bars {
	r := rand.New(rand.NewPCG(seed, 7))
	bars := market.MakeBars(n, false)
	cents := func(x float64) float64 { return math.Round(x*100) / 100 }
	last := 100.0
	for i := range n {
		o := cents(last + r.NormFloat64()*0.2)
		c := cents(max(20, o+r.NormFloat64()))
		h, l := cents(max(o, c)+r.Float64()), cents(min(o, c)-r.Float64())
		bars.Append(market.Bar{T: 1_600_000_200 + int64(i)*60, O: o, H: h, L: l, C: c, V: math.Round(r.ExpFloat64()*60*1e5) / 1e5})
		last = c
	}
	return &bars
}

// twin is the paper account that gets the orders of a run.
type twin struct {
	*paper.Broker
	symbol market.Symbol
	perp   bool
	sent   map[int]simulate.Notice
	rates  []provider.Funding
}

// replayed sends the orders of a run to the paper account while it sees the same bars, and returns
// its fills and those of the run as text.
func replayed(t *testing.T, p backtest.Program, bars *market.Bars) (ran, account []string, partial int) {
	t.Helper()
	watched := &noticed{Program: p}
	run, err := backtest.Over(t.Context(), watched, bars, 0)
	if err != nil {
		t.Fatal(err)
	}
	cfg := p.Config()
	inst := papertest.BTCUSDT()
	inst.MinNotional, inst.MaxQuantity = decimal.Zero, decimal.Zero
	v := &twin{perp: cfg.Perp != nil, sent: map[int]simulate.Notice{}}
	rates := paper.Usual()
	if v.perp {
		inst.Symbol.Name, inst.Class, inst.Settle = market.PerpetualOf(inst.Symbol.Name), provider.Perpetual, "USDT"
		rates.PerpTaker = decimal.NewFromFloat(cfg.Commission).Shift(-2)
		rates.PerpMaker = rates.PerpTaker
		for _, f := range cfg.Perp.Funding {
			v.rates = append(v.rates, provider.Funding{At: time.UnixMilli(f.At), Rate: f.Rate, Mark: f.Mark})
		}
	}
	v.symbol = inst.Symbol
	m, now := papertest.NewMarket(inst), time.Unix(bars.T[0], 0)
	v.Broker = paper.New(paper.Config{
		Journal: &papertest.Journal{}, Market: m, Rates: rates, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler),
		Cash: map[string]decimal.Decimal{"USDT": decimal.NewFromFloat(cfg.Capital)},
		Leverage: func(market.Symbol) decimal.Decimal {
			if v.perp {
				return decimal.NewFromFloat(cfg.Perp.Leverage)
			}
			return decimal.Zero
		},
		Funding: v.funding,
	})
	if err := v.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	notices := watched.notices
	for i := range bars.Len() {
		bar := bars.At(i)
		now = time.Unix(bar.T, 0)
		v.fund(t)
		m.Set(v.symbol, order.Quote{Last: decimal.NewFromFloat(bar.O), At: now})
		for ; len(notices) > 0 && notices[0].Bar == i; notices = notices[1:] {
			n := notices[0]
			v.pass(t, n)
			switch n.Kind {
			case simulate.OrderSent:
				v.sent[n.Number] = n
				if n.Pair {
					v.sent[n.Number+1] = n
				}
			case simulate.OrderFilled:
				ran = append(ran, fillText(i, strconv.Itoa(n.Number), n.Quantity, n.Price))
				if n.Quantity < v.sent[n.Number].Quantity {
					partial++
				}
			case simulate.OrderWithdrawn:
			}
		}
		now = time.Unix(bar.T+59, 0)
		v.fund(t)
		v.Observe(provider.Event{Sub: provider.Sub{Symbol: v.symbol, Interval: market.Minute1}, Kind: provider.Closed, Bar: bar, Price: bar.C, At: now}, provider.Clock{})
	}
	fills, _, err := v.Fills(t.Context(), v.symbol, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fills {
		id := f.OrderID
		if f.Cause == order.ByLiquidation {
			id = "0"
		}
		account = append(account, fillText(int(f.At.Unix()-bars.T[0])/60, id, f.Quantity.InexactFloat64(), f.Price.InexactFloat64()))
	}
	v.sameMoney(t, run)
	return ran, account, partial
}

// funding returns the rates between two times.
func (v *twin) funding(_ context.Context, _ market.Symbol, from, to time.Time) ([]provider.Funding, error) {
	var found []provider.Funding
	for _, r := range v.rates {
		if r.At.After(from) && !r.At.After(to) {
			found = append(found, r)
		}
	}
	return found, nil
}

// fund applies what has come due.
func (v *twin) fund(t *testing.T) {
	t.Helper()
	if !v.perp {
		return
	}
	if _, err := v.Funding(t.Context(), time.Time{}); err != nil {
		t.Fatal(err)
	}
}

// sameMoney holds the money of the account beside that of the run at its end.
func (v *twin) sameMoney(t *testing.T, run *backtest.Run) {
	t.Helper()
	if !v.perp {
		return
	}
	holdings, err := v.Holdings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	have, want := 0.0, run.Config.Capital+run.Net+run.Last
	for _, h := range holdings {
		if h.Margin != nil {
			last := decimal.NewFromFloat(run.Bars.C[run.Bars.Len()-1])
			have += h.Margin.Margin.Add(h.Quantity.Mul(last.Sub(h.Margin.Entry))).InexactFloat64()
			continue
		}
		have += h.Quantity.InexactFloat64()
	}
	if math.Abs(have-want) > 1e-6 {
		t.Errorf("the account has %f at the end, the run %f", have, want)
	}
}

func fillText(bar int, id string, quantity, price float64) string {
	return fmt.Sprintf("bar %d: order %s, %.5f at %.2f", bar, id, quantity, price)
}

// pass sends or withdraws an order.
func (v *twin) pass(t *testing.T, n simulate.Notice) {
	t.Helper()
	id := strconv.Itoa(n.Number)
	spec := order.Spec{ID: id, Symbol: v.symbol, Side: order.Buy, Type: order.Market, Quantity: decimal.NewFromFloat(n.Quantity), ReduceOnly: n.Reduce}
	if n.Side == simulate.Short {
		spec.Side = order.Sell
	}
	stop := spec
	if !math.IsNaN(n.Price) {
		spec.Type, spec.Price = order.Limit, decimal.NewFromFloat(n.Price)
	}
	if !math.IsNaN(n.Stop) {
		stop.StopPrice = decimal.NewFromFloat(n.Stop)
		if !n.Pair {
			spec.StopPrice = stop.StopPrice
		}
	}
	var err error
	switch {
	case n.Kind == simulate.OrderSent && n.Pair:
		spec.Role, spec.Group = order.TakeProfit, order.Group{Name: id}
		stop.ID, stop.Role, stop.Group = strconv.Itoa(n.Number+1), order.StopLoss, order.Group{Name: id}
		_, err = v.SubmitGroup(t.Context(), []order.Spec{spec, stop})
	case n.Kind == simulate.OrderSent:
		_, err = v.Submit(t.Context(), spec)
	case n.Kind == simulate.OrderWithdrawn:
		_, err = v.Cancel(t.Context(), order.Handle{Spec: spec})
	}
	if err != nil {
		t.Fatalf("%+v: %v", n, err)
	}
}

// paperScripts use every kind of order.
func paperScripts() map[string]string {
	return map[string]string{
		"market": `
if ta.crossover(ta.sma(close, 3), ta.sma(close, 9))
    strategy.entry("L", strategy.long)
if ta.crossunder(ta.sma(close, 3), ta.sma(close, 9))
    strategy.entry("S", strategy.short)`,
		"limits": `
strategy.entry("L", strategy.long, limit = close - 0.7)
strategy.exit("X", "L", profit = 80, loss = 150)`,
		"parts": `
if strategy.position_size == 0
    strategy.entry("L", strategy.long, limit = low)
strategy.exit("half", "L", qty_percent = 50, profit = 60, loss = 180)
strategy.exit("rest", "L", profit = 120, trail_points = 50, trail_offset = 40, loss = 200)`,
		"stops": `
strategy.entry("L", strategy.long, stop = high + 0.2)
strategy.order("M", strategy.long, qty = 3, stop = high + 0.5, limit = high + 0.1)
strategy.exit("X", stop = low - 1)
if bar_index % 17 == 0
    strategy.close_all()
if bar_index % 11 == 0
    strategy.cancel("M")`,
		"groups": `
strategy.order("A", strategy.long, qty = 20, limit = close - 0.4, oca_name = "g", oca_type = strategy.oca.cancel)
strategy.order("B", strategy.long, qty = 30, limit = close - 0.9, oca_name = "g", oca_type = strategy.oca.reduce)
strategy.order("C", strategy.short, qty = 25, limit = close + 0.6)
if ta.rsi(close, 5) > 80
    strategy.close_all()`,
	}
}

// TestPaper_FillsAsThePaperAccount holds that a run of the paper model has the fills that the paper
// account has when it gets the same orders while it sees the same bars.
func TestPaper_FillsAsThePaperAccount(t *testing.T) {
	t.Parallel()
	programs := map[string]backtest.Program{}
	for name, body := range paperScripts() {
		source := "//@version=6\nstrategy(\"x\", initial_capital = 10000, default_qty_type = strategy.percent_of_equity, default_qty_value = 60, pyramiding = 2)\n" + body
		checked, found := pine.Check(source, nil)
		if checked == nil {
			t.Fatal(name, found)
		}
		programs[name] = &backtest.Script{
			Program: checked.Program, Tick: 0.01, Step: 1e-5, Paper: &backtest.PaperCosts{Commission: 0.1, Slippage: 0.05},
			Env: eval.Env{Interval: market.Minute1, Limits: eval.Limits{BarSteps: 200_000, TotalSteps: 200_000_000, Memory: 32 << 20, Instances: 20_000}},
		}
	}
	r := checked(t, &rules.Side{Enter: compare(line("rsi", `{"length":5}`, "RSI"), alert.Less, number(40)), Stop: 1.5, Target: 1, MaxBars: 30}, nil)
	r.Account.Paper, r.Account.MarginLong, r.Account.MarginShort, r.Account.Step = true, 0, 0, 1e-5
	programs["rules"] = r
	for name, p := range programs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parts := 0
			for seed := range uint64(3) {
				ran, account, partial := replayed(t, p, traded(2000, seed))
				parts += partial
				for i := range max(len(ran), len(account)) {
					if i >= len(ran) || i >= len(account) || ran[i] != account[i] {
						t.Fatalf("seed %d, fill %d of %d and %d: %v in the run, %v in the account", seed, i, len(ran), len(account), ran[i:min(i+3, len(ran))], account[i:min(i+3, len(account))])
					}
				}
				if len(ran) < 50 {
					t.Errorf("seed %d: %d fills test little", seed, len(ran))
				}
			}
			if parts == 0 && name != "market" && name != "stops" {
				t.Error("no volume was too small for an order")
			}
		})
	}
}

// perpScripts go both ways, as two thirds of public strategies do.
func perpScripts() map[string]string {
	return map[string]string{
		"turns": `
if ta.crossover(ta.sma(close, 3), ta.sma(close, 9))
    strategy.entry("L", strategy.long)
if ta.crossunder(ta.sma(close, 3), ta.sma(close, 9))
    strategy.entry("S", strategy.short)`,
		"brackets": `
if ta.crossover(ta.sma(close, 3), ta.sma(close, 9))
    strategy.entry("L", strategy.long)
if ta.crossunder(ta.sma(close, 3), ta.sma(close, 9))
    strategy.entry("S", strategy.short)
strategy.exit("XL", "L", profit = 120, loss = 90)
strategy.exit("XS", "S", profit = 120, loss = 90)`,
		"sold limits": `
strategy.entry("S", strategy.short, limit = close + 0.6)
strategy.exit("half", "S", qty_percent = 50, profit = 60, loss = 180)
strategy.exit("rest", "S", profit = 120, trail_points = 50, trail_offset = 40, loss = 200)`,
		"stops": `
strategy.entry("L", strategy.long, stop = high + 0.2)
strategy.entry("S", strategy.short, stop = low - 0.2)
strategy.order("M", strategy.short, qty = 3, stop = low - 0.5, limit = low - 0.1)
if bar_index % 17 == 0
    strategy.close_all()
if bar_index % 11 == 0
    strategy.cancel("M")`,
		"groups": `
strategy.order("A", strategy.long, qty = 20, limit = close - 0.4, oca_name = "g", oca_type = strategy.oca.cancel)
strategy.order("B", strategy.long, qty = 30, limit = close - 0.9, oca_name = "g", oca_type = strategy.oca.reduce)
strategy.order("C", strategy.short, qty = 45, limit = close + 0.6)
if ta.rsi(close, 5) > 80
    strategy.close_all()`,
		"no stop": `
if bar_index % 40 == 0
    strategy.entry("L", strategy.long)
if bar_index % 40 == 20
    strategy.entry("S", strategy.short)`,
	}
}

// perpetualOf returns what a run over a perpetual future needs. Funding is due every seventh bar, in the middle of
// some bars, and high.
func perpetualOf(leverage float64, bars *market.Bars) *simulate.Perp {
	p := &simulate.Perp{Leverage: leverage, Span: 60_000, Tiers: usualTiers("BTC")}
	r := rand.New(rand.NewPCG(3, uint64(bars.Len())))
	for i := 5; i < bars.Len(); i += 7 {
		p.Funding = append(p.Funding, simulate.Funding{At: (bars.T[i] + int64(i%3*20)) * 1000, Rate: math.Round(r.NormFloat64()*1e6) / 1e8, Mark: bars.O[i]})
	}
	return p
}

// TestPaper_TradesPerpetualsAsThePaperAccount holds the fills, the funding, the liquidations and the money of a run
// over a perpetual future beside those of the paper account.
func TestPaper_TradesPerpetualsAsThePaperAccount(t *testing.T) {
	t.Parallel()
	for name, body := range perpScripts() {
		for _, how := range []struct{ leverage, size float64 }{{1, 60}, {5, 200}, {20, 700}, {100, 3500}} {
			t.Run(fmt.Sprintf("%s at %gx", name, how.leverage), func(t *testing.T) {
				t.Parallel()
				source := fmt.Sprintf("//@version=6\nstrategy(\"x\", initial_capital = 10000, default_qty_type = strategy.percent_of_equity, default_qty_value = %g, pyramiding = 2)\n%s", how.size, body)
				program, found := pine.Check(source, nil)
				if program == nil {
					t.Fatal(found)
				}
				fills := 0
				for seed := range uint64(longtest.Pick(1, 20)) {
					bars := traded(longtest.Pick(700, 2000), longtest.Seed()+seed)
					p := &backtest.Script{
						Program: program.Program, Tick: 0.01, Step: 1e-5, Paper: &backtest.PaperCosts{Commission: 0.05, Slippage: 0.05, Perp: perpetualOf(how.leverage, bars)},
						Env: eval.Env{Interval: market.Minute1, Limits: eval.Limits{BarSteps: 200_000, TotalSteps: 200_000_000, Memory: 32 << 20, Instances: 20_000}},
					}
					ran, account, _ := replayed(t, p, bars)
					fills += len(ran)
					for i := range max(len(ran), len(account)) {
						if i >= len(ran) || i >= len(account) || ran[i] != account[i] {
							t.Fatalf("seed %d, fill %d of %d and %d: %v in the run, %v in the account", seed, i, len(ran), len(account), ran[min(max(0, i-2), len(ran)):min(i+3, len(ran))], account[min(max(0, i-2), len(account)):min(i+3, len(account))])
						}
					}
				}
				if fills < 20 {
					t.Errorf("%d fills test little", fills)
				}
			})
		}
	}
}

// TestPaper_TurnKeepsTheExitsOfTheNewEntry turns a position round at the market by a script that sets the exit of
// the new one with its entry, and never again.
func TestPaper_TurnKeepsTheExitsOfTheNewEntry(t *testing.T) {
	t.Parallel()
	program, found := pine.Check(`//@version=6
strategy("x", initial_capital = 10000, default_qty_type = strategy.fixed, default_qty_value = 1)
if bar_index == 2
    strategy.entry("L", strategy.long)
if bar_index == 5
    strategy.entry("S", strategy.short)
    strategy.exit("XS", "S", stop = 103, limit = 90)`, nil)
	if program == nil {
		t.Fatal(found)
	}
	bars := market.MakeBars(12, false)
	for i := range 12 {
		b := market.Bar{T: 1_600_000_200 + int64(i)*60, O: 100, H: 100.5, L: 99.5, C: 100, V: 100}
		if i == 8 {
			b.H = 104
		}
		bars.Append(b)
	}
	p := &backtest.Script{
		Program: program.Program, Tick: 0.01, Step: 1e-5, Paper: &backtest.PaperCosts{Perp: perpetualOf(2, &bars)},
		Env: eval.Env{Interval: market.Minute1, Limits: eval.Limits{BarSteps: 200_000, Memory: 32 << 20, Instances: 20_000}},
	}
	run, err := backtest.Over(t.Context(), p, &bars, 0)
	if err != nil || len(run.Trades) != 2 {
		t.Fatalf("%+v %v", run, err)
	}
	if x := run.Trades[1]; x.ExitID != "XS" || x.ExitBar != 8 || x.ExitPrice != 103 {
		t.Errorf("the short ended as %+v, want by its stop of 103", x)
	}
}
