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

// begun reports whether the servers have begun anew, which another key than the one
// that is known tells. What is known here has then ended with what they held.
func (t *Tokens) begun(ctx context.Context) (bool, error) {
	key, err := t.readSeal(ctx)
	if err != nil || key == t.Seal() {
		return false, err
	}
	t.log.WarnContext(ctx, "the NATS servers have begun anew: all tokens and registrations have ended")
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tokens, t.codes = newView[oauth.Token](), newView[codeForm]()
	t.seal.Store(&key)
	return true, nil
}

// note notes a message of the table. One that cannot be read changes nothing.
func (t *Tokens) note(ctx context.Context, m message) {
	if err := t.apply(m, true); err != nil {
		t.log.ErrorContext(ctx, "a token cannot be read", "error", err)
	}
}

// apply notes a message.
func (t *Tokens) apply(m message, watched bool) error {
	kind, hash, ok := t.name(m.subject)
	if !ok {
		return nil // a mark
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if kind == tokenKind {
		return applyTo(&t.tokens, hash, m, watched)
	}
	return applyTo(&t.codes, hash, m, watched)
}

func applyTo[V any](v *view[V], h oauth.Hash, m message, watched bool) error {
	row := viewed[V]{seq: m.seq, cleared: len(m.data) == 0}
	if !row.cleared {
		if err := json.Unmarshal(m.data, &row.value); err != nil {
			return fmt.Errorf("message %d: %w", m.seq, err)
		}
	}
	v.set(h, row, watched)
	return nil
}

// subjects matches all that is kept.
func (t *Tokens) subjects() []string {
	return []string{t.table.subject(codeKind, "*"), t.table.subject(tokenKind, "*")}
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
