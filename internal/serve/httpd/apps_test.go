package httpd_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"candela/internal/serve/httpd/httpdtest"
	"candela/internal/serve/mcp"
	"candela/internal/serve/mcp/mcptest"
)

// The server keeps nothing between requests: the session id that a client was given says
// whether it shows apps.
func TestApps_SessionSaysWhoShowsThem(t *testing.T) {
	t.Parallel()
	server, err := mcp.NewServer(mcptest.Toolbox{}, mcp.Config{
		Name: "candela", Log: slog.New(slog.DiscardHandler),
		App: &mcp.App{URI: "ui://test/page", Name: "page", Page: func() ([]byte, error) { return []byte("page"), nil }},
	})
	if err != nil {
		t.Fatal(err)
	}
	handler := newServerOver(t, server, httpdtest.One(), nil).Handler()
	post := func(session, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, base+"/mcp", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer good")
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	hello := func(capabilities string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":` + capabilities + `,"clientInfo":{"name":"t","version":"1"}}}`
	}
	const apps = `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`
	const read = `{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"ui://test/page"}}`
	for _, before := range []string{"", "old"} {
		plain, shows := post(before, hello("{}")), post(before, hello(apps))
		with, without := shows.Header().Get("Mcp-Session-Id"), plain.Header().Get("Mcp-Session-Id")
		if !strings.HasPrefix(with, before) || before != "" && without != before {
			t.Errorf("sessions %q and %q of a client that had %q", with, without, before)
		}
		if got := post(with, read).Body.String(); !strings.Contains(got, `"text":"page"`) {
			t.Errorf("with the session %q: %s", with, got)
		}
		for _, session := range []string{without, ""} {
			if got := post(session, read).Body.String(); !strings.Contains(got, "method not found") {
				t.Errorf("with the session %q: %s", session, got)
			}
		}
	}
}
