package conn

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/kit/fault"
	"candela/internal/kit/loopback"
	"candela/internal/kit/seal"
)

// The oldest server that will do: the first with atomic batches.
const (
	minMajor = 2
	minMinor = 12
)

const (
	connectTimeout = 5 * time.Second
	reconnectWait  = 250 * time.Millisecond
	// A server that is stopped but not dead keeps its connections open. Two pings
	// without an answer end one after six seconds.
	pingInterval = 2 * time.Second
	maxPings     = 2
)

// Config says where the servers are and how to speak to them.
type Config struct {
	URL         string            // nats:// or tls://, several with commas; it holds no password
	Credentials string            // path of a credentials file, "" for none
	CA          string            // path of the authorities that sign the servers' certificates, "" for the system's
	Cert, Key   string            // paths of our own certificate and its key, "" for none
	Prefix      string            // of all subjects and streams, so that several installations share servers
	AllowSingle bool              // work with one server, without copies
	Dialer      nats.CustomDialer // opens connections to servers; nil for a net.Dialer
	Now         func() time.Time  // the clock that messages are sealed by; nil for time.Now
	Secret      []byte            // all replicas have it and the servers never see it; see seal.ParseSecret
}

// Conn is a connection to the servers. It is safe for concurrent use.
type Conn struct {
	nc        *nats.Conn
	js        jetstream.JetStream
	prefix    string
	replicas  int
	conflicts atomic.Uint64
	calls     counters // by outcome
	Seals     *Seals
	History   OrderHistory  // of orders
	RetryFor  time.Duration // how long what servers between leaders do not do is tried
	Log       *slog.Logger
}

// Connect connects and refuses what would not keep what it is given: servers that
// are too old and, unless the configuration allows it, a server that is alone.
// Close must be called.
func Connect(ctx context.Context, cfg Config, log *slog.Logger) (*Conn, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	trust, err := newSeals(cfg, log)
	if err != nil {
		return nil, err
	}
	nc, err := dial(ctx, cfg, log)
	if err != nil {
		return nil, fault.Unreachable(err, 0, "no NATS server answers at %s", cfg.URL)
	}
	c := &Conn{nc: nc, prefix: cfg.Prefix, replicas: 3, RetryFor: writeTimeout, Log: log, Seals: trust, calls: newCounters(CallDone, CallFailed, CallRefused, CallUnanswered)}
	if err := c.checkServer(cfg); err != nil {
		nc.Close()
		return nil, err
	}
	if c.js, err = jetstream.New(nc); err != nil {
		nc.Close()
		return nil, fmt.Errorf("jetstream: %w", err)
	}
	return c, nil
}

// validate reports what is wrong with a configuration.
func (cfg Config) validate() error {
	if cfg.URL == "" {
		return fault.Missing("nats-url", "nats:// or tls:// addresses, with commas between them")
	}
	for one := range strings.SplitSeq(cfg.URL, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls" {
			return &fault.Error{Kind: fault.Invalid, Code: "invalid_argument", Field: "nats-url", Message: "nats-url: each address is nats://host:port or tls://host:port"}
		}
		if u.User != nil { // the value stays out of the message: it has a password
			return &fault.Error{Kind: fault.Invalid, Code: "invalid_argument", Field: "nats-url", Message: "nats-url: a name or password does not belong in an address; use a credentials file"}
		}
	}
	if !IsSubjectToken(cfg.Prefix) {
		return fault.Field("nats-prefix", cfg.Prefix, "1 to 64 letters, digits, - and _")
	}
	if (cfg.Cert == "") != (cfg.Key == "") {
		return fault.Missing("nats-cert and nats-key", "both or neither")
	}
	if len(cfg.Secret) < seal.MinSecret {
		return fault.Missing("cluster-secret-file", "a file of mode 0600 that all replicas have, made with openssl rand -hex 32")
	}
	return cfg.checkRemote()
}

