package admin

import (
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	accessowners "candela/internal/access/owners"
	"candela/internal/access/plan"
	"candela/internal/alerting/engine"
	"candela/internal/alerting/notify"
	"candela/internal/alerting/sink"
	"candela/internal/data/feed"
	"candela/internal/kit/principal"
	"candela/internal/serve/httpd"
	"candela/internal/serve/mcp"
	"candela/internal/store"
	"candela/internal/store/replica/conn"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

func now() time.Time { return time.Unix(1_800_000_000, 0) }

// full is a program in which everything is in order and something of everything has
// been counted.
func full() Config {
	tally := func() mcp.Counts { return mcp.Counts{Outcomes: map[string]uint64{"ok": 3, "internal": 1}} }
	return Config{
		Version: "v1.2.3", Now: now, LocalOnly: true,
		Listening: func() bool { return true },
		Messages: func() mcp.Stats {
			s := mcp.Stats{Methods: map[string]mcp.Counts{"ping": tally()}, Tools: map[string]mcp.Counts{"get_indicators": tally()}}
			s.Tools["get_indicators"] = mcp.Counts{Outcomes: map[string]uint64{"ok": 3}, Took: reading()}
			return s
		},
		HTTP: func() httpd.Stats {
			return httpd.Stats{
				Connections: 7, Streams: 5, Ended: map[string]uint64{"client left": 2},
				Requests: map[string]uint64{"/mcp": 9}, Refused: map[string]uint64{"401": 1},
				Budgets: []httpd.Budget{{Name: "calls", Scope: "token", Limit: 16, Used: 3, Refused: 2}},
			}
		},
		Trading: &Trading{
			Store: func() (store.Stats, bool) {
				return store.Stats{Commits: reading(), Writes: 4, Errors: map[string]uint64{"store_full": 0}, Bytes: 4096, Log: 8192}, true
			},
			Engine: func() engine.Status {
				return engine.Status{Running: true, Alerts: 11, Prices: 2, Series: 1, Firings: 6, Late: 1, Feeds: []feed.Status{
					{Venue: "binance", StreamGroups: 1, Connected: 1, LastEvent: now().Add(-2 * time.Second), Streamed: 8},
				}}
			},
			Notifications: func() notify.Stats { return notify.Stats{Entries: 10, Unpolled: 3, Subscriptions: 2} },
			Sinks: func() []sink.Status {
				return []sink.Status{{Name: "webhook", Delivered: 2, Waits: now().Add(-30 * time.Second)}, {Name: "webhook", Delivered: 3}}
			},
			Desk:   func() (desk.Status, bool) { return desk.Status{Connected: true, Reconciled: true}, true },
			Orders: func() map[order.Status]int { return map[order.Status]int{order.Accepted: 2} },
		},
		SignIn:  func() bool { return true },
		SignIns: func() map[string]uint64 { return map[string]uint64{"signed_in": 3, "refused": 1} },
		Owners: func() Owners {
			return Owners{
				Standings: map[principal.Owner]accessowners.Standing{"a": {State: accessowners.Suspended}, "b": {State: accessowners.Active, Plan: "pro"}, "c": {State: accessowners.Active, Plan: "pro"}},
				Used:      4, Refused: map[plan.Refusal]uint64{{Plan: "pro", Limit: plan.Rate}: 5},
			}
		},
		Cluster: &Cluster{
			Conn: func() conn.Stats {
				return conn.Stats{Connected: true, Reconnects: 2, Conflicts: 5, Forged: map[string]uint64{"row": 1, "call": 2}, Calls: map[string]uint64{"done": 8, "unanswered": 1}}
			},
			Now: func() Replica { return Replica{Members: 3, Beat: now().Add(-time.Second), Owned: 7, Lag: 4} },
		},
	}
}

// ask returns the answer of a path.
func ask(t *testing.T, cfg Config, path string) (int, string) {
	t.Helper()
	handler := Handler(cfg)
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:9316"+path, nil)
	handler.ServeHTTP(w, r)
	data, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(data)
}

// names returns the metrics that /metrics has, as it declares them.
func names(t *testing.T, cfg Config) []string {
	t.Helper()
	status, text := ask(t, cfg, "/metrics")
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	var all []string
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, _, _ := strings.Cut(rest, " ")
			all = append(all, name)
		}
	}
	return all
}

func TestMetrics_AreThoseOfTheTable(t *testing.T) {
	t.Parallel()
	got := names(t, full())
	without := full()
	without.Trading, without.Cluster, without.SignIn, without.Owners = nil, nil, nil, nil
	charts := names(t, without)
	for _, m := range table() {
		if !slices.Contains(got, m.name) {
			t.Errorf("%s is not reported", m.name)
		}
		if slices.Contains(charts, m.name) != (m.only == always) {
			t.Errorf("%s%s is reported for charts alone, or is not", m.name, m.only)
		}
		if !strings.HasSuffix(m.help, ".") || strings.HasSuffix(m.name, "_total") != (m.kind == counter) {
			t.Errorf("%s is named or explained wrongly", m.name)
		}
	}
	for _, want := range []string{"go_goroutines", "process_start_time_seconds"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not reported", want)
		}
	}
}

