package cluster

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
)

// Close ends the watcher.
func (t *Tokens) Close() {
	t.stop()
	<-t.done
}

// watch follows what all replicas write until ctx ends.
func (t *Tokens) watch(ctx context.Context, last uint64) {
	defer close(t.done)
	follower := &follower{
		table: t.table, filters: t.subjects(), what: "tokens", log: t.log,
		apply: t.note, begun: t.begun,
	}
	follower.run(ctx, last)
}

// note notes a message of the table. One that cannot be read changes nothing.
func (t *Tokens) note(ctx context.Context, m message) {
	if m.forged == t.eraSubject() {
		t.hearLate(ctx, m)
		return
	}
	if m.forged != "" {
		t.overwritten(m)
		return
	}
	err := t.apply(m, true)
	if m.subject == t.eraSubject() {
		var e era
		if err = json.Unmarshal(m.data, &e); err == nil {
			t.hear(ctx, e, m.seq)
		}
	}
	switch {
	case errors.Is(err, errPutBack):
		t.table.trust.refuse(ctx, replayedRow, m.subject, err)
		t.endAgain(ctx, m)
	case err != nil:
		t.log.ErrorContext(ctx, "a token cannot be read", "error", err)
	}
}

// overwritten ends a token or a code that is known and on whose subject somebody else has
// written: the row that was there may have been its end. Of others nothing is noted, so
// that strangers cannot fill the memory of what has ended.
func (t *Tokens) overwritten(m message) {
	kind, hash, ok := t.name(m.forged)
	if !ok {
		return
	}
	t.mu.RLock()
	_, token := t.tokens.rows[hash]
	_, code := t.codes.rows[hash]
	t.mu.RUnlock()
	if kind == tokenKind && token || kind == codeKind && code {
		_ = t.apply(message{subject: m.forged, seq: m.seq}, true) // nothing is decoded
	}
}

// endAgain writes what became of a token or a code over a message that tells what was
// before, unless something else has come since: replicas that start do not know better.
func (t *Tokens) endAgain(ctx context.Context, m message) {
	kind, hash, ok := t.name(m.subject)
	if !ok || !t.endings.Allow() {
		return
	}
	t.mu.RLock()
	code := t.codes.rows[hash].value
	_, gone := t.gone[hash]
	t.mu.RUnlock()
	var value any // none: it was cleared
	ttl := oauth.TokenTTL
	if kind == codeKind && !gone {
		value, ttl = code, time.Until(code.Ends)
	}
	ch, err := t.change(kind, hash, value, ttl)
	if err == nil {
		ch.guarded, ch.after = true, m.seq
		err = t.write(ctx, ch)
	}
	if err != nil && !errors.Is(err, errMoved) {
		t.log.WarnContext(ctx, "the end of a token or a code that somebody has put back is not written again", "subject", m.subject, "error", err)
	}
}

// apply notes a message about a code or a token. One of another era is as good as
// cleared: the watcher comes to an era before anything of it.
func (t *Tokens) apply(m message, watched bool) error {
	kind, hash, ok := t.name(m.subject)
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
func (t *Tokens) set(kind string, hash oauth.Hash, m message, watched bool) (cleared bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.era.Load().name
	switch {
	case len(m.data) == 0:
		t.bury(hash, m.seq, time.Now())
	case t.putBack(hash, kind, m):
		return false, errPutBack
	}
	if kind == tokenKind {
		return applyTo(&t.tokens, hash, m, watched, func(tok oauth.Token) bool { return tok.Generation == now })
	}
	return applyTo(&t.codes, hash, m, watched, func(c codeForm) bool { return c.Code.Generation == now })
}

// grave is what is known of a token or a code that was cleared.
type grave struct {
	seq  uint64    // of the message that cleared it
	ends time.Time // when it would have ended by itself
}

// bury notes that a token or a code was cleared: whatever comes of it later is old. The
// caller has locked.
func (t *Tokens) bury(h oauth.Hash, seq uint64, now time.Time) {
	most := (usedCodes+1)*t.most + oauth.MaxCodes
	if len(t.gone) >= most {
		maps.DeleteFunc(t.gone, func(_ oauth.Hash, g grave) bool { return !now.Before(g.ends) })
	}
	for one := range t.gone { // any of them: there is room for all that end in their time
		if len(t.gone) < most {
			break
		}
		delete(t.gone, one)
	}
	t.gone[h] = grave{seq, now.Add(oauth.TokenTTL)}
}

// putBack reports whether a message of a token or a code tells what was before one that
// is known and has a lower number: it was cleared, or the code was used. The caller has
// locked.
func (t *Tokens) putBack(h oauth.Hash, kind string, m message) bool {
	if g, gone := t.gone[h]; gone {
		return m.seq > g.seq
	}
	row := t.codes.rows[h]
	if kind != codeKind || !row.value.used() || m.seq <= row.seq {
		return false
	}
	var c codeForm
	return json.Unmarshal(m.data, &c) == nil && !c.used()
}

// buried reports whether a token or a code is known to have been cleared.
func (t *Tokens) buried(h oauth.Hash) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	_, gone := t.gone[h]
	return gone
}

// usedHere reports whether a code is known here to have been used.
func (t *Tokens) usedHere(h oauth.Hash) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.codes.rows[h].value.used()
}

func applyTo[V any](v *view[V], h oauth.Hash, m message, watched bool, holds func(V) bool) (cleared bool, err error) {
	row := viewed[V]{seq: m.seq, cleared: len(m.data) == 0}
	if !row.cleared {
		if err := json.Unmarshal(m.data, &row.value); err != nil {
			return false, fmt.Errorf("message %d: %w", m.seq, err)
		}
		row.cleared = !holds(row.value)
	}
	v.set(h, row, watched)
	return row.cleared, nil
}

// subjects matches all that is kept.
func (t *Tokens) subjects() []string {
	return []string{t.table.subject(codeKind, "*"), t.table.subject(tokenKind, "*"), t.eraSubject()}
}

// name reads a subject.
func (t *Tokens) name(subject string) (kind string, h oauth.Hash, ok bool) {
	rest, ok := strings.CutPrefix(subject, t.table.subject(""))
	kind, text, dot := strings.Cut(rest, ".")
	if !ok || !dot || kind != codeKind && kind != tokenKind || hex.DecodedLen(len(text)) != len(h) {
		return "", h, false
	}
	_, err := hex.Decode(h[:], []byte(text))
	return kind, h, err == nil
}
