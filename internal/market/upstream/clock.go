package upstream

import (
	"net/http"
	"sync/atomic"
	"time"
)

// maxSkew bounds the difference between our clock and that of a host. Bars close by the
// venue's clock, alerts are created by ours.
const maxSkew = 5 * time.Second

// clock compares a host's clock with ours. It is safe for concurrent use.
type clock struct{ off atomic.Bool }

// compare reports whether the skew has passed maxSkew since the last call, in either
// direction; agreement is a skew of 0. A cached response, with an Age, is ignored.
func (c *clock) compare(h http.Header, asked, came time.Time) (skew time.Duration, changed bool) {
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil || h.Get("Age") != "" {
		return 0, false
	}
	// The response was created between asked and came; Date has whole seconds.
	earliest, latest := date.Sub(came), date.Add(time.Second).Sub(asked)
	off := earliest > maxSkew || latest < -maxSkew
	if off {
		skew = (earliest + latest) / 2
	}
	return skew, c.off.Swap(off) != off
}
