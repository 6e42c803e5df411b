package notify

import (
	"encoding/json"

	"candela/internal/alerting/notify/records"
)

// apply notes a record that a replica has written, this one or another.
func (l *Log) apply(r records.Record) {
	var err error
	switch r.Kind {
	case records.SubscriptionKind:
		err = l.applySub(r)
	case records.AttachmentKind:
		err = l.applySeat(r)
	case records.QueueKind:
		err = l.applyPoll(r)
	case records.CursorKind:
		err = l.applyPlaces(r)
	}
	if err != nil {
		l.cfg.Log.Error("a shared record cannot be read", "kind", string(r.Kind), "revision", r.Rev, "error", err)
	}
}

// applySub notes a filter.
func (l *Log) applySub(r records.Record) error {
	form, err := decodeSub(r.Data)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.subscribers[r.Name]
	if s == nil && form == nil {
		return nil
	}
	if s == nil {
		s = l.enterNew(client{form.Owner, form.Client}, r.Name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Rev <= s.subRev {
		return nil
	}
	s.subRev = r.Rev
	if form == nil {
		s.unsubscribe()
	} else {
		s.follow(form)
		l.introduce(s, form.Client)
	}
	s.changed()
	if s.stream != nil {
		s.stream.signal() // the old filter was asked about what came meanwhile
	}
	if s.seat.open && s.seat.at == l.shared.Members.Self() {
		l.shared.hurry(s) // the replica where it was changed waits for that
	}
	l.dropShared(s)
	return nil
}

// follow takes a filter over. The place stays: what was delivered is not delivered
// again because another filter would have wanted it.
func (s *subscriber) follow(f *records.Subscription) {
	s.filter, s.since, s.kept, s.expires = filterOf(f), f.Since, f.Kept, f.Expires
	if f.Seen.After(s.seen) {
		s.seen = f.Seen
	}
	s.counted = 0
	if s.sharing != nil {
		s.late.Store(f.Since)
	}
	s.matcher.Store(newMatcher(s.filter))
}

// introduce notes which client a subscriber is, which its seat alone does not tell.
func (l *Log) introduce(s *subscriber, key string) {
	if s.id.key != "" || key == "" {
		return
	}
	s.id.key = key
	l.clients[s.id] = append(l.clients[s.id], s)
}

// applySeat notes where the stream of a token is and how far it has come.
func (l *Log) applySeat(r records.Record) error {
	var form records.Attachment
	if len(r.Data) > 0 {
		if err := json.Unmarshal(r.Data, &form); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.subscribers[r.Name]
	if s == nil {
		if form.Owner == "" {
			return nil
		}
		s = l.enterNew(client{owner: form.Owner}, r.Name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Rev <= s.seatRev {
		return nil
	}
	s.seatRev = r.Rev
	if s.flying {
		s.met = &form // after what we are about to write, or before it: the answer tells
		return nil
	}
	s.sit(l.shared, &form)
	l.dropShared(s)
	return nil
}

// sit takes over what was read of the seat. Who writes it names the last revision it
// knows, so what comes later in order was written by who knew what came before.
func (s *subscriber) sit(sh *shared, form *records.Attachment) {
	defer s.changed()
	self := sh.Members.Self()
	cleared := form.Owner == ""
	asked := form.From == self && !form.Given && !cleared
	switch {
	case form.Replica == self && form.Epoch == s.seat.n && !cleared:
		// Our own, which is known better here, but for the place that we wait for.
		s.claiming = false
		if form.Given && s.seat.from != "" {
			s.cursor, s.counted, s.seat.from = form.Cursor, 0, ""
		}
	case s.claiming && (!asked || form.Epoch <= s.seat.n):
		s.reclaim(sh, form)
	default:
		s.yield(sh, form)
		if asked {
			s.seat.given = true // of the place of a stream that was here, we know best
			sh.hurry(s)
		} else if !cleared {
			s.cursor, s.counted = form.Cursor, 0
		}
	}
}

// reclaim puts a stream that is not written yet behind what was written meanwhile.
func (s *subscriber) reclaim(sh *shared, form *records.Attachment) {
	s.seat.n = max(s.seat.n, form.Epoch+1)
	if s.resumed || form.Owner == "" {
		return
	}
	if form.Replica == sh.Members.Self() {
		if form.Given && s.seat.from != "" {
			s.cursor, s.counted, s.seat.from = form.Cursor, 0, ""
		}
		return
	}
	s.cursor, s.counted, s.seat.from = form.Cursor, 0, ""
	if form.Open {
		s.follows(sh, seat{n: form.Epoch, at: form.Replica, open: true})
	}
}

// follows goes on where an open stream of another replica is: where that says, or if
// it is gone, where it last wrote that it was.
func (s *subscriber) follows(sh *shared, before seat) {
	if sh.Members.Live(before.at) {
		s.seat.from = before.at
	}
	mine := s.seat
	s.seat = before
	s.learn(sh)
	s.seat = mine
}

// yield takes over where another replica says that the stream is.
func (s *subscriber) yield(sh *shared, form *records.Attachment) {
	s.seat = seat{n: form.Epoch, at: form.Replica, open: form.Open, sub: form.FilterRev}
	s.claiming = false
	if s.stream != nil {
		s.end(sh)
	}
	if form.Seen.After(s.seen) {
		s.seen = form.Seen
	}
}

// dropShared forgets a subscriber of whom nothing is kept.
func (l *Log) dropShared(s *subscriber) {
	if s.matcher.Load() == nil && s.stream == nil && !s.seat.open && !s.dirty {
		l.drop(s)
	}
}
