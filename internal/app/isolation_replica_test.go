package app

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/alerting/notify/records"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/natstest"
	"candela/internal/testkit/longtest"
)

// manyReplicas returns the flags of replicas for many owners, of an installation of their own at
// the shared servers, and its prefix.
func manyReplicas(t *testing.T) (flags []string, servers *natstest.Cluster, prefix string) {
	t.Helper()
	servers, err := natsServers.Servers()
	if err != nil {
		t.Fatal(err)
	}
	prefix = "t" + rand.Text()
	nats := []string{"--nats-url", servers.URL(), "--nats-prefix", prefix, "--cluster-secret-file", natstest.SecretFile(t)}
	return append(nats, manyFlags(t)...), servers, prefix
}

// manyFlags returns the flags of a program for many owners, whose provider is never asked.
func manyFlags(t *testing.T) []string {
	t.Helper()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("not used here\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--owners", "oidc", "--oidc-issuer", "http://127.0.0.1:1", "--oidc-client-id", "candela", "--oidc-client-secret-file", secret, "--oidc-allow", "anyone"}
}

// TestReplicas_OwnersInterleavedEqualServersOfTheirOwn is the comparison of owners with servers of
// their own, where three replicas at three servers serve all owners and each call goes to any of
// them. Then every subject at the servers must name its owner.
func TestReplicas_OwnersInterleavedEqualServersOfTheirOwn(t *testing.T) {
	t.Parallel()
	flags, servers, prefix := manyReplicas(t)
	w := newOwnersWorld(t, longtest.Pick(3, 6), flags)
	w.live(longtest.Pick(60, 1000))
	var names []string
	for _, o := range w.owners {
		names = append(names, string(o.name))
	}
	subjects := subjectsOf(t, servers.URL(), prefix)
	seen := map[string]bool{}
	for _, subject := range subjects {
		kind := wantOwnerIn(t, subject, names)
		seen[kind] = true
	}
	for _, kind := range []string{"alert", "poll", "sub"} {
		if !seen[kind] {
			t.Errorf("no subject of the kind %s among %q", kind, subjects)
		}
	}
}

// wantOwnerIn fails if a subject, without its prefix, neither names an owner nor is of a kind that
// belongs to none. It returns the kind.
func wantOwnerIn(t *testing.T, subject string, owners []string) (kind string) {
	t.Helper()
	tokens := strings.Split(subject, ".")
	place := map[string]int{"alert": 2, "owner": 2, "standing": 2, "poll": 1, "cursor": 1, "order": 1, "journal": 1, "desk": 1, "audit": 1}
	reasons := map[string]string{
		"sub":                          "by the hash of a token, which belongs to one owner; its data name the owner, and readers compare",
		string(records.AttachmentKind): "the same",
		"place":                        "of a replica: positions of streams by the hashes of tokens",
		"series":                       "up to which bar a series was evaluated, for all owners",
		"noticed":                      "up to which message of orders notices are stored, for all owners",
		"standing.plans":               "the plans of the host, the same for all owners",
		"member":                       "of a replica", "mark": "a barrier", "writer": "which replica may write orders",
		"code": "by the hash of a code", "token": "by its hash", "seal": "the key of all logins", "identity": "by the hash of issuer and subject",
	}
	kind = tokens[0]
	if reasons[kind] != "" || reasons[subject] != "" {
		return kind
	}
	at, known := place[kind]
	if !known || at >= len(tokens) {
		t.Errorf("the subject %s is of an unknown kind: it must name its owner, or the test why it need not", subject)
		return kind
	}
	if (kind == "desk" || kind == "audit") && tokens[at] == conn.EncodeToken("") {
		return kind // keys and policies, which prove the events of all owners, and what outlives an owner
	}
	owner, err := conn.DecodeToken(tokens[at])
	if err != nil || !slices.Contains(owners, owner) && owner != accountOwner {
		t.Errorf("the subject %s names no owner: %q, %v", subject, owner, err)
	}
	return kind
}

// subjectsOf returns all subjects of an installation, without its prefix.
func subjectsOf(t *testing.T, url, prefix string) (all []string) {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	names := js.StreamNames(t.Context(), jetstream.WithStreamListSubject(prefix+".>"))
	for name := range names.Name() {
		s, err := js.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		info, err := s.Info(t.Context(), jetstream.WithSubjectFilter(">"))
		if err != nil {
			t.Fatal(err)
		}
		for subject := range info.State.Subjects {
			all = append(all, strings.TrimPrefix(subject, prefix+"."))
		}
	}
	if err := names.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
