package console

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// ordersPage shows positions, open orders and those that have ended.
func ordersPage() page {
	return page{
		path: "/orders", name: "orders", title: "Orders & positions", icon: "list", key: "r", tab: "Orders", live: "state orders list positions",
		needs: func(p Ports) bool { return p.Account != nil }, data: (*Console).ordersData,
	}
}

// orderActs cancel orders.
func orderActs() []act {
	return []act{
		{path: "/orders/{id}/cancel", asks: confirmOnly, form: cancelForm, do: (*Console).cancelOrder},
		{path: "/orders/cancel-all", asks: confirmOnly, form: cancelAllForm, do: (*Console).cancelAll},
	}
}

type ordersData struct {
	Since     string // today, week or all
	Text      string // of the filter
	Status    string // only those that ended so, "" for all
	Periods   []choice
	Endings   []choice
	Positions positions
	Open      []orderRow
	Hidden    int // open orders that the table has no room for
	AtVenue   int
	Pending   int
	Ended     []orderRow
	Summary   string
	Older     string // link to those that follow, "" for none
	Left      int    // their number
	Newest    string // link, on a page of older ones
	Problem   string
}

// orderRow is an order as tables show it.
type orderRow struct {
	order.Order

	// Those that every row of a table has are also here: a template finds fields of embedded
	// structs slowly.
	ID               string
	Created, Updated time.Time

	Symbol  string // without its venue
	Side    string
	Class   string // up for buy, down for sell
	Kind    string // limit, stop and so on
	Price   string
	From    string // distance from the last price
	Size    string
	Value   string
	Word    string // of the status
	Icon    string
	Tone    string // class of the status
	Client  string
	Outcome string
	Leg     bool
	Pending bool
	Open    bool
	Grip    *grip // of a level on the chart; nil for none
}

func (c *Console) ordersData(v *visit) (any, error) {
	f := v.format()
	w := newWanted(v.r.URL.Query(), f)
	d := ordersData{Since: w.since, Text: w.text, Status: w.status}
	for _, p := range [][2]string{{"today", "Today"}, {"week", "7 days"}, {"all", "All"}} {
		d.Periods = append(d.Periods, choice{p[1], w.link("since", p[0]), p[0] == w.since})
	}
	for _, status := range append([]string{""}, endings()...) {
		d.Endings = append(d.Endings, choice{upperFirst(cmp.Or(status, "all")), w.link("status", status), status == w.status})
	}
	ended, err := c.listed(v, &d, w)
	if err != nil {
		return nil, err
	}
	open, err := c.cfg.Account.Orders(v.ctx(), v.caller(), true)
	if err != nil {
		return nil, err
	}
	if d.Positions, err = c.positions(v); err != nil {
		d.Problem = c.public(v.ctx(), err)
	}
	c.addDays(v, &d.Positions)
	d.addOpen(open, w)
	counts := map[string]int{}
	for _, o := range ended {
		row := newOrderRow(o, f, d.Positions.prices())
		d.Ended = append(d.Ended, row)
		counts[row.Word]++
	}
	d.Summary = summary(counts)
	return d, nil
}

// addOpen adds the open orders that a filter has, and counts all of them.
func (d *ordersData) addOpen(open []order.Order, w wanted) {
	prices := d.Positions.prices()
	slices.SortStableFunc(open, func(a, b order.Order) int { return b.Mark().Compare(a.Mark()) })
	for _, o := range open {
		if o.Status == order.PendingApproval {
			d.Pending++
		} else {
			d.AtVenue++
		}
		switch {
		case !w.has(o):
		case len(d.Open) < orderRows:
			d.Open = append(d.Open, newOrderRow(o, w.f, prices))
		default:
			d.Hidden++
		}
	}
	d.Open = grouped(d.Open)
}

func since(asked string) string {
	if asked == "week" || asked == "all" {
		return asked
	}
	return "today"
}

// after reports whether an order ended within the chosen time.
func after(o order.Order, since string, f format) bool {
	switch since {
	case "all":
		return true
	case "week":
		return f.now.Sub(o.Updated) < 7*24*time.Hour
	}
	return f.days(o.Updated) == 0
}

