package logins

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/table"
)

// sealKind is the subject of the era. It lies with the tokens in the memory of the
// servers, so that it ends when they do, and tells a replica that it has.
const sealKind = "seal" // seal.era

// maxFormer is how many passphrases that were replaced are remembered.
const maxFormer = 8

// Why an era began, for the log of those who hear of it.
const (
	reasonPassphrase = "the owner's passphrase was changed"
	reasonOwner      = "the owner has ended them"
	reasonServers    = "NATS servers restarted"
)

// loginGeneration is a time in which logins hold. Every code and token names the one that it was
// approved in, and everything sealed is sealed with its key. So one message in its
// place ends all of them at once, and also what a replica writes that has not heard of
// it yet.
type loginGeneration struct {
	Key oauth.SealKey `json:"key"`
	// Number grows from era to era, also over servers that begin anew: it is a time, in
	// microseconds, where that is more. One with a lower number than is known is an old
	// one that somebody has put back.
	Number int64 `json:"number"`
	// Owner is the argon2id hash of the passphrase that counts, "" where none does.
	// Nothing else of it is kept.
	Owner string `json:"owner,omitempty"`
	// FormerHashes are those that counted before, the last one at the end.
	FormerHashes []string `json:"former,omitempty"`
	Reason       string   `json:"why,omitempty"`
	// Lineage names the first era since the servers were empty.
	Lineage string `json:"line,omitempty"`
	// Provisional means that the first of the line was written by one who did not know what
	// had counted before the servers were empty, and that nobody who did has come since.
	Provisional bool `json:"blank,omitempty"`
}

// next returns the era that follows when the logins end and the passphrase stays.
func (e loginGeneration) next(key oauth.SealKey, why string) loginGeneration {
	return loginGeneration{Key: key, Number: e.Number + 1, Owner: e.Owner, FormerHashes: e.FormerHashes, Reason: why, Lineage: e.Lineage, Provisional: e.Provisional}
}

// afterReset returns the first era on empty servers, of one who knows what counted.
func (e loginGeneration) afterReset(key oauth.SealKey, why string) loginGeneration {
	n := e.next(key, why)
	n.Lineage, n.Provisional = key.Generation(), e.Owner == ""
	return n
}

// provisional returns the first era on empty servers, of one who does not know of another.
func provisional(key oauth.SealKey, owner string) loginGeneration {
	return loginGeneration{Key: key, Owner: owner, Lineage: key.Generation(), Provisional: true}
}

// withPassphrase returns the era that follows when another passphrase counts.
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

// errReplayed says that an old state was written again.
var errReplayed = errors.New("it is older than what is known here")

// currentGeneration is the era as a replica knows it. It does not change.
type currentGeneration struct {
	loginGeneration
	name              string // of the key
	seq               uint64
	passphraseMatches bool // the passphrase of this replica is the one that counts
}

func newCurrentGeneration(e loginGeneration, seq uint64, ours bool) *currentGeneration {
	return &currentGeneration{loginGeneration: e, name: e.Key.Generation(), seq: seq, passphraseMatches: ours}
}

// Seal returns the key that all replicas seal with, as of now.
func (t *Store) Seal() oauth.SealKey { return t.generation.Load().Key }

// Authenticate returns the owner whose passphrase it is. A replica whose own was
// replaced takes none: it does not know the one that counts. That is asked after the
// request was bound to an era (oauth.Server pins the key), so that an answer from
// before a change opens nothing after it.
func (t *Store) Authenticate(ctx context.Context, passphrase string) (string, error) {
	if !t.generation.Load().passphraseMatches {
		return "", oauth.ErrReplaced
	}
	return t.owner.Authenticate(ctx, passphrase)
}

func (t *Store) generationSubject() string { return t.table.Subject(sealKind, "era") }

// readGeneration returns the era that the servers hold, and false when there is none, or one
// that is not ours, of which there is only the number.
func (t *Store) readGeneration(ctx context.Context) (e loginGeneration, seq uint64, ok bool, err error) {
	m, ok, err := t.table.Latest(ctx, t.generationSubject())
	if err != nil || !ok {
		return e, m.Seq, false, err
	}
	return e, m.Seq, true, conn.Corrupted("read the era of the logins", json.Unmarshal(m.Data, &e))
}

