package upstream

import (
	"context"
	"fmt"
	"time"

	"candela/internal/kit/principal"
)

// Ended is a session that ended at the provider. Session or Sub is "" if the provider does
// not name it.
type Ended struct {
	ID      string // of the message; one that was seen is a repetition
	Sub     string
	Session string
	Owner   principal.Owner // "" if Sub does not identify owners
	Expires time.Time       // after which the message is not accepted any more
}

// maxLogoutLife bounds how long a message about a logout may be accepted, and so remembered.
const maxLogoutLife = 10 * time.Minute

// Logout checks a logout token, by which the provider reports over the back channel that a
// session ended. The caller refuses repetitions.
func (p *Provider) Logout(ctx context.Context, raw string) (Ended, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	d, err := p.discover(ctx)
	if err != nil {
		return Ended{}, err
	}
	v := &verification{keys: d.keys}
	token, err := p.verifier(v).VerifyLogout(ctx, raw)
	switch {
	case v.err != nil:
		return Ended{}, v.err
	case err != nil:
		return Ended{}, fmt.Errorf("%w: %w", ErrRefused, err)
	case len(token.TokenID) > maxIdentity || len(token.Subject) > maxIdentity || len(token.SessionID) > maxIdentity:
		return Ended{}, fmt.Errorf("%w: a claim is longer than %d bytes", ErrRefused, maxIdentity)
	case len(token.Audience) != 1:
		return Ended{}, fmt.Errorf("%w: the logout token has %d audiences", ErrRefused, len(token.Audience))
	}
	if err := p.checkTime(token.IssuedAt, token.Expiry); err != nil {
		return Ended{}, err
	}
	until := token.Expiry.Add(expiryGrace)
	if latest := token.IssuedAt.Add(maxLogoutLife); until.After(latest) {
		until = latest
	}
	if !p.cfg.Now().Before(until) {
		return Ended{}, fmt.Errorf("%w: the logout token is older than %s", ErrRefused, maxLogoutLife)
	}
	over := Ended{ID: token.TokenID, Sub: token.Subject, Session: token.SessionID, Expires: until}
	if p.cfg.Subject == "sub" && over.Sub != "" {
		over.Owner = OwnerID(p.cfg.Issuer, over.Sub)
	}
	return over, nil
}
