package config

import (
	"fmt"
	"slices"
	"strings"

	"candela/internal/kit/secret"
	"candela/internal/kit/setting"
)

// Parts lists the sources of bars, the brokers and the sinks of a build. Their settings become
// lines of the table; this package knows none of them by name.
type Parts struct {
	Venues       []setting.Part
	CryptoVenues []string // choices of --crypto-venue, the default first
	StockVenues  []string // choices of --stock-venue, the default first
	Brokers      []setting.Part
	Sinks        []setting.Part
	Toolsets     []Toolset
}

// broker returns a broker by its name, the zero value for one that does not exist.
func (p Parts) broker(name string) setting.Part {
	i := slices.IndexFunc(p.Brokers, func(b setting.Part) bool { return b.Name == name })
	if i < 0 {
		return setting.Part{}
	}
	return p.Brokers[i]
}

// venueSettings are the lines of the table about market data.
func (c *Config) venueSettings(p Parts) []Setting {
	table := []Setting{
		{
			Name: "crypto-venue", Arg: "VENUE", Default: first(p.CryptoVenues), value: textField(&c.Data.CryptoVenue, setting.Choice(p.CryptoVenues...)),
			Doc: "venue for crypto pairs such as BTCUSDT: " + alternatives(p.CryptoVenues),
		},
		{
			Name: "stock-venue", Arg: "VENUE", Default: first(p.StockVenues), value: textField(&c.Data.StockVenue, setting.Choice(p.StockVenues...)),
			Doc: "venue for all other symbols: " + alternatives(p.StockVenues),
		},
	}
	for _, v := range p.Venues {
		for _, s := range v.Settings {
			table = append(table, c.partSetting(s))
		}
	}
	return section("Market data", everyMode, table)
}

// partSetting is the line of the table for a setting of a part.
func (c *Config) partSetting(s setting.Spec) Setting {
	line := Setting{Name: s.Name, Arg: s.Arg, Default: s.Default, Doc: s.Doc}
	switch {
	case s.Kind.Secret:
		line.value = secretField(c.Values.SecretVar(s.Name))
	case s.Kind.Endpoint:
		line.value = endpointField(c.Values.URLVar(s.Name))
	case s.Kind.Path:
		line.value = c.pathField(c.Values.TextVar(s.Name))
	default:
		line.value = textField(c.Values.TextVar(s.Name), s.Kind)
	}
	return line
}

// networkSetting is the line of the table that selects one of a broker's networks.
func (c *Config) networkSetting(b setting.Part) Setting {
	test, live := b.NetworkNames(false), b.NetworkNames(true)
	s := c.partSetting(setting.Spec{
		Name: b.NetworkSetting(), Arg: "NETWORK", Default: test[0], Kind: setting.Choice(slices.Concat(test, live)...),
		Doc: fmt.Sprintf("network at %s: %s; %s only with --live", b.Title, alternatives(test), alternatives(live)),
	})
	s.derive = func() string {
		if c.Trading.Live && len(live) > 0 {
			return live[0]
		}
		return test[0]
	}
	return s
}

// rules ties the settings of parts together.
func (p Parts) rules() []rule {
	venues := []string{"crypto-venue", "stock-venue"}
	for _, v := range p.Venues {
		for _, s := range v.Settings {
			venues = append(venues, s.Name)
		}
	}
	var all []rule
	checked := make(map[string]bool) // a venue and a broker may share keys
	for _, v := range p.Venues {
		if v.Check != nil {
			all = append(all, rule{everyMode, venues, func(c *Config) error {
				if err := v.Check(c.Values); err != nil {
					return refused(v.Settings[0].Name, "%s", err)
				}
				return nil
			}})
		}
		if v.Keys != (setting.Keys{}) {
			checked[v.Keys.File] = true
			all = append(all, keysRule(everyMode, v.Keys), rule{everyMode, venues, func(c *Config) error { return venueNeedsKeys(c, v) }})
		}
	}
	for _, b := range p.Brokers {
		if b.Keys != (setting.Keys{}) {
			if !checked[b.Keys.File] {
				all = append(all, keysRule(anyService, b.Keys))
			}
			all = append(all, rule{anyService, []string{"trade", "broker", b.Keys.File, b.Keys.ID}, func(c *Config) error { return brokerNeedsKeys(c, b) }})
		}
		if b.ChoosesNetwork() {
			all = append(all, rule{anyService, []string{"live", b.NetworkSetting()}, func(c *Config) error { return networkMatchesLive(c, b) }})
		}
		for _, s := range b.Settings {
			if s.NeedsTrade {
				all = append(all, needsTrade(s.Name))
			}
		}
	}
	return all
}

