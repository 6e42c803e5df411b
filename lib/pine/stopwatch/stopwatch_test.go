package stopwatch_test

import (
	"testing"

	"candela/lib/pine/stopwatch"
)

// TestWatch_GoesOnUntilTheLastStop works until the watch has moved, in a start within a start.
func TestWatch_GoesOnUntilTheLastStop(t *testing.T) {
	t.Parallel()
	var w stopwatch.Watch
	w.Start()
	w.Start()
	for n := uint64(1); w.Used() == 0; n++ {
		if n == 1<<40 {
			t.Fatal("the watch does not move")
		}
	}
	w.Stop()
	if !w.Running() {
		t.Error("it stopped before the last stop")
	}
	w.Stop()
	used := w.Used()
	if w.Running() || used <= 0 || w.Used() != used {
		t.Errorf("it stands at %v, then at %v", used, w.Used())
	}
	if w.Reset(); w.Used() != 0 {
		t.Errorf("it stands at %v after a reset", w.Used())
	}
}
