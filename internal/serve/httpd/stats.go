package httpd

import (
	"cmp"
	"net/http"
	"strconv"
	"sync/atomic"

	"candela/internal/kit/principal"
)

const otherPath = "other"

// tallies holds the counters. The maps are fixed by prepare, so that a client cannot make
// them grow.
type tallies struct {
	paths   map[string]*atomic.Uint64
	refused map[int]*atomic.Uint64 // by status; 0 for others
	streams atomic.Int64           // open
	ended   map[error]*atomic.Uint64
}

// prepare creates all counters.
func (t *tallies) prepare(routes []route) {
	t.paths, t.refused, t.ended = map[string]*atomic.Uint64{otherPath: {}, consolePath: {}}, map[int]*atomic.Uint64{0: {}}, map[error]*atomic.Uint64{}
	for _, r := range routes {
		t.paths[r.path] = &atomic.Uint64{}
	}
	for _, status := range []int{
		http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotAcceptable, http.StatusRequestTimeout,
		http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusTooManyRequests, http.StatusServiceUnavailable,
	} {
		t.refused[status] = &atomic.Uint64{}
	}
	for _, reason := range []error{errClientLeft, errTakenOver, errDisplaced, errStopping, principal.ErrTokenEnded} {
		t.ended[reason] = &atomic.Uint64{}
	}
}

func (t *tallies) refuse(status int) {
	cmp.Or(t.refused[status], t.refused[0]).Add(1)
}

// end counts the end of a stream.
func (t *tallies) end(reason error) {
	t.streams.Add(-1)
	cmp.Or(t.ended[reason], t.ended[errClientLeft]).Add(1)
}

// Stats holds the counters and gauges of the server.
type Stats struct {
	Connections int64
	Streams     int64 // open
	Budgets     []Budget
	Ended       map[string]uint64 // streams, by reason
	Requests    map[string]uint64 // by path, "other" for unknown paths
	Refused     map[string]uint64 // on the MCP paths, by status
}

// Stats returns the current statistics.
func (s *Server) Stats() Stats {
	t := &s.tallies
	open, budgets := s.connections.count()
	stats := Stats{
		Connections: int64(open), Streams: t.streams.Load(), Budgets: append(append(budgets, s.budgets.report()...), s.sessions.budget()),
		Ended: map[string]uint64{}, Requests: map[string]uint64{}, Refused: map[string]uint64{},
	}
	for path, count := range t.paths {
		stats.Requests[path] = count.Load()
	}
	for status, count := range t.refused {
		name := strconv.Itoa(status)
		if status == 0 {
			name = "other"
		}
		stats.Refused[name] = count.Load()
	}
	for reason, count := range t.ended {
		stats.Ended[reason.Error()] = count.Load()
	}
	return stats
}
