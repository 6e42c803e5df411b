package orders

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/kit/principal"
	"candela/internal/store/chain"
	"candela/internal/store/replica/conn"
)

// Log reads the events in the order stream, beside its writer or without one. It is safe for concurrent use.
type Log struct {
	*conn.Conn

	Foreign func(seq uint64, subject string) // called for each message that no replica sealed for its place; nil for nothing
}

// Parts yields the messages with events of some owners, of all if none is named, that were stored from a time on when it was
// called. It ends after an error.
func (l Log) Parts(ctx context.Context, since time.Time, owners ...principal.Owner) iter.Seq2[chain.Part, error] {
	filters := make([]string, 0, 2*max(1, len(owners)))
	for _, owner := range owners {
		filters = append(filters, l.Subject(orderKind, conn.EncodeToken(string(owner))), l.Subject(deskKind, conn.EncodeToken(string(owner)), ">"))
	}
	if len(filters) == 0 {
		filters = append(filters, l.Subject(orderKind, ">"), l.Subject(deskKind, ">"))
	}
	return func(yield func(chain.Part, error) bool) {
		end, err := l.last(ctx, since, filters)
		if err == nil && end > 0 {
			cfg := jetstream.OrderedConsumerConfig{FilterSubjects: filters, DeliverPolicy: jetstream.DeliverAllPolicy}
			if !since.IsZero() {
				cfg.DeliverPolicy, cfg.OptStartTime = jetstream.DeliverByStartTimePolicy, &since
			}
			err = l.read(ctx, cfg, end, yield)
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(chain.Part{}, err)
		}
	}
}

// Last returns the number of the last message with events, 0 for none.
func (l Log) Last(ctx context.Context) (uint64, error) {
	return l.last(ctx, time.Time{}, []string{l.Subject(orderKind, ">"), l.Subject(deskKind, ">")})
}

// Range yields the messages with events that have numbers from one to another. There must be one with the number to or a later one; 0
// yields nothing. It ends after an error.
func (l Log) Range(ctx context.Context, from, to uint64) iter.Seq2[chain.Part, error] {
	return func(yield func(chain.Part, error) bool) {
		if from = max(from, 1); from > to {
			return
		}
		err := l.read(ctx, jetstream.OrderedConsumerConfig{
			FilterSubjects: []string{l.Subject(orderKind, ">"), l.Subject(deskKind, ">")}, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from,
		}, to, yield)
		if err != nil && !errors.Is(err, errStopped) {
			yield(chain.Part{}, err)
		}
	}
}

// errStopped means that the reader wants no more.
var errStopped = errors.New("stopped")

// last returns the number of the last message of some subjects, 0 if there is none from a time on.
func (l Log) last(ctx context.Context, since time.Time, filters []string) (end uint64, err error) {
	const op = "read orders"
	for _, filter := range filters {
		var m *jetstream.RawStreamMsg
		err := l.RetryRead(ctx, func(ctx context.Context) (err error) {
			m, err = l.LastMessage(ctx, l.StreamName("ORDERS"), filter)
			return err
		})
		if err != nil {
			return 0, conn.Unavailable(op, err)
		}
		if m != nil && !m.Time.Before(since) {
			end = max(end, m.Sequence)
		}
	}
	return end, nil
}

// read yields the events of what a consumer receives, up to a message or the next one.
func (l Log) read(ctx context.Context, cfg jetstream.OrderedConsumerConfig, end uint64, yield func(chain.Part, error) bool) error {
	const op = "read orders"
	for m, err := range l.Consume(ctx, l.StreamName("ORDERS"), cfg) {
		if err != nil {
			return conn.Unavailable(op, err)
		}
		if m.Seq > end {
			return nil
		}
		opened := l.Seals.Unseal(ctx, m, 0)
		if opened.Forged != "" && l.Foreign != nil {
			l.Foreign(m.Seq, m.Subject)
		}
		part, ok, err := l.part(opened)
		if err != nil {
			return conn.Corrupted(op, fmt.Errorf("message %d of %s: %w", m.Seq, m.Subject, err))
		}
		if ok && !yield(part, nil) {
			return errStopped
		}
		if m.Seq >= end {
			return nil
		}
	}
	return nil
}

// Lost returns how many messages are missing from the stream.
func (l Log) Lost(ctx context.Context) (lost uint64, err error) {
	err = l.RetryRead(ctx, func(ctx context.Context) error {
		state, err := l.StreamState(ctx, l.StreamName("ORDERS"))
		lost = state.LastSeq - state.Msgs
		return err
	})
	return lost, conn.Unavailable("inspect order stream", err)
}

// part returns the events of a message, and false for one that has none.
func (l Log) part(m conn.Message) (chain.Part, bool, error) {
	owner, name, ok, err := parseEvents(l.Conn, m.Subject)
	if !ok || err != nil || m.Forged != "" {
		return chain.Part{}, false, err
	}
	var p page[json.RawMessage]
	if err := json.Unmarshal(m.Data, &p); err != nil {
		return chain.Part{}, false, err
	}
	part := chain.Part{Seq: m.Seq, Owner: owner}
	if p.Chain == nil {
		part.Loose, err = looseEvents(owner, name, &p)
		return part, len(part.Loose) > 0, err
	}
	part.Before = p.Chain.Chain
	part.Events, _, err = eventsOf(owner, name, &p)
	return part, true, err
}

// looseEvents returns the events of a message without a chain.
func looseEvents(owner principal.Owner, name string, p *page[json.RawMessage]) ([]chain.Event, error) {
	events := make([]chain.Event, 0, len(p.Items))
	for _, item := range p.Items {
		e, err := eventOf(owner, name, item)
		if err != nil {
			return nil, err
		}
		e.At, e.Actor, e.Client = p.Set.At, p.Set.Actor, p.Set.Client
		events = append(events, e)
	}
	return events, nil
}

// JournalEntry is an entry of a journal.
type JournalEntry struct {
	Name string // of the journal
	Text json.RawMessage
}

// Journals yields the entries of an owner's journals. It ends after an error.
func (l Log) Journals(ctx context.Context, owner principal.Owner) iter.Seq2[JournalEntry, error] {
	const op = "read journals"
	filter := l.Subject(journalKind, conn.EncodeToken(string(owner)), ">")
	return func(yield func(JournalEntry, error) bool) {
		end, err := l.last(ctx, time.Time{}, []string{filter})
		if err != nil || end == 0 {
			if err != nil {
				yield(JournalEntry{}, err)
			}
			return
		}
		for m, err := range l.Consume(ctx, l.StreamName("ORDERS"), jetstream.OrderedConsumerConfig{FilterSubjects: []string{filter}, DeliverPolicy: jetstream.DeliverAllPolicy}) {
			if err != nil {
				yield(JournalEntry{}, conn.Unavailable(op, err))
				return
			}
			seq, subject := m.Seq, m.Subject
			if m = l.Seals.Unseal(ctx, m, 0); m.Forged == "" {
				_, name, err := parseSubject(l.Conn, journalKind, subject)
				var p page[json.RawMessage]
				if err == nil {
					err = json.Unmarshal(m.Data, &p)
				}
				if err != nil {
					yield(JournalEntry{}, conn.Corrupted(op, err))
					return
				}
				for _, item := range p.Items {
					if !yield(JournalEntry{name, item}, nil) {
						return
					}
				}
			}
			if seq >= end {
				return
			}
		}
	}
}
