package cluster

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/access/oauth"
	"candela/internal/kit/principal"
	"candela/internal/market/provider"
	"candela/internal/trading/order"
)

// OwnerTime is how long a call waits for someone who does what it asks for.
const OwnerTime = ownerTime

// WriteUnguarded switches compare-and-set off, for the tests that show what it does.
func (c *Conn) WriteUnguarded() { c.unguarded = true }

// SetPatience sets for how long what servers between leaders do not do is tried.
func (c *Conn) SetPatience(d time.Duration) { c.patience = d }

// Lag has some reads answered as by a server that does not know yet what was written.
func (c *Conn) Lag(reads int64) { c.lagging.Store(reads) }

// Scribble writes a message that is sealed as ours are, whatever it says.
func (c *Conn) Scribble(ctx context.Context, stream, subject string, data []byte) error {
	_, err := c.publish(ctx, c.name(stream), change{subject: subject, data: data})
	return err
}

// Unseal returns what a message of a stream says, nil for one that is not ours.
func (c *Conn) Unseal(ctx context.Context, m *jetstream.RawStreamMsg) []byte {
	return c.trust.opened(ctx, message{subject: m.Subject, data: m.Data, seq: m.Sequence}, 0).data
}

// KnowsOrders reports whether a stream of orders is known here.
func (c *Conn) KnowsOrders() bool { return c.history.now().Last > 1 }

// KnowsOrdersAs reports whether as much of the stream of orders is known as at another.
func (c *Conn) KnowsOrdersAs(other *Conn) bool {
	known := c.history.now()
	return known.Mark > 0 && known == other.history.now()
}

// Discovered returns the servers that others have told of.
func (c *Conn) Discovered() []string { return c.nc.DiscoveredServers() }

// SetSealTime has messages sealed as at another time.
func (c *Conn) SetSealTime(now func() time.Time) { c.trust.shift.Store(int64(time.Until(now()))) }

// HoldBeats keeps a member from sending heartbeats until release is called, as a
// process that is stopped would.
func (m *Members) HoldBeats() (release func()) {
	m.beating.Lock()
	return m.beating.Unlock
}

// Press gives calls of a method turns of their own.
func (m *Members) Press(method string) { m.press(method) }

// SetPatience sets for how long a write is tried.
func (o *Orders) SetPatience(d time.Duration) { o.patience = d }

// SetHaste sets for how long each message of a snapshot is tried.
func (o *Orders) SetHaste(d time.Duration) { o.blobs.haste = d }

// SetSize sets how large the items of one message are at most. One is always sent.
func (o *Orders) SetSize(n int) { o.size = n }

// Pack writes an answer to another replica, and Unpack reads it.
func Pack(value any, most int) ([]byte, error) { return pack(value, most) }

// PackOrder writes the answer to a call about one order.
func PackOrder(o order.Order, most int) ([]byte, error) { return pack(orderAnswer{Order: o}, most) }

// Unpack reads what Pack wrote.
func Unpack(data []byte, value any) error { return unpack(data, value) }

// Travel returns an error as it is after its way from another replica.
func Travel(err error) error {
	form, _ := beside(err)
	data, _ := pack(orderAnswer{Failure: form}, 1<<20)
	var a orderAnswer
	if err := unpack(data, &a); err != nil {
		return err
	}
	_, err = a.result()
	return err
}

// TakeLate writes once more that this is the writer, as a message does that was on
// its way for long.
func (o *Orders) TakeLate(ctx context.Context) error {
	last := o.last
	defer func() { o.last = last }()
	return o.take(ctx)
}

// Prefix returns that of the connection.
func (c *Conn) Prefix() string { return c.prefix }

// Unheard reports whether the server that m is connected to knows that nobody
// listens to calls of a member.
func (m *Members) Unheard(id string) bool {
	_, err := m.table.nc.Request(m.peerSubject(id), nil, 50*time.Millisecond)
	return errors.Is(err, nats.ErrNoResponders)
}

// Subscriptions returns how many the connection has.
func (c *Conn) Subscriptions() int { return c.nc.NumSubscriptions() }

