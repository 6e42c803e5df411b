package upstream

import (
	"context"
	"time"

	"candela/internal/kit/retry"
)

// checkEvery is the time between looks at a provider that does not answer.
const checkEvery = 15 * time.Second

// Watch asks the provider at the start, and again while it does not answer, until ctx ends. The
// server starts without it: tokens stay valid, and only sign-ins wait.
func (p *Provider) Watch(ctx, _ context.Context, ready func()) error {
	ready()
	was := true
	for {
		err := p.Check(ctx)
		if up := err == nil && p.Up(); up != was && ctx.Err() == nil {
			was = up
			if up {
				p.cfg.Log.InfoContext(ctx, "[OAuth] identity provider answers", "issuer", p.Issuer())
			} else {
				p.cfg.Log.ErrorContext(ctx, "[OAuth] identity provider does not answer; nobody can sign in", "issuer", p.Issuer(), "error", err)
			}
		}
		if retry.Sleep(ctx, checkEvery) != nil {
			return nil //nolint:nilerr // it was stopped
		}
	}
}
