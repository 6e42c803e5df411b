package migrate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"candela/internal/access/owners"
	"candela/internal/kit/principal"
	"candela/internal/store/ledger"
	"candela/lib/fault"
)

// TestMigrate_OwnersKeepTheirStanding copies the records of owners there and back: who is suspended
// or erased stays so, plans and linked identities come along.
func TestMigrate_OwnersKeepTheirStanding(t *testing.T) {
	t.Parallel()
	m, home, other := newMover(t), filepath.Join(t.TempDir(), "home"), filepath.Join(t.TempDir(), "other")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(t.Context(), home, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []principal.Owner{"ann", "bob", "eve"} {
		if _, err := l.SeeOwner(t.Context(), owners.Owner{ID: name, Issuer: "https://id.example", Subject: string(name), Email: string(name) + "@example.com"}); err != nil {
			t.Fatal(err)
		}
	}
	_, err = l.LinkOwner(t.Context(), "ann", "https://other.example", "x")
	_, planned := l.SetOwnerPlan(t.Context(), "ann", "pro")
	_, suspended := l.SetOwnerState(t.Context(), "bob", owners.Suspended)
	for _, err := range []error{err, planned, suspended} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := ownersOf(t, l)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := m.migrate(t.Context(), home, Plan{To: "nats"}); fault.Of(err) == nil || fault.Of(err).Code != "owners_mode" {
		t.Errorf("many owners are copied as one: %v", err)
	}
	m.prefix += "x"
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("not used here\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m.flags = []string{"--owners", "oidc", "--oidc-issuer", "http://127.0.0.1:1", "--oidc-client-id", "candela", "--oidc-client-secret-file", secret, "--oidc-allow", "anyone"}
	counts, err := m.migrate(t.Context(), home, Plan{To: "nats"})
	if d := counts["owners"]; err != nil || d.Found != 3 || d.Copied != 3 {
		t.Fatalf("%+v, %v", d, err)
	}
	if counts, err := m.migrate(t.Context(), home, Plan{To: "nats"}); err != nil || counts["owners"].Copied != 0 {
		t.Errorf("a second time: %+v, %v", counts["owners"], err)
	}
	if _, err := m.migrate(t.Context(), other, Plan{To: "local"}); err != nil {
		t.Fatal(err)
	}
	back, err := ledger.Open(t.Context(), other, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = back.Close() }()
	if got := ownersOf(t, back); got != want {
		t.Errorf("the owners are\n%s\nand were\n%s", got, want)
	}
}

func ownersOf(t *testing.T, l *ledger.Ledger) string {
	t.Helper()
	var text strings.Builder
	for o, err := range l.Owners(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		linked, err := l.Identities(t.Context(), o.ID)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "%+v %+v\n", o, linked)
	}
	return text.String()
}
