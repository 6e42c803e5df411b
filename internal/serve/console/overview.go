package console

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// overviewPage answers what agents do with the money, at a glance.
func overviewPage() page {
	return page{path: "/", name: "overview", title: "Overview", icon: "home", key: "o", tab: "Overview", live: "state orders list positions alerts", data: (*Console).overviewData}
}

type overviewData struct {
	Trading   bool
	Asks      []askRow
	Figures   []figure
	Positions positions
	Acts      []actRow
	Problem   string
	Base      string
	Lines     []*dayLine
	Currency  string // of all amounts; "" if there are several
	Clients   []clientRow
	Parts     []Part
	Bad       int // parts with a problem
	Earned    []earnedRow
}

// askRow is an order that needs approval.
type askRow struct {
	ID, Title, Meta string
	Expires         time.Time
}

// figure is a number with the share of its limit.
type figure struct {
	Title, Value, Unit, Note string
	Class                    string
	Part                     float64
	Tone                     string // of the bar: warn from 80 %, bad at the limit
	Bar                      bool
}

// actRow is something that an agent did.
type actRow struct {
	Lead, Text, Who, Icon, Tone, To string
	At                              time.Time
}

// newestActs is how many acts the overview lists.
const newestActs = 8

func (c *Console) overviewData(v *visit) (any, error) {
	d := overviewData{Trading: c.cfg.Account != nil, Base: c.cfg.BaseURL}
	if !d.Trading {
		return d, nil
	}
	f := v.format()
	var problems []string
	note := func(err error) {
		if err != nil {
			problems = append(problems, c.public(v.ctx(), err))
		}
	}
	account, err := c.cfg.Account.Account(v.ctx(), v.caller())
	note(err)
	d.Positions, err = c.positions(v)
	note(err)
	all, err := c.cfg.Account.Orders(v.ctx(), v.caller(), false)
	note(err)
	c.addDays(v, &d.Positions)
	d.Lines, d.Currency = c.dayLines(account, all, f), currency(all, d.Positions, f)
	d.Figures = c.figures(v, account, all, d.Positions, f)
	if len(d.Figures) > 0 && d.Figures[0].Title == "P&L today" {
		d.Figures[0].Unit = d.Currency
	}
	d.Earned = earnedRows(account.Earned, f)
	note(c.addParts(v, &d))
	for _, o := range all {
		if o.Status == order.PendingApproval && (o.Group.Name == "" || o.Group.Name == o.ID) {
			ask := newAskRow(o, f)
			if k := c.card(v, o, d.Positions); k.Moved != "" {
				ask.Meta += ". Price " + k.Moved + " since"
			}
			d.Asks = append(d.Asks, ask)
		}
	}
	d.Acts = c.acts(v, all, f)
	d.Problem = strings.Join(slices.Compact(problems), " ")
	return d, nil
}

// currency returns the currency of everything that is held and ordered.
func currency(all []order.Order, held positions, f format) string {
	symbols := make([]market.Symbol, 0, len(all)+len(held.Rows))
	for _, o := range all {
		symbols = append(symbols, o.Symbol)
	}
	for _, p := range held.Rows {
		symbols = append(symbols, p.Full)
	}
	return f.sole(symbols)
}

// maxClients is how many clients the overview lists, those that were used last.
const maxClients = 4

// addParts adds the clients and the parts of the program.
func (c *Console) addParts(v *visit, d *overviewData) error {
	if c.cfg.Health != nil {
		d.Parts = c.cfg.Health()
	}
	for _, p := range d.Parts {
		if p.Bad {
			d.Bad++
		}
	}
	if c.cfg.Clients == nil {
		return nil
	}
	all, err := c.clients(v.ctx(), v)
	slices.SortStableFunc(all, func(a, b clientRow) int { return b.Used.Compare(a.Used) })
	d.Clients = all[:min(len(all), maxClients)]
	return err
}

// acts lists what agents did and which alerts fired, newest first.
func (c *Console) acts(v *visit, orders []order.Order, f format) []actRow {
	fired := c.firings()
	all := make([]actRow, 0, 2*newestActs)
	for _, o := range orders[:min(len(orders), newestActs)] {
		all = append(all, newActRow(o, f))
	}
	for _, one := range fired[:min(len(fired), newestActs)] {
		row := newFiredRow(one, f)
		by, _ := c.setter(v, one.ID)
		if by != "" {
			by = "set by " + by
		}
		all = append(all, actRow{Icon: "bell", Who: by, Lead: row.Symbol + " " + lowerFirst(row.Condition), Text: "fired at " + row.Value, At: row.At, To: Root + "/alerts/" + row.ID})
	}
	slices.SortStableFunc(all, func(a, b actRow) int { return b.At.Compare(a.At) })
	return all[:min(len(all), newestActs)]
}

func newAskRow(o order.Order, f format) askRow {
	r := newOrderRow(o, f, nil)
	meta := "Value " + r.Value
	if r.Price != "–" {
		meta = upperFirst(r.Kind) + " " + r.Price + ", value " + r.Value
	}
	return askRow{ID: o.ID, Title: r.Client + " asks to " + strings.ToLower(r.Side) + " " + f.Num(o.Quantity) + " " + r.Symbol, Meta: meta, Expires: o.Approval.Expires}
}

