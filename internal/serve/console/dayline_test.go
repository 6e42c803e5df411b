package console_test

import (
	"testing"
	"time"

	"candela/internal/serve/console"
)

// A program that began late in the day has a line of its own hours, not a sliver at the right.
func TestDayLine_BeginsWithTheProgram(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		first, last time.Duration
		from        string
		hours       int
	}{
		{0, 10 * time.Minute, "00:00", 3},
		{time.Minute, 14 * time.Hour, "00:00", 15},
		{20*time.Hour + 7*time.Minute, 20*time.Hour + 20*time.Minute, "20:00", 1},
		{20*time.Hour + 7*time.Minute, 23 * time.Hour, "20:00", 3},
		{3 * time.Hour, 23 * time.Hour, "00:00", 24},
	} {
		if from, hours := console.DayEdges(day.Add(c.first), day.Add(c.last)); from != c.from || hours != c.hours {
			t.Errorf("from %v to %v: %s and %d hours, want %s and %d", c.first, c.last, from, hours, c.from, c.hours)
		}
	}
}
