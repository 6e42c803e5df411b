package cluster

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"candela/internal/oauth"
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
	err := t.apply(m, true)
	if m.subject == t.eraSubject() {
		var e era
		if err = json.Unmarshal(m.data, &e); err == nil {
			t.hear(ctx, e, m.seq)
		}
	}
	if err != nil {
		t.log.ErrorContext(ctx, "a token cannot be read", "error", err)
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
		t.ended.Tell(hash)
	}
	return err
}

// set puts a message into the view of its kind and reports whether it clears its
// subject.
func (t *Tokens) set(kind string, hash oauth.Hash, m message, watched bool) (cleared bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.era.Load().name
	if kind == tokenKind {
		return applyTo(&t.tokens, hash, m, watched, func(tok oauth.Token) bool { return tok.Era == now })
	}
	return applyTo(&t.codes, hash, m, watched, func(c codeForm) bool { return c.Code.Era == now })
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
