// Package admin serves health, readiness, metrics and profiles to an operator. It reads
// the state of components only on request, and it is the only package that knows the
// Prometheus format. It changes nothing, shows no secrets, and has no label whose values
// a client, a symbol or an order could multiply.
package admin

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"

	accessowners "candela/internal/access/owners"
	"candela/internal/access/plan"
	"candela/internal/alerting/engine"
	"candela/internal/alerting/notify"
	"candela/internal/alerting/sink"
	"candela/internal/kit/loopback"
	"candela/internal/kit/principal"
	"candela/internal/serve/httpd"
	"candela/internal/serve/mcp"
	"candela/internal/store"
	"candela/internal/store/replica/conn"
	"candela/internal/trading/desk"
	"candela/internal/trading/order"
)

// Timeouts of a request. A profile is sent after it was taken, so a response may be slow.
const (
	ReadTimeout  = 10 * time.Second
	WriteTimeout = 3 * time.Minute
)

// maxReadings is the number of concurrent readers of the metrics.
const maxReadings = 4

// Handler returns every path of the admin listener.
func Handler(cfg Config) http.Handler {
	mux := http.NewServeMux()
	began, turns := cfg.Now(), make(chan struct{}, maxReadings)
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		select {
		case turns <- struct{}{}:
			defer func() { <-turns }()
		default:
			write(w, http.StatusServiceUnavailable, map[string]string{"error": "too many concurrent readers of the metrics"})
			return
		}
		w.Header().Set("Content-Type", textType)
		_, _ = w.Write(cfg.collect(began)) // the client may have disconnected
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, map[string]string{"status": "ok", "version": cfg.Version})
	})
	mux.HandleFunc("GET /readyz", cfg.ready)
	// Not pprof.Index: it would also show the command line, which may contain a webhook
	// address with a key.
	for _, name := range []string{"allocs", "block", "goroutine", "heap", "mutex", "threadcreate"} {
		mux.Handle("GET /debug/pprof/"+name, pprof.Handler(name))
	}
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	if cfg.LocalOnly {
		return local(mux)
	}
	return mux
}

// ready responds with 200 if every part is ready and with 503 otherwise.
func (c *Config) ready(w http.ResponseWriter, _ *http.Request) {
	answer := struct {
		Ready bool            `json:"ready"`
		Parts map[string]Part `json:"parts"`
	}{true, c.parts()}
	for _, p := range answer.Parts {
		answer.Ready = answer.Ready && p.Ready
	}
	status := http.StatusOK
	if !answer.Ready {
		status = http.StatusServiceUnavailable
	}
	write(w, status, answer)
}

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may have disconnected
}

// local refuses requests whose Host is not loopback: otherwise a web page could read the
// listener by DNS rebinding.
func local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if !loopback.Host(host) {
			write(w, http.StatusForbidden, map[string]string{"error": "forbidden"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Part is the readiness of one part of the program.
type Part struct {
	Ready  bool   `json:"ready"`
	Reason string `json:"reason,omitempty"` // if not ready
}

// parts returns the readiness of each part.
func (c *Config) parts() map[string]Part {
	all := map[string]Part{"server": because(c.Listening(), "not serving clients: the program is starting or stopping")}
	if c.Cluster != nil {
		all["nats"], all["replica"] = c.nats(), because(!c.Cluster.Now().Draining, "the replica is draining")
	}
	if c.Trading != nil {
		c.trading(all)
	}
	return all
}

// deaf is how long the NATS servers may accept no heartbeat. The election of a new leader
// takes up to eight seconds.
const deaf = 10 * time.Second

// nats is ready while the servers respond and accept writes.
func (c *Config) nats() Part {
	now := c.Cluster.Now()
	if !c.Cluster.Conn().Connected {
		return because(false, "no connection to a NATS server")
	}
	if now.Late {
		return because(false, "the clocks of this machine and the NATS servers differ by more than a minute: synchronise them with NTP")
	}
	silent := c.Now().Sub(now.Beat)
	return because(now.Beat.IsZero() || silent < deaf, fmt.Sprintf("the NATS servers have accepted no write for %v", silent.Round(time.Second)))
}

func (c *Config) trading(all map[string]Part) {
	t := c.Trading
	if t.Store != nil {
		switch stats, open := t.Store(); {
		case !open:
			all["store"] = because(false, "the store is not open")
		default:
			all["store"] = because(stats.Failing == "", "the last commit failed: "+stats.Failing)
		}
	}
	e := t.Engine()
	switch {
	case !e.Running:
		all["engine"] = because(false, "the engine is not running")
	case e.Failure != "":
		all["engine"] = because(false, fmt.Sprintf("%d fired alerts are not committed", e.Uncommitted))
	default:
		all["engine"] = because(e.Loading == 0, fmt.Sprintf("%d of %d prices and series are not loaded; their alerts are not evaluated", e.Loading, e.Prices+e.Series))
	}
	all["feeds"] = because(len(e.LaggingVenues) == 0, "no bars from "+strings.Join(e.LaggingVenues, ", "))
	d, here := t.Desk()
	switch {
	case !here: // another replica reports it
	case !d.Reconciled:
		all["broker"] = because(false, "the account is not reconciled with the venue since the start; orders are denied")
	default:
		all["broker"] = because(d.Connected, "the venue's report stream is down")
	}
}

func because(ready bool, reason string) Part {
	if ready {
		reason = ""
	}
	return Part{ready, reason}
}

// Config holds the sources of the admin pages. Every function must be safe for concurrent
// use and return immediately, even before its component has started.
type Config struct {
	Version   string
	Now       func() time.Time
	LocalOnly bool // require a loopback Host: see local

	Listening func() bool // serving clients
	Messages  func() mcp.Stats
	HTTP      func() httpd.Stats
	Trading   *Trading                 // nil without --trade
	Cluster   *Cluster                 // nil without --nats-url
	SignIn    func() bool              // the identity provider answers; nil for one owner
	SignIns   func() map[string]uint64 // by outcome; set with SignIn
	Owners    func() Owners            // nil for one owner, and without --trade
}

// Owners is what there is to say about many owners.
type Owners struct {
	Standings map[principal.Owner]accessowners.Standing // of those who are not active on the default plan
	Used      int                                       // owners of this hour
	Refused   map[plan.Refusal]uint64
}

// Trading holds the sources with --trade. All but Store are required.
type Trading struct {
	Store         func() (stats store.Stats, open bool) // nil if NATS is the store
	Engine        func() engine.Status
	Notifications func() notify.Stats
	Sinks         func() []sink.Status
	Desk          func() (s desk.Status, here bool) // here is false if another replica trades
	Orders        func() map[order.Status]int       // open ones
}

// Cluster holds the sources with --nats-url. All are required.
type Cluster struct {
	Conn func() conn.Stats
	Now  func() Replica
}

// Replica is the state of a replica.
type Replica struct {
	Members  int       // replicas that take part, as this one sees it
	Late     bool      // the clock here and those of the servers differ by more than a minute
	Beat     time.Time // when the servers took a heartbeat last; zero where none is sent
	Draining bool      // it hands over what it owns
	Owned    int       // instruments that it follows for all
	Lag      uint64    // messages about alerts that it has not read
}
