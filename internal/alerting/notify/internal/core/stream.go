package core

import (
	"slices"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/kit/principal"
)

// maxTake bounds the events of one Take: some 30 KB, a good write.
const maxTake = 64

// A Stream implements notify.Stream for a Subscriber.
type Stream struct {
	sub       *Subscriber
	advanced  func() // called after the cursor moved
	closed    func(*Stream)
	ready     chan struct{} // holds one token
	index     int           // in Owner.streams; guarded by streamsMu
	lastTaken uint64        // the last sequence number that Take returned; guarded by Subscriber.Mu
}

// NewStream returns a stream that is not attached. closed runs on Close.
func NewStream(s *Subscriber, advanced func(), closed func(*Stream)) *Stream {
	return &Stream{sub: s, advanced: advanced, closed: closed, ready: make(chan struct{}, 1)}
}

// Attach makes a stream the subscriber's, which has none. Mu is held.
func (s *Subscriber) Attach(stream *Stream) {
	s.Stream = stream
	stream.Signal()
	o := s.Owner
	o.streamsMu.Lock()
	defer o.streamsMu.Unlock()
	stream.index = len(o.streams)
	o.streams = append(o.streams, stream)
}

// Detach removes the subscriber's stream, if there is one, and returns it. Mu is held.
func (s *Subscriber) Detach() *Stream {
	stream := s.Stream
	if stream == nil {
		return nil
	}
	s.Stream = nil
	o := s.Owner
	o.streamsMu.Lock()
	defer o.streamsMu.Unlock()
	last := o.streams[len(o.streams)-1]
	o.streams[stream.index], last.index = last, stream.index
	o.streams[len(o.streams)-1] = nil
	o.streams = o.streams[:len(o.streams)-1]
	return stream
}

// End closes Ready because another stream has taken over. The stream is detached already.
func (s *Stream) End() { close(s.ready) }

// Ready implements notify.Stream.
func (s *Stream) Ready() <-chan struct{} { return s.ready }

// Take implements notify.Stream.
func (s *Stream) Take(dst []notify.Event) []notify.Event {
	sub := s.sub
	sub.Mu.Lock()
	defer sub.Mu.Unlock()
	if sub.Stream != s {
		return dst
	}
	if s.lastTaken > sub.Cursor {
		sub.Cursor = s.lastTaken
		s.advanced()
	}
	v := sub.Owner.view.Load()
	if v.head <= sub.Cursor {
		return dst
	}
	taken := 0
	sub.backlog(v, sub.Owner.now().UnixNano(), func(e *logEntry) bool {
		dst = append(dst, e.event)
		s.lastTaken = e.seq
		taken++
		return taken < maxTake
	})
	if taken == 0 && sub.Subscribed() {
		sub.Cursor = v.head // nothing matched; do not look at these entries again
	}
	return dst
}

// Close implements notify.Stream.
func (s *Stream) Close() { s.closed(s) }

// Signal wakes the client. It never blocks: a client that has not looked since the last
// signal needs no other.
func (s *Stream) Signal() { signal(s.ready) }

func signal(ready chan struct{}) {
	select {
	case ready <- struct{}{}:
	default:
	}
}

// wakeStreams signals the tails, and the streams whose filter matches an added entry. A
// burst of entries wakes each client once.
func (o *Owner) wakeStreams(added []logEntry) {
	if len(added) == 0 {
		return
	}
	o.streamsMu.Lock()
	defer o.streamsMu.Unlock()
	for _, t := range o.tails {
		if slices.ContainsFunc(added, func(e logEntry) bool { return t.kinds.Has(e.kind) }) {
			signal(t.ready)
		}
	}
	for _, s := range o.streams {
		// An earlier filter may match entries up to earlierThrough.
		if m := s.sub.matcher.Load(); m != nil && (m.matchesAny(added) || added[0].seq <= s.sub.earlierThrough.Load()) {
			s.Signal()
		}
	}
}

// tail implements notify.Tail.
type tail struct {
	owner *Owner
	kinds notify.Kinds
	ready chan struct{} // holds one token
}

// Tail implements notify.Inbox.
func (l *Log) Tail(owner principal.Owner, kinds notify.Kinds) notify.Tail {
	t := &tail{owner: l.Owner(owner), kinds: kinds, ready: make(chan struct{}, 1)}
	t.owner.streamsMu.Lock()
	defer t.owner.streamsMu.Unlock()
	t.owner.tails = append(t.owner.tails, t)
	return t
}

func (t *tail) Ready() <-chan struct{} { return t.ready }

func (t *tail) Head() uint64 { return t.owner.Head() }

func (t *tail) Next(seq uint64, ttl time.Duration, limit int) (next *notify.Entry, skippedThrough uint64, count int) {
	now := t.owner.now().UnixNano()
	rest := t.owner.view.Load().after(seq)
	left := len(rest) // of the kinds; counted only if some may be too many
	if left > limit {
		left = 0
		for i := range rest {
			if t.kinds.Has(rest[i].kind) {
				left++
			}
		}
	}
	for i := range rest {
		e := &rest[i]
		if t.kinds.Has(e.kind) {
			if left <= limit && e.youngerThan(ttl, now) {
				entry := e.entry(t.owner.Name)
				return &entry, seq, count
			}
			left--
			count++
		}
		seq = e.seq
	}
	return nil, seq, count
}

func (t *tail) Close() {
	t.owner.streamsMu.Lock()
	defer t.owner.streamsMu.Unlock()
	t.owner.tails = slices.DeleteFunc(t.owner.tails, func(other *tail) bool { return other == t })
}
