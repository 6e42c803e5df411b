package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"
)

const (
	discoveryAge   = time.Hour       // after which the document is read again
	discoveryPause = 2 * time.Second // between attempts that fail
)

// discovery is what the provider says about itself.
type discovery struct {
	Issuer        string   `json:"issuer"`
	Authorization string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	Keys          string   `json:"jwks_uri"`
	TokenAuth     []string `json:"token_endpoint_auth_methods_supported"`
	Prompts       []string `json:"prompt_values_supported"`
	SendsIssuer   bool     `json:"authorization_response_iss_parameter_supported"`

	keys *keySet
	at   time.Time
}

// discover returns the discovery document. A document that cannot be read again is used
// as it was.
func (p *Provider) discover(ctx context.Context) (*discovery, error) { return p.read(ctx, false) }

// read is discover; with again it asks even if the document is known.
func (p *Provider) read(ctx context.Context, again bool) (*discovery, error) {
	fresh := func(d *discovery) bool { return !again && d != nil && p.cfg.Now().Sub(d.at) < discoveryAge }
	if d := p.known.Load(); fresh(d) {
		return d, nil
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
	}
	before, now := p.known.Load(), p.cfg.Now()
	switch {
	case fresh(before):
		return before, nil
	case p.failed != nil && now.Sub(p.tried).Abs() < discoveryPause:
		if before != nil {
			return before, nil
		}
		return nil, p.failed
	}
	p.tried = now
	var read *discovery
	read, p.failed = p.readDiscovery(ctx)
	p.up.Store(p.failed == nil)
	switch {
	case p.failed == nil:
		if before != nil && before.Keys == read.Keys {
			read.keys = before.keys
		}
		p.known.Store(read)
		return read, nil
	case before != nil:
		p.cfg.Log.WarnContext(ctx, "[OAuth] discovery not read again; using the earlier one", "issuer", p.cfg.Issuer, "error", p.failed)
		return before, nil
	}
	return nil, p.failed
}

// readDiscovery asks the issuer for the document and checks every address in it.
func (p *Provider) readDiscovery(ctx context.Context) (*discovery, error) {
	d := &discovery{at: p.cfg.Now()}
	if err := p.get(ctx, p.Discovery(), d); err != nil {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	if d.Issuer != p.cfg.Issuer {
		return nil, fmt.Errorf("%w: discovery of %s names the issuer %q", ErrUnavailable, p.cfg.Issuer, d.Issuer)
	}
	for name, address := range map[string]string{"authorization_endpoint": d.Authorization, "token_endpoint": d.Token, "jwks_uri": d.Keys} {
		if !trustworthy(address) {
			return nil, fmt.Errorf("%w: discovery has %q as %s; it must be https", ErrUnavailable, address, name)
		}
	}
	d.keys = newKeySet(p, d.Keys)
	return d, nil
}

// secretInHeader reports whether the token endpoint takes the client's secret in the header.
func (d *discovery) secretInHeader() bool {
	return len(d.TokenAuth) == 0 || slices.Contains(d.TokenAuth, "client_secret_basic") || !slices.Contains(d.TokenAuth, "client_secret_post")
}

// prompt returns a value of prompt that the provider knows, as far as it says.
func (d *discovery) prompt(wanted string) string {
	if wanted == PromptAccount && len(d.Prompts) > 0 && !slices.Contains(d.Prompts, wanted) {
		return PromptLogin
	}
	return wanted
}

// get reads a JSON document of the provider.
func (p *Provider) get(ctx context.Context, address string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	r.Header.Set("Accept", "application/json")
	response, err := p.client.Do(r)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer func() { _ = response.Body.Close() }() // read to its end, or given up
	body, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %s: %w", ErrUnavailable, address, err)
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("%w: %s answers %d", ErrUnavailable, address, response.StatusCode)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrUnavailable, address, err)
	}
	return nil
}
