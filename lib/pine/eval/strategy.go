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

// strategyFunction finds a function of strategies by name.
func strategyFunction(name string) function {
	if rest, ok := strings.CutPrefix(name, "strategy.risk."); ok {
		return priced(allTexts(), func(s *site, a []float64) float64 { return s.limit(rest, a) })
	}
	for _, list := range []string{"strategy.closedtrades.", "strategy.opentrades."} {
		if field, ok := strings.CutPrefix(name, list); ok {
			return priced(flat(1), func(s *site, a []float64) float64 { return s.tradeField(list == "strategy.opentrades.", field, a[0]) })
		}
	}
	act := orderFunction(strings.TrimPrefix(name, "strategy."))
	if act == nil {
		return function{}
	}
	return priced(allTexts(), func(s *site, a []float64) float64 {
		if s.m.env.Account == nil || s.m.tried && !s.m.again || !s.when(a) {
			return math.NaN()
		}
		s.pay(s.m.env.Account.Waiting()/readAStep + len(s.m.env.Account.Open())/readAStep)
		return act(s, a)
	})
}

// The memory of an order, a position and a trade of the account, about.
const tradeBytes = 200

// settleAccount pays for what the account does with the orders of a bar before it does it, and
// counts what it holds. Each order that fills is compared with all others.
func (m *Machine) settleAccount() {
	a := m.env.Account
	if a == nil || m.tried && !m.again {
		return
	}
	waiting, open := a.Waiting(), len(a.Open())
	m.spend(m.place, (waiting*(waiting+open)+open)/16)
	if n := waiting + open + len(a.Trades()); n > m.trades {
		m.hold(m.place, tradeBytes*(n-m.trades))
		m.trades = n
	}
}

