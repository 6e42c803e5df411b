package cluster

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"candela/internal/oauth"
)

// rewatch is how long a watcher that failed waits.
const rewatch = 500 * time.Millisecond

// Close ends the watcher.
func (t *Tokens) Close() {
	t.stop()
	<-t.done
}

// watch follows what all replicas write until ctx ends. When the connection comes
// back it begins again: the servers may have lost what they held in memory, and
// then what is known here has ended with it.
func (t *Tokens) watch(ctx context.Context, last uint64) {
	defer close(t.done)
	back := t.table.nc.StatusChanged(nats.CONNECTED)
	defer t.table.nc.RemoveStatusListener(back)
	for {
		round, end := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			select {
			case <-back:
				end()
			case <-round.Done():
			}
		}()
		err := t.read(round, &last)
		end()
		<-ended
		if ctx.Err() != nil {
			return
		}
		t.log.WarnContext(ctx, "the watch over tokens is interrupted", "error", err)
		timer := time.NewTimer(rewatch)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// read notes messages after last until it fails.
func (t *Tokens) read(ctx context.Context, last *uint64) error {
	info, err := t.table.stream.Info(ctx)
	if err != nil {
		return err
	}
	if info.State.LastSeq < *last { // the servers began anew
		t.mu.Lock()
		t.tokens, t.codes = newView[oauth.Token](), newView[codeForm]()
		t.mu.Unlock()
		*last = 0
	}
	for m, err := range t.table.follow(ctx, *last, t.subjects()...) {
		if err != nil {
			return err
		}
		if err := t.apply(m, true); err != nil {
			t.log.ErrorContext(ctx, "a token cannot be read", "error", err)
		}
		*last = m.seq
	}
	return nil
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
