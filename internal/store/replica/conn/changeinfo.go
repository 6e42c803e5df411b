package conn

import (
	"time"

	"candela/internal/kit/principal"
)

// ChangeInfo is the time, author and ID of a change. The writer finds the change again by its
// ID after a lost acknowledgement.
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

// StoredTime rounds a time to the precision of the stores.
func StoredTime(t time.Time) time.Time { return t.Truncate(time.Microsecond).UTC() }
