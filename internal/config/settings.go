package config

import (
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
	FromEnv
	FromFlag

	anywhere = FromFile | FromEnv | FromFlag
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

	bind   func(*Config) value
	derive func(*Config) string // computes the default from the settings above it
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

// The headings of --help.
const (
	groupMode  = "Mode"
	groupChart = "One chart (neither --mcp nor --serve)"
	groupData  = "Market data"
	groupHTTP  = "HTTP server (--serve)"
	groupOAuth = "Authorization (--serve)"
	groupTrade = "Orders (--trade)"
	groupSink  = "Alerts for people (--trade)"
	groupNATS  = "Many replicas (--serve)"
	groupRun   = "State and logs"
)

const anyService = ModeMCP | ModeServe

// Settings returns the table. The order is the order of --help, and a derived
// default may use only settings above it.
func Settings(p Parts) []Setting {
	return slices.Concat(mainSettings(), p.venueSettings(), serverSettings(), tradeSettings(p), p.brokerSettings(), sinkSettings(), natsSettings(), runSettings())
}

// mainSettings are the lines of the table about modes and the one chart.
func mainSettings() []Setting {
	return []Setting{
		{
			Name: "mcp", Group: groupMode, Default: "false", Modes: everyMode, Sources: anywhere,
			Doc:  "speak MCP on stdin and stdout",
			bind: func(c *Config) value { return boolValue{&c.MCP} },
		},
		{
			Name: "serve", Group: groupMode, Default: "false", Modes: everyMode, Sources: anywhere,
			Doc:  "speak MCP over HTTP, with OAuth",
			bind: func(c *Config) value { return boolValue{&c.Serve} },
		},
		{
			Name: "trade", Group: groupMode, Default: "false", Modes: anyService, Sources: anywhere,
			Doc:  "run the trading engine; without --mcp it means --serve --trade",
			bind: func(c *Config) value { return boolValue{&c.Trade} },
		},

		{
			Name: "symbol", Group: groupChart, Arg: "SYMBOL", Modes: ModeChart, Sources: anywhere,
			Doc:  "what to draw, such as BTCUSDT, AAPL or csv:AAPL; none draws synthetic sample data",
			bind: func(c *Config) value { return symbolValue{&c.Chart.Symbol} },
		},
		{
			Name: "interval", Group: groupChart, Arg: "INTERVAL", Default: "4h", Modes: ModeChart, Sources: anywhere,
			Doc:  "length of a bar, 1m to 1M",
			bind: func(c *Config) value { return intervalValue{&c.Chart.Interval} },
		},
		{
			Name: "indicators", Group: groupChart, Arg: "LIST", Default: "ema_stack,cipher_b,macd", Modes: ModeChart, Sources: anywhere,
			Doc:  "names separated by commas",
			bind: func(c *Config) value { return namesValue{&c.Chart.Indicators} },
		},
		{
			Name: "bars", Group: groupChart, Arg: "N", Default: "200", Modes: ModeChart, Sources: anywhere,
			Doc:  "how many bars to draw, 1 to 5000",
			bind: func(c *Config) value { return intValue{&c.Chart.Bars, 1, 5000} },
		},
		{
			Name: "width", Group: groupChart, Arg: "PIXELS", Default: "1440", Modes: ModeChart, Sources: anywhere,
			Doc:  "width of the picture, 200 to 4096",
			bind: func(c *Config) value { return intValue{&c.Chart.Width, 200, 4096} },
		},
		{
			Name: "height", Group: groupChart, Arg: "PIXELS", Default: "810", Modes: ModeChart, Sources: anywhere,
			Doc:  "height of the picture, 200 to 4096",
			bind: func(c *Config) value { return intValue{&c.Chart.Height, 200, 4096} },
		},
		{
			Name: "theme", Group: groupChart, Arg: "THEME", Default: "dark", Modes: ModeChart, Sources: anywhere,
			Doc:  "dark or light",
			bind: func(c *Config) value { return textValue{&c.Chart.Theme, setting.Choice("dark", "light")} },
		},
		{
			Name: "scale", Group: groupChart, Arg: "N", Default: "1", Modes: ModeChart, Sources: anywhere,
			Doc:  "pixels per point, 1 to 3, for dense screens",
			bind: func(c *Config) value { return intValue{&c.Chart.Scale, 1, 3} },
		},
		{
			Name: "log-scale", Group: groupChart, Default: "false", Modes: ModeChart, Sources: anywhere,
			Doc:  "draw prices on a logarithmic axis",
			bind: func(c *Config) value { return boolValue{&c.Chart.LogScale} },
		},
		{
			Name: "output", Group: groupChart, Arg: "FILE", Default: "chart.png", Modes: ModeChart, Sources: anywhere,
			Doc:  "where the PNG goes; - is stdout",
			bind: func(c *Config) value { return pathValue{&c.Chart.Output, c.userHome, required} },
		},
	}
}

// serverSettings are the lines of the table about the HTTP server and logins.
func serverSettings() []Setting {
	return []Setting{
		{
			Name: "port", Group: groupHTTP, Arg: "N", Default: "9315", Modes: ModeServe, Sources: anywhere,
			Doc:  "port to listen on",
			bind: func(c *Config) value { return intValue{&c.HTTP.Port, 1, 65535} },
		},
		{
			Name: "listen", Group: groupHTTP, Arg: "ADDRESS", Default: "127.0.0.1", Modes: ModeServe, Sources: anywhere,
			Doc:  "IP address to listen on; one that is not loopback needs an https base URL",
			bind: func(c *Config) value { return addrValue{&c.HTTP.Listen} },
		},
		{
			Name: "base-url", Group: groupHTTP, Arg: "URL", Default: "http://localhost:<port>", Modes: ModeServe, Sources: anywhere,
			Doc:    "what clients call the server; http only on loopback",
			bind:   func(c *Config) value { return baseURLValue{&c.HTTP.BaseURL} },
			derive: func(c *Config) string { return "http://localhost:" + strconv.Itoa(c.HTTP.Port) },
		},
		{
			Name: "admin-listen", Group: groupHTTP, Arg: "ADDRESS:PORT", Modes: ModeServe, Sources: anywhere,
			Doc:  "second listener, for health, metrics and profiles, without login; off when not given",
			bind: func(c *Config) value { return addrPortValue{&c.HTTP.AdminListen} },
		},
		{
			Name: "allow-public-admin", Group: groupHTTP, Default: "false", Modes: ModeServe, Sources: anywhere,
			Doc:  "let that listener have an address that other machines reach",
			bind: func(c *Config) value { return boolValue{&c.HTTP.PublicAdmin} },
		},
		{
			Name: "trusted-proxies", Group: groupHTTP, Arg: "LIST", Modes: ModeServe, Sources: anywhere,
			Doc:  "addresses or prefixes whose X-Forwarded-For counts for rate limits",
			bind: func(c *Config) value { return prefixesValue{&c.HTTP.TrustedProxies} },
		},
		{
			Name: "allowed-origins", Group: groupHTTP, Arg: "LIST", Modes: ModeServe, Sources: anywhere,
			Doc:  "browser origins that may call /mcp besides the base URL and loopback",
			bind: func(c *Config) value { return originsValue{&c.HTTP.AllowedOrigins} },
		},
		{
			Name: "max-connections", Group: groupHTTP, Arg: "N", Default: "1024", Modes: ModeServe, Sources: anywhere,
			Doc:  "connections at once and clients let in, 64 to 20000, about 35 KB each",
			bind: func(c *Config) value { return intValue{&c.HTTP.MaxConnections, 64, 20_000} },
		},

		{
			Name: "owner-password-file", Group: groupOAuth, Arg: "FILE", Modes: ModeServe, Sources: anywhere,
			Doc:  "file with the passphrase that approves clients, plain or as an argon2id hash",
			bind: func(c *Config) value { return pathValue{&c.OAuth.OwnerPasswordFile, c.userHome, optional} },
		},
		{
			Name: "owner-password", Group: groupOAuth, Arg: "TEXT", Modes: ModeServe, Sources: FromEnv,
			Doc:  "the passphrase itself; with neither, one is made up and printed at start",
			bind: func(c *Config) value { return secretValue{&c.OAuth.OwnerPassword} },
		},
		{
			Name: "oauth-auto-approve", Group: groupOAuth, Default: "false", Modes: ModeServe, Sources: anywhere,
			Doc:  "approve every client; refused unless listener and base URL are loopback",
			bind: func(c *Config) value { return boolValue{&c.OAuth.AutoApprove} },
		},
		{
			Name: "redirect-schemes", Group: groupOAuth, Arg: "LIST", Modes: ModeServe, Sources: anywhere,
			Doc:  "schemes of apps that clients may send the browser back to, besides those known",
			bind: func(c *Config) value { return schemesValue{&c.OAuth.RedirectSchemes} },
		},
	}
}

// sinkSettings are the lines of the table about who else hears of alerts.
func sinkSettings() []Setting {
	return []Setting{
		{
			Name: "webhook-url", Group: groupSink, Arg: "URL", Modes: anyService, Sources: anywhere,
			Doc:  "where every fired alert is sent as signed JSON; https, or http on this machine",
			bind: func(c *Config) value { return endpointValue{&c.Sinks.Webhook.URL} },
		},
		{
			Name: "webhook-secret-file", Group: groupSink, Arg: "FILE", Modes: anyService, Sources: anywhere,
			Doc:  "file of mode 0600 with the secret that signs, at least 16 characters",
			bind: func(c *Config) value { return pathValue{&c.Sinks.Webhook.SecretFile, c.userHome, optional} },
		},
		{
			Name: "webhook-secret", Group: groupSink, Arg: "TEXT", Modes: anyService, Sources: FromEnv,
			Doc:  "the secret itself",
			bind: func(c *Config) value { return secretValue{&c.Sinks.Webhook.Secret} },
		},
		{
			Name: "ntfy-url", Group: groupSink, Arg: "URL", Modes: anyService, Sources: anywhere,
			Doc:  "topic of an ntfy server that gets a line of text for every fired alert",
			bind: func(c *Config) value { return endpointValue{&c.Sinks.Ntfy.URL} },
		},
		{
			Name: "ntfy-token-file", Group: groupSink, Arg: "FILE", Modes: anyService, Sources: anywhere,
			Doc:  "file of mode 0600 with the access token of that server, where it wants one",
			bind: func(c *Config) value { return pathValue{&c.Sinks.Ntfy.TokenFile, c.userHome, optional} },
		},
		{
			Name: "ntfy-token", Group: groupSink, Arg: "TEXT", Modes: anyService, Sources: FromEnv,
			Doc:  "the token itself",
			bind: func(c *Config) value { return secretValue{&c.Sinks.Ntfy.Token} },
		},
		{
			Name: "allow-private-sinks", Group: groupSink, Default: "false", Modes: anyService, Sources: anywhere,
			Doc:  "let both be in private networks, also over http",
			bind: func(c *Config) value { return boolValue{&c.Sinks.AllowPrivate} },
		},
	}
}

// runSettings are the last lines of the table.
func runSettings() []Setting {
	return []Setting{
		{
			Name: "home", Group: groupRun, Arg: "FOLDER", Default: "~/.candela", Modes: everyMode, Sources: FromFlag | FromEnv,
			Doc:    "state directory; candela.toml is read from it",
			bind:   func(c *Config) value { return homeValue{pathValue{&c.Home, c.userHome, required}} },
			derive: func(*Config) string { return "~/.candela" },
		},
		{
			Name: "log-level", Group: groupRun, Arg: "LEVEL", Default: "info", Modes: everyMode, Sources: anywhere,
			Doc:  "debug, info, warn or error",
			bind: func(c *Config) value { return levelValue{&c.Log.Level} },
		},
		{
			Name: "log-format", Group: groupRun, Arg: "FORMAT", Default: "text", Modes: everyMode, Sources: anywhere,
			Doc:  "text or json; the log goes to stderr",
			bind: func(c *Config) value { return textValue{&c.Log.Format, setting.Choice("text", "json")} },
		},
		{
			Name: "shutdown-timeout", Group: groupRun, Arg: "DURATION", Default: "10s", Modes: anyService, Sources: anywhere,
			Doc:  "how long a graceful stop may take, 1s to 5m",
			bind: func(c *Config) value { return durationValue{&c.ShutdownTimeout} },
		},
	}
}
