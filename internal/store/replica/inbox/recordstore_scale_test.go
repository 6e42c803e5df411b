package inbox_test

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/records"
	"candela/internal/alerting/notify/recordtest"
	"candela/internal/alerting/notify/replicated"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/inbox"
	"candela/internal/store/replica/replicatest"
	"candela/internal/testkit/longtest"
)

// TestRecordStore_UsesOneConsumerForAllClients counts the consumers of a replica with one stream
// and with many, including those created and deleted meanwhile.
func TestRecordStore_UsesOneConsumerForAllClients(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	var made atomic.Int64
	nc := replicatest.ConnectRaw(t, replicatest.Servers())
	_, err := nc.Subscribe("$JS.EVENT.ADVISORY.CONSUMER.CREATED."+prefix+"_STATE.*", func(*nats.Msg) { made.Add(1) })
	if err == nil {
		err = nc.FlushTimeout(replicatest.Patience)
	}
	if err != nil {
		t.Fatal(err)
	}
	log := sharedLog(t, replicatest.Connect(t, replicatest.Servers(), prefix))
	states := replicatest.StreamOf(t, replicatest.Servers(), prefix+"_STATE")
	follows := func() bool { // exactly one consumer
		once, end := replicatest.Question(t)
		defer end()
		info, err := states.Info(once)
		return err == nil && info.State.Consumers == 1
	}
	open := func(i int) {
		caller := principal.Caller{Subject: "owner", Key: strconv.Itoa(i)}
		_, err := replicatest.Insist(t, func() (any, error) { return nil, log.Subscribe(t.Context(), caller, notify.Filter{}) })
		if err == nil {
			_, err = replicatest.Insist(t, func() (any, error) { return log.Open(t.Context(), caller, "") })
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	open(0)
	replicatest.Eventually(t, "the initial reader is gone", follows)
	replicatest.Eventually(t, "the servers report created consumers", func() bool { return made.Load() > 0 })
	before := made.Load()
	streams := longtest.Pick(80, 200)
	for i := range streams {
		open(i)
	}
	replicatest.Eventually(t, "one consumer serves all streams", follows)
	// A consumer that stalled servers have lost is created again, whatever the clients do.
	if more := made.Load() - before; more > int64(streams/2) {
		t.Errorf("%d consumers were created for %d streams", more, streams)
	}
}

// sharedLog is the inbox of a single replica, without its background work.
func sharedLog(tb testing.TB, c *conn.Conn) notify.Inbox {
	tb.Helper()
	log, err := replicated.Open(tb.Context(), replicated.Config{
		Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Store: openRecordStore(tb, c), Replicas: recordtest.NewMembers().Join("one"), CatchUp: func(ctx context.Context) error { return ctx.Err() },
	})
	if err != nil {
		tb.Fatal(err)
	}
	return log
}

// BenchmarkRecordStore measures the time until three replicas have the cursors of ten thousand
// streams, or the attachments of a thousand streams that open together.
func BenchmarkRecordStore(b *testing.B) {
	cursors := make([]records.Record, 10)
	for i := range cursors {
		form := make([]byte, 0, 100_000)
		for j := range 1000 {
			form = fmt.Appendf(form, `,"%064d":[1,1234567]`, 1000*i+j)
		}
		form[0] = '{'
		cursors[i] = records.Record{Kind: records.CursorKind, Name: "member/" + strconv.Itoa(i), Data: append(form, '}')}
	}
	b.Run("10000 cursors", func(b *testing.B) { benchmarkRecordStore(b, cursors, 10_000) })
	attachments := make([]records.Record, records.MaxRecords)
	for i := range attachments {
		attachments[i] = records.Record{
			Kind: records.AttachmentKind, Name: fmt.Sprintf("%064d", i), CompareAndSet: true,
			Data: []byte(`{"owner":"owner","n":1,"at":"ABCDEFGHIJKLMNOPQRSTUVWXYZ","open":true,"sub":123456,"cursor":1234567,"seen":"2026-01-31T16:00:00Z"}`),
		}
	}
	b.Run("1000 attachments", func(b *testing.B) { benchmarkRecordStore(b, attachments, len(attachments)) })
}

func benchmarkRecordStore(b *testing.B, batch []records.Record, streams int) {
	b.Helper()
	prefix := replicatest.NewPrefix()
	var came atomic.Int64
	all := make(chan struct{}, 1)
	var writer *inbox.RecordStore
	for range 3 {
		k := openRecordStore(b, replicatest.Connect(b, replicatest.Servers(), prefix))
		if err := k.Watch(b.Context(), func(records.Record) {
			if came.Add(1)%int64(3*len(batch)) == 0 {
				all <- struct{}{}
			}
		}); err != nil {
			b.Fatal(err)
		}
		writer = k
	}
	for i := range batch {
		batch[i].Rev = 0
	}
	for b.Loop() {
		first, err := writer.Write(b.Context(), batch)
		if err != nil {
			b.Fatal(err)
		}
		for i := range batch {
			batch[i].Rev = first + uint64(i)
		}
		<-all
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*streams), "µs/stream")
}
