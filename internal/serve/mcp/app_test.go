package mcp_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"candela/internal/serve/mcp"
	"candela/internal/serve/mcp/mcptest"
	"candela/internal/serve/rpc"
)

const (
	plainHello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	appsHello  = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}},"clientInfo":{"name":"t","version":"1"}}}`
)

// legacyRequests are all that a client without the extension may ask, and some it may not.
func legacyRequests() []string {
	return []string{
		plainHello,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":3,"method":"resources/list"}`,
		`{"jsonrpc":"2.0","id":4,"method":"resources/templates/list"}`,
		`{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"ui://test/page"}}`,
		`{"jsonrpc":"2.0","id":6,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"nothing"}}`,
	}
}

func modernRequest(method, more, capabilities string) string {
	return `{"jsonrpc":"2.0","id":9,"method":"` + method + `","params":{` + more + `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + capabilities + `}}}`
}

const appsCapability = `{"extensions":{"io.modelcontextprotocol/ui":{}}}`

func appServer(t *testing.T, modern, app bool) *mcp.Server {
	t.Helper()
	cfg := mcp.Config{Name: "candela", Version: "test", Modern: modern, Log: slog.New(slog.DiscardHandler)}
	if app {
		cfg.App = &mcp.App{
			URI: "ui://test/page", Name: "page", Tool: mcptest.Toolbox{}.Tools()[0].Name,
			Page: func() ([]byte, error) { return []byte("<!doctype html><p>\"page\""), nil },
		}
	}
	server, err := mcp.NewServer(mcptest.Toolbox{}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// A page that cannot be put together is an error of the request that asked for it.
func TestApp_BrokenPage(t *testing.T) {
	t.Parallel()
	server, err := mcp.NewServer(mcptest.Toolbox{}, mcp.Config{
		Name: "candela", Version: "test", Modern: true, Log: slog.New(slog.DiscardHandler),
		App: &mcp.App{URI: "ui://test/page", Name: "page", Page: func() ([]byte, error) { return nil, errors.New("damaged") }},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, request := range []string{
		`{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"ui://test/page"}}`,
		modernRequest("resources/read", `"uri":"ui://test/page",`, appsCapability),
	} {
		if got := askAs(t, server, request, true); !strings.Contains(got, `"error":{"code":-32603`) || strings.Contains(got, "damaged") {
			t.Errorf("%s\n%s", request, got)
		}
	}
}

func askAs(t *testing.T, s *mcp.Server, message string, apps bool) string {
	t.Helper()
	body, failure := rpc.Read([]byte(message))
	if failure != nil {
		t.Fatal(failure)
	}
	return string(s.Receive(t.Context(), mcp.Origin{Apps: apps}, body).Append(nil))
}

// A client that does not announce the extension cannot find out whether the server has an app.
func TestApp_OtherClientsSeeNoDifference(t *testing.T) {
	t.Parallel()
	for _, modern := range []bool{false, true} {
		with, without := appServer(t, modern, true), appServer(t, modern, false)
		requests := legacyRequests()
		for _, method := range []string{"server/discover", "tools/list", "resources/list", "resources/templates/list"} {
			requests = append(requests, modernRequest(method, "", "{}"))
		}
		requests = append(requests,
			modernRequest("resources/read", `"uri":"ui://test/page",`, "{}"),
			modernRequest("tools/list", "", `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/plain"]}}}`),
			modernRequest("tools/list", "", `{"extensions":{"io.modelcontextprotocol/ui":null}}`),
			strings.Replace(appsHello, "io.modelcontextprotocol/ui", "io.modelcontextprotocol/uid", 1))
		for _, r := range requests {
			if got, want := askAs(t, with, r, false), askAs(t, without, r, false); got != want {
				t.Errorf("modern %v: %s\nwith an app    %s\nwithout an app %s", modern, r, got, want)
			}
		}
		body, _ := rpc.Read([]byte(plainHello))
		if id, apps := with.AppsSession(body, "abc"); apps || id != "abc" {
			t.Errorf("the session of a plain client is %q, %v", id, apps)
		}
	}
}

