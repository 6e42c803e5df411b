package config

import (
	"fmt"
	"net/url"
	"strings"

	"candela/internal/kit/loopback"
	"candela/internal/kit/seal"
	"candela/internal/kit/secret"
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
func (c *Config) natsSettings() []Setting {
	n := &c.NATS
	return section("Many replicas (--serve)", ModeServe, []Setting{
		{
			Name: "nats-url", Arg: "LIST", value: natsURLField(&n.URL),
			Doc: "NATS servers, nats:// or tls://, that all replicas share; one node needs none",
		},
		{
			Name: "cluster-secret-file", Arg: "FILE", value: c.pathField(&n.SecretFile),
			Doc: "file of mode 0600 with the secret of all replicas: openssl rand -hex 32",
		},
		{
			Name: "nats-credentials-file", Arg: "FILE", value: c.pathField(&n.Credentials),
			Doc: "credentials file of mode 0600 for these servers, as nsc writes it",
		},
		{
			Name: "nats-ca", Arg: "FILE", value: c.pathField(&n.CA),
			Doc: "authorities that sign the servers' certificates; those of the system when not given",
		},
		{Name: "nats-cert", Arg: "FILE", value: c.pathField(&n.Cert), Doc: "our own certificate for the servers, where they want one"},
		{Name: "nats-key", Arg: "FILE", value: c.pathField(&n.Key), Doc: "file of mode 0600 with the key that belongs to it"},
		{
			Name: "nats-prefix", Arg: "NAME", Default: "candela", value: natsNameField(&n.Prefix),
			Doc: "begins every stream and subject; another for each installation",
		},
		{Name: "nats-allow-single", value: boolField(&n.AllowSingle), Doc: "work with one NATS server, without copies: what it loses is lost"},
	})
}

// natsRules tie the settings of many replicas together.
func natsRules() []rule {
	return []rule{
		{ModeMCP, []string{"mcp", "serve", "nats-url"}, natsNeedsServe},
		{ModeServe, []string{"nats-url", "owners", "owner-password", "owner-password-file", "oauth-auto-approve"}, natsNeedsOwner},
		{ModeServe, []string{"nats-cert", "nats-key"}, oneCertificate},
		{ModeServe, []string{"nats-url", "cluster-secret-file"}, natsNeedsSecret},
		{ModeServe, []string{"nats-url", "nats-ca", "nats-credentials-file", "nats-cert"}, remoteNeedsTLS},
		needsNATS("cluster-secret-file"), needsNATS("nats-credentials-file"), needsNATS("nats-ca"), needsNATS("nats-cert"),
		needsNATS("nats-key"), needsNATS("nats-prefix"), needsNATS("nats-allow-single"),
	}
}

// needsNATS refuses a flag without effect.
func needsNATS(name string) rule {
	return idleWithout(ModeServe, "nats-url", name, "", func(c *Config) bool { return c.Shared() })
}

// natsNeedsServe refuses settings of a variable or the file that have no effect: the alerts of
// a client on stdio would be expected at the servers, and be in a file.
func natsNeedsServe(c *Config) error {
	if !c.Shared() || c.Serve || !c.Trade || c.origins["nats-url"] == "--nats-url" {
		return nil // the flag itself is refused as idle
	}
	return refused("nats-url", "--nats-url (%s) is for --serve: with --mcp alerts and orders are kept in the state directory", c.origins["nats-url"])
}

// natsNeedsOwner refuses a passphrase that each replica would make up for itself:
// the owner would have to know at which one a browser ends.
func natsNeedsOwner(c *Config) error {
	o := c.OAuth
	if !c.Shared() || c.ManyOwners() || o.AutoApprove || !o.OwnerPassword.IsZero() || o.OwnerPasswordFile != "" {
		return nil
	}
	return refused("nats-url", "--nats-url (%s) needs a passphrase that is the same at every replica: "+
		"set --owner-password-file or CANDELA_OWNER_PASSWORD", c.origins["nats-url"])
}

// natsNeedsSecret refuses to trust every client of the servers.
func natsNeedsSecret(c *Config) error {
	if !c.Shared() || c.NATS.SecretFile != "" {
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

// readClusterSecret is readPrivateFile for the secret of all replicas.
func readClusterSecret(path string) (secret.Text, error) {
	text, err := readPrivateFile(path)
	if err != nil {
		return text, err
	}
	if _, err = seal.ParseSecret(text.Reveal()); err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return text, err
}

func oneCertificate(c *Config) error {
	if (c.NATS.Cert == "") == (c.NATS.Key == "") {
		return nil
	}
	return refused("nats-cert", "--nats-cert and --nats-key belong together: set both or neither")
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
			l.refuseFile(name, err)
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
