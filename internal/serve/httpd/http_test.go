package httpd_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"go.uber.org/goleak"

	"candela/internal/serve/httpd"
	"candela/internal/serve/httpd/httpdtest"
	"candela/internal/serve/mcp"
	"candela/internal/serve/mcp/mcptest"
	"candela/internal/serve/tool/tooltest"
	"candela/internal/testkit/longtest"
)

func TestMain(m *testing.M) {
	if !playRole() {
		goleak.VerifyTestMain(m)
	}
}

const base = "http://localhost:9315"

func newServer(tb testing.TB, change func(*httpd.Config)) *httpd.Server {
	tb.Helper()
	return newServerOver(tb, mcptest.Server(tb, mcptest.Toolbox{}), httpdtest.One(), change)
}

func newServerOver(tb testing.TB, m *mcp.Server, auth httpd.Authorizer, change func(*httpd.Config)) *httpd.Server {
	tb.Helper()
	cfg := httpd.Config{BaseURL: base, Name: "candela", Version: "test", Tools: 15, Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&cfg)
	}
	server, err := httpd.New(m, auth, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return server
}

// post answers one POST of the shared transcripts.
func post(t *testing.T, handler http.Handler, path string, body []byte) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, base+path, bytes.NewReader(body))
	r.Header.Set("Authorization", "Bearer good")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w.Result()
}

func bodyOf(t *testing.T, response *http.Response) []byte {
	t.Helper()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return data
}

// TestTranscripts replays what stdio replays too, on each path of POST: the
// protocol over tools that misbehave, and candela's own tools.
func TestTranscripts(t *testing.T) {
	for dir, tools := range map[string]mcp.ToolSet{"../mcp": mcptest.Toolbox{}, "../tool": tooltest.Registry(t, nil)} {
		handler := newServerOver(t, mcptest.Server(t, tools), httpdtest.One(), nil).Handler()
		for _, path := range []string{"/mcp", "/", "/message"} {
			t.Run("POST "+path, func(t *testing.T) {
				mcptest.Transcripts(t, dir+"/testdata/transcript", func(t *testing.T, body []byte) []byte {
					t.Helper()
					return exchange(t, handler, path, body)
				})
			})
		}
	}
}

// exchange sends a body and returns the answer's, after a look at the status.
func exchange(t *testing.T, handler http.Handler, path string, body []byte) []byte {
	t.Helper()
	response := post(t, handler, path, body)
	got := bodyOf(t, response)
	want := http.StatusOK
	switch {
	case len(got) == 0:
		want = http.StatusAccepted
	case bytes.Contains(got, []byte(`"code":-32700`)), got[0] == '{' && bytes.Contains(got, []byte(`"code":-32600`)):
		want = http.StatusBadRequest
	}
	if response.StatusCode != want {
		t.Errorf("status %d, want %d, for %s", response.StatusCode, want, body)
	}
	return got
}

// TestHTTP replays requests with their headers against testdata/http. A file
// "request" is the request as sent, without Content-Length; "response" is the
// status, the headers in order of name and the body.
func TestHTTP(t *testing.T) {
	files, err := filepath.Glob("testdata/http/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			dispatcher := mcptest.Server(t, mcptest.Toolbox{})
			if strings.HasPrefix(filepath.Base(file), "modern") {
				dispatcher = mcptest.ModernServer(t, mcptest.Toolbox{}, &mcptest.Shelf{})
			}
			handler := newServerOver(t, dispatcher, httpdtest.One(), func(c *httpd.Config) {
				c.AllowedOrigins = []string{"https://friend.example"}
				c.MaxBody = 4096
				if strings.HasPrefix(filepath.Base(file), "public") {
					c.BaseURL = "https://candela.example"
				}
			}).Handler()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i+1 < len(archive.Files); i += 2 {
				want := &archive.Files[i+1]
				got := replay(t, handler, archive.Files[i].Data)
				if *mcptest.Update {
					want.Data = got
				} else if !bytes.Equal(got, want.Data) {
					t.Errorf("exchange %d\n%s\nwant\n%s\ngot\n%s", i/2+1, archive.Files[i].Data, want.Data, got)
				}
			}
			if *mcptest.Update {
				if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func replay(t *testing.T, handler http.Handler, raw []byte) []byte {
	t.Helper()
	head, body, _ := bytes.Cut(raw, []byte("\n\n"))
	body = bytes.TrimSuffix(body, []byte("\n"))
	if fill, ok := bytes.CutPrefix(body, []byte("REPEAT ")); ok {
		body = bytes.Repeat(fill, 5000)
	}
	length := ""
	if len(body) > 0 {
		length = fmt.Sprintf("Content-Length: %d\r\n", len(body))
	}
	head = bytes.ReplaceAll(head, []byte("\n"), []byte("\r\n"))
	text := slices.Concat(bytes.TrimRight(head, "\r\n"), []byte("\r\n"+length+"\r\n"), body)
	request, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(text)))
	if err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, request.WithContext(t.Context()))
	response := w.Result()
	var b bytes.Buffer
	fmt.Fprintln(&b, response.StatusCode)
	for _, name := range slices.Sorted(maps.Keys(response.Header)) {
		switch {
		case name == "X-Request-Id" || name == "Content-Length":
		case name == "Mcp-Session-Id" && response.Header.Get(name) == response.Header.Get("X-Request-Id"):
			fmt.Fprintf(&b, "%s: (request id)\n", name)
		default:
			fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(response.Header[name], "\n\t"))
		}
	}
	if data := bodyOf(t, response); len(data) > 0 {
		fmt.Fprintf(&b, "\n%s", data)
		if data[len(data)-1] != '\n' {
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

// TestMessage_NoCodeOfANewerRevision sends hostile requests on every path, with and without
// a token, to a server of 2025-03-26: clients take the codes for a sign of a newer one and
// do not fall back.
func TestMessage_NoCodeOfANewerRevision(t *testing.T) {
	t.Parallel()
	random, handler := rand.New(rand.NewPCG(longtest.Seed(), 32)), newServer(t, nil).Handler()
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	for range longtest.Pick(20_000, 1_000_000) {
		body := mcptest.Hostile(random)
		method := pick(http.MethodPost, http.MethodPost, http.MethodPost, http.MethodPost, http.MethodPost, http.MethodDelete, http.MethodPut, http.MethodGet)
		r := httptest.NewRequestWithContext(t.Context(), method, base+pick("/mcp", "/", "/message", "/sse"), strings.NewReader(body))
		for name, value := range map[string]string{
			"Authorization":        pick("Bearer good", "Bearer good", "Bearer good", "Bearer bad", "Bearer down", ""),
			"Accept":               pick("", "application/json", "application/json, text/event-stream", "text/plain"),
			"Content-Type":         pick("application/json", "application/json", "text/plain", ""),
			"Mcp-Protocol-Version": pick("", "2026-07-28", "2025-11-25", "x"), "Mcp-Method": pick("", "tools/call", "x"), "Mcp-Name": pick("", "echo", "=?base64?x?="),
			"Mcp-Session-Id": pick("", "x"), "Origin": pick("", "", "", "https://evil.example"), "Last-Event-ID": pick("", "7"),
		} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		if method == http.MethodGet {
			r.Header.Set("Accept", "text/plain") // an event stream would not end
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if code := mcptest.NewerCode(w.Body.Bytes()); code != "" {
			t.Fatalf("%s in the answer to %s %v %s", code, method, r.Header, body)
		}
	}
}
