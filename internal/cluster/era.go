package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/oauth"
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
	// Owner is the argon2id hash of the passphrase that counts, "" where none does.
	// Nothing else of it is kept: who can read this reads the key too and needs no
	// passphrase, but may not learn more of it than from the configuration.
	Owner string `json:"owner,omitempty"`
	// Former are those that counted before, the last one at the end.
	Former []string `json:"former,omitempty"`
	Why    string   `json:"why,omitempty"`
}

// next returns the era that follows when the logins end and the passphrase stays.
func (e era) next(key oauth.SealKey, why string) era {
	return era{Key: key, Owner: e.Owner, Former: e.Former, Why: why}
}

// taken returns the era that follows when another passphrase counts.
func (e era) taken(key oauth.SealKey, owner string) era {
	n := era{Key: key, Owner: owner}
	if e.Key == (oauth.SealKey{}) {
		return n // the first there is
	}
	n.Why, n.Former = byPassphrase, slices.Clone(e.Former)
	if e.Owner != "" {
		n.Former = append(n.Former, e.Owner)
	}
	n.Former = n.Former[max(0, len(n.Former)-maxFormer):]
	return n
}

// present is the era as a replica knows it. It does not change.
type present struct {
	era
	name string // of the key
	seq  uint64
	ours bool // the passphrase of this replica is the one that counts
}

func newPresent(e era, seq uint64, ours bool) *present {
	return &present{era: e, name: e.Key.Era(), seq: seq, ours: ours}
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

func (t *Tokens) eraSubject() string { return t.table.subject(sealKind, "era") }

// readEra returns the era that the servers hold, and false when there is none.
func (t *Tokens) readEra(ctx context.Context) (e era, seq uint64, ok bool, err error) {
	m, ok, err := t.table.last(ctx, t.eraSubject())
	if err != nil || !ok {
		return e, 0, false, err
	}
	return e, m.seq, true, damaged("read the era of the logins", json.Unmarshal(m.data, &e))
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
	n, changes := next(e, ok)
	if !changes {
		return e, seq, nil
	}
	data, err := json.Marshal(n)
	if err != nil {
		return n, 0, err
	}
	seq, err = t.table.publish(ctx, t.table.name, change{subject: t.eraSubject(), data: data, guarded: true, after: seq})
	return n, seq, err
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
	err := write(ctx, "read the era of the logins", func(ctx context.Context) (err error) {
		var asked error
		began, seq, err = t.replace(ctx, key, func(e era, ok bool) (era, bool) {
			if t.owner == nil {
				return era{Key: key}, !ok
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
		t.log.ErrorContext(ctx, "the owner's passphrase was replaced by that of another replica: this one takes none until it is started with the new one")
	}
}

// EndAll ends every code, token, registration and login.
func (t *Tokens) EndAll(ctx context.Context, now time.Time) (int, error) {
	before := t.era.Load()
	live, err := snapshot(ctx, t.table, "count the tokens", t.table.subject(tokenKind, "*"), 0, func(m message) (none struct{}, _ bool, err error) {
		var tok oauth.Token
		err = json.Unmarshal(m.data, &tok)
		return none, tok.Era == before.name && now.Before(tok.Expires), err
	})
	if err != nil {
		return 0, err
	}
	key := oauth.NewSealKey()
	var began era
	var seq uint64
	err = write(ctx, "end all logins", func(ctx context.Context) (err error) {
		began, seq, err = t.replace(ctx, key, func(e era, ok bool) (era, bool) {
			if !ok {
				e = before.era
			}
			return e.next(key, byOwner), true
		})
		return err
	})
	if err != nil {
		return 0, err
	}
	// Unless the watcher knows better: then it comes to this one by itself.
	if began.Owner == before.Owner {
		t.enter(newPresent(began, seq, before.ours), before)
	}
	t.sweep(ctx, seq)
	return len(live), nil
}

// enter begins an era, unless another than the one before is known meanwhile. All
// that is known of others goes.
func (t *Tokens) enter(p, before *present) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.era.CompareAndSwap(before, p) {
		return false
	}
	t.tokens.keep(func(tok oauth.Token) bool { return tok.Era == p.name })
	t.codes.keep(func(c codeForm) bool { return c.Code.Era == p.name })
	return true
}

// hear notes that an era has begun elsewhere. It counts at once; whose passphrase
// counts in it may take a second to find out, and until then none does.
func (t *Tokens) hear(ctx context.Context, e era, seq uint64) {
	before := t.era.Load()
	if e.Key == before.Key || seq <= before.seq || !t.enter(newPresent(e, seq, e.Owner == before.Owner && before.ours), before) {
		return // it is known, or a later one
	}
	t.log.WarnContext(ctx, "all logins have ended", "why", e.Why)
	t.judge(ctx)
}

// judge finds out whose passphrase counts.
func (t *Tokens) judge(ctx context.Context) {
	p := t.era.Load()
	if p.ours || t.owner == nil {
		return
	}
	ours, err := t.isOurs(ctx, p.Owner)
	if err != nil {
		t.log.ErrorContext(ctx, "whether the passphrase counts is not known", "error", err)
		return
	}
	if ours {
		t.enter(newPresent(p.era, p.seq, true), p)
	}
	t.tellReplaced(ctx)
}

// begun reports whether another era began while nobody watched, with servers that
// lost what they held or without. All that is known here is then read anew. Servers
// that hold none get one for the passphrase that was known to count, whoever asks.
func (t *Tokens) begun(ctx context.Context) (bool, error) {
	before := t.era.Load()
	key := oauth.NewSealKey()
	e, seq, err := t.replace(ctx, key, func(_ era, ok bool) (era, bool) { return before.next(key, byServers), !ok })
	if err != nil || e.Key == before.Key {
		return false, err
	}
	// Their numbers may have begun anew, too.
	if !t.enter(newPresent(e, seq, e.Owner == before.Owner && before.ours), before) {
		return false, errMoved // by our own hand, a moment ago
	}
	t.mu.Lock()
	t.tokens, t.codes = newView[oauth.Token](), newView[codeForm]()
	t.mu.Unlock()
	t.log.WarnContext(ctx, "all logins have ended", "why", cmp.Or(e.Why, byServers))
	t.judge(ctx)
	return true, nil
}

// sweep takes out of the servers' memory what was written before an era: nobody takes
// it any more. What it leaves goes with its time.
func (t *Tokens) sweep(ctx context.Context, seq uint64) {
	for _, kind := range []string{codeKind, tokenKind} {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTime)
		err := t.table.stream.Purge(limited, jetstream.WithPurgeSubject(t.table.subject(kind, "*")), jetstream.WithPurgeSequence(seq))
		cancel()
		if err != nil {
			t.log.WarnContext(ctx, "what has ended stays in the servers' memory until its time is over", "what", kind, "error", err)
		}
	}
}
