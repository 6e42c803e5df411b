package replicatest_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/access/oauth"
	"candela/internal/access/oauth/oauthtest"
	kept "candela/internal/access/owners"
	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/records"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/alerts"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/inbox"
	"candela/internal/store/replica/logins"
	"candela/internal/store/replica/member"
	"candela/internal/store/replica/natstest"
	"candela/internal/store/replica/orders"
	"candela/internal/store/replica/owners"
	"candela/internal/store/replica/replicatest"
)

// deployed runs a server with the permissions of deploy/cluster and returns its address and the
// folder of certificates.
func deployed(t *testing.T) (url, dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := natstest.Certificates(dir, []string{"127.0.0.1"}, "candela", "somebody"); err != nil {
		t.Fatal(err)
	}
	permissions, err := os.ReadFile("../../../../deploy/cluster/permissions.conf")
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`
listen: 127.0.0.1:-1
jetstream { store_dir: %q }
tls { cert_file: %q, key_file: %q, ca_file: %q, verify_and_map: true }
include ./permissions.conf
authorization { users: [{ user: "CN=candela", permissions: $CANDELA }] }
`, dir, filepath.Join(dir, "server.pem"), filepath.Join(dir, "server-key.pem"), filepath.Join(dir, "ca.pem"))
	for name, data := range map[string][]byte{"permissions.conf": permissions, "nats.conf": []byte(text)} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opts, err := server.ProcessConfigFile(filepath.Join(dir, "nats.conf"))
	if err != nil {
		t.Fatal(err)
	}
	opts.NoLog, opts.NoSigs = true, true
	s, err := server.NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(replicatest.Patience) {
		t.Fatal("the server does not start")
	}
	return "tls://" + s.Addr().String(), dir
}

// logBuffer is a log that can be read while it is written.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestPermissions_AreEnoughForAReplica uses everything that replicas use, with the shipped
// permissions.
func TestPermissions_AreEnoughForAReplica(t *testing.T) {
	t.Parallel()
	url, dir := deployed(t)
	log := &logBuffer{}
	logger := slog.New(slog.NewTextHandler(log, nil))
	cfg := conn.Config{
		URL: url, Prefix: "candela", AllowSingle: true, Secret: natstest.Secret(), ManyOwners: true,
		CA: filepath.Join(dir, "ca.pem"), Cert: filepath.Join(dir, "candela.pem"), Key: filepath.Join(dir, "candela-key.pem"),
	}
	var conns [2]*conn.Conn
	var members [2]*member.Group
	for i := range conns {
		conn, err := conn.Connect(t.Context(), cfg, logger)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Close)
		conns[i] = conn
		if members[i], err = member.Join(t.Context(), conn, member.Info{Name: "one"}, logger); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(members[i].Close)
		members[i].Activate(t.Context())
	}
	replicatest.Agree(t, members[:]...)
	members[1].Handle("who", replicatest.Answering("b "))
	if got, err := members[0].Call(t.Context(), replicatest.OwnedShard(t, members[1]), "who", []byte("x")); err != nil || string(got) != "b x" {
		t.Errorf("the other replica replies %q, %v", got, err)
	}
	tokens, err := logins.Open(t.Context(), conns[0], oauthtest.Owner(t), oauth.OneOwner(100), logger)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tokens.Close)
	replicatest.IssueToken(t, tokens, "token", time.Now())
	if n, err := tokens.RevokeAll(t.Context(), time.Now()); err != nil || n != 1 {
		t.Errorf("revoked %d logins, %v", n, err)
	}
	store, err := alerts.Open(t.Context(), conns[0], time.Now)
	if err != nil {
		t.Fatal(err)
	}
	replicatest.Fire(t, store, 2)
	if _, err := store.PruneEntries(t.Context(), time.Now().Add(time.Hour), 10, 10); err != nil {
		t.Error(err)
	}
	tail, err := store.OpenChangeFeed(t.Context(), alerts.ChangeFeedConfig{Restore: func(uint64, []notify.Entry) {}, Publish: func([]notify.Entry) {}, Log: logger})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tail.Close)
	shared, err := inbox.Open(t.Context(), conns[0], logger)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(shared.Close)
	if err := shared.Watch(t.Context(), func(records.Record) {}); err != nil {
		t.Error(err)
	}
	people, err := owners.Open(t.Context(), conns[0], time.Now, store)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(people.Close)
	if err := people.Follow(t.Context(), logger, func(principal.Owner, kept.State) {}); err != nil {
		t.Error(err)
	}
	for range 2 {
		orders, err := orders.Open(t.Context(), conns[0], time.Now)
		if err != nil {
			t.Fatal(err)
		}
		if len(replicatest.BookOf(t, orders).Orders()) == 0 {
			replicatest.CloseOrders(t, orders, 0, 3)
		}
		for range 2 { // the second replaces the first
			if err := orders.SaveSnapshot(t.Context(), replicatest.Ann(), replicatest.BookOf(t, orders)); err != nil {
				t.Error(err)
			}
		}
	}
	if text := strings.ToLower(log.String()); strings.Contains(text, "permission") || strings.Contains(text, "not deleted") {
		t.Errorf("a permission is missing: %s", text)
	}
}

// TestPermissions_AreNoMoreThanAReplicaNeeds tries requests that no replica makes.
func TestPermissions_AreNoMoreThanAReplicaNeeds(t *testing.T) {
	t.Parallel()
	url, dir := deployed(t)
	dial := func(user string, options ...nats.Option) (*nats.Conn, error) {
		return nats.Connect(url, append(options, nats.RootCAs(filepath.Join(dir, "ca.pem")), nats.ClientCert(filepath.Join(dir, user+".pem"), filepath.Join(dir, user+"-key.pem")))...)
	}
	if nc, err := dial("somebody"); err == nil {
		nc.Close()
		t.Error("a certificate with another name is accepted")
	}
	refusals := make(chan error, 16)
	nc, err := dial("candela", nats.CustomInboxPrefix("_INBOX_candela"), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refusals <- err }))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "candela_ORDERS", Subjects: []string{"candela.order.>"}}); err != nil {
		t.Fatal(err)
	}
	for name, try := range map[string]func() error{
		"write elsewhere":     func() error { return nc.Publish("other.subject", nil) },
		"delete orders":       func() error { return nc.Publish("$JS.API.STREAM.DELETE.candela_ORDERS", nil) },
		"purge orders":        func() error { return nc.Publish("$JS.API.STREAM.PURGE.candela_ORDERS", nil) },
		"change a stream":     func() error { return nc.Publish("$JS.API.STREAM.UPDATE.candela_ORDERS", nil) },
		"make a stream":       func() error { return nc.Publish("$JS.API.STREAM.CREATE.other", nil) },
		"listen to all":       func() error { _, err := nc.SubscribeSync(">"); return err },
		"listen to rows":      func() error { _, err := nc.SubscribeSync("candela.token.*"); return err },
		"listen to inboxes":   func() error { _, err := nc.SubscribeSync("_INBOX.>"); return err },
		"write to the system": func() error { return nc.Publish("$SYS.REQ.SERVER.PING", nil) },
	} {
		if err := try(); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-refusals:
			if !strings.Contains(strings.ToLower(err.Error()), "permissions violation") {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(replicatest.Patience):
			t.Errorf("%s is allowed", name)
		}
	}
}
