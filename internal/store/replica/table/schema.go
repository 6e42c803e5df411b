package table

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/store/replica/conn"
)

// The kinds of subject in the stream STATE. Alerts and the inbox share it, and the
// first to open it creates it, so its definition is here.
const (
	CursorKind = "cursor" // cursor.<owner>.<reader>
	SeriesKind = "series" // series.<instrument>.<interval>
	StateKind  = "state"  // state.<owner>.<name>
)

// InboxKinds returns the subject kinds of the inbox's records.
func InboxKinds() []string { return []string{"sub", "seat", "poll", "place"} }

// TombstoneTTL is the lifetime of a tombstone. It outlives every change that began before it.
const TombstoneTTL = 24 * time.Hour

// OpenStates opens the stream STATE.
func OpenStates(ctx context.Context, c *conn.Conn) (*Table, error) {
	return Open(ctx, c, "STATE", jetstream.FileStorage, append([]string{CursorKind, SeriesKind, StateKind}, InboxKinds()...)...)
}
