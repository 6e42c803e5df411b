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

// Orders keeps what happened to orders, journals and the states of desks in a
// stream that has one writer at a time. It is safe for concurrent use.
//
// Each write demands that the message before it is the last of the stream, and
// opening writes one: from then on the servers refuse whatever the writer before
// would write, whether it was paused, cut off or only slow. A writer that was
// refused, or does not know what became of a write, never writes again: its error
// wraps desk.ErrFenced, and who goes on opens anew and reads what there is.
type Orders struct {
	*conn.Conn
	stream   jetstream.Stream
	name     string // of the stream
	asked    jetstream.StreamConfig
	now      func() time.Time
	self     string        // the name of the message that made this the writer
	fence    uint64        // its number
	RetryFor time.Duration // how long a write is tried
	// SnapshotTimeout bounds the attempts to write or remove one message of a snapshot. It
	// is short: trading waits for it and can do without.
	SnapshotTimeout time.Duration
	size            int // of the items of one message, at most

	turn chan struct{} // held by who writes
	last uint64        // the number of the stream's last message, as the writer of it knows; of who has the turn
	over error         // why nothing is written any more; of who has the turn
	// ended is closed when over is set, which is then read by anyone.
	ended chan struct{}

	blobs *blobs // of snapshots

	mu     sync.RWMutex
	orders accounts
	states map[string][]byte // values by subject
	placed map[string]placed // snapshots by subject
	wrote  map[string]uint64 // the number of the last message by subject, of those written here
	// values has the snapshots and replayed the events since, both by owner, for the
	// desk that begins: it reads them once.
	values   map[string][]byte
	replayed map[string][]order.Event
}

var _ desk.Store = (*Orders)(nil)

// OpenOrders takes over the orders from whoever writes them, and reads them.
func OpenOrders(ctx context.Context, c *conn.Conn, now func() time.Time) (*Orders, error) {
	o := &Orders{
		Conn: c, name: c.StreamName("ORDERS"), now: now, self: rand.Text(), RetryFor: c.RetryFor, SnapshotTimeout: conn.AttemptTimeout, size: maxPage, turn: make(chan struct{}, 1), ended: make(chan struct{}),
		orders: newAccounts(), states: make(map[string][]byte), placed: make(map[string]placed), wrote: make(map[string]uint64),
		values: make(map[string][]byte), replayed: make(map[string][]order.Event), blobs: newBlobs(c),
	}
	o.asked = jetstream.StreamConfig{
		Name: "ORDERS", Storage: jetstream.FileStorage, AllowAtomicPublish: true,
		Subjects: []string{c.Subject(orderKind, ">"), c.Subject(journalKind, ">"), c.Subject(deskKind, ">"), o.writer()},
		// What happened stays. Direct reads may come from a server that lags behind.
		DenyDelete: true, DenyPurge: true, AllowDirect: false,
	}
	var err error
	if o.stream, err = c.OpenStream(ctx, o.asked); err != nil {
		return nil, err
	}
	if err := o.begins(ctx); err != nil {
		return nil, err
	}
	return o, nil
}

// begins makes this the writer and reads what there is. What was known before is what
// must be there: others may write behind this at once.
func (o *Orders) begins(ctx context.Context) error {
	known := o.History.Position()
	if err := o.take(ctx); err != nil {
		return err
	}
	if err := o.goesOn(ctx, known); err != nil {
		return err
	}
	if err := o.replay(ctx); err != nil {
		return err
	}
	if err := o.whole(ctx); err != nil { // nothing was taken away while it was read
		return err
	}
	if known.Mark > 0 {
		return nil
	}
	return o.confirm(ctx)
}

// confirm writes once more who writes, sealed for the number of the message: by it the
// replicas know the stream before the first change. Nobody else has the turn yet.
func (o *Orders) confirm(ctx context.Context) error {
	ch, err := o.claim()
	if err != nil {
		return err
	}
	_, err = o.commit(ctx, "take over the orders", o.self, []conn.Change{ch})
	if errors.Is(err, desk.ErrFenced) {
		return nil // another writes by now, which the first change says
	}
	return err
}

// writer is the subject of the messages that change who writes.
func (o *Orders) writer() string { return o.Subject(writerKind, "orders") }

// claim is the message that says that this writes.
func (o *Orders) claim() (conn.Change, error) {
	data, err := json.Marshal(page[struct{}]{Set: conn.ChangeInfo{ID: o.self, At: conn.StoredTime(o.now())}})
	return conn.Change{Subject: o.writer(), Data: data}, err
}

// take writes the message that makes this the writer. It demands nothing: whoever
// writes at the time would always be first. One that comes late, of an attempt whose
// answer got lost, is known by its name.
func (o *Orders) take(ctx context.Context) error {
	ch, err := o.claim()
	if err != nil {
		return err
	}
	return o.RetryWrite(ctx, "take over the orders", func(ctx context.Context) error {
		o.fence, err = o.Publish(ctx, o.name, ch)
		o.last = o.fence
		return err
	})
}

// lookEvery is how often a writer that writes nothing looks whether it still may.
const lookEvery = time.Second

// WatchFence returns why this is the writer no longer when that is known, by a write of
// its own or by what the servers say of the last who took over. A writer that was
// paused finds out so before it is asked for anything. It returns nil when ctx ends.
func (o *Orders) WatchFence(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-o.ended:
			return o.over
		case <-tick.C:
		}
		var seq uint64
		name, err := o.readName(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
			m, err := o.stream.GetLastMsgForSubject(ctx, o.writer())
			if err == nil {
				seq = m.Sequence
			}
			return m, err
		})
		// Servers that do not answer say nothing about who writes, and one that lags
		// behind names who did before.
		if err == nil && name != o.self && seq > o.fence {
			return moved()
		}
	}
}

