// Package conn connects a replica to NATS JetStream servers and publishes with
// compare-and-set. The packages beside it store the state of an installation there, so that
// several replicas can serve it; they implement the same interfaces as the local stores and
// pass the same contract suites.
//
// Three rules hold in all of them. A write that depends on stored state names the revision it
// read, and the servers refuse it if that is not the latest. A reader that must see everything
// writes a barrier and reads up to it, because its server may lag behind. A write without an
// acknowledgement is looked up by its change ID, never assumed.
//
// The servers are not trusted: every message is sealed with a secret that they do not know.
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

	"candela/internal/config"
	"candela/internal/kit/loopback"
	"candela/internal/kit/meter"
	"candela/internal/kit/retry"
	"candela/internal/kit/seal"
	"candela/lib/fault"
)

// minMajor.minMinor is the oldest supported server: the first with atomic batches.
const (
	minMajor = 2
	minMinor = 12
)

const (
	connectTimeout = 5 * time.Second
	reconnectWait  = 250 * time.Millisecond
	// A stopped server keeps its connections open. Two unanswered pings close one after
	// six seconds.
	pingInterval = 2 * time.Second
	maxPings     = 2
)

// Config configures a connection.
type Config struct {
	URL         string            // comma-separated nats:// or tls:// addresses, without a password
	Credentials string            // path of a credentials file, "" for none
	CA          string            // path of the authorities that sign the servers' certificates, "" for the system's
	Cert, Key   string            // paths of the client certificate and its key, "" for none
	Prefix      string            // of all subjects and streams, so that installations can share servers
	AllowSingle bool              // accept one server without replication
	Dialer      nats.CustomDialer // opens connections to servers; nil for a net.Dialer
	Now         func() time.Time  // the clock for sealing messages; nil for time.Now
	ManyOwners  bool              // the installation is for many owners; a stream for one refuses it
	Secret      []byte            // shared by all replicas, unknown to the servers; see seal.ParseSecret
}

// Conn is a connection to the servers. It is safe for concurrent use.
type Conn struct {
	nc        *nats.Conn
	js        jetstream.JetStream
	prefix    string
	replicas  int
	many      bool            // owners
	held      <-chan struct{} // closed when background reading may begin; nil for at once
	conflicts atomic.Uint64
	checks    []Check        // see Confirm
	calls     meter.Counters // by outcome
	lost      *outage        // no connection
	silent    *outage        // no answer over a connection; it begins with the first heartbeat
	Seals     *Seals
	History   OrderHistory  // of orders
	RetryFor  time.Duration // how long a request is retried while the servers elect a leader
	Log       *slog.Logger
}

// ConfigOf returns the connection settings of a configuration, which has checked the secret.
func ConfigOf(c *config.Config) Config {
	n := c.NATS
	secret, _ := seal.ParseSecret(n.Secret.Reveal())
	return Config{
		URL: n.URL, Credentials: n.Credentials, CA: n.CA, Cert: n.Cert, Key: n.Key, Prefix: n.Prefix, AllowSingle: n.AllowSingle, Secret: secret, ManyOwners: c.ManyOwners(),
	}
}

// Connect connects to the servers. It refuses servers older than 2.12 and, unless
// cfg.AllowSingle is set, a server without a cluster. The caller must call Close.
func Connect(ctx context.Context, cfg Config, log *slog.Logger) (*Conn, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	seals, err := newSeals(cfg, log)
	if err != nil {
		return nil, err
	}
	lost := newOutage(lostAfter)
	nc, err := dial(ctx, cfg, lost, log)
	if err != nil {
		return nil, fault.Unreachable(err, 0, "Cannot connect to NATS at %s.", cfg.URL)
	}
	c := &Conn{nc: nc, prefix: cfg.Prefix, replicas: 3, many: cfg.ManyOwners, RetryFor: writeTimeout, Log: log, Seals: seals, lost: lost, silent: newOutage(silentAfter)}
	c.calls = meter.NewCounters(CallDone, CallFailed, CallRefused, CallUnanswered)
	if err := c.checkServer(cfg); err != nil {
		nc.Close()
		return nil, err
	}
	if c.js, err = jetstream.New(nc); err != nil {
		nc.Close()
		return nil, fmt.Errorf("open JetStream: %w", err)
	}
	return c, nil
}

