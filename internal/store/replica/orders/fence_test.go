package orders_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/kit/principal"
	"candela/internal/store/replica/natstest"
	"candela/internal/store/replica/orders"
	"candela/internal/store/replica/replicatest"
	"candela/internal/testkit/longtest"
	"candela/internal/trading/desk"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// TestServers_RefuseAnotherRevision checks the basis of fencing: a server accepts a write that names
// the stream's last message only while it is the last, alone and as the first of a batch, with and
// without replication.
func TestServers_RefuseAnotherRevision(t *testing.T) {
	t.Parallel()
	for name, to := range map[string]*natstest.Cluster{"three servers": replicatest.Servers(), "one server": replicatest.Lone()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nc, stream := replicatest.ConnectRaw(t, to), replicatest.NewPrefix()
			copies := map[bool]int{true: 3, false: 1}[to == replicatest.Servers()]
			_, err := replicatest.Admin(t, to).CreateStream(t.Context(), jetstream.StreamConfig{Name: stream, Subjects: []string{stream + ".>"}, Replicas: copies, AllowAtomicPublish: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct {
				says   string
				expect []string // of each message
				code   jetstream.ErrorCode
				last   uint64
			}{
				{"the first of an empty stream", []string{"0"}, 0, 1},
				{"one that is too late", []string{"0"}, 10071, 1},
				{"one that is too early", []string{"2"}, 10071, 1},
				{"the next", []string{"1"}, 0, 2},
				{"a batch whose first names the last", []string{"2", "", ""}, 0, 5},
				{"a batch whose first does not", []string{"2", "", ""}, 10071, 5},
				{"a batch whose second names it", []string{"5", "6", ""}, 10164, 5},
				{"the next after those that were refused", []string{"5"}, 0, 6},
			} {
				code, seq := publishRaw(t, nc, stream, c.expect)
				if code != c.code || code == 0 && seq != c.last {
					t.Errorf("%s: error %d and sequence number %d, want %d and %d", c.says, code, seq, c.code, c.last)
				}
			}
		})
	}
}

