package notify

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"candela/internal/alerting/notify/records"
	"candela/internal/kit/fault"
)

const (
	// patience bounds how long a caller waits for the keeper. A new leader of its
	// servers takes 4 to 8 s.
	patience = 15 * time.Second

	// handTime is how long a replica waits for the word of another that is live, unless
	// it is told otherwise.
	handTime = 2 * time.Second

	// seenStep is how often a sign of a token is written while nothing else is.
	seenStep = 10 * time.Minute

	// mendEvery is how often what dead replicas had taken is looked for.
	mendEvery = time.Second

	firstWait, maxWait = 10 * time.Millisecond, 500 * time.Millisecond
)

// shared is a log's part in what several replicas share.
type shared struct {
	Shared
	// bounded returns the context of a call that is given none.
	bounded func(time.Duration) (context.Context, context.CancelFunc)

	signal chan struct{} // holds a token while something has to be written at once
	turn   chan struct{} // held by who writes seats, so that those of one token keep their order

	further atomic.Bool // a stream here has come further than was written
	wrote   int         // records of places that were written last; of who has the turn

	mu     sync.Mutex
	dirty  []*subscriber                 // whose seats have to be written
	here   map[*subscriber]struct{}      // who has a stream here
	places map[string]map[string]*places // of other replicas, by their ids and the names of the records
	settle map[*owner]struct{}           // with batches that were settled and are not written
	outs   map[*owner]struct{}           // with batches that are not settled, of any replica
}

func newShared(life context.Context, with Shared) *shared {
	bounded := func(d time.Duration) (context.Context, context.CancelFunc) { return context.WithTimeout(life, d) }
	return &shared{
		Shared: with, bounded: bounded, signal: make(chan struct{}, 1), turn: make(chan struct{}, 1),
		settle: map[*owner]struct{}{}, outs: map[*owner]struct{}{},
		here: map[*subscriber]struct{}{}, places: map[string]map[string]*places{},
	}
}

// live reports whether a replica, this one included, takes part.
func (sh *shared) live(id string) bool { return id == sh.Members.Self() || sh.Members.Live(id) }

// touch notes that a reader has come further.
func (l *Log) touch() {
	if l.shared == nil {
		l.saver.touch()
		return
	}
	if !l.shared.further.Load() { // ten thousand streams do not write to one word
		l.shared.further.Store(true)
	}
}

// noteStream and forgetStream keep the list of who has a stream here.
func (sh *shared) noteStream(s *subscriber) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.here[s] = struct{}{}
}

func (sh *shared) forgetStream(s *subscriber) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	delete(sh.here, s)
}

// hurry notes that a seat has changed and has to be written. The subscriber is locked.
func (sh *shared) hurry(s *subscriber) {
	s.version++
	if s.dirty {
		return
	}
	s.dirty = true
	sh.again(s)
	sh.wake()
}

func (sh *shared) wake() {
	select {
	case sh.signal <- struct{}{}:
	default:
	}
}

// take returns seats to write.
func (sh *shared) take() []*subscriber {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	n := min(len(sh.dirty), records.MaxRecords)
	taken := sh.dirty[:n:n]
	if sh.dirty = sh.dirty[n:]; len(sh.dirty) == 0 {
		sh.dirty = nil // an array that has grown is given back
	}
	return taken
}

