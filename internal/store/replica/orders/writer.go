// Package orders stores orders, journals and the state of a desk in an append-only stream with
// one fenced writer.
package orders

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/kit/principal"
	"candela/internal/store/chain"
	"candela/internal/store/replica/conn"
	"candela/internal/trading/desk"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// The subject kinds of the order stream.
const (
	orderKind   = "order"   // order.<owner>: events of orders and positions
	journalKind = "journal" // journal.<owner>.<name>: entries of a paper account
	deskKind    = "desk"    // desk.<owner>.<name>: other states of a desk
	writerKind  = "writer"  // writer.orders: the writer from here on
)

// Store stores order events, journals and desk states in a stream with one writer at a time. It
// is safe for concurrent use.
//
// Every write requires the previous message to be the stream's last, and Open writes one. From
// then on the servers refuse the previous writer. A writer that is refused, or does not know an
// outcome, never writes again: its error wraps desk.ErrFenced, and its owner must Open again.
type Store struct {
	*conn.Conn
	stream       jetstream.Stream
	name         string // of the stream
	wantConfig   jetstream.StreamConfig
	now          func() time.Time
	writerID     string        // the change ID of the message that made this the writer
	fencingToken uint64        // its sequence number
	RetryFor     time.Duration // the time limit of a write
	// SnapshotTimeout bounds each write or removal for a snapshot. It is short, because
	// trading waits for it and does not need it.
	SnapshotTimeout time.Duration
	size            int // limit of the items of one message

	writeTurn chan struct{} // held while writing
	lastSeq   uint64        // of the stream's last message as known here; guarded by writeTurn
	closeErr  error         // why writing has ended; guarded by writeTurn
	// closed is closed after closeErr is set, which anyone may read then.
	closed chan struct{}

	blobs *blobStore // of snapshots

	key chain.Key // that signs checkpoints
	// OnCheckpoint receives each signed checkpoint after it was stored. It must not block. Set it before the first write.
	OnCheckpoint func(chain.Signed)
	chains       map[principal.Owner]ownerChain // guarded by writeTurn
	// Of the last events about them; guarded by writeTurn.
	keyNamed, policyNamed string

	mu            sync.RWMutex
	orders        accountSet
	states        map[string][]byte            // values by subject
	snapshots     map[string]committedSnapshot // snapshots by subject
	noticed       []noticed                    // to publish
	noticesBehind bool                         // some are not in noticed and must be read
	noticesReady  chan struct{}                // holds a token after some were queued
	lastWritten   map[string]uint64            // sequence number of the last message written here, by subject
	// loadedValues and loadedEvents hold the snapshots and the events since, by owner, until
	// the desk has read them once.
	loadedValues map[principal.Owner][]byte
	loadedEvents map[principal.Owner][]order.Event
}

var _ desk.Store = (*Store)(nil)

// Open takes over the order stream from its previous writer and reads it.
func Open(ctx context.Context, c *conn.Conn, now func() time.Time) (*Store, error) {
	o := &Store{
		Conn: c, name: c.StreamName("ORDERS"), now: now, writerID: rand.Text(), RetryFor: c.RetryFor, SnapshotTimeout: conn.AttemptTimeout, size: maxPage, writeTurn: make(chan struct{}, 1), noticesReady: make(chan struct{}, 1), closed: make(chan struct{}),
		orders: accountSet{owners: make(map[string]principal.Owner), all: make(map[principal.Owner]*accountState)},
		states: make(map[string][]byte), snapshots: make(map[string]committedSnapshot), lastWritten: make(map[string]uint64),
		key: chain.NewKey(c.Seals.ReceiptSeed), chains: make(map[principal.Owner]ownerChain),
		loadedValues: make(map[principal.Owner][]byte), loadedEvents: make(map[principal.Owner][]order.Event), blobs: &blobStore{Conn: c, name: c.StreamName("BOOKS")},
	}
	o.wantConfig = jetstream.StreamConfig{
		Name: "ORDERS", Storage: jetstream.FileStorage, AllowAtomicPublish: true,
		Subjects: []string{c.Subject(orderKind, ">"), c.Subject(journalKind, ">"), c.Subject(deskKind, ">"), o.writer()},
		// Messages are kept forever. Direct reads may come from a lagging server.
		DenyDelete: true, DenyPurge: true, AllowDirect: false,
	}
	var err error
	if o.stream, err = c.OpenStream(ctx, o.wantConfig); err != nil {
		return nil, err
	}
	if err := o.start(ctx); err != nil {
		return nil, err
	}
	return o, nil
}

