package provider_test

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/data/provider"
)

func TestMemo_AsksOnceForMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := provider.Cache[int]{Keep: time.Hour, Most: 3}
		var asked atomic.Int32
		load := func(ctx context.Context) (int, error) {
			asked.Add(1)
			select {
			case <-ctx.Done():
				return 0, ctx.Err()
			case <-time.After(time.Second):
				return 7, nil
			}
		}
		results := make(chan error, 500)
		for range 500 {
			go func() {
				got, err := m.Get(t.Context(), time.Now(), "A", load)
				if err == nil && got != 7 {
					err = errors.New("got " + strconv.Itoa(got))
				}
				results <- err
			}()
		}
		for range 500 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		if asked.Load() != 1 {
			t.Errorf("asked %d times", asked.Load())
		}
		time.Sleep(time.Hour)
		if _, err := m.Get(t.Context(), time.Now(), "A", load); err != nil || asked.Load() != 2 {
			t.Errorf("what is old is not asked for again: %d, %v", asked.Load(), err)
		}
	})
}

func TestMemo_ACallerWhoLeavesTakesNobodyAlong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := provider.Cache[int]{Keep: time.Hour, Most: 3}
		load := func(ctx context.Context) (int, error) {
			select {
			case <-ctx.Done():
				return 0, ctx.Err()
			case <-time.After(time.Minute):
				return 7, nil
			}
		}
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		left := make(chan error)
		go func() {
			_, err := m.Get(impatient, time.Now(), "A", load)
			left <- err
		}()
		synctest.Wait()
		waiting := make(chan error)
		go func() {
			_, err := m.Get(t.Context(), time.Now(), "A", load)
			waiting <- err
		}()
		if err := <-left; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the first got %v", err)
		}
		if err := <-waiting; err != nil {
			t.Errorf("the second got %v", err)
		}
	})
}

func TestMemo_KeepsNoFailureAndNoMoreThanItMay(t *testing.T) {
	t.Parallel()
	m := provider.Cache[int]{Keep: time.Hour, Most: 3}
	wrong := errors.New("wrong")
	now := time.Unix(0, 0)
	asked := 0
	get := func(key string, err error) error {
		_, got := m.Get(t.Context(), now, key, func(context.Context) (int, error) {
			asked++
			return asked, err
		})
		return got
	}
	if err := get("A", wrong); !errors.Is(err, wrong) {
		t.Error(err)
	}
	for _, key := range []string{"A", "A", "B", "C", "A"} {
		if err := get(key, nil); err != nil {
			t.Error(err)
		}
	}
	if asked != 4 {
		t.Errorf("asked %d times, want 4", asked)
	}
	if err := errors.Join(get("D", nil), get("A", nil)); err != nil || asked != 6 {
		t.Errorf("asked %d times after it was full, %v", asked, err)
	}
}

func TestMemo_KeptNeverLoads(t *testing.T) {
	t.Parallel()
	m, now := provider.Cache[int]{Keep: time.Hour, Most: 3}, time.Unix(1e9, 0)
	kept := func(at time.Time) bool { _, ok := m.Kept(at, "A"); return ok }
	if kept(now) {
		t.Error("an empty cache keeps something")
	}
	_, err := m.Get(t.Context(), now, "A", func(context.Context) (int, error) {
		if kept(now) {
			t.Error("kept before it was loaded")
		}
		return 7, nil
	})
	if got, ok := m.Kept(now, "A"); err != nil || got != 7 || !ok {
		t.Errorf("%d, %v, %v", got, ok, err)
	}
	if kept(now.Add(time.Hour)) {
		t.Error("kept for too long")
	}
	if _, err := m.Get(t.Context(), now.Add(time.Hour), "A", func(context.Context) (int, error) { return 0, errors.New("down") }); err == nil || kept(now) {
		t.Error("a failure is kept")
	}
}
