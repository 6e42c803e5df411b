package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"candela/internal/kit/loopback"
	"candela/internal/kit/secret"
	"candela/internal/kit/setting"
)

// oidcOwners is the value of --owners with which owners sign in at an identity provider.
const oidcOwners = "oidc"

// Owners describes who the owners are, and how they sign in.
type Owners struct {
	Mode string // single or oidc

	// Of the identity provider, with oidc.
	Issuer     string
	ClientID   string
	SecretFile string
	Secret     secret.Text
	Scopes     []string
	Subject    string        // the claim that identifies a person
	Allow      []string      // rules about who may sign in
	MaxAge     time.Duration // of a sign-in at the provider
	Logout     string        // tokens or browser: what a logout at the provider ends
	Contact    string        // a line for people who are refused

	Licensed []string // venues whose data may be shown to others although their Part has a Licence

	Desk HostDesk
}

// HostDesk describes the desk of the host of many owners.
type HostDesk struct {
	Listen       netip.AddrPort // the zero value means no desk
	BaseURL      string         // without a trailing slash, "" for that of the listener: see URL
	PasswordFile string
	Password     secret.Text // plain or an argon2id hash
}

// URL is what browsers call the desk.
func (d HostDesk) URL() string {
	if d.BaseURL == "" {
		return "http://" + d.Listen.String()
	}
	return d.BaseURL
}

// Shared reports whether replicas share one store, at NATS.
func (c *Config) Shared() bool { return c.NATS.URL != "" }

// ManyOwners reports whether owners sign in at an identity provider.
func (c *Config) ManyOwners() bool { return c.Owners.Mode == oidcOwners }

// Withheld reports whether the data of a venue may not be shown to the owners of this server, so that it is off.
func (c *Config) Withheld(venue setting.Part) bool {
	return venue.Licence != "" && c.ManyOwners() && !slices.Contains(c.Owners.Licensed, venue.Name)
}

// ownerSettings are the lines of the table about many owners.
func (c *Config) ownerSettings(p Parts) []Setting {
	o := &c.Owners
	return section("Many owners (--serve)", ModeServe, []Setting{
		{
			Name: "owners", Arg: "MODE", Default: "single", Modes: anyService, value: textField(&o.Mode, setting.Choice("single", oidcOwners)),
			Doc: "single: one owner, with a passphrase; oidc: many, who sign in at a provider",
		},
		{
			Name: "oidc-issuer", Arg: "URL", value: issuerField(&o.Issuer),
			Doc: "the identity provider's issuer as it writes it; https, or http on loopback",
		},
		{Name: "oidc-client-id", Arg: "ID", value: lineField(&o.ClientID), Doc: "what the identity provider calls this server"},
		{
			Name: "oidc-client-secret-file", Arg: "FILE", value: c.pathField(&o.SecretFile),
			Doc: "file of mode 0600 with the secret that belongs to it",
		},
		{
			Name: "oidc-scopes", Arg: "SCOPES", Default: "openid email profile", value: scopesField(&o.Scopes),
			Doc: "scopes to ask for; groups is added if a rule needs it",
		},
		{
			Name: "oidc-subject", Arg: "CLAIM", Default: "sub", value: subjectField(&o.Subject),
			Doc: "claim that identifies a person for ever, such as sub or oid",
		},
		{
			Name: "oidc-allow", Arg: "RULES", value: allowField(&o.Allow),
			Doc: "who may sign in: any of group:G, domain:D, claim:K=V, sub:S, separated by commas, or anyone",
		},
		{
			Name: "oidc-max-age", Arg: "DURATION", Default: "12h", value: maxAgeField(&o.MaxAge),
			Doc: "oldest sign-in at the identity provider that is accepted, 5m to 720h",
		},
		{
			Name: "oidc-logout", Arg: "WHAT", Default: "tokens", value: textField(&o.Logout, setting.Choice("tokens", "browser")),
			Doc: "what a logout at the provider ends: tokens, or the browser's login alone",
		},
		{
			Name: "host-desk", Arg: "ADDRESS:PORT", value: addrPortField(&o.Desk.Listen),
			Doc: "listener of the host's desk, with a login of its own; off when not given",
		},
		{
			Name: "host-desk-url", Arg: "URL", value: deskURLField(&o.Desk.BaseURL),
			Doc: "what browsers call the desk, https; http and the listener when not given",
		},
		{
			Name: "host-password-file", Arg: "FILE", value: c.pathField(&o.Desk.PasswordFile),
			Doc: "file with the passphrase of the host's desk, plain or as an argon2id hash",
		},
		{Name: "oidc-contact", Arg: "TEXT", value: lineField(&o.Contact), Doc: "line of text for people who are refused, such as an address to write to"},
		{
			Name: "licensed-venues", Arg: "VENUES", value: licensedField(&o.Licensed, p),
			Doc: "venues of " + strings.Join(p.licensable(), ", ") + " whose data you may show to others; off without it",
		},
	})
}

