package eval

import (
	"time"

	"candela/lib/pine/stopwatch"
	"candela/lib/pine/syntax"
)

// slice is how many steps a machine takes between two looks at the clock and pauses of
// its budget. A step takes less than 200 ns of processor time, so that is less than 2 ms.
const slice = 8192

// wordsAStep is how many numbers are copied in the time of a step.
const wordsAStep = 64

// grain is how many bytes a budget is asked for at once.
const grain = 256 << 10

// Budget is what a script shares with other work.
type Budget interface {
	// Hold says that the script holds so many bytes more, or less where bytes is negative. The
	// error names the bound that they do not fit into; nothing is held then. Less always fits.
	Hold(bytes int64) error

	// Pause is called every few milliseconds, so that other work can go before. It says why
	// the script must end now; nil while it may go on.
	Pause() error
}

// alone is the budget of a script that shares nothing.
type alone struct{}

func (alone) Hold(int64) error { return nil }
func (alone) Pause() error     { return nil }

// meter counts what the machines of one script use together: those of its requests count
// with it.
type meter struct {
	shared Budget
	limits Limits
	ofBars bool // each bar has its own bounds: a machine has none for its life
	watch  stopwatch.Watch

	held    int64 // bytes that the script holds
	granted int64 // of which the budget knows
	columns int64 // bytes of values that were computed ahead
	made    int64 // bytes made, in the life of the script or on this bar
	owed    int64 // steps since the last look
}

func newMeter(shared Budget, limits Limits) *meter {
	return &meter{shared: shared, limits: limits, ofBars: limits.TotalTime == 0 && limits.BarTime > 0}
}

// touched reports whether the bar before has used what a bar may use.
func (t *meter) touched() bool { return t.made != 0 || t.watch.Touched() }

// beginBar starts the bounds of a bar, and looks at the clock when it is time.
func (m *Machine) beginBar() {
	t := m.meter
	if t.ofBars && !m.inner {
		t.watch.Reset()
		t.made = 0
	}
	if t.owed > slice {
		m.look(m.place)
	}
}

// time returns how much processor time is allowed, 0 for no bound.
func (t *meter) time() time.Duration {
	if t.limits.TotalTime > 0 {
		return t.limits.TotalTime
	}
	return t.limits.BarTime
}

// release counts bytes that a script no longer holds, and gives the budget back what is left
// over.
func (t *meter) release(bytes int64) {
	t.held -= bytes
	if over := t.granted - t.held - 4*grain; over > 0 {
		_ = t.shared.Hold(-over) // less always fits
		t.granted -= over
	}
}

// close gives everything back.
func (t *meter) close() {
	_ = t.shared.Hold(-t.granted - t.columns) // less always fits
	t.granted, t.columns = 0, 0
}

// Close gives the memory of a machine back to its budget. The machine must not be used any
// more. The machines of requests end with it.
func (m *Machine) Close() { m.meter.close() }

// Measure counts the processor time of the caller's goroutine from now until done is called,
// which must be by the same goroutine, as time of the script. Without it only bars that take
// many steps are measured.
func (m *Machine) Measure() (done func()) {
	m.meter.watch.Start()
	return m.meter.watch.Stop
}

// Used returns the processor time of the script so far, or of its last bar where each has a
// bound of its own, as far as it was measured.
func (m *Machine) Used() time.Duration { return m.meter.watch.Used() }

// Held returns how many bytes the script holds.
func (m *Machine) Held() int64 { return m.meter.held }

// hold counts bytes that the script holds from now on.
func (m *Machine) hold(at syntax.Pos, bytes int) {
	t := m.meter
	if t.held += int64(bytes); t.held > t.granted {
		m.holdMore(at, int64(bytes))
	}
}

// holdColumns counts bytes of values that are computed ahead. They have a bound of their own,
// beyond which they are computed on each bar.
func (m *Machine) holdColumns(bytes int) {
	if err := m.meter.shared.Hold(int64(bytes)); err != nil {
		m.failFor(m.place, err)
	}
	m.meter.columns += int64(bytes)
}

// holdMore asks for more memory than the budget knows of.
func (m *Machine) holdMore(at syntax.Pos, bytes int64) {
	t := m.meter
	if t.held > int64(t.limits.Memory) {
		t.held -= bytes
		m.fail(at, CodeMemory, "The script holds more than %d MiB.", t.limits.Memory>>20)
	}
	more := max(t.held-t.granted, grain)
	if err := t.shared.Hold(more); err != nil {
		t.held -= bytes
		m.failFor(at, err)
	}
	t.granted += more
}

// make counts bytes that the script makes, whether it keeps them or not.
func (m *Machine) make(at syntax.Pos, bytes int) {
	t := m.meter
	if t.made += int64(bytes); t.limits.Made > 0 && t.made > t.limits.Made {
		m.fail(at, CodeMemory, "The script makes more than %d MiB of texts and collections. Keep what does not change in a var.", t.limits.Made>>20)
	}
}

// spend counts n steps of work that follows.
func (m *Machine) spend(at syntax.Pos, n int) {
	if m.left -= int64(n); m.left < 0 {
		m.pause(at)
	}
}

// pause is called when a slice of steps is used up. It ends a script that has no more steps,
// and begins the next slice.
func (m *Machine) pause(at syntax.Pos) {
	all := m.left + m.reserve
	if all < 0 {
		m.reserve = 0
		m.left = all
		m.outOfSteps(at)
	}
	m.look(at)
	m.left = min(all, slice)
	m.reserve = all - m.left
}

// owe counts steps of work that is no part of a bar, and looks after a slice of them.
func (m *Machine) owe(at syntax.Pos, n int) {
	if m.meter.owed += int64(n); m.meter.owed > slice {
		m.look(at)
	}
}

// look ends a script whose time is over, or for which nobody waits.
func (m *Machine) look(at syntax.Pos) {
	t := m.meter
	t.owed = 0
	if !t.watch.Running() {
		t.watch.Start()
		m.watching = true
	}
	if limit := t.time(); limit > 0 {
		if used := t.watch.Used(); used > limit {
			m.outOfTime(at, limit)
		}
	}
	if err := t.shared.Pause(); err != nil {
		m.failFor(at, err)
	}
}

// unwatch stops the watch that look has started.
func (m *Machine) unwatch() {
	if m.watching {
		m.watching = false
		m.meter.watch.Stop()
	}
}

func (m *Machine) outOfTime(at syntax.Pos, limit time.Duration) {
	where := "in all"
	if m.meter.limits.TotalTime == 0 {
		where = "on this bar"
	}
	m.fail(at, CodeTime, "The script took more than %v of processor time %s. Use fewer or shorter loops, texts and windows, or fewer bars.", limit, where)
}
