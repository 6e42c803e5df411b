package eval

import (
	"math"
	"strings"

	"candela/lib/backtest/simulate"
	"candela/lib/pine/check"
)

// Account returns the settings of the account that a strategy declares, for an instrument
// with a tick and a step of quantities.
func Account(p *check.Program, tick, step float64) simulate.Config {
	number := func(name string, other float64) float64 {
		if k, ok := p.Declaration.Arg(name).(*check.Const); ok && !k.NA {
			return k.Num
		}
		return other
	}
	text := func(name string) string {
		if k, ok := p.Declaration.Arg(name).(*check.Const); ok && !k.NA {
			return lastPart(k.Str)
		}
		return ""
	}
	margin := 100.0
	if p.Version < 6 {
		margin = 0
	}
	c := simulate.Config{
		Capital: number("initial_capital", 1_000_000), Tick: tick, Step: step, PointValue: 1,
		Pyramiding: int(number("pyramiding", 0)), Size: number("default_qty_value", 1),
		Commission: number("commission_value", 0), Slippage: int(number("slippage", 0)),
		LimitBeyond: int(number("backtest_fill_limits_assumption", 0)),
		MarginLong:  number("margin_long", margin), MarginShort: number("margin_short", margin),
		CloseAny: text("close_entries_rule") == "ANY", OnClose: number("process_orders_on_close", 0) != 0,
	}
	switch text("default_qty_type") {
	case "cash":
		c.Sizing = simulate.Cash
	case "percent_of_equity":
		c.Sizing = simulate.PercentOfEquity
	}
	switch text("commission_type") {
	case "cash_per_contract":
		c.Charge = simulate.PerUnit
	case "cash_per_order":
		c.Charge = simulate.PerOrder
	}
	return c
}

// Declares reports whether a strategy declares a setting that is neither false nor 0.
func Declares(p *check.Program, name string) bool {
	k, ok := p.Declaration.Arg(name).(*check.Const)
	return ok && !k.NA && k.Num != 0
}

// Ignored returns the settings of a strategy that are not simulated, by name. prices is the
// currency of the symbol.
func Ignored(p *check.Program, prices string) []string {
	var out []string
	for _, name := range []string{"use_bar_magnifier", "fill_orders_on_standard_ohlc", "calc_bars_count"} {
		if Declares(p, name) {
			out = append(out, name)
		}
	}
	if k, ok := p.Declaration.Arg("currency").(*check.Const); ok && !k.NA {
		if own := lastPart(k.Str); own != "" && own != "NONE" && own != prices {
			out = append(out, "currency")
		}
	}
	return out
}

// lastPart returns what a constant is called without its namespace.
func lastPart(s string) string { return s[strings.LastIndexByte(s, '.')+1:] }

// side returns the direction that an argument names.
func (s *site) side(a []float64, i int) simulate.Side {
	if lastPart(s.text(a, i, "long")) == "short" {
		return simulate.Short
	}
	return simulate.Long
}

// when reports whether the call counts: the argument `when` of version 5 is not false.
func (s *site) when(a []float64) bool {
	for i, p := range s.call.Builtin.Params {
		if p.Name == "when" && s.given(i) {
			return a[i] == 1
		}
	}
	return true
}

// orderRows are the functions that place and cancel orders. A chart simulates none.
func orderRows() functions {
	return functions{
		"strategy.cancel":             priced(allTexts(), placed(func(s *site, a []float64, to *simulate.Account) { to.Cancel(s.text(a, 0, "")) })),
		"strategy.cancel_all":         priced(allTexts(), placed(func(_ *site, _ []float64, to *simulate.Account) { to.CancelAll() })),
		"strategy.close":              priced(allTexts(), placed(closeEntry)),
		"strategy.close_all":          priced(allTexts(), placed(closeAll)),
		"strategy.convert_to_account": priced(flat(1), converted),
		"strategy.convert_to_symbol":  priced(flat(1), converted),
		"strategy.entry":              priced(allTexts(), placed(func(s *site, a []float64, to *simulate.Account) { to.Enter(s.request(a)) })),
		"strategy.exit":               priced(allTexts(), placed(exit)),
		"strategy.order":              priced(allTexts(), placed(func(s *site, a []float64, to *simulate.Account) { to.Order(s.request(a)) })),
	}
}

// placed is what a call does with the account, if there is one. A forming bar places no orders.
func placed(act func(s *site, a []float64, to *simulate.Account)) plain {
	return func(s *site, a []float64) float64 {
		if to := s.m.env.Account; to != nil && (!s.m.tried || s.m.again) && s.when(a) {
			s.pay(to.Waiting()/readAStep + len(to.Open())/readAStep)
			act(s, a, to)
		}
		return math.NaN()
	}
}

