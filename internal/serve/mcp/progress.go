package mcp

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"

	"candela/internal/kit/strictjson"
	"candela/internal/serve/rpc"
)

type progressKey struct{}

// WithProgress returns a context whose calls report how far they are by send, which must not
// block.
func WithProgress(ctx context.Context, send func(done, total int, message string)) context.Context {
	return context.WithValue(ctx, progressKey{}, send)
}

// Progress returns the function by which a call reports how far it is, nil if nobody asked.
func Progress(ctx context.Context) func(done, total int, message string) {
	send, _ := ctx.Value(progressKey{}).(func(done, total int, message string))
	return send
}

// Notices are the progress notifications of a call. Only the newest is kept until it is
// written: a client that reads slowly does not delay the call.
type Notices struct {
	token json.RawMessage

	mu     sync.Mutex
	last   int // the newest value: each must be above the one before
	newest []byte
	ready  chan struct{} // capacity 1
}

// Notices returns the progress notifications of a single tool call that asks for them, else
// nil. A transport calls it before Append.
func (j *Job) Notices() *Notices {
	if j.body.Batch || len(j.active) == 0 || j.body.Calls[0].Method != methodCallTool {
		return nil
	}
	token := progressToken(j.body.Calls[0].Message)
	if token == nil {
		return nil
	}
	n := &Notices{token: token, last: -1, ready: make(chan struct{}, 1)}
	j.active[0].ctx = WithProgress(j.active[0].ctx, n.add)
	return n
}

// progressToken returns the token by which a request asks for progress: a string or a number,
// which is sent back as it is.
func progressToken(m rpc.Message) json.RawMessage {
	for key, meta := range strictjson.Fields(m.Params) {
		if key != "_meta" || meta[0] != '{' {
			continue
		}
		for name, value := range strictjson.Fields(meta) {
			if name == "progressToken" && len(value) <= maxProgressToken && (value[0] == '"' || value[0] == '-' || value[0] >= '0' && value[0] <= '9') {
				return value
			}
		}
	}
	return nil
}

// maxProgressToken bounds the bytes of a token, which is sent back.
const maxProgressToken = 256

func (n *Notices) add(done, total int, message string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if done <= n.last {
		return
	}
	n.last = done
	text := append([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`), n.token...)
	text = strconv.AppendInt(append(text, `,"progress":`...), int64(done), 10)
	text = strconv.AppendInt(append(text, `,"total":`...), int64(total), 10)
	text = strictjson.AppendString(append(text, `,"message":`...), message)
	n.newest = append(text, "}}"...)
	select {
	case n.ready <- struct{}{}:
	default:
	}
}

func (n *Notices) take() []byte {
	n.mu.Lock()
	defer n.mu.Unlock()
	text := n.newest
	n.newest = nil
	return text
}

// Carry passes each notification to write until stop is called, which waits for a write that
// runs: no notification follows the answer.
func (n *Notices) Carry(write func(message []byte)) (stop func()) {
	over := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		for {
			select {
			case <-over:
				return
			case <-n.ready:
				write(n.take())
			}
		}
	})
	return func() {
		close(over)
		writer.Wait()
	}
}
