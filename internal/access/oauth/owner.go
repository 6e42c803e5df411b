package oauth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
)

// SoleOwner is the subject of an installation's one owner.
const SoleOwner = "owner"

// FormerOwner is to whom belonged what was set up over stdio, before both transports
// acted for SoleOwner.
const FormerOwner = "local"

// The answers of an OwnerAuth that are not failures.
var (
	// ErrWrongPassphrase means that nobody owns the passphrase given.
	ErrWrongPassphrase = errors.New("wrong passphrase")
	// ErrReplaced means that the passphrase which is known here was replaced: none
	// is taken, whichever was given.
	ErrReplaced = errors.New("the passphrase was replaced")
)

// OwnerAuth knows the owners: those who may approve clients. Authenticate returns
// the subject that a passphrase proves, ErrWrongPassphrase or ErrReplaced. It must
// be safe for concurrent use.
type OwnerAuth interface {
	Authenticate(ctx context.Context, passphrase string) (subject string, err error)
}

// Cost is what a guess costs, to us and to whoever steals a hash.
type Cost struct {
	Memory  uint32 // KiB
	Passes  uint32
	Threads uint8
}

// DefaultCost is RFC 9106's choice for small machines but for the threads: 64 MiB
// and three passes, well under a second.
func DefaultCost() Cost { return Cost{Memory: 64 << 10, Passes: 3, Threads: 1} }

const (
	saltBytes, keyBytes = 16, 32
	hashPrefix          = "$argon2id$"
)

// HashPassphrase returns an argon2id hash in the usual text form, which takes the
// place of the passphrase in files and variables.
func HashPassphrase(passphrase string, c Cost) (string, error) {
	if err := checkPassphrase(passphrase); err != nil {
		return "", err
	}
	salt := make([]byte, saltBytes)
	_, _ = rand.Read(salt) // documented never to fail
	key := argon2.IDKey([]byte(passphrase), salt, c.Passes, c.Memory, c.Threads, keyBytes)
	text := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("%sv=%d$m=%d,t=%d,p=%d$%s$%s", hashPrefix, argon2.Version, c.Memory, c.Passes, c.Threads, text(salt), text(key)), nil
}

// NewPassphrase returns 128 random bits in eight groups of four letters and
// digits, for a server that was given no passphrase.
func NewPassphrase() string {
	var random [16]byte
	_, _ = rand.Read(random[:]) // documented never to fail
	digits := hex.EncodeToString(random[:])
	groups := make([]string, 0, 8)
	for i := 0; i < len(digits); i += 4 {
		groups = append(groups, digits[i:i+4])
	}
	return strings.Join(groups, "-")
}

// Passphrase is an OwnerAuth with one owner and one passphrase. It is safe for
// concurrent use.
type Passphrase struct {
	salt, key []byte
	cost      Cost
	text      string // the hash

	// given returns the passphrase; nil where only its hash was given. A function is
	// not printed by accident.
	given func() string

	// One hash at a time: it needs the memory of a small machine, and guesses that
	// wait in line are guesses that are not made.
	turn chan struct{}
}

// NewOwner returns the owner of a passphrase, which may be given as its hash.
func NewOwner(passphrase string, c Cost) (*Passphrase, error) {
	if strings.HasPrefix(passphrase, hashPrefix) {
		return parseHash(passphrase)
	}
	hash, err := HashPassphrase(passphrase, c)
	if err != nil {
		return nil, err
	}
	p, err := parseHash(hash)
	if err == nil {
		p.given = func() string { return passphrase }
	}
	return p, err
}

// Hash returns the argon2id hash: the one that was given, else one with a salt of its
// own. Nothing else of a passphrase may be kept where others could read it, because
// whatever is cheaper to compute is cheaper to guess from.
func (p *Passphrase) Hash() string { return p.text }

// Is reports whether hash is one of the same passphrase, as far as can be told: a
// passphrase fits every hash of it, a hash only itself.
func (p *Passphrase) Is(ctx context.Context, hash string) (bool, error) {
	if hash == p.text || p.given == nil {
		return hash == p.text, nil
	}
	other, err := parseHash(hash)
	if err != nil {
		return false, nil //nolint:nilerr // what is no hash is not one of this passphrase
	}
	if _, err = other.Authenticate(ctx, p.given()); errors.Is(err, ErrWrongPassphrase) {
		return false, nil
	}
	return err == nil, err
}

// parseHash reads what HashPassphrase and other programs write. The bounds keep a
// hash from asking for more memory or time than a login may cost.
func parseHash(hash string) (*Passphrase, error) {
	// The text itself stays out of the message: it may be a passphrase after all.
	wrong := errors.New("the passphrase looks like an argon2id hash and is none: want $argon2id$v=19$m=65536,t=3,p=1$salt$key, m up to 1048576, t up to 16, p up to 16")
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return nil, wrong
	}
	p := &Passphrase{turn: make(chan struct{}, 1), text: hash}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &p.cost.Memory, &p.cost.Passes, &p.cost.Threads); err != nil ||
		parts[3] != fmt.Sprintf("m=%d,t=%d,p=%d", p.cost.Memory, p.cost.Passes, p.cost.Threads) {
		return nil, wrong
	}
	if c := p.cost; c.Memory < 8 || c.Memory > 1<<20 || c.Passes < 1 || c.Passes > 16 || c.Threads < 1 || c.Threads > 16 {
		return nil, wrong
	}
	var errSalt, errKey error
	p.salt, errSalt = base64.RawStdEncoding.DecodeString(parts[4])
	p.key, errKey = base64.RawStdEncoding.DecodeString(parts[5])
	if errSalt != nil || errKey != nil || len(p.salt) < 8 || len(p.salt) > 64 || len(p.key) < 16 || len(p.key) > 64 {
		return nil, wrong
	}
	return p, nil
}

// Authenticate hashes the passphrase when its turn comes.
func (p *Passphrase) Authenticate(ctx context.Context, passphrase string) (string, error) {
	if len(passphrase) > maxPassphrase {
		return "", ErrWrongPassphrase
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	key := argon2.IDKey([]byte(passphrase), p.salt, p.cost.Passes, p.cost.Memory, p.cost.Threads, uint32(len(p.key))) //nolint:gosec // G115: parseHash bounds it to 64
	if subtle.ConstantTimeCompare(key, p.key) != 1 {
		return "", ErrWrongPassphrase
	}
	return SoleOwner, nil
}
