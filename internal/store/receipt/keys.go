package receipt

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"candela/internal/store/chain"
)

// Keys are the keys of an installation, the oldest first.
type Keys []Key

// Key is a public key, from when until when it signed, and the key that vouches for it.
type Key struct {
	Public ed25519.PublicKey
	From   string // as chain.Stamp writes it; "" if it is not known
	Until  string // "" while it signs

	Change *chain.SignedChange // with which it was introduced; nil if it is not known
}

// ID returns the ID of the key.
func (k Key) ID() string { return chain.KeyID(k.Public) }

// NewKeys returns the keys that changes introduced.
func NewKeys(changes []chain.SignedChange) Keys {
	keys := make(Keys, 0, len(changes))
	for i := range changes {
		if i > 0 {
			keys[i-1].Until = changes[i].Change.From
		}
		keys = append(keys, Key{Public: changes[i].Change.Public, From: changes[i].Change.From, Change: &changes[i]})
	}
	return keys
}

func (k Keys) find(id string) (Key, bool) {
	if i := slices.IndexFunc(k, func(one Key) bool { return one.ID() == id }); i >= 0 {
		return k[i], true
	}
	return Key{}, false
}

// vouched reports whether a key is the first, or the one before it vouches for it and is itself vouched for. A key that was given
// alone is the caller's own to trust.
func (k Keys) vouched(key Key) bool {
	at := slices.IndexFunc(k, func(one Key) bool { return one.ID() == key.ID() })
	for i := 1; i <= at; i++ {
		if k[i].Change == nil || k[i-1].Change == nil {
			return false
		}
		if ok, err := k[i].Change.Verify(k[i-1].Change); !ok || err != nil {
			return false
		}
	}
	return at >= 0
}

// jwk is a key of a JWK set (RFC 8037), with what candela adds.
type jwk struct {
	Kty   string              `json:"kty"`
	Crv   string              `json:"crv"`
	X     string              `json:"x"`
	Kid   string              `json:"kid"`
	Use   string              `json:"use"`
	Alg   string              `json:"alg"`
	From  string              `json:"from,omitempty"`
	Until string              `json:"until,omitempty"`
	Event *chain.SignedChange `json:"introduced,omitempty"`
}

type jwks struct {
	Keys []jwk `json:"keys"`
}

// JWKS returns the keys as a JWK set.
func (k Keys) JWKS() ([]byte, error) {
	set := jwks{Keys: []jwk{}}
	for _, one := range k {
		set.Keys = append(set.Keys, jwk{"OKP", "Ed25519", base64.RawURLEncoding.EncodeToString(one.Public), one.ID(), "sig", "EdDSA", one.From, one.Until, one.Change})
	}
	return json.Marshal(set)
}

// ParseKeys reads a JWK set, or one public key in base64 as candela receipt key prints it.
func ParseKeys(data []byte) (Keys, error) {
	text := strings.TrimSpace(string(data))
	if !strings.HasPrefix(text, "{") {
		public, err := base64.StdEncoding.Strict().DecodeString(text)
		if err != nil || len(public) != ed25519.PublicKeySize {
			return nil, errors.New("it is neither a JWK set nor a public key of 32 bytes in base64")
		}
		return Keys{{Public: public}}, nil
	}
	var set jwks
	if err := json.Unmarshal([]byte(text), &set); err != nil {
		return nil, fmt.Errorf("not a JWK set: %w", err)
	}
	keys := make(Keys, 0, len(set.Keys))
	for _, one := range set.Keys {
		public, err := base64.RawURLEncoding.Strict().DecodeString(one.X)
		if one.Kty != "OKP" || one.Crv != "Ed25519" || err != nil || len(public) != ed25519.PublicKeySize || one.Kid != chain.KeyID(public) {
			return nil, fmt.Errorf("key %q of the set is not an Ed25519 key with its ID", one.Kid)
		}
		if one.Event != nil && one.Event.Change.Key != one.Kid {
			return nil, fmt.Errorf("key %q of the set was introduced as another", one.Kid)
		}
		keys = append(keys, Key{public, one.From, one.Until, one.Event})
	}
	return keys, nil
}

// KeysPath is where a server publishes its keys.
const KeysPath = "/.well-known/candela/receipt-keys.json"
