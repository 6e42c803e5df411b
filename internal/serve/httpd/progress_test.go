package httpd_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"candela/internal/serve/httpd/httpdtest"
	"candela/internal/serve/mcp"
	"candela/internal/serve/mcp/mcptest"
)

// working serves a Worker.
func working(t *testing.T, body func(s *scene, w mcptest.Worker)) {
	t.Helper()
	var w mcptest.Worker
	servingOver(t, func(*testing.T) mcp.ToolSet {
		w.Ended = make(chan error, 1)
		return w
	}, httpdtest.One(), nil, func(s *scene) { body(s, w) })
}

// postAccepting sends a message that accepts kinds of answers.
func postAccepting(t *testing.T, conn io.Writer, accept, body string) {
	t.Helper()
	send(t, conn, "POST /mcp HTTP/1.1\nHost: localhost\nAuthorization: Bearer good\nAccept: %s\nContent-Length: %d\n\n%s", accept, len(body), body)
}

const bothKinds = "application/json, text/event-stream"

func TestMessage_ReportsProgressAsEvents(t *testing.T) {
	t.Parallel()
	working(t, func(s *scene, _ mcptest.Worker) {
		conn := s.p.dial(s.t)
		postAccepting(s.t, conn, bothKinds, mcptest.WorkCall)
		answer := readHead(s.t, conn)
		if answer.status != http.StatusOK || answer.header.Get("Content-Type") != "text/event-stream" {
			s.t.Fatalf("status %d, %v", answer.status, answer.header)
		}
		for _, want := range []string{mcptest.WorkBegun, mcptest.WorkFinished, mcptest.WorkAnswer} {
			wantEvent(s.t, answer.body, want)
		}
		if rest, err := io.ReadAll(answer.body); err != nil || len(rest) > 0 {
			s.t.Errorf("%q after the answer, %v", rest, err)
		}
		_ = conn.Close()
	})
}

// TestMessage_AnswersPlainlyWithoutProgress holds that a client gets events only if it asks
// for progress and accepts them.
func TestMessage_AnswersPlainlyWithoutProgress(t *testing.T) {
	t.Parallel()
	plain := strings.Replace(mcptest.WorkCall, `,"_meta":{"progressToken":"t"}`, "", 1)
	for name, ask := range map[string][2]string{
		"no token":     {bothKinds, plain},
		"no events":    {"application/json", mcptest.WorkCall},
		"odd token":    {bothKinds, strings.Replace(mcptest.WorkCall, `"t"`, `{"a":1}`, 1)},
		"in a batch":   {bothKinds, "[" + mcptest.WorkCall + "]"},
		"not reported": {bothKinds, strings.Replace(mcptest.WorkCall, "tools/call", "ping", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			working(t, func(s *scene, _ mcptest.Worker) {
				conn := s.p.dial(s.t)
				postAccepting(s.t, conn, ask[0], ask[1])
				answer := readHead(s.t, conn)
				text := make([]byte, 18)
				_, err := io.ReadFull(answer.body, text)
				if answer.header.Get("Content-Type") != "application/json" || err != nil || !strings.HasPrefix(strings.Trim(string(text), "["), `{"jsonrpc":"2.0"`) {
					s.t.Errorf("%v: %s", answer.header, text)
				}
				_ = conn.Close()
			})
		})
	}
}

// TestMessage_CancelsACallThatReports holds that a cancelled call ends without an answer, and
// one whose client has left ends, too.
func TestMessage_CancelsACallThatReports(t *testing.T) {
	t.Parallel()
	working(t, func(s *scene, w mcptest.Worker) {
		conn, other := s.p.dial(s.t), s.p.dial(s.t)
		postAccepting(s.t, conn, bothKinds, mcptest.WorkCall)
		answer := readHead(s.t, conn)
		wantEvent(s.t, answer.body, mcptest.WorkBegun)
		postAccepting(s.t, other, bothKinds, mcptest.WorkCancelled)
		if status := readHead(s.t, other).status; status != http.StatusAccepted {
			s.t.Errorf("status %d", status)
		}
		if cause := <-w.Ended; cause == nil || cause.Error() != "cancelled by the client" {
			s.t.Errorf("ended by %v", cause)
		}
		if rest, err := io.ReadAll(answer.body); err != nil || len(rest) > 0 {
			s.t.Errorf("%q after the cancellation, %v", rest, err)
		}
		_, _ = conn.Close(), other.Close()

		left := s.p.dial(s.t)
		postAccepting(s.t, left, bothKinds, mcptest.WorkCall)
		wantEvent(s.t, readHead(s.t, left).body, mcptest.WorkBegun)
		_ = left.Close()
		if cause := <-w.Ended; errors.Is(cause, nil) {
			s.t.Error("the call of a client that left goes on")
		}
	})
}
