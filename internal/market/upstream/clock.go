package upstream

import (
	"net/http"
	"sync/atomic"
	"time"
)

// maxSkew is how far our clock may be from a host's. Bars close by the venue's, and
// what waits for them was asked for by ours.
const maxSkew = 5 * time.Second

// clock compares a host's clock with ours. It is safe for concurrent use.
type clock struct{ off atomic.Bool }

// compare takes an answer's header and when it was asked for and came. It reports
// whether the host's clock has come to differ by more than maxSkew, or to agree
// again, which is a skew of 0. What a cache has kept says when it was made, and not what time it is.
func (c *clock) compare(h http.Header, asked, came time.Time) (skew time.Duration, changed bool) {
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil || h.Get("Age") != "" {
		return 0, false
	}
	// It was made between the two, and Date leaves out parts of a second.
	earliest, latest := date.Sub(came), date.Add(time.Second).Sub(asked)
	off := earliest > maxSkew || latest < -maxSkew
	if off {
		skew = (earliest + latest) / 2
	}
	return skew, c.off.Swap(off) != off
}
