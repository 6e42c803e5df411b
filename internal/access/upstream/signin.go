package upstream

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Flow is one sign-in of a browser. All three values are secrets of this server, and the
// state is in the address that the browser is sent to.
type Flow struct {
	State    string
	Nonce    string // that the ID token must repeat
	Verifier string // of PKCE
}

// Answer is what a browser brings back from the provider: a code, or an error.
type Answer struct {
	Code   string
	Issuer string // the parameter iss, "" if there is none
	Error  string // the parameter error
}

// AnswerError is an error that the provider answers instead of a code.
type AnswerError struct{ Code string }

// Error names the code.
func (e *AnswerError) Error() string { return "the identity provider answers " + strconv.Quote(e.Code) }

// Identity is who signed in at the provider.
type Identity struct {
	Issuer   string
	Subject  string // the value of the configured claim: it never changes and is never given to another
	Sub      string // the claim sub, which a logout names
	Session  string // at the provider, "" if it names none
	SignedIn time.Time

	// Claims about the person, for display only. None of them identifies anybody.
	Name     string
	Email    string
	Verified bool // the provider says that the email is the person's
	claims   map[string]any
}

// Values of prompt: which account is meant, and who is there. Some providers know only one of
// them, and not all say which.
const (
	PromptAccount = "select_account"
	PromptLogin   = "login"
)

// URL returns the address that a browser is sent to. With a prompt the provider asks even if
// it knows the browser.
func (p *Provider) URL(ctx context.Context, flow Flow, prompt string) (string, error) {
	d, err := p.discover(ctx)
	if err != nil {
		return "", err
	}
	options := []oauth2.AuthCodeOption{oidc.Nonce(flow.Nonce), oauth2.S256ChallengeOption(flow.Verifier)}
	if p.cfg.MaxAge > 0 {
		options = append(options, oauth2.SetAuthURLParam("max_age", strconv.Itoa(int(p.cfg.MaxAge.Seconds()))))
	}
	if prompt != "" {
		options = append(options, oauth2.SetAuthURLParam("prompt", d.prompt(prompt)))
	}
	return p.asClient(d).AuthCodeURL(flow.State, options...), nil
}

// asClient returns the settings of this server as a client of the provider.
func (p *Provider) asClient(d *discovery) *oauth2.Config {
	style := oauth2.AuthStyleInParams
	if d.secretInHeader() {
		style = oauth2.AuthStyleInHeader
	}
	return &oauth2.Config{
		ClientID: p.cfg.ClientID, ClientSecret: p.cfg.Secret.Reveal(), RedirectURL: p.cfg.Redirect, Scopes: p.cfg.Scopes,
		Endpoint: oauth2.Endpoint{AuthURL: d.Authorization, TokenURL: d.Token, AuthStyle: style},
	}
}

// checkIssuer compares the parameter iss of an answer, RFC 9207: wherever it comes, and it
// must come where the provider announces it. An answer of another provider is not looked at
// further, not even an error.
func (p *Provider) checkIssuer(ctx context.Context, issuer string) error {
	d, err := p.discover(ctx)
	switch {
	case err != nil:
		return err
	case issuer == p.cfg.Issuer, issuer == "" && !d.SendsIssuer:
		return nil
	case issuer == "":
		return fmt.Errorf("%w: the answer names no issuer", ErrStartAgain)
	}
	return fmt.Errorf("%w: the answer is of the issuer %q", ErrStartAgain, issuer[:min(len(issuer), 100)])
}

// Exchange redeems the code of an answer and returns who signed in. All tokens are dropped.
func (p *Provider) Exchange(ctx context.Context, answer Answer, flow Flow) (Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if err := p.checkIssuer(ctx, answer.Issuer); err != nil {
		return Identity{}, err
	}
	if answer.Error != "" {
		return Identity{}, &AnswerError{answer.Error[:min(len(answer.Error), 100)]}
	}
	d, err := p.discover(ctx)
	if err != nil {
		return Identity{}, err
	}
	tokens, err := p.asClient(d).Exchange(context.WithValue(ctx, oauth2.HTTPClient, p.client), answer.Code, oauth2.VerifierOption(flow.Verifier))
	if err != nil {
		return Identity{}, p.exchangeError(err)
	}
	p.up.Store(true)
	raw, ok := tokens.Extra("id_token").(string)
	if !ok {
		return Identity{}, fmt.Errorf("%w: there is no ID token", ErrRefused)
	}
	return p.identify(ctx, d, raw, flow)
}

// exchangeError says whose fault a failed exchange is. It quotes no body: it may hold tokens.
func (p *Provider) exchangeError(err error) error {
	answered, ok := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case !ok:
		p.up.Store(false)
		return fmt.Errorf("%w: exchange of the code: %w", ErrUnavailable, err)
	case answered.ErrorCode == "invalid_grant":
		return fmt.Errorf("%w: the provider refuses the code", ErrStartAgain)
	case answered.Response != nil && answered.Response.StatusCode >= http.StatusInternalServerError:
		p.up.Store(false)
		return fmt.Errorf("%w: the token endpoint answers %d", ErrUnavailable, answered.Response.StatusCode)
	case answered.Response != nil:
		return fmt.Errorf("%w: the token endpoint answers %d %q", ErrRefused, answered.Response.StatusCode, answered.ErrorCode)
	}
	return fmt.Errorf("%w: the token endpoint answers %q", ErrRefused, answered.ErrorCode)
}

