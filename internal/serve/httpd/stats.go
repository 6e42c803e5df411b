package httpd

import (
	"net/http"
	"strconv"
	"sync/atomic"

	"candela/internal/kit/principal"
)

const otherPath = "other"

// tallies counts by names that are known beforehand, so that no client can make
// them more. The maps are never changed.
type tallies struct {
	paths   map[string]*atomic.Uint64
	refused map[int]*atomic.Uint64 // by status; 0 for one that is not listed
	streams atomic.Int64           // open
	ended   map[error]*atomic.Uint64
}

// prepare makes room for everything that can be counted.
func (t *tallies) prepare(routes []route) {
	t.paths, t.refused, t.ended = map[string]*atomic.Uint64{otherPath: {}}, map[int]*atomic.Uint64{0: {}}, map[error]*atomic.Uint64{}
	for _, r := range routes {
		t.paths[r.path] = &atomic.Uint64{}
	}
	for _, status := range []int{
		http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotAcceptable, http.StatusRequestTimeout,
		http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusTooManyRequests, http.StatusServiceUnavailable,
	} {
		t.refused[status] = &atomic.Uint64{}
	}
	for _, reason := range []error{errClientLeft, errTakenOver, errStopping, principal.ErrTokenEnded} {
		t.ended[reason] = &atomic.Uint64{}
	}
}

func (t *tallies) refuse(status int) {
	count := t.refused[status]
	if count == nil {
		count = t.refused[0]
	}
	count.Add(1)
}

// end counts the end of a stream, whose reason is one of ours.
func (t *tallies) end(reason error) {
	t.streams.Add(-1)
	count := t.ended[reason]
	if count == nil {
		count = t.ended[errClientLeft]
	}
	count.Add(1)
}

// Stats is what is known of the server. The counters only grow.
type Stats struct {
	Connections int64
	Cut         uint64 // connections that made room for others
	Streams     int64  // open
	Budgets     []Budget
	Ended       map[string]uint64 // streams, by why they ended
	Requests    map[string]uint64 // by path, "other" for those that nothing answers
	Refused     map[string]uint64 // on the paths of MCP, by status
}

// Stats returns what was counted so far.
func (s *Server) Stats() Stats {
	t := &s.tallies
	open, cut, budgets := s.connections.count()
	stats := Stats{
		Connections: int64(open), Cut: cut, Streams: t.streams.Load(), Budgets: append(budgets, s.budgets.report()...),
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
