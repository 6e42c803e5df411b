package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/kit/principal"
	"candela/internal/store/chain"
	"candela/internal/store/replica/audit"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/replicatest"
)

// written writes orders of two owners and returns the messages of the stream, as somebody with the secret can read them, and
// the chain of ann.
func written(t *testing.T, c *conn.Conn, client string) (messages []conn.Message, ann chain.Chain) {
	t.Helper()
	var made checkpoints
	writer := take(t, c, time.Now, &made)
	for i := range 6 {
		for _, owner := range []principal.Owner{"ann", "bob"} {
			_, err := writer.AppendEvents(t.Context(), principal.Caller{Subject: owner, Client: client}, replicatest.Placed(owner, fmt.Sprintf("%s-%d", owner, i)))
			check(t, err)
		}
	}
	report, err := audit.Verify(t.Context(), c, nil)
	check(t, err)
	if len(report.Breaks) > 0 || report.Events != 25 || report.Loose != 0 || len(report.Chains) != 3 {
		t.Fatalf("%+v", report)
	}
	end, err := c.StreamState(t.Context(), c.StreamName("ORDERS"))
	check(t, err)
	for m, err := range c.Consume(t.Context(), c.StreamName("ORDERS"), jetstream.OrderedConsumerConfig{}) {
		check(t, err)
		messages = append(messages, c.Seals.Unseal(t.Context(), m, 0))
		if m.Seq == end.LastSeq {
			return messages, report.Chains["ann"]
		}
	}
	return nil, chain.Chain{}
}

// put writes a message after n others of a stream, which may have no leader yet.
func put(t *testing.T, c *conn.Conn, stream string, n int, m conn.Message) {
	t.Helper()
	check(t, c.RetryWrite(t.Context(), "put a message", func(ctx context.Context) error {
		_, err := c.Publish(ctx, c.StreamName(stream), conn.Change{Subject: m.Subject, Data: m.Data, CompareAndSet: true, WholeStream: true, Revision: uint64(n)})
		return err
	}))
}

// rewritten writes messages to the stream of another prefix, sealed, as somebody with the secret could.
func rewritten(t *testing.T, from string, messages []conn.Message) (*conn.Conn, jetstream.Stream) {
	t.Helper()
	to := replicatest.NewPrefix()
	c := replicatest.Connect(t, replicatest.Servers(), to)
	stream, err := replicatest.Admin(t, replicatest.Servers()).CreateStream(t.Context(), jetstream.StreamConfig{Name: c.StreamName("ORDERS"), Subjects: []string{to + ".>"}, AllowAtomicPublish: true})
	check(t, err)
	for i, m := range messages {
		put(t, c, "ORDERS", i, conn.Message{Subject: to + strings.TrimPrefix(m.Subject, from), Data: m.Data})
	}
	return c, stream
}

