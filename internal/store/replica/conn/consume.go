package conn

import (
	"context"
	"iter"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// consumerIdleTTL is how long a server keeps a consumer whose reader is gone.
	consumerIdleTTL = 30 * time.Second
	// maxResets is how often a consumer that got lost is made anew before its reader is
	// told. Meanwhile the client does not look whether the reader still wants it; the
	// default is without end.
	maxResets = 3
	// pullExpiry is how long a request for messages stands. One to a consumer that was
	// made a moment ago can get lost between servers; it is missed when half of this
	// has passed twice without a sign of life.
	pullExpiry = time.Second
)

// Message is a message of a table.
type Message struct {
	Subject string
	Data    []byte
	Seq     uint64
	// Of one that a consumer sent: how many were there to follow, and when the servers
	// took it, by the clock of the one that led.
	Pending uint64
	At      time.Time
	// Forged is the subject of one that is not ours. It has no data, and that it is
	// there says nothing of what was.
	Forged string
	// Late is what one says that is sealed by us for its place, and is forged because of
	// when it was stored.
	Late []byte
}

// Consume yields messages of a stream as they come, in order, until ctx ends, which
// is an error too. They are as the servers have them.
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
		messages, err := consumer.Messages(jetstream.PullExpiry(pullExpiry))
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

// deleteConsumer has the servers forget a consumer whose reader is gone. Nobody waits for it:
// a consumer that is not forgotten by this is after scanIdle.
func (c *Conn) deleteConsumer(stream string, consumer jetstream.Consumer) {
	if info := consumer.CachedInfo(); info != nil {
		_ = c.nc.PublishRequest("$JS.API.CONSUMER.DELETE."+stream+"."+info.Name, c.nc.NewInbox(), nil)
	}
}
