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
	byPassphrase = "the owner's passphrase was changed"
	byOwner      = "the owner has ended them"
	byServers    = "the NATS servers have begun anew"
)

// era is a time in which logins hold. Every code and token names the one that it was
// approved in, and everything sealed is sealed with its key. So one message in its
// place ends all of them at once, and also what a replica writes that has not heard of
// it yet.
type era struct {
	Key oauth.SealKey `json:"key"`
	// Number grows from era to era, also over servers that begin anew: it is a time, in
	// microseconds, where that is more. One with a lower number than is known is an old
	// one that somebody has put back.
	Number int64 `json:"number"`
	// Owner is the argon2id hash of the passphrase that counts, "" where none does.
	// Nothing else of it is kept.
	Owner string `json:"owner,omitempty"`
	// Former are those that counted before, the last one at the end.
	Former []string `json:"former,omitempty"`
	Why    string   `json:"why,omitempty"`
	// Line names the first era since the servers were empty.
	Line string `json:"line,omitempty"`
	// Blank means that the first of the line was written by one who did not know what
	// had counted before the servers were empty, and that nobody who did has come since.
	Blank bool `json:"blank,omitempty"`
}

// next returns the era that follows when the logins end and the passphrase stays.
func (e era) next(key oauth.SealKey, why string) era {
	return era{Key: key, Number: e.Number + 1, Owner: e.Owner, Former: e.Former, Why: why, Line: e.Line, Blank: e.Blank}
}

// renewed returns the first era on empty servers, of one who knows what counted.
func (e era) renewed(key oauth.SealKey, why string) era {
	n := e.next(key, why)
	n.Line, n.Blank = key.Generation(), e.Owner == ""
	return n
}

// blank returns the first era on empty servers, of one who does not know of another.
func blank(key oauth.SealKey, owner string) era {
	return era{Key: key, Owner: owner, Line: key.Generation(), Blank: true}
}

// taken returns the era that follows when another passphrase counts.
func (e era) taken(key oauth.SealKey, owner string) era {
	if e.Key == (oauth.SealKey{}) {
		return blank(key, owner)
	}
	n := e.next(key, byPassphrase)
	n.Owner, n.Former = owner, slices.Clone(e.Former)
	if e.Owner != "" {
		n.Former = append(n.Former, e.Owner)
	}
	n.Former = n.Former[max(0, len(n.Former)-maxFormer):]
	return n
}

// errPutBack says that an old state was written again.
var errPutBack = errors.New("it is older than what is known here")

// present is the era as a replica knows it. It does not change.
type present struct {
	era
	name string // of the key
	seq  uint64
	ours bool // the passphrase of this replica is the one that counts
}

func newPresent(e era, seq uint64, ours bool) *present {
	return &present{era: e, name: e.Key.Generation(), seq: seq, ours: ours}
}

// Seal returns the key that all replicas seal with, as of now.
func (t *Tokens) Seal() oauth.SealKey { return t.era.Load().Key }

// Authenticate returns the owner whose passphrase it is. A replica whose own was
// replaced takes none: it does not know the one that counts. That is asked after the
// request was bound to an era (oauth.Server pins the key), so that an answer from
// before a change opens nothing after it.
func (t *Tokens) Authenticate(ctx context.Context, passphrase string) (string, error) {
	if !t.era.Load().ours {
		return "", oauth.ErrReplaced
	}
	return t.owner.Authenticate(ctx, passphrase)
}

func (t *Tokens) eraSubject() string { return t.table.Subject(sealKind, "era") }

// readEra returns the era that the servers hold, and false when there is none, or one
// that is not ours, of which there is only the number.
func (t *Tokens) readEra(ctx context.Context) (e era, seq uint64, ok bool, err error) {
	m, ok, err := t.table.Latest(ctx, t.eraSubject())
	if err != nil || !ok {
		return e, m.Seq, false, err
	}
	return e, m.Seq, true, conn.Corrupted("read the era of the logins", json.Unmarshal(m.Data, &e))
}

// replace puts an era in the place of the present one: what next makes of it, nothing
// when next returns false. next draws the same key each time, by which an earlier
// attempt is found whose answer got lost. After an error it may be called again:
// another was first.
func (t *Tokens) replace(ctx context.Context, key oauth.SealKey, next func(e era, ok bool) (era, bool)) (era, uint64, error) {
	e, seq, ok, err := t.readEra(ctx)
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
	seq, err = t.table.Write(ctx, conn.Change{Subject: t.eraSubject(), Data: data, CompareAndSet: true, Revision: seq})
	return n, seq, err
}

// knownNumber returns the number of the era that is known here, 0 for none.
func (t *Tokens) knownNumber() int64 {
	if p := t.era.Load(); p != nil {
		return p.Number
	}
	return 0
}

