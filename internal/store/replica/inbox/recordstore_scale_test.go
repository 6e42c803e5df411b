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

// TestRecordStore_UsesOneConsumerForAllClients counts what the servers hold for a replica with one
// stream and with many, and what they made meanwhile: a reader per client might
// be gone by the end.
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
	follows := func() bool { // one, and nobody else
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
	replicatest.Eventually(t, "the one that read the beginning is gone", follows)
	replicatest.Eventually(t, "the servers tell what they make", func() bool { return made.Load() > 0 })
	before := made.Load()
	streams := longtest.Pick(80, 200)
	for i := range streams {
		open(i)
	}
	replicatest.Eventually(t, "one follows for all streams", follows)
	// One that servers which stall have lost is made anew, whoever comes.
	if more := made.Load() - before; more > int64(streams/2) {
		t.Errorf("%d consumers were made for %d streams", more, streams)
	}
}

// sharedLog is the log of a replica that is alone. Nothing runs it.
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

// BenchmarkRecordStore is what it costs until three replicas have the places of ten
// thousand streams, and until they have where a thousand streams are that are opened
// together.
func BenchmarkRecordStore(b *testing.B) {
	places := make([]records.Record, 10)
	for i := range places {
		form := make([]byte, 0, 100_000)
		for j := range 1000 {
			form = fmt.Appendf(form, `,"%064d":[1,1234567]`, 1000*i+j)
		}
		form[0] = '{'
		places[i] = records.Record{Kind: records.CursorKind, Name: "member/" + strconv.Itoa(i), Data: append(form, '}')}
	}
	b.Run("10000 places", func(b *testing.B) { benchmarkRecordStore(b, places, 10_000) })
	seats := make([]records.Record, records.MaxRecords)
	for i := range seats {
		seats[i] = records.Record{
			Kind: records.AttachmentKind, Name: fmt.Sprintf("%064d", i), CompareAndSet: true,
			Data: []byte(`{"owner":"owner","n":1,"at":"ABCDEFGHIJKLMNOPQRSTUVWXYZ","open":true,"sub":123456,"cursor":1234567,"seen":"2026-01-31T16:00:00Z"}`),
		}
	}
	b.Run("1000 seats", func(b *testing.B) { benchmarkRecordStore(b, seats, len(seats)) })
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
