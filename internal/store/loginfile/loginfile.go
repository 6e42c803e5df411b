// Package loginfile keeps the tokens of clients and the key of client ids across restarts,
// for --persist-logins. Codes, forms and browser logins stay in memory: a form may stand for
// an approval, so a key on disk that seals forms would let every reader approve a client.
//
// Two files in the state directory belong together: logins.key holds 32 random bytes, and
// logins.db holds SHA-256 hashes of tokens, sealed with a key derived from them. Without
// either of them all logins have ended. The caller holds the lock of the state directory.
package loginfile

import (
	"context"
	"encoding/hex"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/kit/principal"
)

const (
	// maxClockStep is how far the clock may be behind the newest time that was stored. A
	// clock that is set back further would make tokens last longer.
	maxClockStep = time.Minute

	checkInterval  = time.Minute // between looks at the clock and for expired tokens
	recordInterval = time.Hour   // between records of the time, if nothing else is written
)

// Config configures a Store. All fields but Live and Outdated are required.
type Config struct {
	Owner *oauth.Passphrase
	Live  string // the account with real money that clients may trade on; "" for none
	Most  oauth.Capacity
	// Outdated reports whether another record knows that stored tokens were revoked or changed since:
	// the files were put back from an earlier state. nil where there is no such record.
	Outdated func(ctx context.Context, stored []oauth.Token) (bool, error)
	Now      func() time.Time
	Log      *slog.Logger
}

// Store is an oauth.Store that writes the tokens of clients to disk before it returns. It is
// safe for concurrent use. A lookup reads memory alone and waits for no write.
type Store struct {
	*oauth.Memory
	dir     string
	cfg     Config
	clients atomic.Pointer[oauth.SealKey] // derived from key

	mu        sync.Mutex // one change at a time, with its write
	key       masterKey
	keyStored bool
	stored    bool          // the file has everything
	written   []oauth.Token // that the file has
	writtenAt time.Time
	newest    time.Time // that was seen
}

var _ oauth.Store = (*Store)(nil)

// Open reads the logins of a state directory. It writes nothing; Run does. A passphrase other
// than the stored one ends all logins, and so do files that are outdated. A clock that was set back, or
// another account with real money, ends all tokens.
func Open(ctx context.Context, dir string, cfg Config) (*Store, error) {
	s := &Store{Memory: oauth.NewMemoryWithin(cfg.Most), dir: dir, cfg: cfg, newest: now(cfg)}
	key, stored, err := read(dir)
	if err != nil {
		return nil, err
	}
	if stored == nil {
		return s, s.renew()
	}
	same, err := cfg.Owner.Is(ctx, stored.Passphrase)
	if err != nil {
		return nil, err
	}
	if !same {
		s.logEnd(ctx, "the passphrase was changed", len(stored.Tokens))
		return s, s.renew()
	}
	s.keyStored = true
	if err := s.setKey(key); err != nil {
		return nil, err
	}
	switch {
	case s.newest.Add(maxClockStep).Before(stored.Saved):
		s.logEnd(ctx, "the clock was set back", len(stored.Tokens))
		return s, nil
	case cfg.Live != "" && cfg.Live != stored.Live:
		s.logEnd(ctx, "they were not approved for this account", len(stored.Tokens))
		return s, nil
	}
	if outdated, err := s.outdated(ctx, stored.Tokens); outdated || err != nil {
		if err == nil {
			s.logEnd(ctx, "the files are older than the audit log: they were put back from an earlier state", len(stored.Tokens))
			err = s.renew()
		}
		return s, err
	}
	if stored.Saved.After(s.newest) {
		s.newest = stored.Saved
	}
	generation := s.Seal().Generation()
	for _, t := range stored.Tokens {
		t.Generation = generation
		if err := s.PutToken(ctx, t, s.newest); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Store) outdated(ctx context.Context, stored []oauth.Token) (bool, error) {
	if s.cfg.Outdated == nil || len(stored) == 0 {
		return false, nil
	}
	return s.cfg.Outdated(ctx, stored)
}

// now returns the wall time. A monotonic reading would hide that the clock was set back, and
// stands still while a machine sleeps.
func now(cfg Config) time.Time { return cfg.Now().Round(0) }

func (s *Store) logEnd(ctx context.Context, reason string, tokens int) {
	s.cfg.Log.LogAttrs(ctx, slog.LevelWarn, "[OAuth] stored logins ended", slog.String("reason", reason), slog.Int("tokens", tokens))
}

// renew draws a new key. Everything that was made with the earlier one ends.
func (s *Store) renew() error {
	s.keyStored, s.stored = false, false
	return s.setKey(newKey())
}

func (s *Store) setKey(key masterKey) error {
	clients, err := key.clients()
	if err != nil {
		return err
	}
	s.key = key
	s.clients.Store(&clients)
	return nil
}

// ClientKey returns the key of client ids.
func (s *Store) ClientKey() oauth.SealKey { return *s.clients.Load() }

// Live reports whether the token that key identifies is live.
func (s *Store) Live(key string) bool {
	raw, err := hex.DecodeString(key)
	if err != nil || len(raw) != len(oauth.Hash{}) {
		return false
	}
	_, err = s.Token(context.Background(), oauth.Hash(raw), now(s.cfg))
	return err == nil
}

// Run writes the files, calls ready, and then deletes expired tokens and watches the clock
// until ctx ends. A failed write is tried again every minute.
func (s *Store) Run(ctx context.Context, ready func()) error {
	if err := s.change(ctx, func() error { return nil }); err != nil {
		return err
	}
	ready()
	tick := time.NewTicker(checkInterval)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return s.record(ctx, 0)
		case <-tick.C:
		}
		err := s.record(ctx, recordInterval)
		if err != nil && !failing {
			s.cfg.Log.LogAttrs(ctx, slog.LevelError, "[OAuth] logins not written; a restart would bring revoked ones back", slog.Any("error", err))
		}
		failing = err != nil
	}
}