// Server returns the name of the server that the connection is with.
func (c *Conn) Server() string { return c.nc.ConnectedServerName() }

// Covers makes alerts known that were set with the numbers 1 to sets, named by them,
// and returns whether a mark holds for one, and how many are remembered.
func Covers(sets int, id string, told uint64) (holds bool, kept int) {
	var r recent
	for seq := range uint64(sets) {
		r.add(seq+1, strconv.FormatUint(seq+1, 10))
	}
	return r.covered()(id, mark{at: 1, told: told}), len(r.sets)
}

// Agrees reports whether two members think the same of who takes part and who drains.
func (m *Members) Agrees(other *Members) bool {
	return slices.Equal(*m.seats.Load(), *other.seats.Load())
}

// Alone returns a member that has no connection and knows of no other, and that drains
// or owns everything.
func Alone(drains bool, log *slog.Logger) *Members {
	m := &Members{table: &table{Conn: &Conn{prefix: "p"}}, id: "a", log: log, changed: make(chan struct{})}
	m.seats.Store(&[]seat{seatOf(m.id, drains)})
	return m
}

// LiveAfter has a member a see heartbeats of members that are named by one letter, and
// the end of those that are written large, and reports whether b is live then. The
// servers take one a second, those in brackets all at once, and all after a "<" by a
// clock that is an hour behind.
func LiveAfter(beats string) bool {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	m := &Members{
		table: &table{Conn: &Conn{prefix: "p"}}, id: "a", log: slog.New(slog.DiscardHandler), ending: ctx,
		others: make(map[string]*peer), changed: make(chan struct{}), relinked: make(chan struct{}),
	}
	m.seats.Store(&[]seat{seatOf(m.id, false)})
	at, every := time.Unix(0, 0), time.Second
	for _, letter := range beats {
		switch letter {
		case '(':
			at, every = at.Add(every), 0
			continue
		case ')':
			every = time.Second
			continue
		case '<':
			at = at.Add(-time.Hour)
			continue
		}
		at = at.Add(every)
		one := message{subject: m.subject(strings.ToLower(string(letter))), at: at}
		if unicode.IsLower(letter) {
			one.data = []byte("{}")
		}
		m.apply(ctx, one)
	}
	return m.Live("b")
}

// Beats returns how many own heartbeats came by.
func (m *Members) Beats() uint64 { return m.beats.Load() }

// SaveMarksFor saves marks that hold for the alerts with a number up to told.
func (s *Store) SaveMarksFor(ctx context.Context, marks map[provider.Sub]int64, told uint64) error {
	return s.saveMarks(ctx, s.states.patience, marks, told)
}

// PutBlob writes a blob that nothing names, as a writer does that ends halfway.
func (o *Orders) PutBlob(ctx context.Context, value []byte) error {
	_, err := o.blobs.put(ctx, value)
	return err
}

// SegmentSize is how many orders a segment of an account has at most.
const SegmentSize = segmentSize

// FindCold has orders leave memory in steps, into segments of a size, writes and reads
// the segments, and returns how many orders are found by each of their names in the
// right place, how many by names that none has, and how many segments there are.
func FindCold(orders, steps, size int) (found, missed, segments int) {
	var c cold
	for step := range steps {
		var leavers []leaver
		for i := step * orders / steps; i < (step+1)*orders/steps; i++ {
			n := strconv.Itoa(i)
			leavers = append(leavers, leaver{id: n, key: "k" + n, trades: []string{"t" + n}, span: span{uint64(i), uint64(i) + 2}})
		}
		c = c.with(leavers, size)
	}
	for i, s := range c {
		var err error
		if c[i], err = decodeSegment(s.encode()); err != nil {
			return 0, 0, 0
		}
	}
	untraded := c.untraded()
	for i := range orders {
		n, want := strconv.Itoa(i), []span{{uint64(i), uint64(i) + 2}}
		if slices.Equal(c.named(idName, n), want) && slices.Equal(c.named(keyName, "k"+n), want) && slices.Equal(c.traded("t"+n), want) {
			found++
		}
		missed += len(c.named(idName, "k"+n)) + len(c.named(keyName, n)) + len(untraded.traded("t"+n))
	}
	return found, missed, len(c)
}