// TestVerify_FindsWhatThePageSays alters the order stream as somebody with the secret and the servers could, and compares what is
// found with docs/receipts.md.
func TestVerify_FindsWhatThePageSays(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	all, ann := written(t, replicatest.Connect(t, replicatest.Servers(), prefix), "Claude")
	ofAnn := func() (at []int) {
		for i, m := range all {
			if bytes.Contains(m.Data, []byte(`"order_id":"ann-`)) {
				at = append(at, i)
			}
		}
		return at
	}()
	if len(ofAnn) != 6 {
		t.Fatalf("%d messages with orders of ann", len(ofAnn))
	}
	change := func(at int) []conn.Message {
		altered := slices.Clone(all)
		altered[at].Data = bytes.Replace(altered[at].Data, []byte(`"client":"Claude"`), []byte(`"client":"Claudf"`), 1)
		return altered
	}
	for name, one := range map[string]struct {
		messages       []conn.Message
		found, foundBy bool // by verify alone, by verify with the chain that was noted
	}{
		"nothing":                            {all, false, false},
		"a byte changed":                     {change(ofAnn[2]), true, true},
		"a byte changed in the last message": {change(ofAnn[5]), false, true},
		"a message removed":                  {slices.Delete(slices.Clone(all), ofAnn[2], ofAnn[2]+1), true, true},
		"two messages swapped": {func() []conn.Message {
			altered := slices.Clone(all)
			altered[ofAnn[1]], altered[ofAnn[2]] = altered[ofAnn[2]], altered[ofAnn[1]]
			return altered
		}(), true, true},
		"a message twice":    {slices.Insert(slices.Clone(all), ofAnn[3], all[ofAnn[2]]), true, true},
		"the end cut off":    {all[:ofAnn[4]], false, true},
		"yesterday restored": {all[:ofAnn[2]], false, true},
	} {
		c, _ := rewritten(t, prefix, one.messages)
		report, err := audit.Verify(t.Context(), c, nil)
		check(t, err)
		if found := len(report.Breaks) > 0; found != one.found {
			t.Errorf("%s: found %v: %v", name, found, report.Breaks)
		}
		report, err = audit.Verify(t.Context(), c, map[principal.Owner]chain.Chain{"ann": ann})
		check(t, err)
		if found := len(report.Breaks) > 0; found != one.foundBy {
			t.Errorf("%s, with the chain that was noted: found %v: %v", name, found, report.Breaks)
		}
	}
	// Everything written again by somebody with the secret.
	c := replicatest.Connect(t, replicatest.Servers(), replicatest.NewPrefix())
	if _, other := written(t, c, "Another"); other == ann {
		t.Error("another log has the same chain")
	}
	if report, err := audit.Verify(t.Context(), c, map[principal.Owner]chain.Chain{"ann": ann}); err != nil || len(report.Breaks) != 1 {
		t.Errorf("a log that was written again: %v, %v", report.Breaks, err)
	}
}

// TestVerify_WithoutTheSecret writes and deletes messages at the servers without the secret.
func TestVerify_WithoutTheSecret(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	all, _ := written(t, replicatest.Connect(t, replicatest.Servers(), prefix), "Claude")
	c, stream := rewritten(t, prefix, all)
	check(t, c.NATS().Publish(c.Subject("order", conn.EncodeToken("ann")), []byte("{}")))
	check(t, c.NATS().Flush())
	replicatest.Eventually(t, "the foreign message is found", func() bool {
		report, err := audit.Verify(t.Context(), c, nil)
		check(t, err)
		return len(report.Breaks) == 1 && strings.Contains(report.Breaks[0].What, "was not sealed")
	})
	check(t, stream.DeleteMsg(t.Context(), uint64(len(all))))
	report, err := audit.Verify(t.Context(), c, nil)
	check(t, err)
	if len(report.Breaks) != 2 || !strings.Contains(report.Breaks[0].What, "lacks 1 messages") {
		t.Errorf("a deleted message: %v", report.Breaks)
	}
}

// TestVerify_AfterAnUpgrade has messages of an older version before and between those with a chain.
func TestVerify_AfterAnUpgrade(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	c := replicatest.Connect(t, replicatest.Servers(), prefix)
	var made checkpoints
	place := func(old bool, name string) {
		events := replicatest.Placed("ann", name)
		writer := take(t, c, time.Now, &made)
		if !old {
			_, err := writer.AppendEvents(t.Context(), replicatest.Ann(), events)
			check(t, err)
			return
		}
		text, err := json.Marshal(map[string]any{"set": conn.NewChangeInfo(name, time.Now(), replicatest.Ann()), "items": events})
		check(t, err)
		check(t, replicatest.WriteSealed(t.Context(), c, "ORDERS", c.Subject("order", conn.EncodeToken("ann")), text))
	}
	place(true, "one")
	place(false, "two")
	place(true, "three")
	place(false, "four")
	report, err := audit.Verify(t.Context(), c, nil)
	check(t, err)
	if len(report.Breaks) > 0 || report.Loose != 4 || report.Chains["ann"].Events != 4 {
		t.Errorf("%+v", report)
	}
	for name, want := range map[string]bool{"one": false, "two": true, "three": false, "four": true} {
		text, err := issue(t, c, "ann", name)
		if (err == nil) != want {
			t.Errorf("a receipt of order %s: %s, %v", name, text, err)
		}
	}
	lines, err := audit.Recent(t.Context(), c, 5)
	if err != nil || len(lines) != 5 || lines[4].Seq != 4 || lines[0].Subject != "two" || lines[2].Seq != 0 {
		t.Errorf("%v, %+v", err, lines)
	}
}
