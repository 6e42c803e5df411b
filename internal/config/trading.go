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

	Strategies string // the highest stage at which strategies run by themselves, or off
}

// tradeSettings are the lines of the table about orders and single brokers.
func (c *Config) tradeSettings(p Parts) []Setting {
	names, texts := make([]string, 0, len(p.Brokers)), make([]string, 0, len(p.Brokers))
	for _, b := range p.Brokers {
		text := b.Name
		if !b.CanTradeLive() {
			text += " (simulated)"
		}
		names, texts = append(names, b.Name), append(texts, text)
	}
	table := []Setting{
		{
			Name: "broker", Arg: "BROKER", Default: first(names), value: textField(&c.Trading.Broker, setting.Choice(names...)),
			Doc: "broker for orders: " + alternatives(texts),
		},
		{Name: "live", value: boolField(&c.Trading.Live), Doc: "trade with real money; needs --broker, its keys, and allowed_symbols in the policy"},
		{
			Name: "policy", Arg: "FILE", Default: "<home>/policy.toml", value: c.givenPathField(&c.Trading.Policy),
			Doc:    "order policy file; candela policy check explains it",
			derive: func() string { return filepath.Join(c.Home, "policy.toml") },
		},
	}
	table = append(table, Setting{
		Name: "strategies", Arg: "STAGE", Default: StrategiesOff, value: textField(&c.Trading.Strategies, setting.Choice(StrategiesOff, StrategiesShadow, "paper", StrategiesLive)),
		Doc: "highest stage of strategies that run by themselves: off, shadow, paper, live",
	})
	for _, b := range p.Brokers {
		if b.ChoosesNetwork() {
			table = append(table, c.networkSetting(b))
		}
		for _, s := range b.Settings {
			table = append(table, c.partSetting(s))
		}
	}
	return section("Orders (--trade)", anyService, table)
}

// tradeRules are the locks before trading with real money, and settings that belong
// together.
func tradeRules(p Parts) []rule {
	return []rule{
		needsTrade("broker"), needsTrade("live"), needsTrade("policy"), needsTrade("strategies"),
		{anyService, []string{"trade", "strategies", "broker"}, func(c *Config) error { return strategiesForOne(c, p) }},
		{anyService, []string{"trade", "live", "broker"}, func(c *Config) error { return liveNeedsBroker(c, p) }},
	}
}

// The settings of strategies that send no orders, and of those that may trade on the account of the broker.
const (
	StrategiesOff    = "off"
	StrategiesShadow = "shadow"
	StrategiesLive   = "live"
)

// RunsStrategies reports whether strategies run by themselves.
func (c *Config) RunsStrategies() bool {
	return c.Trade && c.Trading.Strategies != StrategiesOff && c.Trading.Strategies != ""
}

// PaperBeside reports whether strategies trade on a paper account beside that of the broker.
func (c *Config) PaperBeside(p Parts) bool {
	return c.RunsStrategies() && c.Trading.Strategies != StrategiesShadow && p.broker(c.Trading.Broker).CanTradeLive()
}

// strategiesForOne refuses strategies where owners are many, and the stage live where there is no
// account but paper.
func strategiesForOne(c *Config, p Parts) error {
	switch {
	case !c.RunsStrategies():
		return nil
	case c.ManyOwners():
		return refused("strategies", "--strategies runs for one owner; leave it off with many owners")
	case c.Trading.Strategies == StrategiesLive && !p.broker(c.Trading.Broker).CanTradeLive():
		return refused("strategies", "--strategies live trades on the account of a broker, and --broker %s is simulated; use --strategies paper there", c.Trading.Broker)
	}
	return nil
}

// needsTrade refuses a flag that has no effect without --trade.
func needsTrade(name string) rule {
	return idleWithout(anyService, "trade", name, ": no order is placed", func(c *Config) bool { return c.Trade })
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
