package app

import (
	"context"
	"encoding/json"

	"candela/internal/access/oauth"
	"candela/internal/kit/principal"
)

// auditLogins has the audit log hold who was let in and who was thrown out. Replicas
// have no such log: their servers' streams are theirs.
func (t *trading) auditLogins(rt Runtime, door *oauth.Server) {
	if rt.shared != nil {
		return
	}
	door.OnEvent(func(ctx context.Context, e oauth.Event) {
		store := t.opened.Load()
		if store == nil {
			rt.Log.WarnContext(ctx, "not in the audit log: the store is not open", "kind", e.Kind, "about", e.About)
			return
		}
		body, err := json.Marshal(struct {
			Client  string `json:"client,omitempty"`
			Address string `json:"address,omitempty"`
		}{e.Client, e.Address})
		if err == nil {
			err = store.Note(ctx, principal.Caller{Subject: e.Subject, Key: e.Key, Client: e.Client}, e.Kind, e.About, body)
		}
		if err != nil {
			rt.Log.ErrorContext(ctx, "not in the audit log", "kind", e.Kind, "about", e.About, "error", err)
		}
	})
}
