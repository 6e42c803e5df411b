package engine

import (
	"sync"

	"candela/internal/alerting/alert"
	"candela/lib/fault"
)

// starvedAlerts are the alerts whose scripts wait for memory. The loop writes them, others read.
type starvedAlerts struct {
	mu  sync.Mutex
	all map[*script]starvation
}

// starvation is why the alerts of one script wait.
type starvation struct {
	alerts map[string]bool // by ID
	reason string
}

// put says which alerts wait for memory of a script, and why there is none.
func (s *starvedAlerts) put(of *script, alerts []alert.Alert, err error) {
	waiting := starvation{alerts: make(map[string]bool, len(alerts)), reason: "its script waits for memory"}
	for i := range alerts {
		waiting.alerts[alerts[i].ID] = true
	}
	if f := fault.Of(err); f != nil {
		waiting.reason += ": " + f.Public()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = make(map[*script]starvation)
	}
	s.all[of] = waiting
}

// remove says that a script has memory, or needs none any more.
func (s *starvedAlerts) remove(of *script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, of)
}

// count returns how many alerts wait.
func (s *starvedAlerts) count() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, waiting := range s.all {
		n += len(waiting.alerts)
	}
	return n
}

// why returns why an alert waits, "" if it does not.
func (s *starvedAlerts) why(alertID string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, waiting := range s.all {
		if waiting.alerts[alertID] {
			return waiting.reason
		}
	}
	return ""
}