// compareAndSet puts an era in the place of the present one: what next makes of it, nothing
// when next returns false. next draws the same key each time, by which an earlier
// attempt is found whose answer got lost. After an error it may be called again:
// another was first.
func (t *Store) compareAndSet(ctx context.Context, key oauth.SealKey, next func(e loginGeneration, ok bool) (loginGeneration, bool)) (loginGeneration, uint64, error) {
	e, seq, ok, err := t.readGeneration(ctx)
	if err != nil || ok && e.Key == key {
		return e, seq, err
	}
	known := t.knownNumber()
	ok = ok && e.Number >= known // one that was put back is as good as none
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

// knownNumber returns the number of the era that is known here, 0 for none.
func (t *Store) knownNumber() int64 {
	if p := t.generation.Load(); p != nil {
		return p.Number
	}
	return 0
}

// restore writes the era that is known here over a message that does not count, unless
// something else has come since: replicas that start find it, and tokens of other
// replicas are looked up under it.
func (t *Store) restore(ctx context.Context, over uint64) {
	if !t.restores.Allow() {
		return
	}
	data, err := json.Marshal(t.generation.Load().loginGeneration)
	if err == nil {
		_, err = t.table.Write(ctx, conn.Change{Subject: t.generationSubject(), Data: data, CompareAndSet: true, Revision: over})
	}
	if err != nil && !errors.Is(err, conn.ErrConflict) {
		t.log.WarnContext(ctx, "the era of the logins is not put back; it is at the next connection", "error", err)
	}
}

// onLateGeneration notes that there is a message in the place of the era that does not count. It
// does when it is ours and newer than what is known: its replica has a wrong clock, and
// the logins end all the same. The era that is known then is written over it, but not by
// a replica whose own clock is behind: that would be as late.
func (t *Store) onLateGeneration(ctx context.Context, m conn.Message) {
	var e loginGeneration
	if m.Late != nil && json.Unmarshal(m.Late, &e) == nil && e.Number > t.knownNumber() {
		t.onGeneration(ctx, e, m.Seq)
	}
	if m.At.Sub(t.table.Seals.Now()).Abs() <= conn.MaxDelay || m.Late == nil {
		t.restore(ctx, m.Seq)
	}
}

// initGeneration finds out the era at the start. Was the passphrase of this replica never the
// one that counts, it is from now on, and the logins under another end. Was it
// replaced, this is a replica that somebody forgot: it ends nothing, and takes no
// passphrase.
func (t *Store) initGeneration(ctx context.Context) error {
	key := oauth.NewSealKey()
	var began loginGeneration
	var seq uint64
	ours := false
	err := t.table.RetryWrite(ctx, "read the era of the logins", func(ctx context.Context) (err error) {
		var asked error
		began, seq, err = t.compareAndSet(ctx, key, func(e loginGeneration, ok bool) (loginGeneration, bool) {
			if t.owner == nil {
				return provisional(key, ""), !ok
			}
			if ours, asked = t.matchesPassphrase(ctx, e.Owner); ours || asked != nil {
				return e, false
			}
			for _, former := range e.FormerHashes {
				var was bool
				if was, asked = t.matchesPassphrase(ctx, former); was || asked != nil {
					return e, false
				}
			}
			return e.withPassphrase(key, t.owner.Hash()), true
		})
		if asked != nil {
			return asked
		}
		return err
	})
	if err != nil {
		return err
	}
	t.generation.Store(newCurrentGeneration(began, seq, ours || t.owner != nil && began.Key == key))
	if began.Key == key && began.Reason != "" {
		t.log.WarnContext(ctx, "all logins have ended", "why", began.Reason)
		t.purgeRevoked(ctx, seq)
	}
	t.warnReplaced(ctx)
	return nil
}

// matchesPassphrase reports whether a hash is of the passphrase of this replica. To find out may
// take a second, so it is found out once. It is called at the start, and then by the
// watcher alone.
func (t *Store) matchesPassphrase(ctx context.Context, hash string) (bool, error) {
	if t.owner == nil || hash == "" {
		return false, nil
	}
	if ours, known := t.matchCache[hash]; known {
		return ours, nil
	}
	// A connection that is lost meanwhile must not leave it undecided.
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

// RevokeAll ends every code, token, registration and login. How many tokens there were
// is counted when they have ended: nothing that is slow or cannot be read keeps them.
// They are those of the era that it ends, which this replica may not have heard of yet.
func (t *Store) RevokeAll(ctx context.Context, now time.Time) (int, error) {
	before := t.generation.Load()
	last, known := before.name, 0
	lived := func(tok oauth.Token) bool {
		return tok.Generation == last && now.Before(tok.Expires) && !tok.Grant.Login
	}
	key := oauth.NewSealKey()
	var began loginGeneration
	var seq uint64
	err := t.table.RetryWrite(ctx, "end all logins", func(ctx context.Context) (err error) {
		began, seq, err = t.compareAndSet(ctx, key, func(e loginGeneration, ok bool) (loginGeneration, bool) {
			if !ok {
				e = before.afterReset(key, reasonOwner)
			} else {
				last, e = e.Key.Generation(), e.next(key, reasonOwner)
			}
			known = t.count(lived) // the watcher forgets them when it hears of it
			return e, true
		})
		return err
	})
	if err != nil {
		return 0, err
	}
	// Of another passphrase, or another line, the watcher comes to it by itself.
	t.advanceTo(began, seq, func(from *currentGeneration) bool { return from.Owner == began.Owner && from.Lineage == began.Lineage })
	ended := t.countStored(ctx, known, lived)
	t.purgeRevoked(ctx, seq)
	return ended, nil
}

// count returns how many of the tokens that are known here count.
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

// countStored returns how many of the tokens that the servers hold count: known, when
// they do not tell in time.
func (t *Store) countStored(ctx context.Context, known int, counts func(oauth.Token) bool) int {
	const doing = "count the tokens"
	ctx, cancel := context.WithTimeout(ctx, t.table.RetryFor/4)
	defer cancel()
	read := table.SkipCorrupt(ctx, t.table, doing, func(m conn.Message) (none struct{}, _ bool, err error) {
		var tok oauth.Token
		err = json.Unmarshal(m.Data, &tok)
		return none, counts(tok), err
	})
	kept, err := table.ReadAll(ctx, t.table, doing, t.table.Subject(tokenKind, "*"), 0, read)
	if err != nil {
		t.log.WarnContext(ctx, "revoked tokens not counted; reporting those known to this replica", "error", err)
		return known
	}
	return len(kept)
}

// switchTo begins an era, unless another than the one before is known meanwhile. All
// that is known of others goes.
func (t *Store) switchTo(p, before *currentGeneration) bool {
	t.mu.Lock()
	entered := t.generation.CompareAndSwap(before, p)
	if entered {
		t.tokens.retain(func(tok oauth.Token) bool { return tok.Generation == p.name })
		t.codes.retain(func(c codeRecord) bool { return c.Code.Generation == p.name })
		if p.name != before.name {
			clear(t.endedLogins) // nothing of another era counts
		}
	}
	t.mu.Unlock()
	if entered && p.name != before.name {
		t.ended.Notify()
	}
	return entered
}

// advanceTo begins an era that follows the one that is known, whichever that is by
// then, and reports whether it did: not if it, or a later one, is known, nor from one
// that follows refuses. Whose passphrase counts may be found out later.
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

// onGeneration notes that an era has begun elsewhere. It counts at once; whose passphrase
// counts in it may take a second to find out, and until then none does.
func (t *Store) onGeneration(ctx context.Context, e loginGeneration, seq uint64) {
	if known := t.generation.Load(); e.Key != known.Key && seq > known.seq && e.Number <= known.Number {
		t.table.Seals.Refuse(ctx, conn.ReplayedRow, t.generationSubject(), errReplayed)
		t.restore(ctx, seq)
		return
	}
	if t.advanceTo(e, seq, func(*currentGeneration) bool { return true }) {
		t.log.WarnContext(ctx, "all logins have ended", "why", e.Reason)
		t.checkPassphrase(ctx)
	}
}

// checkPassphrase finds out whose passphrase counts.
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
			break // otherwise another era has begun, in which it may count too
		}
	}
	t.warnReplaced(ctx)
}

