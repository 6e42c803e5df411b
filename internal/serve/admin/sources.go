package admin

import (
	"log/slog"
	"time"

	"candela/internal/alerting/engine"
	"candela/internal/alerting/notify"
	"candela/internal/alerting/sink"
	"candela/internal/serve/httpd"
	"candela/internal/serve/mcp"
	"candela/internal/store"
	"candela/internal/store/replica/conn"
	"candela/internal/trading/desk"
	"candela/internal/trading/order"
)

// Config holds the sources of the admin pages. Every function must be safe for concurrent
// use and return immediately, even before its component has started.
type Config struct {
	Version   string
	Log       *slog.Logger
	Now       func() time.Time
	LocalOnly bool // require a loopback Host: see local

	Listening func() bool // serving clients
	Messages  func() mcp.Stats
	HTTP      func() httpd.Stats
	Trading   *Trading // nil without --trade
	Cluster   *Cluster // nil without --nats-url
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
