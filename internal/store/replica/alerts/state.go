package alerts

import (
	"context"
	"strconv"
	"strings"
	"time"

	"candela/internal/data/provider"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/table"
	"candela/lib/market"
)

// SaveCursors saves cursors of an owner by reader.
func (s *Store) SaveCursors(ctx context.Context, owner principal.Owner, cursors map[string]uint64) error {
	changes := make([]conn.Change, 0, len(cursors))
	for reader, seq := range cursors {
		changes = append(changes, numberChange(s.states.Subject(table.CursorKind, conn.EncodeToken(string(owner)), conn.EncodeToken(reader)), seq))
	}
	return s.states.WriteAll(ctx, "save cursors", changes)
}

// numberChange stores a number under a subject. 0 writes a tombstone.
func numberChange(subject string, n uint64) conn.Change {
	if n == 0 {
		return conn.Change{Subject: subject, TTL: table.TombstoneTTL}
	}
	return conn.Change{Subject: subject, Data: strconv.AppendUint(nil, n, 10)}
}

// Cursors returns the cursors of all owners by owner and reader.
func (s *Store) Cursors(ctx context.Context) (map[principal.Owner]map[string]uint64, error) {
	numbers, err := table.ReadAll(ctx, s.states, "read cursors", s.states.Subject(table.CursorKind, ">"), 0, func(m conn.Message) (number, bool, error) {
		n, err := s.number(m, table.CursorKind)
		return n, true, err
	})
	all := make(map[principal.Owner]map[string]uint64)
	for _, n := range numbers {
		owner := principal.Owner(n.first)
		if all[owner] == nil {
			all[owner] = make(map[string]uint64)
		}
		all[owner][n.second] = n.value
	}
	return all, err
}

// SaveMarks saves watermarks that cover all alerts.
func (s *Store) SaveMarks(ctx context.Context, marks map[provider.Sub]int64) error {
	return s.saveMarks(ctx, s.states.RetryFor, marks, 0)
}

// saveMarks saves watermarks that cover the alerts with a sequence number up to knownThrough.
func (s *Store) saveMarks(ctx context.Context, limit time.Duration, marks map[provider.Sub]int64, knownThrough uint64) error {
	changes := make([]conn.Change, 0, len(marks))
	for sub, at := range marks {
		interval := ""
		if sub.Interval.Valid() {
			interval = sub.Interval.String()
		}
		ch := numberChange(s.states.Subject(table.SeriesKind, conn.EncodeToken(sub.Symbol.String()), conn.EncodeToken(interval)), uint64(max(0, at)))
		if len(ch.Data) > 0 && knownThrough > 0 {
			ch.Data = strconv.AppendUint(append(ch.Data, ' '), knownThrough, 10)
		}
		changes = append(changes, ch)
	}
	return s.states.WriteAllFor(ctx, limit, "save watermarks", changes)
}

// Marks returns all watermarks.
func (s *Store) Marks(ctx context.Context) (map[provider.Sub]int64, error) {
	marks, err := s.marks(ctx)
	if err != nil {
		return nil, err
	}
	all := make(map[provider.Sub]int64, len(marks))
	for sub, m := range marks {
		all[sub] = m.at
	}
	return all, nil
}

// marks returns all watermarks with the alerts they cover. It skips those that cannot be decoded;
// their alerts are evaluated from their creation on.
func (s *Store) marks(ctx context.Context) (map[provider.Sub]watermark, error) {
	const op = "read watermarks"
	type marked struct {
		sub provider.Sub
		watermark
	}
	found, err := table.ReadAll(ctx, s.states, op, s.states.Subject(table.SeriesKind, ">"), 0, table.SkipCorrupt(ctx, s.states, op, func(m conn.Message) (one marked, _ bool, err error) {
		n, err := s.number(m, table.SeriesKind)
		if err != nil {
			return one, false, err
		}
		if err := one.sub.Symbol.UnmarshalText([]byte(n.first)); err != nil {
			return one, false, err
		}
		if n.second != "" {
			one.sub.Interval, err = market.ParseInterval(n.second)
		}
		one.watermark = watermark{int64(n.value), n.knownThrough} //nolint:gosec // G115: it was written from an int64
		return one, true, err
	}))
	if err != nil {
		return nil, err
	}
	all := make(map[provider.Sub]watermark, len(found))
	for _, m := range found {
		all[m.sub] = m.watermark
	}
	return all, nil
}

// number is a stored number and the two names of its subject.
type number struct {
	first, second string
	value         uint64
	knownThrough  uint64 // of a watermark; 0 for no limit
}

func (s *Store) number(m conn.Message, kind string) (n number, err error) {
	tokens := strings.Split(strings.TrimPrefix(m.Subject, s.states.Subject(kind, "")), ".")
	if len(tokens) != 2 {
		return n, strconv.ErrSyntax
	}
	if n.first, err = conn.DecodeToken(tokens[0]); err != nil {
		return n, err
	}
	if n.second, err = conn.DecodeToken(tokens[1]); err != nil {
		return n, err
	}
	value, through, bounded := strings.Cut(string(m.Data), " ")
	if n.value, err = strconv.ParseUint(value, 10, 64); err == nil && bounded {
		n.knownThrough, err = strconv.ParseUint(through, 10, 64)
	}
	return n, err
}

// maxRecent is how many of the newest alerts are known by sequence number.
const maxRecent = 8192

// A watermark is the newest evaluated bar of a series. It covers only alerts with a sequence number
// up to knownThrough, those its writer knew, so a stale writer cannot hide bars from newer alerts.
type watermark struct {
	at           int64
	knownThrough uint64 // 0 for all alerts
}

// recentAlerts holds the sequence numbers of the newest alerts. Of others it only knows that they
// are older, which bounds its size.
type recentAlerts struct {
	sets  []alertSeq // ascending
	floor uint64     // alerts not in sets have a sequence number up to it
}

type alertSeq struct {
	seq uint64
	id  string
}

func (r *recentAlerts) add(seq uint64, id string) {
	if len(r.sets) >= 2*maxRecent {
		r.floor = r.sets[maxRecent-1].seq
		n := copy(r.sets, r.sets[maxRecent:])
		clear(r.sets[n:])
		r.sets = r.sets[:n]
	}
	r.sets = append(r.sets, alertSeq{seq, id})
}

// coverage returns a function that reports whether a watermark covers an alert.
func (r *recentAlerts) coverage() func(id string, m watermark) bool {
	numbers := make(map[string]uint64, len(r.sets))
	for _, s := range r.sets {
		numbers[s.id] = s.seq
	}
	floor := r.floor
	return func(id string, m watermark) bool {
		seq, known := numbers[id]
		if !known {
			seq = floor
		}
		return m.knownThrough == 0 || seq <= m.knownThrough
	}
}
