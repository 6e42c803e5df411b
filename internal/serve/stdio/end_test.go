package stdio_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/internal/serve/mcp/mcptest"
	"candela/internal/serve/stdio"
)

// firing is a toolbox whose every call causes a push, and reports
// who called.
type firing struct {
	mcptest.Toolbox
	source  *mcptest.Source
	callers chan principal.Caller
}

func (f firing) Call(ctx context.Context, caller principal.Caller, name string, arguments json.RawMessage) (mcp.Result, error) {
	if f.source != nil {
		f.source.Send(notify.NewEvent(1, notify.AlertTriggered, []byte(`{"alert_id":"a"}`)))
	}
	f.callers <- caller
	return f.Toolbox.Call(ctx, caller, name, arguments)
}

// The response reports the firing, so its push must not be lost to the end of the
// input that follows the call.
func TestSession_EndOfInputPushesWhatIsThere(t *testing.T) {
	t.Parallel()
	for range 100 {
		tools := firing{source: mcptest.NewSource(), callers: make(chan principal.Caller, 1)}
		s := startOver(t, tools, func(c *stdio.Config) { c.Streams = tools.source })
		go func() {
			_, _ = io.WriteString(s.in, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`)
			_ = s.in.Close()
		}()
		rest, err := io.ReadAll(s.out)
		if err != nil || strings.Count(string(rest), "alert_triggered") != 1 || !strings.Contains(string(rest), `"id":1,"result"`) {
			t.Fatalf("%q, %v", rest, err)
		}
		s.cancel()
		if err := <-s.done; err != nil {
			t.Fatal(err)
		}
		if delivered, closed := tools.source.Counts(); delivered != 1 || closed != 1 {
			t.Fatalf("%d count as delivered, closed %d times", delivered, closed)
		}
	}
}

// endless always has something to push.
type endless struct{ ready chan struct{} }

func (e endless) Open(context.Context, principal.Caller, string) (notify.Stream, error) {
	return e, nil
}
func (e endless) Ready() <-chan struct{} { return e.ready }
func (e endless) Close()                 {}

func (e endless) Take(dst []notify.Event) []notify.Event {
	time.Sleep(time.Millisecond)
	return append(dst, notify.NewEvent(1, notify.AlertTriggered, []byte(`{}`)))
}

func TestSession_EndOfInputDoesNotPushForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, began := start(t, func(c *stdio.Config) { c.Streams = endless{make(chan struct{})} }), time.Now()
		s.send(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		if _, err := s.end(t); err != nil || time.Since(began) > 11*time.Second {
			t.Fatalf("%v after %s, want the grace of 10 s", err, time.Since(began))
		}
	})
}

// TestSession_EndingCountsFromTheEndOfInput has a call outlast the input.
func TestSession_EndingCountsFromTheEndOfInput(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, input := io.Pipe()
		done := make(chan error, 1)
		session := stdio.New(mcptest.Server(t, mcptest.Toolbox{}), in, io.Discard, stdio.Config{DrainGrace: 3 * time.Second, Log: slog.New(slog.DiscardHandler)})
		go func() { done <- session.Run(t.Context(), t.Context()) }()
		if _, err := io.WriteString(input, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"idle"}}`+"\n"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if since := session.Ending(); !since.IsZero() {
			t.Errorf("ends since %v while there is input", since)
		}
		ended := time.Now()
		_ = input.Close()
		if err := <-done; err != nil || time.Since(ended) != 3*time.Second || !session.Ending().Equal(ended) {
			t.Errorf("%v after %s, ending since %s later", err, time.Since(ended), session.Ending().Sub(ended))
		}
	})
}

func TestSession_StopEndsCallsThatOnlyWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, input := io.Pipe()
		var out bytes.Buffer
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		session := stdio.New(mcptest.Server(t, mcptest.Toolbox{}), in, &out, stdio.Config{Log: slog.New(slog.DiscardHandler)})
		go func() { done <- session.Run(ctx, t.Context()) }()
		if _, err := io.WriteString(input, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"idle"}}`+"\n"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		began := time.Now()
		stop()
		if err := <-done; err != nil || time.Since(began) > time.Second || !strings.Contains(out.String(), "nothing came") {
			t.Errorf("%v after %s, with the answer %q", err, time.Since(began), out.String())
		}
	})
}

func TestSession_CallerHasTheNameThatTheClientGave(t *testing.T) {
	t.Parallel()
	tools := firing{callers: make(chan principal.Caller, 1)}
	s := startOver(t, tools, nil)
	call := func() principal.Caller {
		s.send(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`)
		s.read(t)
		return <-tools.callers
	}
	if got := call(); got != (principal.Caller{Subject: "owner", Key: "local", Scope: principal.Trade}) {
		t.Errorf("before initialize the caller is %+v", got)
	}
	s.send(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"`+strings.Repeat("n", 200)+`","version":"1"}}}`)
	s.read(t)
	if got := call(); got.Subject != "owner" || got.Key != "local" || got.Client != strings.Repeat("n", 64)+"..." {
		t.Errorf("the caller is %+v", got)
	}
	if rest, err := s.end(t); rest != "" || err != nil {
		t.Fatalf("%q, %v", rest, err)
	}
}
