package console

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/store/ledger"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// Audit is the audit log.
type Audit interface {
	Page(ctx context.Context, f ledger.Filter) (ledger.Page, error)
	Verify(ctx context.Context) (ledger.Report, error)
}

// activityPage shows the audit log.
func activityPage() page {
	return page{path: "/activity", name: "activity", title: "Activity", icon: "log", key: "y", group: 1, live: "orders list state alerts clients", data: (*Console).activityData}
}

func activityActs() []act {
	return []act{{path: "/activity/verify", asks: withoutAsking, do: (*Console).verify}}
}

// eventsOfPage is how many events a page shows.
const eventsOfPage = 100

type activityData struct {
	Elsewhere bool // the log is not here
	Text      string
	Group     string
	Since     string
	Client    string
	Steps     bool
	Clients   []clientRow
	Groups    []choice
	Periods   []choice
	Events    []eventRow
	Older     string // link
	Newest    string // link, on an older page
	Folded    string // link that shows or hides the steps
	Checked   *verdict
}

// choice is a link that changes one part of a filter.
type choice struct {
	Label, To string
	Current   bool
}

// eventRow is an event as the table shows it.
type eventRow struct {
	Seq                           uint64
	At                            time.Time
	Kind, Icon, Tone, Text, Quote string
	Client, Mark, To              string
}

// verdict is the outcome of the last check of the log.
type verdict struct {
	Events  uint64
	Last    string
	Hash    string
	Problem string
	At      time.Time
}

// checks remembers the last check, of which one runs at a time.
type checks struct {
	running sync.Mutex
	last    atomic.Pointer[verdict]
}

// query is the filter of the page as its address has it.
type query struct{ url.Values }

func (q query) with(name, value string) string {
	next := url.Values{}
	for _, key := range []string{"q", "group", "since", "client", "steps", "before"} {
		if v := q.Get(key); v != "" && key != "before" {
			next.Set(key, v)
		}
	}
	if value == "" {
		next.Del(name)
	} else {
		next.Set(name, value)
	}
	return Root + "/activity?" + next.Encode()
}

func (c *Console) activityData(v *visit) (any, error) {
	if c.cfg.Audit == nil {
		return activityData{Elsewhere: true}, nil
	}
	q := query{v.r.URL.Query()}
	d := activityData{
		Text: fault.Clean(q.Get("q"), 100), Group: q.Get("group"), Since: cmp.Or(q.Get("since"), "today"), Client: fault.Clean(q.Get("client"), 64),
		Steps: q.Get("steps") != "", Checked: c.checks.last.Load(),
	}
	for _, g := range [][2]string{{"", "All"}, {"orders", "Orders"}, {"denied", "Denied"}, {"alerts", "Alerts"}, {"owner", "Owner"}} {
		d.Groups = append(d.Groups, choice{g[1], q.with("group", g[0]), g[0] == d.Group})
	}
	for _, p := range [][2]string{{"today", "Today"}, {"week", "7 days"}, {"all", "All"}} {
		d.Periods = append(d.Periods, choice{p[1], q.with("since", p[0]), p[0] == d.Since})
	}
	d.Folded = q.with("steps", map[bool]string{true: "", false: "1"}[d.Steps])
	if c.cfg.Clients != nil {
		d.Clients, _ = c.clients(v.ctx(), v) // a filter without names of clients works as well
	}
	before := fault.Clean(q.Get("before"), 64)
	found, err := c.cfg.Audit.Page(v.ctx(), d.filter(before, v.format()))
	if err != nil {
		return nil, err
	}
	known := knownOrders{c.ordersByID(v), c.closings()}
	for _, e := range found.Events {
		d.Events = append(d.Events, newEventRow(e, known, v.format()))
	}
	if found.Next != "" {
		d.Older = q.with("before", found.Next)
	}
	if before != "" {
		d.Newest = q.with("before", "")
	}
	return d, nil
}

