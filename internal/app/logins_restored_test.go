package app

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"candela/internal/operate/control"
	"candela/internal/store/loginfile"
	fakebinance "candela/internal/testkit/fake/binance"
)

// loginFiles returns the files of stored logins, and what puts them back.
func loginFiles(t *testing.T, home string) (putBack func()) {
	t.Helper()
	kept := map[string][]byte{}
	for _, name := range []string{loginfile.KeyName, loginfile.FileName} {
		data, err := os.ReadFile(filepath.Join(home, name))
		if err != nil {
			t.Fatal(err)
		}
		kept[name] = data
	}
	return func() {
		t.Helper()
		for name, data := range kept {
			if err := os.WriteFile(filepath.Join(home, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestPersistLogins_FilesFromBeforeARevocation puts the files of stored logins back that were copied
// before a client was revoked, or all of them. The audit log knows better.
func TestPersistLogins_FilesFromBeforeARevocation(t *testing.T) {
	t.Parallel()
	venue := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
	t.Cleanup(venue.Close)
	for name, revoke := range map[string]func(t *testing.T, home string) error{
		"one client": func(t *testing.T, home string) error {
			t.Helper()
			all, err := control.Clients(t.Context(), home, "")
			for _, c := range all {
				if c.Survives {
					return control.Revoke(t.Context(), home, c.ID)
				}
			}
			t.Fatalf("the clients are %v, %v", all, err)
			return nil
		},
		"all": func(t *testing.T, home string) error {
			t.Helper()
			_, err := control.RevokeAll(t.Context(), home)
			return err
		},
		"none": func(*testing.T, string) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPersistent(t)
			s, stop := p.start("--trade", "--binance-url", venue.URL)
			token := s.Token()
			putBack := loginFiles(t, p.home)
			if err := revoke(t, p.home); err != nil {
				t.Fatal(err)
			}
			stop()
			putBack()
			s, stop = p.start("--trade", "--binance-url", venue.URL)
			defer stop()
			status, _ := ask(t, http.MethodPost, p.url+"/mcp", token, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_alerts","arguments":{}}}`)
			if name == "none" {
				if status != http.StatusOK {
					t.Errorf("a client that was not revoked: %d", status)
				}
				return
			}
			if status != http.StatusUnauthorized {
				t.Errorf("the revoked token: %d", status)
			}
			if !strings.Contains(s.Log.String(), "older than the audit log") {
				t.Errorf("the log does not say why: %s", s.Log.String())
			}
		})
	}
}