// checkRemote refuses to cross a network in the clear, or to servers that take
// everyone.
func (cfg Config) checkRemote() error {
	for one := range strings.SplitSeq(cfg.URL, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil || loopback.Host(u.Hostname()) {
			continue
		}
		if u.Scheme != "tls" && cfg.CA == "" || cfg.Credentials == "" && cfg.Cert == "" {
			return &fault.Error{
				Kind: fault.Invalid, Code: "nats_open", Field: "nats-url", Value: one,
				Message: fmt.Sprintf("nats-url: %s is not on this machine: it needs TLS (tls:// or --nats-ca) and a login "+
					"(--nats-credentials-file, or --nats-cert and --nats-key)", one),
			}
		}
	}
	return nil
}

// secure reports whether every connection is to be by TLS, also to servers that others
// tell of.
func (cfg Config) secure() bool { return cfg.CA != "" || strings.Contains(cfg.URL, "tls://") }

// inbox is where answers come. It has the name of the installation, so that users of
// the servers can be kept out of each other's.
func (cfg Config) inbox() string { return "_INBOX_" + cfg.Prefix }

// IsSubjectToken reports whether text may stand in a subject and in a stream's name.
func IsSubjectToken(text string) bool {
	if text == "" || len(text) > 64 {
		return false
	}
	return strings.IndexFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}) < 0
}

func dial(ctx context.Context, cfg Config, log *slog.Logger) (*nats.Conn, error) {
	options := []nats.Option{
		nats.Name("candela"), nats.Timeout(connectTimeout), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait),
		nats.PingInterval(pingInterval), nats.MaxPingsOutstanding(maxPings),
		// Without a buffer a write fails at once while there is no server, and is
		// known not to have been sent.
		nats.ReconnectBufSize(-1),
		nats.DisconnectErrHandler(func(nc *nats.Conn, err error) {
			if nc.IsClosed() {
				return // by us
			}
			log.WarnContext(ctx, "NATS connection lost", "error", err)
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			log.InfoContext(ctx, "NATS reconnected", "server", nc.ConnectedServerName())
			if err := checkVersion(nc.ConnectedServerVersion()); err != nil {
				log.ErrorContext(ctx, "unsupported NATS server version", "server", nc.ConnectedServerName(), "error", err)
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			log.WarnContext(ctx, "NATS client error", "error", err)
		}),
	}
	options = append(options, nats.CustomInboxPrefix(cfg.inbox()))
	if cfg.secure() {
		options = append(options, nats.Secure())
	} else {
		// All are on this machine. Servers elsewhere that these tell of would be spoken to
		// in the clear.
		options = append(options, nats.IgnoreDiscoveredServers())
	}
	if cfg.Dialer != nil {
		options = append(options, nats.SetCustomDialer(cfg.Dialer))
	}
	if cfg.Credentials != "" {
		options = append(options, nats.UserCredentials(cfg.Credentials))
	}
	if cfg.CA != "" {
		options = append(options, nats.RootCAs(cfg.CA))
	}
	if cfg.Cert != "" {
		options = append(options, nats.ClientCert(cfg.Cert, cfg.Key))
	}
	return nats.Connect(cfg.URL, options...)
}

// checkServer refuses servers that are too old or alone.
func (c *Conn) checkServer(cfg Config) error {
	if err := checkVersion(c.nc.ConnectedServerVersion()); err != nil {
		return err
	}
	if c.nc.ConnectedClusterName() != "" {
		return nil
	}
	if !cfg.AllowSingle {
		return &fault.Error{
			Kind: fault.Unsupported, Code: "nats_single",
			Message: "the NATS server is alone: what it loses is lost; connect to a cluster of three or allow it with --nats-allow-single",
		}
	}
	c.replicas = 1
	return nil
}

func checkVersion(version string) error {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, errA := strconv.Atoi(major)
	b, errB := strconv.Atoi(minor)
	if errA != nil || errB != nil || a < minMajor || a == minMajor && b < minMinor {
		return &fault.Error{
			Kind: fault.Unsupported, Code: "nats_too_old", Field: "nats-url", Value: version,
			Message: fmt.Sprintf("the NATS server has version %q; %d.%d or later is needed", version, minMajor, minMinor),
		}
	}
	return nil
}

// Close ends the connection. Stores that use it fail from then on.
func (c *Conn) Close() { c.nc.Close() }

// NATS returns the client's connection.
func (c *Conn) NATS() *nats.Conn { return c.nc }
