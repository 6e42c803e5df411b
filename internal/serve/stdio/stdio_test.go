package stdio_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/local"
	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/internal/serve/mcp/mcptest"
	"candela/internal/serve/stdio"
	"candela/internal/serve/tool/tooltest"
	"candela/lib/market"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// session is a running session whose client is the test.
type session struct {
	in     *io.PipeWriter
	out    *bufio.Reader
	outEnd *io.PipeReader
	done   chan error
	cancel context.CancelFunc
}

func start(t *testing.T, change func(*stdio.Config)) *session {
	t.Helper()
	return startOver(t, mcptest.Toolbox{}, change)
}

func startOver(t *testing.T, tools mcp.ToolSet, change func(*stdio.Config)) *session {
	t.Helper()
	return startServer(t, mcptest.Server(t, tools), change)
}

func startServer(t *testing.T, server *mcp.Server, change func(*stdio.Config)) *session {
	t.Helper()
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	cfg := stdio.Config{Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&cfg)
	}
	s := &session{in: inWrite, out: bufio.NewReaderSize(outRead, 1<<21), outEnd: outRead, done: make(chan error, 1)}
	run := stdio.New(server, inRead, outWrite, cfg)
	ctx, cancel := context.WithCancel(t.Context())
	s.cancel = cancel
	go func() {
		s.done <- run.Run(ctx, ctx)
		_ = outWrite.Close()
	}()
	return s
}

func (s *session) send(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

func (s *session) read(t *testing.T) string {
	t.Helper()
	line, err := s.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(line, "\n")
}

// end closes the input and returns what was still written, and Run's error.
func (s *session) end(t *testing.T) (string, error) {
	t.Helper()
	_ = s.in.Close()
	rest, err := io.ReadAll(s.out)
	if err != nil {
		t.Fatal(err)
	}
	s.cancel()
	return string(rest), <-s.done
}

const marker = `{"jsonrpc":"2.0","id":"marker","method":"ping"}`

// TestTranscripts replays what HTTP replays too. A ping after each exchange
// proves that the session goes on and that nothing more was said.
func TestTranscripts(t *testing.T) {
	for dir, tools := range map[string]mcp.ToolSet{"../mcp": mcptest.Toolbox{}, "../tool": tooltest.Registry(t, nil)} {
		replay(t, startOver(t, tools, nil), dir+"/testdata/transcript")
	}
}

// replay sends the transcripts of a folder.
func replay(t *testing.T, s *session, dir string) {
	t.Helper()
	mcptest.Transcripts(t, dir, func(t *testing.T, body []byte) []byte {
		t.Helper()
		s.send(t, string(body))
		var got []byte
		if answered(body) {
			got = []byte(s.read(t))
		}
		s.send(t, marker)
		if line := s.read(t); line != `{"jsonrpc":"2.0","id":"marker","result":{}}` {
			t.Fatalf("after %s came %s", body, line)
		}
		return got
	})
	if rest, err := s.end(t); rest != "" || err != nil {
		t.Fatalf("%q, %v at the end", rest, err)
	}
}

// answered reports whether a body expects a response: a request, or something broken.
func answered(body []byte) bool {
	var messages []struct{ ID, Method, Result, Error any }
	if err := json.Unmarshal(body, &messages); err != nil {
		messages = append(messages[:0], struct{ ID, Method, Result, Error any }{})
		if err := json.Unmarshal(body, &messages[0]); err != nil {
			return true
		}
	}
	for _, m := range messages {
		if m.Result == nil && m.Error == nil && (m.ID != nil || bytes.Contains(body, []byte(`"id":null`))) {
			return true
		}
	}
	return len(messages) == 0
}

func TestSession_MalformedLinesDoNotEndIt(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for _, line := range []string{"garbage", "\xff\xfe", "{", strings.Repeat("[", 5000), "null", strings.Repeat("x", 1<<20+1)} {
		s.send(t, line)
		var answer struct {
			ID    *int
			Error struct{ Code int }
		}
		if err := json.Unmarshal([]byte(s.read(t)), &answer); err != nil || answer.ID != nil || answer.Error.Code == 0 {
			t.Fatalf("%.20q: %v %+v", line, err, answer)
		}
	}
	s.send(t, "") // an empty line is nothing
	s.send(t, "  \r")
	s.send(t, marker)
	if line := s.read(t); !strings.Contains(line, `"marker"`) {
		t.Fatal(line)
	}
	if rest, err := s.end(t); rest != "" || err != nil {
		t.Fatalf("%q, %v", rest, err)
	}
}

func TestSession_ListsBeforeInitialize(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.send(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if line := s.read(t); !strings.Contains(line, `"tools":[`) {
		t.Fatal(line)
	}
	if rest, err := s.end(t); rest != "" || err != nil {
		t.Fatalf("%q, %v", rest, err)
	}
}

func TestSession_LastLineWithoutLineFeed(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	go func() {
		_, _ = io.WriteString(s.in, marker)
		_ = s.in.Close()
	}()
	if line := s.read(t); !strings.Contains(line, `"marker"`) {
		t.Fatal(line)
	}
	if rest, err := s.end(t); rest != "" || err != nil {
		t.Fatalf("%q, %v", rest, err)
	}
}

func TestSession_EndOfInputDrainsPendingAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, began := start(t, nil), time.Now()
		for _, id := range []string{"1", "2"} {
			s.send(t, `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"wait"}}`)
		}
		s.send(t, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo"}}`)
		rest, err := s.end(t)
		if err != nil || time.Since(began) != 10*time.Second {
			t.Fatalf("%v after %s, want the grace of 10 s", err, time.Since(began))
		}
		for _, want := range []string{`"id":1,"result"`, `"id":2,"result"`, `"id":3,"result"`} {
			if !strings.Contains(rest, want) {
				t.Errorf("%s is missing in\n%s", want, rest)
			}
		}
	})
}

