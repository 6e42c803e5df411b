package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/store/ledger"
	"candela/lib/fault"
)

// bubble runs a test on a store in which every writer that waits stands still when
// synctest.Wait returns.
func bubble(t *testing.T, run func(t *testing.T, l *ledger.Ledger)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l, err := ledger.Open(t.Context(), t.TempDir(), time.Now)
		check(t, err)
		run(t, l)
		check(t, l.Close())
	})
}

func TestWrite_ManyShareACommit(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, l *ledger.Ledger) {
		t.Helper()
		twice := newAlert(1)
		check(t, l.PutAlert(t.Context(), owner(), twice))
		release := l.Hold()
		var wg sync.WaitGroup
		outcomes := make([]error, 30)
		for i := range outcomes {
			wg.Go(func() {
				switch i % 3 {
				case 0:
					outcomes[i] = l.PutAlert(t.Context(), owner(), newAlert(int64(i)))
				case 1: // fails alone, after its first statement
					outcomes[i] = l.PutAlert(t.Context(), owner(), twice)
				case 2:
					outcomes[i] = l.CancelAlert(t.Context(), owner(), "none")
				}
			})
		}
		synctest.Wait()
		if n := l.Waiting(); n != len(outcomes) {
			t.Errorf("%d writers wait", n)
		}
		release()
		wg.Wait()
		for i, err := range outcomes {
			want := []fault.Kind{fault.Internal, fault.Conflict, fault.NotFound}[i%3]
			if (err == nil) != (i%3 == 0) || fault.KindOf(err) != want {
				t.Errorf("writer %d got %v", i, err)
			}
		}
		if n := count(t, l); n != 11 {
			t.Errorf("%d alerts, want 11", n)
		}
	})
}

func count(t *testing.T, l *ledger.Ledger) int {
	t.Helper()
	n := 0
	for _, err := range l.Alerts(t.Context()) {
		check(t, err)
		n++
	}
	return n
}

// TestWrite_ChainsWhatSharesACommit looks at the log after writers that shared
// commits, some of whom failed.
func TestWrite_ChainsWhatSharesACommit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := open(t, dir)
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			a := newAlert(int64(i))
			if err := l.PutAlert(context.WithoutCancel(t.Context()), owner(), a); err != nil {
				t.Error(err)
			}
			if err := l.PutAlert(context.WithoutCancel(t.Context()), owner(), a); fault.KindOf(err) != fault.Conflict {
				t.Error(err)
			}
			if _, err := l.FireAlerts(context.WithoutCancel(t.Context()), []alert.Firing{firing(a)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if r := verified(t, dir); r.Events != 80 {
		t.Errorf("%d events of 80", r.Events)
	}
}

func TestWrite_AContextEndsTheWaitAlone(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, l *ledger.Ledger) {
		t.Helper()
		release := l.Hold()
		ctx, cancel := context.WithCancel(t.Context())
		outcome := make(chan error, 1)
		go func() { outcome <- l.PutAlert(ctx, owner(), newAlert(1)) }()
		synctest.Wait()
		cancel()
		if err := <-outcome; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if n := l.Waiting(); n != 0 {
			t.Errorf("%d writers wait", n)
		}
		release()
		check(t, l.PutAlert(t.Context(), owner(), newAlert(2)))
		if n := count(t, l); n != 1 {
			t.Errorf("%d alerts, want 1", n)
		}
	})
}

// TestWrite_FailuresAreTyped meets the failures of a disk as SQLite reports them. The
// real ones are in TestPowerCut, where a disk can be mounted.
func TestWrite_FailuresAreTyped(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ fail, heal, code string }{
		"no room":    {"max_page_count = 1", "max_page_count = 1000000", "store_full"},
		"no writing": {"query_only = 1", "query_only = 0", "store_read_only"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			l := open(t, dir)
			kept := newAlert(1)
			check(t, l.PutAlert(t.Context(), owner(), kept))
			check(t, l.Pragma(t.Context(), tc.fail))
			l.SetRoom(false)
			var err error
			for i := range 1000 {
				a := newAlert(int64(i))
				a.Note = fmt.Sprintf("%4000d", i)
				if err = l.PutAlert(t.Context(), owner(), a); err != nil {
					break
				}
			}
			if e := fault.Of(err); e == nil || e.Kind != fault.Unavailable || e.Code != tc.code {
				t.Errorf("got %v", err)
			}
			if s := l.Stats(); s.Failing != tc.code || s.Errors[tc.code] == 0 {
				t.Errorf("the store says %+v", s)
			}
			before := count(t, l)
			if _, err := l.FireAlerts(t.Context(), []alert.Firing{firing(kept)}); tc.code == "store_read_only" && fault.KindOf(err) != fault.Unavailable {
				t.Errorf("firing gives %v", err)
			}
			check(t, l.Pragma(t.Context(), tc.heal))
			check(t, l.PutAlert(t.Context(), owner(), newAlert(3)))
			if s := l.Stats(); (s.Failing != "") != (tc.code == "store_full") {
				t.Errorf("with little room left the store says %+v", s)
			}
			l.SetRoom(true)
			check(t, l.PutAlert(t.Context(), owner(), newAlert(2)))
			if s := l.Stats(); s.Failing != "" || s.Commits.Count() < 2 || s.Writes < 2 || s.Bytes == 0 {
				t.Errorf("the store says %+v", s)
			}
			if n := count(t, l); n < before {
				t.Errorf("%d alerts after %d", n, before)
			}
			verified(t, dir)
		})
	}
}
