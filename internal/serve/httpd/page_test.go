package httpd_test

import (
	"bytes"
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
	// The page has a font of its own, and may load no other.
	for _, name := range []string{"/fonts/roboto.woff", "/fonts/roboto-medium.woff"} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, name, http.NoBody))
		font := w.Body.Bytes()
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "font/woff" || !bytes.HasPrefix(font, []byte("wOFF")) || len(font) > 30_000 || !bytes.Contains(body, []byte(name)) {
			t.Errorf("%s: %d %v, %d bytes", name, w.Code, w.Header(), len(font))
		}
	}
	if policy := page.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "font-src 'self'") {
		t.Errorf("the policy is %s", policy)
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
