package inboxtest

import (
	"slices"
	"time"

	"candela/internal/alerting/notify"
)

// literal is the model of a subscriber: its own queue with a copy of every matching entry.
type literal struct {
	filter    *notify.Filter // nil without a subscription
	queue     []notify.Entry // including entries taken last
	sent      []notify.Entry // delivered, for a client that resumes
	connected bool
	taken     uint64 // last entry taken
	saved     uint64 // cursor when the file was written
}

func matches(f *notify.Filter, e notify.Entry) bool {
	if f == nil || len(f.Types) > 0 && !slices.Contains(f.Types, e.Type) {
		return false
	}
	for _, s := range f.Symbols {
		if s.Name == e.Symbol.Name && (s.Venue == "" || s.Venue == e.Symbol.Venue) {
			return true
		}
	}
	return len(f.Symbols) == 0
}

func (q *literal) fire(e notify.Entry) {
	if matches(q.filter, e) {
		q.queue = append(q.queue, e)
		q.evict()
	}
}

func (q *literal) evict() {
	if over := len(q.queue) - 1000; over > 0 {
		q.queue = q.queue[over:]
	}
}

func (q *literal) expire(now time.Time) {
	old := func(e notify.Entry) bool { return now.Sub(e.At) >= time.Hour }
	q.queue = slices.DeleteFunc(q.queue, old)
	q.sent = slices.DeleteFunc(q.sent, old)
}

func (q *literal) subscribe(f notify.Filter) { q.filter = &f }

func (q *literal) unsubscribe() { q.filter, q.queue, q.sent = nil, nil, nil }

// deliver removes taken entries from the queue.
func (q *literal) deliver(upTo uint64) {
	for len(q.queue) > 0 && q.queue[0].Seq <= upTo {
		q.sent, q.queue = append(q.sent, q.queue[0]), q.queue[1:]
	}
}

// resume continues after a sequence number: entries delivered beyond it return.
func (q *literal) resume(after uint64) {
	at := len(q.sent)
	for at > 0 && q.sent[at-1].Seq > after {
		at--
	}
	q.queue = append(slices.Clone(q.sent[at:]), q.queue...)
	q.sent = q.sent[:at]
	q.evict()
	q.deliver(after)
}

func (q *literal) open() { q.connected, q.taken = true, 0 }

func (q *literal) take(now time.Time, most int) []notify.Entry {
	q.deliver(q.taken)
	q.expire(now)
	given := q.queue[:min(most, len(q.queue))]
	if len(given) > 0 {
		q.taken = given[len(given)-1].Seq
	}
	return given
}

// save records the cursor that the file stores.
func (q *literal) save() {
	q.saved = 0
	if len(q.sent) > 0 {
		q.saved = q.sent[len(q.sent)-1].Seq
	}
}

// crash restores the cursor of the file.
func (q *literal) crash() {
	q.connected = false
	q.resume(q.saved)
}
