package config

import (
	"fmt"
	"net/url"
	"strings"

	"candela/internal/kit/loopback"
	"candela/internal/kit/seal"
	"candela/internal/kit/secret"
	"candela/internal/kit/setting"
)

// NATS describes the servers that several replicas share what they know through.
type NATS struct {
	URL string // several with commas; "" for one node that needs none

	Credentials, CA, Cert, Key string // paths of files, "" for none; Cert and Key both or neither

	Prefix      string // of all subjects and streams
	AllowSingle bool   // one server without copies will do

	// SecretFile holds what all replicas know and the servers do not, Secret its bytes.
	SecretFile string
	Secret     secret.Text
}

// natsSettings are the lines of the table about many replicas.
func natsSettings() []Setting {
	return []Setting{
		{
			Name: "nats-url", Group: groupNATS, Arg: "LIST", Modes: ModeServe, Sources: anywhere,
			Doc:  "NATS servers, nats:// or tls://, that all replicas share; one node needs none",
			bind: func(c *Config) value { return natsURLValue{&c.NATS.URL} },
		},
		{
			Name: "cluster-secret-file", Group: groupNATS, Arg: "FILE", Modes: ModeServe, Sources: anywhere,
			Doc:  "file of mode 0600 with the secret of all replicas: openssl rand -hex 32",
			bind: func(c *Config) value { return pathValue{&c.NATS.SecretFile, c.userHome, optional} },
		},
		{
			Name: "nats-credentials-file", Group: groupNATS, Arg: "FILE", Modes: ModeServe, Sources: anywhere,
			Doc:  "credentials file of mode 0600 for these servers, as nsc writes it",
			bind: func(c *Config) value { return pathValue{&c.NATS.Credentials, c.userHome, optional} },
		},
		{
			Name: "nats-ca", Group: groupNATS, Arg: "FILE", Modes: ModeServe, Sources: anywhere,
			Doc:  "authorities that sign the servers' certificates; those of the system when not given",
			bind: func(c *Config) value { return pathValue{&c.NATS.CA, c.userHome, optional} },
		},
		{
			Name: "nats-cert", Group: groupNATS, Arg: "FILE", Modes: ModeServe, Sources: anywhere,
			Doc:  "our own certificate for the servers, where they want one",
			bind: func(c *Config) value { return pathValue{&c.NATS.Cert, c.userHome, optional} },
		},
		{
			Name: "nats-key", Group: groupNATS, Arg: "FILE", Modes: ModeServe, Sources: anywhere,
			Doc:  "file of mode 0600 with the key that belongs to it",
			bind: func(c *Config) value { return pathValue{&c.NATS.Key, c.userHome, optional} },
		},
		{
			Name: "nats-prefix", Group: groupNATS, Arg: "NAME", Default: "candela", Modes: ModeServe, Sources: anywhere,
			Doc:  "begins every stream and subject; another for each installation",
			bind: func(c *Config) value { return tokenValue{&c.NATS.Prefix} },
		},
		{
			Name: "nats-allow-single", Group: groupNATS, Default: "false", Modes: ModeServe, Sources: anywhere,
			Doc:  "work with one NATS server, without copies: what it loses is lost",
			bind: func(c *Config) value { return boolValue{&c.NATS.AllowSingle} },
		},
	}
}

// natsRules tie the settings of many replicas together.
func natsRules() []rule {
	names := []string{"cluster-secret-file", "nats-credentials-file", "nats-ca", "nats-cert", "nats-key", "nats-prefix", "nats-allow-single"}
	all := make([]rule, 0, 5+len(names))
	all = append(all, []rule{
		{ModeMCP, []string{"mcp", "serve", "nats-url"}, natsNeedsServe},
		{ModeServe, []string{"nats-url", "owner-password", "owner-password-file", "oauth-auto-approve"}, natsNeedsOwner},
		{ModeServe, []string{"nats-cert", "nats-key"}, oneCertificate},
		{ModeServe, []string{"nats-url", "cluster-secret-file"}, natsNeedsSecret},
		{ModeServe, []string{"nats-url", "nats-ca", "nats-credentials-file", "nats-cert"}, remoteNeedsTLS},
	}...)
	for _, name := range names {
		all = append(all, rule{ModeServe, []string{"nats-url", name}, func(c *Config) error { return flagNeedsNATS(c, name) }})
	}
	return all
}

// natsNeedsServe refuses settings of a variable or the file that have no effect: the alerts of
// a client on stdio would be expected at the servers, and be in a file.
func natsNeedsServe(c *Config) error {
	if c.NATS.URL == "" || c.Serve || !c.Trade || c.origins["nats-url"] == "--nats-url" {
		return nil // the flag itself is refused as idle
	}
	return refused("nats-url", "--nats-url (%s) is for --serve: with --mcp alerts and orders are kept in the state directory", c.origins["nats-url"])
}

