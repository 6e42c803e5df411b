package research

import (
	"cmp"
	"fmt"
	"time"

	"candela/internal/work/research/past"
	"candela/internal/work/research/report"
	"candela/lib/backtest"
	"candela/lib/backtest/simulate"
	"candela/lib/market"
)

// Trade is a closed trade.
type Trade struct {
	Side   string `json:"side"`
	In     string `json:"in"`
	Entry  Figure `json:"entry"`
	Out    string `json:"out"`
	Exit   Figure `json:"exit"`
	Units  Figure `json:"quantity"`
	Profit Figure `json:"profit"`
	Why    string `json:"why"`
}

// Result has the figures of a back-test.
type Result struct {
	Net          Figure `json:"net"`
	NetPct       Figure `json:"net_pct"`
	Open         Figure `json:"open_profit"`
	Trades       int    `json:"trades"`
	WinPct       Figure `json:"win_pct"`
	ProfitFactor Figure `json:"profit_factor"`
	Expectancy   Figure `json:"expectancy"`
	Drawdown     Figure `json:"max_drawdown_pct"`
	DrawdownBar  Figure `json:"max_drawdown_closes_pct"`
	CAGR         Figure `json:"cagr_pct"`
	Sharpe       Figure `json:"sharpe_bar"`
	SharpeMonth  Figure `json:"sharpe_monthly"`
	Daily        bool   `json:"sharpe_monthly_is_daily,omitempty"`
	Luck         Figure `json:"probability_sharpe_above_0"`
	Exposure     Figure `json:"exposure_pct"`
	BuyHold      Figure `json:"buy_and_hold_pct"`

	Funding      *Figure `json:"funding,omitempty"` // paid in a perpetual future; negative when received
	Liquidations *int    `json:"liquidations,omitempty"`
}

// Honesty says how far a result can be trusted.
type Honesty struct {
	Flags     []string `json:"flags"`
	LookAhead string   `json:"look_ahead"`
	Start     string   `json:"start_shift"`
	Ambiguous string   `json:"ambiguous"`
	Costs     string   `json:"costs"`
	Order     string   `json:"order_of_trades"`
	Refused   string   `json:"refused,omitempty"` // entries, and margin calls
	Trials    string   `json:"trials"`
}

// BacktestAnswer is the answer to a back-test.
type BacktestAnswer struct {
	RunID      string       `json:"run_id"`
	ReportID   string       `json:"report_id"`
	Symbol     string       `json:"symbol"`
	Interval   string       `json:"interval"`
	FillModel  string       `json:"fill_model"`
	Leverage   float64      `json:"leverage,omitempty"` // of a perpetual future with the fill model paper
	Sweep      *SweepResult `json:"sweep,omitempty"`
	Result     Result       `json:"result"`
	NoTrades   string       `json:"no_trades,omitempty"` // why
	Honesty    Honesty      `json:"honesty"`
	LastTrades []Trade      `json:"last_trades"`

	OpenPosition *OpenPosition `json:"open_position,omitempty"`
	OpenOrders   []OpenOrder   `json:"open_orders,omitempty"`      // at the last close
	MoreOrders   int           `json:"open_orders_more,omitempty"` // that are not listed

	Data        Data     `json:"data"`
	Assumptions string   `json:"assumptions"`
	Caution     string   `json:"caution,omitempty"`
	Notes       []string `json:"script_notes,omitempty"`
}

// lastTrades is the number of trades that are listed.
const lastTrades = 5

// answer writes what a run has found.
func (r *study) answer(run *backtestRun, p *past.Bars) BacktestAnswer {
	id := r.id(p)
	out := BacktestAnswer{
		RunID: id, ReportID: id, Symbol: p.Symbol.String(), Interval: r.Interval.String(), FillModel: r.Fills, Result: r.result(run.Run, p), NoTrades: noTrades(run.Run),
		Honesty: honestyText(run.Run, &run.honesty), LastTrades: []Trade{}, Data: p.Data(r.Interval),
		Assumptions: assumptions(&run.Config), Sweep: r.sweepText(p, r.perYear(p)), Notes: r.notes,
	}
	if run.Config.Perp != nil {
		out.Leverage = run.Config.Perp.Leverage
		if len(run.Config.Perp.Funding) == 0 {
			out.Honesty.Flags = append(out.Honesty.Flags, flagNoFunding)
		}
	}
	out.Honesty.Trials, out.Data.Magnified = r.tried, r.magnified
	for _, t := range run.Trades[max(0, len(run.Trades)-lastTrades):] {
		out.LastTrades = append(out.LastTrades, Trade{
			t.Side.String(), market.Stamp(t.EntryTime / 1000), Figure(t.EntryPrice), market.Stamp(t.ExitTime / 1000), Figure(t.ExitPrice),
			Figure(t.Quantity), Figure(t.Profit), why(&t),
		})
	}
	out.addOpen(run.Run)
	if p.Synthetic {
		out.Caution = "the bars are made-up samples: the result says nothing about a market"
	}
	return out
}

// why says what ended a trade.
func why(t *simulate.Trade) string { return cmp.Or(t.ExitComment, t.ExitID) }

