package ledger_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"candela/internal/store/ledger"
)

// TestCopy_IsOneMomentOfAStoreThatIsWritten copies while a writer does not stop:
// each copy verifies, is a prefix of the log, and opens as a store.
func TestCopy_IsOneMomentOfAStoreThatIsWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := ledger.Open(t.Context(), dir, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	var written atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error)
	go func() {
		for ctx.Err() == nil {
			if err := l.PutAlert(context.WithoutCancel(ctx), owner(), newAlert(1)); err != nil {
				stopped <- err
				return
			}
			written.Add(1)
		}
		stopped <- nil
	}()
	a, err := ledger.OpenAudit(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var events uint64
	for range 5 {
		before := written.Load()
		to := t.TempDir()
		size, err := a.Size(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := a.CopyTo(t.Context(), to); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(to, ledger.FileName))
		if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 || size < 4096 {
			t.Fatalf("mode %v, size %d of %d: %v", info.Mode(), info.Size(), size, err)
		}
		copied, err := ledger.OpenAudit(t.Context(), to)
		if err != nil {
			t.Fatal(err)
		}
		report, err := copied.Verify(t.Context())
		if err != nil || len(report.Breaks) > 0 || report.Events < uint64(before) || report.Events < events {
			t.Errorf("%+v after %d writes and a copy of %d: %v", report, before, events, err)
		}
		events = report.Events
		if found, err := a.Contains(t.Context(), report.Last, report.Hash); report.Last > 0 && (err != nil || !found) {
			t.Errorf("event %d of the copy is not in the store: %v", report.Last, err)
		}
		if err := copied.Close(); err != nil {
			t.Error(err)
		}
		again, err := ledger.Open(t.Context(), to, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
		if err := a.CopyTo(t.Context(), to); err == nil {
			t.Error("a copy was written over a store")
		}
	}
	cancel()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// A copy into a place that cannot be written says so.
func TestCopy_NoPlace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := ledger.Open(t.Context(), dir, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // nothing was written
	a, err := ledger.OpenAudit(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close() //nolint:errcheck // read only
	if err := a.CopyTo(t.Context(), filepath.Join(dir, "none")); err == nil {
		t.Error("no error")
	}
}
