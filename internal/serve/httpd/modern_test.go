package httpd_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/serve/httpd"
	"candela/internal/serve/httpd/httpdtest"
	"candela/internal/serve/mcp"
	"candela/internal/serve/mcp/mcptest"
)

// TestModernTranscripts replays what stdio replays too, with the headers and statuses of
// the newer revision.
func TestModernTranscripts(t *testing.T) {
	handler := newServerOver(t, mcptest.ModernServer(t, mcptest.Toolbox{}, &mcptest.Shelf{}), httpdtest.One(), nil).Handler()
	mcptest.Transcripts(t, "../mcp/testdata/modern", func(t *testing.T, body []byte) []byte {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, base+"/mcp", bytes.NewReader(body))
		maps.Copy(r.Header, mcptest.HeaderOf(body))
		r.Header.Set("Authorization", "Bearer good")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		got, want := w.Body.Bytes(), http.StatusOK
		switch {
		case bytes.Contains(got, []byte(`; revision 2026-07-28 offers`)):
			want = http.StatusNotFound
		case bytes.Contains(got, []byte(`_meta must contain`)), bytes.Contains(got, []byte(`"code":-32022`)):
			want = http.StatusBadRequest
		}
		if w.Code != want || w.Header().Get("Mcp-Session-Id") != "" && !bytes.Contains(got, []byte("2025-03-26")) {
			t.Errorf("status %d, want %d, header %v for %s", w.Code, want, w.Header(), body)
		}
		return got
	})
}

// listening serves a shelf to the tokens good, other and charts.
func listening(t *testing.T, body func(s *scene, shelf *mcptest.Shelf, tokens *httpdtest.Revocable)) {
	t.Helper()
	all := httpdtest.One()
	all["other"] = principal.Caller{Subject: "owner", Key: "key-of-other", Scope: principal.Read}
	all["charts"] = principal.Caller{Subject: "owner", Key: "key-of-charts", Scope: principal.Charts}
	tokens, shelf := httpdtest.NewRevocable(all), &mcptest.Shelf{}
	servingMCP(t, func(t *testing.T) *mcp.Server {
		t.Helper()
		return mcptest.ModernServer(t, mcptest.Toolbox{}, shelf)
	}, tokens, func(c *httpd.Config) { c.Reconnect = time.Second }, func(s *scene) { body(s, shelf, tokens) })
}

// postModern sends a modern request and returns the head of the answer.
func postModern(s *scene, token, body string) (head, net.Conn) {
	s.t.Helper()
	conn := s.p.dial(s.t)
	var lines strings.Builder
	for name, values := range mcptest.HeaderOf([]byte(body)) {
		fmt.Fprintf(&lines, "%s: %s\n", name, values[0])
	}
	send(s.t, conn, "POST /mcp HTTP/1.1\nHost: localhost\nAccept: application/json, text/event-stream\nAuthorization: Bearer %s\n%sContent-Length: %d\n\n", token, lines.String(), len(body))
	if _, err := io.WriteString(conn, body); err != nil {
		s.t.Fatal(err)
	}
	return readHead(s.t, conn), conn
}

const (
	watchNote  = `"notifications":{"toolsListChanged":true,"resourceSubscriptions":["test://none","test://note"]}`
	tag        = `"_meta":{"io.modelcontextprotocol/subscriptionId":%s}`
	ackNote    = `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{` + tag + `,"notifications":{"resourceSubscriptions":["test://note"]}}}`
	updateNote = `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{` + tag + `,"uri":"test://note"}}`
)

// openListen opens a subscription and reads its acknowledgement.
func openListen(s *scene, token, id string) (*bufio.Reader, net.Conn) {
	s.t.Helper()
	answer, conn := postModern(s, token, mcptest.Modern(id, "subscriptions/listen", watchNote))
	if kind := answer.header.Get("Content-Type"); answer.status != http.StatusOK || kind != "text/event-stream" || answer.header.Get("X-Accel-Buffering") != "no" {
		s.t.Fatalf("status %d, %v", answer.status, answer.header)
	}
	wantEvent(s.t, answer.body, fmt.Sprintf(ackNote, id))
	return answer.body, conn
}