func (cfg Config) validate() error {
	if cfg.URL == "" {
		return fault.Missing("nats-url", "comma-separated nats:// or tls:// addresses")
	}
	for address := range strings.SplitSeq(cfg.URL, ",") {
		u, err := url.Parse(strings.TrimSpace(address))
		if err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls" {
			return &fault.Error{Kind: fault.Invalid, Code: "invalid_argument", Field: "nats-url", Message: "Invalid nats-url. Use nats://host:port or tls://host:port, separated by commas."}
		}
		if u.User != nil { // the message omits the value, which contains a password
			return &fault.Error{Kind: fault.Invalid, Code: "invalid_argument", Field: "nats-url", Message: "nats-url must not contain a user name or password. Use --nats-credentials-file."}
		}
	}
	if !IsSubjectToken(cfg.Prefix) {
		return fault.Field("nats-prefix", cfg.Prefix, "1 to 64 letters, digits, - and _")
	}
	if (cfg.Cert == "") != (cfg.Key == "") {
		return &fault.Error{Kind: fault.Invalid, Code: "missing_argument", Field: "nats-cert and nats-key", Allowed: "both or neither", Message: "Set both nats-cert and nats-key, or neither."}
	}
	if len(cfg.Secret) < seal.MinSecret {
		return fault.Missing("cluster-secret-file", "a file of mode 0600 shared by all replicas; create it with openssl rand -hex 32")
	}
	return cfg.checkRemote()
}

// checkRemote requires TLS and a login for servers on other machines.
func (cfg Config) checkRemote() error {
	for address := range strings.SplitSeq(cfg.URL, ",") {
		u, err := url.Parse(strings.TrimSpace(address))
		if err != nil || loopback.Host(u.Hostname()) {
			continue
		}
		if u.Scheme != "tls" && cfg.CA == "" || cfg.Credentials == "" && cfg.Cert == "" {
			return &fault.Error{
				Kind: fault.Invalid, Code: "nats_open", Field: "nats-url", Value: address,
				Message: fmt.Sprintf("nats-url %s is on another machine, which requires TLS (tls:// or --nats-ca) and a login "+
					"(--nats-credentials-file, or --nats-cert and --nats-key).", address),
			}
		}
	}
	return nil
}

// secure reports whether every connection must use TLS, also to discovered servers.
func (cfg Config) secure() bool { return cfg.CA != "" || strings.Contains(cfg.URL, "tls://") }

// inbox is the prefix of reply subjects. It contains the installation's prefix, so that server
// permissions can separate installations.
func (cfg Config) inbox() string { return "_INBOX_" + cfg.Prefix }

// IsSubjectToken reports whether text may be part of a subject and of a stream name.
func IsSubjectToken(text string) bool {
	if text == "" || len(text) > 64 {
		return false
	}
	return strings.IndexFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}) < 0
}

func dial(ctx context.Context, cfg Config, lost *outage, log *slog.Logger) (*nats.Conn, error) {
	options := []nats.Option{
		nats.Name("candela"), nats.Timeout(connectTimeout), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait),
		nats.PingInterval(pingInterval), nats.MaxPingsOutstanding(maxPings),
		// Without a buffer, a write while disconnected fails at once and was certainly
		// not sent.
		nats.ReconnectBufSize(-1),
		nats.DisconnectErrHandler(func(nc *nats.Conn, err error) {
			if nc.IsClosed() {
				return // by Close
			}
			lost.begin()
			log.WarnContext(ctx, "NATS connection lost", "error", err)
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			lost.over()
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
		// All servers are on this machine. Discovered servers elsewhere would be contacted
		// without TLS.
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

// checkServer refuses old and unclustered servers.
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
			Message: "The NATS server is not part of a cluster, so a disk failure loses data. Connect to a three-server cluster, or accept the risk with --nats-allow-single.",
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
			Message: fmt.Sprintf("NATS server version %q is not supported. Use %d.%d or later.", version, minMajor, minMinor),
		}
	}
	return nil
}

// Close closes the connection. Stores that use it fail afterwards.
func (c *Conn) Close() { c.nc.Close() }

// NATS returns the client's connection.
func (c *Conn) NATS() *nats.Conn { return c.nc }

const (
	// maxConnectWait bounds the wait for servers that start at the same time as candela.
	maxConnectWait    = 30 * time.Second
	connectRetryEvery = time.Second
)

// ConnectWait is Connect with retries while no server answers.
func ConnectWait(ctx context.Context, cfg Config, log *slog.Logger) (*Conn, error) {
	for began := time.Now(); ; {
		conn, err := Connect(ctx, cfg, log)
		if err == nil || fault.KindOf(err) != fault.Unavailable || time.Since(began) > maxConnectWait {
			return conn, err
		}
		log.WarnContext(ctx, "waiting for NATS", "error", err)
		if err := retry.Sleep(ctx, connectRetryEvery); err != nil {
			return nil, err
		}
	}
}
