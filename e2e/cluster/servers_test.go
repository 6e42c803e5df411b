package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/store/replica/natstest"
)

// server is one NATS server.
type server struct {
	*process
	name                  string
	client, route, status string // addresses
}

// servers are the NATS servers, and a connection of the test's own.
type servers struct {
	tb   testing.TB
	dir  string // of certificates and the cluster secret
	all  []*server
	conn *nats.Conn
	js   jetstream.JetStream
}

// startServers runs n servers and waits until they have a leader.
func startServers(tb testing.TB, net *network, dir string, n int) *servers {
	tb.Helper()
	s := &servers{tb: tb, dir: dir}
	var addresses []string
	for i := range n {
		at := net.place()
		addresses = append(addresses, at.ip)
		one := &server{name: "n" + strconv.Itoa(i)}
		for _, address := range []*string{&one.client, &one.route, &one.status} {
			*address = at.ip + ":" + at.free(tb)
		}
		one.process = newProcess(tb, one.name, dir, at, programs.Path(tb, natsServer, ""), "-c", filepath.Join(dir, one.name+".conf"))
		s.all = append(s.all, one)
	}
	s.equip(addresses)
	for _, one := range s.all {
		s.configure(dir, one)
		one.start(tb)
	}
	s.settle()
	var err error
	if s.conn, err = nats.Connect(s.url(), nats.Name("judge"), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond),
		nats.PingInterval(time.Second), nats.MaxPingsOutstanding(2), nats.Timeout(30*time.Second),
		nats.RootCAs(s.file("ca.pem")), nats.ClientCert(s.file("judge.pem"), s.file("judge-key.pem"))); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.conn.Close)
	if s.js, err = jetstream.New(s.conn); err != nil {
		tb.Fatal(err)
	}
	return s
}

// file returns the path of something that equip made.
func (s *servers) file(name string) string { return filepath.Join(s.dir, name) }

// equip makes what servers and replicas know each other by, and copies the permissions
// that are shipped.
func (s *servers) equip(addresses []string) {
	s.tb.Helper()
	if err := natstest.Certificates(s.dir, addresses, "candela", "judge"); err != nil {
		s.tb.Fatal(err)
	}
	permissions, err := os.ReadFile(deploy + "cluster/permissions.conf")
	if err != nil {
		s.tb.Fatal(err)
	}
	for name, data := range map[string][]byte{"permissions.conf": permissions, "cluster-secret": []byte(clusterSecret)} {
		if err := os.WriteFile(s.file(name), data, 0o600); err != nil {
			s.tb.Fatal(err)
		}
	}
}

// flags are those by which a replica speaks to the servers.
func (s *servers) flags() []string {
	return []string{
		"--nats-url", s.url(), "--nats-ca", s.file("ca.pem"), "--nats-cert", s.file("candela.pem"), "--nats-key", s.file("candela-key.pem"),
		"--cluster-secret-file", s.file("cluster-secret"),
	}
}

// clusterSecret is what all replicas know.
const clusterSecret = "5ae1f09c33b7d2648810ce4f7796abd0e2f3549b1c6d8a7250fb93e4c1d0a687"

// configure writes a server's configuration, as docs/scaling.md asks for it. The judge
// may do everything.
func (s *servers) configure(dir string, one *server) {
	s.tb.Helper()
	text := fmt.Sprintf(`server_name: %s
listen: %q
http: %q
jetstream { store_dir: %q, sync_interval: always, max_memory_store: 512MB, max_file_store: 4GB }
tls { cert_file: %q, key_file: %q, ca_file: %q, verify_and_map: true }
include ./permissions.conf
authorization { users: [{ user: "CN=candela", permissions: $CANDELA }, { user: "CN=judge" }] }
`, one.name, one.client, one.status, filepath.Join(dir, one.name), s.file("server.pem"), s.file("server-key.pem"), s.file("ca.pem"))
	if len(s.all) > 1 {
		var routes []string
		for _, other := range s.all {
			routes = append(routes, "nats://"+other.route)
		}
		text += fmt.Sprintf("cluster { name: harness, listen: %q, routes: [%s] }\n", one.route, strings.Join(routes, ", "))
	}
	if err := os.WriteFile(filepath.Join(dir, one.name+".conf"), []byte(text), 0o600); err != nil {
		s.tb.Fatal(err)
	}
}

// url returns where the servers are.
func (s *servers) url() string {
	var urls []string
	for _, one := range s.all {
		urls = append(urls, "tls://"+one.client)
	}
	return strings.Join(urls, ",")
}

// settle waits until every server says that it is well.
func (s *servers) settle() {
	s.tb.Helper()
	until(s.tb, 3*time.Minute, "the NATS servers agree", func() bool {
		return !slices.ContainsFunc(s.all, func(one *server) bool { return one.ask(s.tb, "/healthz", nil) != nil })
	})
}

// ask reads a page of the server's monitor.
func (s *server) ask(tb testing.TB, path string, into any) error {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.status+path, http.NoBody)
	if err != nil {
		tb.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: (&net.Dialer{Timeout: time.Second}).DialContext}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, response.Status)
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(into)
}

// leader returns the server that leads a stream.
func (s *servers) leader(stream string) (found *server) {
	s.tb.Helper()
	until(s.tb, 2*time.Minute, stream+" has a leader", func() bool {
		found = s.leads(stream)
		return found != nil
	})
	return found
}

// leads returns the server that leads a stream, nil when nobody says so.
func (s *servers) leads(stream string) *server {
	ctx, cancel := context.WithTimeout(s.tb.Context(), 2*time.Second)
	defer cancel()
	one, err := s.js.Stream(ctx, stream)
	if err != nil || one.CachedInfo().Cluster == nil {
		return nil
	}
	i := slices.IndexFunc(s.all, func(have *server) bool { return have.name == one.CachedInfo().Cluster.Leader })
	if i < 0 {
		return nil
	}
	return s.all[i]
}

// load is what the program costs the servers.
type load struct {
	Connections, Subscriptions int // of the program, not of the judge
	Consumers                  int
}

func (l load) times(n int) load { return load{l.Connections * n, l.Subscriptions * n, l.Consumers * n} }

func (l load) plus(m load) load {
	return load{l.Connections + m.Connections, l.Subscriptions + m.Subscriptions, l.Consumers + m.Consumers}
}

// load counts at the servers.
func (s *servers) load() (l load, err error) {
	for _, one := range s.all {
		var page struct {
			Connections []struct {
				Name string `json:"name"`
				Subs int    `json:"subscriptions"`
			} `json:"connections"`
		}
		if err := one.ask(s.tb, "/connz?limit=10000", &page); err != nil {
			return l, err
		}
		for _, c := range page.Connections {
			if c.Name == "candela" {
				l.Connections++
				l.Subscriptions += c.Subs
			}
		}
	}
	ctx, cancel := context.WithTimeout(s.tb.Context(), 10*time.Second)
	defer cancel()
	names := s.js.StreamNames(ctx)
	for name := range names.Name() {
		stream, err := s.js.Stream(ctx, name)
		if err != nil {
			return l, err
		}
		list := stream.ListConsumers(ctx)
		for c := range list.Info() {
			if c.NumWaiting > 0 || c.PushBound { // the servers keep others for a while whose reader is gone
				l.Consumers++
			}
		}
		if err := list.Err(); err != nil {
			return l, err
		}
	}
	return l, names.Err()
}

// until waits for something.
func until(tb testing.TB, limit time.Duration, what string, ok func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(limit); !ok(); {
		if time.Now().After(deadline) {
			tb.Fatalf("nothing within %s: %s", limit, what)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
