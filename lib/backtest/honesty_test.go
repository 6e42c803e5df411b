package backtest

import (
	"math"
	"slices"
	"testing"

	"candela/internal/testkit/sharedtest"
	"candela/lib/backtest/simulate"
	"candela/lib/market"
	"candela/lib/pine/check"
	"candela/lib/pine/eval"
)

// script compiles the body of a strategy that pays 0.1 % a side.
func script(tb testing.TB, body string) *Script {
	tb.Helper()
	return declared(tb, "", body)
}

// declared compiles a strategy with more settings.
func declared(tb testing.TB, settings, body string) *Script {
	tb.Helper()
	source := "//@version=6\nstrategy(\"t\", default_qty_type=strategy.fixed, default_qty_value=1, initial_capital=1000000, " +
		"commission_type=strategy.commission.percent, commission_value=0.1" + settings + ")\n" + body
	program, found := check.Check(source, check.Options{})
	if program == nil {
		tb.Fatalf("%s\n%s", found[0].Message, body)
	}
	return &Script{Program: program, Tick: 0.01, Step: 1e-6, Env: eval.Env{
		Interval: market.Hour1, Limits: eval.Limits{BarSteps: 1_000_000, Memory: 64 << 20, Instances: 20_000},
		Symbol: eval.Symbol{Ticker: "BTCUSDT", Prefix: "BINANCE", Type: "crypto", Currency: "USDT", Base: "BTC", Tick: 0.01},
	}}
}

// judge runs a script over hours of BTC and returns what is said about it.
func judge(t *testing.T, body string) (Honesty, *Run) {
	t.Helper()
	return judgeScript(t, script(t, body))
}

