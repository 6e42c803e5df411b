package logins

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/table"
)

// sealKind is the subject kind of the login generation. It is stored in memory with the tokens, so
// that it is lost with them and replicas notice.
const sealKind = "seal" // seal.era

// maxFormer is how many former passphrase hashes are kept.
const maxFormer = 8

// Reasons for a new generation, for the logs of other replicas.
const (
	reasonPassphrase = "passphrase changed"
	reasonOwner      = "revoked by the owner"
	reasonServers    = "NATS servers restarted"
)

// A loginGeneration groups all codes and tokens and the key they are sealed with. Replacing it
// revokes all of them at once, including those a lagging replica is about to write.
type loginGeneration struct {
	Key oauth.SealKey `json:"key"`
	// Number grows with each generation, also across server restarts: it is at least the
	// time in microseconds. A lower number than the known one is a replay.
	Number int64 `json:"number"`
	// Owner is the argon2id hash of the current passphrase, "" for none.
	Owner string `json:"owner,omitempty"`
	// FormerHashes are the former hashes, the latest last.
	FormerHashes []string `json:"former,omitempty"`
	Reason       string   `json:"why,omitempty"`
	// Lineage names the first generation since the servers were empty.
	Lineage string `json:"line,omitempty"`
	// Provisional means that the lineage was started by a replica that did not know the
	// generation before the servers were empty, and no replica that did has joined since.
	Provisional bool `json:"blank,omitempty"`
}

// next returns the following generation with the same passphrase.
func (e loginGeneration) next(key oauth.SealKey, reason string) loginGeneration {
	return loginGeneration{Key: key, Number: e.Number + 1, Owner: e.Owner, FormerHashes: e.FormerHashes, Reason: reason, Lineage: e.Lineage, Provisional: e.Provisional}
}

// afterReset returns the first generation on empty servers, by a replica that knows the former one.
func (e loginGeneration) afterReset(key oauth.SealKey, reason string) loginGeneration {
	n := e.next(key, reason)
	n.Lineage, n.Provisional = key.Generation(), e.Owner == ""
	return n
}

// provisional returns the first generation on empty servers, by a replica that knows none.
func provisional(key oauth.SealKey, owner string) loginGeneration {
	return loginGeneration{Key: key, Owner: owner, Lineage: key.Generation(), Provisional: true}
}

// withPassphrase returns the following generation with another passphrase.
func (e loginGeneration) withPassphrase(key oauth.SealKey, owner string) loginGeneration {
	if e.Key == (oauth.SealKey{}) {
		return provisional(key, owner)
	}
	n := e.next(key, reasonPassphrase)
	n.Owner, n.FormerHashes = owner, slices.Clone(e.FormerHashes)
	if e.Owner != "" {
		n.FormerHashes = append(n.FormerHashes, e.Owner)
	}
	n.FormerHashes = n.FormerHashes[max(0, len(n.FormerHashes)-maxFormer):]
	return n
}

// errReplayed means that an old state was written again.
var errReplayed = errors.New("older than the known state")

// currentGeneration is the generation as a replica knows it. It is immutable.
type currentGeneration struct {
	loginGeneration
	name              string // of the generation
	seq               uint64
	passphraseMatches bool // this replica has the current passphrase
}

func newCurrentGeneration(e loginGeneration, seq uint64, ours bool) *currentGeneration {
	return &currentGeneration{loginGeneration: e, name: e.Key.Generation(), seq: seq, passphraseMatches: ours}
}

// Seal returns the current key of all replicas.
func (t *Store) Seal() oauth.SealKey { return t.generation.Load().Key }

// ClientKey returns the same key, as earlier versions expect.
func (t *Store) ClientKey() oauth.SealKey { return t.Seal() }

// Current returns an error at a replica whose passphrase is outdated.
func (t *Store) Current() error {
	if !t.generation.Load().passphraseMatches {
		return oauth.ErrReplaced
	}
	return nil
}

// Authenticate returns the owner of a passphrase. A replica with an outdated passphrase accepts
// none. It is called after oauth.Server has pinned the key, so that a login from before a change
// is not valid after it.
func (t *Store) Authenticate(ctx context.Context, passphrase string) (principal.Owner, error) {
	if err := t.Current(); err != nil {
		return "", err
	}
	return t.owner.Authenticate(ctx, passphrase)
}

func (t *Store) generationSubject() string { return t.table.Subject(sealKind, "era") }

