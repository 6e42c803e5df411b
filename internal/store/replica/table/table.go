package table

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

	"candela/internal/store/replica/conn"
)

// Table is a stream that keeps the last message of each subject. An empty message
// clears it: unlike a deletion it has its place among the others, so that a reader on
// a server that lags behind comes to it, too.
type Table struct {
	*conn.Conn
	cfg     jetstream.StreamConfig
	stream  jetstream.Stream
	Name    string // of the stream
	barrier string // the subject of the marks by which a reader knows that it has seen all
	// maxDelay is how long after it was sealed a message may have been stored, 0 for any
	// time: where what is kept lasts, clocks that were wrong must not lose it.
	maxDelay time.Duration
}

// Open returns the table of a name, made if it is not there. Its subjects are
// below the given kinds.
func Open(ctx context.Context, c *conn.Conn, name string, storage jetstream.StorageType, kinds ...string) (*Table, error) {
	t := &Table{Conn: c, Name: c.StreamName(name), barrier: c.Subject("mark", name)}
	subjects := make([]string, 0, 1+len(kinds))
	subjects = append(subjects, t.barrier)
	for _, kind := range kinds {
		subjects = append(subjects, c.Subject(kind, ">"))
	}
	if storage == jetstream.MemoryStorage {
		t.maxDelay = conn.MaxDelay
	}
	t.cfg = jetstream.StreamConfig{
		Name: name, Subjects: subjects, Storage: storage, MaxMsgsPerSubject: 1,
		AllowMsgTTL: true, AllowAtomicPublish: true,
		// Direct reads may come from a server that lags behind.
		AllowDirect: false,
	}
	var err error
	t.stream, err = c.OpenStream(ctx, t.cfg)
	return t, err
}

// recreate makes the stream again when a server that is alone has begun anew: it knows
// nothing of what it held in memory. A stream of files that is gone was removed, and
// is not for us to replace.
func (t *Table) recreate(ctx context.Context, lost error) error {
	if t.cfg.Storage != jetstream.MemoryStorage || !errors.Is(lost, jetstream.ErrStreamNotFound) {
		return lost
	}
	t.Log.WarnContext(ctx, "in-memory stream lost: NATS servers restarted; recreating", "stream", t.Name)
	_, err := t.OpenStream(ctx, t.cfg)
	return err
}

// Latest returns the last message of a subject, which may have stars, from the
// stream's leader, and false when there is none, or one that is not ours, of which
// only the number is returned. A server that has not heard yet that
// another leads answers too: what it returns was so a moment ago. Who acts on that
// there is none asks absent.
func (t *Table) Latest(ctx context.Context, subject string) (conn.Message, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, conn.AttemptTimeout)
	defer cancel()
	m, err := t.stream.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return conn.Message{}, false, nil
	}
	if err != nil {
		return conn.Message{}, false, err
	}
	if !matches(subject, m.Subject) {
		return conn.Message{}, false, fmt.Errorf("the servers were asked for %s and answered with %s", subject, m.Subject)
	}
	found := t.Seals.Unseal(ctx, conn.Message{Subject: m.Subject, Data: m.Data, Seq: m.Sequence, At: m.Time}, t.maxDelay)
	if found.Forged != "" {
		return conn.Message{Seq: found.Seq}, false, nil
	}
	return found, true, nil
}

// matches reports whether a subject is one of those that a filter with stars names.
func matches(filter, subject string) bool {
	want, have := strings.Split(filter, "."), strings.Split(subject, ".")
	return slices.EqualFunc(want, have, func(w, h string) bool { return w == h || w == "*" })
}

// ConfirmAbsent reports whether a subject, without stars, has no message, for certain: an
// empty one is written that demands to be the first, which a majority of the servers
// must agree to.
func (t *Table) ConfirmAbsent(ctx context.Context, subject string) (bool, error) {
	_, err := t.Write(ctx, conn.Change{Subject: subject, CompareAndSet: true, TTL: TombstoneTTL})
	if errors.Is(err, conn.ErrConflict) {
		return false, nil
	}
	return err == nil, err
}

// Write writes changes, at most maxBatch, all or none. See Conn.publish.
func (t *Table) Write(ctx context.Context, changes ...conn.Change) (first uint64, err error) {
	return t.Publish(ctx, t.Name, changes...)
}

// Head returns the highest number that a message was given.
func (t *Table) Head(ctx context.Context) (uint64, error) {
	info, err := t.stream.Info(ctx)
	if err != nil {
		return 0, err
	}
	return info.State.LastSeq, nil
}

// Purge removes the messages of a filter that have a number below before.
func (t *Table) Purge(ctx context.Context, filter string, before uint64) error {
	ctx, cancel := context.WithTimeout(ctx, conn.AttemptTimeout)
	defer cancel()
	return t.stream.Purge(ctx, jetstream.WithPurgeSubject(filter), jetstream.WithPurgeSequence(before))
}

// IsBarrier reports whether a message only marks a position, such as one that is not
// ours.
func (t *Table) IsBarrier(m conn.Message) bool { return m.Subject == t.barrier }