// newActRow describes what became of an order.
func newActRow(o order.Order, f format) actRow {
	r := newOrderRow(o, f, nil)
	a := actRow{Icon: r.Icon, Who: r.Client, At: o.Updated, To: Root + "/orders/" + o.ID}
	plain := f.About(o)
	switch o.Status {
	case order.Filled, order.PartiallyFilled:
		verb := "Bought "
		if o.Side == order.Sell {
			verb = "Sold "
		}
		a.Lead, a.Text = verb+plain, r.Outcome
		if o.Status == order.PartiallyFilled {
			a.Lead = verb + f.Num(o.Filled) + " of " + plain
		}
	case order.Denied, order.Rejected:
		a.Tone = "denied"
		a.Lead, a.Text = upperFirst(r.Word), strings.ToLower(r.Side)+" "+plain+": "+fault.Clean(o.Reason, 120)
	case order.PendingApproval:
		a.Lead, a.Text = "Asked to "+strings.ToLower(r.Side)+" "+plain, r.Kind+" "+r.Price+"; needs approval"
	default:
		a.Lead, a.Text = r.Side+" "+plain, strings.TrimSuffix(r.Kind+" "+r.Price, " –")+", "+r.Word
	}
	return a
}

// figures returns the numbers of the day against their limits.
func (c *Console) figures(v *visit, a guard.Account, all []order.Order, held positions, f format) []figure {
	today := countDay(all, f)
	var figures []figure
	for _, u := range a.Usage {
		switch u.Rule {
		case guard.LossRule:
			figures = append(figures, lossFigure(u, f))
		case "max_exposure":
			note := f.Money(held.Value) + " held"
			if rest := u.Used.Sub(held.Value); rest.GreaterThan(decimal.NewFromInt(1)) {
				note += ", " + f.Money(rest) + " in orders"
			}
			figures = append(figures, newFigure("Exposure", f.Money(u.Used), u, f, note))
		case "max_daily_notional":
			figures = append(figures, newFigure(tradedTitle, f.Money(u.Used), u, f, plural(today.fills, "order")+" filled"+today.paid(f)))
		case "max_open_orders":
			figures = append(figures, newFigure("Open orders", f.Num(u.Used), u, f, today.partly(left(u, f))))
		}
	}
	order := []string{"P&L today", "Exposure", tradedTitle, "Open orders"}
	slices.SortStableFunc(figures, func(x, y figure) int { return slices.Index(order, x.Title) - slices.Index(order, y.Title) })
	if c.cfg.Alerts != nil {
		if alerts, err := c.cfg.Alerts.Alerts(v.ctx(), v.caller()); err == nil {
			note := c.firedToday(f)
			if n := c.countIdle(alerts); n > 0 {
				note += ", " + f.Int(n) + " not evaluated"
			}
			figures = append(figures, figure{Title: "Alerts waiting", Value: f.Int(len(alerts)), Note: note})
		}
	}
	return figures
}

// tradedTitle names the use of max_daily_notional, which counts what open orders may still trade.
const tradedTitle = "Traded today, with open orders"

// dayCount is what the orders of a day add up to.
type dayCount struct {
	fills, parts int
	fees         map[string]decimal.Decimal
}

func countDay(all []order.Order, f format) dayCount {
	c := dayCount{fees: map[string]decimal.Decimal{}}
	for _, o := range all {
		if o.Status == order.PartiallyFilled {
			c.parts++
		}
		if !o.Filled.IsPositive() || f.days(o.Updated) != 0 {
			continue
		}
		c.fills++
		for asset, fee := range o.Fees {
			c.fees[asset] = c.fees[asset].Add(fee)
		}
	}
	return c
}

// paid says what the fees of the day were, if they are in one asset.
func (c dayCount) paid(f format) string {
	if len(c.fees) != 1 {
		return ""
	}
	for _, fee := range c.fees {
		return ", fees " + f.Money(fee)
	}
	return ""
}

// partly says how many open orders are partly filled, or else.
func (c dayCount) partly(otherwise string) string {
	if c.parts == 0 {
		return otherwise
	}
	return strconv.Itoa(c.parts) + " partly filled"
}

// firedToday counts the alerts that fired today.
func (c *Console) firedToday(f format) string {
	fired, late := 0, 0
	for _, one := range c.firings() {
		if f.days(one.At) == 0 {
			fired++
			if one.Late {
				late++
			}
		}
	}
	if late > 0 {
		return f.Int(fired) + " fired today, " + f.Int(late) + " late"
	}
	if fired > 0 {
		return f.Int(fired) + " fired today, none late"
	}
	return "none fired today"
}

// lossFigure shows the profit or loss of the day and how much more may be lost.
func lossFigure(u guard.Usage, f format) figure {
	result := u.Used.Neg()
	fig := newFigure("P&L today", f.Signed(result), u, f, left(u, f))
	fig.Class, fig.Unit = f.Class(result), ""
	if remaining, limited := u.Left(); limited {
		fig.Note = f.Money(remaining) + " left of the " + f.Whole(u.Limit.Value) + " a day may lose"
	}
	return fig
}

func newFigure(title, value string, u guard.Usage, f format, note string) figure {
	fig := figure{Title: title, Value: value, Note: note}
	if u.Limit.Off {
		fig.Unit = "no limit"
		return fig
	}
	fig.Bar, fig.Unit, fig.Part = true, "of "+f.Whole(u.Limit.Value), part(u.Used, u.Limit.Value)
	switch {
	case fig.Part >= 100:
		fig.Tone = "bad"
	case fig.Part >= 80:
		fig.Tone = "warn"
	}
	return fig
}

func left(u guard.Usage, f format) string {
	remaining, limited := u.Left()
	if !limited {
		return "no limit"
	}
	return f.Num(remaining.Round(2)) + " left"
}
