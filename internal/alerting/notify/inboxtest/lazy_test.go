package inboxtest

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/recordtest"
	"candela/internal/alerting/notify/replicated"
	"candela/internal/kit/principal"
)

// stored is a store of one owner's entries that counts how often it is read.
type stored struct {
	entries []notify.Entry
	reads   int
	fail    error // of the next read
}

func (s *stored) read(context.Context, principal.Owner) (uint64, []notify.Entry, error) {
	s.reads++
	err := s.fail
	s.fail = nil
	return uint64(len(s.entries)), s.entries, err
}

// An inbox of many owners holds nothing of an owner before the first use and after ten minutes
// without one, and still delivers every entry once.
func TestInbox_ReadsAnOwnerOnFirstUse(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var from stored
	store := recordtest.NewMemory().Store(1, 0)
	t.Cleanup(store.Close)
	box, err := replicated.Open(t.Context(), replicated.Config{
		Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler), Store: store, Replicas: recordtest.NewMembers().Join("r"),
		CatchUp: func(context.Context) error { return nil }, Read: from.read,
	})
	if err != nil {
		t.Fatal(err)
	}
	fire := func() {
		one := entry(uint64(len(from.entries)+1), "BTCUSDT", "price_above", now)
		from.entries = append(from.entries, one)
		box.Append([]notify.Entry{one})
	}
	caller := principal.Caller{Subject: entry(1, "BTCUSDT", "price_above", now).Owner, Key: "key"}
	poll := func() int {
		t.Helper()
		batch, err := box.Poll(t.Context(), caller, 0, notify.Bound{})
		if err != nil {
			t.Fatal(err)
		}
		batch.Settle(true)
		return len(batch.Entries)
	}
	fire()
	if s := box.Stats(); s.Entries != 0 || from.reads != 0 {
		t.Errorf("%d entries held, %d reads before the first use", s.Entries, from.reads)
	}
	from.fail = errors.New("no answer")
	if _, err := box.Poll(t.Context(), caller, 0, notify.Bound{}); err == nil {
		t.Error("a poll whose entries could not be read answers")
	}
	if n := poll(); n != 1 {
		t.Errorf("%d entries polled, want 1", n)
	}
	fire()
	if n := poll(); n != 1 || from.reads != 2 {
		t.Errorf("%d entries polled after %d reads, want 1 after 2", n, from.reads)
	}
	now = now.Add(9 * time.Minute)
	box.DropIdle()
	if s := box.Stats(); s.Entries != 2 {
		t.Errorf("%d entries held after nine minutes", s.Entries)
	}
	now = now.Add(2 * time.Minute)
	box.DropIdle()
	if s := box.Stats(); s.Entries != 0 {
		t.Errorf("%d entries held after eleven minutes", s.Entries)
	}
	fire()
	if n := poll(); n != 1 || from.reads != 3 {
		t.Errorf("%d entries polled after %d reads, want 1 after 3", n, from.reads)
	}
}
