package chain

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/kit/strictjson"
)

// SeedSize is how many bytes a key is made of.
const SeedSize = ed25519.SeedSize

// algorithm is the only one there is.
const algorithm = "Ed25519"

// ErrSignature is what Verify returns for a signature that the key did not make over these bytes.
var ErrSignature = errors.New("the signature is not of this key and this content")

// The domains begin what is signed, so that no signature can be one of something else.
const (
	checkpointDomain = "candela checkpoint 1\n"
	keyDomain        = "candela receipt key 1\n"
)

// Key signs checkpoints and receipts. Whatever prints it shows its ID.
type Key struct {
	private ed25519.PrivateKey
}

// NewKey returns the key that is made of a seed.
func NewKey(seed [SeedSize]byte) Key { return Key{ed25519.NewKeyFromSeed(seed[:])} }

// IsZero reports whether there is no key.
func (k Key) IsZero() bool { return k.private == nil }

// Public returns the public half.
func (k Key) Public() ed25519.PublicKey {
	public, _ := k.private.Public().(ed25519.PublicKey)
	return public
}

// ID returns the ID of the key.
func (k Key) ID() string { return KeyID(k.Public()) }

// String returns the ID, so that the key itself reaches no log.
func (k Key) String() string { return k.ID() }

// GoString returns the ID, for the same reason.
func (k Key) GoString() string { return k.ID() }

// MarshalText returns the ID, for the same reason.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.ID()), nil }

// KeyID returns the first 16 hexadecimal digits of the SHA-256 of a public key.
func KeyID(public ed25519.PublicKey) string {
	sum := sha256.Sum256(public)
	return hex.EncodeToString(sum[:8])
}

// Signature is a signature over a domain and the canonical form of a JSON text.
type Signature struct {
	Alg string `json:"alg"`
	Key string `json:"key"` // the key's ID
	Sig []byte `json:"sig"`
}

// Sign signs a payload in its domain.
func (k Key) Sign(domain string, payload any) (Signature, error) {
	text, err := strictjson.CanonicalOf(payload)
	if err != nil {
		return Signature{}, fmt.Errorf("sign: %w", err)
	}
	return Signature{algorithm, k.ID(), ed25519.Sign(k.private, append([]byte(domain), text...))}, nil
}

// Verify checks that a public key signed a payload in its domain.
func (s Signature) Verify(public ed25519.PublicKey, domain string, payload any) error {
	text, err := strictjson.CanonicalOf(payload)
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	if s.Alg != algorithm || s.Key != KeyID(public) || !ed25519.Verify(public, append([]byte(domain), text...), s.Sig) {
		return ErrSignature
	}
	return nil
}

// Stamp writes a time as signed texts have it: in UTC, with milliseconds.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Checkpoint is what the events of an owner come to.
type Checkpoint struct {
	Owner  principal.Owner `json:"owner"`
	Events uint64          `json:"events"`
	Hash   Hash            `json:"hash"`
	At     string          `json:"at"` // as Stamp writes it
}

// Signed is a checkpoint with its signature: the body of an event chain_checkpoint.
type Signed struct {
	Checkpoint Checkpoint `json:"checkpoint"`
	Signature  Signature  `json:"signature"`
}

// Seal signs a checkpoint.
func (k Key) Seal(c Checkpoint) (Signed, error) {
	sig, err := k.Sign(checkpointDomain, c)
	return Signed{c, sig}, err
}

// Verify checks the signature of a checkpoint.
func (s Signed) Verify(public ed25519.PublicKey) error {
	return s.Signature.Verify(public, checkpointDomain, s.Checkpoint)
}

// KeyChange says from when on a key signs: the content of an event receipt_key_changed.
type KeyChange struct {
	Key    string `json:"key"`
	Public []byte `json:"public"`
	From   string `json:"from"`          // as Stamp writes it
	Old    string `json:"old,omitempty"` // the key that it replaces; "" for the first, and where that one is lost
}

// SignedChange is a change with the signature of the new key, and of the old one if there is one: the body of the event.
type SignedChange struct {
	Change    KeyChange  `json:"change"`
	Signature Signature  `json:"signature"`
	Vouched   *Signature `json:"vouched,omitempty"` // by the old key
}

// Introduce returns the change to a key, vouched for by the old one unless that is zero.
func (k Key) Introduce(old Key, at time.Time) (SignedChange, error) {
	c := SignedChange{Change: KeyChange{Key: k.ID(), Public: k.Public(), From: Stamp(at)}}
	if !old.IsZero() {
		c.Change.Old = old.ID()
	}
	var err error
	if c.Signature, err = k.Sign(keyDomain, c.Change); err != nil || old.IsZero() {
		return c, err
	}
	vouched, err := old.Sign(keyDomain, c.Change)
	c.Vouched = &vouched
	return c, err
}

// Verify checks a change against the one before it, nil for the first, and reports whether the old key vouches for the new.
func (c SignedChange) Verify(before *SignedChange) (vouched bool, err error) {
	public := ed25519.PublicKey(c.Change.Public)
	if len(public) != ed25519.PublicKeySize || KeyID(public) != c.Change.Key {
		return false, ErrSignature
	}
	if err := c.Signature.Verify(public, keyDomain, c.Change); err != nil {
		return false, err
	}
	if c.Vouched == nil || before == nil || c.Change.Old != before.Change.Key {
		return false, nil
	}
	return true, c.Vouched.Verify(before.Change.Public, keyDomain, c.Change)
}