func TestApp_IsOfferedToClientsThatShowApps(t *testing.T) {
	t.Parallel()
	s := appServer(t, false, true)
	hello := askAs(t, s, appsHello, false)
	if !strings.Contains(hello, `"capabilities":{"tools":{},"resources":{},"extensions":{"io.modelcontextprotocol/ui":{}}}`) {
		t.Errorf("initialize: %s", hello)
	}
	body, _ := rpc.Read([]byte(appsHello))
	id, apps := s.AppsSession(body, "abc")
	if !apps || !mcp.IsAppsSession(id) || !strings.HasPrefix(id, "abc") || mcp.IsAppsSession("abc") {
		t.Errorf("session %q, %v", id, apps)
	}
	if again, _ := s.AppsSession(body, id); again != id {
		t.Errorf("a session that goes on is %q, was %q", again, id)
	}
	checkVisibility(t, askAs(t, s, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, true))
	if list := askAs(t, s, `{"jsonrpc":"2.0","id":3,"method":"resources/list"}`, true); !strings.Contains(list, `"uri":"ui://test/page"`) || !strings.Contains(list, `"mimeType":"text/html;profile=mcp-app"`) {
		t.Errorf("resources/list: %s", list)
	}
	read := askAs(t, s, `{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"ui://test/page"}}`, true)
	checkPage(t, read)
	if other := askAs(t, s, `{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"ui://test/other"}}`, true); !strings.Contains(other, "resource not found") {
		t.Errorf("another page: %s", other)
	}
}

func TestApp_IsOfferedToModernClients(t *testing.T) {
	t.Parallel()
	s := appServer(t, true, true)
	if found := askAs(t, s, modernRequest("server/discover", "", appsCapability), false); !strings.Contains(found, `"io.modelcontextprotocol/ui":{}`) || !strings.Contains(found, `"cacheScope":"private"`) {
		t.Errorf("server/discover: %s", found)
	}
	checkVisibility(t, askAs(t, s, modernRequest("tools/list", "", appsCapability), false))
	checkPage(t, askAs(t, s, modernRequest("resources/read", `"uri":"ui://test/page",`, appsCapability), false))
	if other := askAs(t, s, modernRequest("resources/read", `"uri":"ui://test/other",`, appsCapability), false); !strings.Contains(other, "resource not found") {
		t.Errorf("another page: %s", other)
	}
}

// checkVisibility checks that the page may call its own tool and no other.
func checkVisibility(t *testing.T, answer string) {
	t.Helper()
	var list struct {
		Result struct {
			Tools []struct {
				Name string
				Meta struct {
					UI struct {
						ResourceURI string
						Visibility  []string
					}
				} `json:"_meta"`
			}
		}
	}
	if err := json.Unmarshal([]byte(answer), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Result.Tools) < 2 {
		t.Fatalf("tools/list: %s", answer)
	}
	for i, tool := range list.Result.Tools {
		bound, callable := tool.Meta.UI.ResourceURI == "ui://test/page", slices.Contains(tool.Meta.UI.Visibility, "app")
		if own := i == 0; bound != own || callable != own || !slices.Contains(tool.Meta.UI.Visibility, "model") {
			t.Errorf("%s: %+v", tool.Name, tool.Meta.UI)
		}
	}
}

func checkPage(t *testing.T, answer string) {
	t.Helper()
	var read struct {
		Result struct {
			Contents []struct {
				URI, MimeType, Text string
				Meta                json.RawMessage `json:"_meta"`
			}
		}
	}
	if err := json.NewDecoder(bytes.NewReader([]byte(answer))).Decode(&read); err != nil {
		t.Fatalf("%s: %v", answer, err)
	}
	if c := read.Result.Contents; len(c) != 1 || c[0].Text != `<!doctype html><p>"page"` || c[0].MimeType != "text/html;profile=mcp-app" || !strings.Contains(string(c[0].Meta), `"connectDomains":[]`) {
		t.Errorf("resources/read: %s", answer)
	}
}
