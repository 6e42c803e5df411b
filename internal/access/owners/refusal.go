package owners

import (
	"fmt"
	"time"

	"candela/internal/kit/principal"
	"candela/lib/fault"
)

// NotFound is the error of a command about an owner of whom there is no record.
func NotFound(id principal.Owner) error {
	return &fault.Error{Kind: fault.NotFound, Code: "owner_not_found", Field: "owner", Value: string(id), Message: fmt.Sprintf("No owner %q. candela owners list shows them.", id)}
}

// WasErased is the error of a change of an owner who was erased: that is final.
func WasErased(o Owner) error {
	return &fault.Error{
		Kind: fault.Conflict, Code: "owner_erased", Field: "owner", Value: string(o.ID),
		Message: fmt.Sprintf("Owner %s was erased on %s, which is final: nothing is left to change. The person can use this server again with another account of the identity provider.", o.ID, o.Since.UTC().Format(time.DateOnly)),
	}
}

// StillActive is the error of an erasure of an owner who is not suspended.
func StillActive(id principal.Owner) error {
	return &fault.Error{Kind: fault.Conflict, Code: "owner_active", Field: "owner", Value: string(id), Message: "Suspend the owner first: candela owners suspend " + string(id)}
}
