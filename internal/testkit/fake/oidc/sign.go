package oidc

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/go-jose/go-jose/v4"
)

// signer has the keys of the provider. That of RSA, which takes long to draw, is drawn when it
// is needed.
type signer struct {
	tb      testing.TB
	id      string
	curve   *ecdsa.PrivateKey
	edwards ed25519.PrivateKey
	rsa     *rsa.PrivateKey
}

func newSigner(tb testing.TB) *signer {
	tb.Helper()
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return &signer{tb: tb, id: random(), curve: curve, edwards: edwards}
}

// public returns the keys as they are published.
func (s *signer) public() jose.JSONWebKeySet {
	keys := []jose.JSONWebKey{
		{KeyID: s.id, Use: "sig", Key: s.curve.Public()},
		{KeyID: s.id + "-ed", Use: "sig", Key: s.edwards.Public()},
	}
	if s.rsa != nil {
		keys = append(keys, jose.JSONWebKey{KeyID: s.id + "-rsa", Use: "sig", Key: s.rsa.Public()})
	}
	return jose.JSONWebKeySet{Keys: keys}
}

// UseRSA draws the key of RSA, so that it is published.
func (s *Server) UseRSA() {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		s.tb.Fatal(err)
	}
	s.change(func() { s.signer.rsa = key })
}

// sign signs claims as the lies demand.
func (s *Server) sign(claims map[string]any) string {
	payload, err := json.Marshal(claims)
	if err != nil {
		s.tb.Error(err)
		return ""
	}
	by := s.signer
	if s.lies.ForeignKey {
		by = newSigner(s.tb)
		by.id = s.signer.id
	}
	switch s.lies.Algorithm {
	case "none":
		return unsigned("none", by.id, payload) + "."
	case "HS256":
		// The public key as a shared secret: a verifier that trusts the header would accept it.
		public, err := x509.MarshalPKIXPublicKey(by.curve.Public())
		if err != nil {
			s.tb.Error(err)
		}
		text := unsigned("HS256", by.id, payload)
		mac := hmac.New(sha256.New, public)
		mac.Write([]byte(text))
		return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
	}
	return s.honest(by, payload)
}

func unsigned(algorithm, id string, payload []byte) string {
	header := `{"alg":"` + algorithm + `","kid":"` + id + `"}`
	return base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString(payload)
}

func (s *Server) honest(by *signer, payload []byte) string {
	var key crypto.PrivateKey = by.curve
	id, algorithm := by.id, jose.ES256
	switch s.lies.Algorithm {
	case "EdDSA":
		key, id, algorithm = by.edwards, by.id+"-ed", jose.EdDSA
	case "RS256", "PS256", "RS512":
		key, id, algorithm = by.rsa, by.id+"-rsa", jose.SignatureAlgorithm(s.lies.Algorithm)
	}
	options := (&jose.SignerOptions{}).WithType("JWT")
	if !s.lies.NoKeyID {
		options = options.WithHeader("kid", id)
	}
	signs, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, options)
	if err != nil {
		s.tb.Error(err)
		return ""
	}
	signed, err := signs.Sign(payload)
	if err != nil {
		s.tb.Error(err)
		return ""
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		s.tb.Error(err)
	}
	return text
}
