package admin

// kind is how a metric behaves.
type kind uint8

const (
	counter kind = iota
	gauge
	histogram
)

func (k kind) String() string {
	switch k {
	case gauge:
		return "gauge"
	case histogram:
		return "histogram"
	default:
		return "counter"
	}
}

// metric is one row of the table.
type metric struct {
	name   string
	kind   kind
	labels []string
	help   string
	trade  bool // only under --trade
}

// table lists every metric of ours. The collector, docs/operations.md, the dashboard
// and the alert rules are held against it. Values of labels are fixed in the code:
// methods, tools, paths, venues, codes.
func table() []metric {
	outcome := []string{"method", "outcome"}
	venue := []string{"venue"}
	return []metric{
		{"candela_build_info", gauge, []string{"version"}, "Always 1; the version that runs.", false},
		{"candela_ready", gauge, []string{"part"}, "1 when a part of /readyz is ready.", false},

		{"candela_mcp_messages_total", counter, outcome, "Messages of clients, over every transport.", false},
		{"candela_mcp_message_seconds", histogram, []string{"method"}, "How long they took to answer.", false},
		{"candela_tool_calls_total", counter, []string{"tool", "outcome"}, "Calls of tools: ok, cancelled, rejected by the protocol, or the kind of fault.", false},
		{"candela_tool_call_seconds", histogram, []string{"tool"}, "How long the calls took.", false},

		{"candela_http_requests_total", counter, []string{"path"}, "Requests by path; other is every path that nothing answers.", false},
		{"candela_http_refused_total", counter, []string{"status"}, "Requests on the paths of MCP that were refused before a message was read.", false},
		{"candela_http_connections", gauge, nil, "Connections that are open.", false},
		{"candela_streams_open", gauge, nil, "Event streams that are open.", false},
		{"candela_streams_ended_total", counter, []string{"reason"}, "Event streams that have ended.", false},

		{"candela_alerts_active", gauge, nil, "Alerts that wait.", true},
		{"candela_alerts_fired_total", counter, nil, "Alerts that fired and were committed.", true},
		{"candela_alerts_late_total", counter, nil, "Of them, those found afterwards, in bars that were missed.", true},
		{"candela_alerts_uncommitted", gauge, nil, "Alerts that fired and that the store did not take yet.", true},
		{"candela_engine_evaluations_total", counter, nil, "Evaluations of an indicator, each for one bar.", true},
		{"candela_engine_followed", gauge, []string{"what"}, "Prices and windows of bars that the engine follows.", true},
		{"candela_engine_loading", gauge, nil, "Of them, those not loaded yet: their alerts wait.", true},

		{"candela_feed_behind", gauge, venue, "1 while the bars of a venue do not come: alerts on its symbols wait.", true},
		{"candela_feed_subscriptions", gauge, venue, "Series that are followed.", true},
		{"candela_feed_streams", gauge, []string{"venue", "state"}, "Streams that there should be (wanted), are up (connected), and say nothing (silent).", true},
		{"candela_feed_late_series", gauge, venue, "Series whose next bar is overdue.", true},
		{"candela_feed_lag_seconds", gauge, venue, "Since the last event over a stream that is up.", true},
		{"candela_feed_bars_total", counter, []string{"venue", "how"}, "Closed bars that came over a stream (streamed) or were read (filled).", true},
		{"candela_feed_faults_total", counter, []string{"venue", "what"}, "What went wrong: lost streams, failed reads, gaps, holes, bars off the grid.", true},

		{"candela_notifications_held", gauge, nil, "Notifications that can still be fetched or pushed.", true},
		{"candela_notifications_waiting", gauge, nil, "Of them, those that get_notifications has not handed out.", true},
		{"candela_subscriptions", gauge, nil, "Clients that have subscribed.", true},
		{"candela_sink_notifications_total", counter, []string{"sink", "outcome"}, "What webhook and ntfy took (delivered), refused for good, or did not get in time (dropped).", true},
		{"candela_sink_failures_total", counter, []string{"sink"}, "Attempts to send that failed and are made again.", true},
		{"candela_sink_lag_seconds", gauge, []string{"sink"}, "Age of the notification that a sink is trying to send, 0 for none.", true},

		{"candela_store_commit_seconds", histogram, nil, "How long commits took, with their sync.", true},
		{"candela_store_writes_total", counter, nil, "Changes that were committed; several share a commit.", true},
		{"candela_store_errors_total", counter, []string{"code"}, "Commits that the store failed.", true},
		{"candela_store_bytes", gauge, []string{"file"}, "Size of the store and of the log beside it.", true},

		{"candela_orders_open", gauge, []string{"status"}, "Open orders by status.", true},
		{"candela_trading_state", gauge, []string{"state"}, "1 for the state in force: active, reducing or halted.", true},
		{"candela_trading_cause", gauge, []string{"cause"}, "1 for each cause that holds trading down.", true},
		{"candela_broker_connected", gauge, nil, "1 while the venue's reports flow.", true},
		{"candela_broker_reconciled", gauge, nil, "1 when the account was compared with the venue since the start.", true},
	}
}
