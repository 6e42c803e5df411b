package oauth

import (
	"context"
	"sync/atomic"
)

// Event is a change of who may act for the owner.
type Event struct {
	Kind    string // owner_logged_in, client_approved, token_issued, token_revoked or logins_ended
	Subject string // the owner
	About   string // the id of the client or token
	Client  string // what the client calls itself
	Key     string // that stands for the token, "" for none
	Address string // that it was asked for from, "" for this machine
}

// audit passes events on to whoever keeps them.
type audit struct {
	keep atomic.Pointer[func(context.Context, Event)]
}

func (a *audit) note(ctx context.Context, e Event) {
	if keep := a.keep.Load(); keep != nil {
		// What happened is noted also when the client has gone meanwhile.
		(*keep)(context.WithoutCancel(ctx), e)
	}
}

// OnEvent has keep called, from now on, with each change of who may act for the owner.
func (s *Server) OnEvent(keep func(context.Context, Event)) { s.audit.keep.Store(&keep) }
