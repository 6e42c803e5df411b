package backtest

import (
	"math"
	"slices"
	"testing"

	"candela/internal/testkit/sharedtest"
	"candela/lib/backtest/performance"
	"candela/lib/backtest/simulate"
	"candela/lib/market"
)

// crossing is long while a short average is above a long one.
type crossing struct{ cfg simulate.Config }

func (c crossing) Config() simulate.Config { return c.cfg }

func (c crossing) Start(a *simulate.Account) (Instance, error) {
	return &crossingRun{crossing: c, a: a}, nil
}

type crossingRun struct {
	crossing
	a    *simulate.Account
	seen []float64
}

func (c *crossingRun) mean(end, n int) float64 {
	if end < n {
		return math.NaN()
	}
	var sum float64
	for _, v := range c.seen[end-n : end] {
		sum += v
	}
	return sum / float64(n)
}

func (c *crossingRun) Next(b market.Bar) error {
	a := c.a
	c.seen = append(c.seen, b.C)
	n := len(c.seen)
	was, is := c.mean(n-1, 12)-c.mean(n-1, 26), c.mean(n, 12)-c.mean(n, 26)
	none := math.NaN()
	if was <= 0 && is > 0 {
		a.Enter(simulate.Request{ID: "L", Side: simulate.Long, Quantity: 1, Limit: none, Stop: none})
	}
	if was >= 0 && is < 0 {
		a.Close(simulate.CloseRequest{From: "L", Quantity: none, Percent: none})
	}
	return nil
}

func account() simulate.Config {
	return simulate.Config{Capital: 100000, Tick: 0.01, Step: 1e-6, PointValue: 1}
}

// The figures are those of the checked example: numpy, backtesting.py, empyrical,
// PyneCore and PineTS on the same trades.
func TestRun_CheckedStatistics(t *testing.T) {
	bars := sharedtest.Bars(t, "data/BTCUSDT_1h.csv")
	r, err := Over(t.Context(), crossing{cfg: account()}, &bars, 0)
	if err != nil {
		t.Fatal(err)
	}
	s, k := r.Summary(8760), performance.MeasureTrades(r.Profits())
	m := s.Moments
	shuffled := performance.Shuffle(r.Profits(), 1)
	for _, c := range []struct {
		name           string
		got, want, tol float64
	}{
		{"trades", float64(k.Count), 95, 0},
		{"net", k.Net, 23447.78, 0.005},
		{"profit factor", k.ProfitFactor, 1.4531, 5e-5},
		{"win rate", k.WinRate, 42.11, 0.005},
		{"expectancy", k.Expectancy, 246.82, 0.005},
		{"average win", k.Win, 1879.96, 0.005},
		{"average loss", k.LossMean, 940.92, 0.005},
		{"payoff", k.Payoff, 1.998, 5e-4},
		{"SQN", k.SQN, 1.2922, 5e-5},
		{"losing streak", float64(k.LongestLosing), 7, 0},
		{"drawdown", s.Drawdown, 14596.20, 0.005},
		{"drawdown %", s.DrawdownPercent, 10.7756, 5e-5},
		{"drawdown bars", float64(s.DrawdownBars), 1436, 0},
		{"CAGR", s.CAGR, 53.288, 5e-4},
		{"volatility", s.Volatility, 21.31, 0.005},
		{"sharpe by months", s.Monthly.Sharpe, 0.7597, 5e-5},
		{"sortino by months", s.Monthly.Sortino, 3.0463, 5e-5},
		{"sharpe by bars", s.Sharpe, 2.1160, 5e-5},
		{"sortino by bars", s.Sortino, 3.1975, 5e-5},
		{"calmar", s.Calmar, 4.945, 5e-4},
		{"probabilistic sharpe", m.Probabilistic(0), 0.9334, 5e-5},
		{"deflated, 10 trials", m.Deflated(10, 0), 0.463, 5e-4},
		{"deflated, 100 trials", m.Deflated(100, 0), 0.145, 5e-4},
		{"deflated, 1,000 trials", m.Deflated(1000, 0), 0.037, 5e-4},
		{"skew", m.Skew, 1.211, 5e-4},
		{"kurtosis", m.Kurtosis, 27.06, 0.005},
		{"drawdown of closed trades", shuffled.Actual, 12427, 1},
		{"its median over orders", shuffled.Median, 10695, 500},
		{"its 95 %", shuffled.High, 17333, 600},
	} {
		if !(math.Abs(c.got-c.want) <= c.tol) {
			t.Errorf("%s is %v, want %v", c.name, c.got, c.want)
		}
	}
	want := []float64{2.80, 7.53, 8.10, 6.24, 0.45, -1.26, -1.97}
	got := make([]float64, len(s.Months))
	for i := range s.Months {
		got[i] = math.Round(s.Months[i].Percent*100) / 100
	}
	if !slices.Equal(got, want) {
		t.Errorf("months are %v, want %v", got, want)
	}
}

// An ordinary strategy raises only the flag that it has no costs.
func TestJudge_Ordinary(t *testing.T) {
	bars := sharedtest.Bars(t, "data/BTCUSDT_1h.csv")
	p := crossing{cfg: account()}
	r, err := Over(t.Context(), p, &bars, 0)
	if err != nil {
		t.Fatal(err)
	}
	h, err := Judge(t.Context(), p, r, Judgement{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(h.Flags, []string{FlagNoCosts}) || h.LookAhead.Cuts < 15 {
		t.Errorf("flags %v after %d cuts: %+v", h.Flags, h.LookAhead.Cuts, h)
	}
	if math.Abs(h.Costs.BreakEven-28.8) > 0.05 {
		t.Errorf("break-even %v bps, want 28.8", h.Costs.BreakEven)
	}
}
