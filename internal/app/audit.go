package app

import (
	"context"
	"encoding/json"

	"candela/internal/access/oauth"
	"candela/internal/kit/principal"
)

// auditLogins records logins and revocations in the audit log, where the node has one.
func (t *trading) auditLogins(rt Runtime, logins *oauth.Server) {
	if t.audit == nil {
		return
	}
	logins.OnEvent(func(ctx context.Context, e oauth.Event) {
		body, err := json.Marshal(struct {
			Client  string `json:"client,omitempty"`
			Address string `json:"address,omitempty"`
		}{e.Client, e.Address})
		if err == nil {
			err = t.audit(ctx, principal.Caller{Subject: e.Subject, Key: e.Key, Client: e.Client}, e.Kind, e.About, body)
		}
		if err != nil {
			rt.Log.ErrorContext(ctx, "audit entry not written", "kind", e.Kind, "about", e.About, "error", err)
		}
	})
}