// issuerField is the value of an issuer. It is compared byte for byte, so nothing is cut off.
func issuerField(p *string) value {
	kind := setting.Kind{Allowed: "an https URL without query and fragment, such as https://login.example.com/realms/home; http only for localhost and loopback addresses"}
	return field(p, kind, optional(checked(func(text string) bool {
		u, err := url.Parse(text)
		return err == nil && u.Host != "" && u.User == nil && !strings.ContainsAny(text, "?# ") &&
			(u.Scheme == "https" || u.Scheme == "http" && loopback.Host(u.Hostname()))
	})), same)
}

// lineField is the value of a short text of one line, or none.
func lineField(p *string) value {
	kind := setting.Kind{Allowed: "one line of at most 200 characters"}
	return field(p, kind, checked(func(text string) bool {
		return len(text) <= 200 && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
	}), same)
}

// scopesField is the value of a list of scopes. No token of the provider is kept, so a lasting
// one is not asked for.
func scopesField(p *[]string) value {
	kind := setting.Kind{Allowed: "scopes separated by blanks, openid among them and offline_access not: no token of the provider is kept"}
	return field(p, kind, func(text string) ([]string, bool) {
		all := strings.Fields(text)
		return all, slices.Contains(all, "openid") && !slices.Contains(all, "offline_access")
	}, func(all []string) string { return strings.Join(all, " ") })
}

// subjectField is the value of the claim that identifies people. Those that a person can
// change, or that go to another person later, are refused by name.
func subjectField(p *string) value {
	changing := strings.Fields("email name upn preferred_username nickname given_name family_name phone_number")
	kind := setting.Kind{Allowed: "a claim that never changes and is never given to another person, such as sub or oid; not " + strings.Join(changing, ", ")}
	return field(p, kind, checked(func(text string) bool {
		return text != "" && len(text) <= 100 && !strings.ContainsAny(text, " ,\"\\") && !slices.Contains(changing, strings.ToLower(text))
	}), same)
}

// allowField is the value of the rules about who may sign in.
func allowField(p *[]string) value {
	return listField(p, "any of group:G, domain:D, claim:K=V and sub:S, separated by commas, or anyone", checked(func(text string) bool {
		kind, what, _ := strings.Cut(text, ":")
		switch kind {
		case "anyone":
			return text == "anyone"
		case "group", "domain", "sub":
			return what != ""
		case "claim":
			name, wanted, ok := strings.Cut(what, "=")
			return ok && name != "" && wanted != ""
		}
		return false
	}), same)
}

// licensable lists the venues with a licence.
func (p Parts) licensable() (names []string) {
	for _, v := range p.Venues {
		if v.Licence != "" {
			names = append(names, v.Name)
		}
	}
	return names
}

// licensedField is the value of a list of venues with a licence.
func licensedField(p *[]string, parts Parts) value {
	names := parts.licensable()
	return listField(p, "any of "+strings.Join(names, ", ")+", separated by commas", checked(func(text string) bool { return slices.Contains(names, text) }), same)
}

