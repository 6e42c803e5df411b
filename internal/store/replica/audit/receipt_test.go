package audit_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"candela/internal/kit/id"
	"candela/internal/kit/principal"
	"candela/internal/store/chain"
	"candela/internal/store/receipt"
	"candela/internal/store/receipt/receipttest"
	"candela/internal/store/replica/audit"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/orders"
	"candela/internal/store/replica/replicatest"
	"candela/internal/testkit/longtest"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// checkpoints counts the checkpoints that writers handed on.
type checkpoints struct{ atomic.Int64 }

// take becomes the order writer, with a clock.
func take(t *testing.T, c *conn.Conn, now func() time.Time, made *checkpoints) *orders.Store {
	t.Helper()
	o, err := orders.Open(t.Context(), c, now)
	check(t, err)
	o.SnapshotTimeout, o.OnCheckpoint = replicatest.Patience, func(chain.Signed) { made.Add(1) }
	return o
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// issue makes the receipt of an order over a connection that writes nothing.
func issue(t *testing.T, c *conn.Conn, owner principal.Owner, name string) ([]byte, error) {
	t.Helper()
	made, err := issuer(c).Issue(t.Context(), owner, name)
	return made.Text, err
}

func issuer(c *conn.Conn) receipt.Issuer {
	return receipt.Issuer{Source: audit.NewSource(c), Key: func() (chain.Key, error) { return audit.Key(c), nil }, Now: time.Now}
}

func keysOf(t *testing.T, c *conn.Conn) receipt.Keys {
	t.Helper()
	changes, err := audit.NewSource(c).Keys(t.Context())
	check(t, err)
	return receipt.NewKeys(changes)
}

// TestReceipt_OverTakeovers writes random orders of two owners by three writers in turn, who take over from each other in
// between, and verifies the receipt of each with this program and with the one in docs/receipts.md, read by a fourth connection.
func TestReceipt_OverTakeovers(t *testing.T) {
	t.Parallel()
	random, prefix := rand.New(rand.NewPCG(longtest.Seed(), 44)), replicatest.NewPrefix()
	conns := []*conn.Conn{replicatest.Connect(t, replicatest.Servers(), prefix), replicatest.Connect(t, replicatest.Servers(), prefix), replicatest.Connect(t, replicatest.Servers(), prefix)}
	reader := replicatest.Connect(t, replicatest.Servers(), prefix)
	var made checkpoints
	now := time.Now().Add(-40 * 24 * time.Hour)
	clock := func() time.Time { return now }
	writer := take(t, conns[0], clock, &made)
	check(t, writer.RecordPolicy(t.Context(), []byte(`{"a":"<b>"}`), "sha256:1"))
	ids := make(map[principal.Owner][]string)
	takeovers := 0
	for i := range longtest.Pick(80, 3000) {
		now = now.Add(time.Duration(random.IntN(200)) * time.Minute)
		owner := []principal.Owner{"ann", "bob"}[random.IntN(2)]
		name := id.New(time.Now())
		ids[owner] = append(ids[owner], name)
		by := principal.Caller{Subject: owner, Key: "6acb604a74", Client: "Claud\u00e9 <1>"}
		for _, events := range receipttest.Order(random, owner, name, now) {
			_, err := writer.AppendEvents(t.Context(), by, events)
			check(t, err)
			switch random.IntN(8) {
			case 0:
				check(t, writer.SaveState(t.Context(), by, "guard", []byte(`{ "causes": [{"kind":"owner_halt"}] }`)))
			case 1:
				check(t, writer.AppendJournal(t.Context(), owner, "paper", [][]byte{[]byte("{}")}))
			}
		}
		if random.IntN(15) == 0 {
			takeovers++
			check(t, writer.SaveSnapshot(t.Context(), principal.Caller{Subject: owner}, bookOf(t, writer, owner)))
			writer = take(t, conns[i%len(conns)], clock, &made)
			check(t, writer.RecordPolicy(t.Context(), []byte(`{"a":"<b>"}`), "sha256:1"))
		}
	}
	keys := keysOf(t, reader)
	if len(keys) != 1 || keys[0].ID() != audit.Key(reader).ID() {
		t.Fatalf("keys %+v", keys)
	}
	var texts [][]byte
	largest, total, policies := 0, 0, 0
	for owner, all := range ids {
		for _, name := range all {
			text, err := issue(t, reader, owner, name)
			check(t, err)
			if err := receipttest.Verify(text, keys); err != nil {
				t.Fatalf("seed %d: order %s: %v", longtest.Seed(), name, err)
			}
			d, err := receipt.Parse(text)
			check(t, err)
			if d.Receipt.Policy != nil && d.Receipt.Policy.Seq == 2 {
				policies++
			}
			texts, largest, total = append(texts, text), max(largest, len(text)), total+len(text)
		}
	}
	if policies != len(texts) {
		t.Errorf("%d of %d receipts name the event of the policy", policies, len(texts))
	}
	t.Logf("%d receipts over %d takeovers, %d bytes on average, %d at most; %d checkpoints", len(texts), takeovers, total/len(texts), largest, made.Load())
	changes := longtest.Pick(300, 5000)
	n := len(texts)
	for range changes {
		text := append([]byte(nil), texts[random.IntN(n)]...)
		at := random.IntN(len(text))
		text[at] ^= byte(1 + random.IntN(255))
		if receipttest.Verify(text, keys) == nil {
			t.Errorf("seed %d: byte %d changed to %q: the receipt is valid", longtest.Seed(), at, text[at])
		}
		texts = append(texts, text)
	}
	for i, ok := range receipttest.Python(t, filepath.Join("..", "..", "..", ".."), keys, texts) {
		if want := i < n; ok != want {
			t.Errorf("seed %d: Python says %v of receipt %d", longtest.Seed(), ok, i)
		}
	}
}

// TestReceipt_OfManyEvents writes more events than a checkpoint covers in one change, and an order that rests meanwhile.
func TestReceipt_OfManyEvents(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	c := replicatest.Connect(t, replicatest.Servers(), prefix)
	var made checkpoints
	writer := take(t, c, time.Now, &made)
	place := func(names ...string) {
		var events []order.Event
		for _, name := range names {
			events = append(events, replicatest.Placed("ann", name)...)
		}
		_, err := writer.AppendEvents(t.Context(), replicatest.Ann(), events)
		check(t, err)
	}
	rests := id.New(time.Now())
	place(rests)
	var others []string
	for i := range 450 {
		others = append(others, fmt.Sprintf("o%d", i))
	}
	place(others...)
	check(t, writer.SaveState(t.Context(), replicatest.Ann(), "guard", []byte("{}")))
	if made.Load() != 3 {
		t.Errorf("%d checkpoints of 904 events, want 3", made.Load())
	}
	for _, name := range []string{rests, "o0", "o200", "o449"} {
		text, err := issue(t, c, "ann", name)
		check(t, err)
		if err := receipttest.Verify(text, keysOf(t, c)); err != nil {
			t.Errorf("order %s: %v", name, err)
		}
	}
	few := audit.NewSource(c)
	few.Most = 2
	if _, err := (receipt.Issuer{Source: few, Key: func() (chain.Key, error) { return audit.Key(c), nil }, Now: time.Now}).Issue(t.Context(), "ann", rests); fault.Of(err) == nil ||
		!strings.Contains(fault.Of(err).Message, "more than 2 messages of its owner") {
		t.Errorf("an order with more messages after it than may be read: %v", err)
	}
	owner, err := audit.NewSource(c).OrderOwner(t.Context(), rests)
	if err != nil || owner != "ann" {
		t.Errorf("owner %q, %v", owner, err)
	}
	for who, name := range map[principal.Owner]string{"ann": "none", "bob": rests} {
		if _, err := issue(t, c, who, name); fault.Of(err) == nil || fault.Of(err).Code != "order_not_found" {
			t.Errorf("order %s of %s: %v", name, who, err)
		}
	}
}

// bookOf returns the book of all events of an owner.
func bookOf(t *testing.T, o *orders.Store, owner principal.Owner) *order.Book {
	t.Helper()
	b := order.NewBook(owner)
	for e, err := range o.OrderEvents(t.Context(), owner) {
		check(t, err)
		check(t, b.Apply(e))
	}
	return b
}
