package auditlog

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/kit/principal"
	"candela/internal/store/chain"
	"candela/internal/store/replica/conn"
)

// Reader reads the stream, beside its writers or without any. It is safe for concurrent use.
type Reader struct {
	*conn.Conn

	Foreign func(seq uint64, subject string) // called for each message that no replica sealed for its place; nil for nothing
}

// Name returns the name of the stream.
func (r Reader) Name() string { return r.StreamName(streamName) }

func (r Reader) subject(owner principal.Owner) string {
	return r.Subject(Kind, conn.EncodeToken(string(owner)))
}

// Last returns the number of the last message, 0 for none.
func (r Reader) Last(ctx context.Context) (last uint64, err error) {
	err = r.RetryRead(ctx, func(ctx context.Context) error {
		m, err := r.LastMessage(ctx, r.Name(), r.Subject(Kind, ">"))
		if m != nil {
			last = m.Sequence
		}
		return err
	})
	return last, conn.Unavailable("read the audit log", err)
}

// Removed returns how many messages the stream no longer has.
func (r Reader) Removed(ctx context.Context) (removed uint64, err error) {
	err = r.RetryRead(ctx, func(ctx context.Context) error {
		state, err := r.StreamState(ctx, r.Name())
		removed = state.LastSeq - state.Msgs
		return err
	})
	return removed, conn.Unavailable("inspect the audit log", err)
}

// Parts yields the messages with numbers from one to another, of an owner or of all if none is named. There must be a message with the
// number to, or a later one, among them; 0 yields nothing. It ends after an error.
func (r Reader) Parts(ctx context.Context, from, to uint64, owners ...principal.Owner) iter.Seq2[chain.Part, error] {
	const op = "read the audit log"
	filters := []string{r.Subject(Kind, ">")}
	if len(owners) > 0 {
		filters = filters[:0]
		for _, owner := range owners {
			filters = append(filters, r.subject(owner))
		}
	}
	return func(yield func(chain.Part, error) bool) {
		for m, err := range r.between(ctx, from, to, filters...) {
			if err != nil {
				yield(chain.Part{}, conn.Unavailable(op, err))
				return
			}
			if m.Forged != "" {
				if r.Foreign != nil {
					r.Foreign(m.Seq, m.Forged)
				}
				continue
			}
			part, err := r.part(m)
			if err != nil {
				err = conn.Corrupted(op, fmt.Errorf("message %d: %w", m.Seq, err))
			}
			if !yield(part, err) || err != nil {
				return
			}
		}
	}
}

// OfOwner yields what an owner has.
func (r Reader) OfOwner(ctx context.Context, owner principal.Owner) iter.Seq2[chain.Part, error] {
	return func(yield func(chain.Part, error) bool) {
		var last uint64
		err := r.RetryRead(ctx, func(ctx context.Context) error {
			m, err := r.LastMessage(ctx, r.Name(), r.subject(owner))
			if m != nil {
				last = m.Sequence
			}
			return err
		})
		if err != nil {
			yield(chain.Part{}, conn.Unavailable("read the audit log", err))
			return
		}
		for part, err := range r.Parts(ctx, 1, last, owner) {
			if !yield(part, err) {
				return
			}
		}
	}
}

func (r Reader) part(m conn.Message) (chain.Part, error) {
	of, err := conn.DecodeToken(strings.TrimPrefix(m.Subject, r.Subject(Kind, "")))
	if err != nil {
		return chain.Part{}, err
	}
	var one message
	if err := json.Unmarshal(m.Data, &one); err != nil {
		return chain.Part{}, err
	}
	p := chain.Part{Seq: m.Seq, Owner: principal.Owner(of), Before: one.Chain}
	p.Events, _ = one.events(p.Owner)
	return p, nil
}

// between yields the messages of some subjects with numbers from one to another, opened. One that no replica sealed for its place has
// Forged set.
func (r Reader) between(ctx context.Context, from, to uint64, subjects ...string) iter.Seq2[conn.Message, error] {
	return func(yield func(conn.Message, error) bool) {
		if from = max(from, 1); from > to {
			return
		}
		for m, err := range r.Consume(ctx, r.Name(), jetstream.OrderedConsumerConfig{
			FilterSubjects: subjects, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from,
		}) {
			if err != nil {
				yield(conn.Message{}, err)
				return
			}
			seq := m.Seq
			if seq <= to && !yield(r.Seals.Unseal(ctx, m, 0), nil) || seq >= to {
				return
			}
		}
	}
}

// lastOf returns the last message of some subjects that a replica wrote, and false for none.
func (r Reader) lastOf(ctx context.Context, subjects string) (found bool, last message, err error) {
	raw, err := r.LastMessage(ctx, r.Name(), subjects)
	if err != nil || raw == nil {
		return false, last, err
	}
	m := r.Seals.Unseal(ctx, conn.Message{Subject: raw.Subject, Data: raw.Data, Seq: raw.Sequence, At: raw.Time}, 0)
	if m.Forged == "" {
		return true, last, conn.Corrupted("read the audit log", json.Unmarshal(m.Data, &last))
	}
	for m, err := range r.between(ctx, 1, raw.Sequence, subjects) { // strangers wrote after it
		if err != nil {
			return false, last, err
		}
		if m.Forged != "" {
			continue
		}
		found, last = true, message{}
		if err := json.Unmarshal(m.Data, &last); err != nil {
			return false, last, conn.Corrupted("read the audit log", err)
		}
	}
	return found, last, nil
}

// HeadsKind is the kind of the event of no owner that notes the chains of owners. Its body is Heads.
const HeadsKind = "chains_noted"

// headsMark is the name under which a message says up to where chains were noted.
const headsMark = "heads"

// maxHeads is how many chains an event notes at most.
const maxHeads = 500

// Heads are the chains of owners at an event.
type Heads map[principal.Owner]chain.Chain

// NoteHeads adds events with the chains that grew since the last ones, so that an owner's events cannot be cut off or removed later
// without contradicting them.
func (l *Log) NoteHeads(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.RetryWrite(ctx, "note the chains of owners", func(ctx context.Context) error {
		l.known = false
		if err := l.know(ctx); err != nil {
			return err
		}
		heads, err := l.headsSince(ctx, l.marks[headsMark])
		if err != nil || len(heads) == 0 {
			return err
		}
		var events []chain.Event
		for some := range slices.Chunk(slices.Sorted(maps.Keys(heads)), maxHeads) {
			part := make(Heads, len(some))
			for _, owner := range some {
				part[owner] = heads[owner]
			}
			body, err := json.Marshal(part)
			if err != nil {
				return conn.Final(err)
			}
			events = append(events, chain.Event{Kind: HeadsKind, At: conn.StoredTime(l.now()), Body: body})
		}
		return l.attempt(ctx, rand.Text(), headsMark, l.seen, events)
	})
}

// headsSince returns the chains of owners that grew after a message.
func (l *Log) headsSince(ctx context.Context, after uint64) (Heads, error) {
	heads := make(Heads)
	last, err := l.Last(ctx)
	if err != nil {
		return nil, err
	}
	for part, err := range l.Parts(ctx, after+1, last) {
		if err != nil {
			return nil, err
		}
		now := part.Before
		for _, e := range part.Events {
			now.Add(e.Hash)
		}
		if part.Owner != "" {
			heads[part.Owner] = now
		}
	}
	return heads, nil
}
