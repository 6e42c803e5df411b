package conn

import (
	"time"

	"candela/internal/kit/principal"
)

// ChangeInfo is one change: when, asked for by whom, and its own name, by which its
// maker finds it again after an answer that got lost.
type ChangeInfo struct {
	ID     string    `json:"name"`
	At     time.Time `json:"at"`
	Actor  string    `json:"actor,omitempty"` // principal.Caller.Key; "" for the service itself
	Client string    `json:"client,omitempty"`
}

// NewChangeInfo returns the description of a change that a caller makes now.
func NewChangeInfo(name string, now time.Time, by principal.Caller) ChangeInfo {
	return ChangeInfo{ID: name, At: StoredTime(now), Actor: by.Key, Client: by.Client}
}

// StoredTime drops what no store keeps of a time.
func StoredTime(t time.Time) time.Time { return t.Truncate(time.Microsecond).UTC() }
