package console

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

func hasAlerts(p Ports) bool { return p.Alerts != nil }

// alertsPage shows the alerts that wait and those that fired.
func alertsPage() page {
	return page{
		path: "/alerts", name: "alerts", title: "Alerts", icon: "bell", key: "a", live: "state alerts fired",
		needs: hasAlerts, data: (*Console).alertsData,
	}
}

// alertPage shows one alert, and what followed when it fired.
func alertPage() page {
	return page{path: "/alerts/{id}", name: "alerts", title: "Alert", template: "alert", live: "state alerts fired list", needs: hasAlerts, data: (*Console).alertData}
}

// alertActs set and cancel alerts.
func alertActs() []act {
	return []act{
		{path: "/alerts/new", asks: confirmOnly, form: newAlertForm, do: (*Console).setAlert},
		{path: "/alerts/{id}/cancel", asks: confirmOnly, form: cancelAlertForm, do: (*Console).cancelAlert},
		{path: "/alerts/{id}/resume", asks: confirmOnly, form: resumeAlertForm, do: (*Console).resumeAlert},
	}
}

// alertRow is an alert that waits.
type alertRow struct {
	ID, Symbol, Condition, Note, Away, By string
	Set, Expires                          time.Time
	Fires                                 int
	Grip                                  *grip  // nil for one that is not on a price
	Idle                                  string // why nothing evaluates it
	Aside                                 bool   // it can be resumed
}

// firedRow is an alert that fired.
type firedRow struct {
	ID, Symbol, Condition, Note, Value, By string
	At, Set                                time.Time
	Late                                   bool
	Delivered                              string     // to which receivers, and how fast
	Next                                   []orderRow // orders that followed
}

// idle returns why nothing evaluates an alert, and "" if it is evaluated.
func (c *Console) idle(a *alert.Alert) string {
	if c.cfg.NotEvaluated == nil {
		return ""
	}
	return c.cfg.NotEvaluated(a)
}

func (c *Console) countIdle(all []alert.Alert) int {
	n := 0
	for i := range all {
		if c.idle(&all[i]) != "" {
			n++
		}
	}
	return n
}

// maxFiredRows bounds the list of firings; the log has all of them.
const maxFiredRows = 25

// maxJoined is how many of the newest firings are joined with the orders that followed.
const maxJoined = 10

// addFired adds the alerts that fired.
func (c *Console) addFired(v *visit, d *alertsData) error {
	f := v.format()
	all := c.firings()
	d.Silent = max(0, len(all)-maxFiredRows)
	for i, one := range all[:len(all)-d.Silent] {
		row := newFiredRow(one, f)
		row.Delivered = c.delivered(one.Seq)
		row.By, row.Set = c.setter(v, one.ID)
		if i < maxJoined {
			var err error
			if row.Next, err = c.answers(v, one.ID); err != nil {
				return err
			}
		}
		d.Fired = append(d.Fired, row)
	}
	return nil
}

// setter returns who set an alert and when, "" if that is unknown.
func (c *Console) setter(v *visit, alertID string) (string, time.Time) {
	if c.cfg.History == nil {
		return "", time.Time{}
	}
	client, at, err := c.cfg.History.Setter(v.ctx(), alertID)
	switch {
	case err != nil: // the page is good without it
		return "", time.Time{}
	case client == "console":
		return "you", at
	}
	return fault.Clean(client, 40), at
}

// delivered lists the receivers that got a firing, with the time that it took.
func (c *Console) delivered(seq uint64) string {
	if c.cfg.Receivers == nil {
		return ""
	}
	var all []string
	for _, r := range c.cfg.Receivers() {
		if r.Took == nil {
			continue
		}
		if took, ok := r.Took(seq); ok {
			all = append(all, r.Name+" "+strconv.FormatFloat(took.Seconds(), 'f', 1, 64)+" s")
		}
	}
	return strings.Join(all, ", ")
}

func (c *Console) firings() []Firing {
	if c.cfg.Firings == nil {
		return nil
	}
	return c.cfg.Firings()
}

func (c *Console) alertRow(a *alert.Alert, f format) alertRow {
	row := alertRow{
		ID: a.ID, Symbol: a.Symbol.Name, Condition: condition(a, f), Note: fault.Clean(a.Note, 200), Away: "on a close",
		Set: a.Created, Expires: a.Expires, Fires: a.State.Fires, Idle: c.idle(a), Aside: a.IsSetAside(),
	}
	if !a.Condition.Type.OnPrice() {
		return row
	}
	row.Grip = &grip{Kind: "alert", Price: a.Condition.Threshold.String(), Label: "Alert"}
	row.Away = "–"
	if away, ok := c.away(a); ok {
		row.Away = f.Percent(away)
	}
	return row
}