// restore writes the era that is known here over a message that does not count, unless
// something else has come since: replicas that start find it, and tokens of other
// replicas are looked up under it.
func (t *Tokens) restore(ctx context.Context, over uint64) {
	if !t.restores.Allow() {
		return
	}
	data, err := json.Marshal(t.era.Load().era)
	if err == nil {
		_, err = t.table.Write(ctx, conn.Change{Subject: t.eraSubject(), Data: data, CompareAndSet: true, Revision: over})
	}
	if err != nil && !errors.Is(err, conn.ErrConflict) {
		t.log.WarnContext(ctx, "the era of the logins is not put back; it is at the next connection", "error", err)
	}
}

// hearLate notes that there is a message in the place of the era that does not count. It
// does when it is ours and newer than what is known: its replica has a wrong clock, and
// the logins end all the same. The era that is known then is written over it, but not by
// a replica whose own clock is behind: that would be as late.
func (t *Tokens) hearLate(ctx context.Context, m conn.Message) {
	var e era
	if m.Late != nil && json.Unmarshal(m.Late, &e) == nil && e.Number > t.knownNumber() {
		t.hear(ctx, e, m.Seq)
	}
	if m.At.Sub(t.table.Seals.Now()).Abs() <= conn.MaxDelay || m.Late == nil {
		t.restore(ctx, m.Seq)
	}
}

// settle finds out the era at the start. Was the passphrase of this replica never the
// one that counts, it is from now on, and the logins under another end. Was it
// replaced, this is a replica that somebody forgot: it ends nothing, and takes no
// passphrase.
func (t *Tokens) settle(ctx context.Context) error {
	key := oauth.NewSealKey()
	var began era
	var seq uint64
	ours := false
	err := t.table.RetryWrite(ctx, "read the era of the logins", func(ctx context.Context) (err error) {
		var asked error
		began, seq, err = t.replace(ctx, key, func(e era, ok bool) (era, bool) {
			if t.owner == nil {
				return blank(key, ""), !ok
			}
			if ours, asked = t.isOurs(ctx, e.Owner); ours || asked != nil {
				return e, false
			}
			for _, former := range e.Former {
				var was bool
				if was, asked = t.isOurs(ctx, former); was || asked != nil {
					return e, false
				}
			}
			return e.taken(key, t.owner.Hash()), true
		})
		if asked != nil {
			return asked
		}
		return err
	})
	if err != nil {
		return err
	}
	t.era.Store(newPresent(began, seq, ours || t.owner != nil && began.Key == key))
	if began.Key == key && began.Why != "" {
		t.log.WarnContext(ctx, "all logins have ended", "why", began.Why)
		t.sweep(ctx, seq)
	}
	t.tellReplaced(ctx)
	return nil
}

// isOurs reports whether a hash is of the passphrase of this replica. To find out may
// take a second, so it is found out once. It is called at the start, and then by the
// watcher alone.
func (t *Tokens) isOurs(ctx context.Context, hash string) (bool, error) {
	if t.owner == nil || hash == "" {
		return false, nil
	}
	if ours, known := t.judged[hash]; known {
		return ours, nil
	}
	// A connection that is lost meanwhile must not leave it undecided.
	ours, err := t.owner.Is(context.WithoutCancel(ctx), hash)
	if err == nil {
		t.judged[hash] = ours
	}
	return ours, err
}

func (t *Tokens) tellReplaced(ctx context.Context) {
	if t.owner != nil && !t.era.Load().ours {
		t.log.ErrorContext(ctx, "the owner's passphrase was replaced by that of another replica: this one takes none until it is started with the new one, or with one that never counted")
	}
}