// filter returns what the page asks the log for. Unless the steps are shown, those of an order
// that say nothing by themselves are left out.
func (d activityData) filter(before string, f format) ledger.Filter {
	q := ledger.Filter{Before: before, Limit: eventsOfPage, Text: d.Text, Actor: d.Client}
	switch d.Group {
	case "orders":
		q.Kinds = []string{"order_"}
	case "denied":
		q.Kinds = []string{"order_denied", "order_rejected"}
	case "alerts":
		q.Kinds = []string{"alert_"}
	case "owner":
		q.Kinds = []string{"owner_", "client_", "token_", "scope_", "logins_", "state_"}
	}
	if !d.Steps {
		q.Skip, q.Apart = []string{"order_created", "order_sent", "order_confirmed", "order_claimed", "order_trailed", "snapshot_kept", "chain_checkpoint"}, []string{"cursors"}
	}
	switch d.Since {
	case "all":
	case "week":
		q.Since = f.now.Add(-7 * 24 * time.Hour)
	default:
		y, m, day := f.now.In(f.zone).Date()
		q.Since = time.Date(y, m, day, 0, 0, 0, 0, f.zone)
	}
	return q
}

// ordersByID returns the newest orders, whose terms the events of their steps lack.
func (c *Console) ordersByID(v *visit) map[string]order.Order {
	all := map[string]order.Order{}
	if c.cfg.Account == nil {
		return all
	}
	list, _ := c.cfg.Account.Orders(v.ctx(), v.caller(), false) // events are shown without terms then
	for _, o := range list {
		all[o.ID] = o
	}
	return all
}

// knownOrders is what events of orders lack.
type knownOrders struct {
	orders map[string]order.Order        // by ID
	closed map[string]order.NoticeRecord // positions, by closing
}

// closing returns the fill of an order that closed a position, or the change of a symbol that did.
func closing(about string, at time.Time) string {
	return about + " " + at.UTC().Format(time.RFC3339Nano)
}

// closings returns the positions that were closed.
func (c *Console) closings() map[string]order.NoticeRecord {
	all := map[string]order.NoticeRecord{}
	if c.cfg.Closed == nil {
		return all
	}
	for _, r := range c.cfg.Closed() {
		if at, err := time.Parse(time.RFC3339Nano, r.At); err == nil {
			all[closing(cmp.Or(r.OrderID, r.Symbol), at)] = r
		}
	}
	return all
}

// closedWords says that a fill or another change closed a position, "" if it did not.
func (k knownOrders) closedWords(body order.Event, f format) string {
	about, at := body.OrderID, body.At
	switch {
	case body.Fill != nil:
		at = body.Fill.At
	case body.Adjustment != nil:
		about = body.Adjustment.Symbol.Name
	}
	r, ok := k.closed[closing(about, at.Truncate(time.Millisecond))]
	if !ok {
		return ""
	}
	return "; position closed, profit " + f.digitsOf(r.Realised)
}

func newEventRow(e ledger.Event, known knownOrders, f format) eventRow {
	r := eventRow{Seq: e.Seq, At: e.At, Kind: e.Kind, Icon: "clock", Client: cmp.Or(fault.Clean(e.Client, 40), "engine"), Mark: e.Actor[:min(8, len(e.Actor))]}
	switch group, _, _ := strings.Cut(e.Kind, "_"); group {
	case "order":
		r.order(e, known, f)
	case "alert", "notification":
		r.alert(e, f)
	case "state":
		r.state(e)
	default:
		r.access(e)
	}
	r.Text = cmp.Or(r.Text, fault.Clean(e.Subject, 80))
	return r
}

// order describes an event of an order.
func (r *eventRow) order(e ledger.Event, all knownOrders, f format) {
	var body order.Event
	if json.Unmarshal(e.Body, &body) != nil {
		return
	}
	o, known := all.orders[e.Subject]
	if !known && body.Origin != nil {
		o, known = order.Order{Origin: *body.Origin}, true
	}
	if known {
		r.Text, r.To = terms(o, f), Root+"/orders/"+o.ID
	}
	switch {
	case body.Fill != nil:
		r.Icon, r.Text = "check", fillWords(*body.Fill, f)
	case body.Denial != nil || e.Kind == "order_rejected":
		r.Icon, r.Tone = "x", "down"
	case strings.HasPrefix(e.Kind, "order_cancel"):
		r.Icon = "x"
	case body.Approval != nil:
		r.Icon = "shield"
	}
	if body.Denial != nil && body.Denial.Rule != "" {
		r.Text += ": " + body.Denial.Rule
	}
	if body.Reason != "" {
		r.Text += ", " + fault.Clean(body.Reason, 160)
	}
	if closed := all.closedWords(body, f); closed != "" {
		r.Text = cmp.Or(r.Text, fault.Clean(e.Subject, 80)) + closed
	}
}

