package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/internal/serve/mcp/mcptest"
	"candela/internal/serve/rpc"
)

// megabyte answers every call with that much.
type megabyte struct {
	mcptest.Toolbox
	calls int
}

func (m *megabyte) Call(context.Context, principal.Caller, string, json.RawMessage) (mcp.Result, error) {
	m.calls++
	return mcp.Result{Content: []mcp.Content{{Text: bytes.Repeat([]byte("x"), 1<<20)}}}, nil
}

// The answers to a batch are bounded as one, and each call that was not made for it is
// answered as such.
func TestBatch_AnswersAreBounded(t *testing.T) {
	t.Parallel()
	tools := &megabyte{}
	server, err := mcp.NewServer(tools, mcp.Config{Name: "test", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	var calls []string
	for i := range 64 {
		calls = append(calls, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"x"}}`, i))
	}
	body, failure := rpc.Read([]byte("[" + strings.Join(calls, ",") + "]"))
	if failure != nil {
		t.Fatal(failure)
	}
	var answers []struct {
		ID    int
		Error *struct{ Message string }
	}
	reply := server.Receive(t.Context(), mcp.Origin{}, body).Append(nil)
	if err := json.Unmarshal(reply, &answers); err != nil || len(answers) != 64 {
		t.Fatalf("%d answers, %v", len(answers), err)
	}
	if tools.calls != 4 || len(reply) > 5<<20 {
		t.Errorf("%d calls were made, %d bytes", tools.calls, len(reply))
	}
	for i, a := range answers {
		if done := a.Error == nil; a.ID != i || done != (i < 4) || !done && !strings.Contains(a.Error.Message, "was not executed") {
			t.Errorf("answer %d: %+v", i, a)
		}
	}
}