func wantEvent(t *testing.T, stream *bufio.Reader, message string) {
	t.Helper()
	if frame := readFrame(t, stream); frame != "event: message\ndata: "+message+"\n" {
		t.Fatalf("frame %q, want %s", frame, message)
	}
}

func TestListen_AcknowledgesThenReportsEachChange(t *testing.T) {
	t.Parallel()
	listening(t, func(s *scene, shelf *mcptest.Shelf, _ *httpdtest.Revocable) {
		t := s.t
		first, one := openListen(s, "good", "1")
		second, two := openListen(s, "other", `"b"`)
		for range 3 {
			shelf.Change("new")
			wantEvent(t, first, fmt.Sprintf(updateNote, "1"))
			wantEvent(t, second, fmt.Sprintf(updateNote, `"b"`))
		}
		began := time.Now()
		if frame := readFrame(t, first); frame != ": keep-alive\n" || time.Since(began) > 15*time.Second {
			t.Errorf("%q after %s", frame, time.Since(began))
		}
		_, _ = one.Close(), two.Close()
		synctest.Wait()
		if open := shelf.Watched(); open != 0 {
			t.Errorf("%d watches stay open", open)
		}
	})
}

// TestListen_EndsWithAResult looks at each end that is not the client's.
func TestListen_EndsWithAResult(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(s *scene, tokens *httpdtest.Revocable){
		"the server stops":     func(s *scene, _ *httpdtest.Revocable) { s.stop() },
		"the token is revoked": func(_ *scene, tokens *httpdtest.Revocable) { tokens.Revoke("good") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listening(t, func(s *scene, shelf *mcptest.Shelf, tokens *httpdtest.Revocable) {
				stream, conn := openListen(s, "good", "7")
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					end(s, tokens)
				}()
				wantEvent(s.t, stream, `{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":7}}}`)
				if rest, err := io.ReadAll(stream); err != nil || len(rest) > 0 || shelf.Watched() > 0 {
					s.t.Errorf("%q, %v, %d watches at the end", rest, err, shelf.Watched())
				}
				_ = conn.Close()
				<-ended
			})
		})
	}
}

func TestListen_IsBoundedPerToken(t *testing.T) {
	t.Parallel()
	listening(t, func(s *scene, shelf *mcptest.Shelf, _ *httpdtest.Revocable) {
		conns := make([]net.Conn, mcp.MaxListening)
		for i := range conns {
			_, conns[i] = openListen(s, "good", "1")
		}
		answer, refused := postModern(s, "good", mcptest.Modern("9", "subscriptions/listen", watchNote))
		text, err := answer.body.ReadString('}')
		if err != nil || answer.status != http.StatusTooManyRequests || !strings.Contains(text, "this client has 4 open") {
			s.t.Errorf("status %d, %s, %v", answer.status, text, err)
		}
		_, other := openListen(s, "other", "1")
		_ = conns[0].Close()
		synctest.Wait()
		_, conns[0] = openListen(s, "good", "1")
		for _, conn := range slices.Concat(conns, []net.Conn{other, refused}) {
			_ = conn.Close()
		}
		synctest.Wait()
		if open := shelf.Watched(); open != 0 {
			s.t.Errorf("%d watches stay open", open)
		}
	})
}

func TestListen_NeedsTheScope(t *testing.T) {
	t.Parallel()
	listening(t, func(s *scene, shelf *mcptest.Shelf, _ *httpdtest.Revocable) {
		for _, body := range []string{mcptest.Modern("1", "subscriptions/listen", watchNote), mcptest.Modern("1", "resources/read", `"uri":"test://note"`)} {
			answer, conn := postModern(s, "charts", body)
			text, _ := answer.body.ReadString('\n')
			if answer.header.Get("Content-Type") != "application/json" || !strings.Contains(text, `"code":-32602`) || !strings.Contains(text, "insufficient_scope") || shelf.Watched() > 0 {
				s.t.Errorf("%v, %s", answer.header, text)
			}
			_ = conn.Close()
		}
	})
}
