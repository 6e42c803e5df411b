package httpd_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestRoot_PageForBrowsers opens the root as a browser and as programs.
func TestRoot_PageForBrowsers(t *testing.T) {
	t.Parallel()
	handler := newServer(t, nil).Handler()
	get := func(accept string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	page := get("text/html,application/xhtml+xml,*/*;q=0.8")
	body, err := io.ReadAll(page.Body)
	if err != nil || page.Code != http.StatusOK || page.Header().Get("Content-Type") != "text/html; charset=utf-8" || page.Header().Get("Vary") != "Accept" ||
		page.Header().Get("X-Frame-Options") != "DENY" || !strings.HasPrefix(page.Header().Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("%d %v %v", page.Code, page.Header(), err)
	}
	text := string(body)
	if !strings.Contains(text, "/mcp</code>") || strings.Contains(text, "<script") || strings.Contains(strings.ToLower(text), "paper") || strings.Contains(text, "/console") {
		t.Error(text)
	}
	for _, accept := range []string{"", "*/*", "application/json"} {
		if got := get(accept).Header().Get("Content-Type"); got != "application/json" {
			t.Errorf("%q: %s", accept, got)
		}
	}
}
