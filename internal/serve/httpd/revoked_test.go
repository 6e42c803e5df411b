package httpd_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/serve/httpd"
	"candela/internal/serve/httpd/httpdtest"
	"candela/internal/serve/mcp/mcptest"
)

func TestStream_RevokedTokenStopsListening(t *testing.T) {
	t.Parallel()
	tokens := httpdtest.NewRevocable(httpdtest.One())
	serving(t, tokens, nil, func(s *scene) {
		t, p := s.t, s.p
		conn, began := p.dial(t), time.Now()
		send(t, conn, openStream)
		stream := readHead(t, conn).body
		readFrame(t, stream)
		tokens.Revoke("good")
		if rest, err := io.ReadAll(stream); err != nil || len(rest) > 0 || time.Since(began) != 0 {
			t.Fatalf("%q, %v after %s", rest, err, time.Since(began))
		}
		_ = conn.Close()
	})
}

// The streams that wait for their turn end with the token, too.
func TestStream_RevokedTokenEndsEverySession(t *testing.T) {
	t.Parallel()
	tokens := httpdtest.NewRevocable(httpdtest.One())
	serving(t, tokens, nil, func(s *scene) {
		t, began := s.t, time.Now()
		streams := make([]io.Reader, 3)
		for i := range streams {
			conn := s.p.dial(t)
			defer func() { _ = conn.Close() }()
			send(t, conn, "GET /mcp HTTP/1.1\nHost: localhost\nAuthorization: Bearer good\nMcp-Session-Id: %d\n\n", i)
			body := readHead(t, conn).body
			readFrame(t, body)
			streams[i] = body
		}
		tokens.Revoke("good")
		for i, stream := range streams {
			if rest, err := io.ReadAll(stream); err != nil || len(rest) > 0 || time.Since(began) != 0 {
				t.Errorf("session %d: %q, %v after %s", i, rest, err, time.Since(began))
			}
		}
	})
}

// A revoked client learns nothing of later events.
func TestStream_RevokedTokenGetsNoMoreEvents(t *testing.T) {
	t.Parallel()
	tokens, streams := httpdtest.NewRevocable(httpdtest.One()), &later{}
	serving(t, tokens, func(c *httpd.Config) { c.Streams = streams }, func(s *scene) {
		t, p := s.t, s.p
		source := mcptest.NewSource()
		streams.Streams = source
		conn, began := p.dial(t), time.Now()
		send(t, conn, openStream)
		stream := readHead(t, conn).body
		readFrame(t, stream)
		tokens.Revoke("good")
		source.Send(notice(1))
		if rest, err := io.ReadAll(stream); err != nil || len(rest) > 0 || time.Since(began) != 0 {
			t.Fatalf("%q, %v after %s", rest, err, time.Since(began))
		}
		if delivered, closed := source.Counts(); delivered != 0 || closed != 1 {
			t.Fatalf("%d events count as delivered, closed %d times", delivered, closed)
		}
		_ = conn.Close()
	})
}

// A batch is not a way around a revocation: what has not begun by then is not done,
// and the answer says so.
func TestMessage_RevokedTokenEndsItsBatch(t *testing.T) {
	t.Parallel()
	tokens := httpdtest.NewRevocable(httpdtest.One())
	serving(t, tokens, nil, func(s *scene) {
		t, conn, began := s.t, s.p.dial(s.t), time.Now()
		sendPost(t, conn, `[{"jsonrpc":"2.0","id":1,"method":"ping"},`+waitCall+`,{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo"}}]`)
		synctest.Wait()
		tokens.Revoke("good")
		response := readHead(t, conn)
		body, err := io.ReadAll(response.body)
		want := `[{"jsonrpc":"2.0","id":1,"result":{}},` +
			`{"jsonrpc":"2.0","id":5,"error":{"code":-32000,"message":"unauthorized: the bearer token ended during this call; it may have been executed"}},` +
			`{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"unauthorized: the bearer token has ended; this call was not executed"}}]`
		if err != nil || response.status != http.StatusOK || string(body) != want || time.Since(began) != 0 {
			t.Errorf("%d %s, %v after %s\nwant %s", response.status, body, err, time.Since(began), want)
		}
		_ = conn.Close()
	})
}

func TestMessage_RevokedTokenEndsItsCall(t *testing.T) {
	t.Parallel()
	tokens := httpdtest.NewRevocable(httpdtest.One())
	serving(t, tokens, nil, func(s *scene) {
		t, conn, began := s.t, s.p.dial(s.t), time.Now()
		sendPost(t, conn, waitCall)
		synctest.Wait()
		tokens.Revoke("good")
		response := readHead(t, conn)
		text, _ := io.ReadAll(response.body)
		if response.status != http.StatusUnauthorized || time.Since(began) != 0 || response.header.Get("WWW-Authenticate") == "" ||
			!strings.Contains(string(text), "it may have been executed") {
			t.Errorf("status %d after %s: %s", response.status, time.Since(began), text)
		}
		_ = conn.Close()
	})
}
