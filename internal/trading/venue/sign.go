package venue

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"candela/internal/kit/secret"
)

// Signer returns the signature of a payload.
type Signer func(payload string) string

// NewSigner returns the signer of a key's secret: a text signs with HMAC-SHA256 in hexadecimal, a private key
// in PEM with Ed25519 in base64. Its error omits the secret.
func NewSigner(secret secret.Text) (Signer, error) {
	text := strings.TrimSpace(secret.Reveal())
	switch {
	case text == "":
		return nil, errors.New("no secret")
	case strings.HasPrefix(text, "-----BEGIN"):
		return newEd25519(text)
	}
	return func(payload string) string {
		mac := hmac.New(sha256.New, []byte(text))
		_, _ = mac.Write([]byte(payload))
		return hex.EncodeToString(mac.Sum(nil))
	}, nil
}

func newEd25519(text string) (Signer, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("the secret begins like PEM and cannot be read")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("the secret is no PKCS #8 private key without a passphrase")
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("the secret is a private key of another kind than Ed25519: %T", parsed)
	}
	return func(payload string) string {
		return base64.StdEncoding.EncodeToString(ed25519.Sign(key, []byte(payload)))
	}, nil
}
