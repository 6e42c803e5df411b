package console

import (
	"math"
	"net/url"
	"slices"
	"time"

	"github.com/shopspring/decimal"

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
	Since   string // one of the times
	Symbol  string // "" for all
	Reason  string // "" for all
	Reasons []tradeReason
	Times   []earnedTime
	Rows    []tradeRow
	Sums    []tradeSum // of all trades of the chosen time, also those that are not shown
	Left    int        // trades that are not shown
	Days    *dayBars   // nil without trades in 30 days
}

// earnedTime is a sum that is a filter, too.
type earnedTime struct {
	Name, Title string
	Current     bool
	Net, Class  string // of the first currency
	Currency    string
	Note        string // what the others earned, and how many trades
	Link        string
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

// tradeSum is what the trades of a time earned in a currency.
type tradeSum struct {
	Currency, Realised, Fees, Funding, Net, Class string
	Wins, Losses                                  int
}

// tradeTimes are the times of the page and how many days of UTC each has, 0 for all.
func tradeTimes() []struct {
	name, title string
	days        int
} {
	return []struct {
		name, title string
		days        int
	}{{"today", "Today", 1}, {"week", "7 days", 7}, {"month", "30 days", 30}, {"year", "A year", 365}, {"all", "All", 0}}
}

func (c *Console) tradesData(v *visit) (any, error) {
	asked, f := v.r.URL.Query(), v.format()
	d := tradesData{Since: "today", Symbol: asked.Get("symbol"), Reasons: tradeReasons()}
	q := order.TradeQuery{}
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
	for _, one := range tradeTimes() {
		if asked.Get("since") == one.name {
			d.Since = one.name
		}
	}
	today := f.now.UTC().Truncate(24 * time.Hour)
	for _, one := range tradeTimes() {
		q.From, q.Most = time.Time{}, 1
		if one.days > 0 {
			q.From = today.AddDate(0, 0, 1-one.days)
		}
		if one.name == d.Since {
			q.Most = listPage
		}
		page, err := c.cfg.Account.Trades(v.ctx(), v.caller(), q)
		if err != nil {
			return nil, err
		}
		d.Times = append(d.Times, d.time(one.name, one.title, page.Sums, f))
		if one.name == d.Since {
			d.fill(page, f)
		}
	}
	q.From, q.Most = today.AddDate(0, 0, 1-shownDays), mostDayTrades
	page, err := c.cfg.Account.Trades(v.ctx(), v.caller(), q)
	if err != nil {
		return nil, err
	}
	d.Days = newDayBars(page, today, f)
	return d, nil
}

// time returns the figure of a time.
func (d *tradesData) time(name, title string, sums []order.TradeSum, f format) earnedTime {
	e := earnedTime{Name: name, Title: title, Current: name == d.Since, Net: "0.00", Note: "nothing closed"}
	e.Link = "?" + url.Values{"since": {name}, "symbol": {d.Symbol}, "reason": {d.Reason}}.Encode()
	trades := 0
	for i, s := range sums {
		net := s.Net()
		trades += s.Wins + s.Losses
		if i == 0 {
			e.Net, e.Class, e.Currency, e.Note = f.Signed(net), f.Class(net), s.Currency, ""
			continue
		}
		e.Note += f.Signed(net) + " " + s.Currency + ", "
	}
	if len(sums) > 0 {
		e.Note += f.Int(trades) + " with a profit or a loss"
	}
	return e
}

// fill adds the rows of the chosen time.
func (d *tradesData) fill(page order.TradePage, f format) {
	d.Left = page.Left
	for _, one := range page.Trades {
		d.Rows = append(d.Rows, newTradeRow(one, f))
	}
	for _, s := range page.Sums {
		net := s.Net()
		sum := tradeSum{s.Currency, f.Signed(s.Realised), f.Money(s.Fees), "", f.Signed(net), f.Class(net), s.Wins, s.Losses}
		if !s.Funding.IsZero() {
			sum.Funding = f.Signed(s.Funding.Neg())
		}
		d.Sums = append(d.Sums, sum)
	}
}

const (
	shownDays     = 30
	mostDayTrades = 5000 // of those days
)

// dayBars is the net of each of the last days, in the currency that has most trades.
type dayBars struct {
	Currency    string
	Bars        []dayBar
	Wide, High  int
	Zero        int
	From, To    string
	Best, Worst string
	Label       string
	Left        int // older trades of these days that are not in it
}

// dayBar is a day of the picture.
type dayBar struct {
	X, Y, Wide, High int
	Class, Title     string
}

func newDayBars(page order.TradePage, today time.Time, f format) *dayBars {
	if len(page.Sums) == 0 {
		return nil
	}
	main := page.Sums[0]
	for _, s := range page.Sums {
		if s.Wins+s.Losses > main.Wins+main.Losses {
			main = s
		}
	}
	var net [shownDays]decimal.Decimal
	for _, t := range page.Trades {
		if day := int(today.Sub(t.Closed.UTC().Truncate(24*time.Hour)) / (24 * time.Hour)); day >= 0 && day < shownDays && t.Currency == main.Currency {
			net[shownDays-1-day] = net[shownDays-1-day].Add(t.Net())
		}
	}
	best, worst := decimal.Max(decimal.Zero, net[:]...), decimal.Min(decimal.Zero, net[:]...)
	const wide, step, high = 22, 36, 120
	b := &dayBars{Currency: main.Currency, Wide: shownDays * step, High: high, Best: f.Signed(best), Worst: f.Signed(worst), Left: page.Left}
	size, _ := best.Sub(worst).Float64()
	at := func(d decimal.Decimal) int { // row of an amount
		if size == 0 {
			return high / 2
		}
		x, _ := best.Sub(d).Float64()
		return int(math.Round(x / size * high))
	}
	b.Zero = at(decimal.Zero)
	first := today.AddDate(0, 0, 1-shownDays)
	b.From, b.To = first.Format("2 Jan"), today.Format("2 Jan")
	for i, d := range net {
		if d.IsZero() {
			continue
		}
		bar := dayBar{X: i*step + (step-wide)/2, Wide: wide, Y: min(at(d), b.Zero), Class: f.Class(d), Title: first.AddDate(0, 0, i).Format("2 Jan") + ": " + f.Signed(d)}
		bar.High = max(1, max(at(d), b.Zero)-bar.Y)
		b.Bars = append(b.Bars, bar)
	}
	b.Label = "Net of each day from " + b.From + " to " + b.To + ", at best " + b.Best + ", at worst " + b.Worst
	return b
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