// summary counts orders by how they ended.
func summary(counts map[string]int) string {
	var parts []string
	for _, word := range []string{"filled", "denied", "canceled", "expired", "rejected"} {
		if n := counts[word]; n > 0 {
			parts = append(parts, fmt.Sprint(n, " ", word))
		}
	}
	return strings.Join(parts, ", ")
}

// grouped puts the legs of a group after its first order.
func grouped(rows []orderRow) []orderRow {
	legs, listed := map[string][]orderRow{}, map[string]bool{}
	for i := range rows {
		listed[rows[i].ID] = true
	}
	heads := slices.DeleteFunc(slices.Clone(rows), func(r orderRow) bool {
		head := cmp.Or(r.Parent, r.Group.Name)
		if head == "" || head == r.ID || !listed[head] {
			return false
		}
		r.Leg = true
		legs[head] = append(legs[head], r)
		return true
	})
	all := make([]orderRow, 0, len(rows))
	for _, r := range heads {
		all = append(append(all, r), legs[r.ID]...)
	}
	return all
}

func newOrderRow(o order.Order, f format, prices map[market.Symbol]decimal.Decimal) orderRow {
	r := orderRow{
		Order: o, ID: o.ID, Created: o.Created, Updated: o.Updated, Symbol: o.Symbol.Name, Side: "Buy", Class: "up", Kind: kindOfOrder(o), Price: "–", Value: "–",
		Client: clientName(o), Pending: o.Status == order.PendingApproval, Open: !o.Status.Final(),
	}
	if o.Side == order.Sell {
		r.Side, r.Class = "Sell", "down"
	}
	at := o.Price
	if !at.IsPositive() {
		at = o.StopPrice
	}
	last := prices[o.Symbol]
	if at.IsPositive() {
		r.Price = f.Px(at)
		if last.IsPositive() {
			r.From = f.Percent(at.Sub(last).Mul(decimal.NewFromInt(100)).DivRound(last, 4))
		}
	} else if at = o.Approval.Price; !at.IsPositive() {
		at = last
	}
	if value := worth(o, at); value.IsPositive() {
		r.Value = f.In(value, o.Symbol)
	}
	size, _ := f.Size(o)
	r.Size = size
	if o.Filled.IsPositive() && !o.Filled.Equal(o.Quantity) || !r.Open && o.Filled.IsZero() {
		r.Size = f.Num(o.Filled) + " of " + r.Size
	}
	r.Word, r.Icon, r.Tone = statusWords(o)
	r.Outcome = outcome(o, f)
	return r
}

// kindOfOrder names the type of an order, with its part in a group.
func kindOfOrder(o order.Order) string {
	kind := o.Type.String()
	if o.TrailPercent.IsPositive() {
		kind = "trailing stop"
	} else if o.StopPrice.IsPositive() {
		kind = "stop"
		if o.Type == order.Limit {
			kind = "stop limit"
		}
	}
	if o.Role == order.StopLoss || o.Role == order.TakeProfit {
		kind = strings.ReplaceAll(o.Role.String(), "_", " ")
	}
	return kind
}

// clientName is what a client calls itself, which nobody checked. The records lack who placed an order before a
// restore.
func clientName(o order.Order) string {
	switch {
	case o.Recovered:
		return "a client before the restore"
	case o.External:
		return "at the venue"
	default:
		return cmp.Or(fault.Clean(o.Client, 40), "this machine")
	}
}

// statusWords returns the word, the icon and the class of a status.
func statusWords(o order.Order) (word, icon, tone string) {
	switch o.Status {
	case order.PendingApproval:
		return "needs approval", "shield", "warn"
	case order.PartiallyFilled:
		return "partly filled", "part", ""
	case order.Filled:
		return "filled", "check", "up"
	case order.Denied, order.Rejected:
		return o.Status.String(), "x", "down"
	case order.Canceled:
		return "canceled", "x", "muted"
	case order.Expired:
		return "expired", "clock", "muted"
	case order.Uncertain:
		return "outcome unknown", "warn", "warn"
	case order.PendingCancel:
		return "being canceled", "clock", ""
	case order.Held:
		return "waits for entry", "clock", ""
	default:
		return strings.ReplaceAll(o.Status.String(), "_", " "), "clock", ""
	}
}