// Bytes returns how large the stream of orders is.
func (o *Orders) Bytes(ctx context.Context) (int, error) {
	info, err := o.stream.Info(ctx)
	if err != nil {
		return 0, err
	}
	return int(info.State.Bytes), nil
}

// PlaceSnapshot keeps a book as what all events have made, whatever it is.
func (o *Orders) PlaceSnapshot(ctx context.Context, by principal.Caller, b *order.Book) error {
	value, err := b.Snapshot()
	if err != nil {
		return err
	}
	end, err := o.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	var form snapshotForm
	if form.Value, err = o.blobs.put(ctx, value); err != nil {
		return err
	}
	if form.Spans, err = o.blobs.put(ctx, []byte("{}")); err != nil {
		return err
	}
	return o.place(ctx, by, o.snapshotSubject(by.Subject), form)
}

// SnapshotSubject is where the place of the snapshot of a book is written.
func (o *Orders) SnapshotSubject(owner string) string { return o.snapshotSubject(owner) }

// Sweep takes blobs away as who has just taken over does.
func (o *Orders) Sweep(ctx context.Context) {
	used, _ := o.usedBlobs()
	o.blobs.sweep(ctx, used, o.still)
}

// Overtake has a replica, whose watcher has ended, hear of an era and, after it has
// looked which one it knows, enter the one between as EndAll does. It returns the key
// that was heard of.
func (t *Tokens) Overtake(ctx context.Context) oauth.SealKey {
	known := t.era.Load()
	between := newPresent(known.next(oauth.NewSealKey(), byOwner), known.seq+1, known.ours)
	heard := between.next(oauth.NewSealKey(), byOwner)
	t.overtake(between, func() { t.hear(ctx, heard, known.seq+2) })
	return heard.Key
}

// OvertakeJudge has a replica, whose watcher has ended, find out whether its passphrase
// counts while another era begins.
func (t *Tokens) OvertakeJudge(ctx context.Context) {
	known := t.era.Load()
	t.era.Store(newPresent(known.era, known.seq, false))
	t.overtake(newPresent(known.next(oauth.NewSealKey(), byOwner), known.seq+1, false), func() { t.judge(ctx) })
}

// overtake lets an era begin when act is about to enter another.
func (t *Tokens) overtake(between *present, act func()) {
	t.mu.RLock()
	done := make(chan struct{})
	go func() { defer close(done); act() }()
	for t.mu.TryRLock() { // until act waits for the lock
		t.mu.RUnlock()
		runtime.Gosched()
	}
	t.era.Store(between)
	t.mu.RUnlock()
	<-done
}

// Ahead has a replica, whose watcher has ended, know an era that the servers which
// answer it do not.
func (t *Tokens) Ahead() {
	known := t.era.Load()
	t.enter(newPresent(known.next(oauth.NewSealKey(), byOwner), known.seq+1000, known.ours), known)
}

// WatchAgain goes on after Close, as a replica does whose connection is back.
func (t *Tokens) WatchAgain() {
	watching, stop := context.WithCancel(context.Background())
	t.stop, t.done = stop, make(chan struct{})
	go t.watch(watching, t.era.Load().seq)
}

// SoughtHaltFiles is what the desk does before it trades: it asks the other replicas for
// their halt files until they have answered, or for a while.
func (d *Desk) SoughtHaltFiles(ctx context.Context) []string { return d.foundHaltFiles(ctx) }

// SilentReplicas returns the names of those that do not say whether a halt file lies
// beside them.
func (d *Desk) SilentReplicas(ctx context.Context) []string {
	_, silent := d.haltFiles(ctx)
	return silent
}

// Fill has as many calls of pressed methods under way as may be, for good.
func (m *Members) Fill() {
	for range cap(m.first) {
		m.first <- struct{}{}
	}
}
