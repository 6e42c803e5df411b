package config

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"candela/internal/kit/secret"

	"github.com/shopspring/decimal"
)

// Trading describes where orders go under --trade.
type Trading struct {
	Broker string // paper, binance or alpaca
	Live   bool   // with money; false is paper, a testnet or a paper account
	Policy string // path of the file that the guard goes by

	Cash    map[string]decimal.Decimal // by currency: what the paper account begins with
	Binance BinanceAccount             // Alpaca's is Data.Alpaca
}

// BinanceAccount is an account at Binance.
type BinanceAccount struct {
	Network        string      // testnet, demo or live
	Key, Secret    secret.Text // both or neither
	KeyFile        string      // where they were read from, "" when they were not
	URL, StreamURL string      // empty: those of the network
}

// tradeSettings are the lines of the table about orders.
func tradeSettings() []Setting {
	return []Setting{
		{
			Name: "broker", Group: groupTrade, Arg: "BROKER", Default: "paper", Modes: anyService, Sources: anywhere,
			Doc:  "where orders go: paper (no venue at all), binance or alpaca",
			bind: func(c *Config) value { return choiceValue{&c.Trading.Broker, []string{"paper", "binance", "alpaca"}} },
		},
		{
			Name: "live", Group: groupTrade, Default: "false", Modes: anyService, Sources: anywhere,
			Doc:  "trade with money; needs --broker, keys, and allowed_symbols in the policy",
			bind: func(c *Config) value { return boolValue{&c.Trading.Live} },
		},
		{
			Name: "policy", Group: groupTrade, Arg: "FILE", Default: "<home>/policy.toml", Modes: anyService, Sources: anywhere,
			Doc:    "what orders must obey; candela policy check explains it",
			bind:   func(c *Config) value { return pathValue{&c.Trading.Policy, c.userHome, required} },
			derive: func(c *Config) string { return filepath.Join(c.Home, "policy.toml") },
		},
		{
			Name: "paper-cash", Group: groupTrade, Arg: "LIST", Default: "USD=100000,USDC=100000,USDT=100000", Modes: anyService, Sources: anywhere,
			Doc:  "what the paper account begins with, by currency",
			bind: func(c *Config) value { return cashValue{&c.Trading.Cash} },
		},
		{
			Name: "binance-network", Group: groupTrade, Arg: "NETWORK", Default: "testnet", Modes: anyService, Sources: anywhere,
			Doc: "where at Binance: testnet or demo; live alone with --live",
			bind: func(c *Config) value {
				return choiceValue{&c.Trading.Binance.Network, []string{"testnet", "demo", "live"}}
			},
			derive: func(c *Config) string {
				if c.Trading.Live {
					return "live"
				}
				return "testnet"
			},
		},
		{
			Name: "binance-key-file", Group: groupTrade, Arg: "FILE", Modes: anyService, Sources: anywhere,
			Doc:  "file of mode 0600 with the API key in a line, then the secret or an Ed25519 key",
			bind: func(c *Config) value { return pathValue{&c.Trading.Binance.KeyFile, c.userHome, optional} },
		},
		{
			Name: "binance-api-key", Group: groupTrade, Arg: "TEXT", Modes: anyService, Sources: FromEnv,
			Doc:  "the API key itself",
			bind: func(c *Config) value { return secretValue{&c.Trading.Binance.Key} },
		},
		{
			Name: "binance-api-secret", Group: groupTrade, Arg: "TEXT", Modes: anyService, Sources: FromEnv,
			Doc:  "the secret that belongs to the API key",
			bind: func(c *Config) value { return secretValue{&c.Trading.Binance.Secret} },
		},
		{
			Name: "binance-trade-url", Group: groupTrade, Arg: "URL", Modes: anyService, Sources: anywhere,
			Doc:  "where Binance takes orders; by --binance-network when not given",
			bind: func(c *Config) value { return venueURLValue{&c.Trading.Binance.URL, "http"} },
		},
		{
			Name: "binance-trade-stream-url", Group: groupTrade, Arg: "URL", Modes: anyService, Sources: anywhere,
			Doc:  "where Binance reports on orders; follows --binance-trade-url when not given",
			bind: func(c *Config) value { return venueURLValue{&c.Trading.Binance.StreamURL, "ws"} },
		},
	}
}

// tradeRules are the locks before trading with money, and what belongs together.
func tradeRules() []rule {
	needsTrade := func(name string) rule {
		return rule{anyService, []string{"trade", name}, func(c *Config) error { return flagNeedsTrade(c, name) }}
	}
	return []rule{
		needsTrade("broker"), needsTrade("live"), needsTrade("policy"), needsTrade("paper-cash"),
		{anyService, []string{"trade", "live", "broker"}, liveNeedsBroker},
		{anyService, []string{"live", "binance-network"}, networkIsLive},
		{anyService, []string{"binance-key-file", "binance-api-key", "binance-api-secret"}, oneBinanceKey},
		{anyService, []string{"trade", "broker", "binance-key-file", "binance-api-key", "alpaca-key-file", "alpaca-key-id"}, brokerNeedsKeys},
	}
}

