package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// scanIdle is how long a server keeps a consumer whose reader is gone.
	scanIdle = 30 * time.Second
	// maxResets is how often a consumer that got lost is made anew before its reader is
	// told. Meanwhile the client does not look whether the reader still wants it; the
	// default is without end.
	maxResets = 3
	// pullTime is how long a request for messages stands. One to a consumer that was
	// made a moment ago can get lost between servers; it is missed when half of this
	// has passed twice without a sign of life.
	pullTime = time.Second
)

// table is a stream that keeps the last message of each subject. An empty message
// clears it: unlike a deletion it has its place among the others, so that a reader on
// a server that lags behind comes to it, too.
type table struct {
	*Conn
	cfg    jetstream.StreamConfig
	stream jetstream.Stream
	name   string // of the stream
	mark   string // the subject of the marks by which a reader knows that it has seen all
	// delay is how long after it was sealed a message may have been stored, 0 for any
	// time: where what is kept lasts, clocks that were wrong must not lose it.
	delay time.Duration
}

// openTable returns the table of a name, made if it is not there. Its subjects are
// below the given kinds.
func (c *Conn) openTable(ctx context.Context, name string, storage jetstream.StorageType, kinds ...string) (*table, error) {
	t := &table{Conn: c, name: c.name(name), mark: c.subject("mark", name)}
	subjects := make([]string, 0, 1+len(kinds))
	subjects = append(subjects, t.mark)
	for _, kind := range kinds {
		subjects = append(subjects, c.subject(kind, ">"))
	}
	if storage == jetstream.MemoryStorage {
		t.delay = maxDelay
	}
	t.cfg = jetstream.StreamConfig{
		Name: name, Subjects: subjects, Storage: storage, MaxMsgsPerSubject: 1,
		AllowMsgTTL: true, AllowAtomicPublish: true,
		// Direct reads may come from a server that lags behind.
		AllowDirect: false,
	}
	var err error
	t.stream, err = c.stream(ctx, t.cfg)
	return t, err
}

// remake makes the stream again when a server that is alone has begun anew: it knows
// nothing of what it held in memory. A stream of files that is gone was removed, and
// is not for us to replace.
func (t *table) remake(ctx context.Context, lost error) error {
	if t.cfg.Storage != jetstream.MemoryStorage || !errors.Is(lost, jetstream.ErrStreamNotFound) {
		return lost
	}
	t.log.WarnContext(ctx, "the servers have begun anew and what they held in memory is gone", "stream", t.name)
	_, err := t.Conn.stream(ctx, t.cfg)
	return err
}

// message is a message of a table.
type message struct {
	subject string
	data    []byte
	seq     uint64
	// Of one that a consumer sent: how many were there to follow, and when the servers
	// took it, by the clock of the one that led.
	pending uint64
	at      time.Time
	// forged is the subject of one that is not ours. It has no data, and that it is
	// there says nothing of what was.
	forged string
	// late is what one says that is sealed by us for its place, and is forged because of
	// when it was stored.
	late []byte
}

// last returns the last message of a subject, which may have stars, from the
// stream's leader, and false when there is none, or one that is not ours, of which
// only the number is returned. A server that has not heard yet that
// another leads answers too: what it returns was so a moment ago. Who acts on that
// there is none asks absent.
func (t *table) last(ctx context.Context, subject string) (message, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	if t.lagging.Load() > 0 && t.lagging.Add(-1) >= 0 {
		return message{}, false, nil
	}
	m, err := t.stream.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return message{}, false, nil
	}
	if err != nil {
		return message{}, false, err
	}
	if !matches(subject, m.Subject) {
		return message{}, false, fmt.Errorf("the servers were asked for %s and answered with %s", subject, m.Subject)
	}
	found := t.trust.opened(ctx, message{subject: m.Subject, data: m.Data, seq: m.Sequence, at: m.Time}, t.delay)
	if found.forged != "" {
		return message{seq: found.seq}, false, nil
	}
	return found, true, nil
}

// matches reports whether a subject is one of those that a filter with stars names.
func matches(filter, subject string) bool {
	want, have := strings.Split(filter, "."), strings.Split(subject, ".")
	return slices.EqualFunc(want, have, func(w, h string) bool { return w == h || w == "*" })
}

// absent reports whether a subject, without stars, has no message, for certain: an
// empty one is written that demands to be the first, which a majority of the servers
// must agree to.
func (t *table) absent(ctx context.Context, subject string) (bool, error) {
	_, err := t.publish(ctx, t.name, change{subject: subject, guarded: true, ttl: endedTTL})
	if errors.Is(err, errMoved) {
		return false, nil
	}
	return err == nil, err
}

// put writes changes in steps of maxBatch. Each step is written whole or not, and
// one whose answer got lost is written again.
func (t *table) put(ctx context.Context, doing string, changes []change) error {
	return t.putFor(ctx, t.patience, doing, changes)
}

// putFor is put with another patience.
func (t *table) putFor(ctx context.Context, patience time.Duration, doing string, changes []change) error {
	for len(changes) > 0 {
		n := min(len(changes), maxBatch)
		err := writeFor(ctx, patience, doing, func(ctx context.Context) error {
			_, err := t.publish(ctx, t.name, changes[:n]...)
			return err
		})
		if err != nil {
			return err
		}
		changes = changes[n:]
	}
	return nil
}

