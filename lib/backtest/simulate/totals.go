package simulate

import "math"

// Totals counts what a run has done so far.
type Totals struct {
	Refused                int // orders that the paper account could not fill: no cash, nothing to sell
	Liquidations           int // positions that the paper account lost for want of margin
	Funding                float64
	Bars, BarsHeld         int // all bars, and those with a position or an order
	Wins, Losses, Even     int // closed trades by their result
	GrossProfit, GrossLoss float64
	MaxHeld                float64 // largest position
	MaxLong, MaxShort      float64

	// Drawdown is the most that equity fell below the highest equity of closed trades, at
	// any point of the path; RunUp is the most that it rose above the lowest.
	Drawdown, DrawdownPercent float64
	RunUp, RunUpPercent       float64

	high, low float64 // equity of closed trades
}

// nearly is less than 1 by more than products are rounded.
const nearly = 1 - 1e-12

// Totals returns the counts so far.
func (a *Account) Totals() Totals { return a.totals }

func (t *Totals) close(profit float64) {
	switch {
	case profit > 0:
		t.Wins++
		t.GrossProfit += profit
	case profit < 0:
		t.Losses++
		t.GrossLoss -= profit
	default:
		t.Even++
	}
}

func (t *Totals) hold(size float64) {
	t.MaxHeld = max(t.MaxHeld, math.Abs(size))
	t.MaxLong, t.MaxShort = max(t.MaxLong, size), max(t.MaxShort, -size)
}

// mark compares equity inside a trade with the extremes of closed equity.
func (t *Totals) mark(closed, open float64) {
	t.high, t.low = max(t.high, closed), min(t.low, closed)
	equity := closed + open
	if d := t.high - equity; d > t.Drawdown {
		t.Drawdown = d
	}
	// The products spare a division that changes nothing.
	if part := 100 * (t.high - equity); part > t.DrawdownPercent*t.high*nearly {
		if d := part / t.high; d > t.DrawdownPercent {
			t.DrawdownPercent = d
		}
	}
	if u := equity - t.low; u > t.RunUp {
		t.RunUp = u
	}
	if part := 100 * (equity - t.low); equity <= 0 || part > t.RunUpPercent*equity*nearly {
		if u := part / equity; u > t.RunUpPercent {
			t.RunUpPercent = u
		}
	}
}