// WriteAll writes changes in steps of maxBatch. Each step is written whole or not, and
// one whose answer got lost is written again.
func (t *Table) WriteAll(ctx context.Context, doing string, changes []conn.Change) error {
	return t.WriteAllFor(ctx, t.RetryFor, doing, changes)
}

// WriteAllFor is put with another patience.
func (t *Table) WriteAllFor(ctx context.Context, patience time.Duration, doing string, changes []conn.Change) error {
	for len(changes) > 0 {
		n := min(len(changes), conn.MaxBatch)
		err := conn.RetryWriteFor(ctx, patience, doing, func(ctx context.Context) error {
			_, err := t.Write(ctx, changes[:n]...)
			return err
		})
		if err != nil {
			return err
		}
		changes = changes[n:]
	}
	return nil
}

// ReadAll returns what read makes of the last message of each subject that matches
// filter and has a number above after, in the order of their numbers: of messages
// that were acknowledged before the call, or that took their place. read leaves out
// what it returns false for, and is not asked about subjects that were cleared.
//
// Nothing is handed on before all is read: a server that lags behind first sends
// what has long been replaced.
func ReadAll[T any](ctx context.Context, t *Table, doing, filter string, after uint64, read func(conn.Message) (T, bool, error)) ([]T, error) {
	found := make(map[string]row[T])
	for m, err := range t.ReadToBarrier(ctx, after, filter) {
		if err != nil {
			return nil, conn.Unavailable(doing, err)
		}
		delete(found, m.Subject)
		if len(m.Data) == 0 {
			continue
		}
		value, ok, err := read(m)
		if err != nil {
			return nil, conn.Corrupted(doing, fmt.Errorf("message %d of %s: %w", m.Seq, m.Subject, err))
		}
		if ok {
			found[m.Subject] = row[T]{m.Seq, value}
		}
	}
	rows := slices.SortedFunc(maps.Values(found), func(a, b row[T]) int { return cmp.Compare(a.seq, b.seq) })
	values := make([]T, len(rows))
	for i := range rows {
		values[i] = rows[i].value
	}
	return values, nil
}

// SkipCorrupt makes a function for snapshot that passes over messages which cannot be
// read, and says so: where the others are of use without them.
func SkipCorrupt[T any](ctx context.Context, t *Table, doing string, read func(conn.Message) (T, bool, error)) func(conn.Message) (T, bool, error) {
	return func(m conn.Message) (T, bool, error) {
		value, ok, err := read(m)
		if err != nil {
			t.Log.ErrorContext(ctx, "message skipped: cannot decode", "doing", doing, "subject", m.Subject, "number", m.Seq, "error", err)
		}
		return value, ok && err == nil, nil
	}
}

// row is one line of a snapshot.
type row[T any] struct {
	seq   uint64
	value T
}

// ReadToBarrier yields messages with a number above after, ascending, up to a mark that it
// writes itself and with nothing behind it. After an error it ends.
func (t *Table) ReadToBarrier(ctx context.Context, after uint64, filters ...string) iter.Seq2[conn.Message, error] {
	return func(yield func(conn.Message, error) bool) {
		end, err := t.WriteBarrier(ctx)
		if err != nil {
			yield(conn.Message{}, err)
			return
		}
		if end <= after {
			return // the mark is the last there is, and the reader has come further
		}
		for m, err := range t.follow(ctx, after, filters...) {
			if err != nil {
				yield(conn.Message{}, err)
				return
			}
			if m.Subject != t.barrier && !yield(m, nil) || m.Seq >= end && m.Pending == 0 {
				return
			}
			if m.Seq < end {
				continue
			}
			// More has come since. It may be the new place of a subject whose message
			// went before it was sent, so it counts; and it may go before it is sent,
			// so there must be another mark to end on.
			if end, err = t.WriteBarrier(ctx); err != nil {
				yield(conn.Message{}, err)
				return
			}
		}
	}
}

// WriteBarrier writes a mark and returns its number. A later one takes its place, and
// ends the readers that wait for this one just as well.
func (t *Table) WriteBarrier(ctx context.Context) (seq uint64, err error) {
	err = t.RetryWrite(ctx, "write a mark", func(ctx context.Context) error {
		seq, err = t.Write(ctx, conn.Change{Subject: t.barrier})
		return err
	})
	return seq, err
}

// follow yields messages with a number above after as they come, marks included,
// until ctx ends, which is an error too.
func (t *Table) follow(ctx context.Context, after uint64, filters ...string) iter.Seq2[conn.Message, error] {
	return func(yield func(conn.Message, error) bool) {
		for m, err := range t.Consume(ctx, t.Name, jetstream.OrderedConsumerConfig{
			FilterSubjects: append(slices.Clone(filters), t.barrier), DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1,
		}) {
			if err == nil {
				m = t.Seals.Unseal(ctx, m, t.maxDelay)
			}
			if m.Forged != "" {
				m.Subject = t.barrier // it takes a number, and tells no more than a mark
			}
			if !yield(m, err) {
				return
			}
		}
	}
}
