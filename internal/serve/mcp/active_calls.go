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

// activeCalls indexes the running tool calls for notifications/cancelled. The transports
// bound their number.
type activeCalls struct {
	mu    sync.Mutex
	calls map[activeCallKey][]*activeCall
}

// activeCallKey identifies a call by token and request id: a client can cancel only calls
// of its own token.
type activeCallKey struct{ caller, id string }

// activeCall is a call that was received and not yet answered.
type activeCall struct {
	key    activeCallKey
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// add registers a call; remove must be called when it is done.
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

// cancel ends the call that params name. If two clients of one token use the same id, the
// call is ambiguous and the notification is ignored, as the protocol allows: cancelling
// the other client's order would be worse.
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