// publishRaw writes messages as a batch, each with its expected last sequence number, and returns the
// error's code and the last sequence number.
func publishRaw(t *testing.T, nc *nats.Conn, stream string, expect []string) (jetstream.ErrorCode, uint64) {
	t.Helper()
	batch := rand.Text()
	for i, last := range expect {
		m := nats.NewMsg(stream + ".x")
		if last != "" {
			m.Header.Set(jetstream.ExpectedLastSeqHeader, last)
		}
		if len(expect) > 1 {
			m.Header.Set("Nats-Batch-Id", batch)
			m.Header.Set("Nats-Batch-Sequence", strconv.Itoa(i+1))
		}
		if i < len(expect)-1 {
			if err := nc.PublishMsg(m); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if len(expect) > 1 {
			m.Header.Set("Nats-Batch-Commit", "1")
		}
		answer, err := nc.RequestMsg(m, replicatest.Patience)
		// The server of this connection may learn only now that the new stream listens. It says so
		// before any server has seen the message, and a test begins with a single message.
		for len(expect) == 1 && errors.Is(err, nats.ErrNoResponders) {
			answer, err = nc.RequestMsg(m, replicatest.Patience)
		}
		if err != nil {
			t.Fatal(err)
		}
		var ack struct {
			Error *jetstream.APIError
			Seq   uint64
		}
		if err := json.Unmarshal(answer.Data, &ack); err != nil {
			t.Fatal(err)
		}
		if ack.Error != nil {
			return ack.Error.ErrorCode, 0
		}
		return 0, ack.Seq
	}
	return 0, 0
}

func place(ctx context.Context, o *orders.Store, id string) error {
	_, err := o.AppendEvents(ctx, principal.Caller{Subject: "ann"}, replicatest.Placed("ann", id))
	return err
}

// ids lists ann's orders from a replay.
func ids(t *testing.T, o *orders.Store) map[string]bool {
	t.Helper()
	all := make(map[string]bool)
	for e, err := range o.OrderEvents(t.Context(), "ann") {
		if err != nil {
			t.Fatal(err)
		}
		all[e.OrderID] = true
	}
	return all
}

func wantFenced(t *testing.T, err error) {
	t.Helper()
	if f := fault.Of(err); !errors.Is(err, desk.ErrFenced) || f.Code != desk.CodeMoved || !f.Retryable {
		t.Errorf("got %v, want the fault of a fenced writer", err)
	}
}

func TestOrders_RefuseAFencedWriter(t *testing.T) {
	t.Parallel()
	prefix, ctx := replicatest.NewPrefix(), t.Context()
	former := replicatest.OpenOrders(t, replicatest.Servers(), prefix)
	if err := errors.Join(place(ctx, former, "o1"), former.SaveState(ctx, principal.Caller{Subject: "ann"}, "guard", []byte(`{"a":1}`))); err != nil {
		t.Fatal(err)
	}
	other := replicatest.OpenOrders(t, replicatest.Servers(), prefix)
	wantFenced(t, place(ctx, former, "o2"))
	wantFenced(t, former.SaveState(ctx, principal.Caller{Subject: "ann"}, "guard", []byte(`{"a":2}`)))
	wantFenced(t, former.AppendJournal(ctx, "ann", "paper", [][]byte{[]byte(`{}`)}))
	if err := place(ctx, other, "o2"); err != nil {
		t.Fatal(err)
	}
	third := replicatest.OpenOrders(t, replicatest.Servers(), prefix)
	wantFenced(t, other.SaveState(ctx, principal.Caller{Subject: "ann"}, "guard", []byte(`{"a":3}`)))
	wantFenced(t, place(ctx, other, "o3"))
	if diff := cmp.Diff(map[string]bool{"o1": true, "o2": true}, ids(t, third)); diff != "" {
		t.Error(diff)
	}
	value, err := third.State(ctx, "ann", "guard")
	if err != nil || string(value) != `{"a":1}` {
		t.Errorf("the state is %s, %v", value, err)
	}
	if _, err := third.OrderByKey(ctx, "ann", "key of o2"); err != nil {
		t.Error(err)
	}
}

// TestOrders_RefuseAFencedWriterWithoutCompareAndSet has servers that ignore the expected sequence
// number. They store a fenced writer's messages, which are sealed for another number, so nobody
// reads them, and the writer notices.
func TestOrders_RefuseAFencedWriterWithoutCompareAndSet(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	open := func() *orders.Store {
		c := replicatest.Connect(t, replicatest.Servers(), prefix)
		replicatest.DropCompareAndSet(c)
		o, err := orders.Open(t.Context(), c, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	former, other := open(), open()
	if err := place(t.Context(), other, "o1"); err != nil {
		t.Fatal(err)
	}
	wantFenced(t, place(t.Context(), former, "o2"))
	if diff := cmp.Diff(map[string]bool{"o1": true}, ids(t, open())); diff != "" {
		t.Error(diff)
	}
}

// TestOrders_LoseNothingBetweenWriters lets writers take over while the previous one is still
// writing.
func TestOrders_LoseNothingBetweenWriters(t *testing.T) {
	t.Parallel()
	prefix, acknowledged := replicatest.NewPrefix(), make(map[string]bool)
	var mu sync.Mutex
	var wg sync.WaitGroup
	work := func(n int, o *orders.Store, first chan<- struct{}) {
		for i := 0; ; i++ {
			id := fmt.Sprintf("%d-%d", n, i)
			err := place(context.WithoutCancel(t.Context()), o, id)
			if err != nil {
				wantFenced(t, err)
				return
			}
			mu.Lock()
			acknowledged[id] = true
			mu.Unlock()
			if i == 0 {
				close(first)
			}
		}
	}
	writers := longtest.Pick(6, 12)
	for n := range writers {
		o, first := replicatest.OpenOrders(t, replicatest.Servers(), prefix), make(chan struct{})
		wg.Go(func() { work(n, o, first) })
		<-first
	}
	last := replicatest.OpenOrders(t, replicatest.Servers(), prefix)
	wg.Wait()
	if diff := cmp.Diff(acknowledged, ids(t, last)); diff != "" {
		t.Error(diff)
	}
	t.Logf("%d orders by %d writers", len(acknowledged), writers)
}

// TestOrders_KnowTheirOwnClaim stores the claim of a writer twice.
func TestOrders_KnowTheirOwnClaim(t *testing.T) {
	t.Parallel()
	o := replicatest.OpenOrders(t, replicatest.Servers(), replicatest.NewPrefix())
	for _, id := range []string{"o1", "o2"} {
		if err := errors.Join(o.AcquireLate(t.Context()), o.AcquireLate(t.Context()), place(t.Context(), o, id)); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(map[string]bool{"o1": true, "o2": true}, ids(t, o)); diff != "" {
		t.Error(diff)
	}
}

func TestOrders_OfManyConcurrentOpensOneWrites(t *testing.T) {
	t.Parallel()
	prefix, all := replicatest.NewPrefix(), make([]*orders.Store, 6)
	replicatest.OpenOrders(t, replicatest.Servers(), prefix)
	var wg sync.WaitGroup
	for i := range all {
		c := replicatest.Connect(t, replicatest.Servers(), prefix)
		wg.Go(func() {
			var err error
			if all[i], err = orders.Open(t.Context(), c, time.Now); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	wrote := 0
	for i, o := range all {
		err := place(t.Context(), o, "o"+strconv.Itoa(i))
		if err == nil {
			wrote++
		} else {
			wantFenced(t, err)
		}
	}
	if wrote != 1 {
		t.Errorf("%d of them could write", wrote)
	}
}

// TestOrders_LookUpUnacknowledgedWrites cuts the connection after a write was sent and before its
// acknowledgement.
func TestOrders_LookUpUnacknowledgedWrites(t *testing.T) {
	t.Parallel()
	for name, events := range map[string][]order.Event{"one message": replicatest.Placed("ann", "o1"), "a batch": many("ann", 600)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			line := replicatest.NewProxy(t, replicatest.Servers())
			o, err := orders.Open(t.Context(), replicatest.ConnectAt(t, line.URL, replicatest.NewPrefix()), time.Now)
			if err != nil {
				t.Fatal(err)
			}
			line.CutAtNextReply()
			began := time.Now()
			kept, err := o.AppendEvents(t.Context(), principal.Caller{Subject: "ann"}, events)
			if err != nil || len(kept) != len(events) {
				t.Fatalf("%d events were kept: %v", len(kept), err)
			}
			t.Logf("the write was known after %s", time.Since(began))
			if !line.IsCut() {
				t.Error("the connection was not cut")
			}
			n := 0
			for _, err := range o.OrderEvents(t.Context(), "ann") {
				if err != nil {
					t.Fatal(err)
				}
				n++
			}
			if n != len(events) {
				t.Errorf("%d events stored, want %d", n, len(events))
			}
			if err := place(t.Context(), o, "another"); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestOrders_StopAfterAnUnknownOutcome leaves a write without acknowledgement: it may be stored, so
// the writer never writes again.
func TestOrders_StopAfterAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	one, prefix := replicatest.Start(t, 1), replicatest.NewPrefix()
	o := replicatest.OpenOrders(t, one, prefix)
	o.RetryFor = time.Second
	one.Kill(0)
	err := place(t.Context(), o, "o1")
	if !errors.Is(err, desk.ErrFenced) || fault.KindOf(err) != fault.Unavailable || fault.Of(err).Code == desk.CodeMoved {
		t.Errorf("got %v", err)
	}
	if err := one.Restart(0); err != nil {
		t.Fatal(err)
	}
	if err := one.Settle(); err != nil {
		t.Fatal(err)
	}
	if err := place(t.Context(), o, "o2"); !errors.Is(err, desk.ErrFenced) {
		t.Errorf("then it says %v", err)
	}
	if err := place(t.Context(), replicatest.OpenOrders(t, one, prefix), "o2"); err != nil {
		t.Error(err)
	}
}

// many returns n orders, two events each, too large for one message.
func many(owner principal.Owner, n int) []order.Event {
	var events []order.Event
	for i := range n {
		one := replicatest.Placed(owner, "o"+strconv.Itoa(i))
		one[1].Reason = strings.Repeat("<&>\u00e4\"", 150)
		one[1].At = time.Unix(int64(i), 123_456_789).UTC()
		events = append(events, one...)
	}
	return events
}

func TestOrders_TakeManyEventsAtOnce(t *testing.T) {
	t.Parallel()
	prefix, events := replicatest.NewPrefix(), many("ann", 600)
	o := replicatest.OpenOrders(t, replicatest.Servers(), prefix)
	if _, err := o.AppendEvents(t.Context(), principal.Caller{Subject: "ann"}, events); err != nil {
		t.Fatal(err)
	}
	if n := replicatest.StreamOf(t, replicatest.Servers(), prefix+"_ORDERS").CachedInfo().State.Msgs; n < 4 || n > 20 {
		t.Errorf("they are %d messages", n)
	}
	next := replicatest.OpenOrders(t, replicatest.Servers(), prefix)
	for name, store := range map[string]*orders.Store{"its writer": o, "the next": next, "the next again": next} {
		var got []order.Event
		for e, err := range store.OrderEvents(t.Context(), "ann") {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e)
		}
		if diff := cmp.Diff(events, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestOrders_LoseNothingWhenTheLeaderStops writes while the stream's leader restarts.
func TestOrders_LoseNothingWhenTheLeaderStops(t *testing.T) {
	t.Parallel()
	three, prefix, acknowledged := replicatest.Start(t, 3), replicatest.NewPrefix(), make(map[string]bool)
	o := replicatest.OpenOrders(t, three, prefix)
	floor, elected := replicatest.Measure(t, three), func() time.Duration { return 0 }
	longest := time.Duration(0)
	for i := range 60 {
		if i == 20 {
			elected = replicatest.ReplaceLeader(t, three, prefix+"_ORDERS")
		}
		id, began := "o"+strconv.Itoa(i), time.Now()
		if err := place(t.Context(), o, id); err != nil {
			t.Fatal(err)
		}
		acknowledged[id] = true
		longest = max(longest, time.Since(began))
	}
	if diff := cmp.Diff(acknowledged, ids(t, replicatest.OpenOrders(t, three, prefix))); diff != "" {
		t.Error(diff)
	}
	replicatest.CheckLongestWrite(t, longest, max(elected(), floor()))
}
