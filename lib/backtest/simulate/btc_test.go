package simulate

import (
	"math"
	"testing"

	"candela/internal/testkit/sharedtest"
)

// A crossing of two averages on an hour's bars gives the figures that PyneCore and PineTS
// agree on.
func TestAccount_CrossOfAverages(t *testing.T) {
	bars := sharedtest.Bars(t, "data/BTCUSDT_1h.csv")
	a, err := New(Config{Capital: 100000, Tick: 0.01, Step: 1e-6, PointValue: 1})
	if err != nil {
		t.Fatal(err)
	}
	mean := func(i, n int) float64 {
		if i < n-1 {
			return math.NaN()
		}
		var sum float64
		for _, c := range bars.C[i-n+1 : i+1] {
			sum += c
		}
		return sum / float64(n)
	}
	for i := range bars.T {
		a.Bar(Bar{Time: bars.T[i] * 1000, Open: bars.O[i], High: bars.H[i], Low: bars.L[i], Close: bars.C[i]})
		if i > 0 {
			was, is := mean(i-1, 12)-mean(i-1, 26), mean(i, 12)-mean(i, 26)
			if was <= 0 && is > 0 {
				a.Enter(Request{ID: "L", Side: Long, Quantity: 1, Limit: nan(), Stop: nan()})
			}
			if was >= 0 && is < 0 {
				a.Close(CloseRequest{From: "L", Quantity: nan(), Percent: nan()})
			}
		}
		a.Computed()
	}
	k := a.Totals()
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"trades", float64(len(a.Trades())), 95},
		{"net profit", a.NetProfit(), 23447.78},
		{"gross profit", k.GrossProfit, 75198.22},
		{"gross loss", k.GrossLoss, 51750.44},
		{"drawdown", k.Drawdown, 13126.22},
		{"drawdown %", k.DrawdownPercent, 9.8099},
		{"run-up", k.RunUp, 35744.45},
		{"run-up %", k.RunUpPercent, 26.3322},
	} {
		if math.Abs(c.got-c.want) > 0.006 {
			t.Errorf("%s is %v, want %v", c.name, c.got, c.want)
		}
	}
}