// keysRule refuses half a pair of keys, and two pairs.
func keysRule(modes Mode, k setting.Keys) rule {
	return rule{modes, []string{k.File, k.ID, k.Secret}, func(c *Config) error {
		id, half := c.Values.Secret(k.ID), c.Values.Secret(k.Secret)
		switch {
		case id.IsZero() != half.IsZero():
			return refused(k.ID, "%s and %s belong together: set both or neither", envName(k.ID), envName(k.Secret))
		case c.Values.Text(k.File) != "" && !id.IsZero():
			return setTwice(c, k.ID, k.File)
		}
		return nil
	}}
}

// venueNeedsKeys refuses to start where every symbol without a venue would end in an
// error.
func venueNeedsKeys(c *Config, v setting.Part) error {
	switch v.Name {
	case c.Data.CryptoVenue:
		return needsKeys(c, "crypto-venue", v)
	case c.Data.StockVenue:
		return needsKeys(c, "stock-venue", v)
	}
	return nil
}

// brokerNeedsKeys is a lock: no order is sent to a venue without the keys of an account.
func brokerNeedsKeys(c *Config, b setting.Part) error {
	if !c.Trade || c.Trading.Broker != b.Name {
		return nil
	}
	return needsKeys(c, "broker", b)
}

func needsKeys(c *Config, name string, p setting.Part) error {
	if c.Values.Text(p.Keys.File) != "" || p.HasKeys(c.Values) {
		return nil
	}
	return refused(name, "--%s %s (%s) needs the keys of an account: set %s and %s, or --%s",
		name, p.Name, c.origins[name], envName(p.Keys.ID), envName(p.Keys.Secret), p.Keys.File)
}

// networkMatchesLive is a lock: a live network is requested twice or not at all.
func networkMatchesLive(c *Config, b setting.Part) error {
	name := b.NetworkSetting()
	network := c.Values.Text(name)
	live := slices.Contains(b.Networks, setting.Network{Name: network, Live: true})
	switch {
	case c.Trading.Live && !live && b.CanTradeLive():
		return refused(name, "--live (%s) and --%s %s (%s) exclude each other", c.origins["live"], name, network, c.origins[name])
	case !c.Trading.Live && live:
		return refused("live", "--%s %s (%s) needs --live: it trades with real money", name, network, c.origins[name])
	}
	return nil
}

// loadKeys reads the keys of venues, and of the broker that orders go to, from their files.
func (l *loader) loadKeys() {
	c := l.config
	for _, v := range l.parts.Venues {
		l.loadKeyFile(v.Keys)
	}
	if c.Trade {
		l.loadKeyFile(l.parts.broker(c.Trading.Broker).Keys)
	}
}

func (l *loader) loadKeyFile(k setting.Keys) {
	c := l.config
	path, id := c.Values.Text(k.File), c.Values.SecretVar(k.ID)
	if path == "" || !id.IsZero() {
		return
	}
	read := readKeyFile
	if k.LongSecret {
		read = readLongKeyFile
	}
	key, half, err := read(path)
	if err != nil {
		l.refuseFile(k.File, err)
		return
	}
	*id, *c.Values.SecretVar(k.Secret) = secret.New(key), secret.New(half)
	c.origins[k.ID], c.origins[k.Secret] = path, path
}

func first(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// alternatives lists names as a sentence does.
func alternatives(names []string) string {
	if len(names) < 2 {
		return first(names)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
