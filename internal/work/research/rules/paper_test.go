package rules_test

import (
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

// replayed sends the orders of a run to the paper account while it sees the same bars, and returns
// its fills and those of the run as text.
func replayed(t *testing.T, p backtest.Program, bars *market.Bars) (ran, account []string, partial int) {
	t.Helper()
	watched := &noticed{Program: p}
	if _, err := backtest.Over(t.Context(), watched, bars, 0); err != nil {
		t.Fatal(err)
	}
	symbol := papertest.BTCUSDT().Symbol
	inst := papertest.BTCUSDT()
	inst.MinNotional = decimal.Zero
	m, now := papertest.NewMarket(inst), time.Unix(bars.T[0], 0)
	b := paper.New(paper.Config{
		Journal: &papertest.Journal{}, Market: m, Rates: paper.Usual(), Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler),
		Cash: map[string]decimal.Decimal{"USDT": decimal.NewFromFloat(p.Config().Capital)},
	})
	if err := b.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	sent, notices := map[string]simulate.Notice{}, watched.notices
	for i := range bars.Len() {
		bar := bars.At(i)
		now = time.Unix(bar.T, 0)
		m.Set(symbol, order.Quote{Last: decimal.NewFromFloat(bar.O), At: now})
		for ; len(notices) > 0 && notices[0].Bar == i; notices = notices[1:] {
			n := notices[0]
			pass(t, b, symbol, n)
			switch n.Kind {
			case simulate.OrderSent:
				sent[strconv.Itoa(n.Number)] = n
			case simulate.OrderFilled:
				ran = append(ran, fillText(i, strconv.Itoa(n.Number), n.Quantity, n.Price))
				if n.Quantity < sent[strconv.Itoa(n.Number)].Quantity {
					partial++
				}
			case simulate.OrderWithdrawn:
			}
		}
		now = time.Unix(bar.T+59, 0)
		b.Observe(provider.Event{Sub: provider.Sub{Symbol: symbol, Interval: market.Minute1}, Kind: provider.Closed, Bar: bar, Price: bar.C, At: now}, provider.Clock{})
	}
	fills, err := b.Fills(t.Context(), symbol, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fills {
		account = append(account, fillText(int(f.At.Unix()-bars.T[0])/60, f.OrderID, f.Quantity.InexactFloat64(), f.Price.InexactFloat64()))
	}
	return ran, account, partial
}

func fillText(bar int, id string, quantity, price float64) string {
	return fmt.Sprintf("bar %d: order %s, %.5f at %.2f", bar, id, quantity, price)
}

// pass sends or withdraws an order.
func pass(t *testing.T, b *paper.Broker, symbol market.Symbol, n simulate.Notice) {
	t.Helper()
	spec := order.Spec{ID: strconv.Itoa(n.Number), Symbol: symbol, Side: order.Buy, Type: order.Market, Quantity: decimal.NewFromFloat(n.Quantity)}
	if n.Side == simulate.Short {
		spec.Side = order.Sell
	}
	if !math.IsNaN(n.Price) {
		spec.Type, spec.Price = order.Limit, decimal.NewFromFloat(n.Price)
	}
	var err error
	switch n.Kind {
	case simulate.OrderSent:
		_, err = b.Submit(t.Context(), spec)
	case simulate.OrderWithdrawn:
		_, err = b.Cancel(t.Context(), order.Handle{Spec: spec})
	case simulate.OrderFilled: // by the account itself
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
