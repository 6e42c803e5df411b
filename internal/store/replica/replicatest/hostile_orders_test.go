package replicatest_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/member"
	"candela/internal/store/replica/orders"
	"candela/internal/store/replica/replicatest"
	"candela/lib/fault"
)

// halted is an installation of two replicas with halted trading, and an attacker who would lift
// the halt.
type halted struct {
	stranger
	prefix, guard, order string
	writer, other        *conn.Conn
	orders               *orders.Store
}

func newHalted(t *testing.T) *halted {
	t.Helper()
	h := &halted{stranger: newStranger(t), prefix: replicatest.NewPrefix()}
	b64 := base64.RawURLEncoding.EncodeToString
	h.guard = h.prefix + ".desk." + b64([]byte("ann")) + "." + b64([]byte("guard"))
	h.order = h.prefix + ".order." + b64([]byte("ann"))
	var a, b *member.Group
	a, h.writer = replicatest.Join(t, replicatest.Lone(), h.prefix, "a")
	b, h.other = replicatest.Join(t, replicatest.Lone(), h.prefix, "b")
	replicatest.Agree(t, a, b)
	var err error
	if h.orders, err = orders.Open(t.Context(), h.writer, time.Now); err != nil {
		t.Fatal(err)
	}
	replicatest.CloseOrders(t, h.orders, 0, 2)
	h.save(`{"halted":false}`)
	return h
}

func (h *halted) save(state string) {
	h.t.Helper()
	if err := h.orders.SaveState(h.t.Context(), replicatest.Ann(), "guard", []byte(state)); err != nil {
		h.t.Fatal(err)
	}
}

// heard waits until the other replica knows as much of the orders as the writer.
func (h *halted) heard() {
	h.t.Helper()
	replicatest.Eventually(h.t, "the other replica knows the orders", func() bool { return knowsOrdersAs(h.other, h.writer) })
}

func (h *halted) config() jetstream.StreamConfig {
	h.t.Helper()
	return replicatest.StreamOf(h.t, replicatest.Lone(), h.prefix+"_ORDERS").CachedInfo().Config
}

func (h *halted) update(cfg jetstream.StreamConfig) {
	h.t.Helper()
	if _, err := h.js.UpdateStream(h.t.Context(), cfg); err != nil {
		h.t.Fatal(err)
	}
}

// refusedBy demands that replicas refuse to open the orders.
func (h *halted) refusedBy(replicas ...*conn.Conn) {
	h.t.Helper()
	for _, one := range replicas {
		o, err := orders.Open(h.t.Context(), one, time.Now)
		if f := fault.Of(err); f != nil && f.Code == "orders_lost" {
			continue
		}
		if err != nil {
			h.t.Errorf("the orders are refused for another reason than their loss: %v", err)
			continue
		}
		state, err := o.State(h.t.Context(), "ann", "guard")
		h.t.Errorf("the orders are opened with state %s, %v", state, err)
	}
}

// TestHostileNATS_RemovesNoHaltByLimits lowers the limits of the stream, writes after the halt and
// raises them again.
func TestHostileNATS_RemovesNoHaltByLimits(t *testing.T) {
	t.Parallel()
	h := newHalted(t)
	h.save(`{"halted":true}`)
	h.heard()
	cfg := h.config()
	cfg.MaxMsgsPerSubject = 1
	h.update(cfg)
	h.write(h.guard, []byte("junk"))
	h.write(h.order, []byte("junk"))
	cfg.MaxMsgsPerSubject = -1
	h.update(cfg)
	h.refusedBy(h.other, h.writer, replicatest.Connect(t, replicatest.Lone(), h.prefix)) // the last one knows no orders
}

// TestHostileNATS_ChangesNoStreamOfOrders configures the stream so that it loses messages later or
// refuses writes.
func TestHostileNATS_ChangesNoStreamOfOrders(t *testing.T) {
	t.Parallel()

	for name, change := range map[string]func(*jetstream.StreamConfig){
		"messages of a subject are limited": func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 1000 },
		"messages are limited":              func(c *jetstream.StreamConfig) { c.MaxMsgs = 1000 },
		"bytes are limited":                 func(c *jetstream.StreamConfig) { c.MaxBytes = 1 << 20 },
		"messages end":                      func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour },
		"messages may have an end":          func(c *jetstream.StreamConfig) { c.AllowMsgTTL = true },
		"a subject is missing": func(c *jetstream.StreamConfig) {
			c.Subjects = c.Subjects[1:]
		},
		"it has no id": func(c *jetstream.StreamConfig) {
			c.Metadata = map[string]string{"candela_schema": c.Metadata["candela_schema"], "candela_seal": c.Metadata["candela_seal"]}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Each case has its own stream: some changes cannot be reverted.
			h := newHalted(t)
			cfg := h.config()
			change(&cfg)
			h.update(cfg)
			h.refusedBy(replicatest.Connect(t, replicatest.Lone(), h.prefix))
		})
	}
}

