package budget

import (
	"runtime"
	"time"
)

// Stopwatch measures the processor time of one goroutine. While it runs, the goroutine stays
// on its thread, whose clock it reads. Where threads have no clock it measures the time that
// passes. Not safe for concurrent use.
type Stopwatch struct {
	starts int           // that were not stopped
	used   time.Duration // before the first of them
	since  time.Duration // reading of the clock at the first of them
}

// Start starts it. Each call needs a [Stopwatch.Stop] by the same goroutine; between calls
// within each other it goes on.
func (w *Stopwatch) Start() {
	if w.starts++; w.starts == 1 {
		runtime.LockOSThread()
		w.since = threadTime()
	}
}

// Stop is the reverse of Start.
func (w *Stopwatch) Stop() {
	if w.starts--; w.starts == 0 {
		w.used += max(threadTime()-w.since, 0)
		runtime.UnlockOSThread()
	}
}

// Running reports whether it was started.
func (w *Stopwatch) Running() bool { return w.starts > 0 }

// Used returns the time so far.
func (w *Stopwatch) Used() time.Duration {
	if w.starts == 0 {
		return w.used
	}
	return w.used + max(threadTime()-w.since, 0)
}

// Reset sets the time so far to 0.
func (w *Stopwatch) Reset() {
	w.used = 0
	if w.starts > 0 {
		w.since = threadTime()
	}
}
