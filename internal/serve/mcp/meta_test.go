package mcp_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/internal/serve/mcp/mcptest"
	"candela/internal/serve/rpc"
)

// pictures answers every call with one image.
type pictures struct{ mcptest.Toolbox }

func (pictures) Call(context.Context, principal.Caller, string, json.RawMessage) (mcp.Result, error) {
	return mcp.Result{Content: []mcp.Content{{Image: []byte("p"), MIME: "image/png", Meta: json.RawMessage(`{"source":"sample"}`)}}}, nil
}

// TestCall_AnItemCarriesItsMeta looks for the facts about an image on the wire.
func TestCall_AnItemCarriesItsMeta(t *testing.T) {
	t.Parallel()
	server, err := mcp.NewServer(pictures{}, mcp.Config{Name: "test", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	body, failure := rpc.Read([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`))
	if failure != nil {
		t.Fatal(failure)
	}
	reply := string(server.Receive(t.Context(), mcp.Origin{}, body).Append(nil))
	const want = `"content":[{"type":"image","data":"cA==","mimeType":"image/png","_meta":{"source":"sample"}}]`
	if !strings.Contains(reply, want) {
		t.Errorf("want %s in %s", want, reply)
	}
}
