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

// errSeal is what every seal that does not hold is answered with: which part was
// wrong is nobody's business.
var errSeal = errors.New("seal does not hold")

// SealKey is the secret behind everything that is sealed.
type SealKey [32]byte

// NewSealKey draws a key.
func NewSealKey() SealKey {
	var k SealKey
	_, _ = rand.Read(k[:]) // documented never to fail
	return k
}

// Generation names the time in which the key is the present one, and says nothing about the
// key itself.
func (k SealKey) Generation() string {
	s := sealer{func() SealKey { return k }}
	return hex.EncodeToString(s.mac("era", "")[:8])
}

// String hides the key.
func (SealKey) String() string { return "[secret]" }

// LogValue hides the key.
func (SealKey) LogValue() slog.Value { return slog.StringValue("[secret]") }

// sealer writes small records into strings that only who has the key can make. The
// records are readable by whoever holds the string, so they hold no secret.
type sealer struct{ key func() SealKey }

// pinned returns a sealer that keeps to the present key.
func (s *sealer) pinned() sealer {
	key := s.key()
	return sealer{func() SealKey { return key }}
}

// mac is the authenticator of data for one purpose. The purpose is part of it, so
// that a form cannot be passed off as a client.
func (s *sealer) mac(purpose, data string) []byte {
	key := s.key()
	h := hmac.New(sha256.New, key[:])
	h.Write([]byte(purpose))
	h.Write([]byte{0})
	h.Write([]byte(data))
	return h.Sum(nil)
}

// seal returns record as "data.authenticator", both base64url. The records are
// structs of ours that always marshal.
func (s *sealer) seal(purpose string, record any) string {
	raw, err := json.Marshal(record)
	if err != nil {
		panic("oauth: " + purpose + " cannot be sealed: " + err.Error())
	}
	data := base64.RawURLEncoding.EncodeToString(raw)
	return data + "." + base64.RawURLEncoding.EncodeToString(s.mac(purpose, data))
}

// open reads a sealed record, or returns errSeal. The seal is checked before a
// byte of the record is parsed.
func (s *sealer) open(purpose, sealed string, record any) error {
	data, tag, ok := strings.Cut(sealed, ".")
	if !ok {
		return errSeal
	}
	// Strict, so that a sealed text has one spelling.
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

// derive returns a secret that belongs to a name and need not be stored.
func (s *sealer) derive(purpose, name string) string {
	return base64.RawURLEncoding.EncodeToString(s.mac(purpose, name))
}

// newSecret returns 256 random bits as text, for codes and tokens.
func newSecret() string { return randomText(32) }

func randomText(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // documented never to fail
	return base64.RawURLEncoding.EncodeToString(b)
}

// randomID returns a short name for a token, for people to type.
func randomID() string {
	var b [5]byte
	_, _ = rand.Read(b[:]) // documented never to fail
	return hex.EncodeToString(b[:])
}
