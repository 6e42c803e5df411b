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

// Close ends the watcher.
func (t *Store) Close() {
	t.stop()
	<-t.done
}

// follow follows what all replicas write until ctx ends.
func (t *Store) follow(ctx context.Context, last uint64) {
	defer close(t.done)
	follower := &table.Follower{
		Table: t.table, Filters: t.subjects(), Name: "tokens", Log: t.log,
		Apply: t.applyMessage, LostData: t.detectReset,
	}
	follower.Run(ctx, last)
}

// applyMessage notes a message of the table. One that cannot be read changes nothing.
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

// overwritten ends a token or a code that is known and on whose subject somebody else has
// written: the row that was there may have been its end. Of others nothing is noted, so
// that strangers cannot fill the memory of what has ended.
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

// rewriteEnd writes what became of a token or a code over a message that tells what was
// before, unless something else has come since: replicas that start do not know better.
func (t *Store) rewriteEnd(ctx context.Context, m conn.Message) {
	kind, hash, ok := t.parseSubject(m.Subject)
	if !ok || !t.rewrites.Allow() {
		return
	}
	t.mu.RLock()
	code := t.codes.rows[hash].value
	_, gone := t.endedLogins[hash]
	t.mu.RUnlock()
	var value any // none: it was cleared
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
		t.log.WarnContext(ctx, "the end of a token or a code that somebody has put back is not written again", "subject", m.Subject, "error", err)
	}
}

// apply notes a message about a code or a token. One of another era is as good as
// cleared: the watcher comes to an era before anything of it.
func (t *Store) apply(m conn.Message, watched bool) error {
	kind, hash, ok := t.parseSubject(m.Subject)
	if !ok {
		return nil // a mark, or an era
	}
	cleared, err := t.set(kind, hash, m, watched)
	if cleared && kind == tokenKind {
		t.ended.Notify(hash)
	}
	return err
}

// set puts a message into the view of its kind and reports whether it clears its
// subject.
func (t *Store) set(kind string, hash oauth.Hash, m conn.Message, watched bool) (cleared bool, err error) {
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
		return applyRow(&t.tokens, hash, m, watched, func(tok oauth.Token) bool { return tok.Generation == now })
	}
	return applyRow(&t.codes, hash, m, watched, func(c codeRecord) bool { return c.Code.Generation == now })
}

// endedLogin is what is known of a token or a code that was cleared.
type endedLogin struct {
	seq  uint64    // of the message that cleared it
	ends time.Time // when it would have ended by itself
}

// recordEnded notes that a token or a code was cleared: whatever comes of it later is old. The
// caller has locked.
func (t *Store) recordEnded(h oauth.Hash, seq uint64, now time.Time) {
	most := (usedCodesPerToken+1)*t.maxTokens + oauth.MaxCodes
	if len(t.endedLogins) >= most {
		maps.DeleteFunc(t.endedLogins, func(_ oauth.Hash, g endedLogin) bool { return !now.Before(g.ends) })
	}
	for one := range t.endedLogins { // any of them: there is room for all that end in their time
		if len(t.endedLogins) < most {
			break
		}
		delete(t.endedLogins, one)
	}
	t.endedLogins[h] = endedLogin{seq, now.Add(oauth.TokenTTL)}
}

// isReplayed reports whether a message of a token or a code tells what was before one that
// is known and has a lower number: it was cleared, or the code was used. The caller has
// locked.
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

// knownEnded reports whether a token or a code is known to have been cleared.
func (t *Store) knownEnded(h oauth.Hash) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	_, gone := t.endedLogins[h]
	return gone
}

// knownUsed reports whether a code is known here to have been used.
func (t *Store) knownUsed(h oauth.Hash) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.codes.rows[h].value.used()
}

func applyRow[V any](v *cache[V], h oauth.Hash, m conn.Message, watched bool, holds func(V) bool) (cleared bool, err error) {
	row := cacheRow[V]{seq: m.Seq, cleared: len(m.Data) == 0}
	if !row.cleared {
		if err := json.Unmarshal(m.Data, &row.value); err != nil {
			return false, fmt.Errorf("message %d: %w", m.Seq, err)
		}
		row.cleared = !holds(row.value)
	}
	v.set(h, row, watched)
	return row.cleared, nil
}

// subjects matches all that is kept.
func (t *Store) subjects() []string {
	return []string{t.table.Subject(codeKind, "*"), t.table.Subject(tokenKind, "*"), t.generationSubject()}
}

// parseSubject reads a subject.
func (t *Store) parseSubject(subject string) (kind string, h oauth.Hash, ok bool) {
	rest, ok := strings.CutPrefix(subject, t.table.Subject(""))
	kind, text, dot := strings.Cut(rest, ".")
	if !ok || !dot || kind != codeKind && kind != tokenKind || hex.DecodedLen(len(text)) != len(h) {
		return "", h, false
	}
	_, err := hex.Decode(h[:], []byte(text))
	return kind, h, err == nil
}

// Ended reports whether the token that a key stands for has ended for certain: what is
// known here may be a moment old.
func (t *Store) Ended(ctx context.Context, key string) (bool, error) {
	const doing = "read a token"
	known, subject := t.generation.Load(), t.table.Subject(tokenKind, key)
	m, ok, err := t.table.Latest(ctx, subject)
	if err == nil && !ok {
		ok, err = t.table.ConfirmAbsent(ctx, subject)
		return ok, conn.Unavailable(doing, err)
	}
	if err != nil || len(m.Data) == 0 {
		return err == nil, conn.Unavailable(doing, err)
	}
	var tok oauth.Token
	if err := json.Unmarshal(m.Data, &tok); err != nil {
		return false, conn.Corrupted(doing, err)
	}
	_, ended, err := t.generationState(ctx, tok, known)
	// One that was written since may be of an era that is not known here yet.
	return ended && m.Seq < known.seq, conn.Unavailable(doing, err)
}