func maxAgeField(p *time.Duration) value {
	kind := setting.Kind{Allowed: "a duration from 5m to 720h, such as 12h"}
	return field(p, kind, func(text string) (time.Duration, bool) {
		d, err := time.ParseDuration(text)
		return d, err == nil && d >= 5*time.Minute && d <= 720*time.Hour
	}, func(d time.Duration) string {
		return strings.TrimSuffix(strings.TrimSuffix(d.String(), "0s"), "0m")
	})
}

// ownerRules tie the settings of many owners together, and refuse what is for one owner.
func ownerRules(p Parts) []rule {
	all := []rule{
		{ModeServe, []string{"owners", "oidc-issuer", "oidc-client-id", "oidc-client-secret-file"}, providerIsComplete},
		{ModeServe, []string{"owners", "oidc-allow"}, somebodyMaySignIn},
		{ModeServe, []string{"host-desk", "host-desk-url", "host-password-file", "owners", "trade", "port", "listen"}, hostDeskIsApart},
		{ModeMCP, []string{"owners", "trade"}, stdioHasOneOwner},
		{ModeServe, []string{"owners", "live", "broker", "trade"}, func(c *Config) error { return manyTradeOnPaper(c, p) }},
		oneOwnerOnly("oauth-auto-approve", func(c *Config) bool { return c.OAuth.AutoApprove }, "it approves clients for nobody in particular, and every client acts for a person here"),
		oneOwnerOnly("console", func(c *Config) bool { return c.HTTP.Console && c.origins["console"] != "" }, "it shows the account of the one owner with a passphrase"),
		oneOwnerOnly("owner-password-file", func(c *Config) bool { return c.OAuth.OwnerPasswordFile != "" }, "owners sign in at the identity provider, and a passphrase would open nothing"),
	}
	for _, s := range p.Sinks {
		all = append(all, oneOwnerOnly(s.EnabledBy, func(c *Config) bool { return c.Values.Has(s.EnabledBy) },
			"it would send the alerts of all owners to one receiver"))
	}
	for _, v := range p.Venues {
		if v.Licence != "" {
			all = append(all, rule{ModeServe, []string{"owners", "licensed-venues", v.Settings[0].Name}, func(c *Config) error { return venueMayBeShown(c, v) }})
		}
	}
	for _, name := range []string{"oidc-issuer", "oidc-client-id", "oidc-client-secret-file", "oidc-scopes", "oidc-subject", "oidc-allow", "oidc-max-age", "oidc-logout", "oidc-contact", "licensed-venues"} {
		all = append(all, rule{ModeServe, []string{"owners", name}, func(c *Config) error {
			if c.ManyOwners() || c.origins[name] != "--"+name {
				return nil
			}
			return refused(name, "--%s has no effect without --owners oidc", name)
		}})
	}
	return all
}

// oneOwnerOnly refuses a setting that is on while there are many owners.
func oneOwnerOnly(name string, on func(*Config) bool, why string) rule {
	return rule{ModeServe, []string{"owners", name}, func(c *Config) error {
		if !c.ManyOwners() || !on(c) {
			return nil
		}
		return refused(name, "--%s (%s) is for one owner and cannot be used with --owners oidc: %s", name, c.origins[name], why)
	}}
}

