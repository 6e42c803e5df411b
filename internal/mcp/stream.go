package mcp

import "context"

// Event is one notification on its way to a client.
type Event struct {
	ID   string // resumes an HTTP stream after this event; without line breaks
	Data []byte // one JSON-RPC notification without line breaks
}

// Streams is where notifications come from. Subscribe returns the caller's
// events after lastEventID, which is empty for a client that resumes nothing. It
// closes the channel to end the stream and frees what it holds when ctx ends. It
// must be safe for concurrent use.
type Streams interface {
	Subscribe(ctx context.Context, caller Caller, lastEventID string) (<-chan Event, error)
}
