package oauth

import (
	"context"
	"log/slog"

	"candela/internal/kit/principal"
	"candela/lib/fault"
)

// Rescopes reports whether the scope of a live token can be changed. Where the replicas share
// the logins it cannot: another replica may serve a stream with the old scope.
func (s *Server) Rescopes() bool {
	_, ok := s.store.(Rescoper)
	return ok
}

// Most returns the highest scope that the owner can grant.
func (s *Server) Most() principal.Scope {
	if s.cfg.Trading == NoTrading {
		return principal.Charts
	}
	return principal.Trade
}

// Rescope changes what a client's live token may do, from its next call on. Calls and streams
// under way end, so that none goes on with the old scope. It returns ErrNotFound for a token
// that has ended.
func (s *Server) Rescope(ctx context.Context, subject principal.Owner, id string, scope principal.Scope) error {
	store, ok := s.store.(Rescoper)
	if !ok {
		return fault.New(fault.Unsupported, "scope_fixed", "With --nats-url a scope cannot be changed. Revoke the client and connect it again.")
	}
	if scope < principal.Charts || scope > s.Most() {
		return fault.Field("scope", scope.String(), "charts, or with --trade read or trade")
	}
	account := ""
	if scope == principal.Trade {
		account = s.liveAccount()
	}
	t, err := store.Rescope(ctx, subject, id, scope.String(), account)
	if err != nil {
		return err
	}
	s.leases.end(t.Hash)
	s.log.LogAttrs(ctx, slog.LevelInfo, "[OAuth] scope changed", slog.String("token_id", id), slog.String("client_name", t.Grant.ClientName),
		slog.String("subject", string(subject)), slog.String("scope", scope.String()))
	_ = s.audit.note(ctx, Event{Kind: "scope_changed", Subject: subject, About: id, Client: t.Grant.ClientName, Scope: scope.String()})
	return nil
}
