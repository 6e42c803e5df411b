// Package stopwatch measures the processor time of a goroutine.
package stopwatch

import (
	"runtime"
	"time"
)

// Watch measures the processor time of one goroutine. While it runs, the goroutine stays
// on its thread, whose clock it reads. Where threads have no clock it measures the time that
// passes. Not safe for concurrent use.
type Watch struct {
	starts int           // that were not stopped
	used   time.Duration // before the first of them
	since  time.Duration // reading of the clock at the first of them
}

// Start starts it. Each call needs a [Watch.Stop] by the same goroutine; between calls
// within each other it goes on.
func (w *Watch) Start() {
	if w.starts++; w.starts == 1 {
		runtime.LockOSThread()
		w.since = threadTime()
	}
}

// Stop is the reverse of Start.
func (w *Watch) Stop() {
	if w.starts--; w.starts == 0 {
		w.used += max(threadTime()-w.since, 0)
		runtime.UnlockOSThread()
	}
}

// Running reports whether it was started.
func (w *Watch) Running() bool { return w.starts > 0 }

// Used returns the time so far.
func (w *Watch) Used() time.Duration {
	if w.starts == 0 {
		return w.used
	}
	return w.used + max(threadTime()-w.since, 0)
}

// Reset sets the time so far to 0.
func (w *Watch) Reset() {
	w.used = 0
	if w.starts > 0 {
		w.since = threadTime()
	}
}