// away returns how far the price is from an alert on a price, in percent of the price, and false where that is
// unknown.
func (c *Console) away(a *alert.Alert) (decimal.Decimal, bool) {
	if c.cfg.Prices == nil || !a.Condition.Type.OnPrice() {
		return decimal.Decimal{}, false
	}
	q, ok := c.cfg.Prices.LastQuote(cmp.Or(a.Instrument, a.Symbol))
	if !ok || !q.Last.IsPositive() {
		return decimal.Decimal{}, false
	}
	return a.Condition.Threshold.Sub(q.Last).Mul(decimal.NewFromInt(100)).DivRound(q.Last, 4), true
}

// condition writes the condition of an alert without its symbol at the front.
func condition(a *alert.Alert, f format) string {
	switch a.Condition.Type {
	case alert.PriceAbove:
		return "Price above " + f.level(a.Condition.Threshold)
	case alert.PriceBelow:
		return "Price below " + f.level(a.Condition.Threshold)
	default:
	}
	text := strings.TrimPrefix(a.Describe(), a.Symbol.String()+" ")
	return upperFirst(strings.ReplaceAll(strings.Replace(text, " of "+a.Symbol.String(), "", 1), "_", " "))
}

func newFiredRow(one Firing, f format) firedRow {
	row := firedRow{ID: one.ID, Symbol: fault.Clean(one.Symbol, 40), Note: fault.Clean(one.Note, 200), At: one.At, Late: one.Late, Value: "–"}
	row.Condition = upperFirst(fault.Clean(cmp.Or(one.Condition.Describe, firedCondition(one, f)), 120))
	if one.Value != nil {
		row.Value = f.value(*one.Value)
	}
	if one.Error != "" {
		row.Note = fault.Clean("Ended: its script failed. "+one.Error, 300)
	}
	return row
}

// firedCondition writes a condition of the first types, which have no description.
func firedCondition(one Firing, f format) string {
	text := strings.ReplaceAll(one.Condition.Type, "_", " ")
	if one.Condition.Indicator != "" {
		return string(one.Condition.Indicator) + " " + one.Condition.Signal + " " + one.Interval
	}
	if d, err := decimal.NewFromString(one.Condition.Threshold.String()); err == nil {
		text += " " + f.level(d)
	}
	return text
}

type alertData struct {
	Charts    []*candles
	By        string
	Set       time.Time
	Symbol    string // address of its chart
	Again     string // address of the form that sets it again; "" if that is not possible
	Waiting   *alertRow
	Fired     *firedRow
	Title     string
	Orders    []orderRow
	Receivers []Receiver
}

func (c *Console) alertData(v *visit) (any, error) {
	f := v.format()
	var d alertData
	for _, one := range c.firings() {
		if one.ID == v.id() {
			d.Fired = new(newFiredRow(one, f))
			d.Fired.Delivered = c.delivered(one.Seq)
			d.Title = d.Fired.Symbol + " " + lowerFirst(d.Fired.Condition)
			d.addFired(c, v, one)
			break
		}
	}
	all, err := c.cfg.Alerts.Alerts(v.ctx(), v.caller())
	if err != nil {
		return nil, err
	}
	if at := slices.IndexFunc(all, func(a alert.Alert) bool { return a.ID == v.id() }); at >= 0 {
		d.Waiting = new(c.alertRow(&all[at], f))
		d.Title = d.Waiting.Symbol + " " + lowerFirst(d.Waiting.Condition)
		d.addWaiting(c, v, &all[at])
	}
	if d.Waiting == nil && d.Fired == nil {
		return nil, fault.New(fault.NotFound, "unknown_alert", "No alert %s waits, and none with it fired in the last 7 days.", fault.Clean(v.id(), 64))
	}
	d.By, d.Set = c.setter(v, v.id())
	d.Orders, err = c.answers(v, v.id())
	if c.cfg.Receivers != nil {
		d.Receivers = c.cfg.Receivers()
	}
	return d, err
}

