package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"candela/internal/kit/principal"
	"candela/internal/store/chain"
	"candela/internal/store/receipt"
)

// Seal has checkpoints signed with the key of the state directory and written from now on. It makes the key at the first
// time and records which one signs. Each checkpoint is handed on when it is on the disk; to must not block, nil for nobody. It
// must be called before the first event is written.
func (l *Ledger) Seal(ctx context.Context, to func(chain.Signed)) error {
	return l.seal(ctx, to, func(home, last string) (key, old chain.Key, err error) {
		key, err = receipt.OpenKey(home, last)
		return key, old, err
	})
}

// Rotate replaces the key of the state directory with a new one, for which the old one vouches. No program may write to the
// store meanwhile.
func (l *Ledger) Rotate(ctx context.Context) (key chain.Key, err error) {
	err = l.seal(ctx, nil, func(home, last string) (next, old chain.Key, err error) {
		if old, err = receipt.OpenKey(home, last); err == nil {
			next, err = receipt.MakeNext(home)
		}
		key = next
		return next, old, err
	})
	if err == nil {
		err = receipt.UseNext(filepath.Dir(l.path))
	}
	return key, err
}

// seal signs with a key, which open returns for a state directory and the ID of the key that the log names last, with the one
// before it if that is known.
func (l *Ledger) seal(ctx context.Context, to func(chain.Signed), open func(home, last string) (key, old chain.Key, err error)) error {
	return l.write(ctx, func(t *tx) error {
		var last string
		err := t.row("SELECT subject FROM events WHERE owner = ? AND "+ofProofs+"ORDER BY seq DESC LIMIT 1", []any{"", chain.KeyKind}, &last)
		if err != nil && !noRow(err) {
			return err
		}
		key, old, err := open(filepath.Dir(l.path), last)
		if err != nil {
			return err
		}
		if err := t.introduce(key, old, last); err != nil {
			return err
		}
		l.key, l.sealed = key, to
		return nil
	})
}

// introduce records which key signs, unless it is the last one that the log names.
func (t *tx) introduce(key, old chain.Key, last string) error {
	if last == key.ID() {
		return nil
	}
	if !old.IsZero() && old.ID() != last {
		old = chain.Key{}
	}
	change, err := key.Introduce(old, t.l.now())
	if err != nil {
		return err
	}
	body, err := json.Marshal(change)
	if err != nil {
		return err
	}
	return t.append(principal.Caller{}, "", chain.KeyKind, key.ID(), body) // before the first checkpoint that it signs
}

// checkpoint writes a checkpoint of an owner's chain if one is due: before the 257th event since the last, and before the first
// event of a UTC day.
func (t *tx) checkpoint(owner principal.Owner) error {
	if t.l.key.IsZero() {
		return nil
	}
	c, err := t.chainOf(owner)
	now := t.l.now()
	if err != nil || !chain.Due(c.Events, c.sealed, c.at, now) {
		return err
	}
	signed, err := t.l.key.Seal(chain.Checkpoint{Owner: owner, Events: c.Events, Hash: c.Hash, At: chain.Stamp(now)})
	if err != nil {
		return err
	}
	body, err := json.Marshal(signed)
	if err != nil {
		return err
	}
	sealed := c.Events
	if err := t.append(principal.Caller{}, owner, chain.CheckpointKind, "", body); err != nil {
		return err
	}
	c = t.chains[owner]
	c.sealed = sealed
	t.chains[owner] = c
	t.sealed = append(t.sealed, signed)
	return nil
}

// Keys returns the keys that signed, in their order, as the log has them.
func (a *Audit) Keys(ctx context.Context) ([]chain.SignedChange, error) {
	scan := func(scan scanner) (c chain.SignedChange, err error) {
		body, err := column[[]byte](scan)
		if err == nil && json.Unmarshal(body, &c) != nil {
			err = damaged("a change of a key", errors.New("no valid body"))
		}
		return c, err
	}
	return collect(rows(ctx, a.db, "read the keys", scan, "SELECT body FROM events WHERE owner = ? AND "+ofProofs+"ORDER BY seq", "", chain.KeyKind))
}

// prove checks what an event says about keys or about the events before it. before is the chain of its owner without it.
func (r *Report) prove(e *Event, before Chain) {
	wrong := ""
	switch e.Kind {
	case chain.KeyKind:
		wrong = r.addKey(e)
	case chain.CheckpointKind:
		r.Checkpoints++
		wrong = r.checkpoint(e, before)
	}
	if wrong != "" {
		r.found(e.Seq, "%s", wrong)
	}
}

func (r *Report) addKey(e *Event) string {
	var change chain.SignedChange
	if json.Unmarshal(e.Body, &change) != nil {
		return "is no change of a key"
	}
	var last *chain.SignedChange
	if known, ok := r.keys[r.Key]; ok {
		last = &known
	}
	if _, err := change.Verify(last); err != nil {
		return "changes the key of receipts with a signature that is not valid"
	}
	if r.keys == nil {
		r.keys = make(map[string]chain.SignedChange)
	}
	r.Key, r.keys[change.Change.Key] = change.Change.Key, change
	return ""
}

func (r *Report) checkpoint(e *Event, before Chain) string {
	var signed chain.Signed
	if json.Unmarshal(e.Body, &signed) != nil {
		return "is no checkpoint"
	}
	c := signed.Checkpoint
	switch key, known := r.keys[signed.Signature.Key]; {
	case c.Owner != e.Owner || c.Events != before.Events || c.Hash != before.Hash:
		return fmt.Sprintf("is a checkpoint of other events: the log was rewritten after it was signed (%d events and the hash %v by the checkpoint, %d and %v by the log)", c.Events, c.Hash, before.Events, before.Hash)
	case !known:
		return "is a checkpoint signed with key " + signed.Signature.Key + ", which the log does not have"
	case signed.Verify(key.Change.Public) != nil:
		return "is a checkpoint whose signature is not valid"
	}
	return ""
}
