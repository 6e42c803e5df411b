package inboxtest

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/local"
	"candela/internal/alerting/notify/records"
	"candela/internal/alerting/notify/recordtest"
	"candela/internal/alerting/notify/replicated"
	"candela/lib/fault"
)

// places holds an in-memory store for each name of a suite.
type places struct {
	mu    sync.Mutex
	given map[string]*recordtest.Memory
}

func (p *places) memory(place string) *recordtest.Memory {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.given == nil {
		p.given = map[string]*recordtest.Memory{}
	}
	if p.given[place] == nil {
		p.given[place] = recordtest.NewMemory()
	}
	return p.given[place]
}

func TestRecordStore_InMemoryPassesTheSuite(t *testing.T) {
	t.Parallel()
	var all places
	recordtest.Run(t, 0, func(_ *testing.T, place string) recordtest.Closer { return all.memory(place).Store(1, 0) })
}

// mute is a store that loses every second acknowledgement.
type mute struct {
	*recordtest.Store
	writes atomic.Int64
}

func (k *mute) Write(ctx context.Context, batch []records.Record) (uint64, error) {
	first, err := k.Store.Write(ctx, batch)
	if err == nil && k.writes.Add(1)%2 == 1 {
		return 0, fault.Unreachable(errors.New("the answer got lost"), 0, "try again")
	}
	return first, err
}

func TestRecordStore_WithLostAcknowledgementsPassesTheSuite(t *testing.T) {
	t.Parallel()
	var all places
	recordtest.Run(t, time.Minute, func(_ *testing.T, place string) recordtest.Closer {
		return &mute{Store: all.memory(place).Store(1, 0)}
	})
}

func TestInbox_LocalPassesTheSuite(t *testing.T) {
	t.Parallel()
	var dirs sync.Map
	recordtest.RunInbox(t, 0, func(t *testing.T, place string, _ *recordtest.Replica) (notify.Inbox, func()) {
		t.Helper()
		kept, _ := dirs.LoadOrStore(place, t.TempDir())
		dir, _ := kept.(string)
		cfg := local.Config{Path: filepath.Join(dir, "subscriptions.json"), Now: time.Now, Log: slog.New(slog.DiscardHandler)}
		log, err := local.Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		// Writes after a crash are lost: the next process gets a copy.
		return log, func() {
			data, err := os.ReadFile(cfg.Path)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
			next := filepath.Join(t.TempDir(), "copy")
			if err := errors.Join(os.Mkdir(next, 0o700), os.WriteFile(filepath.Join(next, "subscriptions.json"), data, 0o600)); err != nil {
				t.Error(err)
			}
			dirs.Store(place, next)
		}
	})
}

// overMemory opens inboxes over a shared in-memory store.
func overMemory(lag time.Duration) recordtest.Opener {
	var all places
	var seed atomic.Uint64
	return func(t *testing.T, place string, r *recordtest.Replica) (notify.Inbox, func()) {
		t.Helper()
		k := all.memory(place).Store(seed.Add(1), lag)
		log, err := replicated.Open(t.Context(), r.Config(k))
		if err != nil {
			t.Fatal(err)
		}
		return log, k.Close
	}
}

func TestInbox_ReplicatedPassesTheSuite(t *testing.T) {
	t.Parallel()
	recordtest.RunInbox(t, 0, overMemory(0))
}

func TestInbox_ReplicatedPassesTheSuiteOfReplicas(t *testing.T) {
	t.Parallel()
	recordtest.RunReplicas(t, 0, overMemory(0))
}

func TestInbox_ReplicatedWithDelaysPassesTheSuiteOfReplicas(t *testing.T) {
	t.Parallel()
	recordtest.RunReplicas(t, 0, overMemory(20*time.Millisecond))
}

// TestPoll_FindsTheLeaseOfAnUnacknowledgedWrite loses the acknowledgement of a poll's first
// write and appends an entry before the retry: both entries are delivered once.
func TestPoll_FindsTheLeaseOfAnUnacknowledgedWrite(t *testing.T) {
	t.Parallel()
	store := recordtest.NewMemory().Store(1, 0)
	t.Cleanup(store.Close)
	log, err := replicated.Open(t.Context(), replicated.Config{
		Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Store: store, Replicas: recordtest.NewMembers().Join("r"),
		CatchUp: func(context.Context) error { return nil }, TokenEnded: func(context.Context, string) (bool, error) { return false, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	log.Append([]notify.Entry{entry(1, "BTCUSDT", "price_above", time.Now())})
	calls := 0
	store.Fail(func() error {
		if calls++; calls != 2 { // the first precedes the write, the second follows it
			return nil
		}
		log.Append([]notify.Entry{entry(2, "ETHUSDT", "price_above", time.Now())})
		return errors.New("no answer in time")
	})
	var got []uint64
	for range 2 {
		b, err := log.Poll(t.Context(), caller("key"), 0, notify.Bound{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range b.Entries {
			got = append(got, e.Seq)
		}
		b.Settle(true)
	}
	if !slices.Equal(got, []uint64{1, 2}) {
		t.Errorf("polled %v", got)
	}
}