// record writes changes that the file lacks, or the time if that was written longer ago
// than age.
func (s *Store) record(ctx context.Context, age time.Duration) error {
	return s.change(ctx, func() error {
		if len(s.written) > 0 && s.newest.Sub(s.writtenAt) >= age {
			s.stored = false
		}
		return nil
	})
}

// Redeem exchanges a code for a token, which is on disk when it returns nil.
func (s *Store) Redeem(ctx context.Context, code oauth.Hash, t oauth.Token, now time.Time) error {
	t.Issued, t.Expires = t.Issued.Round(0), t.Expires.Round(0) // wall time
	redeemed := false
	err := s.change(ctx, func() error {
		err := s.Memory.Redeem(ctx, code, t, now)
		redeemed = err == nil
		return err
	})
	if redeemed && err != nil {
		_ = s.Memory.RevokeReplayed(ctx, code) // fails never; the token was given to nobody
	}
	return err
}

// RevokeReplayed revokes the token of a redeemed code.
func (s *Store) RevokeReplayed(ctx context.Context, code oauth.Hash) error {
	return s.change(ctx, func() error { return s.Memory.RevokeReplayed(ctx, code) })
}

// Revoke revokes a token by its id. The token has ended even if the write fails.
func (s *Store) Revoke(ctx context.Context, subject principal.Owner, id string) error {
	return s.change(ctx, func() error { return s.Memory.Revoke(ctx, subject, id) })
}

// Rescope sets the scope of a client's token, which is on disk when it returns nil. If the
// write fails, the change holds until the next start.
func (s *Store) Rescope(ctx context.Context, subject principal.Owner, id, scope, account string) (t oauth.Token, err error) {
	err = s.change(ctx, func() error {
		t, err = s.Memory.Rescope(ctx, subject, id, scope, account)
		return err
	})
	return t, err
}

// RevokeAll revokes every code and token and draws a new key. They have ended even if the
// write fails.
func (s *Store) RevokeAll(ctx context.Context, now time.Time) (ended int, err error) {
	err = s.change(ctx, func() error {
		ended, err = s.Memory.RevokeAll(ctx, now)
		if err != nil {
			return err
		}
		return s.renew()
	})
	return ended, err
}

// change makes a change in memory and writes it. The error of the write comes first: it is
// that of a change that a restart would undo.
func (s *Store) change(ctx context.Context, apply func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkClock(ctx); err != nil {
		return err
	}
	err := apply()
	if failed := s.write(); failed != nil {
		return failed
	}
	return err
}

// checkClock ends all tokens if the clock was set back.
func (s *Store) checkClock(ctx context.Context) error {
	at := now(s.cfg)
	if !at.Add(maxClockStep).Before(s.newest) {
		if at.After(s.newest) {
			s.newest = at
		}
		return nil
	}
	ended, err := s.Memory.RevokeAll(ctx, at)
	if err != nil {
		return err
	}
	s.newest, s.stored = at, false
	s.logEnd(ctx, "the clock was set back", ended)
	return nil
}

// write writes what the files lack. The old file is removed before its key, so that a crash
// in between leaves no tokens.
func (s *Store) write() error {
	tokens := s.ClientTokens(s.newest)
	if s.stored && slices.EqualFunc(tokens, s.written, func(a, b oauth.Token) bool { return a.Hash == b.Hash && a.Grant == b.Grant }) {
		return nil
	}
	s.stored = false
	if !s.keyStored {
		if err := replaceKey(s.dir, s.key); err != nil {
			return failure(err)
		}
		s.keyStored = true
	}
	err := writeFile(s.dir, s.key, contents{Saved: s.newest, Passphrase: s.cfg.Owner.Hash(), Live: s.cfg.Live, Tokens: tokens})
	if err != nil {
		return failure(err)
	}
	s.stored, s.written, s.writtenAt = true, tokens, s.newest
	return nil
}
