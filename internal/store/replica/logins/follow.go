package logins

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/table"
)

// Close stops the follower.
func (t *Store) Close() {
	t.stop()
	<-t.done
}

// follow applies the messages after last until ctx ends.
func (t *Store) follow(ctx context.Context, last uint64) {
	defer close(t.done)
	t.follower().Run(ctx, last)
}

// follower returns the follower that applies the writes of all replicas.
func (t *Store) follower() *table.Follower {
	return &table.Follower{
		Table: t.table, Name: "tokens", Log: t.log, Apply: t.applyMessage, LostData: t.detectReset,
		Filters: []string{t.table.Subject(codeKind, "*"), t.table.Subject(tokenKind, "*"), t.generationSubject()},
	}
}

// applyMessage applies a message of the table. Messages that cannot be decoded are skipped.
func (t *Store) applyMessage(ctx context.Context, m conn.Message) {
	if m.Forged == t.generationSubject() {
		t.onLateGeneration(ctx, m)
		return
	}
	if m.Forged != "" {
		t.overwritten(m)
		return
	}
	err := t.apply(m, true)
	if m.Subject == t.generationSubject() {
		var e loginGeneration
		if err = json.Unmarshal(m.Data, &e); err == nil {
			t.onGeneration(ctx, e, m.Seq)
		}
	}
	switch {
	case errors.Is(err, errReplayed):
		t.table.Seals.Refuse(ctx, conn.ReplayedRow, m.Subject, err)
		t.rewriteEnd(ctx, m)
	case err != nil:
		t.log.ErrorContext(ctx, "login record skipped: cannot decode", "error", err)
	}
}

// overwritten ends a known token or code whose subject a stranger has overwritten: the lost
// message may have been its tombstone. Unknown ones are not recorded, so that strangers cannot
// fill the memory.
func (t *Store) overwritten(m conn.Message) {
	kind, hash, ok := t.parseSubject(m.Forged)
	if !ok {
		return
	}
	t.mu.RLock()
	_, token := t.tokens.rows[hash]
	_, code := t.codes.rows[hash]
	t.mu.RUnlock()
	if kind == tokenKind && token || kind == codeKind && code {
		_ = t.apply(conn.Message{Subject: m.Forged, Seq: m.Seq}, true) // nothing is decoded
	}
}

// rewriteEnd writes the end of a token or code over a replayed message, unless a later message
// followed: replicas that start would accept it.
func (t *Store) rewriteEnd(ctx context.Context, m conn.Message) {
	kind, hash, ok := t.parseSubject(m.Subject)
	if !ok || !t.rewrites.Allow() {
		return
	}
	t.mu.RLock()
	code := t.codes.rows[hash].value
	_, gone := t.endedLogins[hash]
	t.mu.RUnlock()
	var value any // nil writes a tombstone
	ttl := oauth.TokenTTL
	if kind == codeKind && !gone {
		value, ttl = code, time.Until(code.ForgetAt)
	}
	ch, err := t.change(kind, hash, value, ttl)
	if err == nil {
		ch.CompareAndSet, ch.Revision = true, m.Seq
		err = t.write(ctx, ch)
	}
	if err != nil && !errors.Is(err, conn.ErrConflict) {
		t.log.WarnContext(ctx, "rewriting the end of a replayed login failed", "subject", m.Subject, "error", err)
	}
}

// apply applies a message about a code or token. One of another generation counts as ended: the
// follower reaches a generation before its codes and tokens.
func (t *Store) apply(m conn.Message, followed bool) error {
	kind, hash, ok := t.parseSubject(m.Subject)
	if !ok {
		return nil // a barrier or a generation
	}
	cleared, err := t.set(kind, hash, m, followed)
	if cleared && kind == tokenKind {
		t.ended.Notify(hash)
	}
	return err
}