// start makes this the writer and reads the stream. It checks against the position known before,
// because others may write at once.
func (o *Store) start(ctx context.Context) error {
	known := o.History.Position()
	if err := o.acquire(ctx); err != nil {
		return err
	}
	if err := o.checkContinues(ctx, known); err != nil {
		return err
	}
	if err := o.replay(ctx); err != nil {
		return err
	}
	if err := o.checkComplete(ctx); err != nil { // nothing was removed during the replay
		return err
	}
	if known.Mark == 0 {
		if err := o.confirm(ctx); err != nil {
			return err
		}
	}
	if err := o.introduceKey(ctx); !errors.Is(err, desk.ErrFenced) {
		return err
	}
	return nil // replaced already; the first change reports it
}

// confirm claims the writer once more, sealed for its sequence number: by that message replicas
// identify the stream before the first change. No other write is possible yet.
func (o *Store) confirm(ctx context.Context) error {
	ch, err := o.claim()
	if err != nil {
		return err
	}
	_, err = o.commit(ctx, "acquire order writer", o.writerID, []conn.Change{ch})
	if errors.Is(err, desk.ErrFenced) {
		return nil // replaced already; the first change reports it
	}
	return err
}

// writer is the subject of writer changes.
func (o *Store) writer() string { return o.Subject(writerKind, "orders") }

// claim returns the message that makes this the writer.
func (o *Store) claim() (conn.Change, error) {
	data, err := json.Marshal(page[struct{}]{Set: conn.ChangeInfo{ID: o.writerID, At: conn.StoredTime(o.now())}})
	return conn.Change{Subject: o.writer(), Data: data}, err
}

// acquire writes the message that makes this the writer, unconditionally: a compare-and-set would
// always lose against a busy writer. A late duplicate is recognised by its change ID.
func (o *Store) acquire(ctx context.Context) error {
	ch, err := o.claim()
	if err != nil {
		return err
	}
	return o.RetryWrite(ctx, "acquire order writer", func(ctx context.Context) error {
		o.fencingToken, err = o.Publish(ctx, o.name, ch)
		o.lastSeq = o.fencingToken
		return err
	})
}

// fenceCheckEvery is how often an idle writer checks whether it was replaced.
const fenceCheckEvery = time.Second

// WatchFence returns the reason when this is no longer the writer, found by a write or by reading
// the last writer change, so that a paused writer notices before its next write. It returns nil
// when ctx ends.
func (o *Store) WatchFence(ctx context.Context) error {
	tick := time.NewTicker(fenceCheckEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-o.closed:
			return o.closeErr
		case <-tick.C:
		}
		if err := o.checkWriter(ctx); errors.Is(err, desk.ErrFenced) {
			return err // another error proves nothing
		}
	}
}

// checkWriter reads the last writer change and returns an error that wraps desk.ErrFenced if it names
// a later writer. A lagging server may name a previous one.
func (o *Store) checkWriter(ctx context.Context) error {
	var seq uint64
	name, err := o.readChangeID(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		m, err := o.stream.GetLastMsgForSubject(ctx, o.writer())
		if err == nil {
			seq = m.Sequence
		}
		return m, err
	})
	if err == nil && name != o.writerID && seq > o.fencingToken {
		return fencedError()
	}
	return err
}

