package admin

import (
	"cmp"
	"slices"
	"strings"
	"time"

	accessowners "candela/internal/access/owners"
	"candela/internal/access/plan"
	"candela/internal/alerting/sink"
	"candela/internal/data/feed"
	"candela/internal/kit/meter"
	"candela/internal/serve/httpd"
	"candela/internal/serve/mcp"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// collect returns all metrics in the Prometheus format. It is safe for concurrent use.
func (c *Config) collect(began time.Time) []byte {
	var reported []metric
	for _, m := range table() {
		if m.only == always || m.only == trading && c.Trading != nil || m.only == many && c.Cluster != nil || m.only == owners && c.SignIn != nil || m.only == hosting && c.Owners != nil {
			reported = append(reported, m)
		}
	}
	s := scrape{cfg: c, labels: make(map[string][]string, len(reported))}
	for _, m := range reported {
		s.labels[m.name] = m.labels
	}
	for _, m := range runtimeTable() {
		reported = append(reported, m.metric)
	}
	s.text = newText(reported)
	s.read()
	readRuntime(s.text)
	readProcess(s.text, began)
	return s.text.bytes()
}

func (s scrape) read() {
	c := s.cfg
	s.put("candela_build_info", 1, c.Version)
	for name, p := range c.parts() {
		s.put("candela_ready", number(p.Ready), name)
	}
	s.messages(c.Messages())
	s.http(c.HTTP())
	if c.SignIn != nil {
		s.put("candela_signin_up", number(c.SignIn()))
		s.counts("candela_sign_ins_total", c.SignIns())
	}
	if c.Owners != nil {
		s.owners(c.Owners())
	}
	if t := c.Trading; t != nil {
		s.engine(t)
		s.notifications(t)
		s.store(t)
		s.desk(t)
	}
	if c.Cluster != nil {
		s.cluster(c.Cluster)
	}
}

// scrape is one collection. Names and labels that are not in the table are omitted; tests
// check for both.
type scrape struct {
	cfg    *Config
	text   *text
	labels map[string][]string // by metric
}

// put adds a sample.
func (s scrape) put(name string, value float64, values ...string) {
	s.text.add(name, sample{labels: labels(s.labels[name], values), value: value})
}

func (s scrape) count(name string, value uint64, values ...string) {
	s.put(name, float64(value), values...)
}

// counts adds a sample for each key, which is the last label.
func (s scrape) counts(name string, counted map[string]uint64, values ...string) {
	for key, n := range counted {
		s.count(name, n, append(slices.Clone(values), key)...)
	}
}

// took adds a histogram.
func (s scrape) took(name string, r meter.Reading, values ...string) {
	plain, names := labels(s.labels[name], values), slices.Concat(s.labels[name], []string{"le"})
	group := cmp.Or(plain, "{}") // must not be empty
	bucket := func(order int, le string, n uint64) {
		s.text.add(name, sample{"_bucket", labels(names, append(slices.Clone(values), le)), group, order, float64(n)})
	}
	var below uint64
	for i, bound := range meter.Bounds() {
		below += r.Buckets[i]
		bucket(i, format(bound.Seconds()), below)
	}
	count := r.Count()
	bucket(len(r.Buckets), "+Inf", count)
	s.text.add(name, sample{"_sum", plain, group, len(r.Buckets) + 1, r.Sum.Seconds()})
	s.text.add(name, sample{"_count", plain, group, len(r.Buckets) + 2, float64(count)})
}

func number(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

func (s scrape) messages(m mcp.Stats) {
	for method, t := range m.Methods {
		s.counts("candela_mcp_messages_total", t.Outcomes, method)
		s.took("candela_mcp_message_seconds", t.Took, method)
	}
	for tool, t := range m.Tools {
		s.counts("candela_tool_calls_total", t.Outcomes, tool)
		s.took("candela_tool_call_seconds", t.Took, tool)
	}
}

func (s scrape) http(h httpd.Stats) {
	s.counts("candela_http_requests_total", h.Requests)
	s.counts("candela_http_refused_total", h.Refused)
	for reason, n := range h.Ended {
		s.count("candela_streams_ended_total", n, strings.ReplaceAll(reason, " ", "_"))
	}
	s.put("candela_http_connections", float64(h.Connections))
	for _, b := range h.Budgets {
		s.put("candela_limit", b.Limit, b.Name, b.Scope)
		s.put("candela_limit_used", b.Used, b.Name, b.Scope)
		s.count("candela_limit_refused_total", b.Refused, b.Name, b.Scope)
	}
	s.put("candela_streams_open", float64(h.Streams))
}

// owners adds a sample for each state and plan that some owner has.
func (s scrape) owners(o Owners) {
	count := make(map[accessowners.Standing]int)
	for _, one := range o.Standings {
		one.Plan = cmp.Or(one.Plan, plan.Default)
		count[one]++
	}
	for one, n := range count {
		s.put("candela_owners", float64(n), string(one.State), one.Plan)
	}
	s.put("candela_owners_used", float64(o.Used))
	for r, n := range o.Refused {
		s.count("candela_plan_refused_total", n, r.Plan, r.Limit)
	}
}

func (s scrape) engine(t *Trading) {
	e := t.Engine()
	s.put("candela_alerts_active", float64(e.Alerts))
	s.count("candela_alerts_fired_total", e.Firings)
	s.count("candela_alerts_late_total", e.Late)
	for _, verdict := range []string{"true", "false", "unknown"} {
		s.count("candela_evidence_total", e.Evidence[verdict], verdict)
	}
	s.put("candela_alerts_uncommitted", float64(e.Uncommitted))
	s.count("candela_engine_evaluations_total", e.Evaluations)
	s.put("candela_engine_followed", float64(e.Prices), "prices")
	s.put("candela_engine_followed", float64(e.Series), "series")
	s.put("candela_engine_loading", float64(e.Loading))
	s.put("candela_scripts_waiting", float64(e.ScriptBars))
	s.count("candela_scripts_late_total", e.ScriptsLate)
	s.count("candela_scripts_skipped_total", e.ScriptsSkipped)
	for i := range e.Feeds {
		s.feed(&e.Feeds[i], slices.Contains(e.LaggingVenues, e.Feeds[i].Venue))
	}
}

func (s scrape) feed(f *feed.Status, behind bool) {
	s.put("candela_feed_behind", number(behind), f.Venue)
	s.put("candela_feed_subscriptions", float64(f.Subscriptions), f.Venue)
	s.put("candela_feed_streams", float64(f.StreamGroups), f.Venue, "wanted")
	s.put("candela_feed_streams", float64(f.Connected), f.Venue, "connected")
	s.put("candela_feed_streams", float64(f.Silent), f.Venue, "silent")
	s.put("candela_feed_late_series", float64(f.Overdue), f.Venue)
	if !f.LastEvent.IsZero() {
		s.put("candela_feed_lag_seconds", s.cfg.Now().Sub(f.LastEvent).Seconds(), f.Venue)
	}
	s.count("candela_feed_bars_total", f.Streamed, f.Venue, "streamed")
	s.count("candela_feed_bars_total", f.Backfilled, f.Venue, "filled")
	s.counts("candela_feed_faults_total", map[string]uint64{
		"lost_stream": f.StreamsLost, "failed_read": f.Failed, "gap": f.Gaps, "hole": f.Holes, "off_grid": f.OffGrid,
	}, f.Venue)
}

// notifications sums the sinks by name: there is one per owner.
func (s scrape) notifications(t *Trading) {
	n := t.Notifications()
	s.put("candela_notifications_held", float64(n.Entries))
	s.put("candela_notifications_waiting", float64(n.Unpolled))
	s.put("candela_subscriptions", float64(n.Subscriptions))
	sums, lag := map[string]sink.Status{}, map[string]float64{}
	for _, one := range t.Sinks() {
		sum := sums[one.Name]
		sum.Delivered += one.Delivered
		sum.Refused += one.Refused
		sum.Dropped += one.Dropped
		sum.Failed += one.Failed
		sums[one.Name] = sum
		if !one.Waits.IsZero() {
			lag[one.Name] = max(lag[one.Name], s.cfg.Now().Sub(one.Waits).Seconds())
		}
	}
	for name, sum := range sums {
		s.count("candela_sink_notifications_total", sum.Delivered, name, "delivered")
		s.count("candela_sink_notifications_total", sum.Refused, name, "refused")
		s.count("candela_sink_notifications_total", sum.Dropped, name, "dropped")
		s.count("candela_sink_failures_total", sum.Failed, name)
		s.put("candela_sink_lag_seconds", lag[name], name)
	}
}

func (s scrape) store(t *Trading) {
	if t.Store == nil {
		return
	}
	l, open := t.Store()
	if !open {
		return
	}
	s.took("candela_store_commit_seconds", l.Commits)
	s.count("candela_store_writes_total", l.Writes)
	s.counts("candela_store_errors_total", l.Errors)
	s.put("candela_store_bytes", float64(l.Bytes), "store")
	s.put("candela_store_bytes", float64(l.Log), "log")
}

func (s scrape) cluster(c *Cluster) {
	conn, now := c.Conn(), c.Now()
	s.put("candela_cluster_connected", number(conn.Connected))
	s.count("candela_cluster_reconnects_total", conn.Reconnects)
	s.count("candela_cluster_refused_writes_total", conn.Conflicts)
	s.counts("candela_cluster_forged_total", conn.Forged)
	s.counts("candela_cluster_calls_total", conn.Calls)
	beat := 0.0
	if !now.Beat.IsZero() {
		beat = s.cfg.Now().Sub(now.Beat).Seconds()
	}
	s.put("candela_cluster_heartbeat_seconds", beat)
	s.put("candela_cluster_members", float64(now.Members))
	s.put("candela_cluster_draining", number(now.Draining))
	s.put("candela_cluster_owned", float64(now.Owned))
	s.put("candela_cluster_tail_lag", float64(now.Lag))
}

func (s scrape) desk(t *Trading) {
	d, here := t.Desk()
	if !here {
		return
	}
	orders := t.Orders()
	for _, status := range []order.Status{order.New, order.Submitted, order.Accepted, order.PartiallyFilled, order.PendingCancel, order.Uncertain, order.Held, order.PendingApproval} {
		s.put("candela_orders_open", float64(orders[status]), strings.ToLower(status.String()))
	}
	for _, level := range []guard.Level{guard.Active, guard.Reducing, guard.Halted} {
		s.put("candela_trading_state", number(d.State.Level() == level), strings.ToLower(level.String()))
	}
	for _, c := range guard.Restrictions(guard.Default()) {
		active := slices.ContainsFunc(d.State.Restrictions, func(r guard.Restriction) bool { return r.Kind == c.Kind })
		s.put("candela_trading_cause", number(active), string(c.Kind))
	}
	s.put("candela_broker_connected", number(d.Connected))
	s.put("candela_broker_reconciled", number(d.Reconciled))
}
