package orders

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/kit/fault"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/conn"
	"candela/internal/trading/desk"
	"candela/internal/trading/order"
)

// The kinds of subject of the stream of orders.
const (
	orderKind   = "order"   // order.<owner>: what happened to orders and positions
	journalKind = "journal" // journal.<owner>.<name>: what an account that lives here has done
	deskKind    = "desk"    // desk.<owner>.<name>: what a desk keeps besides
	writerKind  = "writer"  // writer.orders: who writes from here on
)

// Store keeps what happened to orders, journals and the states of desks in a
// stream that has one writer at a time. It is safe for concurrent use.
//
// Each write demands that the message before it is the last of the stream, and
// opening writes one: from then on the servers refuse whatever the writer before
// would write, whether it was paused, cut off or only slow. A writer that was
// refused, or does not know what became of a write, never writes again: its error
// wraps desk.ErrFenced, and who goes on opens anew and reads what there is.
type Store struct {
	*conn.Conn
	stream       jetstream.Stream
	name         string // of the stream
	wantConfig   jetstream.StreamConfig
	now          func() time.Time
	writerID     string        // the name of the message that made this the writer
	fencingToken uint64        // its number
	RetryFor     time.Duration // how long a write is tried
	// SnapshotTimeout bounds the attempts to write or remove one message of a snapshot. It
	// is short: trading waits for it and can do without.
	SnapshotTimeout time.Duration
	size            int // of the items of one message, at most

	writeTurn chan struct{} // held by who writes
	lastSeq   uint64        // the number of the stream's last message, as the writer of it knows; of who has the turn
	closeErr  error         // why nothing is written any more; of who has the turn
	// closed is closed when over is set, which is then read by anyone.
	closed chan struct{}

	blobs *blobStore // of snapshots

	mu          sync.RWMutex
	orders      accountSet
	states      map[string][]byte            // values by subject
	snapshots   map[string]committedSnapshot // snapshots by subject
	lastWritten map[string]uint64            // the number of the last message by subject, of those written here
	// loadedValues has the snapshots and replayed the events since, both by owner, for the
	// desk that begins: it reads them once.
	loadedValues map[string][]byte
	loadedEvents map[string][]order.Event
}

var _ desk.Store = (*Store)(nil)

// Open takes over the orders from whoever writes them, and reads them.
func Open(ctx context.Context, c *conn.Conn, now func() time.Time) (*Store, error) {
	o := &Store{
		Conn: c, name: c.StreamName("ORDERS"), now: now, writerID: rand.Text(), RetryFor: c.RetryFor, SnapshotTimeout: conn.AttemptTimeout, size: maxPage, writeTurn: make(chan struct{}, 1), closed: make(chan struct{}),
		orders: newAccounts(), states: make(map[string][]byte), snapshots: make(map[string]committedSnapshot), lastWritten: make(map[string]uint64),
		loadedValues: make(map[string][]byte), loadedEvents: make(map[string][]order.Event), blobs: newBlobs(c),
	}
	o.wantConfig = jetstream.StreamConfig{
		Name: "ORDERS", Storage: jetstream.FileStorage, AllowAtomicPublish: true,
		Subjects: []string{c.Subject(orderKind, ">"), c.Subject(journalKind, ">"), c.Subject(deskKind, ">"), o.writer()},
		// What happened stays. Direct reads may come from a server that lags behind.
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

// start makes this the writer and reads what there is. What was known before is what
// must be there: others may write behind this at once.
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
	if err := o.checkComplete(ctx); err != nil { // nothing was taken away while it was read
		return err
	}
	if known.Mark > 0 {
		return nil
	}
	return o.confirm(ctx)
}

// confirm writes once more who writes, sealed for the number of the message: by it the
// replicas know the stream before the first change. Nobody else has the turn yet.
func (o *Store) confirm(ctx context.Context) error {
	ch, err := o.claim()
	if err != nil {
		return err
	}
	_, err = o.commit(ctx, "take over the orders", o.writerID, []conn.Change{ch})
	if errors.Is(err, desk.ErrFenced) {
		return nil // another writes by now, which the first change says
	}
	return err
}

// writer is the subject of the messages that change who writes.
func (o *Store) writer() string { return o.Subject(writerKind, "orders") }

// claim is the message that says that this writes.
func (o *Store) claim() (conn.Change, error) {
	data, err := json.Marshal(page[struct{}]{Set: conn.ChangeInfo{ID: o.writerID, At: conn.StoredTime(o.now())}})
	return conn.Change{Subject: o.writer(), Data: data}, err
}

// acquire writes the message that makes this the writer. It demands nothing: whoever
// writes at the time would always be first. One that comes late, of an attempt whose
// answer got lost, is known by its name.
func (o *Store) acquire(ctx context.Context) error {
	ch, err := o.claim()
	if err != nil {
		return err
	}
	return o.RetryWrite(ctx, "take over the orders", func(ctx context.Context) error {
		o.fencingToken, err = o.Publish(ctx, o.name, ch)
		o.lastSeq = o.fencingToken
		return err
	})
}

// fenceCheckEvery is how often a writer that writes nothing looks whether it still may.
const fenceCheckEvery = time.Second

// WatchFence returns why this is the writer no longer when that is known, by a write of
// its own or by what the servers say of the last who took over. A writer that was
// paused finds out so before it is asked for anything. It returns nil when ctx ends.
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
		var seq uint64
		name, err := o.readChangeID(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
			m, err := o.stream.GetLastMsgForSubject(ctx, o.writer())
			if err == nil {
				seq = m.Sequence
			}
			return m, err
		})
		// Servers that do not answer say nothing about who writes, and one that lags
		// behind names who did before.
		if err == nil && name != o.writerID && seq > o.fencingToken {
			return fencedError()
		}
	}
}

