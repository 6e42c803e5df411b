// Package table reads, writes and follows streams that keep one message per subject.
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

// A Table is a stream that keeps the latest message of each subject. An empty message is a
// tombstone. Unlike a deletion it has a sequence number, so a lagging reader sees it too.
type Table struct {
	*conn.Conn
	cfg     jetstream.StreamConfig
	stream  jetstream.Stream
	Name    string   // of the stream
	barrier string   // the subject of barriers
	kinds   []string // filters that together match everything else
	// maxDelay limits the time between sealing and storing a message, 0 for no limit:
	// lasting data must not be lost to wrong clocks.
	maxDelay time.Duration
}

// Open returns a table and creates it if it does not exist. Its subjects are below the kinds.
func Open(ctx context.Context, c *conn.Conn, name string, storage jetstream.StorageType, kinds ...string) (*Table, error) {
	t := &Table{Conn: c, Name: c.StreamName(name), barrier: c.Subject("mark", name)}
	subjects := make([]string, 0, 1+len(kinds))
	subjects = append(subjects, t.barrier)
	for _, kind := range kinds {
		subjects = append(subjects, c.Subject(kind, ">"))
	}
	t.kinds = subjects[1:]
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

// recreate creates an in-memory stream again after a single server restarted. A missing file
// stream was removed by somebody and is not replaced.
func (t *Table) recreate(ctx context.Context, lost error) error {
	if t.cfg.Storage != jetstream.MemoryStorage || !errors.Is(lost, jetstream.ErrStreamNotFound) {
		return lost
	}
	t.Log.WarnContext(ctx, "in-memory stream lost: NATS servers restarted; recreating", "stream", t.Name)
	_, err := t.OpenStream(ctx, t.cfg)
	return err
}

// Latest returns the last message of a subject, which may contain wildcards, from the stream's
// leader. It returns false if there is none or, with only the sequence number, if no replica
// sealed it. A former leader may answer with a state that is a moment old; ConfirmAbsent is
// certain.
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
		return conn.Message{}, false, fmt.Errorf("requested subject %s, received %s", subject, m.Subject)
	}
	found := t.Seals.Unseal(ctx, conn.Message{Subject: m.Subject, Data: m.Data, Seq: m.Sequence, At: m.Time}, t.maxDelay)
	if found.Forged != "" {
		return conn.Message{Seq: found.Seq}, false, nil
	}
	return found, true, nil
}

func matches(filter, subject string) bool {
	want, have := strings.Split(filter, "."), strings.Split(subject, ".")
	return slices.EqualFunc(want, have, func(w, h string) bool { return w == h || w == "*" })
}

// ConfirmAbsent reports whether a subject has no message. It writes a tombstone that must be the
// subject's first message, which needs a majority of the servers.
func (t *Table) ConfirmAbsent(ctx context.Context, subject string) (bool, error) {
	_, err := t.Write(ctx, conn.Change{Subject: subject, CompareAndSet: true, TTL: TombstoneTTL})
	if errors.Is(err, conn.ErrConflict) {
		return false, nil
	}
	return err == nil, err
}

// Write writes at most conn.MaxBatch changes atomically. See conn.Conn.Publish.
func (t *Table) Write(ctx context.Context, changes ...conn.Change) (first uint64, err error) {
	return t.Publish(ctx, t.Name, changes...)
}

// StreamID returns the random ID of the stream.
func (t *Table) StreamID() string { return t.stream.CachedInfo().Config.Metadata[conn.StreamIDKey] }

// Head returns the highest sequence number ever assigned.
func (t *Table) Head(ctx context.Context) (uint64, error) {
	info, err := t.stream.Info(ctx)
	if err != nil {
		return 0, err
	}
	return info.State.LastSeq, nil
}

// Purge removes the messages of a filter with a sequence number below before.
func (t *Table) Purge(ctx context.Context, filter string, before uint64) error {
	ctx, cancel := context.WithTimeout(ctx, conn.AttemptTimeout)
	defer cancel()
	return t.stream.Purge(ctx, jetstream.WithPurgeSubject(filter), jetstream.WithPurgeSequence(before))
}

// IsBarrier reports whether a message is a barrier, or is ignored like one because no replica
// sealed it.
func (t *Table) IsBarrier(m conn.Message) bool {
	return m.Subject == t.barrier || len(m.Data) == 0 && strings.HasSuffix(m.Subject, markToken)
}