// lock takes the turn to write seats.
func (sh *shared) lock(ctx context.Context) error {
	select {
	case sh.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// writeSeats writes at most MaxRecords seats and reports whether there may be more.
func (l *Log) writeSeats(ctx context.Context) (more bool, err error) {
	sh := l.shared
	if err := sh.lock(ctx); err != nil {
		return false, err
	}
	defer func() { <-sh.turn }()
	taken := sh.take()
	fleet := make([]flight, 0, len(taken))
	for _, s := range taken {
		s.mu.Lock()
		s.dirty = false
		if f, ok := s.launch(sh.Members.Self()); ok {
			fleet = append(fleet, f)
		}
		s.mu.Unlock()
	}
	return len(taken) > 0, l.fly(ctx, fleet)
}

// flight is a seat on its way to the keeper.
type flight struct {
	s       *subscriber
	record  records.Record
	version uint64
	claim   uint64
	seat    seat
}

// launch begins to write a seat, if it is ours to write.
func (s *subscriber) launch(self string) (flight, bool) {
	r, ok := s.seatRecord(self)
	if !ok {
		s.written = s.version // another replica has it
		return flight{}, false
	}
	f := flight{s, r, s.version, s.claims, s.seat}
	s.seat.given, s.flying = false, true
	return f, true
}

// fly writes seats together. When one of them is refused, none is written; then each
// half is on its own, down to the one that has to be looked up.
func (l *Log) fly(ctx context.Context, all []flight) error {
	if len(all) == 0 {
		return nil
	}
	batch := make([]records.Record, len(all))
	for i, f := range all {
		batch[i] = f.record
	}
	first, err := l.shared.Store.Write(ctx, batch)
	switch {
	case err == nil:
		for i, f := range all {
			f.land(l.shared, first+uint64(i))
		}
		return nil
	case errors.Is(err, records.ErrConflict) && len(all) > 1:
		half := len(all) / 2
		return errors.Join(l.fly(ctx, all[:half]), l.fly(ctx, all[half:]))
	case errors.Is(err, records.ErrConflict):
		return l.flyAgain(ctx, all[0])
	}
	for _, f := range all {
		f.crash(l.shared)
	}
	return err
}

// flyAgain looks up what a seat has become and writes it for that.
func (l *Log) flyAgain(ctx context.Context, f flight) error {
	err := records.ErrConflict
	for wait := firstWait; wait < maxWait && err != nil; wait *= 2 {
		f.abort(l.shared)
		if err = l.refreshSeat(ctx, f.record.Name); err != nil {
			break
		}
		f.s.mu.Lock()
		next, ok := f.s.launch(l.shared.Members.Self())
		f.s.mu.Unlock()
		if !ok {
			return nil
		}
		f = next
		var rev uint64
		if rev, err = l.shared.Store.Write(ctx, []records.Record{f.record}); err == nil {
			f.land(l.shared, rev)
			return nil
		}
		// A server refuses as well while a change is under way that then fails.
		if !errors.Is(err, records.ErrConflict) || !pause(ctx, wait) {
			break
		}
	}
	f.crash(l.shared)
	return err
}

// land notes that a seat is safe.
func (f flight) land(sh *shared, rev uint64) {
	s := f.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written = max(s.written, f.version)
	s.seatRev = max(s.seatRev, rev)
	if f.claim == s.claims {
		s.claiming = false
	}
	s.meetAgain(sh)
}

// abort notes that a seat was not written, or that nobody knows whether it was.
func (f flight) abort(sh *shared) {
	s := f.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.seat.given && s.seat.n == f.seat.n && s.seat.at == f.seat.at {
		s.seat.given = true
	}
	s.meetAgain(sh)
}

// crash is an abort after which the seat has to be written another time.
func (f flight) crash(sh *shared) {
	f.abort(sh)
	s := f.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.dirty {
		s.dirty = true
		sh.again(s)
	}
}

// meetAgain takes over what came while the seat was on its way.
func (s *subscriber) meetAgain(sh *shared) {
	met := s.met
	s.flying, s.met = false, nil
	if met != nil {
		s.sit(sh, met)
	}
}

// again puts a seat into the list. It is not told to hurry: who could not write it
// tries again after a while.
func (sh *shared) again(s *subscriber) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.dirty = append(sh.dirty, s)
}

// confirmSeat returns when a version of a seat is safe. Of many callers at once, one
// writes for all.
func (l *Log) confirmSeat(ctx context.Context, s *subscriber, version uint64) error {
	for wait := firstWait; ; wait = min(2*wait, maxWait) {
		_, err := l.writeSeats(ctx)
		s.mu.Lock()
		written := s.written >= version
		s.mu.Unlock()
		if written {
			return nil
		}
		if err != nil && !pause(ctx, wait) {
			return unavailable(err)
		}
	}
}

// unavailable is what a caller is told when the keeper does not answer.
func unavailable(err error) error {
	if f := fault.Of(err); f != nil {
		return err
	}
	return fault.Unreachable(err, 0, "the shared store of subscriptions does not answer; try again in a moment")
}

// replace changes a record that several may change at once. next is given the last
// record and returns the data for the next, and false to leave it as it is. What is
// known of the record, when it is not the last any more, costs a question.
func (sh *shared) replace(ctx context.Context, known records.Record, next func(records.Record) (data []byte, ok bool)) (records.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for wait := firstWait; ; wait = min(2*wait, maxWait) {
		data, ok := next(known)
		if !ok {
			return known, nil
		}
		rev, err := sh.Store.Write(ctx, []records.Record{{Kind: known.Kind, Name: known.Name, Rev: known.Rev, Data: data, CompareAndSet: true}})
		if err == nil {
			return records.Record{Kind: known.Kind, Name: known.Name, Rev: rev, Data: data}, nil
		}
		last, lookup := sh.Store.Latest(ctx, known.Kind, known.Name)
		switch {
		case lookup == nil && last.Rev > known.Rev && string(last.Data) == string(data) && len(data) > 0:
			return last, nil // ours, and only the answer got lost
		case lookup == nil:
			known = last
		}
		if errors.Is(err, records.ErrConflict) && lookup == nil && wait == firstWait {
			continue
		}
		if !pause(ctx, wait) {
			return known, unavailable(errors.Join(err, lookup))
		}
	}
}

// runShared writes what has to be written until ctx ends, and then all of it.
func (l *Log) runShared(ctx context.Context) error {
	sh := l.shared
	tidy, slow, mend := time.NewTicker(tidyEvery), time.NewTicker(writeDelay), time.NewTicker(mendEvery)
	defer tidy.Stop()
	defer slow.Stop()
	defer mend.Stop()
	failing := false
	for {
		var err error
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
			defer cancel()
			return l.flushShared(last)
		case <-tidy.C:
			l.tidy()
			l.tidyShared(ctx)
			l.tidyPlaces()
			sh.further.Store(true) // before what is written is too old
			continue
		case <-mend.C:
			err = l.mendOwners(ctx)
		case <-slow.C:
			if _, err = l.writeSeats(ctx); err == nil { // those that failed before
				err = l.writePlaces(ctx)
			}
		case <-sh.signal:
			for more := true; more && err == nil; {
				more, err = l.writeSeats(ctx)
			}
		}
		if failed := err != nil && ctx.Err() == nil; failed != failing && ctx.Err() == nil {
			failing = failed
			l.report(ctx, err)
		}
	}
}

// flushShared writes all that has to be written.
func (l *Log) flushShared(ctx context.Context) error {
	for more := true; more; {
		var err error
		if more, err = l.writeSeats(ctx); err != nil {
			return fmt.Errorf("write where streams are: %w", err)
		}
	}
	if err := l.writePlaces(ctx); err != nil {
		return fmt.Errorf("write how far streams are: %w", err)
	}
	if err := l.mendOwners(ctx); err != nil {
		return fmt.Errorf("write the polling queues: %w", err)
	}
	return nil
}