// TestHostileNATS_AcknowledgesNoHalt removes the subjects of states from the stream and forges
// acknowledgements with the sequence number of a stored junk message.
func TestHostileNATS_AcknowledgesNoHalt(t *testing.T) {
	t.Parallel()
	h := newHalted(t)
	h.orders.RetryFor = 2 * time.Second
	cfg := h.config()
	whole := cfg.Subjects
	cfg.Subjects = []string{h.prefix + ".order.>", h.prefix + ".journal.>", h.prefix + ".writer.orders"}
	h.update(cfg)
	if _, err := h.nc.Subscribe(h.prefix+".desk.>", func(m *nats.Msg) {
		if ack, err := h.js.Publish(context.Background(), h.prefix+".order.x", []byte("junk")); err == nil {
			_ = m.Respond(fmt.Appendf(nil, `{"stream":%q,"seq":%d}`, h.prefix+"_ORDERS", ack.Sequence))
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := h.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := h.orders.SaveState(t.Context(), replicatest.Ann(), "guard", []byte(`{"halted":true}`)); err == nil {
		t.Error("a halt that was not stored is acknowledged")
	}
	h.refusedBy(h.other)
	cfg.Subjects = whole
	h.update(cfg)
	if _, err := orders.Open(t.Context(), h.other, time.Now); err != nil {
		t.Errorf("after the acknowledgement: %v", err)
	}
}

// TestHostileNATS_RestoresNoOlderOrders recreates the stream from its messages before the halt,
// with the same ID and as many messages.
func TestHostileNATS_RestoresNoOlderOrders(t *testing.T) {
	t.Parallel()
	h := newHalted(t)
	stream := replicatest.StreamOf(t, replicatest.Lone(), h.prefix+"_ORDERS")
	before := stream.CachedInfo()
	h.save(`{"halted":true}`)
	h.heard()
	var kept []*jetstream.RawStreamMsg
	for seq := range before.State.LastSeq {
		m, err := stream.GetMsg(t.Context(), seq+1)
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, m)
	}
	if err := h.js.DeleteStream(t.Context(), h.prefix+"_ORDERS"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.js.CreateStream(t.Context(), before.Config); err != nil {
		t.Fatal(err)
	}
	for _, m := range kept {
		h.write(m.Subject, m.Data)
	}
	for range 10 {
		h.write(h.order, []byte("junk"))
	}
	h.refusedBy(h.other, h.writer)
	_, err := orders.Open(t.Context(), h.other, time.Now)
	if f := fault.Of(err); f == nil || !strings.Contains(f.Message, "wait 30 s") {
		t.Errorf("the remedy is %v", err)
	}
}

// TestOrders_StreamKeepsItsIdentity opens the stream repeatedly, each time on a new connection: the
// creation time that servers report may differ.
func TestOrders_StreamKeepsItsIdentity(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	first := replicatest.Connect(t, replicatest.Lone(), prefix)
	ids := make(map[string]bool)
	for range 3 {
		for _, one := range []*conn.Conn{first, replicatest.Connect(t, replicatest.Lone(), prefix)} {
			if _, err := orders.Open(t.Context(), one, time.Now); err != nil {
				t.Fatal(err)
			}
			ids[replicatest.StreamOf(t, replicatest.Lone(), prefix+"_ORDERS").CachedInfo().Config.Metadata["candela_id"]] = true
		}
	}
	if len(ids) != 1 || ids[""] {
		t.Errorf("stream IDs %v", ids)
	}
}

// knowsOrdersAs reports whether a replica knows as much of the order stream as another.
func knowsOrdersAs(c, other *conn.Conn) bool {
	known := c.History.Position()
	return known.Mark > 0 && known == other.History.Position()
}
