package setting_test

import (
	"testing"

	"candela/internal/kit/setting"
)

// TestMoment_TakesADate reads moments as people write them.
func TestMoment_TakesADate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                          "",
		"2025-01-31":                "2025-01-31T00:00:00Z",
		"2025-01-31T09:30:00Z":      "2025-01-31T09:30:00Z",
		"2025-01-31T09:30:00+01:00": "2025-01-31T08:30:00Z",
	} {
		if got, ok := setting.Moment().Read(text); got != want || !ok {
			t.Errorf("%q is %q, %v, want %q", text, got, ok, want)
		}
	}
	for _, text := range []string{"31.1.2025", "2025-02-30", "now"} {
		if got, ok := setting.Moment().Read(text); ok {
			t.Errorf("%q is %q", text, got)
		}
	}
}