// answers returns the orders that followed the firing of an alert.
func (c *Console) answers(v *visit, alertID string) ([]orderRow, error) {
	if c.cfg.History == nil || c.cfg.Account == nil {
		return nil, nil
	}
	ids, err := c.cfg.History.Answers(v.ctx(), alertID)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	var rows []orderRow
	for _, id := range ids[:min(len(ids), maxBeside)] {
		o, err := c.find(v, id)
		if fault.KindOf(err) == fault.NotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, newOrderRow(o, v.format(), nil))
	}
	slices.SortFunc(rows, func(a, b orderRow) int { return a.Created.Compare(b.Created) })
	return rows, nil
}

func newAlertForm(_ *Console, v *visit) (form, error) {
	q := v.r.URL.Query()
	whens := []string{"above", "below", "crosses"}
	when := whens[max(0, slices.Index(whens, q.Get("when")))]
	return form{
		Title: "New alert", Lead: "It fires once and is then gone. Your agents receive it, and so do the receivers of messages.",
		Fields: []field{
			{Name: "symbol", Label: "Symbol", Hint: "such as BTCUSDT or AAPL", Value: fault.Clean(q.Get("symbol"), 40)},
			{Name: "when", Label: "When the price is", Value: when, Options: whens},
			{Name: "price", Label: "Price", Value: fault.Clean(q.Get("price"), 40)},
			{Name: "note", Label: "Note", Hint: "optional", Value: fault.Clean(q.Get("note"), maxReason)},
		},
		Submit: "Set alert", Keep: "Back", Back: "/alerts", Page: "alerts",
	}, nil
}

func (c *Console) setAlert(v *visit) (done, error) {
	if c.cfg.Alerts == nil {
		return done{}, errNoTrading
	}
	symbol, err := market.ParseSymbol(strings.TrimSpace(v.r.PostFormValue("symbol")))
	if err != nil {
		return done{}, err
	}
	kind, ok := map[string]alert.Type{"above": alert.PriceAbove, "below": alert.PriceBelow, "crosses": alert.PriceCrosses}[v.r.PostFormValue("when")]
	if !ok {
		return done{}, fault.Field("when", v.r.PostFormValue("when"), "above, below or crosses")
	}
	price, err := readPrice("price", v.r.PostFormValue("price"))
	if err != nil {
		return done{}, err
	}
	want := alert.Alert{Symbol: symbol, Condition: alert.Condition{Type: kind, Threshold: price}, Note: fault.Clean(v.r.PostFormValue("note"), maxReason)}
	set, err := c.cfg.Alerts.Set(v.ctx(), v.caller(), want)
	if err != nil {
		return done{}, err
	}
	return done{Notice: "Alert set: " + set.Describe() + ".", To: "/alerts"}, nil
}

// waiting returns the alert that a form is about.
func (c *Console) waiting(v *visit) (alert.Alert, error) {
	if c.cfg.Alerts == nil {
		return alert.Alert{}, errNoTrading
	}
	all, err := c.cfg.Alerts.Alerts(v.ctx(), v.caller())
	if err != nil {
		return alert.Alert{}, err
	}
	at := slices.IndexFunc(all, func(a alert.Alert) bool { return a.ID == v.id() })
	if at < 0 {
		return alert.Alert{}, fault.New(fault.NotFound, "unknown_alert", "The alert no longer waits: it fired, expired or was cancelled.")
	}
	return all[at], nil
}

func resumeAlertForm(c *Console, v *visit) (form, error) {
	a, err := c.waiting(v)
	if err != nil {
		return form{}, err
	}
	if !a.IsSetAside() {
		return form{}, alert.NotSetAside(a.ID)
	}
	return form{
		Title: "Evaluate this alert again?", Lead: a.Describe() + ". It is set aside: " + fault.Clean(a.Idle.Reason, 300) + ". If its script ends candela again, it is set aside again.",
		Submit: "Resume alert", Keep: "Back", Back: "/alerts", Page: "alerts",
	}, nil
}

func (c *Console) resumeAlert(v *visit) (done, error) {
	if c.cfg.Alerts == nil {
		return done{}, errNoTrading
	}
	if err := c.cfg.Alerts.ResumeAlert(v.ctx(), v.caller(), v.id()); err != nil {
		return done{}, err
	}
	return done{Notice: "Alert resumed.", To: "/alerts"}, nil
}

func cancelAlertForm(c *Console, v *visit) (form, error) {
	a, err := c.waiting(v)
	if err != nil {
		return form{}, err
	}
	return form{Title: "Cancel this alert?", Lead: a.Describe() + ". The agent gets no message about it.", Submit: "Cancel alert", Keep: "Keep", Danger: true, Back: "/alerts", Page: "alerts"}, nil
}

