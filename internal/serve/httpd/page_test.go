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

// A browser at an address of programs, or at none, gets a page with the reason; a program gets what it always got.
func TestPages_ForBrowsersThatAreLost(t *testing.T) {
	t.Parallel()
	handler := newServer(t, nil).Handler()
	get := func(method, path, accept, token string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody)
		r.Header.Set("Accept", accept)
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	for path, want := range map[string]struct {
		status int
		text   string
	}{
		"/mcp": {http.StatusUnauthorized, "This address is for programs"}, "/sse": {http.StatusUnauthorized, "This address is for programs"},
		"/none": {http.StatusNotFound, "There is no page here"}, "/MCP": {http.StatusNotFound, "There is no page here"},
	} {
		page := get(http.MethodGet, path, browser, "")
		if page.Code != want.status || !strings.Contains(page.Body.String(), want.text) || page.Header().Get("X-Frame-Options") != "DENY" {
			t.Errorf("%s in a browser: %d %.200s", path, page.Code, page.Body)
		}
		for _, accept := range []string{"application/json, text/event-stream", "text/event-stream", "*/*", "application/json, text/html"} {
			if program := get(http.MethodGet, path, accept, ""); program.Header().Get("Content-Type") == "text/html; charset=utf-8" {
				t.Errorf("%s for a program that accepts %s: %d %.200s", path, accept, program.Code, program.Body)
			}
		}
		if own := get(http.MethodGet, path, browser, "wrong"); strings.Contains(own.Header().Get("Content-Type"), "html") && path != "/none" && path != "/MCP" {
			t.Errorf("%s with a token: %d %.200s", path, own.Code, own.Body)
		}
	}
	if post := get(http.MethodPost, "/none", browser, ""); post.Body.String() != `{"error":"not_found"}` {
		t.Errorf("POST: %d %s", post.Code, post.Body)
	}
}