// flagNeedsTrade refuses a flag without effect.
func flagNeedsTrade(c *Config, name string) error {
	if c.Trade || c.origins[name] != "--"+name {
		return nil
	}
	return refused(name, "--%s has no effect without --trade: no order is placed", name)
}

// liveNeedsBroker is a lock: money is at stake where it was said to be, and nowhere
// by default.
func liveNeedsBroker(c *Config) error {
	if !c.Trade || !c.Trading.Live || c.Trading.Broker != "paper" {
		return nil
	}
	return refused("broker", "--live (%s) needs --broker binance or --broker alpaca: paper has no money to trade with", c.origins["live"])
}

// networkIsLive is a lock: the live exchange is named twice or not at all.
func networkIsLive(c *Config) error {
	network := c.Trading.Binance.Network
	switch {
	case c.Trading.Live && network != "live":
		return refused("binance-network", "--live (%s) and --binance-network %s (%s) exclude each other", c.origins["live"], network, c.origins["binance-network"])
	case !c.Trading.Live && network == "live":
		return refused("live", "--binance-network live (%s) needs --live: money is at stake there", c.origins["binance-network"])
	}
	return nil
}

// oneBinanceKey refuses half a key, and two.
func oneBinanceKey(c *Config) error {
	b := c.Trading.Binance
	switch {
	case b.Key.IsZero() != b.Secret.IsZero():
		return refused("binance-api-key", "CANDELA_BINANCE_API_KEY and CANDELA_BINANCE_API_SECRET belong together: set both or neither")
	case b.KeyFile != "" && !b.Key.IsZero():
		return refused("binance-key-file", "both CANDELA_BINANCE_API_KEY and --binance-key-file (%s) are set: remove one", c.origins["binance-key-file"])
	}
	return nil
}

// brokerNeedsKeys is a lock: no order goes to a venue without the keys of an account.
func brokerNeedsKeys(c *Config) error {
	if !c.Trade {
		return nil
	}
	b, a := c.Trading.Binance, c.Data.Alpaca
	switch {
	case c.Trading.Broker == "binance" && b.KeyFile == "" && b.Key.IsZero():
		return refused("broker", "--broker binance (%s) needs the keys of an account: set CANDELA_BINANCE_API_KEY and "+
			"CANDELA_BINANCE_API_SECRET, or --binance-key-file", c.origins["broker"])
	case c.Trading.Broker == "alpaca" && a.KeyFile == "" && a.KeyID.IsZero():
		return refused("broker", "--broker alpaca (%s) needs the keys of an account: set CANDELA_ALPACA_KEY_ID and "+
			"CANDELA_ALPACA_SECRET_KEY, or --alpaca-key-file", c.origins["broker"])
	}
	return nil
}

// loadBinanceKeys reads the keys out of their file, where they will be wanted.
func (l *loader) loadBinanceKeys() {
	c := l.config
	b := &c.Trading.Binance
	if b.KeyFile == "" || !b.Key.IsZero() || !c.Trade || c.Trading.Broker != "binance" {
		return
	}
	key, secret, err := readPairFile(b.KeyFile)
	if err != nil {
		l.refuse(refused("binance-key-file", "%s: %s", c.origins["binance-key-file"], err))
		return
	}
	b.Key, b.Secret = key, secret
	c.origins["binance-api-key"], c.origins["binance-api-secret"] = b.KeyFile, b.KeyFile
}

// cashValue is amounts by currency.
type cashValue struct {
	p *map[string]decimal.Decimal
}

func (v cashValue) set(text string) bool {
	items, ok := splitList(text)
	if !ok || len(items) == 0 {
		return false
	}
	cash := make(map[string]decimal.Decimal, len(items))
	for _, item := range items {
		currency, amount, _ := strings.Cut(item, "=")
		currency = strings.ToUpper(strings.TrimSpace(currency))
		d, err := decimal.NewFromString(strings.TrimSpace(amount))
		if _, twice := cash[currency]; twice || err != nil || !plainCurrency(currency) || d.IsNegative() || d.Exponent() > 0 || d.Exponent() < -8 || d.NumDigits() > 24 {
			return false
		}
		cash[currency] = d
	}
	*v.p = cash
	return true
}

func plainCurrency(s string) bool {
	return len(s) >= 2 && len(s) <= 12 && !strings.ContainsFunc(s, func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '0' || r > '9') })
}

func (v cashValue) String() string {
	items := make([]string, 0, len(*v.p))
	for _, currency := range slices.Sorted(maps.Keys(*v.p)) {
		items = append(items, currency+"="+(*v.p)[currency].String())
	}
	return strings.Join(items, ",")
}

func (cashValue) allowed() string {
	return "amounts by currency, such as USDT=100000,USD=50000"
}
func (cashValue) shape() shape { return shapeList }
