package longtest_test

import (
	"testing"

	"candela/internal/testkit/longtest"
)

func TestPick_FollowsTheEnvironment(t *testing.T) {
	for value, want := range map[string]string{"": "short", "0": "short", "1": "long"} {
		t.Setenv("LONGTEST", value)
		if got := longtest.Pick("short", "long"); got != want {
			t.Errorf("with %q the form is %s, want %s", value, got, want)
		}
	}
}

func TestSeed_IsOneByDefault(t *testing.T) {
	for value, want := range map[string]uint64{"": 1, "0": 0, "18446744073709551615": 1<<64 - 1} {
		t.Setenv("LONGTEST_SEED", value)
		if got := longtest.Seed(); got != want {
			t.Errorf("with %q the seed is %d, want %d", value, got, want)
		}
	}
}

func TestSeed_RefusesWhatIsNoNumber(t *testing.T) {
	t.Setenv("LONGTEST_SEED", "today")
	defer func() {
		if recover() == nil {
			t.Error("a seed that is no number passed")
		}
	}()
	longtest.Seed()
}
