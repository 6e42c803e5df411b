package httpd_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"candela/internal/serve/httpd"
	"candela/internal/serve/httpd/httpdtest"
	"candela/internal/serve/mcp/mcptest"
	"candela/internal/serve/tool/tooltest"
)

// bearer adds the token to what a client sends.
type bearer struct{ next http.RoundTripper }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer good")
	return b.next.RoundTrip(r)
}

// TestSDKClient lets the official Go client judge the server: its handshake, its
// list and a call of every tool.
func TestSDKClient(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(nil)
	server.Start()
	defer server.Close()
	h := newServerOver(t, mcptest.Server(t, tooltest.Registry(t, nil)), httpdtest.One(), func(c *httpd.Config) { c.BaseURL = server.URL })
	server.Config.Handler = h.Handler()

	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: server.URL + "/mcp", HTTPClient: &http.Client{Transport: bearer{transport}}, MaxRetries: -1,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	if got := session.InitializeResult().ProtocolVersion; got != "2025-03-26" {
		t.Errorf("negotiated %s", got)
	}
	list, err := session.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 15 {
		t.Fatalf("%d tools, %v", len(list.Tools), err)
	}
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "generate_chart", Arguments: map[string]any{"format": "both", "bars": 30, "width": 300, "height": 200}})
	if err != nil || result.IsError || len(result.Content) != 2 {
		t.Fatalf("%+v %v", result, err)
	}
	if image, ok := result.Content[0].(*sdk.ImageContent); !ok || !strings.HasPrefix(string(image.Data), "\x89PNG") {
		t.Errorf("no picture in %T", result.Content[0])
	}
	result, err = session.CallTool(t.Context(), &sdk.CallToolParams{Name: "list_alerts"})
	if err != nil || !result.IsError {
		t.Fatalf("%+v %v", result, err)
	}
}