func TestMetrics_ShowTheCountersOfTheParts(t *testing.T) {
	t.Parallel()
	_, text := ask(t, full(), "/metrics")
	for _, want := range []string{
		`candela_build_info{version="v1.2.3"} 1`, `candela_ready{part="store"} 1`, `candela_alerts_active 11`, `candela_alerts_late_total 1`,
		`candela_feed_lag_seconds{venue="binance"} 2`, `candela_feed_streams{venue="binance",state="connected"} 1`,
		`candela_sink_notifications_total{sink="webhook",outcome="delivered"} 5`, `candela_sink_lag_seconds{sink="webhook"} 30`,
		`candela_tool_calls_total{tool="get_indicators",outcome="ok"} 3`, `candela_streams_ended_total{reason="client_left"} 2`,
		`candela_tool_call_seconds_bucket{tool="get_indicators",le="0.001"} 2`, `candela_tool_call_seconds_bucket{tool="get_indicators",le="0.005"} 3`,
		`candela_tool_call_seconds_bucket{tool="get_indicators",le="+Inf"} 4`, `candela_tool_call_seconds_count{tool="get_indicators"} 4`,
		`candela_orders_open{status="accepted"} 2`, `candela_orders_open{status="uncertain"} 0`,
		`candela_trading_state{state="active"} 1`, `candela_trading_state{state="halted"} 0`, `candela_trading_cause{cause="daily_loss"} 0`,
		`candela_cluster_members 3`, `candela_cluster_heartbeat_seconds 1`, `candela_cluster_calls_total{outcome="unanswered"} 1`,
		`candela_cluster_refused_writes_total 5`, `candela_cluster_tail_lag 4`, `candela_ready{part="nats"} 1`, `candela_ready{part="replica"} 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%s is missing", want)
		}
	}
}

// TestReady_SaysWhyNot breaks one part after the other.
func TestReady_SaysWhyNot(t *testing.T) {
	t.Parallel()
	status := func(change func(*engine.Status)) func(*Config) {
		return func(c *Config) {
			s := c.Trading.Engine()
			change(&s)
			c.Trading.Engine = func() engine.Status { return s }
		}
	}
	cases := map[string]struct {
		part, reason string
		breaks       func(*Config)
	}{
		"a server that starts":   {"server", "not serving clients", func(c *Config) { c.Listening = func() bool { return false } }},
		"a store that is closed": {"store", "not open", func(c *Config) { c.Trading.Store = func() (store.Stats, bool) { return store.Stats{}, false } }},
		"a full disk": {"store", "store_full", func(c *Config) {
			c.Trading.Store = func() (store.Stats, bool) { return store.Stats{Failing: "store_full"}, true }
		}},
		"an engine that stopped":     {"engine", "not running", status(func(s *engine.Status) { s.Running = false })},
		"an engine that loads":       {"engine", "2 of 3 prices and series are not loaded", status(func(s *engine.Status) { s.Loading = 2 })},
		"firings that do not commit": {"engine", "4 fired alerts are not committed", status(func(s *engine.Status) { s.Failure, s.Uncommitted = "x", 4 })},
		"a venue without bars":       {"feeds", "no bars from kraken", status(func(s *engine.Status) { s.LaggingVenues = []string{"kraken"} })},
		"an unreconciled account": {"broker", "not reconciled", func(c *Config) {
			c.Trading.Desk = func() (desk.Status, bool) { return desk.Status{Connected: true}, true }
		}},
		"servers that are away": {"nats", "no connection to a NATS server", func(c *Config) {
			c.Cluster.Conn = func() conn.Stats { return conn.Stats{} }
		}},
		"servers that take nothing": {"nats", "have accepted no write for 12s", func(c *Config) {
			c.Cluster.Now = func() Replica { return Replica{Beat: now().Add(-12 * time.Second)} }
		}},
		"a clock that is wrong": {"nats", "differ by more than a minute", func(c *Config) {
			c.Cluster.Now = func() Replica { return Replica{Beat: now(), Late: true} }
		}},
		"a replica that stops": {"replica", "draining", func(c *Config) {
			c.Cluster.Now = func() Replica { return Replica{Beat: now(), Draining: true} }
		}},
		"a venue that is silent": {"broker", "report stream is down", func(c *Config) {
			c.Trading.Desk = func() (desk.Status, bool) { return desk.Status{Reconciled: true}, true }
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := full()
			tc.breaks(&cfg)
			code, text := ask(t, cfg, "/readyz")
			var answer struct {
				Ready bool
				Parts map[string]Part
			}
			if err := json.Unmarshal([]byte(text), &answer); err != nil {
				t.Fatal(err)
			}
			broken := answer.Parts[tc.part]
			if code != http.StatusServiceUnavailable || answer.Ready || broken.Ready || !strings.Contains(broken.Reason, tc.reason) {
				t.Errorf("%d %s", code, text)
			}
			if _, metrics := ask(t, cfg, "/metrics"); !strings.Contains(metrics, `candela_ready{part="`+tc.part+`"} 0`) {
				t.Error("the metric says that it is ready")
			}
			if code, text := ask(t, cfg, "/healthz"); code != http.StatusOK {
				t.Errorf("the process is not well because a part is not ready: %d %s", code, text)
			}
		})
	}
	if code, text := ask(t, full(), "/readyz"); code != http.StatusOK || !strings.HasPrefix(text, `{"ready":true,`) {
		t.Errorf("%d %s", code, text)
	}
	charts := full()
	charts.Trading, charts.Cluster = nil, nil
	if _, text := ask(t, charts, "/readyz"); text != `{"ready":true,"parts":{"server":{"ready":true}}}`+"\n" {
		t.Error(text)
	}
}

// TestMetrics_AreWrittenByTheBook holds the text against the format: each metric once
// and in one piece, buckets ascending, and no value that breaks its line.
func TestMetrics_AreWrittenByTheBook(t *testing.T) {
	t.Parallel()
	cfg := full()
	cfg.Version = "v1\n\"\\"
	_, text := ask(t, cfg, "/metrics")
	if !strings.Contains(text, `candela_build_info{version="v1\n\"\\"} 1`+"\n") {
		t.Error("the version is not escaped")
	}
	seen, current, bound := map[string]bool{}, "", 0.0
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "# HELP "); ok {
			current, _, _ = strings.Cut(rest, " ")
			if seen[current] {
				t.Errorf("%s comes twice", current)
			}
			seen[current] = true
		}
		if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, current) {
			t.Errorf("%q stands under %s", line, current)
		}
		if _, rest, ok := strings.Cut(line, `_bucket`); ok {
			_, rest, _ = strings.Cut(rest, `le="`)
			text, _, _ := strings.Cut(rest, `"`)
			le, err := strconv.ParseFloat(text, 64)
			if err != nil || le <= bound {
				t.Errorf("%q follows %v: %v", line, bound, err)
			}
			if bound = le; math.IsInf(le, 1) {
				bound = 0
			}
		}
	}
	for _, m := range runtimeTable() {
		if runtime.GOOS == "linux" && !seen[m.name] {
			t.Errorf("%s is not reported", m.name)
		}
	}
	if value := regexp.MustCompile(`(?m)^process_resident_memory_bytes ([0-9.e+]+)$`).FindStringSubmatch(text); runtime.GOOS == "linux" {
		if n, err := strconv.ParseFloat(value[1], 64); err != nil || n < 1<<20 || n > 1<<34 {
			t.Errorf("a test uses %v bytes, %v", value, err)
		}
	}
}

