package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"candela/cmd/candela/cli"
	"candela/internal/app"
)

// TestVersion_ChecksOnlyWhenAsked asks a server on the loopback.
func TestVersion_ChecksOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		own, location string
		status        int
		want          string
		fails         bool
	}{
		"a newer release":        {"v0.1.0 (go1.26)", "/a/b/releases/tag/v0.2.0", 302, "newer release, v0.2.0", false},
		"the newest one":         {"v0.2.0 (go1.26)", "/a/b/releases/tag/v0.2.0", 302, "no newer release", false},
		"a candidate of it":      {"v0.2.0-rc.1", "/a/b/releases/tag/v0.2.0", 302, "newer release, v0.2.0", false},
		"numbers, not texts":     {"v0.10.0", "/a/b/releases/tag/v0.9.0", 302, "no newer release", false},
		"built from source":      {"(devel) (go1.26)", "/a/b/releases/tag/v0.2.0", 302, "built from source", false},
		"no release yet":         {"v0.1.0", "/a/b/releases", 302, "has no release", false},
		"no such repository":     {"v0.1.0", "", 404, "--from", true},
		"a server with problems": {"v0.1.0", "", 503, "503", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan string, 1)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked <- r.Method + " " + r.URL.Path + " " + r.UserAgent()
				if test.location != "" {
					w.Header().Set("Location", test.location)
				}
				w.WriteHeader(test.status)
			}))
			defer server.Close()
			var out bytes.Buffer
			deps := app.Deps{Version: test.own, Stdout: &out}
			if err := printVersion(t.Context(), cli.Call{Args: []string{"--from", server.URL + "/a/b"}, Deps: deps}); err != nil || len(asked) > 0 {
				t.Fatalf("asked without --check: %v", err)
			}
			err := printVersion(t.Context(), cli.Call{Args: []string{"--check", "--from", server.URL + "/a/b/"}, Deps: deps})
			said := out.String()
			if err != nil {
				said += err.Error()
			}
			if (err != nil) != test.fails || !strings.Contains(said, test.want) {
				t.Errorf("%s", said)
			}
			if got := <-asked; got != "HEAD /a/b/releases/latest candela" {
				t.Errorf("it sent %q", got)
			}
		})
	}
}
