package admin

import (
	"log/slog"
	"time"

	"candela/internal/desk"
	"candela/internal/engine"
	"candela/internal/httpd"
	"candela/internal/ledger"
	"candela/internal/mcp"
	"candela/internal/notify"
	"candela/internal/order"
	"candela/internal/sink"
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
}

// Trading is what there is to tell under --trade. All of it is required.
type Trading struct {
	Store         func() (stats ledger.Stats, open bool)
	Engine        func() engine.Status
	Notifications func() notify.Stats
	Sinks         func() []sink.Status
	Desk          func() desk.Status
	Orders        func() map[order.Status]int // that are open
}
