package stdio_test

import (
	"context"
	"io"
	"log/slog"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"candela/internal/serve/mcp/mcptest"
	"candela/internal/serve/stdio"
	"candela/internal/serve/tool/tooltest"
)

// TestSDKClient lets the official Go client judge a session over pipes.
func TestSDKClient(t *testing.T) {
	t.Parallel()
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	run := stdio.New(mcptest.Server(t, tooltest.Registry(t, nil)), inRead, outWrite, stdio.Config{Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		done <- run.Run(ctx, ctx)
		_ = outWrite.Close()
	}()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(ctx, &sdk.IOTransport{Reader: outRead, Writer: inWrite}, nil)
	if err != nil {
		t.Fatal(err)
	}
	list, err := session.ListTools(ctx, nil)
	if err != nil || len(list.Tools) != 15 {
		t.Fatalf("%d tools, %v", len(list.Tools), err)
	}
	result, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "get_indicators", Arguments: map[string]any{"symbol": "BTCUSDT", "indicators": []any{"rsi"}}})
	if err != nil || result.IsError || result.StructuredContent != nil {
		t.Fatalf("%+v %v", result, err)
	}
	if err := session.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
