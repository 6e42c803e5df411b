package cluster_test

import (
	"bufio"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/kit/fault"
	"candela/internal/store/cluster"
	"candela/internal/store/cluster/natstest"
)

func TestConnect_RefusesWhatItCannotRelyOn(t *testing.T) {
	t.Parallel()
	one := lone
	for name, c := range map[string]struct {
		cfg  cluster.Config
		kind fault.Kind
		says string
	}{
		"no address":                       {cluster.Config{Prefix: "p"}, fault.Invalid, "nats-url is required"},
		"an address of another kind":       {cluster.Config{URL: "http://127.0.0.1", Prefix: "p"}, fault.Invalid, "nats-url"},
		"a password in the address":        {cluster.Config{URL: "nats://me:hunter2@127.0.0.1:4222", Prefix: "p"}, fault.Invalid, "credentials file"},
		"a prefix that is no token":        {cluster.Config{URL: one.URL(), Prefix: "a.b"}, fault.Invalid, "nats-prefix"},
		"a certificate without its key":    {cluster.Config{URL: one.URL(), Prefix: "p", Cert: "cert.pem"}, fault.Invalid, "nats-key"},
		"a credentials file that is gone":  {cluster.Config{URL: one.URL(), Prefix: "p", Credentials: "gone.creds"}, fault.Unavailable, "no NATS server answers"},
		"authorities that are gone":        {cluster.Config{URL: one.URL(), Prefix: "p", CA: "gone.pem"}, fault.Unavailable, "no NATS server answers"},
		"nobody there":                     {cluster.Config{URL: "nats://127.0.0.1:1", Prefix: "p"}, fault.Unavailable, "no NATS server answers"},
		"a server that is alone":           {cluster.Config{URL: one.URL(), Prefix: "p"}, fault.Unsupported, "--nats-allow-single"},
		"a server of the year before last": {cluster.Config{URL: oldServer(t, "2.11.9"), Prefix: "p", AllowSingle: true}, fault.Unsupported, `version "2.11.9"; 2.12 or later`},
		"servers elsewhere in the clear":   {cluster.Config{URL: "nats://127.0.0.1:1,nats://192.0.2.1:4222", Prefix: "p", Credentials: "x.creds"}, fault.Invalid, "nats://192.0.2.1:4222 is not on this machine: it needs TLS"},
		"servers elsewhere for everybody":  {cluster.Config{URL: "tls://192.0.2.1:4222", Prefix: "p"}, fault.Invalid, "and a login"},
		"a secret that is short":           {cluster.Config{URL: one.URL(), Prefix: "p", Secret: make([]byte, 31)}, fault.Invalid, "openssl rand -hex 32"},
		"a server without a version":       {cluster.Config{URL: oldServer(t, ""), Prefix: "p", AllowSingle: true}, fault.Unsupported, "2.12 or later"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.cfg.Secret == nil {
				c.cfg.Secret = natstest.Secret()
			}
			conn, err := cluster.Connect(t.Context(), c.cfg, quiet())
			if err == nil {
				conn.Close()
				t.Fatal("connected")
			}
			if fault.KindOf(err) != c.kind || !strings.Contains(fault.Of(err).Public(), c.says) {
				t.Errorf("got %v, want %v with %q", err, c.kind, c.says)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%v tells the password", err)
			}
		})
	}
}

// oldServer greets like a NATS server of some version, tells of one elsewhere and answers
// pings.
func oldServer(t *testing.T, version string) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprintf(conn, "INFO {\"server_id\":\"x\",\"version\":%q,\"headers\":true,\"max_payload\":1048576,\"proto\":1,\"connect_urls\":[\"192.0.2.1:4222\"]}\r\n", version)
			lines := bufio.NewScanner(conn)
			for lines.Scan() {
				if lines.Text() == "PING" {
					fmt.Fprint(conn, "PONG\r\n")
				}
			}
			_ = conn.Close()
		}
	}()
	return "nats://" + l.Addr().String()
}

// TestConnect_InTheClearStaysOnThisMachine connects to a server that tells of one
// elsewhere.
func TestConnect_InTheClearStaysOnThisMachine(t *testing.T) {
	t.Parallel()
	conn, err := cluster.Connect(t.Context(), cluster.Config{URL: oldServer(t, "2.15.0"), Prefix: "p", AllowSingle: true, Secret: natstest.Secret()}, quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if found := conn.Discovered(); len(found) > 0 {
		t.Errorf("it would connect to %v", found)
	}
}

func TestOpenStore_MakesStreamsOnce(t *testing.T) {
	t.Parallel()
	prefix := newPrefix()
	openStore(t, servers, prefix)
	openStore(t, servers, prefix)
	for _, name := range []string{"_ALERTS", "_STATE"} {
		cfg := streamOf(t, servers, prefix+name).CachedInfo().Config
		if cfg.Replicas != 3 || cfg.Storage != jetstream.FileStorage || cfg.Metadata["candela_schema"] != "2" {
			t.Errorf("%s has %d copies in %v and the schema %q", cfg.Name, cfg.Replicas, cfg.Storage, cfg.Metadata["candela_schema"])
		}
	}
}

func TestOpenStore_RefusesAnotherSchema(t *testing.T) {
	t.Parallel()
	for name, meta := range map[string]map[string]string{"a later one": {"candela_schema": "3"}, "one without seals": {"candela_schema": "1"}, "none": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prefix := newPrefix()
			_, err := adminOf(t, servers).CreateStream(t.Context(), jetstream.StreamConfig{Name: prefix + "_ALERTS", Subjects: []string{prefix + ".alert.>"}, Metadata: meta})
			if err != nil {
				t.Fatal(err)
			}
			_, err = connect(t, servers, prefix).OpenStore(t.Context(), time.Now)
			if fault.KindOf(err) != fault.Unsupported {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestOpenStore_SaysThatTheSecretIsAnother(t *testing.T) {
	t.Parallel()
	prefix := newPrefix()
	openStore(t, servers, prefix)
	other := slices.Repeat(natstest.Secret(), 2)
	conn, err := insist(t, func() (*cluster.Conn, error) {
		return cluster.Connect(t.Context(), cluster.Config{URL: servers.URL(), Prefix: prefix, Secret: other}, quiet())
	})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = conn.OpenStore(t.Context(), time.Now)
	if f := fault.Of(err); f == nil || f.Code != "cluster_secret" || !strings.Contains(f.Message, "--cluster-secret-file") {
		t.Errorf("got %v", err)
	}
}

// connectRaw connects to servers without our rules.
func connectRaw(tb testing.TB, c *natstest.Cluster) *nats.Conn {
	tb.Helper()
	nc, err := nats.Connect(c.URL(), nats.Timeout(patience))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	return nc
}

// adminOf speaks to servers without our rules.
func adminOf(tb testing.TB, c *natstest.Cluster) jetstream.JetStream {
	tb.Helper()
	js, err := jetstream.New(connectRaw(tb, c), jetstream.WithDefaultTimeout(patience))
	if err != nil {
		tb.Fatal(err)
	}
	return js
}