// readGeneration returns the stored generation. It returns false if there is none or, with only the
// sequence number, if no replica sealed it.
func (t *Store) readGeneration(ctx context.Context) (e loginGeneration, seq uint64, ok bool, err error) {
	m, ok, err := t.table.Latest(ctx, t.generationSubject())
	if err != nil || !ok {
		return e, m.Seq, false, err
	}
	return e, m.Seq, true, conn.Corrupted("read login generation", json.Unmarshal(m.Data, &e))
}

// compareAndSet replaces the stored generation with the result of next, unless next returns false.
// The key identifies an earlier attempt that was not acknowledged. After an error it may be called
// again.
func (t *Store) compareAndSet(ctx context.Context, key oauth.SealKey, next func(e loginGeneration, ok bool) (loginGeneration, bool)) (loginGeneration, uint64, error) {
	e, seq, ok, err := t.readGeneration(ctx)
	if err != nil || ok && e.Key == key {
		return e, seq, err
	}
	known := t.knownNumber()
	ok = ok && e.Number >= known // a replayed one counts as none
	n, changes := next(e, ok)
	if !changes {
		return e, seq, nil
	}
	n.Number = max(e.Number+1, known+1, time.Now().UnixMicro())
	data, err := json.Marshal(n)
	if err != nil {
		return n, 0, err
	}
	seq, err = t.table.Write(ctx, conn.Change{Subject: t.generationSubject(), Data: data, CompareAndSet: true, Revision: seq})
	return n, seq, err
}

// knownNumber returns the number of the known generation, 0 for none.
func (t *Store) knownNumber() int64 {
	if p := t.generation.Load(); p != nil {
		return p.Number
	}
	return 0
}

// restore writes the known generation over a replayed or forged message, unless a later message
// followed, because starting replicas read it.
func (t *Store) restore(ctx context.Context, over uint64) {
	if !t.restores.Allow() {
		return
	}
	data, err := json.Marshal(t.generation.Load().loginGeneration)
	if err == nil {
		_, err = t.table.Write(ctx, conn.Change{Subject: t.generationSubject(), Data: data, CompareAndSet: true, Revision: over})
	}
	if err != nil && !errors.Is(err, conn.ErrConflict) {
		t.log.WarnContext(ctx, "restoring the login generation failed; retrying at the next connection", "error", err)
	}
}

// onLateGeneration handles a generation message that is forged or was stored late. A late one of
// a replica with a wrong clock still revokes the logins if it is newer. The known generation is
// then written over it, unless the local clock is wrong too.
func (t *Store) onLateGeneration(ctx context.Context, m conn.Message) {
	var e loginGeneration
	if m.Late != nil && json.Unmarshal(m.Late, &e) == nil && e.Number > t.knownNumber() {
		t.onGeneration(ctx, e, m.Seq)
	}
	if m.At.Sub(t.table.Seals.Now()).Abs() <= conn.MaxDelay || m.Late == nil {
		t.restore(ctx, m.Seq)
	}
}

// initGeneration reads the generation at start. The current passphrase continues it, and a new one
// starts the next. A former passphrase changes nothing, and this replica then accepts none.
func (t *Store) initGeneration(ctx context.Context) error {
	key := oauth.NewSealKey()
	var began loginGeneration
	var seq uint64
	ours := false
	err := t.table.RetryWrite(ctx, "read login generation", func(ctx context.Context) (err error) {
		var checkErr error
		began, seq, err = t.compareAndSet(ctx, key, func(e loginGeneration, ok bool) (loginGeneration, bool) {
			if t.owner == nil {
				return provisional(key, ""), !ok
			}
			if ours, checkErr = t.matchesPassphrase(ctx, e.Owner); ours || checkErr != nil {
				return e, false
			}
			for _, former := range e.FormerHashes {
				var was bool
				if was, checkErr = t.matchesPassphrase(ctx, former); was || checkErr != nil {
					return e, false
				}
			}
			return e.withPassphrase(key, t.owner.Hash()), true
		})
		if checkErr != nil {
			return checkErr
		}
		return err
	})
	if err != nil {
		return err
	}
	t.generation.Store(newCurrentGeneration(began, seq, ours || t.owner != nil && began.Key == key))
	if began.Key == key && began.Reason != "" {
		t.log.WarnContext(ctx, "all logins revoked", "reason", began.Reason)
		t.purgeRevoked(ctx, seq)
	}
	t.warnReplaced(ctx)
	return nil
}

