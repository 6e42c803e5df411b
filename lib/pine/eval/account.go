package eval

import (
	"math"

	"candela/lib/backtest/simulate"
)

// tradeField reads a field of a trade.
type tradeField func(s *site, t *simulate.Trade) float64

// tradeFields are the fields of closed and of open trades.
func tradeFields() map[string]tradeField {
	return map[string]tradeField{
		"commission":      func(_ *site, t *simulate.Trade) float64 { return t.Commission },
		"entry_bar_index": func(_ *site, t *simulate.Trade) float64 { return float64(t.EntryBar) },
		"entry_comment":   func(s *site, t *simulate.Trade) float64 { return s.h.newText(t.EntryComment) },
		"entry_id":        func(s *site, t *simulate.Trade) float64 { return s.h.newText(t.EntryID) },
		"entry_price":     func(_ *site, t *simulate.Trade) float64 { return t.EntryPrice },
		"entry_time":      func(_ *site, t *simulate.Trade) float64 { return float64(t.EntryTime) },
		"max_drawdown": func(_ *site, t *simulate.Trade) float64 {
			return max(0, (t.EntryPrice-t.Worst)*float64(t.Side)*t.Quantity)
		},
		"max_drawdown_percent": func(_ *site, t *simulate.Trade) float64 {
			return max(0, 100*(t.EntryPrice-t.Worst)*float64(t.Side)/t.EntryPrice)
		},
		"max_runup": func(_ *site, t *simulate.Trade) float64 {
			return max(0, (t.Best-t.EntryPrice)*float64(t.Side)*t.Quantity)
		},
		"max_runup_percent": func(_ *site, t *simulate.Trade) float64 {
			return max(0, 100*(t.Best-t.EntryPrice)*float64(t.Side)/t.EntryPrice)
		},
		"profit":         func(_ *site, t *simulate.Trade) float64 { return t.Profit },
		"profit_percent": func(_ *site, t *simulate.Trade) float64 { return 100 * t.Profit / (t.EntryPrice * t.Quantity) },
		"size":           func(_ *site, t *simulate.Trade) float64 { return t.Quantity * float64(t.Side) },
	}
}

// exitFields are those of closed trades only.
func exitFields() map[string]tradeField {
	return map[string]tradeField{
		"exit_bar_index": func(_ *site, t *simulate.Trade) float64 { return float64(t.ExitBar) },
		"exit_comment":   func(s *site, t *simulate.Trade) float64 { return s.h.newText(t.ExitComment) },
		"exit_id":        func(s *site, t *simulate.Trade) float64 { return s.h.newText(t.ExitID) },
		"exit_price":     func(_ *site, t *simulate.Trade) float64 { return t.ExitPrice },
		"exit_time":      func(_ *site, t *simulate.Trade) float64 { return float64(t.ExitTime) },
	}
}

// closedRows are the functions that read closed trades, one for each field, and openRows those
// that read open ones.
func closedRows() functions {
	return tradeRows("strategy.closedtrades.", joined(tradeFields(), exitFields()), func(s *site, i int) (t simulate.Trade, ok bool) {
		if all := s.m.env.Account.Trades(); i < len(all) {
			return all[i], true
		}
		return t, false
	})
}

func openRows() functions {
	return tradeRows("strategy.opentrades.", tradeFields(), func(s *site, i int) (t simulate.Trade, ok bool) {
		if all := s.m.env.Account.Open(); i < len(all) {
			return s.m.env.Account.Marked(&all[i], s.m.price[priceClose]), true
		}
		return t, false
	})
}

func tradeRows(list string, fields map[string]tradeField, find func(s *site, i int) (simulate.Trade, bool)) functions {
	all := functions{}
	for name, field := range fields {
		all[list+name] = priced(flat(1), func(s *site, a []float64) float64 {
			if s.m.env.Account != nil && a[0] >= 0 {
				if t, ok := find(s, whole(a[0])); ok {
					return field(s, &t)
				}
			}
			return math.NaN()
		})
	}
	return all
}

// ofAccount is a variable of the account; before is its value where there is none, which is that
// of an account that has never traded.
func ofAccount(before float64, of func(a *simulate.Account) float64) variable {
	return variable{
		fixed: func(*compiler) float64 { return before },
		of:    func(_ *compiler, a *simulate.Account) num { return func() float64 { return of(a) } },
	}
}