// RevokeAll ends every code, token, registration and login. How many tokens there were
// is counted when they have ended: nothing that is slow or cannot be read keeps them.
// They are those of the era that it ends, which this replica may not have heard of yet.
func (t *Tokens) RevokeAll(ctx context.Context, now time.Time) (int, error) {
	before := t.era.Load()
	last, known := before.name, 0
	lived := func(tok oauth.Token) bool {
		return tok.Generation == last && now.Before(tok.Expires) && !tok.Grant.Login
	}
	key := oauth.NewSealKey()
	var began era
	var seq uint64
	err := t.table.RetryWrite(ctx, "end all logins", func(ctx context.Context) (err error) {
		began, seq, err = t.replace(ctx, key, func(e era, ok bool) (era, bool) {
			if !ok {
				e = before.renewed(key, byOwner)
			} else {
				last, e = e.Key.Generation(), e.next(key, byOwner)
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
	t.advance(began, seq, func(from *present) bool { return from.Owner == began.Owner && from.Line == began.Line })
	ended := t.countKept(ctx, known, lived)
	t.sweep(ctx, seq)
	return ended, nil
}

// count returns how many of the tokens that are known here count.
func (t *Tokens) count(counts func(oauth.Token) bool) int {
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

// countKept returns how many of the tokens that the servers hold count: known, when
// they do not tell in time.
func (t *Tokens) countKept(ctx context.Context, known int, counts func(oauth.Token) bool) int {
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
		t.log.WarnContext(ctx, "the tokens that have ended were not counted; it is told how many were known here", "error", err)
		return known
	}
	return len(kept)
}

// enter begins an era, unless another than the one before is known meanwhile. All
// that is known of others goes.
func (t *Tokens) enter(p, before *present) bool {
	t.mu.Lock()
	entered := t.era.CompareAndSwap(before, p)
	if entered {
		t.tokens.keep(func(tok oauth.Token) bool { return tok.Generation == p.name })
		t.codes.keep(func(c codeForm) bool { return c.Code.Generation == p.name })
		if p.name != before.name {
			clear(t.gone) // nothing of another era counts
		}
	}
	t.mu.Unlock()
	if entered && p.name != before.name {
		t.ended.Notify()
	}
	return entered
}

// advance begins an era that follows the one that is known, whichever that is by
// then, and reports whether it did: not if it, or a later one, is known, nor from one
// that follows refuses. Whose passphrase counts may be found out later.
func (t *Tokens) advance(e era, seq uint64, follows func(from *present) bool) bool {
	for {
		before := t.era.Load()
		if e.Key == before.Key || seq <= before.seq || e.Number <= before.Number || !follows(before) {
			return false
		}
		if t.enter(newPresent(e, seq, e.Owner == before.Owner && before.ours), before) {
			return true
		}
	}
}

// hear notes that an era has begun elsewhere. It counts at once; whose passphrase
// counts in it may take a second to find out, and until then none does.
func (t *Tokens) hear(ctx context.Context, e era, seq uint64) {
	if known := t.era.Load(); e.Key != known.Key && seq > known.seq && e.Number <= known.Number {
		t.table.Seals.Refuse(ctx, conn.ReplayedRow, t.eraSubject(), errPutBack)
		t.restore(ctx, seq)
		return
	}
	if t.advance(e, seq, func(*present) bool { return true }) {
		t.log.WarnContext(ctx, "all logins have ended", "why", e.Why)
		t.judge(ctx)
	}
}

// judge finds out whose passphrase counts.
func (t *Tokens) judge(ctx context.Context) {
	for {
		p := t.era.Load()
		if p.ours || t.owner == nil {
			return
		}
		ours, err := t.isOurs(ctx, p.Owner)
		if err != nil {
			t.log.ErrorContext(ctx, "whether the passphrase counts is not known", "error", err)
			return
		}
		if !ours || t.enter(newPresent(p.era, p.seq, true), p) {
			break // otherwise another era has begun, in which it may count too
		}
	}
	t.tellReplaced(ctx)
}

// begun reports whether another era began while nobody watched, with servers that
// lost what they held or without. All that is known here is then read anew. Servers
// that hold none get one for the passphrase that was known to count, whoever asks; so
// do those that somebody was first at who did not know it.
func (t *Tokens) begun(ctx context.Context) (bool, error) {
	before := t.era.Load()
	key := oauth.NewSealKey()
	var asked error
	e, seq, err := t.replace(ctx, key, func(e era, ok bool) (era, bool) {
		n := before.renewed(key, byServers)
		if !ok {
			return n, true
		}
		n.Line = e.Line
		var overrules bool
		overrules, asked = t.overrules(ctx, before, e)
		return n, overrules
	})
	if asked != nil {
		return false, asked
	}
	if err != nil || e.Key == before.Key {
		return false, err
	}
	// Their numbers may have begun anew, too.
	if !t.enter(newPresent(e, seq, e.Owner == before.Owner && before.ours), before) {
		return false, conn.ErrConflict // by our own hand, a moment ago
	}
	t.mu.Lock()
	t.tokens, t.codes = newView[oauth.Token](), newView[codeForm]()
	t.mu.Unlock()
	t.log.WarnContext(ctx, "all logins have ended", "why", cmp.Or(e.Why, byServers))
	t.judge(ctx)
	return true, nil
}

// overrules reports whether what was known before counts for more than an era that
// was found on servers which have begun anew. One who starts there with a passphrase
// that was replaced long ago cannot know that it was. It happens once in a line: what
// is written then is not blank.
func (t *Tokens) overrules(ctx context.Context, before *present, e era) (bool, error) {
	switch {
	case before.Owner == "" || e.Line == before.Line:
		return false, nil
	case slices.Contains(before.Former, e.Owner):
		return true, nil // of one who had not heard of the change
	case !e.Blank:
		return false, nil
	case len(before.Former) > 0:
		return true, nil // which it does not tell of, so they would count again
	case e.Owner == before.Owner:
		return false, nil
	case !before.ours:
		return true, nil
	}
	ours, err := t.isOurs(ctx, e.Owner)
	return !ours, err
}

// sweep takes out of the servers' memory what was written before an era: nobody takes
// it any more. What it leaves goes with its time.
func (t *Tokens) sweep(ctx context.Context, seq uint64) {
	for _, kind := range []string{codeKind, tokenKind} {
		if err := t.table.Purge(context.WithoutCancel(ctx), t.table.Subject(kind, "*"), seq); err != nil {
			t.log.WarnContext(ctx, "what has ended stays in the servers' memory until its time is over", "what", kind, "error", err)
		}
	}
}
