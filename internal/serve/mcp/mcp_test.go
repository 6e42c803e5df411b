package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/internal/serve/mcp/mcptest"
	"candela/internal/serve/rpc"
)

func exchange(t *testing.T, server *mcp.Server, key, body string) string {
	t.Helper()
	read, failure := rpc.Read([]byte(body))
	if failure != nil {
		return string(rpc.AppendError(nil, nil, failure))
	}
	from := mcp.Origin{Caller: principal.Caller{Subject: "owner", Key: key}, RequestID: "r-1"}
	return string(server.Receive(t.Context(), from, read).Append(nil))
}

func TestTranscripts(t *testing.T) {
	server := mcptest.Server(t, mcptest.Toolbox{})
	mcptest.Transcripts(t, "testdata/transcript", func(t *testing.T, body []byte) []byte {
		t.Helper()
		return []byte(exchange(t, server, "k", string(body)))
	})
}

func TestServer_CancelledCallIsNotAnswered(t *testing.T) {
	t.Parallel()
	const call = `{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"wait"}}`
	cancel := func(id string) string {
		return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"x"}}`
	}
	synctest.Test(t, func(t *testing.T) {
		server := mcptest.Server(t, mcptest.Toolbox{})
		answered := make(chan string, 1)
		go func() { answered <- exchange(t, server, "mine", call) }()
		synctest.Wait()
		exchange(t, server, "other", cancel(`"c"`))
		exchange(t, server, "mine", cancel(`"d"`))
		synctest.Wait()
		select {
		case got := <-answered:
			t.Fatalf("another token's or another id's cancellation ended the call: %s", got)
		default:
		}
		exchange(t, server, "mine", cancel(`"c"`))
		if got := <-answered; got != "" {
			t.Fatalf("answered %s", got)
		}
		go func() { answered <- exchange(t, server, "mine", call) }()
		synctest.Wait()
		exchange(t, server, "mine", cancel(`"c"`))
		if got := <-answered; got != "" {
			t.Fatalf("the id could not be used again: %s", got)
		}
	})
}

func TestServer_AmbiguousCancellationIsDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := mcptest.Server(t, mcptest.Toolbox{})
		answered := make(chan string, 2)
		for range 2 {
			go func() {
				answered <- exchange(t, server, "shared", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}}`)
			}()
		}
		synctest.Wait()
		exchange(t, server, "shared", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		synctest.Wait()
		if len(answered) != 0 {
			t.Fatal("a call was cancelled though two have the id")
		}
	})
}

func TestServer_LogLineIsBoundedAndHoldsNoArguments(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	server := mcptest.ServerLogging(t, mcptest.Toolbox{}, &log)
	long := strings.Repeat("é", 60)
	exchange(t, server, "k", `{"jsonrpc":"2.0","id":1,"method":"`+long+`"}`)
	exchange(t, server, "k", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"secret":"hunter2"}}}`)
	exchange(t, server, "k", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientInfo":{"name":"`+strings.Repeat("n", 10000)+`"}}}`)
	for line := range strings.Lines(log.String()) {
		if !strings.Contains(line, "[MCP] request") || !strings.Contains(line, "authorization=false") || !strings.Contains(line, "request_id=r-1") {
			t.Errorf("line lacks prefix, authorization or request id: %s", line)
		}
		if len(line) > 512 || strings.Contains(line, "hunter2") {
			t.Errorf("line is unbounded or holds an argument: %s", line)
		}
	}
	if strings.Count(log.String(), "\n") != 3 {
		t.Errorf("want one line a message:\n%s", log.String())
	}
}

// The capability list must be exact: a client that sees "listChanged" waits for
// notifications that never come.
func TestServer_InitializeAdvertisesExactlyWhatIsOffered(t *testing.T) {
	t.Parallel()
	server := mcptest.Server(t, mcptest.Toolbox{})
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "nonsense"} {
		var answer struct {
			Result struct {
				ProtocolVersion string
				Capabilities    json.RawMessage
			}
		}
		got := exchange(t, server, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+version+`"}}`)
		if err := json.Unmarshal([]byte(got), &answer); err != nil {
			t.Fatal(err)
		}
		if answer.Result.ProtocolVersion != "2025-03-26" || string(answer.Result.Capabilities) != `{"tools":{}}` {
			t.Errorf("asked for %s, answered %s", version, got)
		}
	}
}

// handing is a toolbox whose tool hands something out when its call ends or at
// once, and hears what became of it.
type handing struct {
	mcptest.Toolbox
	settled chan bool
}

func (h handing) Call(ctx context.Context, _ principal.Caller, name string, _ json.RawMessage) (mcp.Result, error) {
	if name == "wait" {
		<-ctx.Done()
	}
	return mcp.Result{Content: []mcp.Content{{Text: []byte("x")}}, OnSent: func(sent bool) { h.settled <- sent }}, nil
}

// A tool that gives each thing to one caller hears whether the caller got it.
func TestJob_ReportsToToolsWhetherTheirAnswersWereSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tools := handing{settled: make(chan bool, 4)}
		server := mcptest.Server(t, tools)
		receive := func(body string) *mcp.Job {
			read, failure := rpc.Read([]byte(body))
			if failure != nil {
				t.Fatal(failure)
			}
			return server.Receive(t.Context(), mcp.Origin{Caller: principal.Caller{Key: "k"}}, read)
		}
		call := func(name string) string {
			return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `"}}`
		}
		for _, sent := range []bool{true, false} {
			batch := receive("[" + call("echo") + "," + call("echo") + "]")
			batch.Append(nil)
			if !batch.NeedsSentReport() || len(tools.settled) > 0 {
				t.Fatal("settled before it was sent")
			}
			batch.ReportSent(sent)
			batch.ReportSent(!sent)
			first, second := <-tools.settled, <-tools.settled
			if first != sent || second != sent || len(tools.settled) > 0 || batch.NeedsSentReport() {
				t.Fatal("not settled once each")
			}
		}
		waiting := receive(call("wait"))
		answered := make(chan []byte, 1)
		go func() { answered <- waiting.Append(nil) }()
		synctest.Wait()
		receive(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`).Append(nil)
		if got := <-answered; len(got) > 0 || waiting.NeedsSentReport() || <-tools.settled {
			t.Fatalf("a cancelled call was answered with %q or counts as sent", got)
		}
	})
}
