package retry

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestBackoff_DoublesUpToItsMaximum(t *testing.T) {
	t.Parallel()
	b := Backoff{First: time.Second, Max: 10 * time.Second}
	for failures, want := range map[int]int{0: 1, 1: 1, 2: 2, 3: 4, 4: 8, 5: 10, 6: 10, 1 << 40: 10} {
		if got := b.Bound(failures); got != time.Duration(want)*time.Second {
			t.Errorf("Bound(%d) = %v, want %v s", failures, got, want)
		}
	}
	for random, want := range map[float64]time.Duration{0: 2 * time.Second, 0.5: 3 * time.Second} {
		if got := b.Delay(3, func() float64 { return random }); got != want {
			t.Errorf("Delay(3) at %v = %v, want %v", random, got, want)
		}
	}
	for range 100 {
		if got := b.Delay(3, nil); got < 2*time.Second || got >= 4*time.Second {
			t.Fatalf("Delay(3) = %v, want 2 s to below 4 s", got)
		}
	}
}

func TestSleep_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := Sleep(t.Context(), time.Minute); err != nil || time.Since(began) != time.Minute {
			t.Errorf("Sleep returned %v after %v", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Sleep returned %v after its context ended", err)
		}
	})
}
