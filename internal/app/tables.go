package app

import (
	"candela/internal/alerting/sink"
	"candela/internal/alerting/sink/command"
	"candela/internal/alerting/sink/email"
	"candela/internal/alerting/sink/ntfy"
	"candela/internal/alerting/sink/telegram"
	"candela/internal/alerting/sink/webhook"
	"candela/internal/config"
	"candela/internal/data/provider"
	"candela/internal/data/provider/alpaca"
	"candela/internal/data/provider/binance"
	"candela/internal/data/provider/coinbase"
	"candela/internal/data/provider/csv"
	"candela/internal/data/provider/feargreed"
	"candela/internal/data/provider/kraken"
	"candela/internal/data/provider/replay"
	"candela/internal/data/provider/sample"
	"candela/internal/data/provider/yahoo"
	"candela/internal/kit/fonts"
	"candela/internal/serve/tool"
	"candela/internal/store"
	"candela/internal/store/ledger"
	"candela/internal/trading/broker"
	alpacabroker "candela/internal/trading/broker/alpaca"
	binancebroker "candela/internal/trading/broker/binance"
	"candela/internal/trading/broker/paper"
	"candela/lib/chart"
)

// Venues lists the sources of bars and series. A new venue is a line here. The first of
// a kind is the default for symbols without a venue.
func Venues() []provider.Descriptor {
	return []provider.Descriptor{
		sample.Descriptor(sample.Config{}),
		binance.Descriptor(),
		coinbase.Descriptor(),
		kraken.Descriptor(),
		yahoo.Descriptor(),
		alpaca.Descriptor(),
		csv.Descriptor(),
		replay.Descriptor(csv.Setting, csv.Open),
		feargreed.Descriptor(),
	}
}

// Brokers lists the brokers, the default first. A new broker is a line here.
func Brokers() []broker.Descriptor {
	return []broker.Descriptor{
		paper.Descriptor(),
		binancebroker.Descriptor(),
		alpacabroker.Descriptor(),
	}
}

// Sinks lists the receivers of alerts besides MCP clients. A new sink is a line here.
func Sinks() []sink.Descriptor {
	return []sink.Descriptor{
		webhook.Descriptor(),
		ntfy.Descriptor(),
		telegram.Descriptor(),
		email.Descriptor(),
		command.Descriptor(),
	}
}

// Wired returns what this build can do. A new mode is a line here.
func Wired() Services {
	return Services{
		MCP:     speakMCP,
		Serve:   serveMCP,
		Venues:  Venues(),
		Brokers: Brokers(),
		Sinks:   Sinks(),
		Stores:  stores(),
		Draw:    renderer(),
	}
}

// renderer returns what draws pictures, with the fonts of this machine.
func renderer() *chart.Renderer {
	r := chart.NewRenderer()
	r.Fallback(fonts.Open)
	return r
}

// stores lists the kinds of store of a state directory, the default first. A new store is
// a line here.
func stores() []store.Descriptor {
	return []store.Descriptor{
		ledger.Descriptor(),
	}
}

// StoreAt returns the kind of store that a state directory has, the default for a new one.
func StoreAt(home string) store.Descriptor { return store.At(stores(), home) }

// LoadConfig loads the configuration of this build.
func LoadConfig(in config.Input) (*config.Config, error) {
	in.Parts = Parts()
	return config.Load(in)
}

// Parts returns the settings of this build's venues, brokers and sinks.
func Parts() config.Parts { return partsOf(Venues(), Brokers(), Sinks()) }

func partsOf(venues []provider.Descriptor, brokers []broker.Descriptor, sinks []sink.Descriptor) config.Parts {
	var p config.Parts
	for _, v := range venues {
		p.Venues = append(p.Venues, v.Part)
		switch v.Kind {
		case provider.Pairs:
			p.CryptoVenues = append(p.CryptoVenues, v.Name)
		case provider.Stocks:
			p.StockVenues = append(p.StockVenues, v.Name)
		case provider.Files: // no default for symbols without a venue
		}
	}
	for _, b := range brokers {
		p.Brokers = append(p.Brokers, b.Part)
	}
	for _, s := range sinks {
		p.Sinks = append(p.Sinks, s.Part)
	}
	for _, s := range tool.Toolsets() {
		p.Toolsets = append(p.Toolsets, config.Toolset{Name: s.Name, Reserved: s.Purpose == ""})
	}
	return p
}

// accountNames lists the names of the owner's accounts, one for each network of each broker.
func accountNames() []string { return accountsOf(Brokers()) }

func accountsOf(brokers []broker.Descriptor) []string {
	all := make([]string, 0, 2*len(brokers))
	for _, b := range brokers {
		all = append(all, b.Accounts(accountOwner)...)
	}
	return all
}

// broker returns the broker that orders go to.
func (rt Runtime) broker() broker.Descriptor {
	for _, b := range rt.Brokers {
		if b.Name == rt.Config.Trading.Broker {
			return b
		}
	}
	return broker.Descriptor{}
}

// account returns the name of the account that orders go to.
func (rt Runtime) account() string {
	return rt.broker().Account(accountOwner, rt.Config.Trading.Network)
}

// liveAccount names the account with real money that clients may trade on; "" for none.
func (rt Runtime) liveAccount() string {
	if !rt.Config.Trade || !rt.Config.Trading.Live {
		return ""
	}
	return rt.account()
}

// openVenues opens the sources that are turned on. The caller closes those that are
// closers. On an error nothing is open.
func openVenues(venues []provider.Descriptor, cfg *config.Config, env provider.Env) (bars []provider.Provider, series []provider.SeriesSource, err error) {
	env.Values = cfg.Values
	for _, v := range venues {
		if !v.On(env.Values) || cfg.Withheld(v.Part) {
			continue
		}
		if v.OpenSeries != nil {
			series = append(series, v.OpenSeries(env))
			continue
		}
		env.Live = cfg.LiveAt(v.Name)
		p, err := v.Open(env)
		if err != nil {
			closeAll(bars)
			return nil, nil, err
		}
		bars = append(bars, p)
		if s, ok := p.(provider.SeriesSource); ok {
			series = append(series, s)
		}
	}
	return bars, series, nil
}