// changeIDAt returns the name of the change that the message with a number is of, ""
// when there is no such message.
func (o *Store) changeIDAt(ctx context.Context, seq uint64) (string, error) {
	return o.readChangeID(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) { return o.stream.GetMsg(ctx, seq) })
}

// errForged says that a message is not ours.
var errForged = errors.New("a message is not of a replica")

// readChangeID is nameOf for the message that get returns. The error is errForged for one
// that is not ours.
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
		return "", conn.Corrupted("read a write", err)
	}
	return p.Set.ID, nil
}

// beginWrite waits for the turn to write. An error says that nothing was written.
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

// appendItems writes items to a subject, all or none, and returns in which messages they are.
// The caller has the turn.
func (o *Store) appendItems(ctx context.Context, doing, subject string, by principal.Caller, items []json.RawMessage) (seqRange, error) {
	if err := ctx.Err(); err != nil {
		return seqRange{}, err
	}
	set := conn.NewChangeInfo(rand.Text(), o.now(), by)
	changes, err := o.pages(subject, set, items)
	if err != nil {
		return seqRange{}, err
	}
	in, err := o.commit(ctx, doing, set.ID, changes)
	if err != nil {
		return seqRange{}, err
	}
	o.mu.Lock()
	o.lastWritten[subject] = o.lastSeq
	o.mu.Unlock()
	return in, nil
}

// commit writes the messages of a change with a name, all or none, and returns their
// numbers. It ends when the change is found where it belongs: an acknowledgement may be
// of somebody else. The caller has the turn.
func (o *Store) commit(ctx context.Context, doing, name string, changes []conn.Change) (seqRange, error) {
	err := conn.RetryWriteFor(ctx, o.RetryFor, doing, func(ctx context.Context) error {
		changes[0].CompareAndSet, changes[0].WholeStream, changes[0].Revision = true, true, o.lastSeq
		if _, err := o.Publish(ctx, o.name, changes...); err != nil && !errors.Is(err, conn.ErrConflict) {
			return err
		}
		// One message follows the last: this write's, perhaps of an attempt whose answer
		// got lost, or another writer's.
		switch found, err := o.changeIDAt(ctx, o.lastSeq+1); {
		case errors.Is(err, errForged):
			o.lastSeq++ // somebody else has put something there, which nobody reads
			return conn.ErrConflict
		case err != nil:
			return err
		case found == "":
			return conn.ErrConflict // something is under way there, and may fail
		case found == name:
			return nil
		case found == o.writerID:
			o.lastSeq++ // it was on its way for long, and changed nothing
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
	o.History.Wrote(name, o.lastSeq)
	return in, nil
}

// fencedError says that another writes.
func fencedError() error {
	return &fault.Error{
		Kind: fault.Unavailable, Code: desk.CodeMoved, Retryable: true, Cause: desk.ErrFenced,
		Message: "another replica trades on the account now; nothing was done",
	}
}

// uncertainError says that a write failed and what became of it is not known.
func uncertainError(err error) error {
	if errors.Is(err, desk.ErrFenced) {
		return err
	}
	return fault.Unreachable(fmt.Errorf("%w: %w", desk.ErrFenced, err), 0, "the shared store does not answer; try again in a moment")
}

// AppendEvents persists events of the caller's subject and what they make of its
// orders. It returns them without the fills whose trades were known.
func (o *Store) AppendEvents(ctx context.Context, by principal.Caller, events []order.Event) ([]order.Event, error) {
	if len(events) == 0 {
		return nil, nil
	}
	end, err := o.beginWrite(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	d := o.orders.draft(by.Subject, o.archiveReader(ctx)) // which nobody changes before the turn ends
	kept, err := d.add(events)
	if fault.KindOf(err) == fault.Unavailable {
		return nil, uncertainError(err) // orders could not be read; whoever opens anew can
	}
	if err != nil || len(kept) == 0 {
		return kept, err
	}
	items := make([]json.RawMessage, len(kept))
	for i, e := range kept {
		if items[i], err = json.Marshal(e); err != nil {
			return nil, fmt.Errorf("order event: %w", err)
		}
	}
	in, err := o.appendItems(ctx, "append events of orders", o.Subject(orderKind, conn.EncodeToken(by.Subject)), by, items)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	o.orders.merge(d, in)
	o.mu.Unlock()
	return kept, nil
}

// AppendJournal adds entries, each one JSON object, to a journal of an owner, all
// or none.
func (o *Store) AppendJournal(ctx context.Context, owner, name string, entries [][]byte) error {
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
	_, err = o.appendItems(ctx, "append to a journal", o.Subject(journalKind, conn.EncodeToken(owner), conn.EncodeToken(name)), principal.Caller{}, items)
	return err
}

// SaveState sets a value of the caller's subject.
func (o *Store) SaveState(ctx context.Context, by principal.Caller, name string, value []byte) error {
	if isSnapshot(name) {
		return fault.Field("name", name, "a name other than those of the places of snapshots")
	}
	end, err := o.beginWrite(ctx)
	if err != nil {
		return err
	}
	defer end()
	subject := o.Subject(deskKind, conn.EncodeToken(by.Subject), conn.EncodeToken(name))
	if _, err := o.appendItems(ctx, "save a state", subject, by, []json.RawMessage{value}); err != nil {
		return err
	}
	o.mu.Lock()
	o.states[subject] = slices.Clone(value)
	o.mu.Unlock()
	return nil
}