// set stores a message in the cache of its kind and reports whether it ends the code or token.
func (t *Store) set(kind string, hash oauth.Hash, m conn.Message, followed bool) (cleared bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.generation.Load().name
	switch {
	case len(m.Data) == 0:
		t.recordEnded(hash, m.Seq, time.Now())
	case t.isReplayed(hash, kind, m):
		return false, errReplayed
	}
	if kind == tokenKind {
		return applyRow(&t.tokens, hash, m, followed, func(tok oauth.Token) bool { return tok.Generation == now })
	}
	return applyRow(&t.codes, hash, m, followed, func(c codeRecord) bool { return c.Code.Generation == now })
}

type endedLogin struct {
	seq  uint64    // of its tombstone
	ends time.Time // when it would have expired
}

// recordEnded records that a token or code has ended, so that later messages of it count as
// replays. The caller holds mu.
func (t *Store) recordEnded(h oauth.Hash, seq uint64, now time.Time) {
	most := (usedCodesPerToken+1)*t.most.Tokens + t.most.Codes
	if len(t.endedLogins) >= most {
		maps.DeleteFunc(t.endedLogins, func(_ oauth.Hash, g endedLogin) bool { return !now.Before(g.ends) })
	}
	for one := range t.endedLogins { // any of them; expired ones were removed above
		if len(t.endedLogins) < most {
			break
		}
		delete(t.endedLogins, one)
	}
	t.endedLogins[h] = endedLogin{seq, now.Add(oauth.TokenTTL)}
}

// isReplayed reports whether a message restores the state of a token or code before its end or
// use. The caller holds mu.
func (t *Store) isReplayed(h oauth.Hash, kind string, m conn.Message) bool {
	if g, gone := t.endedLogins[h]; gone {
		return m.Seq > g.seq
	}
	row := t.codes.rows[h]
	if kind != codeKind || !row.value.used() || m.Seq <= row.seq {
		return false
	}
	var c codeRecord
	return json.Unmarshal(m.Data, &c) == nil && !c.used()
}

func (t *Store) knownEnded(h oauth.Hash) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	_, gone := t.endedLogins[h]
	return gone
}

func (t *Store) knownUsed(h oauth.Hash) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.codes.rows[h].value.used()
}

func applyRow[V any](v *cache[V], h oauth.Hash, m conn.Message, followed bool, holds func(V) bool) (cleared bool, err error) {
	row := cacheRow[V]{seq: m.Seq, cleared: len(m.Data) == 0}
	if !row.cleared {
		if err := json.Unmarshal(m.Data, &row.value); err != nil {
			return false, fmt.Errorf("message %d: %w", m.Seq, err)
		}
		row.cleared = !holds(row.value)
	}
	v.set(h, row, followed)
	return row.cleared, nil
}

func (t *Store) parseSubject(subject string) (kind string, h oauth.Hash, ok bool) {
	rest, ok := strings.CutPrefix(subject, t.table.Subject(""))
	kind, text, dot := strings.Cut(rest, ".")
	if !ok || !dot || kind != codeKind && kind != tokenKind || hex.DecodedLen(len(text)) != len(h) {
		return "", h, false
	}
	_, err := hex.Decode(h[:], []byte(text))
	return kind, h, err == nil
}

// Ended reports whether a token has certainly ended. It asks the servers, because the cache may be
// a moment old.
func (t *Store) Ended(ctx context.Context, key string) (bool, error) {
	const op = "read token"
	known, subject := t.generation.Load(), t.table.Subject(tokenKind, key)
	m, ok, err := t.table.Latest(ctx, subject)
	if err == nil && !ok {
		ok, err = t.table.ConfirmAbsent(ctx, subject)
		return ok, conn.Unavailable(op, err)
	}
	if err != nil || len(m.Data) == 0 {
		return err == nil, conn.Unavailable(op, err)
	}
	var tok oauth.Token
	if err := json.Unmarshal(m.Data, &tok); err != nil {
		return false, conn.Corrupted(op, err)
	}
	_, ended, err := t.generationState(ctx, tok, known)
	// A token written since may belong to a generation that is not known here yet.
	return ended && m.Seq < known.seq, conn.Unavailable(op, err)
}