// matchesPassphrase reports whether a hash is of this replica's passphrase. The result is cached,
// because hashing may take a second. It is called at start and then by the follower only.
func (t *Store) matchesPassphrase(ctx context.Context, hash string) (bool, error) {
	if t.owner == nil || hash == "" {
		return false, nil
	}
	if ours, known := t.matchCache[hash]; known {
		return ours, nil
	}
	// A lost connection must not interrupt it.
	ours, err := t.owner.Is(context.WithoutCancel(ctx), hash)
	if err == nil {
		t.matchCache[hash] = ours
	}
	return ours, err
}

func (t *Store) warnReplaced(ctx context.Context) {
	if t.owner != nil && !t.generation.Load().passphraseMatches {
		t.log.ErrorContext(ctx, "passphrase outdated; sign-in disabled on this replica until it is restarted with the current passphrase or a new one")
	}
}

// RevokeAll ends every code, token, registration and login. The tokens are counted afterwards, so
// that a slow or failed count does not delay the revocation.
func (t *Store) RevokeAll(ctx context.Context, now time.Time) (int, error) {
	before := t.generation.Load()
	last, known := before.name, 0
	lived := func(tok oauth.Token) bool {
		return tok.Generation == last && now.Before(tok.Expires) && !tok.Grant.Login
	}
	key := oauth.NewSealKey()
	var began loginGeneration
	var seq uint64
	err := t.table.RetryWrite(ctx, "revoke all logins", func(ctx context.Context) (err error) {
		began, seq, err = t.compareAndSet(ctx, key, func(e loginGeneration, ok bool) (loginGeneration, bool) {
			if !ok {
				e = before.afterReset(key, reasonOwner)
			} else {
				last, e = e.Key.Generation(), e.next(key, reasonOwner)
			}
			known = t.count(lived) // before the follower drops them
			return e, true
		})
		return err
	})
	if err != nil {
		return 0, err
	}
	// With another passphrase or lineage, the follower applies it.
	t.advanceTo(began, seq, func(from *currentGeneration) bool { return from.Owner == began.Owner && from.Lineage == began.Lineage })
	ended := t.countStored(ctx, known, lived)
	t.purgeRevoked(ctx, seq)
	t.table.OutliveConfirmations(ctx)
	return ended, nil
}

func (t *Store) count(counts func(oauth.Token) bool) int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	n := 0
	for _, row := range t.tokens.rows {
		if !row.cleared && counts(row.value) {
			n++
		}
	}
	return n
}

// countStored returns the number of stored tokens that match, or known if reading fails or takes
// too long.
func (t *Store) countStored(ctx context.Context, known int, counts func(oauth.Token) bool) int {
	const op = "count tokens"
	ctx, cancel := context.WithTimeout(ctx, t.table.RetryFor/4)
	defer cancel()
	read := table.SkipCorrupt(ctx, t.table, op, func(m conn.Message) (none struct{}, _ bool, err error) {
		var tok oauth.Token
		err = json.Unmarshal(m.Data, &tok)
		return none, counts(tok), err
	})
	kept, err := table.ReadAll(ctx, t.table, op, t.table.Subject(tokenKind, "*"), 0, read)
	if err != nil {
		t.log.WarnContext(ctx, "revoked tokens not counted; reporting those known to this replica", "error", err)
		return known
	}
	return len(kept)
}

// switchTo replaces the generation before, unless another has replaced it, and drops the codes and
// tokens of others.
func (t *Store) switchTo(p, before *currentGeneration) bool {
	t.mu.Lock()
	entered := t.generation.CompareAndSwap(before, p)
	if entered {
		t.tokens.retain(func(tok oauth.Token) bool { return tok.Generation == p.name })
		t.codes.retain(func(c codeRecord) bool { return c.Code.Generation == p.name })
		if p.name != before.name {
			clear(t.endedLogins) // ends of another generation are irrelevant
		}
	}
	t.mu.Unlock()
	if entered && p.name != before.name {
		t.ended.Notify()
	}
	return entered
}

// advanceTo applies a later generation and reports whether it did. It does not if that or a later
// one is known, or follows refuses the known one. checkPassphrase may follow.
func (t *Store) advanceTo(e loginGeneration, seq uint64, follows func(from *currentGeneration) bool) bool {
	for {
		before := t.generation.Load()
		if e.Key == before.Key || seq <= before.seq || e.Number <= before.Number || !follows(before) {
			return false
		}
		if t.switchTo(newCurrentGeneration(e, seq, e.Owner == before.Owner && before.passphraseMatches), before) {
			return true
		}
	}
}

