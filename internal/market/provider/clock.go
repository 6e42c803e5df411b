package provider

import "time"

// Clock is the time at a source whose time is not ours, such as a
// replay. The zero value is the clock on the wall.
type Clock struct {
	Start int64     // the source's time, in unix seconds, at Began
	Began time.Time // when its clock was started
	Speed float64   // seconds of the source per second on the wall; 0 for the zero value
}

// Unix returns the source's time at a moment on the wall.
func (c Clock) Unix(at time.Time) int64 {
	if c.Speed == 0 {
		return at.Unix()
	}
	return c.Start + int64(at.Sub(c.Began).Seconds()*c.Speed)
}

// Wall returns when the source's clock shows t.
func (c Clock) Wall(t int64) time.Time {
	if c.Speed == 0 {
		return time.Unix(t, 0)
	}
	// Rounded up to a microsecond, so that Unix at that moment is t and not the
	// second before.
	return c.Began.Add(time.Duration(float64(t-c.Start)/c.Speed*1e6+1) * time.Microsecond)
}

// Clocked is a Provider with a time of its own.
type Clocked interface {
	Clock() Clock
}
