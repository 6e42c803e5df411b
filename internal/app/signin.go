package app

import (
	"log/slog"
	"slices"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/access/upstream"
	"candela/internal/config"
)

// newProvider returns the identity provider of many owners.
func newProvider(cfg *config.Config, log *slog.Logger) (*upstream.Provider, error) {
	o := cfg.Owners
	scopes := slices.Clone(o.Scopes)
	allow, err := upstream.ParseAllow(o.Allow)
	if err != nil {
		return nil, err
	}
	if allow.NeedsGroups() && !slices.Contains(scopes, "groups") {
		scopes = append(scopes, "groups")
	}
	return upstream.New(upstream.Config{
		Issuer: o.Issuer, ClientID: o.ClientID, Secret: o.Secret, Redirect: cfg.HTTP.BaseURL + "/signin/callback", Scopes: scopes,
		Subject: o.Subject, MaxAge: o.MaxAge, Now: time.Now, Log: log,
	})
}

// setSignIn makes owners sign in at an identity provider.
func setSignIn(front *oauth.Config, cfg *config.Config, idp *upstream.Provider) error {
	allow, err := upstream.ParseAllow(cfg.Owners.Allow)
	if err != nil {
		return err
	}
	front.SignIn = &oauth.SignIn{Provider: idp, Allow: allow, Contact: cfg.Owners.Contact, KeepTokens: cfg.Owners.Logout == "browser"}
	front.Pass = nil // there is no passphrase
	return nil
}
