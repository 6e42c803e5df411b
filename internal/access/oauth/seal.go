package oauth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
)

// errSeal is the error of every invalid seal; it does not reveal which part is wrong.
var errSeal = errors.New("invalid seal")

// SealKey is the secret key of all seals.
type SealKey [32]byte

// NewSealKey returns a random key.
func NewSealKey() SealKey {
	var k SealKey
	_, _ = rand.Read(k[:]) // documented never to fail
	return k
}

// Generation identifies the login generation of the key without revealing the key. The
// string "era" is part of the stored format.
func (k SealKey) Generation() string {
	s := sealer{func() SealKey { return k }}
	return hex.EncodeToString(s.mac("era", "")[:8])
}

// String hides the key.
func (SealKey) String() string { return "[secret]" }

// LogValue hides the key.
func (SealKey) LogValue() slog.Value { return slog.StringValue("[secret]") }

// sealer encodes small records as authenticated, readable strings, so without secrets.
type sealer struct{ key func() SealKey }

// pinned returns a sealer that keeps the current key.
func (s *sealer) pinned() sealer {
	key := s.key()
	return sealer{func() SealKey { return key }}
}

// mac authenticates data for one purpose, so that a form cannot be used as a client id.
func (s *sealer) mac(purpose, data string) []byte {
	key := s.key()
	h := hmac.New(sha256.New, key[:])
	h.Write([]byte(purpose))
	h.Write([]byte{0})
	h.Write([]byte(data))
	return h.Sum(nil)
}

// StateKey returns a secret for the states that clients bring back: it lasts as long as their tokens may.
func (s *Server) StateKey() []byte { return s.clients.mac("state", "") }

// seal returns record as "data.mac", both base64url.
func (s *sealer) seal(purpose string, record any) string {
	raw, err := json.Marshal(record)
	if err != nil {
		panic("oauth: " + purpose + " cannot be sealed: " + err.Error())
	}
	data := base64.RawURLEncoding.EncodeToString(raw)
	return data + "." + base64.RawURLEncoding.EncodeToString(s.mac(purpose, data))
}

// open reads a sealed record after it verified the seal, or returns errSeal.
func (s *sealer) open(purpose, sealed string, record any) error {
	data, tag, ok := strings.Cut(sealed, ".")
	if !ok {
		return errSeal
	}
	// Strict, so that a sealed record has exactly one encoding.
	mac, err := base64.RawURLEncoding.Strict().DecodeString(tag)
	if err != nil || strings.ContainsAny(tag, "\r\n") || !hmac.Equal(mac, s.mac(purpose, data)) {
		return errSeal
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(data)
	if err != nil || json.Unmarshal(raw, record) != nil {
		return errSeal
	}
	return nil
}

// derive returns a secret for a name, which need not be stored.
func (s *sealer) derive(purpose, name string) string {
	return base64.RawURLEncoding.EncodeToString(s.mac(purpose, name))
}

// newSecret returns a random 256-bit secret.
func newSecret() string { return randomText(32) }

func randomText(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // documented never to fail
	return base64.RawURLEncoding.EncodeToString(b)
}

// randomID returns a short token id that people can type.
func randomID() string {
	var b [5]byte
	_, _ = rand.Read(b[:]) // documented never to fail
	return hex.EncodeToString(b[:])
}
