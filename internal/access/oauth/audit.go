package oauth

import (
	"context"
	"sync/atomic"
)

// Event is a change of access: a login, an approval, a token or a revocation.
type Event struct {
	Kind    string // owner_logged_in, client_approved, token_issued, token_revoked or logins_ended
	Subject string // the owner
	About   string // the id of the client or token
	Client  string // the client's own name, unverified
	Key     string // identifies the token, "" for none
	Address string // of the request, "" for this machine
}

// audit forwards events to the audit log.
type audit struct {
	keep atomic.Pointer[func(context.Context, Event)]
}

func (a *audit) note(ctx context.Context, e Event) {
	if keep := a.keep.Load(); keep != nil {
		// The event is recorded even if the client has disconnected.
		(*keep)(context.WithoutCancel(ctx), e)
	}
}

// OnEvent sets the function that records events.
func (s *Server) OnEvent(keep func(context.Context, Event)) { s.audit.keep.Store(&keep) }
