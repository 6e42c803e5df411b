package config

import (
	"fmt"
	"slices"
	"strings"

	"candela/internal/kit/loopback"
	"candela/internal/kit/secret"
	"candela/internal/kit/setting"
	"candela/lib/fault"
)

// sinkSettings are the lines of the table about who else hears of alerts.
func (c *Config) sinkSettings(p Parts) []Setting {
	table := []Setting{{
		Name: "claude-channel", Modes: ModeMCP, value: boolField(&c.ClaudeChannel),
		Doc: "wake Claude Code over stdio when an alert fires; see docs/clients.md",
	}}
	for _, s := range p.Sinks {
		for _, one := range s.Settings {
			table = append(table, c.partSetting(one))
		}
	}
	table = append(table, Setting{
		Name: "sink-events", Arg: "LIST", Default: "alerts", value: sinkEventsField(&c.Sinks.Events),
		Doc: "what receivers get: alerts, orders (what happens to orders and positions)",
	}, Setting{
		Name: "approval-detail", value: boolField(&c.Sinks.ApprovalDetail), Doc: "name symbol, side, value and reasons in messages about orders that need approval",
	}, Setting{
		Name: "checkpoint-sink", value: boolField(&c.Sinks.Checkpoints), Doc: "send each signed checkpoint of the audit log to the receivers; see docs/receipts.md",
	}, Setting{
		Name: "allow-private-sinks", value: boolField(&c.Sinks.AllowPrivate), Doc: "let receivers be in private networks, also over http",
	})
	return section("Alerts for people (--trade)", anyService, table)
}

// sinkEventsField is a list of the kinds of notifications that receivers may get.
func sinkEventsField(p *[]string) value {
	kinds := []string{"alerts", "orders"}
	known := func(name string) (string, bool) { return name, slices.Contains(kinds, name) }
	kind := setting.Kind{Shape: setting.ShapeList, Allowed: strings.Join(kinds, ", ") + ", separated by commas"}
	return field(p, kind, func(text string) ([]string, bool) { return parseList(text, known) },
		func(names []string) string { return strings.Join(names, ",") })
}

// sinkRules ties the settings of each sink together.
func (p Parts) sinkRules() []rule {
	all := []rule{sinkNeedsTrade("checkpoint-sink"), {everyMode, []string{"checkpoint-sink"}, p.checkpointsHaveAReceiver}}
	for _, s := range p.Sinks {
		names := make([]string, 0, len(s.Settings))
		for _, one := range s.Settings {
			names = append(names, one.Name)
		}
		all = append(all, sinkNeedsTrade(s.EnabledBy), rule{everyMode, names, func(c *Config) error { return sinkIsComplete(c, s) }})
		for _, one := range s.Settings {
			if one.Kind.Endpoint {
				all = append(all, rule{everyMode, []string{one.Name, "allow-private-sinks"}, func(c *Config) error { return plainStaysNear(c, one.Name) }})
			}
			if one.Name != s.EnabledBy && !isSecret(s, one.Name) {
				on := func(c *Config) bool { return c.Values.Has(s.EnabledBy) }
				all = append(all, idleWithout(anyService, s.EnabledBy, one.Name, ": no alert would be sent", on))
			}
		}
	}
	return all
}

// checkpointsHaveAReceiver refuses to send checkpoints to nobody.
func (p Parts) checkpointsHaveAReceiver(c *Config) error {
	on := func(s setting.Part) bool { return c.Values.Has(s.EnabledBy) }
	if c.Sinks.Checkpoints && !slices.ContainsFunc(p.Sinks, on) {
		return refused("checkpoint-sink", "--checkpoint-sink needs a receiver of alerts: none is set")
	}
	return nil
}

// isSecret reports whether a setting is a secret of the part or the file of one.
func isSecret(p setting.Part, name string) bool {
	for _, s := range p.Secrets {
		if name == s.Name || name == s.File {
			return true
		}
	}
	return false
}

// sinkIsComplete refuses a sink without a secret that it needs, and a secret that nothing
// uses.
func sinkIsComplete(c *Config, p setting.Part) error {
	on := c.Values.Has(p.EnabledBy)
	for _, s := range p.Secrets {
		text := c.Values.Secret(s.Name)
		switch {
		case !text.IsZero() && c.Values.Text(s.File) != "":
			return setTwice(c, s.Name, s.File)
		case s.Given(c.Values) && !on:
			return refused(p.EnabledBy, "%s or --%s is set, but --%s is not: no alert would be sent", envName(s.Name), s.File, p.EnabledBy)
		case on && !s.Given(c.Values) && s.Needed != nil && s.Needed(c.Values):
			return refused(s.Name, "--%s (%s) needs %s: set %s or --%s", p.EnabledBy, c.origins[p.EnabledBy], s.Purpose, envName(s.Name), s.File)
		case !text.IsZero() && len(text.Reveal()) < s.MinLength:
			return refused(s.Name, "%s has fewer than %d characters", envName(s.Name), s.MinLength)
		}
	}
	if !on || p.Check == nil {
		return nil
	}
	err := p.Check(c.Values)
	if err != nil && fault.Of(err) == nil {
		return refused(p.EnabledBy, "%s", err)
	}
	return err
}

// plainStaysNear refuses alerts, and a token with them, that would cross the
// internet in the clear.
func plainStaysNear(c *Config, name string) error {
	u, ok := setting.ParseURL(c.Values.URL(name).Reveal(), "http")
	if c.Sinks.AllowPrivate || !ok || loopback.Host(u.Hostname()) {
		return nil
	}
	return refused(name, "%s is http and not on this machine: use https, or --allow-private-sinks if it is in a network of yours", c.origins[name])
}

// sinkNeedsTrade refuses a flag without effect: without the engine no alert fires.
func sinkNeedsTrade(name string) rule {
	return idleWithout(anyService, "trade", name, ": no alert fires", func(c *Config) bool { return c.Trade })
}

// loadSinkSecrets reads the secrets of sinks from their files.
func (l *loader) loadSinkSecrets() {
	for _, p := range l.parts.Sinks {
		for _, s := range p.Secrets {
			l.loadSecret(s.Name, l.config.Values.Text(s.File), l.config.Values.SecretVar(s.Name), func(path string) (secret.Text, error) {
				text, err := readPrivateFile(path)
				if err == nil && len(text.Reveal()) < s.MinLength {
					err = fmt.Errorf("%s holds fewer than %d characters", path, s.MinLength)
				}
				return text, err
			})
		}
	}
}
