package admin

import (
	"log/slog"
	"time"

	"candela/internal/alerting/engine"
	"candela/internal/alerting/notify"
	"candela/internal/alerting/sink"
	"candela/internal/serve/httpd"
	"candela/internal/serve/mcp"
	"candela/internal/store/ledger"
	"candela/internal/store/replica/conn"
	"candela/internal/trading/desk"
	"candela/internal/trading/order"
)

// Config is what is told, and to whom. Every function must be safe for concurrent
// use and return at once, also before the part it reads has started.
type Config struct {
	Version   string
	Log       *slog.Logger
	Now       func() time.Time
	LocalOnly bool // requests must name this machine: see local

	Listening func() bool // clients are answered
	Messages  func() mcp.Stats
	HTTP      func() httpd.Stats
	Trading   *Trading // nil without --trade
	Cluster   *Cluster // nil without --nats-url
}

// Trading is what there is to tell under --trade. All but Store is required.
type Trading struct {
	Store         func() (stats ledger.Stats, open bool) // nil where the NATS servers are the store
	Engine        func() engine.Status
	Notifications func() notify.Stats
	Sinks         func() []sink.Status
	Desk          func() (s desk.Status, here bool) // here is false where another replica trades
	Orders        func() map[order.Status]int       // that are open
}

// Cluster is what there is to tell of a replica among others. All of it is required.
type Cluster struct {
	Conn func() conn.Stats
	Now  func() Replica
}

// Replica is how a replica stands.
type Replica struct {
	Members  int       // replicas that take part, as this one sees it
	Late     bool      // the clock here and those of the servers differ by more than a minute
	Beat     time.Time // when the servers took a heartbeat last; zero where none is sent
	Draining bool      // it hands over what it owns
	Owned    int       // instruments that it follows for all
	Lag      uint64    // messages about alerts that it has not read
}