func (c *Console) cancelAlert(v *visit) (done, error) {
	if c.cfg.Alerts == nil {
		return done{}, errNoTrading
	}
	if err := c.cfg.Alerts.Cancel(v.ctx(), v.caller(), v.id()); err != nil {
		return done{}, err
	}
	return done{Notice: "Alert canceled.", To: "/alerts"}, nil
}

// orderPage shows one order: what it asked for, each step, and the alert that it answered.
func orderPage() page {
	return page{
		path: "/orders/{id}", name: "orders", title: "Order", template: "order", live: "state orders list",
		needs: func(p Ports) bool { return p.Account != nil }, data: (*Console).orderData,
	}
}

type orderData struct {
	Row   orderRow
	Title string
	Steps []actRow
	Cause *firedRow // the alert that it answered
	Legs  []orderRow
	Live  bool
	Proof bool // it has a receipt

	Reasons []reasonRow
}

func (c *Console) orderData(v *visit) (any, error) {
	o, err := c.find(v, v.id())
	if err != nil {
		return nil, err
	}
	f := v.format()
	d := orderData{Row: newOrderRow(o, f, nil), Title: terms(o, f), Live: o.Mode == order.Live, Proof: c.cfg.Receipts != nil, Reasons: reasons(o)}
	if d.Cause, err = c.cause(v, o); err != nil {
		return nil, err
	}
	if d.Cause != nil {
		d.Steps = append(d.Steps, actRow{Icon: "bell", At: d.Cause.At, Lead: "Alert fired: " + d.Cause.Symbol + " " + d.Cause.Condition, Text: "value " + d.Cause.Value, To: Root + "/alerts/" + d.Cause.ID})
	}
	d.Steps = append(d.Steps, steps(o, f)...)
	all, err := c.beside(v, o)
	for _, one := range all {
		if one.ID != o.ID && (one.Parent == o.ID || o.Group.Name != "" && one.Group.Name == o.Group.Name) {
			d.Legs = append(d.Legs, newOrderRow(one, f, nil))
		}
	}
	return d, err
}

// cause returns the firing that an order answered.
func (c *Console) cause(v *visit, o order.Order) (*firedRow, error) {
	if c.cfg.History == nil {
		return nil, nil //nolint:nilnil // an order without a cause is usual
	}
	id, at, err := c.cfg.History.Cause(v.ctx(), o.ID)
	if err != nil || id == "" {
		return nil, err
	}
	for _, one := range c.firings() {
		if one.ID == id {
			return new(newFiredRow(one, v.format())), nil
		}
	}
	return &firedRow{ID: id, Symbol: o.Symbol.Name, At: at, Value: "–"}, nil
}

// steps returns what is known of an order's life, oldest first.
func steps(o order.Order, f format) []actRow {
	who := clientName(o)
	all := []actRow{{Icon: "arrow", At: o.Created, Lead: who + " asked to " + lowerFirst(terms(o, f)), Text: "name not checked"}}
	add := func(at time.Time, icon, lead, text string) {
		if !at.IsZero() {
			all = append(all, actRow{Icon: icon, At: at, Lead: lead, Text: text})
		}
	}
	add(o.Approval.Asked, "shield", "Needed your approval", "price "+f.Px(o.Approval.Price))
	if o.Approval.By != "" {
		add(o.Approval.Decided, "check", "You allowed it", "by "+fault.Clean(o.Approval.By, 60)+", after "+span(o.Approval.Decided.Sub(o.Approval.Asked)))
	}
	add(o.Triggered, "warn", "Stop price reached", "")
	for _, fill := range o.Fills {
		text := ""
		if fill.Fee.IsPositive() {
			text = "fee " + f.Num(fill.Fee) + " " + fill.FeeAsset
		}
		add(fill.At, "check", "Filled "+f.Num(fill.Quantity)+" at "+f.Px(fill.Price), text)
	}
	add(o.CancelRequested, "x", "Cancel requested", "")
	if o.Status.Final() && o.Status != order.Filled {
		text := fault.Clean(o.Reason, 200)
		if o.Denial.Rule != "" {
			text = o.Denial.Rule + ": " + text
		}
		add(o.Updated, "x", upperFirst(o.Status.String()), text)
	}
	slices.SortStableFunc(all, func(a, b actRow) int { return a.At.Compare(b.At) })
	return all
}
