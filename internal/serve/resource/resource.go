// Package resource defines the MCP resources: the alerts that fired in the last hour, and what happened to
// orders in it. Reading them takes nothing from the queue of get_notifications. The package holds no
// state and starts no goroutines.
package resource

import (
	"context"
	"strconv"

	"candela/internal/alerting/notify"
	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/lib/fault"
)

// The addresses of the resources.
const (
	FiredURI  = "candela://alerts/fired"
	EventsURI = "candela://orders/events"
)

// kinds returns what a resource lists.
func kinds(uri string) notify.Kinds {
	if uri == EventsURI {
		return notify.Orders
	}
	return notify.Alerts
}

// maxBytes bounds the text of a resource, as it bounds the result of a tool.
const maxBytes = 256 << 10

// Log is the owner's log of notifications.
type Log interface {
	LoadOwner(ctx context.Context, owner principal.Owner) error
	Tail(owner principal.Owner, kinds notify.Kinds) notify.Tail
}

// Set is the resources over a log. It is safe for concurrent use.
type Set struct{ log Log }

// New returns the resources over log.
func New(log Log) *Set { return &Set{log} }

// List describes the resources.
func List() []mcp.Resource {
	return []mcp.Resource{{
		URI: FiredURI, Name: "fired_alerts", Title: "Fired alerts", MIME: "application/json",
		Description: "Alerts that fired in the last hour, oldest first, at most the newest 1000. Reading takes nothing from the queue of get_notifications.",
	}, {
		URI: EventsURI, Name: "order_events", Title: "Order events", MIME: "application/json",
		Description: "What happened to orders and positions in the last hour, oldest first, at most the newest 1000. Reading takes nothing from the queue of get_notifications.",
	}}
}

// Resources describes the resources.
func (*Set) Resources() []mcp.Resource { return List() }

// Read returns the notifications as JSON. Of more than fit, the oldest are left out and counted.
func (s *Set) Read(ctx context.Context, caller principal.Caller, uri string) ([]byte, error) {
	if err := allow(caller, uri); err != nil {
		return nil, err
	}
	if err := s.log.LoadOwner(ctx, caller.Subject); err != nil {
		return nil, err
	}
	tail := s.log.Tail(caller.Subject, kinds(uri))
	defer tail.Close()
	var records [][]byte
	bytes, left := 0, 0
	for seq, head := uint64(0), tail.Head(); seq < head; {
		entry, _, _ := tail.Next(seq, notify.PushTTL, notify.MaxBacklog)
		if entry == nil {
			break
		}
		seq = entry.Seq
		records = append(records, entry.Data)
		for bytes += len(entry.Data) + 1; bytes > maxBytes; left++ {
			bytes -= len(records[0]) + 1
			records = records[1:]
		}
	}
	return encode(records, left), nil
}

// encode has the form of the structured result of get_notifications.
func encode(records [][]byte, left int) []byte {
	text := []byte(`{"notifications":[`)
	for i, record := range records {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, record...)
	}
	text = append(text, ']')
	if left > 0 {
		text = strconv.AppendInt(append(text, `,"left_out":`...), int64(left), 10)
	}
	return append(text, '}')
}

// Watch reports when there is another notification.
func (s *Set) Watch(ctx context.Context, caller principal.Caller, uri string) (mcp.Watch, error) {
	if err := allow(caller, uri); err != nil {
		return nil, err
	}
	if err := s.log.LoadOwner(ctx, caller.Subject); err != nil {
		return nil, err
	}
	return s.log.Tail(caller.Subject, kinds(uri)), nil
}

// allow returns why a caller may not see a resource, or nil. It is the only check.
func allow(caller principal.Caller, uri string) error {
	if caller.Scope >= principal.Read {
		return nil
	}
	return fault.New(fault.Unauthorized, "insufficient_scope", "%s needs the scope %s, and the token of this client has %s; "+
		"the owner can connect the client again and approve it with more access", uri, principal.Read, caller.Scope)
}
