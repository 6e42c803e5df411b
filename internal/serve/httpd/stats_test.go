package httpd_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestStats_PathsThatNobodyAnswersAreOne asks for many paths: they are counted and do
// not become names.
func TestStats_PathsThatNobodyAnswersAreOne(t *testing.T) {
	t.Parallel()
	server := newServer(t, nil)
	handler := server.Handler()
	ask := func(method, path string) {
		r := httptest.NewRequestWithContext(t.Context(), method, "http://localhost"+path, nil)
		handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	before := len(server.Stats().Requests)
	for _, path := range []string{"/a", "/b", "/mcp/x"} {
		ask(http.MethodGet, path)
	}
	ask(http.MethodGet, "/")
	ask(http.MethodGet, "/mcp") // without a token
	s := server.Stats()
	if s.Requests["other"] != 3 || s.Requests["/"] != 1 || s.Requests["/mcp"] != 1 || len(s.Requests) != before {
		t.Errorf("%v", s.Requests)
	}
	if s.Refused["401"] != 1 || s.Refused["other"] != 0 || s.Streams != 0 {
		t.Errorf("%+v", s)
	}
}
