package mcp_test

import (
	"log/slog"
	"testing"

	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/internal/serve/mcp/mcptest"
	"candela/internal/serve/rpc"
)

// BenchmarkCall measures the way to a tool and back: what an older call costs alone and
// beside the newer revision, and what a newer one costs.
func BenchmarkCall(b *testing.B) {
	older := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fail","arguments":{"symbol":"BTCUSDT","bars":200}}}`
	newer := mcptest.Modern("1", "tools/call", `"name":"fail","arguments":{"symbol":"BTCUSDT","bars":200}`)
	for _, c := range []struct {
		name, body string
		modern     bool
	}{{"2025-03-26 alone", older, false}, {"2025-03-26 beside", older, true}, {"2026-07-28", newer, true}} {
		b.Run(c.name, func(b *testing.B) {
			server, err := mcp.NewServer(mcptest.Toolbox{}, mcp.Config{Name: "candela", Modern: c.modern, Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				b.Fatal(err)
			}
			from := mcp.Origin{Caller: principal.Caller{Key: "k"}, Header: mcptest.HeaderOf([]byte(c.body))}
			data, reply := []byte(c.body), make([]byte, 0, 1<<10)
			b.ReportAllocs()
			for b.Loop() {
				body, _ := rpc.Read(data)
				reply = server.Receive(b.Context(), from, body).Append(reply[:0])
			}
		})
	}
}
