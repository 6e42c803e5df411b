package notify

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"candela/internal/alerting/notify/records"
)

// placesPerRecord is how many places are written as one record, of some 80 KB.
const placesPerRecord = 1000

// places is a record of another replica's streams. It is read when someone asks,
// which is when that replica is gone.
type places struct {
	rev  uint64
	data []byte
	form records.Cursors // nil before it is read
}

// writePlaces writes how far the streams here have come, if one has come further.
func (l *Log) writePlaces(ctx context.Context) error {
	sh := l.shared
	if !sh.further.Swap(false) {
		return nil
	}
	if err := sh.lock(ctx); err != nil {
		return err
	}
	defer func() { <-sh.turn }()
	self := sh.Members.Self()
	forms := []records.Cursors{}
	for i, s := range sh.listening() {
		if i%placesPerRecord == 0 {
			forms = append(forms, make(records.Cursors, placesPerRecord))
		}
		s.mu.Lock()
		if s.stream != nil && s.seat.at == self {
			forms[len(forms)-1][s.key] = [2]uint64{s.seat.n, s.cursor}
		}
		s.mu.Unlock()
	}
	pages := make([]records.Record, max(len(forms), sh.wrote))
	for i := range pages {
		pages[i] = records.Record{Kind: records.CursorKind, Name: self + "/" + strconv.Itoa(i)}
		if i < len(forms) {
			pages[i].Data = records.Encode(forms[i])
		}
	}
	if len(pages) == 0 {
		return nil
	}
	if _, err := sh.Store.Write(ctx, pages); err != nil {
		sh.further.Store(true)
		return err
	}
	sh.wrote = len(forms)
	return nil
}

// listening returns who has a stream here.
func (sh *shared) listening() []*subscriber {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	all := make([]*subscriber, 0, len(sh.here))
	for s := range sh.here {
		all = append(all, s)
	}
	return all
}

// applyPlaces notes the places of another replica's streams.
func (l *Log) applyPlaces(r records.Record) error {
	member, _, _ := strings.Cut(r.Name, "/")
	sh := l.shared
	if member == sh.Members.Self() {
		return nil
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if len(r.Data) == 0 {
		delete(sh.places[member], r.Name)
		return nil
	}
	if sh.places[member] == nil {
		sh.places[member] = map[string]*places{}
	}
	sh.places[member][r.Name] = &places{rev: r.Rev, data: r.Data}
	return nil
}

// learn moves the place of a stream at another replica to where that last wrote it,
// unless the seat was written later.
func (s *subscriber) learn(sh *shared) {
	if s.seat.at == sh.Members.Self() || s.flying {
		return
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	newest := s.seatRev
	for _, p := range sh.places[s.seat.at] {
		if p.rev <= newest {
			continue
		}
		if p.form == nil && json.Unmarshal(p.data, &p.form) != nil {
			continue
		}
		p.data = nil
		if at, here := p.form[s.key]; here && at[0] == s.seat.n {
			s.cursor, s.counted, newest = at[1], 0, p.rev
		}
	}
}

// tidyPlaces forgets the places of replicas that nobody will ask for.
func (l *Log) tidyPlaces() {
	used := map[string]bool{}
	l.mu.Lock()
	for _, s := range l.subscribers {
		s.mu.Lock()
		used[s.seat.at] = used[s.seat.at] || s.seat.open
		s.mu.Unlock()
	}
	l.mu.Unlock()
	l.shared.mu.Lock()
	defer l.shared.mu.Unlock()
	for member := range l.shared.places {
		if !used[member] && !l.shared.Members.Live(member) {
			delete(l.shared.places, member)
		}
	}
}
