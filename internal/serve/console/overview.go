package console

import (
	"slices"
	"strings"
	"time"

	"candela/internal/kit/fault"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
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
	Line      *dayLine
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
	d.Line = c.newDayLine(account, f)
	d.Figures = c.figures(v, account, all, d.Positions, f)
	for _, o := range all {
		if o.Status == order.PendingApproval && (o.Group.Name == "" || o.Group.Name == o.ID) {
			d.Asks = append(d.Asks, newAskRow(o, f))
		}
	}
	for _, o := range all[:min(len(all), newestActs)] {
		d.Acts = append(d.Acts, newActRow(o, f))
	}
	d.Problem = strings.Join(slices.Compact(problems), " ")
	return d, nil
}

func newAskRow(o order.Order, f format) askRow {
	r := newOrderRow(o, f, nil)
	meta := "Value " + r.Value
	if r.Price != "–" {
		meta = strings.ToUpper(r.Kind[:1]) + r.Kind[1:] + " " + r.Price + ", value " + r.Value
	}
	return askRow{ID: o.ID, Title: r.Client + " asks to " + strings.ToLower(r.Side) + " " + f.Num(o.Quantity) + " " + r.Symbol, Meta: meta, Expires: o.Approval.Expires}
}

// newActRow describes what became of an order.
func newActRow(o order.Order, f format) actRow {
	r := newOrderRow(o, f, nil)
	a := actRow{Icon: r.Icon, Who: r.Client, At: o.Updated, To: Root + "/orders/" + o.ID}
	plain := f.Num(o.Quantity) + " " + r.Symbol
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
		a.Lead, a.Text = strings.ToUpper(r.Word[:1])+r.Word[1:], strings.ToLower(r.Side)+" "+plain+": "+fault.Clean(o.Reason, 120)
	case order.PendingApproval:
		a.Lead, a.Text = "Asked to "+strings.ToLower(r.Side)+" "+plain, r.Kind+" "+r.Price+"; needs approval"
	default:
		a.Lead, a.Text = r.Side+" "+plain, strings.TrimSuffix(r.Kind+" "+r.Price, " –")+", "+r.Word
	}
	return a
}

// figures returns the numbers of the day against their limits.
func (c *Console) figures(v *visit, a guard.Account, all []order.Order, held positions, f format) []figure {
	fills, fees := 0, 0
	for _, o := range all {
		if o.Filled.IsPositive() && f.days(o.Updated) == 0 {
			fills++
			fees += len(o.Fees)
		}
	}
	var figures []figure
	for _, u := range a.Usage {
		switch u.Rule {
		case guard.LossRule:
			figures = append(figures, lossFigure(u, f))
		case "max_exposure":
			figures = append(figures, newFigure("Exposure", f.Money(u.Used), u, f, f.Money(held.Value)+" held"))
		case "max_daily_notional":
			figures = append(figures, newFigure("Traded today", f.Money(u.Used), u, f, plural(fills, "order")+" filled"))
		case "max_open_orders":
			figures = append(figures, newFigure("Open orders", f.Num(u.Used), u, f, left(u, f)))
		}
	}
	order := []string{"P&L today", "Exposure", "Traded today", "Open orders"}
	slices.SortStableFunc(figures, func(x, y figure) int { return slices.Index(order, x.Title) - slices.Index(order, y.Title) })
	if c.cfg.Alerts != nil {
		if alerts, err := c.cfg.Alerts.Alerts(v.ctx(), v.caller()); err == nil {
			figures = append(figures, figure{Title: "Alerts waiting", Value: f.Int(len(alerts))})
		}
	}
	return figures
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
