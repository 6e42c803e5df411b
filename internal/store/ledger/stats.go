package ledger

import (
	"os"
	"sync/atomic"
	"time"

	"candela/internal/kit/disk"
	"candela/internal/kit/meter"
	"candela/internal/store"
	"candela/lib/fault"
)

// tally counts commits.
type tally struct {
	took    meter.Histogram
	writes  atomic.Uint64
	errors  meter.Counters         // by code
	failing atomic.Pointer[string] // the code of the last commit's failure, nil when it did not fail
	room    func() bool            // the disk has room
}

// add counts a commit of so many writes. A change that the store refuses, because
// its key is taken for one, is no failure of the store.
func (t *tally) add(writes int, took time.Duration, err error) {
	if e := fault.Of(err); e != nil {
		if t.errors.Add(e.Code) {
			t.failing.Store(&e.Code)
		}
		return
	}
	if err != nil {
		return
	}
	t.took.Observe(took)
	t.writes.Add(uint64(writes)) //nolint:gosec // G115: a length
	if code := t.failing.Load(); code == nil || *code != "store_full" || t.room() {
		t.failing.Store(nil)
	}
}

// minRoom is how much must be free before a store that was full counts as working again: a small commit may find room where the next
// does not.
const minRoom = 16 << 20

// hasRoom reports whether the disk of a store has room for what is to come.
func hasRoom(path string) bool {
	free, err := disk.Free(path)
	return err != nil || free >= minRoom
}

// Stats returns what was counted so far.
func (l *Ledger) Stats() store.Stats {
	s := store.Stats{Commits: l.tally.took.Read(), Writes: l.tally.writes.Load(), Errors: l.tally.errors.Read()}
	if code := l.tally.failing.Load(); code != nil {
		s.Failing = *code
	}
	if info, err := os.Stat(l.path); err == nil {
		s.Bytes = info.Size()
	}
	if info, err := os.Stat(l.path + "-wal"); err == nil {
		s.Log = info.Size()
	}
	return s
}
