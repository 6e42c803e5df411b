package notify

import (
	"context"
	"strconv"

	"candela/internal/kit/principal"
)

// batch is how many events one Take gives at most: some 30 KB, a good write.
const batch = 64

// stream is a client that listens. It is the Stream of one connection.
type stream struct {
	log   *Log
	of    *subscriber
	ready chan struct{} // holds one token
	place int           // in the owner's list of streams; guarded by its streamsMu
	taken uint64        // up to here Take has given; guarded by the subscriber's mu
}

// Open begins the caller's stream. Without a subscription it gives nothing until
// there is one.
func (l *Log) Open(ctx context.Context, caller principal.Caller, lastEventID string) (Stream, error) {
	if l.shared != nil {
		return l.openShared(ctx, caller, lastEventID)
	}
	now := l.cfg.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.find(caller, now)
	if s == nil {
		s = l.add(caller)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.meet(caller, now)
	if s.stream != nil {
		s.owner.leave(s.stream)
	}
	s.resume(lastEventID)
	l.saver.touch()
	s.stream = &stream{log: l, of: s, ready: make(chan struct{}, 1)}
	s.stream.signal()
	s.owner.join(s.stream)
	return s.stream, nil
}

// resume moves the cursor to the event that the client names, on or back. An id
// that the owner's log does not hold says nothing, which it reports.
func (s *subscriber) resume(lastEventID string) bool {
	seq, err := strconv.ParseUint(lastEventID, 10, 64)
	if err != nil || s.owner.view.Load().find(seq) == nil {
		return false
	}
	s.cursor, s.counted = seq, 0
	return true
}

// Ready delivers when Take may have something.
func (s *stream) Ready() <-chan struct{} { return s.ready }

// Take appends what waits to dst, at most a batch of it.
func (s *stream) Take(dst []Event) []Event {
	of := s.of
	of.mu.Lock()
	defer of.mu.Unlock()
	if of.stream != s {
		return dst
	}
	if s.taken > of.cursor {
		of.cursor = s.taken
		s.log.touch()
	}
	v := of.owner.view.Load()
	if v.head <= of.cursor {
		return dst
	}
	given := 0
	of.waiting(v, s.log.cfg.Now().UnixNano(), func(r *logEntry) bool {
		dst = append(dst, r.event)
		s.taken = r.seq
		given++
		return given < batch
	})
	if given == 0 && of.matcher.Load() != nil {
		of.cursor = v.head // nothing up to here is wanted, and none of it is looked at again
	}
	return dst
}

// Close ends the stream.
func (s *stream) Close() {
	l, of := s.log, s.of
	l.mu.Lock()
	defer l.mu.Unlock()
	of.mu.Lock()
	defer of.mu.Unlock()
	if of.stream != s {
		return
	}
	of.stream = nil
	of.seen = l.cfg.Now()
	of.owner.leave(s)
	if l.shared != nil {
		l.closeShared(of)
		return
	}
	l.saver.touch()
	l.dropIdle(of)
}

// signal wakes the client. It never waits: a client that has not looked since the
// last signal needs no other.
func (s *stream) signal() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

func (o *owner) join(s *stream) {
	o.streamsMu.Lock()
	defer o.streamsMu.Unlock()
	s.place = len(o.streams)
	o.streams = append(o.streams, s)
}

func (o *owner) leave(s *stream) {
	o.streamsMu.Lock()
	defer o.streamsMu.Unlock()
	last := o.streams[len(o.streams)-1]
	o.streams[s.place], last.place = last, s.place
	o.streams[len(o.streams)-1] = nil
	o.streams = o.streams[:len(o.streams)-1]
}

// looks is up to how many fresh entries are held against each filter before its
// client is woken. Of more, one will match.
const looks = 8

// wake signals the streams that want one of the entries. A client that sleeps
// costs a channel operation, one that has not looked since the last signal next
// to nothing, so a burst of entries wakes each client once.
func (o *owner) wake(fresh []logEntry) {
	if len(fresh) == 0 {
		return
	}
	o.streamsMu.Lock()
	defer o.streamsMu.Unlock()
	for _, t := range o.tails {
		t.signal()
	}
	for _, s := range o.streams {
		if m := s.of.matcher.Load(); m != nil && (m.wantsAny(fresh) || s.of.sharing != nil && fresh[0].seq <= s.of.late.Load()) {
			s.signal()
		}
	}
}

func (m *matcher) wantsAny(fresh []logEntry) bool {
	if len(fresh) > looks {
		return true
	}
	for i := range fresh {
		if m.matches(&fresh[i]) {
			return true
		}
	}
	return false
}
