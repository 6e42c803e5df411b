// Package seal encrypts messages that pass through untrusted servers: without the secret
// nobody can read, create, change or relocate one. It derives a key for each purpose from one
// secret and knows nothing about networks. Replicas seal everything they send to NATS.
//
// A server can still withhold a sealed message or replay it in its place. Replays detects the
// second; nothing here prevents the first.
package seal

import (
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/chacha20poly1305"
)

// MinSecret is how many bytes a secret has at least.
const MinSecret = 32

// minDistinct is how many different bytes they have at least. Of 32 random bytes 30
// differ on average; fewer than this happen once in 10^11 draws.
const minDistinct = 16

// ParseSecret reads a secret as openssl rand writes it: at least 32 random bytes in
// hexadecimal or base64. The text stays out of the errors.
func ParseSecret(text string) ([]byte, error) {
	text = strings.TrimSpace(text)
	secret, err := hex.DecodeString(text)
	if err != nil {
		secret, err = decodeBase64(text)
	}
	if err != nil {
		return nil, errors.New("it is neither hexadecimal nor base64: make one with openssl rand -hex 32")
	}
	if len(secret) < MinSecret {
		return nil, fmt.Errorf("it has %d bytes and needs %d: make one with openssl rand -hex 32", len(secret), MinSecret)
	}
	if distinct := slices.Compact(slices.Sorted(slices.Values(secret))); len(distinct) < minDistinct {
		return nil, errors.New("it is not random: make one with openssl rand -hex 32")
	}
	return secret, nil
}

// decodeBase64 reads any of the usual alphabets, with padding and without.
func decodeBase64(text string) ([]byte, error) {
	text = strings.TrimRight(text, "=")
	if strings.ContainsAny(text, "-_") {
		return base64.RawURLEncoding.Strict().DecodeString(text)
	}
	return base64.RawStdEncoding.Strict().DecodeString(text)
}

// ErrForged is what Open returns for what was not sealed with its key for its place.
var ErrForged = errors.New("it was not sealed by us for this place")

// Place is what a sealed message is for. It opens nowhere else.
type Place struct {
	Name string // such as a subject
	// Number is its number there, 0 when that is not known before it is sent. Bound by
	// a number, a message cannot be put behind those that followed it.
	Number uint64
}

// Box seals and opens the messages of one purpose. It is safe for concurrent use.
type Box struct{ aead cipher.AEAD }

// version is the first byte of what is sealed.
const version = 1

// The second byte: whether the number of the place counts.
const (
	free  = 0
	bound = 1
)

const (
	headSize = 2 + chacha20poly1305.NonceSizeX
	timeSize = 8
)

// Overhead is how many bytes longer a sealed message is.
const Overhead = headSize + timeSize + chacha20poly1305.Overhead

// NewBox returns the box of a purpose. Boxes of other purposes or secrets open nothing
// of it. The nonces are random and have 192 bits, so that one key serves for as many
// messages as there will be.
func NewBox(secret []byte, purpose string) (*Box, error) {
	if len(secret) < MinSecret {
		return nil, fmt.Errorf("the secret has %d bytes and needs %d", len(secret), MinSecret)
	}
	key, err := derive(secret, purpose, chacha20poly1305.KeySize)
	if err != nil {
		return nil, err
	}
	aead, err := chacha20poly1305.NewX(key)
	if err != nil {
		return nil, err
	}
	return &Box{aead}, nil
}

// Fingerprint identifies a secret without revealing it.
func Fingerprint(secret []byte) (string, error) {
	sum, err := derive(secret, "fingerprint", 8)
	return hex.EncodeToString(sum), err
}

// Seed returns 32 bytes for a key of a purpose that is no box.
func Seed(secret []byte, purpose string) (seed [32]byte, err error) {
	key, err := derive(secret, purpose, len(seed))
	copy(seed[:], key)
	return seed, err
}

func derive(secret []byte, purpose string, size int) ([]byte, error) {
	return hkdf.Key(sha256.New, secret, nil, "candela cluster 1 "+purpose, size)
}

// Seal closes a message for a place.
func (b *Box) Seal(at Place, now time.Time, body []byte) []byte {
	sealed := make([]byte, headSize, Overhead+len(body))
	sealed[0], sealed[1] = version, free
	if at.Number != 0 {
		sealed[1] = bound
	}
	_, _ = rand.Read(sealed[2:headSize]) // it never fails
	plain := make([]byte, timeSize, timeSize+len(body))
	binary.BigEndian.PutUint64(plain, uint64(now.UnixMicro()))
	plain = append(plain, body...)
	return b.aead.Seal(sealed, sealed[2:headSize], plain, label(sealed[:2], at))
}

// Open returns what was sealed for a place and when, by the clock of who did. The
// number of the place counts if it did for Seal. The error is ErrForged.
func (b *Box) Open(at Place, sealed []byte) (body []byte, when time.Time, err error) {
	if len(sealed) < Overhead || sealed[0] != version || sealed[1] > bound {
		return nil, time.Time{}, ErrForged
	}
	if sealed[1] == free {
		at.Number = 0
	}
	plain, err := b.aead.Open(nil, sealed[2:headSize], sealed[headSize:], label(sealed[:2], at))
	if err != nil {
		return nil, time.Time{}, ErrForged
	}
	return plain[timeSize:], time.UnixMicro(int64(binary.BigEndian.Uint64(plain))), nil //nolint:gosec // G115: the bits are read as they are written
}

// label is what is not sent and must be the same at both ends.
func label(head []byte, at Place) []byte {
	data := make([]byte, 0, len(head)+8+len(at.Name))
	data = append(data, head...)
	data = binary.BigEndian.AppendUint64(data, at.Number)
	return append(data, at.Name...)
}
