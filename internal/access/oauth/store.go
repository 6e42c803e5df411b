package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"
)

// Lifetimes and caps. The token's lifetime is the interface's; the caps keep an
// owner who clicks a thousand times from filling memory.
const (
	CodeTTL   = 5 * time.Minute
	FormTTL   = 10 * time.Minute // of the consent form
	TokenTTL  = 7 * 24 * time.Hour
	MaxCodes  = 256
	MaxTokens = 1024 // unless a store is told otherwise
)

// Hash is the SHA-256 of a code or a token: all that is ever kept of one. Looking
// a hash up gives no timing away, because a client cannot choose one.
type Hash [sha256.Size]byte

// HashOf returns the hash of a secret.
func HashOf(secret string) Hash {
	var room [64]byte // longer than a code or token of ours, and not on the heap
	return sha256.Sum256(append(room[:0], secret...))
}

// Hex returns the hash as text.
func (h Hash) Hex() string { return hex.EncodeToString(h[:]) }

// Grant records an approval: the owner and the client that acts for the owner.
// Replicas of different versions share Grant, Code and Token as JSON, so the tags
// must not change.
type Grant struct {
	Login      bool   `json:"Login,omitempty"` // a browser session of the owner, not a client
	Subject    string `json:"Subject"`         // the owner
	ClientName string `json:"ClientName"`      // chosen by the client, not verified
	ClientKey  string `json:"ClientKey"`       // equal for registrations with the same name and redirect URIs
}

// Code is a stored authorization code.
type Code struct {
	Hash       Hash              `json:"Hash"`
	Client     string            `json:"Client"`   // fingerprint of the client id it was issued to
	Redirect   string            `json:"Redirect"` // where it was sent
	Challenge  [sha256.Size]byte `json:"Challenge"`
	Grant      Grant             `json:"Grant"`
	Generation string            `json:"Era"` // login generation of the approval
	Expires    time.Time         `json:"Expires"`
}

// Token is a stored access token.
type Token struct {
	Hash       Hash      `json:"Hash"`
	Key        string    `json:"Key"` // Hash in hex, which identifies the token elsewhere
	ID         string    `json:"ID"`  // identifies the token to the owner; reveals nothing about the secret
	Grant      Grant     `json:"Grant"`
	Generation string    `json:"Era"` // login generation of its code
	Issued     time.Time `json:"Issued"`
	Expires    time.Time `json:"Expires"`
}

// The answers of a Store that are not failures.
var (
	ErrNotFound = errors.New("no such code or token")
	ErrReplayed = errors.New("the code was redeemed before")
	ErrRevoked  = errors.New("all logins have ended meanwhile")
)

// Store keeps codes, tokens and the key that everything else is sealed with.
// Implementations are safe for concurrent use, forget what has expired, and hold at
// most MaxCodes and MaxTokens, or as many as they are told: past that the oldest
// goes. A restart may empty it. storetest holds them to it.
type Store interface {
	// Seal returns the key of client ids, forms and logins, as of now. Servers with
	// the same store know each other's; when the key changes, all that was sealed
	// has ended.
	Seal() SealKey

	// RevokeAll ends every code and token of every owner and changes the key. It
	// returns how many tokens of clients that were live have ended.
	RevokeAll(ctx context.Context, now time.Time) (int, error)

	// OnRevoke has ended called, from now on, whenever tokens have ended before their
	// time: with their hashes, or with none when every token of another era than that
	// of the present key has. A method that ends tokens returns after ended has, so
	// ended must not wait.
	OnRevoke(ended func(tokens ...Hash))

	// PutCode keeps a new code. It returns ErrEnded for one of another era than that
	// of the present key: its approval has ended before it was written down. It returns
	// ErrReplayed for one that was kept before, whatever became of it, as long as the
	// store remembers.
	PutCode(ctx context.Context, c Code, now time.Time) error

	// Code returns a live code that was neither redeemed nor dropped. It returns
	// ErrReplayed for one that was redeemed, and ErrNotFound otherwise.
	Code(ctx context.Context, code Hash, now time.Time) (Code, error)

	// Redeem turns a code into a token, once: of any number of calls for one code
	// exactly one succeeds. Every later one revokes the token that came of it and
	// returns ErrReplayed. It returns ErrNotFound for a code that is not live.
	Redeem(ctx context.Context, code Hash, t Token, now time.Time) error

	// PutToken keeps a new token that comes of no code. It returns ErrEnded as PutCode
	// does.
	PutToken(ctx context.Context, t Token, now time.Time) error

	// RevokeReplayed revokes the token that came of a redeemed code. For any other code
	// it does nothing.
	RevokeReplayed(ctx context.Context, code Hash) error

	// DropCode burns a code.
	DropCode(ctx context.Context, code Hash) error

	// Token returns a live token, or ErrNotFound. An expired one is removed.
	Token(ctx context.Context, token Hash, now time.Time) (Token, error)

	// Tokens lists the live tokens of an owner, newest first.
	Tokens(ctx context.Context, subject string, now time.Time) ([]Token, error)

	// Revoke ends an owner's token by its id, or returns ErrNotFound.
	Revoke(ctx context.Context, subject, id string) error
}
