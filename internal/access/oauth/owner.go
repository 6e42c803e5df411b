package oauth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"

	"candela/internal/kit/principal"
)

// SoleOwner is the subject of an installation's one owner.
const SoleOwner = "owner"

// Errors of an OwnerAuth that are not failures.
var (
	// ErrWrongPassphrase means that no owner has the passphrase.
	ErrWrongPassphrase = errors.New("wrong passphrase")
	// ErrReplaced means that this replica's passphrase is outdated, so it accepts none.
	ErrReplaced = errors.New("the passphrase was replaced")
)

// OwnerAuth authenticates owners, who may approve clients. Authenticate returns the
// subject of a passphrase, ErrWrongPassphrase or ErrReplaced; Current returns ErrReplaced
// where no passphrase is compared. It must be safe for concurrent use.
type OwnerAuth interface {
	Current() error
	Authenticate(ctx context.Context, passphrase string) (subject principal.Owner, err error)
}

// Cost is the argon2id cost of one guess.
type Cost struct {
	Memory  uint32 // KiB
	Passes  uint32
	Threads uint8
}

// DefaultCost is RFC 9106's choice for small machines: 64 MiB, three passes, one thread.
func DefaultCost() Cost { return Cost{Memory: 64 << 10, Passes: 3, Threads: 1} }

const (
	saltBytes, keyBytes = 16, 32
	hashPrefix          = "$argon2id$"
)

// HashPassphrase returns an argon2id hash in the usual text form. Files and variables
// may contain it instead of the passphrase.
func HashPassphrase(passphrase string, c Cost) (string, error) {
	if err := checkPassphrase(passphrase); err != nil {
		return "", err
	}
	salt := newSalt()
	return hashText(c, salt, c.key(passphrase, salt, keyBytes)), nil
}

func newSalt() []byte {
	salt := make([]byte, saltBytes)
	_, _ = rand.Read(salt) // documented never to fail
	return salt
}

func hashText(c Cost, salt, key []byte) string {
	text := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("%sv=%d$m=%d,t=%d,p=%d$%s$%s", hashPrefix, argon2.Version, c.Memory, c.Passes, c.Threads, text(salt), text(key))
}

// freedAbove is the memory of a hash, in KiB, that goes back to the system at once. The collector would keep it for minutes in
// a program that has little to do.
const freedAbove = 16 << 10

// key hashes a passphrase.
func (c Cost) key(passphrase string, salt []byte, size int) []byte {
	key := argon2.IDKey([]byte(passphrase), salt, c.Passes, c.Memory, c.Threads, uint32(size)) //nolint:gosec // G115: parseHash bounds it to 64
	if c.Memory > freedAbove {
		debug.FreeOSMemory()
	}
	return key
}

// NewPassphrase returns a random 128-bit passphrase in eight groups of four characters,
// for a server without a configured one.
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

// Passphrase is an OwnerAuth with one owner and passphrase, safe for concurrent use.
type Passphrase struct {
	// Of a given passphrase they are empty until something is compared with it: a hash takes a part of a second, which the
	// start does not wait for. The turn guards them.
	salt, key []byte
	text      string // the hash
	cost      Cost

	// given returns the passphrase, nil if unknown; a function is not printed by accident.
	given func() string

	// turn admits one hash at a time, which bounds memory and the rate of guesses.
	turn chan struct{}
}

// NewOwner returns the owner with a passphrase, which may be an argon2id hash.
func NewOwner(passphrase string, c Cost) (*Passphrase, error) {
	if strings.HasPrefix(passphrase, hashPrefix) {
		return parseHash(passphrase)
	}
	if err := checkPassphrase(passphrase); err != nil {
		return nil, err
	}
	return &Passphrase{turn: make(chan struct{}, 1), cost: c, given: func() string { return passphrase }}, nil
}

// NewProviderOwner stands for owners who sign in at an identity provider: no passphrase is
// right. Its hash names the provider, so that another provider ends all logins as another
// passphrase does.
func NewProviderOwner(issuer, client string) *Passphrase {
	sum := sha256.Sum256([]byte(issuer + "\x00" + client))
	return &Passphrase{text: "$oidc$" + hex.EncodeToString(sum[:16])}
}

// Hash returns the argon2id hash. Nothing else derived from the passphrase may be
// stored: a cheaper hash would be cheaper to guess from.
func (p *Passphrase) Hash() string {
	if p.given == nil {
		return p.text
	}
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	p.derive()
	return p.text
}

// derive hashes a given passphrase once. The caller has the turn.
func (p *Passphrase) derive() {
	if p.text == "" {
		p.salt = newSalt()
		p.key = p.cost.key(p.given(), p.salt, keyBytes)
		p.text = hashText(p.cost, p.salt, p.key)
	}
}

