package mcptest

import (
	"context"
	"encoding/json"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
)

// Worker is a toolbox whose tools work for three seconds and report their progress after
// each. The second report is not above the first.
type Worker struct {
	Toolbox
	Ended chan error // the cause of the context of a call that ended before its time
}

// Call works.
func (w Worker) Call(ctx context.Context, _ principal.Caller, _ string, _ json.RawMessage) (mcp.Result, error) {
	send := mcp.Progress(ctx)
	for _, done := range []int{1, 1, 3} {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			w.Ended <- context.Cause(ctx)
			return mcp.Result{IsError: true}, nil
		}
		if send != nil {
			send(done, 3, "a \"part\"")
		}
	}
	// The newest report may be written before or with the answer, never after it.
	<-time.After(time.Second)
	return mcp.Result{Content: []mcp.Content{{Text: []byte("done")}}}, nil
}

// The messages about a call of a Worker with the progress token "t".
const (
	WorkCall      = `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo","_meta":{"progressToken":"t"}}}`
	WorkCancelled = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`
	WorkBegun     = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1,"total":3,"message":"a \"part\""}}`
	WorkFinished  = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":3,"total":3,"message":"a \"part\""}}`
	WorkAnswer    = `{"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"text","text":"done"}]}}`
)
