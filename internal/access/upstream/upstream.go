// Package upstream signs people in at the host's identity provider by OpenID Connect. The
// authorization server needs three calls of it: the URL that a browser is sent to, the
// exchange of the code that it comes back with, and the check of a logout that the provider
// reports. No token of the provider is kept.
//
// Every address that is asked comes from the configured issuer or from its discovery
// document. Requests follow no redirect, take ten seconds at most and read 1 MiB at most.
//
// The package starts no goroutines.
package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"candela/internal/kit/loopback"
	"candela/internal/kit/secret"
)

// Limits of what is asked and believed.
const (
	answerTime  = 10 * time.Second // for a request to the provider
	maxAnswer   = 1 << 20          // bytes
	maxIdentity = 512              // bytes of a subject or session

	expiryGrace = time.Minute     // the provider's clock may be behind by this much
	aheadGrace  = 5 * time.Minute // or ahead by this much
	ageGrace    = time.Minute     // added to the highest age of a sign-in
)

// Errors of a sign-in that are not failures of this server.
var (
	// ErrUnavailable means that the provider does not answer, or not with what it must.
	ErrUnavailable = errors.New("the identity provider does not answer")
	// ErrStartAgain means that the sign-in belongs to another flow, or was used before.
	ErrStartAgain = errors.New("the sign-in does not belong to this flow")
	// ErrRefused means that the provider's answer cannot be trusted.
	ErrRefused = errors.New("the identity provider's answer is not acceptable")
)

// SkewError means that the clocks of this machine and of the provider differ too much.
type SkewError struct{ Here, There time.Time }

// Error names both clocks.
func (e *SkewError) Error() string {
	return fmt.Sprintf("the clocks differ: it is %s here and %s at the identity provider",
		e.Here.UTC().Format(time.RFC3339), e.There.UTC().Format(time.RFC3339))
}

// Config configures a Provider.
type Config struct {
	Issuer   string
	ClientID string
	Secret   secret.Text
	Redirect string        // the address of the callback
	Scopes   []string      // openid among them
	Subject  string        // the claim that identifies a person; "sub" if empty
	MaxAge   time.Duration // of a sign-in at the provider
	Now      func() time.Time
	Log      *slog.Logger
}

// Provider is the identity provider. It is safe for concurrent use.
type Provider struct {
	cfg    Config
	client *http.Client
	known  atomic.Pointer[discovery]
	up     atomic.Bool
	turn   chan struct{} // one discovery at a time; guards tried and failure
	tried  time.Time
	failed error
}

// New returns the provider of an issuer. It sends no request.
func New(cfg Config) (*Provider, error) {
	if !trustworthy(cfg.Issuer) || cfg.ClientID == "" || cfg.Now == nil || cfg.Log == nil {
		return nil, errors.New("upstream needs an https issuer, a client id, a clock and a logger")
	}
	if cfg.Subject == "" {
		cfg.Subject = "sub"
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true}
	client := &http.Client{
		Timeout: answerTime, Transport: bounded{transport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &Provider{cfg: cfg, client: client, turn: make(chan struct{}, 1)}, nil
}

// Issuer returns the configured issuer.
func (p *Provider) Issuer() string { return p.cfg.Issuer }

// Up reports whether the provider answered when it was asked last.
func (p *Provider) Up() bool { return p.up.Load() }

// Check asks for the discovery document if it is not known or the provider did not answer
// last, so that Up has an answer before anybody signs in.
func (p *Provider) Check(ctx context.Context) error {
	_, err := p.read(ctx, !p.Up())
	return err
}

// trustworthy reports whether an address may be asked: https, or http on this machine.
func trustworthy(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && loopback.Host(u.Hostname())
}

// bounded is a transport whose responses end after maxAnswer bytes with an error.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		response.Body = &boundedBody{response.Body, maxAnswer}
	}
	return response, err
}

type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("the answer is longer than %d bytes", maxAnswer)
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
