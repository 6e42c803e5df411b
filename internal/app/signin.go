package app

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/access/upstream"
	"candela/internal/config"
	"candela/internal/kit/lifecycle"
	"candela/internal/kit/retry"
)

// checkProviderEvery is the time between looks at an identity provider that does not answer.
const checkProviderEvery = 15 * time.Second

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

// watchProvider asks the identity provider at the start, and again while it does not answer. The
// server starts without it: tokens stay valid, and only sign-ins wait.
func watchProvider(idp *upstream.Provider, log *slog.Logger) lifecycle.Part {
	return lifecycle.Part{Name: "sign-in", Run: func(ctx, _ context.Context, ready func()) error {
		ready()
		was := true
		for {
			err := idp.Check(ctx)
			if up := err == nil && idp.Up(); up != was && ctx.Err() == nil {
				was = up
				if up {
					log.InfoContext(ctx, "[OAuth] identity provider answers", "issuer", idp.Issuer())
				} else {
					log.ErrorContext(ctx, "[OAuth] identity provider does not answer; nobody can sign in", "issuer", idp.Issuer(), "error", err)
				}
			}
			if retry.Sleep(ctx, checkProviderEvery) != nil {
				return nil //nolint:nilerr // it was stopped
			}
		}
	}}
}
