package console_test

import (
	"net/http"
	"strings"
	"testing"

	"candela/internal/access/oauth/oauthtest"
)

func TestScripts_ReadAndRemove(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.book.fill()
	b := s.browser().login()
	shows(t, b, "/console/scripts", ">my_cross</a>", ">broken</a>", `class="st warn"`, `href="/console/scripts/my_cross/remove"`)
	page := b.get("/console/scripts/my_cross")
	if page.status != http.StatusOK || strings.Contains(page.body, "<script>alert") || !strings.Contains(page.body, "plot(close)") {
		t.Errorf("%d %s", page.status, page.body)
	}
	if r := b.get("/console/scripts/none"); r.status != http.StatusNotFound {
		t.Errorf("an unknown script: %d", r.status)
	}
	// Removing asks for the passphrase.
	if r := b.post("/console/scripts/my_cross/remove"); r.status == http.StatusSeeOther {
		t.Error("it was removed without the passphrase")
	}
	if r := b.post("/console/scripts/my_cross/remove", "passphrase", oauthtest.Passphrase); r.status != http.StatusSeeOther {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if r := b.get("/console/scripts"); strings.Contains(r.body, ">my_cross</a>") {
		t.Error("it is still there")
	}
}
