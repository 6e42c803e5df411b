// Package logins stores authorization codes and tokens, grouped by login generation, in the
// memory of the servers.
package logins

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/time/rate"

	"candela/internal/access/oauth"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/table"
)

const (
	codeKind  = "code"  // code.<hash>
	tokenKind = "token" // token.<hash>
)

// tokenTombstoneTTL is the lifetime of tombstones of expired or evicted codes and tokens.
const tokenTombstoneTTL = time.Hour

// usedCodesPerToken is how many used codes are remembered per token of the limit.
const usedCodesPerToken = 2

// The rate of reads of unknown tokens from the leader. Beyond it unknown tokens are refused.
const (
	lookupsPerSecond = 100
	lookupBurst      = 200
)

const (
	// restoresPerSecond limits how often a generation is restored that strangers overwrite.
	restoresPerSecond = 10
	// rewritesPerSecond limits how often the end of a replayed token or code is written again.
	rewritesPerSecond = 100
)

// Store stores codes, tokens and the sealing key in the servers' memory. They outlive every
// replica and end with the servers or with a change of the passphrase. A check reads a map that
// a follower keeps up to date, and no server. It is safe for concurrent use.
type Store struct {
	table *table.Table
	most  oauth.Capacity
	log   *slog.Logger
	stop  context.CancelFunc
	done  chan struct{} // closed when the follower has ended
	// loaded is closed when the stored codes and tokens are known.
	loaded chan struct{}

	lookups  *rate.Limiter
	early    *rate.Limiter // of tokens before all are known
	restores *rate.Limiter // of an overwritten generation
	rewrites *rate.Limiter // of replayed codes and tokens

	owner      *oauth.Passphrase // of this replica; nil if it has no sign-in
	matchCache map[string]bool   // results of matchesPassphrase by hash
	generation atomic.Pointer[currentGeneration]
	ended      oauth.Listeners

	mu          sync.RWMutex
	tokens      cache[oauth.Token]
	codes       cache[codeRecord]
	endedLogins map[oauth.Hash]endedLogin // tokens and codes that have ended
}

type codeRecord struct {
	Code oauth.Code `json:"code"`
	// Token is the hash of the token it was redeemed for, zero before that.
	Token oauth.Hash `json:"token,omitzero"`
	// ForgetAt is when the record may be removed.
	ForgetAt time.Time `json:"ends"`
}

func (c codeRecord) used() bool { return c.Token != oauth.Hash{} }

// The sorts of codes in the cache.
const (
	unusedCodes = iota
	usedCodes
)

func traitsOfCode(c codeRecord) traits {
	t := traits{owner: c.Code.Grant.Subject, ends: c.ForgetAt, sort: unusedCodes}
	if c.used() {
		t.sort = usedCodes
	}
	return t
}

func traitsOfToken(t oauth.Token) traits { return traits{owner: t.Grant.Subject, ends: t.Expires} }

var (
	_ oauth.Store     = (*Store)(nil)
	_ oauth.OwnerAuth = (*Store)(nil)
)

// Open opens the store, which holds at most most, and reads all of it. With many owners it does not
// wait for that: a token is read when it is used, and what needs to know others waits. A new passphrase
// of owner revokes the logins under the former one; owner may be nil. Close must be called.
func Open(ctx context.Context, c *conn.Conn, owner *oauth.Passphrase, most oauth.Capacity, log *slog.Logger) (*Store, error) {
	table, err := table.Open(ctx, c, "TOKENS", jetstream.MemoryStorage, codeKind, tokenKind, sealKind)
	if err != nil {
		return nil, err
	}
	t := &Store{
		table: table, most: most, log: log, done: make(chan struct{}), loaded: make(chan struct{}), lookups: rate.NewLimiter(lookupsPerSecond, lookupBurst), early: rate.NewLimiter(earlyLookups, earlyLookups),
		owner: owner, matchCache: make(map[string]bool), tokens: newCache(traitsOfToken), codes: newCache(traitsOfCode),
		endedLogins: make(map[oauth.Hash]endedLogin), restores: rate.NewLimiter(restoresPerSecond, restoresPerSecond),
		rewrites: rate.NewLimiter(rewritesPerSecond, rewritesPerSecond),
	}
	if err := t.initGeneration(ctx); err != nil {
		return nil, err
	}
	c.AddCheck(t.confirm)
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	t.stop = stop
	if c.ManyOwners() {
		go t.loadAndFollow(watching)
		return t, nil
	}
	last, err := t.follower().Load(ctx, "read tokens")
	if err != nil {
		stop()
		return nil, err
	}
	close(t.loaded)
	go t.follow(watching, last)
	return t, nil
}

