package replicatest_test

import (
	"context"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/replicatest"
	"candela/internal/store/replica/table"
	"candela/internal/testkit/longtest"
)

// TestReadAll_FindsWhatIsReplacedMeanwhile reads a row that is written again and again, as the
// heartbeat of a replica is. The servers remove the old message first and count the new one a
// moment later, so that nothing seems to follow a barrier.
func TestReadAll_FindsWhatIsReplacedMeanwhile(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	open := func() *table.Table {
		rows, err := table.Open(t.Context(), replicatest.Connect(t, replicatest.Servers(), prefix), "MEMBERS", jetstream.MemoryStorage, "member")
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	writer, reader := open(), open()
	write := func(ctx context.Context) error {
		_, err := writer.Write(ctx, conn.Change{Subject: writer.Subject("member", "a"), Data: []byte("x")})
		return err
	}
	if err := writer.RetryWrite(t.Context(), "write", write); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	defer writing.Wait()
	defer stop()
	writing.Go(func() {
		for ctx.Err() == nil {
			_ = write(ctx)
		}
	})
	for i := range longtest.Pick(60, 300) {
		rows, err := table.ReadAll(t.Context(), reader, "read", reader.Subject("member", "*"), 0, func(m conn.Message) (string, bool, error) { return m.Subject, true, nil })
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) != 1 {
			t.Fatalf("reading %d finds %q", i+1, rows)
		}
	}
}
