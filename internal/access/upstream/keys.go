package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// keysPause is the least time between two requests for keys, however many unknown ones are
// named.
const keysPause = 10 * time.Second

// algorithms returns the signatures that are accepted: never none, and none with a shared
// secret.
func algorithms() []string {
	return []string{string(jose.RS256), string(jose.PS256), string(jose.ES256), string(jose.EdDSA)}
}

func joseAlgorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{jose.RS256, jose.PS256, jose.ES256, jose.EdDSA}
}

// keySet holds the provider's public keys. It is safe for concurrent use.
type keySet struct {
	provider *Provider
	url      string

	mu      sync.Mutex
	keys    []jose.JSONWebKey
	fetched time.Time // the last attempt; zero for none
	failed  error     // of the last attempt
}

func newKeySet(p *Provider, url string) *keySet { return &keySet{provider: p, url: url} }

// verification verifies one token with the keys. It keeps the error of a provider that did
// not answer, which the verifier of go-oidc turns into text.
type verification struct {
	keys *keySet
	err  error
}

var errSignature = errors.New("no key of the provider verifies the signature")

// VerifySignature returns the payload of a token that a key of the provider has signed. A key
// that is not known is asked for, at most once in keysPause.
func (v *verification) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	// The other form of a token, JSON, may have several signatures and headers.
	signed, err := jose.ParseSignedCompact(token, joseAlgorithms())
	if err != nil {
		return nil, err
	}
	s := v.keys
	s.mu.Lock()
	defer s.mu.Unlock()
	if payload, ok := s.verify(signed); ok {
		return payload, nil
	}
	now := s.provider.cfg.Now()
	if s.fetched.IsZero() || now.Sub(s.fetched).Abs() >= keysPause {
		s.fetched, s.failed = now, s.fetch(ctx)
	}
	if v.err = s.failed; v.err != nil {
		return nil, v.err
	}
	if payload, ok := s.verify(signed); ok {
		return payload, nil
	}
	return nil, errSignature
}

func (s *keySet) verify(signed *jose.JSONWebSignature) ([]byte, bool) {
	if len(signed.Signatures) != 1 {
		return nil, false
	}
	id := signed.Signatures[0].Header.KeyID
	for _, key := range s.keys {
		if id != "" && key.KeyID != id {
			continue
		}
		if payload, err := signed.Verify(key); err == nil {
			return payload, true
		}
	}
	return nil, false
}

// fetch reads the provider's keys. Keys of kinds that are not known are left out.
func (s *keySet) fetch(ctx context.Context) error {
	var raw struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := s.provider.get(ctx, s.url, &raw); err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	keys := make([]jose.JSONWebKey, 0, len(raw.Keys))
	for _, one := range raw.Keys {
		var key jose.JSONWebKey
		if err := json.Unmarshal(one, &key); err == nil && key.Use != "enc" && key.IsPublic() {
			keys = append(keys, key)
		}
	}
	s.keys = keys
	return nil
}
