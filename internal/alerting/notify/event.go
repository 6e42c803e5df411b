package notify

import (
	"context"
	"strconv"

	"candela/internal/kit/principal"
	"candela/internal/kit/strictjson"
)

// AlertTriggered is the method of the one notification that clients are sent.
const AlertTriggered = "notifications/alert_triggered"

// Event is a notification on its way to clients. It is encoded once, in the form
// that a server-sent event has, and shared by all who get it: a client costs no
// encoding. What its methods return is read-only.
type Event struct {
	frame  []byte
	data   int // where the message begins in frame
	params int // where its params begin
}

// NewEvent returns the notification of a method with the given params, which must
// be one JSON object without line breaks. A client that lost its connection names
// the id to go on after it.
func NewEvent(id uint64, method string, params []byte) Event {
	frame := make([]byte, 0, len(params)+len(method)+96)
	frame = append(frame, "event: message\nid: "...)
	frame = strconv.AppendUint(frame, id, 10)
	frame = append(frame, "\ndata: "...)
	e := Event{data: len(frame)}
	frame = append(frame, `{"jsonrpc":"2.0","method":`...)
	frame = strictjson.AppendString(frame, method)
	frame = append(frame, `,"params":`...)
	frame = append(frame, params...)
	frame = append(frame, "}"...)
	e.params = len(frame) - len("}") - len(params)
	e.frame = append(frame, "\n\n"...)
	return e
}

// Frame is the event as a stream over HTTP carries it, with the empty line that
// ends it.
func (e Event) Frame() []byte { return e.frame }

// Line is the message alone and the line feed that ends it, as stdio carries it.
func (e Event) Line() []byte { return e.frame[e.data : len(e.frame)-1] }

// Params is what the message tells.
func (e Event) Params() []byte { return e.frame[e.params : len(e.frame)-len("}\n\n")] }

// Streams is where notifications come from. It must be safe for concurrent use.
type Streams interface {
	// Open begins the caller's stream after the event with the id lastEventID. An
	// empty id, or one that is not known, goes on where the last stream ended. A
	// caller has one stream: an earlier one gives nothing from here on.
	Open(ctx context.Context, caller principal.Caller, lastEventID string) (Stream, error)
}

// Stream is one client's way through its notifications. It is pulled: a client
// that reads slowly falls behind and holds nobody up. One goroutine uses it.
type Stream interface {
	// Ready delivers when Take may have something, at first always. It is closed
	// when another stream of the caller has taken over somewhere else.
	Ready() <-chan struct{}

	// Take appends to dst what comes next, oldest first and not more than fits
	// one write, and nothing when nothing waits. What it gave before counts as
	// delivered from now on, so it is called again after each successful write.
	Take(dst []Event) []Event

	// Close ends the stream. What Take gave last is not delivered and will be
	// given to the next stream.
	Close()
}
