package config

import (
	"cmp"
	"log/slog"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"candela/internal/kit/ipkind"
	"candela/internal/kit/secret"
	"candela/internal/kit/setting"
	"candela/lib/market"
)

// Config is the checked configuration. Only Load makes one; it
// satisfies every rule of this package and must not be changed.
type Config struct {
	Home string // the state directory, absolute

	MCP   bool // speak MCP on stdin and stdout
	Serve bool // speak MCP over HTTP
	Trade bool // run the trading engine

	MCPRevision       string // the newest revision of MCP that is served
	ClaudeChannel     bool   // wake Claude Code on stdio when an alert fires
	StructuredContent bool   // write JSON results as structured content, too
	Apps              bool   // offer the interactive chart to clients that show apps

	LowPriority bool // run long work on threads of low priority where alerts and orders run

	Toolsets []string // sets of tools besides those that are always listed

	Chart   Chart
	Data    Data
	Trading Trading
	HTTP    HTTP
	OAuth   OAuth
	Owners  Owners
	Sinks   Sinks
	NATS    NATS
	Log     Log
	Values  setting.Values // settings of venues, brokers and sinks

	ShutdownTimeout time.Duration // how long a graceful stop may take

	table    []Setting
	userHome string            // what "~" stands for in a path
	environ  []string          // the environment without settings of candela
	origins  map[string]string // by Setting.Name: the flag, variable, file or reason; absent means default
}

// Chart describes the one chart that is drawn when no mode is asked for.
type Chart struct {
	Symbol     market.Symbol // zero: synthetic sample data
	Interval   market.Interval
	Indicators []string // as typed; the catalogue decides which exist
	Bars       int
	Compare    []market.Symbol // drawn as percent lines
	Width      int
	Height     int
	Theme      string // dark or light
	Scale      int
	LogScale   bool
	Output     string // a path, or "-" for stdout
}

// Data selects the venue of a symbol that names none.
type Data struct {
	CryptoVenue string // for pairs in a crypto currency, such as BTCUSDT
	StockVenue  string // for all others
}

// HTTP describes the listeners of the server.
type HTTP struct {
	Listen         netip.Addr
	Port           int
	BaseURL        string         // no trailing slash; every published URL starts with it, byte for byte
	AdminListen    netip.AddrPort // the zero value means no admin listener
	PublicAdmin    bool           // it may be reached from other machines
	TrustedProxies []netip.Prefix // whose X-Forwarded-For counts, for rate limits only
	AllowedOrigins []string       // browser origins besides the base URL and loopback
	MaxConnections int            // open at once; as many clients are let in at most
	Console        bool           // serve the owner's console at /console
}

// Address returns where the server listens.
func (h HTTP) Address() netip.AddrPort {
	return netip.AddrPortFrom(h.Listen, uint16(h.Port)) //nolint:gosec // the table bounds Port to 1..65535
}

// OAuth describes who may approve a client.
type OAuth struct {
	OwnerPassword     secret.Text // plain text or an argon2id hash; empty: the server makes one up
	OwnerPasswordFile string      // where OwnerPassword was read from, "" when it was not
	AutoApprove       bool        // loopback development only
	RedirectSchemes   []string    // of apps that clients may name besides the known ones
	ClientDocuments   string      // auto, on or off: client ids that are URLs
	PrivateDocuments  bool        // such URLs may lead to private networks
	PersistLogins     bool        // clients stay let in when the server restarts
}

// Environ returns the environment of the process, for programs that it starts, without the variables of candela: they
// may be secrets.
func (c *Config) Environ() []string { return c.environ }

// AcceptsDocuments reports whether client ids may be URLs. Without a decision of the operator
// they may be if this server has a public address, because one without internet access could
// not read the documents, and a client that was offered this way tries no other.
func (c *Config) AcceptsDocuments() bool {
	switch c.OAuth.ClientDocuments {
	case "on":
		return true
	case "off":
		return false
	}
	u, err := url.Parse(c.HTTP.BaseURL)
	if err != nil || u.Scheme != "https" {
		return false
	}
	if addr, err := netip.ParseAddr(u.Hostname()); err == nil {
		return ipkind.Of(addr) == ipkind.Public
	}
	return strings.Contains(strings.TrimSuffix(u.Hostname(), "."), ".") && !hasSuffix(u.Hostname(), ".localhost", ".local", ".internal", ".lan", ".home.arpa", ".test")
}

func hasSuffix(host string, suffixes ...string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(host, s) })
}

// Sinks describes where fired alerts are sent besides the clients of MCP. The settings of
// single sinks are in Values.
type Sinks struct {
	AllowPrivate   bool     // receivers may be in private networks
	Events         []string // what they get: alerts, orders
	Checkpoints    bool     // they also get each signed checkpoint of the audit log
	ApprovalDetail bool     // messages about approvals name symbol, side, value and reasons
}

// Log describes the log on stderr.
type Log struct {
	Level  slog.Level
	Format string // text or json
}

// Mode is what the program was started to do. The values are bits, so that a
// setting can belong to several.
type Mode uint8

// The modes.
const (
	ModeChart Mode = 1 << iota // draw one chart and exit
	ModeMCP                    // MCP over stdio
	ModeServe                  // MCP over HTTP

	everyMode = ModeChart | ModeMCP | ModeServe
)

// String names the mode as a person asks for it.
func (m Mode) String() string {
	switch m {
	case ModeChart:
		return "one chart"
	case ModeMCP:
		return "--mcp"
	case ModeServe:
		return "--serve"
	default:
		return "several modes"
	}
}

// Mode returns the mode the configuration asks for. A Config from Load has
// exactly one.
func (c *Config) Mode() Mode {
	var m Mode
	if c.MCP {
		m |= ModeMCP
	}
	if c.Serve {
		m |= ModeServe
	}
	if m == 0 {
		return ModeChart
	}
	return m
}

// LiveAt reports whether orders go to a live account at a venue.
func (c *Config) LiveAt(venue string) bool {
	return c.Trade && c.Trading.Live && c.Trading.Broker == venue
}

// Effective is one line of the effective configuration.
type Effective struct {
	Name   string // the flag, or the variable where there is no flag
	Value  string // secrets as digests
	Origin string // default, or the flag, variable or file that decided

	Boolean bool // the value is true or false
}

// Effective returns every setting with its value and where that came from, in
// the order of the table.
func (c *Config) Effective() []Effective {
	lines := make([]Effective, 0, len(c.table))
	for _, s := range c.table {
		lines = append(lines, Effective{
			Name:    s.Title(),
			Value:   s.value.text(),
			Origin:  cmp.Or(c.origins[s.Name], "default"),
			Boolean: s.isBool(),
		})
	}
	return lines
}
