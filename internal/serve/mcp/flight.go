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

// flights are the tool calls under way, so that notifications/cancelled can find
// them. An entry lives as long as its call, so the map is bounded by what the
// transports let run at once.
type flights struct {
	mu   sync.Mutex
	open map[flightKey][]*flight
}

// flightKey names a call by the token that made it and the id the client gave
// it: a client can only cancel what the same token asked for.
type flightKey struct{ caller, id string }

// flight is one call that was received and is not answered yet.
type flight struct {
	key    flightKey
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// begin registers a call; end must be called when it is over.
func (f *flights) begin(ctx context.Context, caller string, id json.RawMessage) *flight {
	ctx, cancel := context.WithCancelCause(ctx)
	fl := &flight{flightKey{caller, string(id)}, ctx, cancel}
	f.mu.Lock()
	f.open[fl.key] = append(f.open[fl.key], fl)
	f.mu.Unlock()
	return fl
}

func (f *flights) end(fl *flight) {
	fl.cancel(nil)
	f.mu.Lock()
	defer f.mu.Unlock()
	if rest := slices.DeleteFunc(f.open[fl.key], func(other *flight) bool { return other == fl }); len(rest) > 0 {
		f.open[fl.key] = rest
	} else {
		delete(f.open, fl.key)
	}
}

// cancel ends the call that params name. Two clients of one token may count
// their ids alike; nobody can then tell which call is meant, and the
// notification is dropped, as the protocol allows: ending the other client's
// order would be worse.
func (f *flights) cancel(caller string, params json.RawMessage) {
	for name, id := range strictjson.Fields(params) {
		if name != "requestId" {
			continue
		}
		f.mu.Lock()
		calls := f.open[flightKey{caller, string(id)}]
		if len(calls) == 1 {
			calls[0].cancel(errCancelled)
		}
		f.mu.Unlock()
	}
}
