package config

import (
	"fmt"
	"net/url"
	"slices"

	"candela/internal/kit/loopback"
	"candela/lib/fault"
)

// rule ties settings together. It is checked only in its modes, and only when
// each setting it reads was itself well formed: one mistake gives one message.
type rule struct {
	modes Mode
	reads []string // Setting.Name
	check func(*Config) error
}

func rules(p Parts) []rule {
	return slices.Concat(tradeRules(p), p.rules(), p.sinkRules(), natsRules(), ownerRules(p), []rule{
		{everyMode, []string{"mcp", "serve"}, oneMode},
		{ModeServe, []string{"listen", "base-url", "port"}, publicNeedsHTTPS},
		{ModeServe, []string{"oauth-auto-approve", "listen", "base-url"}, autoApproveStaysLocal},
		{ModeServe, []string{"oauth-auto-approve", "live"}, autoApproveIsForPaper},
		{ModeServe, []string{"persist-logins", "owner-password", "owner-password-file", "oauth-auto-approve", "nats-url"}, persistentNeedsOwner},
		{ModeServe, []string{"admin-listen", "listen", "port"}, adminApart},
		{ModeServe, []string{"admin-listen", "allow-public-admin"}, adminStaysLocal},
		{ModeServe, []string{"owner-password", "owner-password-file"}, onePassword},
		{ModeMCP, []string{"claude-channel", "mcp-revision"}, channelNeedsHandshake},
		sinkNeedsTrade("claude-channel"),
	})
}

func refused(field, format string, args ...any) *fault.Error {
	return &fault.Error{
		Kind: fault.Invalid, Code: "refused", Field: field,
		Message: fmt.Sprintf(format, args...),
	}
}

func oneMode(c *Config) error {
	if !c.MCP || !c.Serve {
		return nil
	}
	return refused("mcp", "--mcp (%s) and --serve (%s) exclude each other: stdout carries one protocol, a port another",
		c.origins["mcp"], c.origins["serve"])
}

// newestRevision is the default of mcp-revision: a channel is announced in a handshake.
func (c *Config) newestRevision() string {
	if c.MCP && c.ClaudeChannel {
		return "2025-03-26"
	}
	return "2026-07-28"
}

// channelNeedsHandshake refuses a channel that would never carry anything: Claude Code
// learns of it in the handshake, which the newer revision does not have.
func channelNeedsHandshake(c *Config) error {
	if !c.ClaudeChannel || c.MCPRevision == "2025-03-26" {
		return nil
	}
	return refused("claude-channel", "--claude-channel needs the handshake of 2025-03-26, and with --mcp-revision %s Claude Code begins without it: leave one of the two out", c.MCPRevision)
}

// publicNeedsHTTPS refuses a listener that others can reach unless clients come
// through TLS: the owner's passphrase and every token would cross the network in
// the clear.
func publicNeedsHTTPS(c *Config) error {
	if c.HTTP.Listen.IsLoopback() || baseScheme(c) == "https" {
		return nil
	}
	return refused("listen", "--listen %s can be reached from other machines and needs --base-url with https "+
		"(the address of the TLS proxy in front of it), but the base URL is %s", c.HTTP.Listen, c.HTTP.BaseURL)
}

func autoApproveStaysLocal(c *Config) error {
	if !c.OAuth.AutoApprove {
		return nil
	}
	u, err := url.Parse(c.HTTP.BaseURL)
	if err == nil && loopback.Host(u.Hostname()) && c.HTTP.Listen.IsLoopback() {
		return nil
	}
	return refused("oauth-auto-approve", "--oauth-auto-approve lets anyone who reaches the server in, so listener and base URL "+
		"must both be loopback, but they are %s and %s", c.HTTP.Listen, c.HTTP.BaseURL)
}

// autoApproveIsForPaper keeps real money from every program of the machine.
func autoApproveIsForPaper(c *Config) error {
	if !c.OAuth.AutoApprove || !c.Trading.Live {
		return nil
	}
	return refused("oauth-auto-approve", "--oauth-auto-approve lets every program on this machine in, and --live lets it trade with real money: use one or the other")
}

// persistentNeedsOwner refuses logins that nothing would end: a new passphrase does.
func persistentNeedsOwner(c *Config) error {
	o, from := c.OAuth, c.origins["persist-logins"]
	switch {
	case !o.PersistLogins:
		return nil
	case c.Shared():
		return refused("persist-logins", "--persist-logins (%s) is for one node: with --nats-url logins survive a restart without it; remove it", from)
	case o.AutoApprove:
		return refused("persist-logins", "--persist-logins (%s) and --oauth-auto-approve exclude each other: clients that nobody approved would stay", from)
	case o.OwnerPassword.IsZero() && o.OwnerPasswordFile == "" && !c.ManyOwners():
		return refused("persist-logins", "--persist-logins (%s) needs a passphrase of yours, because a new one ends all logins and without one a new one is made up "+
			"at every start: set --owner-password-file or CANDELA_OWNER_PASSWORD", from)
	}
	return nil
}

// adminApart keeps health and metrics off the public port. An unspecified
// address takes the port on every other one.
func adminApart(c *Config) error {
	admin, main := c.HTTP.AdminListen, c.HTTP.Address()
	if !admin.IsValid() || admin.Port() != main.Port() {
		return nil
	}
	if admin.Addr() != main.Addr() && !admin.Addr().IsUnspecified() && !main.Addr().IsUnspecified() {
		return nil
	}
	return refused("admin-listen", "--admin-listen %s clashes with the server's own address %s: choose another port", admin, main)
}

// adminStaysLocal refuses to show others how much is traded, and to let them load
// the machine with profiles, unless the owner has said so.
func adminStaysLocal(c *Config) error {
	admin := c.HTTP.AdminListen
	if !admin.IsValid() || admin.Addr().IsLoopback() || c.HTTP.PublicAdmin {
		return nil
	}
	return refused("admin-listen", "--admin-listen %s can be reached from other machines and asks nobody who they are: "+
		"use 127.0.0.1, or add --allow-public-admin where a firewall decides who comes", admin)
}

func onePassword(c *Config) error {
	if c.OAuth.OwnerPasswordFile == "" || c.OAuth.OwnerPassword.IsZero() {
		return nil
	}
	return setTwice(c, "owner-password", "owner-password-file")
}

// idleWithout refuses a flag that has no effect while another setting is off. Variables
// and the file may hold settings for other days.
func idleWithout(modes Mode, other, name, why string, on func(*Config) bool) rule {
	return rule{modes, []string{other, name}, func(c *Config) error {
		if on(c) || c.origins[name] != "--"+name {
			return nil
		}
		return refused(name, "--%s has no effect without --%s%s", name, other, why)
	}}
}

// setTwice refuses a secret in a variable and in a file: it must be plain which one counts.
func setTwice(c *Config, name, file string) error {
	return refused(file, "both %s and --%s (%s) are set: remove one", envName(name), file, c.origins[file])
}

func baseScheme(c *Config) string {
	u, err := url.Parse(c.HTTP.BaseURL)
	if err != nil {
		return ""
	}
	return u.Scheme
}
