package upstream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/oauth2"
)

// Errors of CheckSecret.
var (
	// ErrClientRefused means that the provider knows no such client, or that the secret is not its.
	ErrClientRefused = errors.New("the identity provider refuses the client")
	// ErrUnjudged means that the provider's answer does not show whether it accepts the client.
	ErrUnjudged = errors.New("the identity provider's answer does not show whether it accepts the client")
)

// Discovery returns the address of the discovery document.
func (p *Provider) Discovery() string {
	return strings.TrimSuffix(p.cfg.Issuer, "/") + "/.well-known/openid-configuration"
}

// CheckKeys reads the keys that the provider signs with, and the discovery document before.
func (p *Provider) CheckKeys(ctx context.Context) error {
	d, err := p.discover(ctx)
	if err != nil {
		return err
	}
	return d.keys.fetch(ctx)
}

// CheckSecret redeems a code that was never issued: a provider refuses the code only of a client that it accepts.
func (p *Provider) CheckSecret(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	d, err := p.discover(ctx)
	if err != nil {
		return err
	}
	_, err = p.asClient(d).Exchange(context.WithValue(ctx, oauth2.HTTPClient, p.client), rand.Text(), oauth2.VerifierOption(rand.Text()+rand.Text()))
	answered, ok := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case err == nil:
		return fmt.Errorf("%w: it redeems a code that it did not issue", ErrUnjudged)
	case !ok:
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	case answered.ErrorCode == "invalid_grant":
		return nil
	case answered.ErrorCode == "invalid_client", answered.ErrorCode == "unauthorized_client":
		return fmt.Errorf("%w: %s", ErrClientRefused, strconv.Quote(answered.ErrorCode))
	case answered.Response != nil && answered.Response.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("%w: the token endpoint answers 401", ErrClientRefused)
	case answered.Response != nil:
		return fmt.Errorf("%w: the token endpoint answers %d %.100q", ErrUnjudged, answered.Response.StatusCode, answered.ErrorCode)
	}
	return fmt.Errorf("%w: %.100q", ErrUnjudged, answered.ErrorCode)
}
