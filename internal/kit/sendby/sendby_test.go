package sendby_test

import (
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/kit/sendby"
)

func TestLeft_IsTheRestOfTheTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		if _, limited := sendby.Left(sendby.With(t.Context(), time.Time{})); limited {
			t.Error("a zero time limits requests")
		}
		ctx := sendby.With(t.Context(), time.Now().Add(time.Second))
		for _, want := range []time.Duration{time.Second, 300 * time.Millisecond, -400 * time.Millisecond} {
			if left, limited := sendby.Left(ctx); left != want || !limited {
				t.Errorf("%v, %v left, want %v", left, limited, want)
			}
			time.Sleep(700 * time.Millisecond)
		}
	})
}

// TestUntil_CountsAStandstillOfTheMachine takes a time whose readings of the two clocks differ: the
// machine slept after it was read.
func TestUntil_CountsAStandstillOfTheMachine(t *testing.T) {
	t.Parallel()
	if left := sendby.Until(time.Now().Add(-time.Minute).Round(0)); left > 0 {
		t.Errorf("%v left", left)
	}
}