func TestSession_SlowCallHoldsNothingUpAndCanBeCancelled(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.send(t, `{"jsonrpc":"2.0","id":"slow","method":"tools/call","params":{"name":"wait"}}`)
	s.send(t, `{"jsonrpc":"2.0","id":"quick","method":"tools/call","params":{"name":"echo"}}`)
	if line := s.read(t); !strings.Contains(line, `"quick"`) {
		t.Fatal(line)
	}
	s.send(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"slow"}}`)
	if rest, err := s.end(t); rest != "" || err != nil {
		t.Fatalf("%q, %v: a cancelled request has no answer", rest, err)
	}
}

func TestSession_TooManyCallsAreRefusedNotQueued(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, nil)
		go func() {
			for range 256 {
				s.send(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}}`)
			}
			s.send(t, `{"jsonrpc":"2.0","id":"one too many","method":"tools/call","params":{"name":"wait"}}`)
			s.send(t, `[{"jsonrpc":"2.0","id":"batched","method":"tools/call","params":{"name":"wait"}}]`)
		}()
		for _, want := range []string{`{"jsonrpc":"2.0","id":"one too many","error":`, `[{"jsonrpc":"2.0","id":"batched","error":`} {
			if line := s.read(t); !strings.HasPrefix(line, want) {
				t.Fatal(line)
			}
		}
		if _, err := s.end(t); err != nil {
			t.Fatal(err)
		}
	})
}

func TestSession_EndOfContextStopsIt(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.send(t, `{"jsonrpc":"2.0","id":"slow","method":"tools/call","params":{"name":"wait"}}`)
	s.send(t, marker)
	s.read(t)
	s.cancel()
	rest, err := io.ReadAll(s.out)
	if err != nil || !strings.Contains(string(rest), `"slow"`) {
		t.Fatalf("%q, %v", rest, err)
	}
	if err := <-s.done; err != nil {
		t.Fatal(err)
	}
}

func TestSession_ClientThatStopsReadingEndsIt(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	_ = s.outEnd.CloseWithError(errors.New("gone"))
	s.send(t, marker)
	if err := <-s.done; err == nil || !strings.Contains(err.Error(), "gone") {
		t.Fatal(err)
	}
	s.cancel()
}