// natsNeedsOwner refuses a passphrase that each replica would make up for itself:
// the owner would have to know at which one a browser ends.
func natsNeedsOwner(c *Config) error {
	o := c.OAuth
	if c.NATS.URL == "" || o.AutoApprove || !o.OwnerPassword.IsZero() || o.OwnerPasswordFile != "" {
		return nil
	}
	return refused("nats-url", "--nats-url (%s) needs a passphrase that is the same at every replica: "+
		"set --owner-password-file or CANDELA_OWNER_PASSWORD", c.origins["nats-url"])
}

// natsNeedsSecret refuses to trust every client of the servers.
func natsNeedsSecret(c *Config) error {
	if c.NATS.URL == "" || c.NATS.SecretFile != "" {
		return nil
	}
	return refused("cluster-secret-file", "--nats-url (%s) needs --cluster-secret-file, the same at every replica: "+
		"make one with openssl rand -hex 32 and chmod 600 it", c.origins["nats-url"])
}

// remoteNeedsTLS refuses a network in the clear, and servers that let everyone in.
func remoteNeedsTLS(c *Config) error {
	n := c.NATS
	for one := range strings.SplitSeq(n.URL, ",") {
		u, err := url.Parse(one)
		if n.URL == "" || err != nil || loopback.Host(u.Hostname()) {
			continue
		}
		var wants []string
		if u.Scheme != "tls" && n.CA == "" {
			wants = append(wants, "TLS (tls:// or --nats-ca)")
		}
		if n.Credentials == "" && n.Cert == "" {
			wants = append(wants, "a login (--nats-credentials-file, or --nats-cert and --nats-key)")
		}
		if len(wants) > 0 {
			return refused("nats-url", "--nats-url (%s): %s is not on this machine and needs %s", c.origins["nats-url"], one, strings.Join(wants, " and "))
		}
	}
	return nil
}

// loadClusterSecret reads the secret where somebody will speak to the servers.
func (l *loader) loadClusterSecret(inspect bool) {
	n := &l.config.NATS
	if n.URL == "" || n.SecretFile == "" || !l.config.Serve && !inspect {
		return
	}
	text, err := readPrivateFile(n.SecretFile)
	if err == nil {
		if _, bad := seal.ParseSecret(text.Reveal()); bad != nil {
			err = fmt.Errorf("%s: %w", n.SecretFile, bad)
		}
	}
	if err != nil {
		l.refuse(refused("cluster-secret-file", "%s: %s", l.config.origins["cluster-secret-file"], err))
		return
	}
	n.Secret = text
}

func oneCertificate(c *Config) error {
	if (c.NATS.Cert == "") == (c.NATS.Key == "") {
		return nil
	}
	return refused("nats-cert", "--nats-cert and --nats-key belong together: set both or neither")
}

// flagNeedsNATS refuses a flag without effect.
func flagNeedsNATS(c *Config, name string) error {
	if c.NATS.URL != "" || c.origins[name] != "--"+name {
		return nil
	}
	return refused(name, "--%s has no effect without --nats-url", name)
}

// checkNATS refuses files of the connection that are not there, and secret ones that
// other users can read: they open what all replicas share.
func (l *loader) checkNATS() {
	n := l.config.NATS
	if n.URL == "" || !l.config.Serve {
		return
	}
	check := func(name, path string, check func(path string) error) {
		if path == "" {
			return
		}
		if err := check(path); err != nil {
			l.refuse(refused(name, "%s: %s", l.config.origins[name], err))
		}
	}
	readable := func(path string) error {
		_, err := readGuarded(path)
		return err
	}
	check("nats-credentials-file", n.Credentials, refuseOpen)
	check("nats-ca", n.CA, readable)
	check("nats-cert", n.Cert, readable)
	check("nats-key", n.Key, refuseOpen)
}

// natsURLValue is addresses of NATS servers.
type natsURLValue struct{ p *string }

func (v natsURLValue) set(text string) bool {
	items, ok := splitList(text)
	if !ok {
		return false
	}
	for _, item := range items {
		u, err := url.Parse(item)
		if err != nil || u.Scheme != "nats" && u.Scheme != "tls" || u.Hostname() == "" || !setting.GoodPort(u) || u.User != nil ||
			u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
			return false
		}
	}
	*v.p = strings.Join(items, ",")
	return true
}

func (v natsURLValue) String() string { return *v.p }
func (natsURLValue) allowed() string {
	return "addresses separated by commas, each nats://host:port or tls://host:port; a name and a password belong in a credentials file"
}
func (natsURLValue) shape() setting.Shape { return setting.ShapeList }

// tokenValue is a word that may stand in a subject of NATS.
type tokenValue struct{ p *string }

func (v tokenValue) set(text string) bool {
	if text == "" || len(text) > 64 || strings.ContainsFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}) {
		return false
	}
	*v.p = text
	return true
}

func (v tokenValue) String() string     { return *v.p }
func (tokenValue) allowed() string      { return "1 to 64 letters, digits, - and _" }
func (tokenValue) shape() setting.Shape { return setting.ShapeString }
