package doctor

import (
	"context"
	"io"
	"net/http"
	"time"
)

// TimeSource is a server that publishes the time.
type TimeSource struct {
	Name string
	URL  string
	// Read returns the time in an answer, or false. Where it is nil, the Date header counts.
	Read func(body []byte) (time.Time, bool)
}

const (
	// maxSkew is the default of the order policy.
	maxSkew  = time.Second
	askClock = 5 * time.Second
)

// Clock compares the clock of this machine with those of servers. The one that is
// nearest counts: that two clocks are wrong by the same is not likely.
func Clock(ctx context.Context, client *http.Client, sources []TimeSource) Finding {
	const check = "clock"
	var best reading
	for _, s := range sources {
		if r, ok := s.ask(ctx, client); ok && (best.from == "" || r.skew.Abs() < best.skew.Abs()) {
			best = r
		}
	}
	switch {
	case best.from == "":
		return newWarning(check, "let this machine reach a venue, and compare the clock by hand: timedatectl, chronyc tracking, w32tm /query /status", "no venue returned the time, so the clock is not compared")
	case best.skew.Abs() > maxSkew+best.coarse:
		return newProblem(check, "synchronize it: timedatectl set-ntp true on Linux, sntp -sS time.apple.com on macOS, w32tm /resync on Windows; in a container, the host's clock counts",
			"this machine's clock is %s by %s", best.direction(), best.from)
	}
	return NewOK(check, "within %v of %s", (max(best.skew.Abs(), time.Millisecond) + best.coarse).Round(time.Millisecond), best.from)
}

// reading is one server's time.
type reading struct {
	from   string
	skew   time.Duration // its time less ours
	coarse time.Duration // how exact that is
}

// ask reads one clock. The time of the answer stands for the middle of the request;
// the Date of HTTP has no parts of a second.
func (s TimeSource) ask(ctx context.Context, client *http.Client) (reading, bool) {
	ctx, cancel := context.WithTimeout(ctx, askClock)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
	if err != nil {
		return reading{}, false
	}
	began := time.Now()
	resp, err := client.Do(req)
	if err != nil {
		return reading{}, false
	}
	came := time.Now()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // half of it has no time, and the header still may
	_ = resp.Body.Close()
	middle, coarse := began.Add(came.Sub(began)/2), came.Sub(began)/2
	if s.Read != nil {
		if at, ok := s.Read(body); ok {
			return reading{s.Name, at.Sub(middle), coarse}, true
		}
	}
	at, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return reading{}, false
	}
	return reading{s.Name + " (Date)", at.Add(500 * time.Millisecond).Sub(middle), coarse + 500*time.Millisecond}, true
}

// direction says how far off the clock is, no more exactly than was measured.
func (r reading) direction() string {
	unit := 100 * time.Millisecond
	for r.coarse >= unit/2 && r.skew.Abs() >= 50*unit {
		unit *= 10
	}
	off := r.skew.Abs().Round(unit).String()
	if r.skew > 0 {
		return off + " behind"
	}
	return off + " ahead"
}
