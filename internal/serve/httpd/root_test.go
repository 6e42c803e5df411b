package httpd

import "testing"

func TestPrefersPage(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]bool{
		"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8": true, // Chromium
		"text/html": true,
		"TEXT/HTML;charset=utf-8, application/json": true,
		"image/png, text/html;q=0.1":                true,
		"":                                          false,
		"*/*":                                       false,
		"application/json":                          false,
		"application/json, text/html":               false,
		"application/json, text/event-stream":       false,
		"application/*, text/html":                  false,
		"*/*, text/html":                            false,
		"text/html;q=0, */*":                        false,
		"text/html;q=0":                             false,
		"text/plain":                                false,
		"text/htmlx":                                false,
	} {
		if got := prefersPage([]string{header}); got != want {
			t.Errorf("%q: %v", header, got)
		}
	}
	if prefersPage(nil) || !prefersPage([]string{"text/html", "application/json"}) || prefersPage([]string{"application/json", "text/html"}) {
		t.Error("several headers are not read in their order, or none is not the JSON")
	}
}