// onGeneration applies a generation of another replica at once. Until the passphrase is checked,
// which may take a second, none is accepted.
func (t *Store) onGeneration(ctx context.Context, e loginGeneration, seq uint64) {
	if known := t.generation.Load(); e.Key != known.Key && seq > known.seq && e.Number <= known.Number {
		t.table.Seals.Refuse(ctx, conn.ReplayedRow, t.generationSubject(), errReplayed)
		t.restore(ctx, seq)
		return
	}
	if t.advanceTo(e, seq, func(*currentGeneration) bool { return true }) {
		t.log.WarnContext(ctx, "all logins revoked", "reason", e.Reason)
		t.checkPassphrase(ctx)
	}
}

// checkPassphrase checks whether this replica's passphrase is the current one.
func (t *Store) checkPassphrase(ctx context.Context) {
	for {
		p := t.generation.Load()
		if p.passphraseMatches || t.owner == nil {
			return
		}
		ours, err := t.matchesPassphrase(ctx, p.Owner)
		if err != nil {
			t.log.ErrorContext(ctx, "passphrase check failed; sign-in disabled on this replica", "error", err)
			return
		}
		if !ours || t.switchTo(newCurrentGeneration(p.loginGeneration, p.seq, true), p) {
			break // otherwise another generation has replaced p: check again
		}
	}
	t.warnReplaced(ctx)
}

// detectReset reports whether the generation changed while this replica did not follow, in which
// case it reads everything again. If the servers have none, or one by a replica that did not know
// the current passphrase, it writes the next one.
func (t *Store) detectReset(ctx context.Context) (bool, error) {
	before := t.generation.Load()
	key := oauth.NewSealKey()
	var checkErr error
	e, seq, err := t.compareAndSet(ctx, key, func(e loginGeneration, ok bool) (loginGeneration, bool) {
		n := before.afterReset(key, reasonServers)
		if !ok {
			return n, true
		}
		n.Lineage = e.Lineage
		var replaces bool
		replaces, checkErr = t.supersedes(ctx, before, e)
		return n, replaces
	})
	if checkErr != nil {
		return false, checkErr
	}
	if err != nil || e.Key == before.Key {
		return false, err
	}
	// The sequence numbers may have restarted, too.
	if !t.switchTo(newCurrentGeneration(e, seq, e.Owner == before.Owner && before.passphraseMatches), before) {
		return false, conn.ErrConflict // this replica just replaced it
	}
	t.mu.Lock()
	t.tokens, t.codes = newCache(traitsOfToken), newCache(traitsOfCode)
	t.mu.Unlock()
	t.log.WarnContext(ctx, "all logins revoked", "reason", cmp.Or(e.Reason, reasonServers))
	t.checkPassphrase(ctx)
	return true, nil
}

// supersedes reports whether the known generation takes precedence over one found on restarted
// servers, which may be by a replica with an outdated passphrase. That happens once per lineage:
// the generation written then is not provisional.
func (t *Store) supersedes(ctx context.Context, before *currentGeneration, e loginGeneration) (bool, error) {
	switch {
	case before.Owner == "" || e.Lineage == before.Lineage:
		return false, nil
	case slices.Contains(before.FormerHashes, e.Owner):
		return true, nil // by a replica that did not know of the change
	case !e.Provisional:
		return false, nil
	case len(before.FormerHashes) > 0:
		return true, nil // it lacks the former hashes, so they would be accepted again
	case e.Owner == before.Owner:
		return false, nil
	case !before.passphraseMatches:
		return true, nil
	}
	ours, err := t.matchesPassphrase(ctx, e.Owner)
	return err == nil && !ours, err
}

// purgeRevoked removes codes and tokens written before a generation. Those that remain expire.
func (t *Store) purgeRevoked(ctx context.Context, seq uint64) {
	for _, kind := range []string{codeKind, tokenKind} {
		if err := t.table.Purge(context.WithoutCancel(ctx), t.table.Subject(kind, "*"), seq); err != nil {
			t.log.WarnContext(ctx, "purging revoked logins failed; they expire on their own", "kind", kind, "error", err)
		}
	}
}
