package notify

import (
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"candela/internal/kit/principal"
)

// subscriber is a token with a subscription, a stream or both.
//
// What waits for it is nowhere written down. It is the entries after the cursor
// that its filter matches: by the filter of today those after since, and by
// earlier filters those that kept lists, which was made when the filter changed.
type subscriber struct {
	owner    *owner
	matcher  atomic.Pointer[matcher] // nil without a subscription; also read by Append, without mu
	*sharing                         // what several replicas have to know besides; nil on one node

	mu      sync.Mutex
	id      client
	key     string
	filter  Filter
	since   uint64   // the filter counts for entries after this one
	kept    []uint64 // up to since, what earlier filters matched, delivered or not; ascending, at most PushCap
	cursor  uint64   // up to here all is delivered or given up
	counted uint64   // the log's head when no more than PushCap were seen to wait
	stream  *stream  // nil while away
	seen    time.Time
	expires time.Time // of the token; zero for never
	orphan  bool      // of a token from before the last start, which has not been seen since
	encoded string    // for the file: all but cursor and seen; "" after a change
}

// client is equal for tokens of which the later may take over what the earlier
// left behind. Without a key there is no telling.
type client struct{ owner, key string }

func clientOf(c principal.Caller) client { return client{c.Subject, c.ClientKey} }

// meet notes a sign of the token.
func (s *subscriber) meet(caller principal.Caller, now time.Time) {
	if s.key != caller.Key || !s.expires.Equal(caller.Expires) {
		s.key, s.expires, s.encoded = caller.Key, caller.Expires, ""
	}
	s.seen, s.orphan = now, false
}

// left reports whether nobody can come back with the token.
func (s *subscriber) left(now time.Time) bool {
	return s.stream == nil && (s.orphan || !s.expires.IsZero() && !now.Before(s.expires))
}

// subscribe sets the filter from here on. What an earlier one matched stays.
func (s *subscriber) subscribe(f Filter, now int64) {
	v := s.owner.view.Load()
	old := s.matcher.Load()
	switch {
	case old == nil:
		s.kept, s.since, s.cursor = nil, v.head, v.head
	case s.filter.equal(f):
		return
	default:
		s.kept = s.matched(v, old, now)
	}
	// A replica that has come further may have set an earlier filter.
	s.filter, s.since, s.encoded = f.clone(), max(s.since, v.head), ""
	s.matcher.Store(newMatcher(f))
}

// unsubscribe forgets the filter and what waits.
func (s *subscriber) unsubscribe() {
	s.matcher.Store(nil)
	s.filter, s.kept = Filter{}, nil
}

// matched lists what the filters so far have matched: the newest PushCap of it.
// Also what is delivered, because a client that lost the end of a stream asks
// for it again.
func (s *subscriber) matched(v *view, m *matcher, now int64) []uint64 {
	kept, rest := cutOldest(v, s.kept, v.after(s.since), m, now)
	var seqs []uint64
	each(v, kept, rest, m, now, func(r *logEntry) bool {
		seqs = append(seqs, r.seq)
		return true
	})
	return seqs
}

// waiting calls yield for what waits, oldest first, until it returns false: the
// newest PushCap of the matching entries after the cursor that are younger than
// PushTTL.
func (s *subscriber) waiting(v *view, now int64, yield func(*logEntry) bool) {
	m := s.matcher.Load()
	if m == nil {
		return
	}
	var kept []uint64
	if s.cursor < s.since {
		kept = beyond(s.kept, s.cursor)
	}
	rest := v.after(max(s.cursor, s.since))
	if len(kept)+len(rest) > MaxBacklog && s.counted != v.head {
		kept, rest = cutOldest(v, kept, rest, m, now)
		s.pass(kept, rest)
		s.counted = v.head // until then, what waits only becomes less
	}
	each(v, kept, rest, m, now, yield)
}

// pass moves the cursor up to what is left of the queue.
func (s *subscriber) pass(kept []uint64, rest []logEntry) {
	switch {
	case len(kept) > 0:
		s.cursor = max(s.cursor, kept[0]-1)
	case len(rest) > 0:
		s.cursor = max(s.cursor, rest[0].seq-1)
	}
}

// each calls yield for the entries that are kept or matched and young enough. It
// is no iterator because that would be allocated for every client and entry.
func each(v *view, kept []uint64, rest []logEntry, m *matcher, now int64, yield func(*logEntry) bool) {
	for _, seq := range kept {
		if r := v.find(seq); r != nil && r.younger(PushTTL, now) && !yield(r) {
			return
		}
	}
	for i := range rest {
		if r := &rest[i]; r.younger(PushTTL, now) && m.matches(r) && !yield(r) {
			return
		}
	}
}

// cutOldest counts from the end and cuts off what is beyond PushCap: when the
// oldest of the newest PushCap is found, all before it.
func cutOldest(v *view, kept []uint64, rest []logEntry, m *matcher, now int64) ([]uint64, []logEntry) {
	room := MaxBacklog
	for i := len(rest) - 1; i >= 0; i-- {
		if r := &rest[i]; r.younger(PushTTL, now) && m.matches(r) {
			if room--; room == 0 {
				return nil, rest[i:]
			}
		}
	}
	for i, seq := range slices.Backward(kept) {
		if r := v.find(seq); r != nil && r.younger(PushTTL, now) {
			if room--; room == 0 {
				return kept[i:], rest
			}
		}
	}
	return kept, rest
}

// beyond returns the seqs after one.
func beyond(seqs []uint64, after uint64) []uint64 {
	return seqs[sort.Search(len(seqs), func(i int) bool { return seqs[i] > after }):]
}

// upTo returns the seqs as far as one.
func upTo(seqs []uint64, last uint64) []uint64 {
	return slices.Clip(seqs[:len(seqs)-len(beyond(seqs, last))])
}

// setBack corrects a place that the log has never reached.
func (s *subscriber) setBack(last uint64) bool {
	if s.cursor <= last && s.since <= last {
		return false
	}
	s.cursor, s.since, s.kept, s.encoded = min(s.cursor, last), min(s.since, last), upTo(s.kept, last), ""
	return true
}