// hostDeskIsApart refuses a desk that has nothing to show, that anybody could open, or that shares a listener.
func hostDeskIsApart(c *Config) error {
	d := c.Owners.Desk
	if !d.Listen.IsValid() {
		for name, given := range map[string]bool{"host-password-file": d.PasswordFile != "", "host-desk-url": d.BaseURL != ""} {
			if given {
				return refused(name, "--%s has no effect without --host-desk ADDRESS:PORT", name)
			}
		}
		return nil
	}
	u, err := url.Parse(d.URL())
	switch {
	case !c.ManyOwners() || !c.Trade:
		return refused("host-desk", "--host-desk needs --owners oidc and --trade: only then are there records of people")
	case d.PasswordFile == "":
		return refused("host-desk", "--host-desk needs --host-password-file: a passphrase that nothing else has; candela auth hash-password prints a hash for it")
	case d.Listen.Port() == c.HTTP.Address().Port(), d.Listen == c.HTTP.AdminListen:
		return refused("host-desk", "--host-desk %s clashes with another listener of this server: choose another port", d.Listen)
	case err != nil || !d.Listen.Addr().IsLoopback() && u.Scheme != "https":
		return refused("host-desk", "--host-desk %s can be reached from other machines over http: use 127.0.0.1, or add --host-desk-url with https and a proxy in front", d.Listen)
	case strings.EqualFold(d.BaseURL, c.HTTP.BaseURL):
		return refused("host-desk-url", "--host-desk-url must differ from --base-url: the desk has an origin of its own")
	}
	return nil
}

func providerIsComplete(c *Config) error {
	if !c.ManyOwners() {
		return nil
	}
	for name, text := range map[string]string{"oidc-issuer": c.Owners.Issuer, "oidc-client-id": c.Owners.ClientID, "oidc-client-secret-file": c.Owners.SecretFile} {
		if text == "" {
			return refused(name, "--owners oidc (%s) needs --oidc-issuer, --oidc-client-id and --oidc-client-secret-file: the identity provider at which owners sign in",
				c.origins["owners"])
		}
	}
	return nil
}

// somebodyMaySignIn refuses to guess who may: an identity provider may have millions of accounts.
func somebodyMaySignIn(c *Config) error {
	if !c.ManyOwners() || len(c.Owners.Allow) > 0 {
		return nil
	}
	return refused("oidc-allow", "--owners oidc (%s) needs --oidc-allow: rules such as group:traders, domain:example.com or sub:1234; "+
		"anyone admits every account of the identity provider", c.origins["owners"])
}

func stdioHasOneOwner(c *Config) error {
	if !c.ManyOwners() || !c.Trade {
		return nil
	}
	return refused("owners", "--owners oidc (%s) is for --serve: on stdio nobody signs in, and the account would belong to nobody; leave --trade or --owners oidc out", c.origins["owners"])
}

// manyTradeOnPaper refuses accounts that all owners would share.
func manyTradeOnPaper(c *Config, p Parts) error {
	switch {
	case !c.ManyOwners() || !c.Trade:
		return nil
	case c.Trading.Live:
		return refused("live", "--live (%s) is for one owner and cannot be used with --owners oidc: all owners would trade with one person's money", c.origins["live"])
	case c.Trading.Broker != "" && p.broker(c.Trading.Broker).CanTradeLive():
		return refused("broker", "--broker %s (%s) cannot be used with --owners oidc: all owners would share one account there; each has a paper account instead",
			c.Trading.Broker, c.origins["broker"])
	}
	return nil
}

// venueMayBeShown refuses a venue that is turned on although its data may not be shown to the owners.
func venueMayBeShown(c *Config, v setting.Part) error {
	on := c.origins[v.Name] != "" && c.Values.Bool(v.Name)
	keys := v.HasKeys(c.Values) && c.Trading.Broker != v.Name // which is refused already
	if !c.Withheld(v) || !on && !keys {
		return nil
	}
	return refused(v.Settings[0].Name, "%s, and --owners oidc (%s) shows it to others: leave %s out, or add --licensed-venues %s if you have the right",
		v.Licence, c.origins["owners"], "--"+v.Settings[0].Name, v.Name)
}

// implyNoConsole turns the console off, which is for the one owner with a passphrase.
func (l *loader) implyNoConsole() {
	if c := l.config; c.ManyOwners() && c.origins["console"] == "" && !l.bad["owners"] {
		c.HTTP.Console = false
	}
}

// readProviderSecret is readPrivateFile for the secret of the identity provider.
func readProviderSecret(path string) (secret.Text, error) {
	text, err := readPrivateFile(path)
	if err == nil && len(text.Reveal()) > 1024 {
		err = fmt.Errorf("%s holds more than 1024 bytes", path)
	}
	return text, err
}
