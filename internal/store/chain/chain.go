// Package chain has the form of the audit log: an event and its hash, and the chain of an owner over the hashes of
// the owner's events. It stores nothing; package ledger writes the log.
package chain

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Hash is a SHA-256.
type Hash [sha256.Size]byte

// String returns the hash in hex.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText writes the hash in hex.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (h *Hash) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(h)) {
		return fmt.Errorf("hash %q: %w", text, hex.ErrLength)
	}
	_, err := hex.Decode(h[:], text)
	return err
}

// chainDomain begins what is hashed for the chain of an owner.
const chainDomain = "candela owner chain 1\n"

// Chain is the events of one owner as a chain of their own: it is the same whatever other owners did,
// and what was erased of others changes nothing. The hash of each link is over the one before and
// the hash of the event, which the export of the owner has.
type Chain struct {
	Events uint64 `json:"events"`
	Hash   Hash   `json:"hash"`
}

// Add adds the next event of the owner by its hash.
func (c *Chain) Add(event Hash) {
	sum := sha256.New()
	sum.Write([]byte(chainDomain))
	sum.Write(c.Hash[:])
	sum.Write(event[:])
	c.Events++
	sum.Sum(c.Hash[:0])
}
