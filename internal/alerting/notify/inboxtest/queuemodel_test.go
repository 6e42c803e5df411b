package inboxtest

import (
	"slices"
	"time"

	"candela/internal/alerting/notify"
)

// literal is what a subscriber of the log must be equal to: a queue of its own
// into which every matching entry is copied when it happens.
type literal struct {
	filter    *notify.Filter // nil without a subscription
	queue     []notify.Entry // what Take gave last is still in front
	sent      []notify.Entry // delivered, for a client that asks for it again
	connected bool
	taken     uint64 // up to here Take has given
	saved     uint64 // what counted as delivered when the file was written
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

// deliver moves what was taken out of the queue.
func (q *literal) deliver(upTo uint64) {
	for len(q.queue) > 0 && q.queue[0].Seq <= upTo {
		q.sent, q.queue = append(q.sent, q.queue[0]), q.queue[1:]
	}
}

// resume goes on after a seq: what was delivered beyond it comes back.
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

// save notes what the file says is delivered.
func (q *literal) save() {
	q.saved = 0
	if len(q.sent) > 0 {
		q.saved = q.sent[len(q.sent)-1].Seq
	}
}

// crash forgets what was delivered since the file was written.
func (q *literal) crash() {
	q.connected = false
	q.resume(q.saved)
}