// WriteAll writes changes in atomic batches of conn.MaxBatch. An unacknowledged batch is written
// again.
func (t *Table) WriteAll(ctx context.Context, op string, changes []conn.Change) error {
	return t.WriteAllFor(ctx, t.RetryFor, op, changes)
}

// WriteAllFor is WriteAll with another time limit for each batch.
func (t *Table) WriteAllFor(ctx context.Context, limit time.Duration, op string, changes []conn.Change) error {
	for len(changes) > 0 {
		n := min(len(changes), conn.MaxBatch)
		err := conn.RetryWriteFor(ctx, limit, op, func(ctx context.Context) error {
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

// ReadAll decodes the last message of each subject that matches filter and has a sequence number
// above after, in that order. It includes every message that was acknowledged before the call,
// or one that replaced it since. It skips tombstones and messages for which read returns false.
//
// Nothing is returned before all is read: a lagging server first sends messages that have been
// replaced since.
func ReadAll[T any](ctx context.Context, t *Table, op, filter string, after uint64, read func(conn.Message) (T, bool, error)) ([]T, error) {
	return collect(op, t.ReadToBarrier(ctx, after, filter), read)
}

// ReadBelow is ReadAll for the subjects below a few tokens, of which there are few among many: its
// barrier is below them too, so the servers look at nothing else.
func ReadBelow[T any](ctx context.Context, t *Table, op, below string, read func(conn.Message) (T, bool, error)) ([]T, error) {
	b := barrier{subject: below + markToken, ttl: markTTL}
	return collect(op, t.readTo(ctx, 0, b, []string{below + ".>"}), read)
}

// markToken ends the subject of a barrier below some tokens.
const markToken = ".mark"

// markTTL is how long a barrier below some tokens is kept.
const markTTL = time.Minute

func collect[T any](op string, messages iter.Seq2[conn.Message, error], read func(conn.Message) (T, bool, error)) ([]T, error) {
	found := make(map[string]row[T])
	for m, err := range messages {
		if err != nil {
			return nil, conn.Unavailable(op, err)
		}
		delete(found, m.Subject)
		if len(m.Data) == 0 {
			continue
		}
		value, ok, err := read(m)
		if err != nil {
			return nil, conn.Corrupted(op, fmt.Errorf("message %d of %s: %w", m.Seq, m.Subject, err))
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

// SkipCorrupt makes a read function for ReadAll that logs and skips messages that cannot be
// decoded.
func SkipCorrupt[T any](ctx context.Context, t *Table, op string, read func(conn.Message) (T, bool, error)) func(conn.Message) (T, bool, error) {
	return func(m conn.Message) (T, bool, error) {
		value, ok, err := read(m)
		if err != nil {
			t.Log.ErrorContext(ctx, "message skipped: cannot decode", "op", op, "subject", m.Subject, "seq", m.Seq, "error", err)
		}
		return value, ok && err == nil, nil
	}
}

type row[T any] struct {
	seq   uint64
	value T
}

// ReadToBarrier yields messages with a sequence number above after, ascending, up to a barrier
// that it writes and that nothing follows. It ends after an error.
func (t *Table) ReadToBarrier(ctx context.Context, after uint64, filters ...string) iter.Seq2[conn.Message, error] {
	return t.readTo(ctx, after, barrier{subject: t.barrier}, t.consumed(filters))
}

// barrier is a message without data that ends a reading.
type barrier struct {
	subject string
	ttl     time.Duration // 0 for no expiry
}

// maxDoubts is how often a reading goes on because something was written after its barrier: a row
// that is missed then was replaced each time while its barrier was read.
const maxDoubts = 4

// readTo is ReadToBarrier with a barrier that is among the consumed subjects.
func (t *Table) readTo(ctx context.Context, after uint64, b barrier, consumed []string) iter.Seq2[conn.Message, error] {
	return func(yield func(conn.Message, error) bool) {
		end, err := t.writeBarrier(ctx, b)
		if err != nil {
			yield(conn.Message{}, err)
			return
		}
		if end <= after {
			return // the reader is already past the barrier
		}
		doubts := 0
		for m, err := range t.consume(ctx, after, consumed) {
			if err != nil {
				yield(conn.Message{}, err)
				return
			}
			if m.Subject != t.barrier && m.Subject != b.subject && !yield(m, nil) {
				return
			}
			if m.Seq < end {
				continue
			}
			if m.Pending == 0 {
				last, err := t.isLast(ctx, m.Seq)
				if err != nil {
					yield(conn.Message{}, err)
					return
				}
				if doubts++; last || doubts > maxDoubts {
					return
				}
			}
			// More messages followed. One may replace a message that was removed before it was
			// sent, so they count; and they may be replaced too, so another barrier must end the
			// reading.
			if end, err = t.writeBarrier(ctx, b); err != nil {
				yield(conn.Message{}, err)
				return
			}
		}
	}
}

// isLast reports whether no message follows a sequence number. The count of pending messages does
// not say so: the servers count one that replaces another a moment after they removed the other.
func (t *Table) isLast(ctx context.Context, seq uint64) (bool, error) {
	var head uint64
	err := t.RetryRead(ctx, func(ctx context.Context) (err error) {
		ctx, cancel := context.WithTimeout(ctx, conn.AttemptTimeout)
		defer cancel()
		head, err = t.Head(ctx)
		return err
	})
	return head <= seq, err
}

// ReadThrough yields messages with a sequence number above after and up to through, ascending.
// There must be a message at or above through, such as a barrier. It ends after an error.
func (t *Table) ReadThrough(ctx context.Context, after, through uint64, filters ...string) iter.Seq2[conn.Message, error] {
	return func(yield func(conn.Message, error) bool) {
		if after >= through {
			return
		}
		for m, err := range t.follow(ctx, after, filters...) {
			if err != nil {
				yield(conn.Message{}, err)
				return
			}
			if m.Seq > through || m.Subject != t.barrier && !yield(m, nil) || m.Seq == through {
				return
			}
		}
	}
}

// WriteBarrier writes a barrier and returns its sequence number. A later barrier replaces it and
// serves its readers as well.
func (t *Table) WriteBarrier(ctx context.Context) (seq uint64, err error) {
	return t.writeBarrier(ctx, barrier{subject: t.barrier})
}

func (t *Table) writeBarrier(ctx context.Context, b barrier) (seq uint64, err error) {
	err = t.RetryWrite(ctx, "write barrier", func(ctx context.Context) error {
		seq, err = t.Write(ctx, conn.Change{Subject: b.subject, TTL: b.ttl})
		return err
	})
	return seq, err
}

// follow yields messages with a sequence number above after as they arrive, barriers included,
// until ctx ends, which is an error too.
func (t *Table) follow(ctx context.Context, after uint64, filters ...string) iter.Seq2[conn.Message, error] {
	return t.consume(ctx, after, t.consumed(filters))
}

// consume is follow for all subjects of a consumer, nil for those of the stream.
func (t *Table) consume(ctx context.Context, after uint64, subjects []string) iter.Seq2[conn.Message, error] {
	return func(yield func(conn.Message, error) bool) {
		for m, err := range t.Consume(ctx, t.Name, jetstream.OrderedConsumerConfig{
			FilterSubjects: subjects, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1,
		}) {
			if err == nil {
				m = t.Seals.Unseal(ctx, m, t.maxDelay)
			}
			if m.Forged != "" {
				m.Subject = t.barrier // it only has a sequence number, like a barrier
			}
			if !yield(m, err) {
				return
			}
		}
	}
}

// consumed returns the subjects of a consumer, nil for all. With filters the servers look at each
// matching subject to count what is pending, whenever a consumer is made: with a million of them
// that takes longer than a client waits.
func (t *Table) consumed(filters []string) []string {
	if !slices.ContainsFunc(t.kinds, func(kind string) bool { return !slices.Contains(filters, kind) }) {
		return nil
	}
	return append(slices.Clone(filters), t.barrier)
}

// The kinds of subject in the stream STATE. Alerts and the inbox share it, and the
// first to open it creates it, so its definition is here.
const (
	CursorKind  = "cursor"  // cursor.<owner>.<reader>
	SeriesKind  = "series"  // series.<instrument>.<interval>
	StateKind   = "state"   // state.<owner>.<name>: what was reported about alerts
	NoticedKind = "noticed" // noticed.orders: up to which message of orders their notices are stored
)

// InboxKinds returns the subject kinds of the inbox's records.
func InboxKinds() []string { return []string{"sub", "seat", "poll", "place"} }

// TombstoneTTL is the lifetime of a tombstone. It outlives every change that began before it.
const TombstoneTTL = 24 * time.Hour

// OpenStates opens the stream STATE.
func OpenStates(ctx context.Context, c *conn.Conn) (*Table, error) {
	return Open(ctx, c, "STATE", jetstream.FileStorage, append([]string{CursorKind, SeriesKind, StateKind, NoticedKind}, InboxKinds()...)...)
}
