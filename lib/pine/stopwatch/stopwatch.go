// Package stopwatch measures the processor time of a goroutine.
package stopwatch

import (
	"runtime"
	"time"
)

// briefly is how much of each stretch is measured by the time that passes. A goroutine on a thread of its
// own costs a switch of threads whenever the scheduler interrupts it, so that short work is not given one.
const briefly = 10 * time.Millisecond

// Watch measures the processor time of one goroutine. The first 10 ms after a start or a reset are time
// that passes, which is at least as long. After them the goroutine stays on its thread, whose
// clock counts. Where threads have no clock it measures the time that passes. Not safe for
// concurrent use.
type Watch struct {
	starts int           // that were not stopped
	used   time.Duration // before the first of them, or before the goroutine stays on its thread
	began  time.Time     // of the first of them
	bound  bool          // the goroutine stays on its thread
	since  time.Duration // reading of the thread's clock when it was bound
}

// Start starts it. Each call needs a [Watch.Stop] by the same goroutine; between calls
// within each other it goes on.
func (w *Watch) Start() {
	if w.starts++; w.starts == 1 {
		w.began = time.Now()
	}
}

// Stop is the reverse of Start.
func (w *Watch) Stop() {
	if w.starts--; w.starts > 0 {
		return
	}
	w.used += w.running()
	if w.bound {
		w.bound = false
		runtime.UnlockOSThread()
	}
}

// Running reports whether it was started.
func (w *Watch) Running() bool { return w.starts > 0 }

// Touched reports whether it runs or has measured something.
func (w *Watch) Touched() bool { return w.starts > 0 || w.used > 0 }

// Used returns the time so far.
func (w *Watch) Used() time.Duration {
	if w.starts == 0 {
		return w.used
	}
	now := w.running()
	if !w.bound && now == briefly {
		w.used += now
		now = 0
		runtime.LockOSThread()
		w.bound, w.since = true, Thread()
	}
	return w.used + now
}

// running returns the time since the start, or since the goroutine stays on its thread.
func (w *Watch) running() time.Duration {
	if w.bound {
		return max(Thread()-w.since, 0)
	}
	return min(time.Since(w.began), briefly)
}

// Reset sets the time so far to 0.
func (w *Watch) Reset() {
	w.used = 0
	switch {
	case w.bound:
		w.since = Thread()
	case w.starts > 0:
		w.began = time.Now()
	}
}