func judgeScript(t *testing.T, s *Script) (Honesty, *Run) {
	t.Helper()
	bars := sharedtest.Bars(t, "data/BTCUSDT_1h.csv")
	r, err := Over(t.Context(), s, &bars, 0)
	if err != nil {
		t.Fatal(err)
	}
	h, err := Judge(t.Context(), s, r, Judgement{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return h, r
}

// Each of these cannot be trusted, for one reason; the flag names it.
func TestJudge_FlagsWhatCannotBeTrusted(t *testing.T) {
	for _, c := range []struct {
		name, flag, body string
	}{
		{"looks ahead: it asks for the close of the day in its first hour", FlagRepaints, `
day = request.security(syminfo.tickerid, "1D", close, lookahead=barmerge.lookahead_on)
if hour == 1 and day >= close
    strategy.entry("L", strategy.long)
if hour == 23
    strategy.close("L")`},
		{"redraws: it counts from where the chart ends", FlagRepaints, `
near = (last_bar_index - bar_index) % 40 < 20
if near and ta.crossover(ta.sma(close, 12), ta.sma(close, 26))
    strategy.entry("L", strategy.long)
if ta.crossunder(ta.sma(close, 12), ta.sma(close, 26))
    strategy.close("L")`},
		{"depends on its start: it counts bars", FlagStart, `
if bar_index % 40 == 0
    strategy.entry("L", strategy.long)
if bar_index % 40 == 20
    strategy.close("L")`},
		{"ambiguous: stop and target lie within one bar", FlagAmbiguous, `
if ta.crossover(ta.sma(close, 12), ta.sma(close, 26))
    strategy.entry("L", strategy.long)
    strategy.exit("X", "L", limit=close * 1.003, stop=close * 0.997)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, r := judge(t, c.body)
			if !slices.Equal(h.Flags, []string{c.flag}) {
				t.Errorf("flags %v after %d trades, want %s: %+v", h.Flags, len(r.Trades), c.flag, h)
			}
		})
	}
}

// A script that only draws at the last bar redraws nothing.
func TestJudge_TrustsTablesAtTheLastBar(t *testing.T) {
	h, _ := judge(t, `
if ta.crossover(ta.sma(close, 12), ta.sma(close, 26))
    strategy.entry("L", strategy.long)
if ta.crossunder(ta.sma(close, 12), ta.sma(close, 26))
    strategy.close("L")
var t = table.new(position.top_right, 1, 1)
if barstate.islast
    t.cell(0, 0, str.tostring(last_bar_index))`)
	if len(h.Flags) > 0 {
		t.Errorf("flags %v: %+v", h.Flags, h)
	}
}

// memory is a program that keeps what it has seen from run to run, as one with a faulty
// cache does: the runs after the first know what comes.
type memory struct {
	account *simulate.Account
	closes  map[int64]float64
}

func (m *memory) Config() simulate.Config {
	return simulate.Config{Capital: 1e6, Tick: 0.01, Step: 1, PointValue: 1, Commission: 0.1}
}

func (m *memory) Start(a *simulate.Account) (Instance, error) {
	return &memory{account: a, closes: m.closes}, nil
}

func (m *memory) Next(b market.Bar) error {
	m.closes[b.T] = b.C
	later, known := m.closes[b.T+20*3600]
	switch hours := b.T / 3600 % 40; {
	case hours == 0 && (!known || later > b.C):
		m.account.Enter(simulate.Request{ID: "L", Side: simulate.Long, Quantity: 1, Limit: math.NaN(), Stop: math.NaN()})
	case hours == 20:
		m.account.Close(simulate.CloseRequest{From: "L", Quantity: math.NaN(), Percent: math.NaN()})
	}
	return nil
}

// The runs over prefixes show that later bars change earlier trades.
func TestJudge_FlagsMemoryOfLaterBars(t *testing.T) {
	bars := sharedtest.Bars(t, "data/BTCUSDT_1h.csv")
	p := &memory{closes: map[int64]float64{}}
	r, err := Over(t.Context(), p, &bars, 0)
	if err != nil {
		t.Fatal(err)
	}
	h, err := Judge(t.Context(), p, r, Judgement{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(h.Flags, FlagRepaints) || h.LookAhead.Changed == 0 || len(h.LookAhead.First) != 3 {
		t.Errorf("flags %v: %+v", h.Flags, h.LookAhead)
	}
}

// Settings that are not simulated are named; those that change nothing are not.
func TestJudge_NamesIgnoredSettings(t *testing.T) {
	for settings, want := range map[string][]string{
		"": nil,
		", calc_on_every_tick=true, currency=currency.USDT, use_bar_magnifier=false":     nil,
		", calc_on_order_fills=true, use_bar_magnifier=true, currency=currency.EUR":      {"unrealistic_fills", "ignores_use_bar_magnifier", "ignores_currency"},
		", currency=currency.NONE, fill_orders_on_standard_ohlc=true, calc_bars_count=9": {"ignores_fill_orders_on_standard_ohlc", "ignores_calc_bars_count"},
	} {
		h, _ := judgeScript(t, declared(t, settings, pineCross))
		if !slices.Equal(h.Flags, want) {
			t.Errorf("%q: flags %v, want %v", settings, h.Flags, want)
		}
	}
}

// Ten ordinary strategies raise no flag.
func TestJudge_TrustsOrdinaryStrategies(t *testing.T) {
	const reverse = `
if up
    strategy.entry("L", strategy.long)
if down
    strategy.entry("S", strategy.short)`
	for name, body := range map[string]string{
		"means":      "f = ta.sma(close, 12)\ns = ta.sma(close, 26)\nup = ta.crossover(f, s)\ndown = ta.crossunder(f, s)" + reverse,
		"averages":   "f = ta.ema(close, 9)\ns = ta.ema(close, 21)\nup = ta.crossover(f, s)\ndown = ta.crossunder(f, s)" + reverse,
		"rsi":        "r = ta.rsi(close, 14)\nup = ta.crossover(r, 35)\ndown = ta.crossunder(r, 65)" + reverse,
		"macd":       "[m, s, _] = ta.macd(close, 12, 26, 9)\nup = ta.crossover(m, s)\ndown = ta.crossunder(m, s)" + reverse,
		"bands":      "[m, u, l] = ta.bb(close, 20, 2)\nup = ta.crossover(close, l)\ndown = ta.crossunder(close, u)" + reverse,
		"channel":    "up = close > ta.highest(high, 20)[1]\ndown = close < ta.lowest(low, 20)[1]" + reverse,
		"stochastic": "k = ta.sma(ta.stoch(close, high, low, 14), 3)\nup = ta.crossover(k, 20)\ndown = ta.crossunder(k, 80)" + reverse,
		"supertrend": "[_, d] = ta.supertrend(3, 10)\nup = d < 0 and d[1] > 0\ndown = d > 0 and d[1] < 0" + reverse,
		"wide bracket": `
if ta.crossover(ta.sma(close, 12), ta.sma(close, 26))
    strategy.entry("L", strategy.long)
    strategy.exit("X", "L", limit=close * 1.04, stop=close * 0.96)`,
		"day before": `
high1 = request.security(syminfo.tickerid, "1D", high[1], lookahead=barmerge.lookahead_on)
low1 = request.security(syminfo.tickerid, "1D", low[1], lookahead=barmerge.lookahead_on)
up = ta.crossover(close, high1)
down = ta.crossunder(close, low1)` + reverse,
	} {
		t.Run(name, func(t *testing.T) {
			h, r := judge(t, body)
			if len(h.Flags) > 0 || len(r.Trades) < fewTrades {
				t.Errorf("flags %v after %d trades: %+v", h.Flags, len(r.Trades), h)
			}
			if h.LookAhead.Cuts < 15 || h.StartShift.Runs != 4 {
				t.Errorf("%d cuts and %d starts were tried", h.LookAhead.Cuts, h.StartShift.Runs)
			}
		})
	}
}