// nameOf returns the name of the change that the message with a number is of, ""
// when there is no such message.
func (o *Orders) nameOf(ctx context.Context, seq uint64) (string, error) {
	return o.readName(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) { return o.stream.GetMsg(ctx, seq) })
}

// errForged says that a message is not ours.
var errForged = errors.New("a message is not of a replica")

// readName is nameOf for the message that get returns. The error is errForged for one
// that is not ours.
func (o *Orders) readName(ctx context.Context, get func(context.Context) (*jetstream.RawStreamMsg, error)) (string, error) {
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

// begin waits for the turn to write. An error says that nothing was written.
func (o *Orders) begin(ctx context.Context) (end func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case o.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if o.over != nil {
		<-o.turn
		return nil, o.over
	}
	return func() { <-o.turn }, nil
}

// put writes items to a subject, all or none, and returns in which messages they are.
// The caller has the turn.
func (o *Orders) put(ctx context.Context, doing, subject string, by principal.Caller, items []json.RawMessage) (span, error) {
	if err := ctx.Err(); err != nil {
		return span{}, err
	}
	set := conn.NewChangeInfo(rand.Text(), o.now(), by)
	changes, err := o.pages(subject, set, items)
	if err != nil {
		return span{}, err
	}
	in, err := o.commit(ctx, doing, set.ID, changes)
	if err != nil {
		return span{}, err
	}
	o.mu.Lock()
	o.wrote[subject] = o.last
	o.mu.Unlock()
	return in, nil
}

// commit writes the messages of a change with a name, all or none, and returns their
// numbers. It ends when the change is found where it belongs: an acknowledgement may be
// of somebody else. The caller has the turn.
func (o *Orders) commit(ctx context.Context, doing, name string, changes []conn.Change) (span, error) {
	err := conn.RetryWriteFor(ctx, o.RetryFor, doing, func(ctx context.Context) error {
		changes[0].CompareAndSet, changes[0].WholeStream, changes[0].Revision = true, true, o.last
		if _, err := o.Publish(ctx, o.name, changes...); err != nil && !errors.Is(err, conn.ErrConflict) {
			return err
		}
		// One message follows the last: this write's, perhaps of an attempt whose answer
		// got lost, or another writer's.
		switch found, err := o.nameOf(ctx, o.last+1); {
		case errors.Is(err, errForged):
			o.last++ // somebody else has put something there, which nobody reads
			return conn.ErrConflict
		case err != nil:
			return err
		case found == "":
			return conn.ErrConflict // something is under way there, and may fail
		case found == name:
			return nil
		case found == o.self:
			o.last++ // it was on its way for long, and changed nothing
			return conn.ErrConflict
		default:
			return moved()
		}
	})
	if err != nil {
		o.over = lost(err)
		close(o.ended)
		return span{}, o.over
	}
	in := span{o.last + 1, o.last + uint64(len(changes))}
	o.last = in.Last
	o.History.Wrote(name, o.last)
	return in, nil
}

// moved says that another writes.
func moved() error {
	return &fault.Error{
		Kind: fault.Unavailable, Code: desk.CodeMoved, Retryable: true, Cause: desk.ErrFenced,
		Message: "another replica trades on the account now; nothing was done",
	}
}

// lost says that a write failed and what became of it is not known.
func lost(err error) error {
	if errors.Is(err, desk.ErrFenced) {
		return err
	}
	return fault.Unreachable(fmt.Errorf("%w: %w", desk.ErrFenced, err), 0, "the shared store does not answer; try again in a moment")
}

// AppendEvents persists events of the caller's subject and what they make of its
// orders. It returns them without the fills whose trades were known.
func (o *Orders) AppendEvents(ctx context.Context, by principal.Caller, events []order.Event) ([]order.Event, error) {
	if len(events) == 0 {
		return nil, nil
	}
	end, err := o.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	d := o.orders.draft(by.Subject, o.thaw(ctx)) // which nobody changes before the turn ends
	kept, err := d.add(events)
	if fault.KindOf(err) == fault.Unavailable {
		return nil, lost(err) // orders could not be read; whoever opens anew can
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
	in, err := o.put(ctx, "append events of orders", o.Subject(orderKind, conn.EncodeToken(by.Subject)), by, items)
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
func (o *Orders) AppendJournal(ctx context.Context, owner, name string, entries [][]byte) error {
	if len(entries) == 0 {
		return nil
	}
	items := make([]json.RawMessage, len(entries))
	for i, e := range entries {
		items[i] = e
	}
	end, err := o.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	_, err = o.put(ctx, "append to a journal", o.Subject(journalKind, conn.EncodeToken(owner), conn.EncodeToken(name)), principal.Caller{}, items)
	return err
}

// SaveState sets a value of the caller's subject.
func (o *Orders) SaveState(ctx context.Context, by principal.Caller, name string, value []byte) error {
	if isSnapshot(name) {
		return fault.Field("name", name, "a name other than those of the places of snapshots")
	}
	end, err := o.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	subject := o.Subject(deskKind, conn.EncodeToken(by.Subject), conn.EncodeToken(name))
	if _, err := o.put(ctx, "save a state", subject, by, []json.RawMessage{value}); err != nil {
		return err
	}
	o.mu.Lock()
	o.states[subject] = slices.Clone(value)
	o.mu.Unlock()
	return nil
}
