package conn

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// consumerIdleTTL is how long a server keeps a consumer whose reader is gone.
	consumerIdleTTL = 30 * time.Second
	// maxResets limits how often the client recreates a lost consumer before it returns an
	// error. Meanwhile it does not check the reader's context; the default is unlimited.
	maxResets = 3
	// pullExpiry is the lifetime of a pull request. One to a new consumer can be lost
	// between servers, which the client notices after one expiry without a heartbeat.
	pullExpiry = time.Second
	// maxPulled is how many messages one pull asks for. A replica reads all alerts at its start.
	maxPulled = 2000
)

// Message is a message of a table.
type Message struct {
	Subject string
	Data    []byte
	Seq     uint64
	Pending uint64    // messages after this one; set by consumers only
	At      time.Time // when it was stored, by the leader's clock
	// Forged is the subject of a message that no replica sealed. Such a message has no data.
	Forged string
	// Late is the body of a message that a replica sealed too long before or after it was
	// stored. Forged is set, too.
	Late []byte
}

// Consume yields the messages of a stream in order, still sealed, until ctx ends, which is an
// error too.
func (c *Conn) Consume(ctx context.Context, stream string, cfg jetstream.OrderedConsumerConfig) iter.Seq2[Message, error] {
	cfg.InactiveThreshold, cfg.MaxResetAttempts = consumerIdleTTL, maxResets
	return func(yield func(Message, error) bool) {
		var consumer jetstream.Consumer
		err := c.retryCreate(ctx, func(ctx context.Context) (err error) {
			consumer, err = c.js.OrderedConsumer(ctx, stream, cfg)
			return err
		})
		if err != nil {
			yield(Message{}, err)
			return
		}
		messages, err := consumer.Messages(jetstream.PullExpiry(pullExpiry), jetstream.PullMaxMessages(maxPulled))
		if err != nil {
			yield(Message{}, err)
			return
		}
		defer c.deleteConsumer(stream, consumer)
		defer messages.Stop()
		for {
			m, err := messages.Next(jetstream.NextContext(ctx))
			if err != nil {
				yield(Message{}, err)
				return
			}
			meta, err := m.Metadata()
			if err != nil {
				yield(Message{}, err)
				return
			}
			if !yield(Message{Subject: m.Subject(), Data: m.Data(), Seq: meta.Sequence.Stream, Pending: meta.NumPending, At: meta.Timestamp}, nil) {
				return
			}
		}
	}
}

// StreamState returns how many messages a stream has, as the leader knows it; none if there is no such stream.
func (c *Conn) StreamState(ctx context.Context, stream string) (jetstream.StreamState, error) {
	ctx, cancel := context.WithTimeout(ctx, AttemptTimeout)
	defer cancel()
	s, err := c.js.Stream(ctx, stream) // which asks for the state
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return jetstream.StreamState{}, nil
	}
	if err != nil {
		return jetstream.StreamState{}, err
	}
	return s.CachedInfo().State, nil
}

// LastMessage returns the last message of a stream in some subjects, as the leader has it, still sealed; nil if there is none, or no
// such stream.
func (c *Conn) LastMessage(ctx context.Context, stream, subjects string) (*jetstream.RawStreamMsg, error) {
	ctx, cancel := context.WithTimeout(ctx, AttemptTimeout)
	defer cancel()
	s, err := c.js.Stream(ctx, stream)
	var m *jetstream.RawStreamMsg
	if err == nil {
		m, err = s.GetLastMsgForSubject(ctx, subjects)
	}
	if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil //nolint:nilnil // there is none
	}
	return m, err
}

// deleteConsumer asks the servers to delete a consumer, without waiting. If the request is
// lost, consumerIdleTTL removes it.
func (c *Conn) deleteConsumer(stream string, consumer jetstream.Consumer) {
	if info := consumer.CachedInfo(); info != nil {
		_ = c.nc.PublishRequest("$JS.API.CONSUMER.DELETE."+stream+"."+info.Name, c.nc.NewInbox(), nil)
	}
}