// snapshot returns what read makes of the last message of each subject that matches
// filter and has a number above after, in the order of their numbers: of messages
// that were acknowledged before the call, or that took their place. read leaves out
// what it returns false for, and is not asked about subjects that were cleared.
//
// Nothing is handed on before all is read: a server that lags behind first sends
// what has long been replaced.
func snapshot[T any](ctx context.Context, t *table, doing, filter string, after uint64, read func(message) (T, bool, error)) ([]T, error) {
	found := make(map[string]row[T])
	for m, err := range t.scan(ctx, after, filter) {
		if err != nil {
			return nil, failure(doing, err)
		}
		delete(found, m.subject)
		if len(m.data) == 0 {
			continue
		}
		value, ok, err := read(m)
		if err != nil {
			return nil, damaged(doing, fmt.Errorf("message %d of %s: %w", m.seq, m.subject, err))
		}
		if ok {
			found[m.subject] = row[T]{m.seq, value}
		}
	}
	rows := slices.SortedFunc(maps.Values(found), func(a, b row[T]) int { return cmp.Compare(a.seq, b.seq) })
	values := make([]T, len(rows))
	for i := range rows {
		values[i] = rows[i].value
	}
	return values, nil
}

// lenient makes a function for snapshot that passes over messages which cannot be
// read, and says so: where the others are of use without them.
func lenient[T any](ctx context.Context, t *table, doing string, read func(message) (T, bool, error)) func(message) (T, bool, error) {
	return func(m message) (T, bool, error) {
		value, ok, err := read(m)
		if err != nil {
			t.log.ErrorContext(ctx, "a message cannot be read and is passed over", "doing", doing, "subject", m.subject, "number", m.seq, "error", err)
		}
		return value, ok && err == nil, nil
	}
}

// row is one line of a snapshot.
type row[T any] struct {
	seq   uint64
	value T
}

// scan yields messages with a number above after, ascending, up to a mark that it
// writes itself and with nothing behind it. After an error it ends.
func (t *table) scan(ctx context.Context, after uint64, filters ...string) iter.Seq2[message, error] {
	return func(yield func(message, error) bool) {
		end, err := t.writeMark(ctx)
		if err != nil {
			yield(message{}, err)
			return
		}
		if end <= after {
			return // the mark is the last there is, and the reader has come further
		}
		for m, err := range t.follow(ctx, after, filters...) {
			if err != nil {
				yield(message{}, err)
				return
			}
			if m.subject != t.mark && !yield(m, nil) || m.seq >= end && m.pending == 0 {
				return
			}
			if m.seq < end {
				continue
			}
			// More has come since. It may be the new place of a subject whose message
			// went before it was sent, so it counts; and it may go before it is sent,
			// so there must be another mark to end on.
			if end, err = t.writeMark(ctx); err != nil {
				yield(message{}, err)
				return
			}
		}
	}
}

// writeMark writes a mark and returns its number. A later one takes its place, and
// ends the readers that wait for this one just as well.
func (t *table) writeMark(ctx context.Context) (seq uint64, err error) {
	err = t.write(ctx, "write a mark", func(ctx context.Context) error {
		seq, err = t.publish(ctx, t.name, change{subject: t.mark})
		return err
	})
	return seq, err
}

// follow yields messages with a number above after as they come, marks included,
// until ctx ends, which is an error too.
func (t *table) follow(ctx context.Context, after uint64, filters ...string) iter.Seq2[message, error] {
	return func(yield func(message, error) bool) {
		for m, err := range t.consume(ctx, t.name, jetstream.OrderedConsumerConfig{
			FilterSubjects: append(slices.Clone(filters), t.mark), DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1,
		}) {
			if err == nil {
				m = t.trust.opened(ctx, m, t.delay)
			}
			if m.forged != "" {
				m.subject = t.mark // it takes a number, and tells no more than a mark
			}
			if !yield(m, err) {
				return
			}
		}
	}
}

// consume yields messages of a stream as they come, in order, until ctx ends, which
// is an error too. They are as the servers have them.
func (c *Conn) consume(ctx context.Context, stream string, cfg jetstream.OrderedConsumerConfig) iter.Seq2[message, error] {
	cfg.InactiveThreshold, cfg.MaxResetAttempts = scanIdle, maxResets
	return func(yield func(message, error) bool) {
		var consumer jetstream.Consumer
		err := c.open(ctx, func(ctx context.Context) (err error) {
			consumer, err = c.js.OrderedConsumer(ctx, stream, cfg)
			return err
		})
		if err != nil {
			yield(message{}, err)
			return
		}
		messages, err := consumer.Messages(jetstream.PullExpiry(pullTime))
		if err != nil {
			yield(message{}, err)
			return
		}
		defer c.forget(stream, consumer)
		defer messages.Stop()
		for {
			m, err := messages.Next(jetstream.NextContext(ctx))
			if err != nil {
				yield(message{}, err)
				return
			}
			meta, err := m.Metadata()
			if err != nil {
				yield(message{}, err)
				return
			}
			if !yield(message{subject: m.Subject(), data: m.Data(), seq: meta.Sequence.Stream, pending: meta.NumPending, at: meta.Timestamp}, nil) {
				return
			}
		}
	}
}

// forget has the servers forget a consumer whose reader is gone. Nobody waits for it:
// a consumer that is not forgotten by this is after scanIdle.
func (c *Conn) forget(stream string, consumer jetstream.Consumer) {
	if info := consumer.CachedInfo(); info != nil {
		_ = c.nc.PublishRequest("$JS.API.CONSUMER.DELETE."+stream+"."+info.Name, c.nc.NewInbox(), nil)
	}
}