// Is reports whether hash is a hash of the same passphrase. If only the hash of this one
// is known, other hashes of the same passphrase do not match.
func (p *Passphrase) Is(ctx context.Context, hash string) (bool, error) {
	if p.given == nil {
		return hash == p.text, nil
	}
	if err := p.await(ctx); err != nil {
		return false, err
	}
	defer func() { <-p.turn }()
	if hash == p.text {
		return hash != "", nil
	}
	other, err := parseHash(hash)
	if err != nil {
		return false, nil // not a hash, so not one of this passphrase
	}
	if _, err = other.Authenticate(ctx, p.given()); errors.Is(err, ErrWrongPassphrase) {
		return false, nil
	}
	if err == nil && p.text == "" && other.cost == p.cost {
		p.salt, p.key, p.text = other.salt, other.key, other.text // one more hash would say the same
	}
	return err == nil, err
}

// await waits for the turn.
func (p *Passphrase) await(ctx context.Context) error {
	select {
	case p.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// parseHash parses an argon2id hash. The bounds limit the memory and time of a login.
func parseHash(hash string) (*Passphrase, error) {
	// The error omits the text: it may be a passphrase.
	wrong := errors.New("the passphrase starts like an argon2id hash but is invalid: want $argon2id$v=19$m=65536,t=3,p=1$salt$key, m up to 1048576, t up to 16, p up to 16")
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

// Current returns nil: only replicas outdate a passphrase.
func (p *Passphrase) Current() error { return nil }

// Authenticate hashes the passphrase and compares it.
func (p *Passphrase) Authenticate(ctx context.Context, passphrase string) (principal.Owner, error) {
	if len(passphrase) > maxPassphrase || p.turn == nil {
		return "", ErrWrongPassphrase
	}
	if err := p.await(ctx); err != nil {
		return "", err
	}
	defer func() { <-p.turn }()
	p.derive()
	if key := p.cost.key(passphrase, p.salt, len(p.key)); subtle.ConstantTimeCompare(key, p.key) != 1 {
		return "", ErrWrongPassphrase
	}
	return SoleOwner, nil
}

// The bounds of a passphrase. An attacker with many addresses has 43,000 guesses a day,
// enough for a shorter or a common one.
const (
	minPassphrase = 12   // characters
	maxPassphrase = 1024 // bytes
	minDistinct   = 5    // characters
)

// guessed returns common password words. Digits and signs around them do not help.
func guessed() []string {
	return []string{
		"admin", "administrator", "bitcoin", "candela", "changeme", "default", "iloveyou", "letmein", "master", "monkey",
		"passphrase", "password", "passwort", "qwerty", "qwertyuiop", "qwertz", "secret", "trading", "tradingview", "trustno", "welcome",
	}
}

// rows returns the alphabet, the digits and keyboard rows.
func rows() []string {
	return []string{"abcdefghijklmnopqrstuvwxyz", "qwertyuiopasdfghjklzxcvbnm", "qwertzuiopasdfghjklyxcvbnm", "12345678901234567890", "09876543210987654321"}
}

// letter returns the letter that a character is or replaces ("p4ssw0rd"), or -1.
func letter(r rune) rune {
	const signs, letters = "0134578@$", "oieastbas"
	if i := strings.IndexRune(signs, r); i >= 0 {
		return rune(letters[i])
	}
	if unicode.IsLetter(r) {
		return r
	}
	return -1
}

var errWeak = errors.New("the passphrase is easy to guess: use several unrelated words, or let a password manager create one")

// checkPassphrase returns an error for a weak passphrase, without the passphrase in it.
func checkPassphrase(passphrase string) error {
	if n := utf8.RuneCountInString(passphrase); n < minPassphrase || len(passphrase) > maxPassphrase {
		return fmt.Errorf("a passphrase must have at least %d characters and at most %d bytes", minPassphrase, maxPassphrase)
	}
	lower := strings.ToLower(passphrase)
	distinct := make(map[rune]bool)
	for _, r := range lower {
		distinct[r] = true
	}
	if len(distinct) < minDistinct || repeats(lower) {
		return errWeak
	}
	letters := strings.Map(letter, lower)
	for _, word := range guessed() {
		// The rest without the word must be long enough on its own.
		if rest := strings.ReplaceAll(letters, word, ""); len(rest) < len(letters) && utf8.RuneCountInString(rest) < 6 {
			return errWeak
		}
	}
	for _, row := range rows() {
		if strings.Contains(row, lower) {
			return errWeak
		}
	}
	return nil
}

// repeats reports whether a text consists of one repeated piece.
func repeats(text string) bool {
	for size := 1; size <= len(text)/2; size++ {
		if strings.HasPrefix(strings.Repeat(text[:size], len(text)/size+1), text) {
			return true
		}
	}
	return false
}