// outcome says what became of an order.
func outcome(o order.Order, f format) string {
	var parts []string
	if price, ok := o.Average(); ok {
		parts = append(parts, "at "+f.Price(price, o.Fills[0].Price))
		for _, asset := range slices.Sorted(func(yield func(string) bool) {
			for asset := range o.Fees {
				if !yield(asset) {
					return
				}
			}
		}) {
			parts = append(parts, "fee "+f.Num(o.Fees[asset].Round(8))+" "+asset)
		}
	}
	if o.Denial.Rule != "" {
		parts = append(parts, o.Denial.Rule+": "+fault.Clean(o.Reason, 200))
	} else if o.Reason != "" {
		parts = append(parts, fault.Clean(o.Reason, 200))
	}
	if o.Status == order.Canceled && o.Reason == "" && !o.Filled.IsPositive() {
		parts = append(parts, "after "+span(o.Updated.Sub(o.Created)))
	}
	if o.Approval.By != "" {
		parts = append(parts, "you approved it")
	}
	return strings.Join(parts, ", ")
}

// terms writes an order in one line, such as "Buy 0.02 BTCUSDT, limit 46,500".
func terms(o order.Order, f format) string {
	r := newOrderRow(o, f, nil)
	text := r.Side + " " + f.About(o) + ", " + r.Kind
	if r.Price != "–" {
		text += " " + r.Price
	}
	return text
}

func cancelForm(c *Console, v *visit) (form, error) {
	o, err := c.find(v, v.id())
	if err != nil {
		return form{}, err
	}
	if o.Status.Final() {
		return form{}, fault.New(fault.Conflict, "order_closed", "The order has ended: it is %s.", o.Status)
	}
	lead := terms(o, v.format()) + ". Fills may still come until the venue confirms."
	if o.Group.Name != "" || o.Protect != (order.Protection{}) {
		lead += " It is part of a group: orders that depend on it may end too."
	}
	return form{Title: "Cancel this order?", Lead: lead, Submit: "Cancel order", Keep: "Keep", Danger: true, Back: "/orders", Page: "orders"}, nil
}

func (c *Console) cancelOrder(v *visit) (done, error) {
	if c.cfg.Account == nil {
		return done{}, errNoTrading
	}
	o, err := c.cfg.Account.Cancel(v.ctx(), v.caller(), v.id())
	if err != nil {
		return done{}, err
	}
	notice := "Canceled: " + terms(o, v.format())
	if !o.Status.Final() {
		notice = "Asked the venue to cancel: " + terms(o, v.format())
	}
	return done{Notice: notice, To: "/orders"}, nil
}

func cancelAllForm(c *Console, v *visit) (form, error) {
	if c.cfg.Account == nil {
		return form{}, errNoTrading
	}
	open, err := c.cfg.Account.Orders(v.ctx(), v.caller(), true)
	if err != nil {
		return form{}, err
	}
	return form{
		Title: "Cancel " + plural(len(open), "open order") + "?", Lead: "Trading goes on: agents may place others. To stop that too, halt. Stops that protect positions are cancelled as well.",
		Submit: "Cancel all", Keep: "Keep", Danger: true, Back: "/orders", Page: "orders",
	}, nil
}

// cancelAll cancels one order after the other. What fails does not stop the rest.
func (c *Console) cancelAll(v *visit) (done, error) {
	if c.cfg.Account == nil {
		return done{}, errNoTrading
	}
	open, err := c.cfg.Account.Orders(v.ctx(), v.caller(), true)
	if err != nil {
		return done{}, err
	}
	failed := 0
	for _, o := range open {
		if _, err := c.cfg.Account.Cancel(v.ctx(), v.caller(), o.ID); err != nil && fault.KindOf(err) != fault.Conflict {
			failed++
		}
	}
	notice := "Canceled " + plural(len(open)-failed, "order") + "."
	if failed > 0 {
		notice += fmt.Sprintf(" %d could not be cancelled; try again or halt.", failed)
	}
	return done{Notice: notice, To: "/orders"}, nil
}