func TestMetrics_ShowWhatHoldsTradingDown(t *testing.T) {
	t.Parallel()
	cfg := full()
	state, _ := guard.State{}.Restrict(guard.Restriction{Kind: guard.OwnerHalt})
	cfg.Trading.Desk = func() (desk.Status, bool) { return desk.Status{State: state}, true }
	_, text := ask(t, cfg, "/metrics")
	for _, want := range []string{`candela_trading_state{state="halted"} 1`, `candela_trading_state{state="active"} 0`, `candela_trading_cause{cause="owner_halt"} 1`} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%s is missing", want)
		}
	}
}

func TestHandler_Profiles(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]int{
		"/debug/pprof/heap": 200, "/debug/pprof/goroutine?debug=1": 200, "/debug/pprof/symbol": 200,
		"/debug/pprof/cmdline": 404, "/debug/pprof/": 404, "/": 404, "/mcp": 404,
	} {
		if code, _ := ask(t, full(), path); code != want {
			t.Errorf("%s: %d", path, code)
		}
	}
}

// A page in the owner's browser may have a name of its own lead here.
func TestHandler_AnswersThisMachineAlone(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]int{
		"127.0.0.1:9316": 200, "localhost:9316": 200, "localhost": 200, "[::1]:9316": 200, "127.0.0.2": 200,
		"evil.example:9316": 403, "evil.example": 403, "10.0.0.1:9316": 403, "": 403, "localhost.evil.example": 403,
	} {
		for local, code := range map[bool]int{true: want, false: 200} {
			cfg := full()
			cfg.LocalOnly = local
			handler := Handler(cfg)
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/healthz", nil)
			r.Host = host
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != code {
				t.Errorf("%q, local %v: %d", host, local, w.Code)
			}
		}
	}
}
