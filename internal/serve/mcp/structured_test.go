package mcp_test

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"candela/internal/serve/mcp"
	"candela/internal/serve/mcp/mcptest"
)

// described is a toolbox whose first tool has an output schema.
type described struct{ mcptest.Toolbox }

func (d described) Tools() []mcp.Tool {
	tools := d.Toolbox.Tools()
	tools[0].OutputSchema = json.RawMessage(`{"type":"object"}`)
	return tools
}

// TestStructured_OnlyWhenConfigured holds that an answer is written once unless the
// server is configured to write it as structured content, too. Errors never are.
func TestStructured_OnlyWhenConfigured(t *testing.T) {
	t.Parallel()
	for _, structured := range []bool{false, true} {
		server, err := mcp.NewServer(described{}, mcp.Config{Name: "candela", Version: "test", Structured: structured, Modern: true, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		for body, marker := range map[string]string{
			`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`:                                                      `"outputSchema":`,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"said":"once"}}}`: `"structuredContent":{"said":"once"}`,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fail"}}`:                             "",
			mcptest.Modern("1", "tools/list", ""):                                                                 `"outputSchema":`,
			mcptest.Modern("1", "tools/call", `"name":"echo","arguments":{"said":"once"}`):                        `"structuredContent":{"said":"once"}`,
			mcptest.Modern("1", "tools/call", `"name":"fail"`):                                                    "",
		} {
			got := exchange(t, server, "k", body)
			found := strings.Contains(got, "structuredContent") || strings.Contains(got, "outputSchema")
			if want := structured && marker != ""; found != want || found && !strings.Contains(got, marker) {
				t.Errorf("structured %v: %s gets %s", structured, body, got)
			}
		}
	}
}
