package cluster

import (
	"context"
	"encoding/json"

	"candela/internal/oauth"
)

// sealKind is the subject of the key that all replicas seal with. It lies with the
// tokens in the memory of the servers, so that it ends when they do, and tells a
// replica that it has.
const sealKind = "seal" // seal.key

// Seal returns the key that all replicas seal with, as of now: another one from when
// the servers have all begun anew.
func (t *Tokens) Seal() oauth.SealKey { return *t.seal.Load() }

func (t *Tokens) sealSubject() string { return t.table.subject(sealKind, "key") }

// readSeal returns the key that the servers hold. The first who comes draws it. After
// an error it may be asked again: another was first, or our own answer got lost.
func (t *Tokens) readSeal(ctx context.Context) (key oauth.SealKey, err error) {
	m, ok, err := t.table.last(ctx, t.sealSubject())
	if err != nil {
		return key, err
	}
	if ok {
		return key, damaged("read the key of the seals", json.Unmarshal(m.data, &key))
	}
	key = oauth.NewSealKey()
	data, err := json.Marshal(key)
	if err != nil {
		return key, err
	}
	_, err = t.table.publish(ctx, t.table.name, change{subject: t.sealSubject(), data: data, guarded: true})
	return key, err
}
