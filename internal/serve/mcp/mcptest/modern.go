package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/lib/fault"
)

// ModernServer returns a dispatcher that also serves mcp.ModernVersion.
func ModernServer(tb testing.TB, tools mcp.ToolSet, resources mcp.ResourceSet) *mcp.Server {
	tb.Helper()
	server, err := mcp.NewServer(tools, mcp.Config{
		Name: "candela", Title: "Candela", Version: "test", Instructions: "For tests.", Modern: true, Resources: resources, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		tb.Fatal(err)
	}
	return server
}

// Meta is the _meta of a modern request.
const Meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// Modern returns a modern request. members are those of params besides _meta.
func Modern(id, method, members string) string {
	if members != "" {
		members = "," + members
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s%s}}`, id, method, Meta, members)
}

// HeaderOf returns the HTTP header that repeats what a body says, as clients of the newer
// revision send it. That of any other body is empty.
func HeaderOf(body []byte) mcp.Header {
	var m struct {
		Method string
		Params struct {
			Name, URI, TaskID string

			Meta map[string]any `json:"_meta"`
		}
	}
	if json.Unmarshal(body, &m) != nil {
		return mcp.Header{}
	}
	version, ok := m.Params.Meta["io.modelcontextprotocol/protocolVersion"].(string)
	if !ok {
		return mcp.Header{}
	}
	header := mcp.Header{"Mcp-Protocol-Version": {version}, "Mcp-Method": {m.Method}}
	if name := m.Params.Name + m.Params.URI + m.Params.TaskID; name != "" {
		header["Mcp-Name"] = []string{name}
	}
	return header
}

// NoteURI is the address of the resource of a Shelf.
const NoteURI = "test://note"

// Shelf is a set of one resource, which the scope Read is needed for. A test changes it.
type Shelf struct {
	mu      sync.Mutex
	text    string
	watches []*watch
}

// Resources lists it, and one that cannot be read.
func (*Shelf) Resources() []mcp.Resource {
	return []mcp.Resource{{URI: NoteURI, Name: "note", MIME: "text/plain"}, {URI: "test://broken", Name: "broken", MIME: "text/plain"}}
}

// Read returns the text.
func (s *Shelf) Read(_ context.Context, caller principal.Caller, uri string) ([]byte, error) {
	if strings.HasSuffix(uri, "broken") {
		panic("a defect")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return []byte(s.text), allowed(caller)
}

// Watch returns a watch of the text.
func (s *Shelf) Watch(_ context.Context, caller principal.Caller, _ string) (mcp.Watch, error) {
	if err := allowed(caller); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &watch{shelf: s, ready: make(chan struct{}, 1)}
	s.watches = append(s.watches, w)
	return w, nil
}

func allowed(caller principal.Caller) error {
	if caller.Scope < principal.Read {
		return fault.New(fault.Unauthorized, "insufficient_scope", "the scope read is needed")
	}
	return nil
}

// Change replaces the text.
func (s *Shelf) Change(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = text
	for _, w := range s.watches {
		select {
		case w.ready <- struct{}{}:
		default:
		}
	}
}

// Watched returns how many watches are open.
func (s *Shelf) Watched() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.watches)
}

type watch struct {
	shelf *Shelf
	ready chan struct{}
}

func (w *watch) Ready() <-chan struct{} { return w.ready }

func (w *watch) Close() {
	w.shelf.mu.Lock()
	defer w.shelf.mu.Unlock()
	for i, other := range w.shelf.watches {
		if other == w {
			w.shelf.watches = append(w.shelf.watches[:i], w.shelf.watches[i+1:]...)
			return
		}
	}
}