// OnRevoke registers a function that is called when tokens end early, on any replica.
func (t *Store) OnRevoke(ended func(...oauth.Hash)) { t.ended.Add(ended) }

func (t *Store) change(kind string, h oauth.Hash, value any, ttl time.Duration) (conn.Change, error) {
	ch := conn.Change{Subject: t.table.Subject(kind, h.Hex()), TTL: max(time.Second, ttl.Round(time.Second))}
	if value == nil {
		return ch, nil
	}
	var err error
	ch.Data, err = json.Marshal(value)
	return ch, err
}

func (t *Store) write(ctx context.Context, changes ...conn.Change) error {
	first, err := t.table.Write(ctx, changes...)
	if err != nil {
		return err
	}
	return t.written(first, changes...)
}

// written applies changes that were written together, the first with sequence number first.
func (t *Store) written(first uint64, changes ...conn.Change) error {
	for i, ch := range changes {
		if err := t.apply(conn.Message{Subject: ch.Subject, Data: ch.Data, Seq: first + uint64(i)}, false); err != nil {
			return err
		}
	}
	return nil
}

// writeTombstones ends codes or tokens, in batches. A replica that is away for longer than ttl
// misses it.
func (t *Store) writeTombstones(ctx context.Context, kind string, ttl time.Duration, gone ...oauth.Hash) error {
	for step := range slices.Chunk(gone, conn.MaxBatch) {
		changes := make([]conn.Change, len(step))
		for i, h := range step {
			changes[i], _ = t.change(kind, h, nil, ttl) // nothing is encoded
		}
		if err := t.table.RetryWrite(ctx, "delete "+kind+"s", func(ctx context.Context) error { return t.write(ctx, changes...) }); err != nil {
			return err
		}
	}
	return nil
}

// PutCode stores a new code.
func (t *Store) PutCode(ctx context.Context, c oauth.Code, now time.Time) error {
	if c.Generation != t.generation.Load().name {
		return oauth.ErrRevoked
	}
	if err := t.makeRoom(ctx, codeKind, c.Grant.Subject, now); err != nil {
		return err
	}
	// It is kept for as long as its form can be submitted again.
	ends := c.Expires.Add(oauth.FormTTL)
	ch, err := t.change(codeKind, c.Hash, codeRecord{Code: c, ForgetAt: ends}, ends.Sub(now))
	if err != nil {
		return err
	}
	ch.CompareAndSet = true
	return t.table.RetryWrite(ctx, "store code", func(ctx context.Context) error {
		m, ok, err := t.table.Latest(ctx, ch.Subject)
		switch {
		case err != nil:
			return err
		case ok && bytes.Equal(m.Data, ch.Data): // by an earlier attempt that was not acknowledged
			return t.written(m.Seq, ch)
		case ok:
			return conn.Final(oauth.ErrReplayed)
		}
		return t.write(ctx, ch)
	})
}

// PutToken stores a new token that was not redeemed from a code.
func (t *Store) PutToken(ctx context.Context, tok oauth.Token, now time.Time) error {
	if tok.Generation != t.generation.Load().name {
		return oauth.ErrRevoked
	}
	if err := t.makeRoom(ctx, tokenKind, tok.Grant.Subject, now); err != nil {
		return err
	}
	ch, err := t.change(tokenKind, tok.Hash, tok, tok.Expires.Sub(now))
	if err != nil {
		return err
	}
	return t.table.RetryWrite(ctx, "store token", func(ctx context.Context) error { return t.write(ctx, ch) })
}