// percent is a variable of the account in percent of its capital.
func percent(of func(a *simulate.Account) float64) variable {
	return ofAccount(0, func(a *simulate.Account) float64 { return 100 * of(a) / a.Config().Capital })
}

// total is a variable that counts closed trades.
func total(of func(k simulate.Totals) float64) variable {
	return ofAccount(0, func(a *simulate.Account) float64 { return of(a.Totals()) })
}

// accountVariables are the variables of strategies.
func accountVariables() variables {
	return variables{
		"strategy.account_currency":         text(func(s *Symbol) string { return s.Currency }),
		"strategy.avg_losing_trade":         ofAccount(math.NaN(), func(a *simulate.Account) float64 { return a.Totals().GrossLoss / float64(a.Totals().Losses) }),
		"strategy.avg_trade":                ofAccount(math.NaN(), func(a *simulate.Account) float64 { return a.NetProfit() / float64(len(a.Trades())) }),
		"strategy.avg_winning_trade":        ofAccount(math.NaN(), func(a *simulate.Account) float64 { return a.Totals().GrossProfit / float64(a.Totals().Wins) }),
		"strategy.closedtrades":             ofAccount(0, func(a *simulate.Account) float64 { return float64(len(a.Trades())) }),
		"strategy.closedtrades.first_index": always(0),
		"strategy.equity":                   ofAccount(1_000_000, (*simulate.Account).Equity),
		"strategy.eventrades":               total(func(k simulate.Totals) float64 { return float64(k.Even) }),
		"strategy.grossloss":                total(func(k simulate.Totals) float64 { return k.GrossLoss }),
		"strategy.grossloss_percent":        percent(func(a *simulate.Account) float64 { return a.Totals().GrossLoss }),
		"strategy.grossprofit":              total(func(k simulate.Totals) float64 { return k.GrossProfit }),
		"strategy.grossprofit_percent":      percent(func(a *simulate.Account) float64 { return a.Totals().GrossProfit }),
		"strategy.initial_capital":          ofAccount(1_000_000, func(a *simulate.Account) float64 { return a.Config().Capital }),
		"strategy.losstrades":               total(func(k simulate.Totals) float64 { return float64(k.Losses) }),
		"strategy.max_contracts_held_all":   total(func(k simulate.Totals) float64 { return k.MaxHeld }),
		"strategy.max_contracts_held_long":  total(func(k simulate.Totals) float64 { return k.MaxLong }),
		"strategy.max_contracts_held_short": total(func(k simulate.Totals) float64 { return k.MaxShort }),
		"strategy.max_drawdown":             total(func(k simulate.Totals) float64 { return k.Drawdown }),
		"strategy.max_drawdown_percent":     total(func(k simulate.Totals) float64 { return k.DrawdownPercent }),
		"strategy.max_runup":                total(func(k simulate.Totals) float64 { return k.RunUp }),
		"strategy.max_runup_percent":        total(func(k simulate.Totals) float64 { return k.RunUpPercent }),
		"strategy.netprofit":                ofAccount(0, (*simulate.Account).NetProfit),
		"strategy.netprofit_percent":        percent((*simulate.Account).NetProfit),
		"strategy.openprofit":               ofAccount(0, (*simulate.Account).OpenProfit),
		"strategy.openprofit_percent":       percent((*simulate.Account).OpenProfit),
		"strategy.opentrades":               ofAccount(0, func(a *simulate.Account) float64 { return float64(len(a.Open())) }),
		"strategy.position_avg_price":       ofAccount(math.NaN(), (*simulate.Account).AveragePrice),
		"strategy.position_entry_name":      {fixed: func(c *compiler) float64 { return c.text("") }, of: entryName},
		"strategy.position_size":            ofAccount(0, (*simulate.Account).Position),
		"strategy.wintrades":                total(func(k simulate.Totals) float64 { return float64(k.Wins) }),
	}
}

func entryName(c *compiler, a *simulate.Account) num {
	return func() float64 {
		if len(a.Open()) == 0 {
			return c.m.heap.newText("")
		}
		return c.m.heap.newText(a.Open()[0].ID)
	}
}
