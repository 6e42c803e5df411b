package console_test

import (
	"net/http"
	"strings"
	"testing"

	"candela/internal/serve/console"
)

// TestPages_OfTheTableAreShown opens each page of the table that needs no id: it has a template, an icon that exists and a
// letter of its own.
func TestPages_OfTheTableAreShown(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.book.fill()
	b := s.browser().login()
	letters := map[string]string{}
	for _, p := range s.handler.Pages() {
		if !p.HasIcon {
			t.Errorf("%s has an icon that icons.go does not have", p.Path)
		}
		if other := letters[p.Key]; p.Key != "" && other != "" {
			t.Errorf("%s and %s have the same letter %q", p.Path, other, p.Key)
		}
		letters[p.Key] = p.Path
		if strings.Contains(p.Path, "{") {
			continue
		}
		if r := b.get(console.Root + p.Path); r.status != http.StatusOK || !strings.Contains(r.body, "<h1") {
			t.Errorf("%s: %d, or no heading in %.300s", p.Path, r.status, r.body)
		}
	}
}
