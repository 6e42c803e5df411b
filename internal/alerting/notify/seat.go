package notify

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"candela/internal/alerting/notify/records"
	"candela/internal/kit/principal"
)

// sharing is what replicas tell each other of a subscriber. Its mu guards it.
//
// One replica has the stream of a token, and its place in the log with it. Each
// stream has a number. A replica that opens one writes the next number, and the
// replica that has the stream before, when it sees that, ends it and answers with
// the place it has come to. Each names the revision of the seat that it knows, so
// nothing that a replica writes of a stream which it has no longer is taken.
type sharing struct {
	// late is the subscriber's since, for Append, which does not lock: what comes with
	// a seq up to it an earlier filter may want.
	late atomic.Uint64

	subRev   uint64 // of the filter as it is known
	seatRev  uint64 // of the last that was read or written of the seat
	seat     seat
	claims   uint64              // counts the streams that were opened here
	claiming bool                // the last of them is not written yet
	resumed  bool                // its client has said where it begins
	flying   bool                // the seat is on its way to the keeper
	met      *records.Attachment // what came meanwhile

	dirty   bool   // the seat has to be written
	version uint64 // counts how often it had to be
	written uint64 // of it, what is
	moved   chan struct{}
	noted   time.Time // of seen, what was written last
}

// seat says where the stream of a token is.
type seat struct {
	n     uint64
	at    string
	open  bool
	from  string // while we wait for its word
	given bool   // we are asked for the place, and it has to be written
	sub   uint64
}

// away reports whether the stream is at another replica that is live.
func (s *subscriber) away(m Members) bool {
	return s.seat.open && s.seat.at != m.Self() && m.Live(s.seat.at)
}

// seatRecord returns the seat as this replica has to write it, if it has to.
func (s *subscriber) seatRecord(self string) (records.Record, bool) {
	if s.seat.at != self && !s.seat.given {
		return records.Record{}, false
	}
	r := records.Record{Kind: records.AttachmentKind, Name: s.key, Rev: s.seatRev, CompareAndSet: true}
	if !s.seat.open && s.matcher.Load() == nil {
		return r, true // nobody needs to know of it
	}
	sub := s.subRev
	if s.seat.given {
		sub = s.seat.sub // theirs
	}
	r.Data = records.Encode(records.Attachment{
		Owner: s.owner.name, Epoch: s.seat.n, Replica: s.seat.at, Open: s.seat.open, From: s.seat.from, Given: s.seat.given,
		FilterRev: sub, Cursor: s.cursor, Seen: s.seen.UTC(),
	})
	s.noted = s.seen
	return r, true
}

// changed tells who waits that the seat or the filter is another.
func (s *subscriber) changed() {
	if s.moved != nil {
		close(s.moved)
		s.moved = nil
	}
}

// await waits until a condition holds that changes with the seat of a subscriber, for a
// while, and reports whether it does. The subscriber is not locked; the condition is
// asked while it is.
func (sh *shared) await(ctx context.Context, s *subscriber, holds func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, sh.HandTime)
	defer cancel()
	look := time.NewTicker(handTime / 20) // who is live is not told
	defer look.Stop()
	for {
		s.mu.Lock()
		if holds() {
			s.mu.Unlock()
			return true
		}
		if s.moved == nil {
			s.moved = make(chan struct{})
		}
		moved := s.moved
		s.mu.Unlock()
		select {
		case <-moved:
		case <-look.C:
		case <-ctx.Done():
			return false
		}
	}
}

// openShared begins the caller's stream here. It returns when all replicas can know
// of it and the one that had the stream before has said how far it came.
func (l *Log) openShared(ctx context.Context, caller principal.Caller, lastEventID string) (Stream, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := l.adopt(ctx, caller); err != nil {
		return nil, err
	}
	if err := l.reach(ctx, caller, lastEventID); err != nil {
		return nil, err
	}
	s, claim, version := l.claim(caller, lastEventID)
	err := l.confirmSeat(ctx, s, version)
	if err == nil {
		l.awaitPlace(ctx, s, claim)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	mine := s.claims == claim && s.seat.at == l.shared.Members.Self()
	if err != nil {
		if mine {
			s.seat.open, s.seat.from = false, ""
			l.shared.hurry(s)
		}
		return nil, err
	}
	stream := &stream{log: l, of: s, ready: make(chan struct{}, 1)}
	if !mine {
		close(stream.ready) // another was opened meanwhile
		return stream, nil
	}
	s.seat.from = ""
	s.stream = stream
	l.shared.noteStream(s)
	stream.signal()
	s.owner.join(stream)
	return stream, nil
}

// reach waits for the event that a client names to come here, too.
func (l *Log) reach(ctx context.Context, caller principal.Caller, lastEventID string) error {
	if seq, err := strconv.ParseUint(lastEventID, 10, 64); err != nil || seq <= l.owner(caller.Subject).view.Load().head {
		return nil //nolint:nilerr // what is no number is no event
	}
	if err := l.shared.CatchUp(ctx); err != nil {
		return unavailable(err)
	}
	return nil
}

// claim takes the seat of the caller's token.
func (l *Log) claim(caller principal.Caller, lastEventID string) (s *subscriber, claim, version uint64) {
	sh, now := l.shared, l.cfg.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if s = l.own(caller); s == nil {
		s = l.add(caller)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.meet(caller, now)
	before := s.seat
	if s.stream != nil {
		s.end(sh)
	}
	s.seat = seat{n: before.n + 1, at: sh.Members.Self(), open: true}
	s.claims++
	s.claiming = true
	if s.resumed = s.resume(lastEventID); !s.resumed {
		switch {
		case before.at == sh.Members.Self():
			s.seat.from = before.from // a stream that waits itself
		case before.open:
			s.follows(sh, before)
		}
	}
	sh.hurry(s)
	return s, s.claims, s.version
}

// awaitPlace waits for the replica that had the stream to say how far it came. One
// that dies, or does not answer, has not; then the stream goes on where the place was
// last written, and may repeat what was delivered since.
func (l *Log) awaitPlace(ctx context.Context, s *subscriber, claim uint64) {
	if l.shared.await(ctx, s, func() bool { return s.claims != claim || s.seat.from == "" || !l.shared.Members.Live(s.seat.from) }) {
		return
	}
	l.cfg.Log.WarnContext(ctx, "a replica does not say how far a stream came; it may repeat notifications")
}

// end ends the stream that is here, for another.
func (s *subscriber) end(sh *shared) {
	sh.forgetStream(s)
	s.owner.leave(s.stream)
	close(s.stream.ready)
	s.stream = nil
}

// closeShared notes that the stream has ended in order.
func (l *Log) closeShared(s *subscriber) {
	l.shared.forgetStream(s)
	if s.seat.at == l.shared.Members.Self() {
		s.seat.open, s.seat.from = false, ""
		l.shared.hurry(s)
	}
}
