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
type Log struct{ *conn.Conn }

// Part is the events of one message.
type Part struct {
	Seq    uint64 // of the message
	Owner  principal.Owner
	Before chain.Chain // of the owner before the events
	Events []chain.Event
	// Loose counts the events of a message without a chain, which a version that had none wrote. Events is then empty.
	Loose int
}

// Parts yields the messages with events of some owners, of all if none is named, that were stored from a time on when it was
// called. It ends after an error.
func (l Log) Parts(ctx context.Context, since time.Time, owners ...principal.Owner) iter.Seq2[Part, error] {
	var filters []string
	for _, owner := range owners {
		filters = append(filters, l.Subject(orderKind, conn.EncodeToken(string(owner))), l.Subject(deskKind, conn.EncodeToken(string(owner)), ">"))
	}
	if len(filters) == 0 {
		filters = []string{l.Subject(orderKind, ">"), l.Subject(deskKind, ">")}
	}
	return func(yield func(Part, error) bool) {
		end, err := l.last(ctx, since, filters)
		if err == nil && end > 0 {
			err = l.read(ctx, since, end, filters, yield)
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(Part{}, err)
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

func (l Log) read(ctx context.Context, since time.Time, end uint64, filters []string, yield func(Part, error) bool) error {
	const op = "read orders"
	cfg := jetstream.OrderedConsumerConfig{FilterSubjects: filters, DeliverPolicy: jetstream.DeliverAllPolicy}
	if !since.IsZero() {
		cfg.DeliverPolicy, cfg.OptStartTime = jetstream.DeliverByStartTimePolicy, &since
	}
	for m, err := range l.Consume(ctx, l.StreamName("ORDERS"), cfg) {
		if err != nil {
			return conn.Unavailable(op, err)
		}
		part, ok, err := l.part(l.Seals.Unseal(ctx, m, 0))
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

// part returns the events of a message, and false for one that has none.
func (l Log) part(m conn.Message) (Part, bool, error) {
	owner, name, ok, err := parseEvents(l.Conn, m.Subject)
	if !ok || err != nil || m.Forged != "" {
		return Part{}, false, err
	}
	var p page[json.RawMessage]
	if err := json.Unmarshal(m.Data, &p); err != nil {
		return Part{}, false, err
	}
	if p.Chain == nil {
		return Part{Seq: m.Seq, Owner: owner, Loose: len(p.Items)}, len(p.Items) > 0, nil
	}
	events, _, err := eventsOf(owner, name, &p)
	return Part{Seq: m.Seq, Owner: owner, Before: p.Chain.Chain, Events: events}, true, err
}