// claims are the claims of an ID token that are checked or shown.
type claims struct {
	Parties  string `json:"azp"`
	AuthTime int64  `json:"auth_time"`
	Session  string `json:"sid"`
	Name     string `json:"name"`
	Email    string `json:"email"`
	Verified any    `json:"email_verified"`
}

// identify checks an ID token.
func (p *Provider) identify(ctx context.Context, d *discovery, raw string, flow Flow) (Identity, error) {
	v := &verification{keys: d.keys}
	token, err := p.verifier(v).Verify(ctx, raw)
	switch {
	case v.err != nil:
		return Identity{}, v.err
	case err != nil:
		return Identity{}, fmt.Errorf("%w: %w", ErrRefused, err)
	case subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(flow.Nonce)) != 1:
		return Identity{}, fmt.Errorf("%w: the ID token has another nonce", ErrStartAgain)
	}
	var c claims
	all := map[string]any{}
	if err := errors.Join(token.Claims(&c), token.Claims(&all)); err != nil {
		return Identity{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if err := p.checkToken(token, c); err != nil {
		return Identity{}, err
	}
	subject, _ := all[p.cfg.Subject].(string)
	for what, value := range map[string]string{p.cfg.Subject: subject, "sub": token.Subject} {
		if value == "" || len(value) > maxIdentity {
			return Identity{}, fmt.Errorf("%w: the claim %s is missing, no text or longer than %d bytes", ErrRefused, what, maxIdentity)
		}
	}
	if len(c.Session) > maxIdentity {
		return Identity{}, fmt.Errorf("%w: the claim sid is longer than %d bytes", ErrRefused, maxIdentity)
	}
	id := Identity{
		Issuer: p.cfg.Issuer, Subject: subject, Sub: token.Subject, Session: c.Session, SignedIn: token.IssuedAt,
		Name: c.Name, Email: c.Email, Verified: c.Verified == true, claims: all,
	}
	if c.AuthTime > 0 {
		id.SignedIn = time.Unix(c.AuthTime, 0)
	}
	return id, nil
}

// verifier checks signature, issuer and audience. Times are checked by checkTime, which
// allows for clocks.
func (p *Provider) verifier(keys oidc.KeySet) *oidc.IDTokenVerifier {
	return oidc.NewVerifier(p.cfg.Issuer, keys, &oidc.Config{
		ClientID: p.cfg.ClientID, SupportedSigningAlgs: algorithms(), SkipExpiryCheck: true,
	})
}

// checkToken checks whom the token is for and when it was made.
func (p *Provider) checkToken(token *oidc.IDToken, c claims) error {
	// go-oidc admits another form of one issuer's name.
	if token.Issuer != p.cfg.Issuer {
		return fmt.Errorf("%w: the ID token is of the issuer %q", ErrRefused, token.Issuer)
	}
	if c.Parties != "" && c.Parties != p.cfg.ClientID || c.Parties == "" && len(token.Audience) > 1 ||
		slices.Contains(token.Audience, "") {
		return fmt.Errorf("%w: the ID token is for another client", ErrRefused)
	}
	if err := p.checkTime(token.IssuedAt, token.Expiry); err != nil {
		return err
	}
	signedIn := time.Unix(c.AuthTime, 0)
	if age := p.cfg.Now().Sub(signedIn); c.AuthTime > 0 && p.cfg.MaxAge > 0 && age > p.cfg.MaxAge+ageGrace {
		return fmt.Errorf("%w: the sign-in at the provider is %s old", ErrStartAgain, age.Round(time.Second))
	}
	return nil
}

// checkTime compares the times of a token that the provider has just made with the clock
// here.
func (p *Provider) checkTime(issued, expires time.Time) error {
	now := p.cfg.Now()
	if expires.IsZero() || issued.IsZero() || issued.Unix() == 0 || expires.Unix() == 0 {
		return fmt.Errorf("%w: the token has no exp or no iat", ErrRefused)
	}
	if now.After(expires.Add(expiryGrace)) || issued.After(now.Add(aheadGrace)) {
		return &SkewError{Here: now, There: issued}
	}
	return nil
}

// text returns a claim that is a text.
func (i Identity) text(claim string) string {
	text, _ := i.claims[claim].(string)
	return text
}

// Claim returns a claim that is a text, or "".
func (i Identity) Claim(name string) string { return i.text(name) }

// has reports whether a claim is a value, or a list with the value in it.
func (i Identity) has(claim, value string) bool {
	switch given := i.claims[claim].(type) {
	case string:
		return given == value
	case bool:
		return strconv.FormatBool(given) == value
	case float64, json.Number:
		return fmt.Sprint(given) == value
	case []any:
		return slices.ContainsFunc(given, func(one any) bool { return one == value })
	}
	return false
}
