package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"candela/internal/kit/principal"
)

// Lifetimes and limits. The limits bound memory however often an owner approves.
const (
	CodeTTL   = 5 * time.Minute
	FormTTL   = 10 * time.Minute   // of the consent form
	TokenTTL  = 7 * 24 * time.Hour // at most
	MaxCodes  = 256
	MaxTokens = 1024 // default of a store

	redeemedPerToken = 2 // redeemed codes that are remembered for each token of the limit
)

// Capacity bounds a store. An owner who has a whole share loses the oldest of its own; a store
// that is full refuses with ErrFull, so that no owner ends what another has.
type Capacity struct {
	Codes, Tokens           int // in all
	OwnerCodes, OwnerTokens int // of one owner
}

// OneOwner returns the capacity for one owner, whose share is everything.
func OneOwner(tokens int) Capacity {
	return Capacity{Codes: MaxCodes, Tokens: tokens, OwnerCodes: MaxCodes, OwnerTokens: tokens}
}

// ManyOwners returns the capacity for many owners. At the limit the tokens
// take about 0.7 GB.
func ManyOwners() Capacity {
	return Capacity{Codes: 65_536, Tokens: 1_000_000, OwnerCodes: 8, OwnerTokens: 20}
}

// Hash is the SHA-256 of a code or token, the only form that is stored. Lookups leak no
// timing, because a client cannot choose a hash.
type Hash [sha256.Size]byte

// HashOf returns the hash of a secret.
func HashOf(secret string) Hash {
	var buffer [64]byte // longer than any code or token; stays off the heap
	return sha256.Sum256(append(buffer[:0], secret...))
}

// Hex returns the hash in hexadecimal.
func (h Hash) Hex() string { return hex.EncodeToString(h[:]) }

// Grant records an approval: the owner and the client that acts for the owner. Replicas
// of different versions share Grant, Code and Token as JSON, so the tags must not change.
type Grant struct {
	Login      bool            `json:"Login,omitempty"`   // a browser session of the owner, not a client
	Console    bool            `json:"Console,omitempty"` // the session is the console's, not the consent page's
	Subject    principal.Owner `json:"Subject"`           // the owner
	ClientName string          `json:"ClientName"`        // chosen by the client, not verified
	ClientKey  string          `json:"ClientKey"`         // equal for registrations with the same name and redirect URIs

	Scope string        `json:"Scope,omitempty"` // what the client may do; "" for trade, as earlier versions granted
	TTL   time.Duration `json:"TTL,omitempty"`   // of the token; 0 for TokenTTL

	// Account is the account with real money that the owner approved the client for; ""
	// for none.
	Account string `json:"Account,omitempty"`

	// Session and Sub are the fingerprints of the sign-in at the identity provider in which the
	// owner approved the client or logged in, and Person the name and email of a login, for
	// display. They are "" for an owner with a passphrase.
	Session string `json:"Session,omitempty"`
	Sub     string `json:"Sub,omitempty"`
	Person  string `json:"Person,omitempty"`

	// Target is where the access went: the scheme and host of the redirect URI, or the scheme
	// of an app; "" if an earlier version approved the client.
	Target string `json:"Target,omitempty"`
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

func newToken(secret string, g Grant, generation string, now time.Time, life time.Duration) Token {
	h := HashOf(secret)
	return Token{Hash: h, Key: h.Hex(), ID: randomID(), Grant: g, Generation: generation, Issued: now, Expires: now.Add(life)}
}

// Errors of a Store that are not failures.
var (
	ErrNotFound = errors.New("no such code or token")
	ErrReplayed = errors.New("code already redeemed")
	ErrRevoked  = errors.New("all logins were revoked meanwhile")
	ErrFull     = errors.New("the store holds as many codes or tokens of other owners as it may")
)

// Store keeps codes, tokens and the seal keys. Implementations are safe for concurrent
// use, drop expired entries, and hold no more than their capacity. A restart may empty the
// store. storetest checks this contract.
type Store interface {
	// Seal returns the current seal key, shared by all servers with the same store. A
	// new key invalidates everything sealed before.
	Seal() SealKey

	// ClientKey returns the key that seals client ids. It changes with RevokeAll, as Seal
	// does, but may outlive a restart: a client id grants nothing, while a form that is
	// sealed with Seal may stand for an approval.
	ClientKey() SealKey

	// RevokeAll revokes every code and token of every owner and changes both keys. It
	// returns the number of live client tokens revoked.
	RevokeAll(ctx context.Context, now time.Time) (int, error)

	// OnRevoke registers a function that is called when tokens end before they expire:
	// with their hashes, or without any when all tokens of earlier generations ended.
	// The store calls it synchronously, so it must not block.
	OnRevoke(ended func(tokens ...Hash))

	// PutCode stores a new code. It returns ErrRevoked for a code of an earlier
	// generation, and ErrReplayed for one that was stored before, as long as the store
	// remembers it. An owner's oldest code makes room; ErrFull means that the others' fill the
	// store.
	PutCode(ctx context.Context, c Code, now time.Time) error

	// Code returns a live code. It returns ErrReplayed for a redeemed code, and
	// ErrNotFound for a dropped, expired or unknown one.
	Code(ctx context.Context, code Hash, now time.Time) (Code, error)

	// Redeem exchanges a code for a token. Of any number of calls for one code exactly
	// one succeeds; each later one revokes the token and returns ErrReplayed. It returns
	// ErrNotFound for a code that is not live. An owner's oldest token makes room; after
	// ErrFull the code is still live.
	Redeem(ctx context.Context, code Hash, t Token, now time.Time) error

	// PutToken stores a new token without a code. It returns ErrRevoked and
	// ErrFull as the others do.
	PutToken(ctx context.Context, t Token, now time.Time) error

	// RevokeReplayed revokes the token of a redeemed code and ignores other codes.
	RevokeReplayed(ctx context.Context, code Hash) error

	// DropCode makes a code unusable.
	DropCode(ctx context.Context, code Hash) error

	// Token returns a live token, or ErrNotFound. An expired one is removed.
	Token(ctx context.Context, token Hash, now time.Time) (Token, error)

	// Tokens lists the live tokens of an owner, newest first.
	Tokens(ctx context.Context, subject principal.Owner, now time.Time) ([]Token, error)

	// Revoke revokes an owner's token by its id, or returns ErrNotFound.
	Revoke(ctx context.Context, subject principal.Owner, id string) error
}

// Rescoper is a Store that can change what a live token may do.
type Rescoper interface {
	// Rescope sets the scope of an owner's client token and the account that it holds for, and
	// returns the token, or ErrNotFound.
	Rescope(ctx context.Context, subject principal.Owner, id, scope, account string) (Token, error)
}