// detectReset reports whether another era began while nobody watched, with servers that
// lost what they held or without. All that is known here is then read anew. Servers
// that hold none get one for the passphrase that was known to count, whoever asks; so
// do those that somebody was first at who did not know it.
func (t *Store) detectReset(ctx context.Context) (bool, error) {
	before := t.generation.Load()
	key := oauth.NewSealKey()
	var asked error
	e, seq, err := t.compareAndSet(ctx, key, func(e loginGeneration, ok bool) (loginGeneration, bool) {
		n := before.afterReset(key, reasonServers)
		if !ok {
			return n, true
		}
		n.Lineage = e.Lineage
		var overrules bool
		overrules, asked = t.supersedes(ctx, before, e)
		return n, overrules
	})
	if asked != nil {
		return false, asked
	}
	if err != nil || e.Key == before.Key {
		return false, err
	}
	// Their numbers may have begun anew, too.
	if !t.switchTo(newCurrentGeneration(e, seq, e.Owner == before.Owner && before.passphraseMatches), before) {
		return false, conn.ErrConflict // by our own hand, a moment ago
	}
	t.mu.Lock()
	t.tokens, t.codes = newCache[oauth.Token](), newCache[codeRecord]()
	t.mu.Unlock()
	t.log.WarnContext(ctx, "all logins have ended", "why", cmp.Or(e.Reason, reasonServers))
	t.checkPassphrase(ctx)
	return true, nil
}

// supersedes reports whether what was known before counts for more than an era that
// was found on servers which have begun anew. One who starts there with a passphrase
// that was replaced long ago cannot know that it was. It happens once in a line: what
// is written then is not blank.
func (t *Store) supersedes(ctx context.Context, before *currentGeneration, e loginGeneration) (bool, error) {
	switch {
	case before.Owner == "" || e.Lineage == before.Lineage:
		return false, nil
	case slices.Contains(before.FormerHashes, e.Owner):
		return true, nil // of one who had not heard of the change
	case !e.Provisional:
		return false, nil
	case len(before.FormerHashes) > 0:
		return true, nil // which it does not tell of, so they would count again
	case e.Owner == before.Owner:
		return false, nil
	case !before.passphraseMatches:
		return true, nil
	}
	ours, err := t.matchesPassphrase(ctx, e.Owner)
	return !ours, err
}

// purgeRevoked takes out of the servers' memory what was written before an era: nobody takes
// it any more. What it leaves goes with its time.
func (t *Store) purgeRevoked(ctx context.Context, seq uint64) {
	for _, kind := range []string{codeKind, tokenKind} {
		if err := t.table.Purge(context.WithoutCancel(ctx), t.table.Subject(kind, "*"), seq); err != nil {
			t.log.WarnContext(ctx, "purging revoked logins failed; they expire on their own", "what", kind, "error", err)
		}
	}
}