// makeRoom clears expired codes and tokens and, at the limit, those of the owner that are the
// first to expire. Another owner's are never cleared before their time: a store without room
// returns ErrFull.
func (t *Store) makeRoom(ctx context.Context, kind string, owner principal.Owner, now time.Time) error {
	if err := t.awaitLoaded(ctx); err != nil {
		return err
	}
	most := t.most
	t.mu.Lock()
	codes, tokens := t.codes.takeExpired(now), t.tokens.takeExpired(now)
	if kind == codeKind {
		codes = append(codes, t.codes.overShare(owner, unusedCodes, most.OwnerCodes, now)...)
	} else {
		codes = append(codes, t.codes.overShare(owner, usedCodes, usedCodesPerToken*most.OwnerTokens, now)...)
		tokens = append(tokens, t.tokens.overShare(owner, 0, most.OwnerTokens, now)...)
	}
	t.mu.Unlock()
	err := errors.Join(t.writeTombstones(ctx, codeKind, tokenTombstoneTTL, codes...), t.writeTombstones(ctx, tokenKind, tokenTombstoneTTL, tokens...))
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.codes.rebuild()
		t.tokens.rebuild()
		return err
	}
	full := t.codes.count[unusedCodes] >= most.Codes
	if kind == tokenKind {
		full = t.tokens.count[0] >= most.Tokens || t.codes.count[usedCodes] >= usedCodesPerToken*most.Tokens
	}
	if full {
		return oauth.ErrFull
	}
	return nil
}

// loadCode reads a code from the leader, because another replica may just have stored or used it.
func (t *Store) loadCode(ctx context.Context, h oauth.Hash, now time.Time) (codeRecord, uint64, error) {
	m, ok, err := t.table.Latest(ctx, t.table.Subject(codeKind, h.Hex()))
	if err != nil {
		return codeRecord{}, 0, err
	}
	if !ok && t.knownLive(h, now) {
		return codeRecord{}, 0, conn.ErrConflict // the answering server lags behind
	}
	if !ok || len(m.Data) == 0 {
		return codeRecord{}, 0, conn.Final(oauth.ErrNotFound)
	}
	var c codeRecord
	if err := json.Unmarshal(m.Data, &c); err != nil {
		return codeRecord{}, 0, conn.Corrupted("read code", err)
	}
	if c.Code.Generation != t.generation.Load().name || !c.used() && !now.Before(c.Code.Expires) || t.knownEnded(h) {
		return codeRecord{}, 0, conn.Final(oauth.ErrNotFound)
	}
	if !c.used() && t.knownUsed(h) {
		return codeRecord{}, 0, conn.ErrConflict // the answering server lags behind, or it is a replay
	}
	return c, m.Seq, nil
}