// assumptions describes the account of a run.
func assumptions(c *simulate.Config) string {
	fee := map[simulate.Charge]string{simulate.Percent: "%", simulate.PerUnit: "for each unit", simulate.PerOrder: "for each order"}[c.Charge]
	text := fmt.Sprintf("capital %s, commission %g %s a side, slippage %g %% and %d ticks; a bar goes to the extreme nearer to its open first; max_drawdown_pct is from the highest equity of closed trades, also within bars, max_drawdown_closes_pct from the highest equity at a close, so either may be larger", report.Money(c.Capital), c.Commission, fee, c.SlipPercent, c.Slippage)
	if c.Capital == 0 {
		text += "; figures in percent of the capital, which is 0, are null: give capital for them"
	}
	if c.Paper {
		text += "; a stop fills in its bar at its price and the slippage, a limit when the price passes it, both up to the volume of the bar"
	}
	switch {
	case c.Perp != nil:
		text += fmt.Sprintf("; a perpetual future at a leverage of %g with a margin of its own: entries are cut to the cash for it, and a bar that reaches the liquidation price takes the margin", c.Perp.Leverage)
	case c.Paper:
		text += "; purchases are cut to the cash, and nothing is sold short"
	}
	return text
}

// perYear returns the number of bars a year.
func (r *study) perYear(p *past.Bars) float64 {
	if n := p.Bars.Len(); n > 1 {
		// Hours outside a session are no part of the year.
		return float64(n-1) / (float64(p.Bars.T[n-1]-p.Bars.T[0]) / (365 * 24 * 3600))
	}
	return float64(365*24*time.Hour) / float64(time.Duration(r.Interval.Seconds())*time.Second)
}

func (r *study) result(run *backtest.Run, p *past.Bars) Result {
	year := r.perYear(p)
	s, k := run.Summary(year), run.Closed()
	out := Result{
		Net: Figure(run.Net), NetPct: Figure(100 * run.Net / run.Config.Capital), Open: Figure(run.Last), Trades: k.Count,
		WinPct: Figure(k.WinRate), ProfitFactor: Figure(k.ProfitFactor), Expectancy: Figure(k.Expectancy),
		Drawdown: Figure(run.Totals.DrawdownPercent), DrawdownBar: Figure(s.DrawdownPercent), CAGR: Figure(s.CAGR),
		Sharpe: Figure(s.Sharpe), SharpeMonth: Figure(s.Monthly.Sharpe), Daily: s.Monthly.Daily, Luck: Figure(s.Moments.Probabilistic(0)),
		Exposure: Figure(exposure(run)), BuyHold: Figure(100 * (p.Bars.C[p.Bars.Len()-1]/p.Bars.O[p.From] - 1)),
	}
	if run.Config.Perp != nil {
		funding := Figure(run.Totals.Funding)
		out.Funding, out.Liquidations = &funding, &run.Totals.Liquidations
	}
	return out
}

// exposure returns the share of bars with a position, in percent.
func exposure(run *backtest.Run) float64 {
	held := make([]bool, run.Bars.Len())
	first := run.From
	mark := func(from, to int) {
		for i := from; i <= to; i++ {
			held[i] = true
		}
	}
	for _, t := range run.Trades {
		mark(t.EntryBar, t.ExitBar)
	}
	for _, l := range run.Open {
		mark(l.Bar, len(held)-1)
	}
	n := 0
	for _, h := range held[first:] {
		if h {
			n++
		}
	}
	return 100 * float64(n) / float64(len(held)-first)
}

func honestyText(run *backtest.Run, h *backtest.Honesty) Honesty {
	out := Honesty{
		Flags:     append([]string{}, h.Flags...),
		LookAhead: fmt.Sprintf("%d of %d runs over shorter histories changed a trade of the past", h.LookAhead.Changed, h.LookAhead.Cuts),
		Start:     "not tested: too few bars",
		Ambiguous: fmt.Sprintf("%d of %s ended in a bar that held stop and target", h.Ambiguous.Trades, report.Count(h.Ambiguous.Of, "trade", "trades")),
		Costs: fmt.Sprintf("net %s without costs, %s as assumed, %s at twice, %s at three times; ",
			report.Money(h.Costs.Net[0]), report.Money(h.Costs.Net[1]), report.Money(h.Costs.Net[2]), report.Money(h.Costs.Net[3])),
		Order:   "no closed trades",
		Refused: refusedText(&run.Asked),
	}
	switch {
	case len(run.Trades) == 0:
		out.Costs, out.Ambiguous = "no closed trades", "no closed trades"
	case h.Costs.BreakEven > 0:
		out.Costs += "nothing is left at " + report.Grouped(h.Costs.BreakEven, 1) + " basis points a side"
	default:
		out.Costs += "nothing is left even without costs"
	}
	if len(run.Trades) > 0 {
		out.Costs += invertedText(&h.Costs)
	}
	if h.StartShift.Runs > 0 {
		out.Start = fmt.Sprintf("%d entries changed, from 500 bars after the start on, when history and trading began up to 200 bars later; the net result moved by up to %s of the capital", h.StartShift.Changed, report.Percent(h.StartShift.Spread))
	}
	if h.Ambiguous.Trades > 0 {
		out.Ambiguous += fmt.Sprintf("; net %s with stops first, %s with targets first", report.Money(h.Ambiguous.Worst), report.Money(h.Ambiguous.Best))
	}
	if len(run.Trades) > 0 {
		out.Order = fmt.Sprintf("drawdown of closed trades %s; %s at the median of 1,000 random orders, %s in the worst 5 %%", report.Money(h.Shuffle.Actual), report.Money(h.Shuffle.Median), report.Money(h.Shuffle.High))
	}
	return out
}
