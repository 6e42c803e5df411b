package conn_test

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"

	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/natstest"
	"candela/internal/store/replica/replicatest"
	"candela/lib/fault"
)

func TestConnect_RefusesUnsafeConfigurations(t *testing.T) {
	t.Parallel()
	one := replicatest.Lone()
	for name, c := range map[string]struct {
		cfg  conn.Config
		kind fault.Kind
		says string
	}{
		"no address":                      {conn.Config{Prefix: "p"}, fault.Invalid, "nats-url is required"},
		"an address of another kind":      {conn.Config{URL: "http://127.0.0.1", Prefix: "p"}, fault.Invalid, "nats-url"},
		"a password in the address":       {conn.Config{URL: "nats://me:hunter2@127.0.0.1:4222", Prefix: "p"}, fault.Invalid, "--nats-credentials-file"},
		"a prefix that is no token":       {conn.Config{URL: one.URL(), Prefix: "a.b"}, fault.Invalid, "nats-prefix"},
		"a certificate without its key":   {conn.Config{URL: one.URL(), Prefix: "p", Cert: "cert.pem"}, fault.Invalid, "nats-key"},
		"a credentials file that is gone": {conn.Config{URL: one.URL(), Prefix: "p", Credentials: "gone.creds"}, fault.Unavailable, "Cannot connect to NATS"},
		"authorities that are gone":       {conn.Config{URL: one.URL(), Prefix: "p", CA: "gone.pem"}, fault.Unavailable, "Cannot connect to NATS"},
		"no server":                       {conn.Config{URL: "nats://127.0.0.1:1", Prefix: "p"}, fault.Unavailable, "Cannot connect to NATS"},
		"an unclustered server":           {conn.Config{URL: one.URL(), Prefix: "p"}, fault.Unsupported, "--nats-allow-single"},
		"an old server":                   {conn.Config{URL: oldServer(t, "2.11.9"), Prefix: "p", AllowSingle: true}, fault.Unsupported, `version "2.11.9" is not supported. Use 2.12 or later.`},
		"servers elsewhere in the clear":  {conn.Config{URL: "nats://127.0.0.1:1,nats://192.0.2.1:4222", Prefix: "p", Credentials: "x.creds"}, fault.Invalid, "nats://192.0.2.1:4222 is on another machine, which requires TLS"},
		"servers elsewhere for everybody": {conn.Config{URL: "tls://192.0.2.1:4222", Prefix: "p"}, fault.Invalid, "and a login"},
		"a secret that is short":          {conn.Config{URL: one.URL(), Prefix: "p", Secret: make([]byte, 31)}, fault.Invalid, "openssl rand -hex 32"},
		"a server without a version":      {conn.Config{URL: oldServer(t, ""), Prefix: "p", AllowSingle: true}, fault.Unsupported, "2.12 or later"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.cfg.Secret == nil {
				c.cfg.Secret = natstest.Secret()
			}
			conn, err := conn.Connect(t.Context(), c.cfg, replicatest.Quiet())
			if err == nil {
				conn.Close()
				t.Fatal("connected")
			}
			if fault.KindOf(err) != c.kind || !strings.Contains(fault.Of(err).Public(), c.says) {
				t.Errorf("got %v, want %v with %q", err, c.kind, c.says)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%v contains the password", err)
			}
		})
	}
}

// oldServer greets like a NATS server of a version, announces another server and answers pings.
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

// TestConnect_WithoutTLSIgnoresDiscoveredServers connects to a server that announces another one.
func TestConnect_WithoutTLSIgnoresDiscoveredServers(t *testing.T) {
	t.Parallel()
	conn, err := conn.Connect(t.Context(), conn.Config{URL: oldServer(t, "2.15.0"), Prefix: "p", AllowSingle: true, Secret: natstest.Secret()}, replicatest.Quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if found := conn.NATS().DiscoveredServers(); len(found) > 0 {
		t.Errorf("it would connect to %v", found)
	}
}
