package notify

import (
	"bytes"
	"context"
	"strconv"

	"candela/internal/kit/principal"
	"candela/internal/kit/strictjson"
)

// The methods of the notifications that clients receive.
const (
	AlertTriggered = "notifications/alert_triggered"
	OrderEvent     = "notifications/order_event" // only for clients that ask for it
)

// EventOf encodes an entry. The record of an order gets its sequence number, which only the
// store knows, after its first field.
func EventOf(e *Entry) Event {
	if e.Kind != Order {
		return NewEvent(e.Seq, AlertTriggered, e.Data)
	}
	data := make([]byte, 0, len(e.Data)+24)
	first := bytes.IndexByte(e.Data, ',')
	if first < 0 {
		first = len(e.Data) - len("}")
	}
	data = append(data, e.Data[:first]...)
	data = append(data, `,"seq":`...)
	data = strconv.AppendUint(data, e.Seq, 10)
	return NewEvent(e.Seq, OrderEvent, append(data, e.Data[first:]...))
}

// An Event is an encoded notification. It is encoded once, as a server-sent event, and
// shared by all its receivers. Its byte slices are read-only.
type Event struct {
	frame  []byte
	data   int // offset of the message in frame
	params int // offset of its params
}

// NewEvent encodes a notification. params must be one JSON object without line breaks. A
// client that lost its connection resumes after id.
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

// Frame returns the server-sent event, including the empty line that ends it.
func (e Event) Frame() []byte { return e.frame }

// Line returns the message and its line feed, as stdio carries it.
func (e Event) Line() []byte { return e.frame[e.data : len(e.frame)-1] }

// Params returns the params of the message.
func (e Event) Params() []byte { return e.frame[e.params : len(e.frame)-len("}\n\n")] }

// Streams opens streams of notifications. It is safe for concurrent use.
type Streams interface {
	// Open starts the caller's stream after lastEventID, or at the stored cursor if that
	// ID is empty or unknown. A token has one stream: the previous one delivers nothing
	// more.
	Open(ctx context.Context, caller principal.Caller, lastEventID string) (Stream, error)
}

// A Stream reads one client's notifications. A slow client delays nobody else. One goroutine
// uses it.
type Stream interface {
	// Ready receives when Take may return events, and once at the start. It is closed when
	// another stream of the token has taken over, here or at another replica.
	Ready() <-chan struct{}

	// Take appends the next events to dst, oldest first and no more than fit one write. The
	// events of the previous call count as delivered, so call it after each successful
	// write.
	Take(dst []Event) []Event

	// Close ends the stream. The events of the last Take count as undelivered and go to the
	// next stream.
	Close()
}