func fillWords(fill order.Fill, f format) string {
	verb := "Bought "
	if fill.Side == order.Sell {
		verb = "Sold "
	}
	text := verb + f.Num(fill.Quantity) + " " + fill.Symbol.Name + " at " + f.Num(fill.Price)
	if fill.Fee.IsPositive() {
		text += ", fee " + f.Num(fill.Fee) + " " + fill.FeeAsset
	}
	return text
}

// alert describes an event of an alert.
func (r *eventRow) alert(e ledger.Event, f format) {
	r.Icon, r.To = "bell", Root+"/alerts/"+e.Subject
	var body struct {
		Symbol    string          `json:"symbol"`
		Type      string          `json:"type"`
		Threshold string          `json:"threshold"`
		Indicator string          `json:"indicator"`
		Signal    string          `json:"signal"`
		Note      string          `json:"note"`
		Record    json.RawMessage `json:"record"`
	}
	if json.Unmarshal(e.Body, &body) != nil {
		return
	}
	if fired, ok := alert.ParseFired(body.Record); ok {
		body.Symbol, body.Type, body.Threshold = fired.Symbol, fired.Condition.Type, fired.Condition.Threshold.String()
		body.Indicator, body.Signal, body.Note = string(fired.Condition.Indicator), fired.Condition.Signal, fired.Note
	}
	parts := []string{body.Symbol, strings.ReplaceAll(body.Type, "_", " "), f.digitsOf(body.Threshold), body.Indicator, body.Signal}
	r.Text, r.Quote = strings.Join(strings.Fields(fault.Clean(strings.Join(parts, " "), 160)), " "), fault.Clean(body.Note, 160)
}

// digitsOf writes a number as the owner prefers, and other text as it is.
func (f format) digitsOf(text string) string {
	if _, err := strconv.ParseFloat(text, 64); err != nil || strings.ContainsAny(text, "eE") {
		return text
	}
	return f.digits(text)
}

// state describes a change of the account's state.
func (r *eventRow) state(e ledger.Event) {
	r.Icon = "stop"
	var s guard.State
	if e.Subject != "guard" || json.Unmarshal(e.Body, &s) != nil {
		return
	}
	r.Kind, r.Text = "guard_changed", s.Level().String()
	if why := s.Explain(); why != "" {
		r.Text += ": " + fault.Clean(why, 200)
	}
	if s.Level() != guard.Active {
		r.Tone = "warn"
	}
}

// access describes a login, an approval or its end.
func (r *eventRow) access(e ledger.Event) {
	r.Icon = "key"
	if e.Client == "" {
		r.Client = "owner"
	}
	var body struct{ Client, Address, Scope string }
	if json.Unmarshal(e.Body, &body) != nil {
		return
	}
	var parts []string
	for _, part := range []string{body.Client, body.Scope, body.Address} {
		if part != "" {
			parts = append(parts, fault.Clean(part, 60))
		}
	}
	r.Text = strings.Join(parts, ", ")
}

// verify reads the whole log and checks its chain.
func (c *Console) verify(v *visit) (done, error) {
	to := "/activity"
	if c.cfg.Audit == nil {
		return done{To: to}, nil
	}
	if !c.checks.running.TryLock() {
		return done{Notice: "A check is already running.", To: to}, nil
	}
	defer c.checks.running.Unlock()
	report, err := c.cfg.Audit.Verify(v.ctx())
	if err != nil {
		return done{}, err
	}
	now := &verdict{Events: report.Events, At: v.now}
	if report.Last > 0 { // with replicas there is no chain over all
		now.Last, now.Hash = strconv.FormatUint(report.Last, 10), report.Hash.String()
	}
	if len(report.Breaks) > 0 {
		now.Problem = report.Breaks[0].String()
		c.cfg.Log.ErrorContext(v.ctx(), "[Console] audit log broken", "break", now.Problem)
	}
	c.checks.last.Store(now)
	return done{To: to}, nil
}