// knownLive reports whether a code is known that the servers keep for a while. A zero now is the
// present.
func (t *Store) knownLive(h oauth.Hash, now time.Time) bool {
	if now.IsZero() {
		now = time.Now()
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	row, known := t.codes.rows[h]
	// The servers expire messages by their own clock, to the second.
	return known && !row.cleared && row.value.ForgetAt.Sub(now) > 5*time.Second
}

// Code returns a live code that was neither redeemed nor dropped.
func (t *Store) Code(ctx context.Context, h oauth.Hash, now time.Time) (oauth.Code, error) {
	var c codeRecord
	err := t.table.RetryRead(ctx, func(ctx context.Context) (err error) {
		c, _, err = t.loadCode(ctx, h, now)
		return err
	})
	switch {
	case err != nil:
		return oauth.Code{}, conn.Unavailable("read code", err)
	case c.used():
		return oauth.Code{}, oauth.ErrReplayed
	}
	return c.Code, nil
}

// Redeem turns a code into a token, once: both messages are written atomically, and only if the
// code has not changed since it was read.
func (t *Store) Redeem(ctx context.Context, code oauth.Hash, tok oauth.Token, now time.Time) error {
	if err := t.makeRoom(ctx, tokenKind, tok.Grant.Subject, now); err != nil {
		return err
	}
	err := t.table.RetryWrite(ctx, "redeem code", func(ctx context.Context) error {
		c, seq, err := t.loadCode(ctx, code, now)
		if err != nil {
			return err
		}
		done := c.Token == tok.Hash // by an earlier attempt that was not acknowledged
		if c.used() && !done {
			return conn.Final(oauth.ErrReplayed)
		}
		c.Token, c.ForgetAt = tok.Hash, tok.Expires
		tok.Generation = c.Code.Generation
		used, err := t.change(codeKind, code, c, tok.Expires.Sub(now))
		if err != nil {
			return err
		}
		fresh, err := t.change(tokenKind, tok.Hash, tok, tok.Expires.Sub(now))
		if err != nil {
			return err
		}
		if done {
			return t.written(seq, used, fresh)
		}
		used.CompareAndSet, used.Revision, fresh.CompareAndSet = true, seq, true
		return t.write(ctx, used, fresh)
	})
	if errors.Is(err, oauth.ErrReplayed) {
		err = cmp.Or(t.RevokeReplayed(ctx, code), err)
	}
	return err
}

// RevokeReplayed revokes the token of a redeemed code.
func (t *Store) RevokeReplayed(ctx context.Context, code oauth.Hash) error {
	return t.table.RetryWrite(ctx, "revoke token", func(ctx context.Context) error {
		c, _, err := t.loadCode(ctx, code, time.Time{})
		if errors.Is(err, oauth.ErrNotFound) || err == nil && !c.used() {
			return nil
		}
		if err != nil {
			return err
		}
		return t.revoke(ctx, c.Token)
	})
}

// DropCode ends a code. A redeemed one stays known as such.
func (t *Store) DropCode(ctx context.Context, code oauth.Hash) error {
	return t.table.RetryWrite(ctx, "delete code", func(ctx context.Context) error {
		c, seq, err := t.loadCode(ctx, code, time.Time{})
		if errors.Is(err, oauth.ErrNotFound) || err == nil && c.used() {
			return nil
		}
		if err != nil {
			return err
		}
		ch, err := t.change(codeKind, code, nil, tokenTombstoneTTL)
		if err != nil {
			return err
		}
		ch.CompareAndSet, ch.Revision = true, seq
		return t.write(ctx, ch)
	})
}

// Token returns a live token. An unknown one may be new on another replica and is read from the
// leader, within the rate limit.
func (t *Store) Token(ctx context.Context, h oauth.Hash, now time.Time) (oauth.Token, error) {
	t.mu.RLock()
	row, known := t.tokens.rows[h]
	t.mu.RUnlock()
	if !known && !t.isLoaded() {
		return t.earlyToken(ctx, h, now)
	}
	switch {
	case !known && t.lookups.Allow():
		return t.fetchToken(ctx, h, now)
	case !known || row.cleared || !now.Before(row.value.Expires):
		return oauth.Token{}, oauth.ErrNotFound
	}
	return row.value, nil
}

// fetchToken reads a token from the leader. The follower adds it to the cache.
func (t *Store) fetchToken(ctx context.Context, h oauth.Hash, now time.Time) (oauth.Token, error) {
	m, ok, err := t.table.Latest(ctx, t.table.Subject(tokenKind, h.Hex()))
	if err != nil {
		return oauth.Token{}, conn.Unavailable("read token", err)
	}
	if !ok || len(m.Data) == 0 {
		return oauth.Token{}, oauth.ErrNotFound
	}
	var tok oauth.Token
	if err := json.Unmarshal(m.Data, &tok); err != nil {
		return oauth.Token{}, conn.Corrupted("read token", err)
	}
	if !now.Before(tok.Expires) || t.knownEnded(h) {
		return oauth.Token{}, oauth.ErrNotFound
	}
	switch holds, ended, err := t.generationState(ctx, tok, t.generation.Load()); {
	case err != nil:
		return oauth.Token{}, conn.Unavailable("read token", err)
	case ended:
		return oauth.Token{}, oauth.ErrNotFound
	case !holds:
		return oauth.Token{}, conn.Unavailable("read token", conn.ErrConflict)
	}
	return tok, nil
}

// generationState reports whether a token's generation is current or has ended. It may be neither
// if the answering server lags behind, or the follower behind restarted servers.
func (t *Store) generationState(ctx context.Context, tok oauth.Token, known *currentGeneration) (holds, ended bool, err error) {
	if tok.Generation == known.name {
		return true, false, nil
	}
	e, seq, ok, err := t.readGeneration(ctx)
	if err != nil || !ok || e.Lineage != known.Lineage {
		return false, false, err
	}
	same := tok.Generation == e.Key.Generation()
	if seq < known.seq {
		return false, same, nil
	}
	if e.Number < known.Number {
		return false, false, nil // a replay
	}
	return same, !same, nil
}

// Tokens lists the live tokens of an owner, newest first.
func (t *Store) Tokens(ctx context.Context, subject principal.Owner, now time.Time) ([]oauth.Token, error) {
	if err := t.awaitLoaded(ctx); err != nil {
		return nil, err
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	var out []oauth.Token
	for h := range t.tokens.owned[subject] {
		if row := t.tokens.rows[h]; !row.cleared && now.Before(row.value.Expires) {
			out = append(out, row.value)
		}
	}
	slices.SortFunc(out, func(a, b oauth.Token) int {
		return cmp.Or(b.Issued.Compare(a.Issued), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}