func orderFunction(name string) plain {
	switch name {
	case "entry", "order":
		return func(s *site, a []float64) float64 {
			r := simulate.Request{
				ID: s.text(a, 0, ""), Side: s.side(a, 1), Quantity: a[2], Limit: a[3], Stop: a[4],
				Group: s.text(a, 5, ""), OCA: ocaOf(lastPart(s.text(a, 6, ""))), Comment: s.text(a, 7, ""),
			}
			if name == "entry" {
				s.m.env.Account.Enter(r)
			} else {
				s.m.env.Account.Order(r)
			}
			return math.NaN()
		}
	case "exit":
		return exitCall
	case "close":
		return func(s *site, a []float64) float64 {
			s.m.env.Account.Close(simulate.CloseRequest{
				From: s.text(a, 0, ""), Comment: s.text(a, 1, ""), Quantity: a[2], Percent: a[3], Immediately: s.given(5) && a[5] == 1,
			})
			return math.NaN()
		}
	case "close_all":
		return func(s *site, a []float64) float64 {
			none := math.NaN()
			s.m.env.Account.Close(simulate.CloseRequest{Comment: s.text(a, 0, ""), Quantity: none, Percent: none, Immediately: s.given(2) && a[2] == 1})
			return none
		}
	case "cancel":
		return func(s *site, a []float64) float64 {
			s.m.env.Account.Cancel(s.text(a, 0, ""))
			return math.NaN()
		}
	case "cancel_all":
		return func(s *site, _ []float64) float64 {
			s.m.env.Account.CancelAll()
			return math.NaN()
		}
	case "convert_to_account", "convert_to_symbol":
		return func(_ *site, a []float64) float64 { return a[0] }
	}
	return nil
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

func exitCall(s *site, a []float64) float64 {
	s.m.env.Account.Exit(simulate.ExitRequest{
		ID: s.text(a, 0, ""), From: s.text(a, 1, ""), Quantity: a[2], Percent: a[3],
		Profit: a[4], Limit: a[5], Loss: a[6], Stop: a[7], TrailPrice: a[8], TrailPoints: a[9], TrailOffset: a[10],
		Group: s.text(a, 11, ""), Comment: s.text(a, 12, ""), CommentProfit: s.text(a, 13, ""),
		CommentLoss: s.text(a, 14, ""), CommentTrailing: s.text(a, 15, ""),
	})
	return math.NaN()
}

// limit sets a rule of risk.
func (s *site) limit(name string, a []float64) float64 {
	account := s.m.env.Account
	if account == nil {
		return math.NaN()
	}
	r := account.Risk()
	percent := lastPart(s.text(a, 1, "")) == "percent_of_equity"
	switch name {
	case "allow_entry_in":
		switch lastPart(s.text(a, 0, "")) {
		case "long":
			r.Only = simulate.Long
		case "short":
			r.Only = simulate.Short
		}
	case "max_intraday_filled_orders":
		r.FillsADay = whole(a[0])
	case "max_drawdown":
		r.Drawdown, r.DrawdownOfPeak = a[0], percent
	case "max_intraday_loss":
		r.DayLoss, r.DayLossOfStart = a[0], percent
	case "max_cons_loss_days":
		r.LossDays = whole(a[0])
	case "max_position_size":
		r.Position = a[0]
	}
	account.Limit(r)
	return math.NaN()
}

// tradeField reads a field of a closed or an open trade.
func (s *site) tradeField(open bool, field string, number float64) float64 {
	account := s.m.env.Account
	if account == nil || number != number || number < 0 {
		return math.NaN()
	}
	var t simulate.Trade
	i := whole(number)
	if open {
		if i >= len(account.Open()) {
			return math.NaN()
		}
		t = account.Marked(&account.Open()[i], s.m.price[priceClose])
	} else {
		if i >= len(account.Trades()) {
			return math.NaN()
		}
		t = account.Trades()[i]
	}
	switch field {
	case "entry_id":
		return s.h.newText(t.EntryID)
	case "exit_id":
		return s.h.newText(t.ExitID)
	case "entry_comment":
		return s.h.newText(t.EntryComment)
	case "exit_comment":
		return s.h.newText(t.ExitComment)
	}
	return tradeNumber(&t, field)
}

func tradeNumber(t *simulate.Trade, field string) float64 {
	side, value := float64(t.Side), t.EntryPrice*t.Quantity
	switch field {
	case "commission":
		return t.Commission
	case "entry_bar_index":
		return float64(t.EntryBar)
	case "exit_bar_index":
		return float64(t.ExitBar)
	case "entry_price":
		return t.EntryPrice
	case "exit_price":
		return t.ExitPrice
	case "entry_time":
		return float64(t.EntryTime)
	case "exit_time":
		return float64(t.ExitTime)
	case "profit":
		return t.Profit
	case "profit_percent":
		return 100 * t.Profit / value
	case "size":
		return t.Quantity * side
	case "max_runup":
		return max(0, (t.Best-t.EntryPrice)*side*t.Quantity)
	case "max_runup_percent":
		return max(0, 100*(t.Best-t.EntryPrice)*side/t.EntryPrice)
	case "max_drawdown":
		return max(0, (t.EntryPrice-t.Worst)*side*t.Quantity)
	case "max_drawdown_percent":
		return max(0, 100*(t.EntryPrice-t.Worst)*side/t.EntryPrice)
	}
	return math.NaN()
}

// accountVariable finds a variable of strategies by name, nil for one that does not depend
// on the account.
func (c *compiler) accountVariable(name string) num {
	a := c.m.env.Account
	rest, ok := strings.CutPrefix(name, "strategy.")
	if !ok || a == nil {
		return nil
	}
	percent := func(f func() float64) num {
		return func() float64 { return 100 * f() / a.Config().Capital }
	}
	switch rest {
	case "position_size":
		return a.Position
	case "position_avg_price":
		return a.AveragePrice
	case "equity":
		return a.Equity
	case "initial_capital":
		return func() float64 { return a.Config().Capital }
	case "netprofit":
		return a.NetProfit
	case "netprofit_percent":
		return percent(a.NetProfit)
	case "openprofit":
		return a.OpenProfit
	case "openprofit_percent":
		return percent(a.OpenProfit)
	case "opentrades":
		return func() float64 { return float64(len(a.Open())) }
	case "closedtrades":
		return func() float64 { return float64(len(a.Trades())) }
	case "position_entry_name":
		return func() float64 {
			if len(a.Open()) == 0 {
				return c.m.heap.newText("")
			}
			return c.m.heap.newText(a.Open()[0].ID)
		}
	}
	return totalsVariable(a, rest)
}

// totalsVariable are the variables that count closed trades.
func totalsVariable(a *simulate.Account, name string) num {
	of := func(f func(k simulate.Totals) float64) num { return func() float64 { return f(a.Totals()) } }
	switch name {
	case "wintrades":
		return of(func(k simulate.Totals) float64 { return float64(k.Wins) })
	case "losstrades":
		return of(func(k simulate.Totals) float64 { return float64(k.Losses) })
	case "eventrades":
		return of(func(k simulate.Totals) float64 { return float64(k.Even) })
	case "grossprofit":
		return of(func(k simulate.Totals) float64 { return k.GrossProfit })
	case "grossloss":
		return of(func(k simulate.Totals) float64 { return k.GrossLoss })
	case "max_drawdown":
		return of(func(k simulate.Totals) float64 { return k.Drawdown })
	case "max_drawdown_percent":
		return of(func(k simulate.Totals) float64 { return k.DrawdownPercent })
	case "max_runup":
		return of(func(k simulate.Totals) float64 { return k.RunUp })
	case "max_runup_percent":
		return of(func(k simulate.Totals) float64 { return k.RunUpPercent })
	case "max_contracts_held_all":
		return of(func(k simulate.Totals) float64 { return k.MaxHeld })
	case "max_contracts_held_long":
		return of(func(k simulate.Totals) float64 { return k.MaxLong })
	case "max_contracts_held_short":
		return of(func(k simulate.Totals) float64 { return k.MaxShort })
	}
	return nil
}