// Confirm asks the servers, and not what this replica knows, whether an order of a caller may be sent:
// this is still the writer, and the caller's login is in force. This process may have been stopped
// while another replica took over or revoked the login.
func (o *Store) Confirm(ctx context.Context, by principal.Caller) (time.Time, error) {
	return o.AwaitConfirmed(ctx, by, func(ctx context.Context, _ principal.Caller) error {
		err := o.checkWriter(ctx)
		if errors.Is(err, errForged) {
			err = nil // a stranger's message makes nobody the writer
		}
		return err
	})
}

// changeIDAt returns the change ID of a message, "" if there is no such message.
func (o *Store) changeIDAt(ctx context.Context, seq uint64) (string, error) {
	return o.readChangeID(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) { return o.stream.GetMsg(ctx, seq) })
}

// errForged means that no replica sealed a message.
var errForged = errors.New("message not from a replica")

// readChangeID returns the change ID of the message that get returns, or errForged.
func (o *Store) readChangeID(ctx context.Context, get func(context.Context) (*jetstream.RawStreamMsg, error)) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, conn.AttemptTimeout)
	defer cancel()
	m, err := get(ctx)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	found := o.Seals.Unseal(ctx, conn.Message{Subject: m.Subject, Data: m.Data, Seq: m.Sequence}, 0)
	if found.Forged != "" {
		return "", errForged
	}
	var p page[json.RawMessage]
	if err := json.Unmarshal(found.Data, &p); err != nil {
		return "", conn.Corrupted("read change ID", err)
	}
	return p.Set.ID, nil
}

// beginWrite acquires writeTurn. After an error nothing was written.
func (o *Store) beginWrite(ctx context.Context) (end func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case o.writeTurn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if o.closeErr != nil {
		<-o.writeTurn
		return nil, o.closeErr
	}
	return func() { <-o.writeTurn }, nil
}

// appendItems writes items to a subject atomically and returns their messages. The caller holds
// writeTurn.
func (o *Store) appendItems(ctx context.Context, op string, to target, by principal.Caller, items []json.RawMessage, notices ...order.Notice) (seqRange, error) {
	if err := ctx.Err(); err != nil {
		return seqRange{}, err
	}
	set := conn.NewChangeInfo(rand.Text(), o.now(), by)
	x, err := o.extension(ctx, to, set)
	if err != nil {
		return seqRange{}, uncertainError(err) // a new writer may succeed
	}
	changes, err := o.pages(to.subject, set, items, storedNotices(notices), x)
	if err != nil {
		return seqRange{}, err
	}
	in, err := o.commit(ctx, op, set.ID, changes)
	if err != nil {
		return seqRange{}, err
	}
	o.extended(x)
	o.mu.Lock()
	o.lastWritten[to.subject] = o.lastSeq
	o.queueNotices(o.lastSeq, notices)
	o.mu.Unlock()
	return in, nil
}

// commit writes the messages of a change atomically and returns their range. It reads the change
// back, because an acknowledgement may be forged. The caller holds writeTurn.
func (o *Store) commit(ctx context.Context, op, id string, changes []conn.Change) (seqRange, error) {
	err := conn.RetryWriteFor(ctx, o.RetryFor, op, func(ctx context.Context) error {
		changes[0].CompareAndSet, changes[0].WholeStream, changes[0].Revision = true, true, o.lastSeq
		if _, err := o.Publish(ctx, o.name, changes...); err != nil && !errors.Is(err, conn.ErrConflict) {
			return err
		}
		// The next message is this change, perhaps of an unacknowledged attempt, or another
		// writer's.
		switch found, err := o.changeIDAt(ctx, o.lastSeq+1); {
		case errors.Is(err, errForged):
			o.lastSeq++ // a stranger's message, which is ignored
			return conn.ErrConflict
		case err != nil:
			return err
		case found == "":
			return conn.ErrConflict // a write in progress that may fail
		case found == id:
			return nil
		case found == o.writerID:
			o.lastSeq++ // a late duplicate of the claim
			return conn.ErrConflict
		default:
			return fencedError()
		}
	})
	if err != nil {
		o.closeErr = uncertainError(err)
		close(o.closed)
		return seqRange{}, o.closeErr
	}
	in := seqRange{o.lastSeq + 1, o.lastSeq + uint64(len(changes))}
	o.lastSeq = in.Last
	o.History.Wrote(id, o.lastSeq)
	return in, nil
}

