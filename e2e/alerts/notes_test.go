package alerts

import (
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"candela/e2e/tape"
)

// want is what an alert waits for: a price, or a signal when Indicator is set.
type want struct {
	tape.Want
	Indicator, Signal string
}

// firing is a fired alert as clients receive it.
type firing struct {
	AlertID   string    `json:"alert_id"`
	Value     float64   `json:"value"`
	Triggered time.Time `json:"triggered_at"`
	Late      bool      `json:"late"`
}

// notes are the notifications of the client over all runs of the program. They are safe
// for concurrent use.
type notes struct {
	mu        sync.Mutex
	made      map[string]bool     // acknowledged, by alert
	open      []string            // of those, what never comes true and may be cancelled
	cancelled map[string]bool     // acknowledged
	pushed    map[string][]string // every delivery
	polled    map[string][]string
	heard     chan struct{} // gets a token with each delivery, if there is room
	errors    map[string]int
	refused   atomic.Int64
}

func newNotes() *notes {
	return &notes{
		made: map[string]bool{}, cancelled: map[string]bool{}, errors: map[string]int{},
		pushed: map[string][]string{}, polled: map[string][]string{}, heard: make(chan struct{}, 1),
	}
}

func (n *notes) hear() {
	select {
	case n.heard <- struct{}{}:
	default:
	}
}

func (n *notes) record(to map[string][]string, record json.RawMessage) {
	var f firing
	if err := json.Unmarshal(record, &f); err != nil {
		f.AlertID = "not a record: " + err.Error()
	}
	n.mu.Lock()
	to[f.AlertID] = append(to[f.AlertID], string(record))
	n.mu.Unlock()
	n.hear()
}

func (n *notes) push(record json.RawMessage) { n.record(n.pushed, record) }

// poll takes a result of get_notifications and returns how many it holds.
func (n *notes) poll(result json.RawMessage) int {
	var got []json.RawMessage
	if err := json.Unmarshal(result, &got); err != nil {
		n.fail(err)
		return 0
	}
	for _, record := range got {
		n.record(n.polled, record)
	}
	return len(got)
}

// delivered reports whether alerts were delivered both ways.
func (n *notes) delivered(ids map[string]bool) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id := range ids {
		if len(n.pushed[id]) == 0 || len(n.polled[id]) == 0 {
			return false
		}
	}
	return true
}

// polledAll reports whether alerts were delivered to pollers.
func (n *notes) polledAll(ids map[string]bool) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id := range ids {
		if len(n.polled[id]) == 0 {
			return false
		}
	}
	return true
}

// set takes a result of set_alert.
func (n *notes) set(result json.RawMessage, idle bool) {
	var got struct {
		ID string `json:"alert_id"`
	}
	if err := json.Unmarshal(result, &got); err != nil || got.ID == "" {
		n.fail(err)
		return
	}
	n.mu.Lock()
	n.made[got.ID] = true
	if idle {
		n.open = append(n.open, got.ID)
	}
	n.mu.Unlock()
	n.hear()
}

// takeOpen returns an alert to cancel, "" when few are left.
func (n *notes) takeOpen() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.open) < 5 {
		return ""
	}
	id := n.open[0]
	n.open = n.open[1:]
	return id
}

func (n *notes) cancel(id string) {
	n.mu.Lock()
	n.cancelled[id] = true
	n.mu.Unlock()
	n.hear()
}

func (n *notes) fail(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.errors[err.Error()]++
}

// clear forgets that something was heard.
func (n *notes) clear() {
	select {
	case <-n.heard:
	default:
	}
}
