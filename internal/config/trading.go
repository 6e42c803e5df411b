package config

import (
	"path/filepath"

	"candela/internal/kit/setting"
)

// Trading describes where orders go under --trade.
type Trading struct {
	Broker  string
	Network string // one of the broker's
	Live    bool   // with real money
	Policy  string // path of the file with the order policy
}

// tradeSettings are the lines of the table about orders.
func tradeSettings(p Parts) []Setting {
	names, texts := make([]string, 0, len(p.Brokers)), make([]string, 0, len(p.Brokers))
	for _, b := range p.Brokers {
		text := b.Name
		if !b.CanTradeLive() {
			text += " (simulated)"
		}
		names, texts = append(names, b.Name), append(texts, text)
	}
	return []Setting{
		{
			Name: "broker", Group: groupTrade, Arg: "BROKER", Default: first(names), Modes: anyService, Sources: anywhere,
			Doc:  "broker for orders: " + alternatives(texts),
			bind: func(c *Config) value { return textValue{&c.Trading.Broker, setting.Choice(names...)} },
		},
		{
			Name: "live", Group: groupTrade, Default: "false", Modes: anyService, Sources: anywhere,
			Doc:  "trade with real money; needs --broker, its keys, and allowed_symbols in the policy",
			bind: func(c *Config) value { return boolValue{&c.Trading.Live} },
		},
		{
			Name: "policy", Group: groupTrade, Arg: "FILE", Default: "<home>/policy.toml", Modes: anyService, Sources: anywhere,
			Doc:    "order policy file; candela policy check explains it",
			bind:   func(c *Config) value { return pathValue{&c.Trading.Policy, c.userHome, required} },
			derive: func(c *Config) string { return filepath.Join(c.Home, "policy.toml") },
		},
	}
}

// tradeRules are the locks before trading with real money, and settings that belong
// together.
func tradeRules(p Parts) []rule {
	return []rule{
		needsTrade("broker"), needsTrade("live"), needsTrade("policy"),
		{anyService, []string{"trade", "live", "broker"}, func(c *Config) error { return liveNeedsBroker(c, p) }},
	}
}

// needsTrade refuses a flag that has no effect without --trade.
func needsTrade(name string) rule {
	return rule{anyService, []string{"trade", name}, func(c *Config) error {
		if c.Trade || c.origins[name] != "--"+name {
			return nil
		}
		return refused(name, "--%s has no effect without --trade: no order is placed", name)
	}}
}

// liveNeedsBroker is a lock: real money is traded only at a broker that was named.
func liveNeedsBroker(c *Config, p Parts) error {
	if !c.Trade || !c.Trading.Live || p.broker(c.Trading.Broker).CanTradeLive() {
		return nil
	}
	var able []string
	for _, b := range p.Brokers {
		if b.CanTradeLive() {
			able = append(able, "--broker "+b.Name)
		}
	}
	return refused("broker", "--live (%s) needs %s: %s has no money to trade with", c.origins["live"], alternatives(able), c.Trading.Broker)
}
