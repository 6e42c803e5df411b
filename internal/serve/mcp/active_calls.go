package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"candela/internal/kit/strictjson"
)

// errCancelled is the cause of a context that notifications/cancelled ended.
var errCancelled = errors.New("cancelled by the client")

// activeCalls are the tool calls under way, so that notifications/cancelled can find
// them. An entry lives as long as its call, so the map is bounded by what the
// transports let run at once.
type activeCalls struct {
	mu    sync.Mutex
	calls map[activeCallKey][]*activeCall
}

// activeCallKey names a call by the token that made it and the id the client gave
// it: a client can only cancel what the same token asked for.
type activeCallKey struct{ caller, id string }

// activeCall is one call that was received and is not answered yet.
type activeCall struct {
	key    activeCallKey
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// add registers a call; end must be called when it is over.
func (f *activeCalls) add(ctx context.Context, caller string, id json.RawMessage) *activeCall {
	ctx, cancel := context.WithCancelCause(ctx)
	fl := &activeCall{activeCallKey{caller, string(id)}, ctx, cancel}
	f.mu.Lock()
	f.calls[fl.key] = append(f.calls[fl.key], fl)
	f.mu.Unlock()
	return fl
}

func (f *activeCalls) remove(fl *activeCall) {
	fl.cancel(nil)
	f.mu.Lock()
	defer f.mu.Unlock()
	if rest := slices.DeleteFunc(f.calls[fl.key], func(other *activeCall) bool { return other == fl }); len(rest) > 0 {
		f.calls[fl.key] = rest
	} else {
		delete(f.calls, fl.key)
	}
}

// cancel ends the call that params name. Two clients of one token may count
// their ids alike; nobody can then tell which call is meant, and the
// notification is dropped, as the protocol allows: ending the other client's
// order would be worse.
func (f *activeCalls) cancel(caller string, params json.RawMessage) {
	for name, id := range strictjson.Fields(params) {
		if name != "requestId" {
			continue
		}
		f.mu.Lock()
		calls := f.calls[activeCallKey{caller, string(id)}]
		if len(calls) == 1 {
			calls[0].cancel(errCancelled)
		}
		f.mu.Unlock()
	}
}
