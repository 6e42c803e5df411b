// Package mcptest has what the tests of the dispatcher and of both transports
// share: a toolbox whose tools misbehave on request, and the transcripts that
// every transport must reproduce byte for byte.
package mcptest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"candela/internal/kit/principal"
	"candela/internal/kit/shutdown"
	"candela/internal/serve/mcp"
	"candela/internal/serve/rpc"
)

// Update is the flag -update: rewrite the expected answers of transcripts.
//
//nolint:gochecknoglobals // the testing convention for golden files
var Update = flag.Bool("update", false, "rewrite golden files")

// Toolbox is a set of tools for tests. Waiting receives a value each time the
// tool "wait" begins; nil is fine.
type Toolbox struct{ Waiting chan struct{} }

// Tools lists them.
func (Toolbox) Tools() []mcp.Tool {
	schema := json.RawMessage(`{"type":"object"}`)
	names := []string{"echo", "wait", "panic", "picture", "fail", "broken"}
	tools := make([]mcp.Tool, 0, len(names))
	for _, name := range names {
		tools = append(tools, mcp.Tool{Name: name, Title: name, Description: "For tests.", InputSchema: schema, Annotations: mcp.Annotations{Title: name}})
	}
	return tools
}

// Call runs one.
func (b Toolbox) Call(ctx context.Context, caller principal.Caller, name string, arguments json.RawMessage) (mcp.Result, error) {
	switch name {
	case "echo":
		return mcp.Result{Content: []mcp.Content{{Text: bytes.Clone(arguments)}}, Structured: bytes.Clone(arguments)}, nil
	case "wait":
		if b.Waiting != nil {
			b.Waiting <- struct{}{}
		}
		<-ctx.Done()
		return mcp.Result{IsError: true, Content: []mcp.Content{{Text: []byte("ended for " + caller.Subject)}}}, nil
	case "idle": // is in no list, which the transcripts hold
		select {
		case <-ctx.Done():
		case <-shutdown.Context(ctx).Done():
		}
		return mcp.Result{Content: []mcp.Content{{Text: []byte("nothing came")}}}, nil
	case "panic":
		panic("a defect")
	case "picture":
		return mcp.Result{Content: []mcp.Content{{Image: []byte{1, 2, 3, 250}, MIME: "image/png"}, {Text: []byte(`{"a":"b\"c"}`)}}}, nil
	case "fail":
		return mcp.Result{IsError: true, Content: []mcp.Content{{Text: []byte(`{"code":"x"}`)}}}, nil
	case "broken":
		return mcp.Result{}, errors.New("secret detail")
	}
	return mcp.Result{}, &rpc.Error{Code: rpc.CodeInvalidParams, Message: "unknown tool"}
}

// Server returns a dispatcher over tools that logs nowhere.
func Server(tb testing.TB, tools mcp.ToolSet) *mcp.Server {
	tb.Helper()
	return ServerLogging(tb, tools, io.Discard)
}

// ServerLogging returns a dispatcher over tools that logs to w.
func ServerLogging(tb testing.TB, tools mcp.ToolSet, w io.Writer) *mcp.Server {
	tb.Helper()
	server, err := mcp.NewServer(tools, mcp.Config{Name: "candela", Title: "Candela", Version: "test", Log: slog.New(slog.NewTextHandler(w, nil))})
	if err != nil {
		tb.Fatal(err)
	}
	return server
}

// Transcripts replays every transcript of dir through exchange, which sends one
// body and returns the answer, empty for none. A transcript is a txtar archive of
// files "send" and "want" in turn. Request ids of the log are replaced by R, as
// they differ by transport.
func Transcripts(t *testing.T, dir string, exchange func(t *testing.T, body []byte) []byte) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts in %s: %v", dir, err)
	}
	requestID := regexp.MustCompile(`; request [\w-]+ in the server's log`)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i+1 < len(archive.Files); i += 2 {
				send, want := archive.Files[i], &archive.Files[i+1]
				if send.Name != "send" || want.Name != "want" {
					t.Fatalf("files %d and %d are %q and %q, want send and want", i, i+1, send.Name, want.Name)
				}
				got := exchange(t, bytes.TrimSuffix(send.Data, []byte("\n")))
				got = requestID.ReplaceAll(got, nil)
				if len(got) > 0 {
					got = append(got, '\n')
				}
				if *Update {
					want.Data = got
				} else if !bytes.Equal(got, want.Data) {
					t.Errorf("exchange %d\nsent %swant %s got %s", i/2+1, send.Data, want.Data, got)
				}
			}
			if *Update {
				if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
