package console

import (
	"slices"
	"time"

	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// tradesPage shows what each exit earned. It is a tab of the orders.
func tradesPage() page {
	return page{
		path: "/trades", name: "orders", title: "Trades", template: "trades", live: "orders list",
		needs: func(p Ports) bool { return p.Account != nil }, data: (*Console).tradesData,
	}
}

type tradesData struct {
	Since   string // today, week or all
	Symbol  string // "" for all
	Reason  string // "" for all
	Reasons []tradeReason
	Rows    []tradeRow
	Sums    []tradeSum
	Left    int // trades that are not shown
	From    time.Time
}

// tradeReason is a choice of the page.
type tradeReason struct{ Name, Title string }

func tradeReasons() []tradeReason {
	all := append(make([]tradeReason, 0, 1+len(order.Reasons())), tradeReason{"", "Any"})
	for _, name := range order.Reasons() {
		all = append(all, tradeReason{name, upperFirst(name)})
	}
	return all
}

// tradeRow is a trade as the table shows it.
type tradeRow struct {
	order.Trade
	Name, Size, In, Out, Earned, Class, Fee string
}

// tradeSum is what the shown times earned in a currency.
type tradeSum struct {
	Currency, Net, Class string
	Wins, Losses         int
}

func (c *Console) tradesData(v *visit) (any, error) {
	asked, f := v.r.URL.Query(), v.format()
	d := tradesData{Since: since(asked.Get("since")), Symbol: asked.Get("symbol"), Reasons: tradeReasons()}
	q := order.TradeQuery{Most: listPage}
	if reason := asked.Get("reason"); reason != "" {
		var err error
		if q.Reason, err = order.ParseReason(reason); err != nil {
			return nil, err
		}
		d.Reason = q.Reason
	}
	if d.Symbol != "" {
		s, err := market.ParseSymbol(d.Symbol)
		if err != nil {
			return nil, err
		}
		q.Symbol = s
	}
	switch today := f.now.UTC().Truncate(24 * time.Hour); d.Since {
	case "today":
		q.From = today
	case "week":
		q.From = today.AddDate(0, 0, -6)
	}
	page, err := c.cfg.Account.Trades(v.ctx(), v.caller(), q)
	if err != nil {
		return nil, err
	}
	d.Left, d.From = page.Left, page.Since
	for _, one := range page.Trades {
		d.Rows = append(d.Rows, newTradeRow(one, f))
	}
	for _, s := range page.Sums {
		net := s.Net()
		d.Sums = append(d.Sums, tradeSum{s.Currency, f.Signed(net), f.Class(net), s.Wins, s.Losses})
	}
	return d, nil
}

func newTradeRow(t order.Trade, f format) tradeRow {
	fees, _ := t.Fees()
	net, paid := t.Net(), f.Money(fees)
	if !t.Paid.Funding.IsZero() {
		paid += " and funding of " + f.Money(t.Paid.Funding)
	}
	return tradeRow{
		Trade: t, Name: t.Symbol.Name, Size: f.Num(t.Quantity), In: f.Average(t.Entry()), Out: f.Average(t.Exit()),
		Earned: f.Signed(net), Class: f.Class(net), Fee: paid,
	}
}

// earnedRow is what was earned in a time.
type earnedRow struct{ Title, Net, Class, Fees, Note string }

// earnedRows are the five sums of the overview.
func earnedRows(all []guard.Earned, f format) []earnedRow {
	titles := map[string]string{"today": "Today", "days_7": "7 days", "days_30": "30 days", "year": "A year", "all": "All"}
	rows := make([]earnedRow, 0, len(all))
	for _, e := range all {
		net := e.Realised.Sub(e.Fees)
		row := earnedRow{Title: titles[e.Time], Net: f.Signed(net), Class: f.Class(net), Fees: f.Money(e.Fees)}
		if len(e.Missing) > 0 {
			row.Note = "without " + e.Missing[0]
		}
		rows = append(rows, row)
	}
	return slices.DeleteFunc(rows, func(r earnedRow) bool { return r.Title == "" })
}
