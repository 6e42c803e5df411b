package id_test

import (
	"regexp"
	"testing"
	"time"

	"candela/internal/kit/id"
)

func TestNew_IsVersion7(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_645_557_742_000) // the example of RFC 9562 A.6
	got := id.New(at)
	if !regexp.MustCompile(`^017f22e2-79b0-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(got) {
		t.Errorf("New = %s", got)
	}
}

func TestNew_SortsByTimeAndNeverRepeats(t *testing.T) {
	t.Parallel()
	seen, last := map[string]bool{}, ""
	for i := range 10_000 {
		got := id.New(time.UnixMilli(1_700_000_000_000 + int64(i)))
		if seen[got] || got <= last {
			t.Fatalf("%s after %s", got, last)
		}
		seen[got], last = true, got
	}
}

func TestTime_IsThatOfNew(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_645_557_742_123).UTC()
	if got, ok := id.Time(id.New(at)); !ok || !got.Equal(at) {
		t.Errorf("%v, %v", got, ok)
	}
	for _, text := range []string{"", "x", "017f22e2-79b0-4cc3-98c4-dc0c0c07398f", "zzzzzzzz-79b0-7cc3-98c4-dc0c0c07398f", "017f22e279b07cc398c4dc0c0c07398f0000"} {
		if got, ok := id.Time(text); ok {
			t.Errorf("%q: %v", text, got)
		}
	}
}
