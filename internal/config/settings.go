package config

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"candela/internal/kit/setting"
)

// Sources says where a setting may be given.
type Sources uint8

// The sources, weakest first.
const (
	FromFile Sources = 1 << iota
	fromEnv
	FromFlag

	anywhere = FromFile | fromEnv | FromFlag
)

// Setting is one line of the table.
type Setting struct {
	Name    string  // the flag without its dashes; the other names follow from it
	Group   string  // the heading it stands under in --help
	Arg     string  // what stands for the value in --help, "" for a boolean
	Default string  // as a user would write it; only shown when derive is set
	Doc     string  // one line
	Modes   Mode    // where it has an effect
	Sources Sources // where it may be given

	value  value
	derive func() string // computes the default from the settings above it
}

// Flag returns the flag, such as "--base-url".
func (s Setting) Flag() string { return "--" + s.Name }

// Env returns the environment variable, such as "CANDELA_BASE_URL".
func (s Setting) Env() string { return envName(s.Name) }

func envName(name string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// Key returns the key in candela.toml, such as "base_url".
func (s Setting) Key() string { return strings.ReplaceAll(s.Name, "-", "_") }

// Title returns the flag, or the variable of a setting that has no flag.
func (s Setting) Title() string {
	if s.Sources&FromFlag == 0 {
		return s.Env()
	}
	return s.Flag()
}

// isBool reports whether the flag may stand without a value.
func (s Setting) isBool() bool { return s.Arg == "" }

const anyService = ModeMCP | ModeServe

// Settings returns the table. The order is the order of --help, and a derived
// default may use only settings above it, and those that are not derived.
func Settings(p Parts) []Setting { return new(Config).settings(p) }

// settings returns the table with the fields of c as its values.
func (c *Config) settings(p Parts) []Setting {
	return slices.Concat(c.mainSettings(p), c.venueSettings(p), c.serverSettings(), c.ownerSettings(p), c.tradeSettings(p), c.sinkSettings(p), c.natsSettings(), c.runSettings())
}

// section completes the settings under one heading of --help with what they share. A
// secret comes from the environment alone, and a boolean is false by default.
func section(heading string, modes Mode, settings []Setting) []Setting {
	for i := range settings {
		s := &settings[i]
		s.Group, s.Modes = heading, cmp.Or(s.Modes, modes)
		if s.value.Secret {
			s.Sources = fromEnv
		}
		s.Sources = cmp.Or(s.Sources, anywhere)
		if s.isBool() {
			s.Default = cmp.Or(s.Default, "false")
		}
	}
	return settings
}

// mainSettings are the lines of the table about modes and the one chart.
func (c *Config) mainSettings(p Parts) []Setting {
	modes := section("Mode", everyMode, []Setting{
		{Name: "mcp", value: boolField(&c.MCP), Doc: "speak MCP on stdin and stdout"},
		{Name: "serve", value: boolField(&c.Serve), Doc: "speak MCP over HTTP, with OAuth"},
		{Name: "trade", Modes: anyService, value: boolField(&c.Trade), Doc: "run the trading engine; without --mcp it means --serve --trade"},
		{
			Name: "structured-content", Modes: anyService, value: boolField(&c.StructuredContent),
			Doc: "also write JSON results as structuredContent and list outputSchema; doubles them",
		},
		{
			Name: "apps", Default: "true", Modes: anyService, value: boolField(&c.Apps),
			Doc: "offer the interactive chart to clients that show MCP Apps; see docs/clients.md",
		},
		{
			Name: "low-priority", Default: "true", Modes: anyService, value: boolField(&c.LowPriority),
			Doc: "with --trade, run back-tests and scans on threads of low priority; see docs/backtests.md",
		},
		{
			Name: "mcp-revision", Arg: "REVISION", Default: "2026-07-28", Modes: anyService, value: textField(&c.MCPRevision, setting.Choice("2025-03-26", "2026-07-28")),
			Doc:    "newest revision of MCP; see docs/clients.md",
			derive: c.newestRevision,
		},
		{
			Name: "toolsets", Arg: "LIST", Modes: anyService, value: toolsetsField(&c.Toolsets, p.Toolsets),
			Doc: "more tools: " + alternatives(append(availableSets(p.Toolsets), "all")) + "; none when not given",
		},
	})
	chart := section("One chart (neither --mcp nor --serve)", ModeChart, []Setting{
		{
			Name: "symbol", Arg: "SYMBOL", value: symbolField(&c.Chart.Symbol),
			Doc: "what to draw, such as BTCUSDT, AAPL or csv:AAPL; none draws synthetic sample data",
		},
		{Name: "interval", Arg: "INTERVAL", Default: "4h", value: intervalField(&c.Chart.Interval), Doc: "length of a bar, such as 15m, 4h, 2d or 1M"},
		{
			Name: "indicators", Arg: "LIST", Default: "ema_stack,cipher_b,macd", value: namesField(&c.Chart.Indicators),
			Doc: "names separated by commas",
		},
		{Name: "bars", Arg: "N", Default: "200", value: intField(&c.Chart.Bars, 1, 5000), Doc: "how many bars to draw, 1 to 5000"},
		{Name: "compare", Arg: "SYMBOLS", value: symbolsField(&c.Chart.Compare), Doc: "other symbols to draw as percent lines, up to 4, separated by commas"},
		{Name: "width", Arg: "PIXELS", Default: "1440", value: intField(&c.Chart.Width, 200, 4096), Doc: "width of the picture, 200 to 4096"},
		{Name: "height", Arg: "PIXELS", Default: "810", value: intField(&c.Chart.Height, 200, 4096), Doc: "height of the picture, 200 to 4096"},
		{Name: "theme", Arg: "THEME", Default: "dark", value: textField(&c.Chart.Theme, setting.Choice("dark", "light")), Doc: "dark or light"},
		{Name: "scale", Arg: "N", Default: "1", value: intField(&c.Chart.Scale, 1, 3), Doc: "pixels per point, 1 to 3, for dense screens"},
		{Name: "log-scale", value: boolField(&c.Chart.LogScale), Doc: "draw prices on a logarithmic axis"},
		{Name: "output", Arg: "FILE", Default: "chart.png", value: c.givenPathField(&c.Chart.Output), Doc: "where the PNG goes; - is stdout"},
	})
	return append(modes, chart...)
}

// serverSettings are the lines of the table about the HTTP server and logins.
func (c *Config) serverSettings() []Setting {
	server := section("HTTP server (--serve)", ModeServe, []Setting{
		{Name: "port", Arg: "N", Default: "9315", value: intField(&c.HTTP.Port, 1, 65535), Doc: "port to listen on"},
		{
			Name: "listen", Arg: "ADDRESS", Default: "127.0.0.1", value: addrField(&c.HTTP.Listen),
			Doc: "IP address to listen on; one that is not loopback needs an https base URL",
		},
		{
			Name: "base-url", Arg: "URL", Default: "http://localhost:<port>", value: baseURLField(&c.HTTP.BaseURL),
			Doc:    "what clients call the server; http only on loopback",
			derive: func() string { return "http://localhost:" + strconv.Itoa(c.HTTP.Port) },
		},
		{
			Name: "admin-listen", Arg: "ADDRESS:PORT", value: addrPortField(&c.HTTP.AdminListen),
			Doc: "second listener, for health, metrics and profiles, without login; off when not given",
		},
		{Name: "allow-public-admin", value: boolField(&c.HTTP.PublicAdmin), Doc: "let that listener have an address that other machines reach"},
		{
			Name: "trusted-proxies", Arg: "LIST", value: prefixesField(&c.HTTP.TrustedProxies),
			Doc: "addresses or prefixes whose X-Forwarded-For counts for rate limits",
		},
		{
			Name: "allowed-origins", Arg: "LIST", value: originsField(&c.HTTP.AllowedOrigins),
			Doc: "browser origins that may call /mcp besides the base URL and loopback",
		},
		{
			Name: "max-connections", Arg: "N", Default: "1024", value: intField(&c.HTTP.MaxConnections, 64, 20_000),
			Doc: "connections at once and clients let in, 64 to 20000, about 35 KB each",
		},
		{Name: "console", Default: "true", value: boolField(&c.HTTP.Console), Doc: "serve the owner's console at /console; false turns it off"},
	})
	oauth := section("Authorization (--serve)", ModeServe, []Setting{
		{
			Name: "owner-password-file", Arg: "FILE", value: c.pathField(&c.OAuth.OwnerPasswordFile),
			Doc: "file with the passphrase that approves clients, plain or as an argon2id hash",
		},
		{
			Name: "owner-password", Arg: "TEXT", value: secretField(&c.OAuth.OwnerPassword),
			Doc: "the passphrase itself; with neither, one is made up and printed at start",
		},
		{
			Name: "oauth-auto-approve", value: boolField(&c.OAuth.AutoApprove),
			Doc: "approve every client; refused unless listener and base URL are loopback",
		},
		{
			Name: "persist-logins", value: boolField(&c.OAuth.PersistLogins),
			Doc: "keep approved clients across restarts, in the state directory; needs a passphrase",
		},
		{
			Name: "cimd", Arg: "WHEN", Default: "auto", value: textField(&c.OAuth.ClientDocuments, setting.Choice("auto", "on", "off")),
			Doc: "client ids that are URLs: auto, on or off; auto: with a public https base URL",
		},
		{
			Name: "cimd-allow-private", value: boolField(&c.OAuth.PrivateDocuments),
			Doc: "read the documents at such URLs from private networks, too; for tests",
		},
		{
			Name: "redirect-schemes", Arg: "LIST", value: schemesField(&c.OAuth.RedirectSchemes),
			Doc: "schemes of apps that clients may send the browser back to, besides those known",
		},
	})
	return append(server, oauth...)
}

// runSettings are the last lines of the table.
func (c *Config) runSettings() []Setting {
	return section("State and logs", everyMode, []Setting{
		{
			Name: "home", Arg: "FOLDER", Default: "~/.candela", Sources: FromFlag | fromEnv, value: c.homeField(&c.Home),
			Doc:    "state directory; candela.toml is read from it",
			derive: func() string { return "~/.candela" },
		},
		{Name: "log-level", Arg: "LEVEL", Default: "info", value: levelField(&c.Log.Level), Doc: "debug, info, warn or error"},
		{
			Name: "log-format", Arg: "FORMAT", Default: "text", value: textField(&c.Log.Format, setting.Choice("text", "json")),
			Doc: "text or json; the log goes to stderr",
		},
		{
			Name: "shutdown-timeout", Arg: "DURATION", Default: "10s", Modes: anyService, value: durationField(&c.ShutdownTimeout),
			Doc: "how long a graceful stop may take, 1s to 5m",
		},
	})
}

// WriteHelp writes every setting with its flag, variable and default.
func WriteHelp(w io.Writer, p Parts) error {
	group := ""
	for _, s := range Settings(p) {
		if s.Group != group {
			group = s.Group
			if _, err := fmt.Fprintf(w, "\n%s:\n", group); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintf(w, "  %s\n        %s (%s)\n", s.usage(), s.Doc, s.facts()); err != nil {
			return err
		}
	}
	return nil
}

func (s Setting) usage() string {
	if s.Sources&FromFlag == 0 {
		return s.Env() + "=" + s.Arg
	}
	if s.isBool() {
		return s.Flag()
	}
	return s.Flag() + " " + s.Arg
}

func (s Setting) facts() string {
	var facts []string
	if s.Sources&FromFlag == 0 {
		facts = append(facts, "environment only")
	} else {
		facts = append(facts, s.Env())
	}
	if s.Default != "" && !s.isBool() {
		facts = append(facts, "default "+s.Default)
	}
	return strings.Join(facts, ", ")
}