// fencedError reports that another replica has become the writer.
func fencedError() error {
	return &fault.Error{
		Kind: fault.Unavailable, Code: desk.CodeMoved, Retryable: true, Cause: desk.ErrFenced,
		Message: "Another replica has taken over trading; nothing was executed. Retry.",
	}
}

// uncertainError reports a write with unknown outcome.
func uncertainError(err error) error {
	if errors.Is(err, desk.ErrFenced) {
		return err
	}
	return fault.Unreachable(fmt.Errorf("%w: %w", desk.ErrFenced, err), 0, "The shared store is unavailable. Retry in a moment.")
}

// AppendEvents persists events of the caller's subject and applies them. It returns them without
// fills of known trades.
func (o *Store) AppendEvents(ctx context.Context, by principal.Caller, events []order.Event, notices ...order.Notice) ([]order.Event, error) {
	if len(events) == 0 {
		return nil, nil
	}
	end, err := o.beginWrite(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	d := o.orders.draft(by.Subject, o.archiveReader(ctx)) // unchanged while writeTurn is held
	kept, err := d.add(events)
	if fault.KindOf(err) == fault.Unavailable {
		return nil, uncertainError(err) // archived orders could not be read; a new writer may succeed
	}
	if err != nil || len(kept) == 0 {
		return kept, err
	}
	items := make([]json.RawMessage, len(kept))
	for i, e := range kept {
		if items[i], err = json.Marshal(e); err != nil {
			return nil, fmt.Errorf("encode order event: %w", err)
		}
	}
	in, err := o.appendItems(ctx, "append order events", o.ordersOf(by.Subject), by, items, ofKept(notices, events, kept)...)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	o.orders.merge(d, in)
	o.mu.Unlock()
	return kept, nil
}

// AppendJournal adds entries, each a JSON object, to an owner's journal atomically.
func (o *Store) AppendJournal(ctx context.Context, owner principal.Owner, name string, entries [][]byte) error {
	if len(entries) == 0 {
		return nil
	}
	items := make([]json.RawMessage, len(entries))
	for i, e := range entries {
		items[i] = e
	}
	end, err := o.beginWrite(ctx)
	if err != nil {
		return err
	}
	defer end()
	_, err = o.appendItems(ctx, "append journal", target{subject: o.Subject(journalKind, conn.EncodeToken(string(owner)), conn.EncodeToken(name))}, principal.Caller{}, items)
	return err
}

// SaveState sets a value of the caller's subject.
func (o *Store) SaveState(ctx context.Context, by principal.Caller, name string, value []byte, notices ...order.Notice) error {
	if by.Subject == "" {
		return fault.Missing("owner", "an owner; without one are the keys and policies")
	}
	if isSnapshot(name) {
		return fault.Field("name", name, "a name that is not reserved for snapshots")
	}
	end, err := o.beginWrite(ctx)
	if err != nil {
		return err
	}
	defer end()
	var item bytes.Buffer // as it is stored, for its hash
	if err := json.Compact(&item, value); err != nil {
		return fmt.Errorf("encode state %s: %w", name, err)
	}
	to := o.stateOf(by.Subject, name)
	if _, err := o.appendItems(ctx, "save state", to, by, []json.RawMessage{item.Bytes()}, notices...); err != nil {
		return err
	}
	o.mu.Lock()
	o.states[to.subject] = slices.Clone(value)
	o.mu.Unlock()
	return nil
}
