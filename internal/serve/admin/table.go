package admin

// kind is the type of a metric.
type kind string

const (
	counter   kind = "counter"
	gauge     kind = "gauge"
	histogram kind = "histogram"
)

// metric describes one metric.
type metric struct {
	name   string
	kind   kind
	labels []string
	help   string
	only   scope
}

// scope is the mode in which a metric is reported, as docs/operations.md notes it.
type scope string

const (
	always  scope = ""
	trading scope = " (--trade)"
	many    scope = " (--nats-url)"
	owners  scope = " (--owners oidc)"
	hosting scope = " (--owners oidc, --trade)"
)

// table lists every metric of candela. Tests compare the collector, docs/operations.md,
// the dashboard and the alert rules with it. Label values are fixed in the code: methods,
// tools, paths, venues, codes.
func table() []metric {
	outcome := []string{"method", "outcome"}
	venue := []string{"venue"}
	return []metric{
		{"candela_build_info", gauge, []string{"version"}, "Always 1; the version that runs.", always},
		{"candela_ready", gauge, []string{"part"}, "1 when a part of /readyz is ready.", always},

		{"candela_mcp_messages_total", counter, outcome, "Messages of clients, over every transport.", always},
		{"candela_mcp_message_seconds", histogram, []string{"method"}, "How long they took to answer.", always},
		{"candela_tool_calls_total", counter, []string{"tool", "outcome"}, "Calls of tools: ok, cancelled, rejected by the protocol, or the kind of fault.", always},
		{"candela_tool_call_seconds", histogram, []string{"tool"}, "How long the calls took.", always},

		{"candela_http_requests_total", counter, []string{"path"}, "Requests by path; other is every path that nothing answers.", always},
		{"candela_http_refused_total", counter, []string{"status"}, "Requests on the paths of MCP that were refused before a message was read.", always},
		{"candela_http_connections", gauge, nil, "Connections that are open.", always},
		{"candela_limit", gauge, []string{"limit", "per"}, "What one token, one address or all clients together may use; see limits.md.", always},
		{"candela_limit_used", gauge, []string{"limit", "per"}, "What the one that uses most of it uses now; rates are not reported.", always},
		{"candela_limit_refused_total", counter, []string{"limit", "per"}, "Requests and connections that were refused or cut because of it.", always},
		{"candela_streams_open", gauge, nil, "Event streams that are open.", always},
		{"candela_streams_ended_total", counter, []string{"reason"}, "Event streams that have ended.", always},

		{"candela_signin_up", gauge, nil, "1 when the identity provider answered last; while it is 0 nobody can sign in.", owners},
		{"candela_sign_ins_total", counter, []string{"outcome"}, "Sign-ins at the identity provider: signed_in, refused by the allow-list, suspended, erased, failed.", owners},
		{"candela_owners", gauge, []string{"state", "plan"}, "Owners by state and plan, without those who are active and on the default plan.", hosting},
		{"candela_owners_used", gauge, nil, "Owners who have called something in this hour, here.", hosting},
		{"candela_plan_refused_total", counter, []string{"plan", "limit"}, "What plans of owners have refused, by the limit as plans.toml names it.", hosting},

		{"candela_alerts_active", gauge, nil, "Alerts that wait.", trading},
		{"candela_alerts_fired_total", counter, nil, "Alerts that fired and were committed.", trading},
		{"candela_alerts_late_total", counter, nil, "Of them, those found afterwards, in bars that were missed.", trading},
		{"candela_evidence_total", counter, []string{"verdict"}, "Reasons of orders and conditions of the owner that were judged: true, false or unknown.", trading},
		{"candela_alerts_uncommitted", gauge, nil, "Alerts that fired and that the store did not take yet.", trading},
		{"candela_engine_evaluations_total", counter, nil, "Evaluations of an indicator, each for one bar.", trading},
		{"candela_engine_followed", gauge, []string{"what"}, "Prices and windows of bars that the engine follows.", trading},
		{"candela_engine_loading", gauge, nil, "Of them, those not loaded yet: their alerts wait.", trading},
		{"candela_scripts_waiting", gauge, nil, "Closed bars that wait for scripts of alerts.", trading},
		{"candela_scripts_late_total", counter, nil, "Evaluations of a script for alerts more than a second after its bar closed.", trading},
		{"candela_scripts_skipped_total", counter, nil, "Bars that were given up because scripts of alerts were too slow.", trading},

		{"candela_feed_behind", gauge, venue, "1 while the bars of a venue do not come: alerts on its symbols wait.", trading},
		{"candela_feed_subscriptions", gauge, venue, "Series that are followed.", trading},
		{"candela_feed_streams", gauge, []string{"venue", "state"}, "Streams that there should be (wanted), are up (connected), and say nothing (silent).", trading},
		{"candela_feed_late_series", gauge, venue, "Series whose next bar is overdue.", trading},
		{"candela_feed_lag_seconds", gauge, venue, "Since the last event over a stream that is up.", trading},
		{"candela_feed_bars_total", counter, []string{"venue", "how"}, "Closed bars that came over a stream (streamed) or were read (filled).", trading},
		{"candela_feed_faults_total", counter, []string{"venue", "what"}, "What went wrong: lost streams, failed reads, gaps, holes, bars off the grid.", trading},

		{"candela_notifications_held", gauge, nil, "Notifications that can still be fetched or pushed.", trading},
		{"candela_notifications_waiting", gauge, nil, "Of them, those that get_notifications has not handed out.", trading},
		{"candela_subscriptions", gauge, nil, "Clients that have subscribed.", trading},
		{"candela_sink_notifications_total", counter, []string{"sink", "outcome"}, "What receivers of alerts took (delivered), refused for good, or did not get in time (dropped).", trading},
		{"candela_sink_failures_total", counter, []string{"sink"}, "Attempts to send that failed and are made again.", trading},
		{"candela_sink_lag_seconds", gauge, []string{"sink"}, "Age of the notification that a sink is trying to send, 0 for none.", trading},

		{"candela_store_commit_seconds", histogram, nil, "How long commits took, with their sync.", trading},
		{"candela_store_writes_total", counter, nil, "Changes that were committed; several share a commit.", trading},
		{"candela_store_errors_total", counter, []string{"code"}, "Commits that the store failed.", trading},
		{"candela_store_bytes", gauge, []string{"file"}, "Size of the store and of the log beside it.", trading},

		{"candela_orders_open", gauge, []string{"status"}, "Open orders by status.", trading},
		{"candela_trading_state", gauge, []string{"state"}, "1 for the state in force: active, reducing or halted.", trading},
		{"candela_trading_cause", gauge, []string{"cause"}, "1 for each cause that holds trading down.", trading},
		{"candela_broker_connected", gauge, nil, "1 while the venue's reports flow.", trading},
		{"candela_broker_reconciled", gauge, nil, "1 when the account was compared with the venue since the start.", trading},

		{"candela_cluster_connected", gauge, nil, "1 while there is a connection to a NATS server.", many},
		{"candela_cluster_reconnects_total", counter, nil, "Connections to a NATS server that took the place of a lost one.", many},
		{"candela_cluster_heartbeat_seconds", gauge, nil, "Since the servers took a heartbeat of this replica; they take one every second.", many},
		{"candela_cluster_members", gauge, nil, "Replicas that take part, as this one sees it.", many},
		{"candela_cluster_draining", gauge, nil, "1 while this replica hands over what it owns.", many},
		{"candela_cluster_owned", gauge, nil, "Instruments that this replica follows for all.", many},
		{"candela_cluster_tail_lag", gauge, nil, "Messages about alerts that this replica has not read yet.", many},
		{"candela_cluster_calls_total", counter, []string{"outcome"}, "Calls to the owner of something: done, failed, refused because nobody was ready, unanswered.", many},
		{"candela_cluster_forged_total", counter, []string{"kind"}, "Messages at the NATS servers that were ignored because they were not sent by a replica, or a replay: row, replay (an older one of ours, or clocks that differ), call, answer.", many},
		{"candela_cluster_refused_writes_total", counter, nil, "Writes that the servers refused because another change came first.", many},
	}
}