// converted is an amount in the other currency: candela has one for both.
func converted(s *site, a []float64) float64 {
	if s.m.env.Account == nil {
		return math.NaN()
	}
	return a[0]
}

// riskRows are the rules of risk.
func riskRows() functions {
	return functions{
		"strategy.risk.allow_entry_in":             priced(allTexts(), limited(allowEntryIn)),
		"strategy.risk.max_cons_loss_days":         priced(allTexts(), limited(func(_ *site, a []float64, r *simulate.Risk) { r.LossDays = whole(a[0]) })),
		"strategy.risk.max_drawdown":               priced(allTexts(), limited(func(s *site, a []float64, r *simulate.Risk) { r.Drawdown, r.DrawdownOfPeak = a[0], s.percent(a) })),
		"strategy.risk.max_intraday_filled_orders": priced(allTexts(), limited(func(_ *site, a []float64, r *simulate.Risk) { r.FillsADay = whole(a[0]) })),
		"strategy.risk.max_intraday_loss":          priced(allTexts(), limited(func(s *site, a []float64, r *simulate.Risk) { r.DayLoss, r.DayLossOfStart = a[0], s.percent(a) })),
		"strategy.risk.max_position_size":          priced(allTexts(), limited(func(_ *site, a []float64, r *simulate.Risk) { r.Position = a[0] })),
	}
}

// limited sets a rule of risk.
func limited(set func(s *site, a []float64, r *simulate.Risk)) plain {
	return func(s *site, a []float64) float64 {
		if account := s.m.env.Account; account != nil {
			r := account.Risk()
			set(s, a, &r)
			account.Limit(r)
		}
		return math.NaN()
	}
}

func allowEntryIn(s *site, a []float64, r *simulate.Risk) {
	switch lastPart(s.text(a, 0, "")) {
	case "long":
		r.Only = simulate.Long
	case "short":
		r.Only = simulate.Short
	}
}

// percent reports whether a rule of risk counts in percent of the equity.
func (s *site) percent(a []float64) bool { return lastPart(s.text(a, 1, "")) == "percent_of_equity" }

// The memory of an order, a position and a trade of the account, about.
const tradeBytes = 200

// pairsAStep is how many pairs of orders are compared in the time of a step.
const pairsAStep = 16

// settleAccount pays for what the account does with the orders of a bar before it does it, and
// counts what it holds. Each order that fills is compared with all others.
func (m *Machine) settleAccount(a *simulate.Account) {
	waiting, open := a.Waiting(), len(a.Open())
	live := waiting + open
	if live*live >= pairsAStep {
		m.spend(m.place, (waiting*live+open)/pairsAStep)
	}
	if n := live + len(a.Trades()); n > m.trades {
		m.hold(m.place, tradeBytes*(n-m.trades))
		m.trades = n
	}
}

// request reads the arguments of strategy.entry and strategy.order.
func (s *site) request(a []float64) simulate.Request {
	return simulate.Request{
		ID: s.text(a, 0, ""), Side: s.side(a, 1), Quantity: a[2], Limit: a[3], Stop: a[4],
		Group: s.text(a, 5, ""), OCA: ocaOf(lastPart(s.text(a, 6, ""))), Comment: s.text(a, 7, ""),
	}
}

func closeEntry(s *site, a []float64, to *simulate.Account) {
	to.Close(simulate.CloseRequest{
		From: s.text(a, 0, ""), Comment: s.text(a, 1, ""), Quantity: a[2], Percent: a[3], Immediately: s.given(5) && a[5] == 1,
	})
}

func closeAll(s *site, a []float64, to *simulate.Account) {
	none := math.NaN()
	to.Close(simulate.CloseRequest{Comment: s.text(a, 0, ""), Quantity: none, Percent: none, Immediately: s.given(2) && a[2] == 1})
}

func ocaOf(name string) simulate.OCA {
	switch name {
	case "cancel":
		return simulate.OCACancel
	case "reduce":
		return simulate.OCAReduce
	}
	return simulate.OCANone
}

func exit(s *site, a []float64, to *simulate.Account) {
	to.Exit(simulate.ExitRequest{
		ID: s.text(a, 0, ""), From: s.text(a, 1, ""), Quantity: a[2], Percent: a[3],
		Profit: a[4], Limit: a[5], Loss: a[6], Stop: a[7], TrailPrice: a[8], TrailPoints: a[9], TrailOffset: a[10],
		Group: s.text(a, 11, ""), Comment: s.text(a, 12, ""), CommentProfit: s.text(a, 13, ""),
		CommentLoss: s.text(a, 14, ""), CommentTrailing: s.text(a, 15, ""),
	})
}