func TestSession_NotificationsBeginWhenTheClientIsReady(t *testing.T) {
	t.Parallel()
	for name, ready := range map[string]string{
		"after initialized":       `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		"after a first tool call": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := mcptest.NewSource()
			s := start(t, func(c *stdio.Config) { c.Streams = from })
			s.send(t, marker)
			s.read(t)
			if len(from.Opened) != 0 {
				t.Fatal("subscribed before the client was ready")
			}
			s.send(t, ready)
			if opened := <-from.Opened; opened.Caller.Subject != "owner" || opened.Caller.Key != "local" {
				t.Fatalf("subscribed as %+v", opened)
			}
			if strings.Contains(ready, "tools/call") {
				s.read(t)
			}
			s.send(t, ready)
			if strings.Contains(ready, "tools/call") {
				s.read(t)
			}
			const message = `{"jsonrpc":"2.0","method":"notifications/alert_triggered","params":{"alert_id":"a"}}`
			for i := range uint64(3) {
				from.Send(notify.NewEvent(i, notify.AlertTriggered, []byte(`{"alert_id":"a"}`)))
				if line := s.read(t); line != message {
					t.Fatal(line)
				}
			}
			if rest, err := s.end(t); rest != "" || err != nil {
				t.Fatalf("%q, %v", rest, err)
			}
			if len(from.Opened) != 0 {
				t.Fatal("subscribed twice")
			}
			if delivered, closed := from.Counts(); delivered != 3 || closed != 1 {
				t.Fatalf("%d count as delivered, closed %d times", delivered, closed)
			}
		})
	}
}

func TestSession_GoesOnWithoutNotifications(t *testing.T) {
	t.Parallel()
	from := mcptest.NewSource()
	from.Err = errors.New("no hub")
	s := start(t, func(c *stdio.Config) { c.Streams = from })
	s.send(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	s.send(t, marker)
	s.read(t)
	if rest, err := s.end(t); rest != "" || err != nil {
		t.Fatalf("%q, %v", rest, err)
	}
}

// pushing is a session over a log of notifications.
func pushing(t *testing.T, change ...func(*stdio.Config)) (*session, *local.Inbox) {
	t.Helper()
	log, err := local.Open(local.Config{Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	parts := (&tooltest.Trading{}).Parts()
	parts.Notifications, parts.Subscriptions = log, log
	return startOver(t, tooltest.Extended(t, parts, tooltest.Sets()...), func(c *stdio.Config) {
		c.Streams = log
		for _, f := range change {
			f(c)
		}
	}), log
}

// TestSession_ChannelFollowsTheNotification reads a frame of the channel after each
// notification, and one for all that came too fast.
func TestSession_ChannelFollowsTheNotification(t *testing.T) {
	t.Parallel()
	s, log := pushing(t, func(c *stdio.Config) { c.Channel = true })
	s.send(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"subscribe_notifications"}}`)
	s.read(t)
	for seq := range uint64(3) {
		log.Append(fired(1 + seq))
	}
	var got []string
	for range 5 {
		got = append(got, s.read(t))
	}
	for i, want := range []string{"alert_triggered", "claude/channel", "alert_triggered", "alert_triggered", "2 more alerts fired"} {
		if !strings.Contains(got[i], want) {
			t.Errorf("line %d is %s, want %s", i, got[i], want)
		}
	}
	if rest, err := s.end(t); rest != "" || err != nil {
		t.Fatalf("%q, %v", rest, err)
	}
}

func fired(seq uint64) []notify.Entry {
	return []notify.Entry{{
		Seq: seq, Owner: "owner", Symbol: market.Symbol{Venue: "binance", Name: "BTCUSDT"}, Type: "price_above",
		At: time.Now(), Data: fmt.Appendf(nil, `{"alert_id":"a-%d"}`, seq),
	}}
}

func TestSession_PushesWhatIsSubscribed(t *testing.T) {
	t.Parallel()
	s, log := pushing(t)
	log.Append(fired(1))
	s.send(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"subscribe_notifications","arguments":{"symbols":["BTCUSDT"]}}}`)
	if line := s.read(t); !strings.Contains(line, "subscribed") {
		t.Fatal(line)
	}
	for seq := range uint64(3) {
		log.Append(fired(2 + seq))
		if line, want := s.read(t), fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/alert_triggered","params":{"alert_id":"a-%d"}}`, 2+seq); line != want {
			t.Fatalf("%s, want %s", line, want)
		}
	}
	s.send(t, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_notifications"}}`)
	if line := s.read(t); strings.Count(line, "alert_id") != 4 {
		t.Fatal(line)
	}
	if rest, err := s.end(t); rest != "" || err != nil {
		t.Fatalf("%q, %v", rest, err)
	}
	if got, _ := log.Subscription(t.Context(), principal.Caller{Subject: "owner", Key: "local"}); !got.Active || got.Connected || got.Queued != 0 {
		t.Fatalf("%+v", got)
	}
}

// Notifications that a disconnected client did not read wait for the next one.
func TestSession_WhatCouldNotBeWrittenIsNotLost(t *testing.T) {
	t.Parallel()
	s, log := pushing(t)
	s.send(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"subscribe_notifications"}}`)
	s.read(t)
	_ = s.outEnd.CloseWithError(errors.New("gone"))
	log.Append(fired(1))
	if err := <-s.done; err == nil {
		t.Fatal("the session outlived its client")
	}
	s.cancel()
	if got, _ := log.Subscription(t.Context(), principal.Caller{Subject: "owner", Key: "local"}); got.Queued != 1 || got.Connected {
		t.Fatalf("pushed: %+v", got)
	}

	s, log = pushing(t)
	log.Append(fired(1))
	_ = s.outEnd.CloseWithError(errors.New("gone"))
	s.send(t, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_notifications"}}`)
	if err := <-s.done; err == nil {
		t.Fatal("the session outlived its client")
	}
	s.cancel()
	if b, err := log.Poll(t.Context(), principal.Caller{Subject: "owner"}, 0, notify.Bound{}); err != nil || len(b.Entries) != 1 {
		t.Fatalf("polled: %+v, %v", b, err)
	}
}
