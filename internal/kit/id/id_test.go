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

func TestDerived_DependsOnEveryPart(t *testing.T) {
	t.Parallel()
	got := id.Derived("order", "local", "k1")
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(got) || got != id.Derived("order", "local", "k1") {
		t.Errorf("Derived = %s", got)
	}
	for _, parts := range [][]string{{"order", "local", "k2"}, {"order", "locals", "k1"}, {"order", "local"}, {"order", "localk1"}, {"order", "local", "k1", ""}} {
		if id.Derived(parts...) == got {
			t.Errorf("%q has the same id", parts)
		}
	}
}

func TestValid_TakesItsOwnFormsOnly(t *testing.T) {
	t.Parallel()
	for _, text := range []string{id.New(time.UnixMilli(1)), id.Derived("x")} {
		if !id.Valid(text) {
			t.Errorf("%s is refused", text)
		}
	}
	for _, text := range []string{"", "web_1", "017f22e2-79b0-4cc3-98c4-dc0c0c07398f", "017f22e2-79b0-7cc3-18c4-dc0c0c07398f", "017f22e2-79b0-7cc3-98c4-dc0c0c07398g", "017f22e279b07cc398c4dc0c0c07398f0000"} {
		if id.Valid(text) {
			t.Errorf("%s is taken", text)
		}
	}
}
