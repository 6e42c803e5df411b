package core

import (
	"slices"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/kit/principal"
)

// A Subscriber is a token with a subscription, a stream or both.
//
// The backlog is not stored. It is the entries after the cursor that match: the current
// filter applies after FilterFrom, and EarlierMatches lists what earlier filters matched
// up to there.
type Subscriber struct {
	Owner          *Owner
	matcher        atomic.Pointer[matcher] // nil without a subscription; read by Append without Mu
	earlierThrough atomic.Uint64           // FilterFrom, for Append

	Mu             sync.Mutex
	Client         Client
	Key            string // principal.Caller.Key
	Filter         notify.Filter
	FilterFrom     uint64
	EarlierMatches []uint64 // delivered or not; ascending, at most MaxBacklog
	Cursor         uint64   // everything up to here is delivered or dropped
	cappedAtHead   uint64   // the head at which the backlog was last cut to MaxBacklog
	Stream         *Stream  // nil while disconnected
	LastSeen       time.Time
	Expires        time.Time // of the token; zero for never
}

// Core returns s. It lets an Index hold types that embed a Subscriber.
func (s *Subscriber) Core() *Subscriber { return s }

// A Client identifies tokens of which a later may inherit the subscription of an earlier.
// Without a key nothing is inherited.
type Client struct {
	Owner principal.Owner
	Key   string
}

// ClientOf returns the client of a caller.
func ClientOf(c principal.Caller) Client { return Client{c.Subject, c.ClientKey} }

// Subscribed reports whether there is a subscription.
func (s *Subscriber) Subscribed() bool { return s.matcher.Load() != nil }

// Expired reports whether the token has expired.
func (s *Subscriber) Expired(now time.Time) bool {
	return !s.Expires.IsZero() && !now.Before(s.Expires)
}

// Subscribe sets the filter for entries after the head. Matches of an earlier filter stay.
// It reports whether the filter changed.
func (s *Subscriber) Subscribe(f notify.Filter, now int64) bool {
	v := s.Owner.view.Load()
	old := s.matcher.Load()
	earlier := []uint64(nil)
	switch {
	case old == nil:
		s.FilterFrom, s.Cursor = 0, v.head
	case s.Filter.Equal(f):
		return false
	default:
		earlier = s.matchedSeqs(v, old, now)
	}
	// A replica with a longer log may have set an earlier filter.
	s.SetFilter(f.Clone(), max(s.FilterFrom, v.head), earlier)
	return true
}

// SetFilter sets a filter that applies to entries after from. The cursor stays: delivered
// entries are not delivered again because another filter matches them.
func (s *Subscriber) SetFilter(f notify.Filter, from uint64, earlier []uint64) {
	s.Filter, s.FilterFrom, s.EarlierMatches, s.cappedAtHead = f, from, earlier, 0
	s.earlierThrough.Store(from)
	s.matcher.Store(newMatcher(f))
}

// Unsubscribe removes the filter and the backlog.
func (s *Subscriber) Unsubscribe() {
	s.matcher.Store(nil)
	s.Filter, s.EarlierMatches = notify.Filter{}, nil
}

// SetCursor moves the cursor, forward or back.
func (s *Subscriber) SetCursor(seq uint64) { s.Cursor, s.cappedAtHead = seq, 0 }

// Held returns the sequence number of the event that a client names, and false if the log
// does not hold it.
func (s *Subscriber) Held(lastEventID string) (uint64, bool) {
	seq, err := strconv.ParseUint(lastEventID, 10, 64)
	return seq, err == nil && s.Owner.view.Load().find(seq) != nil
}

// Rewind moves a cursor back that is beyond the head. It reports whether it was.
func (s *Subscriber) Rewind(head uint64) bool {
	if s.Cursor <= head && s.FilterFrom <= head {
		return false
	}
	s.Cursor, s.FilterFrom, s.EarlierMatches = min(s.Cursor, head), min(s.FilterFrom, head), SeqsThrough(s.EarlierMatches, head)
	s.earlierThrough.Store(s.FilterFrom)
	return true
}

// Describe returns the subscription.
func (s *Subscriber) Describe(now time.Time, connected bool) notify.Subscription {
	found := notify.Subscription{Active: s.Subscribed(), Filter: s.Filter.Clone(), Connected: connected}
	s.backlog(s.Owner.view.Load(), now.UnixNano(), func(*logEntry) bool {
		found.Queued++
		return true
	})
	return found
}

// matchedSeqs lists the newest MaxBacklog matches of all filters so far, including delivered
// ones: a client that lost the end of a stream asks for them again.
func (s *Subscriber) matchedSeqs(v *view, m *matcher, now int64) []uint64 {
	earlier, rest := capBacklog(v, s.EarlierMatches, v.after(s.FilterFrom), m, now)
	var seqs []uint64
	eachMatch(v, earlier, rest, m, now, func(e *logEntry) bool {
		seqs = append(seqs, e.seq)
		return true
	})
	return seqs
}

// backlog calls yield for the newest MaxBacklog matching entries after the cursor that are
// younger than PushTTL, oldest first, until yield returns false.
func (s *Subscriber) backlog(v *view, now int64, yield func(*logEntry) bool) {
	m := s.matcher.Load()
	if m == nil {
		return
	}
	var earlier []uint64
	if s.Cursor < s.FilterFrom {
		earlier = seqsAfter(s.EarlierMatches, s.Cursor)
	}
	rest := v.after(max(s.Cursor, s.FilterFrom))
	if len(earlier)+len(rest) > notify.MaxBacklog && s.cappedAtHead != v.head {
		earlier, rest = capBacklog(v, earlier, rest, m, now)
		switch {
		case len(earlier) > 0:
			s.Cursor = max(s.Cursor, earlier[0]-1)
		case len(rest) > 0:
			s.Cursor = max(s.Cursor, rest[0].seq-1)
		}
		s.cappedAtHead = v.head // until the head moves, the backlog only shrinks
	}
	eachMatch(v, earlier, rest, m, now, yield)
}

// eachMatch calls yield for the entries that are listed or match and are young enough. It is
// not an iterator because that would be allocated for every client and entry.
func eachMatch(v *view, earlier []uint64, rest []logEntry, m *matcher, now int64, yield func(*logEntry) bool) {
	for _, seq := range earlier {
		if e := v.find(seq); e != nil && e.youngerThan(notify.PushTTL, now) && !yield(e) {
			return
		}
	}
	for i := range rest {
		if e := &rest[i]; e.youngerThan(notify.PushTTL, now) && m.matches(e) && !yield(e) {
			return
		}
	}
}

// capBacklog cuts off everything before the newest MaxBacklog matches.
func capBacklog(v *view, earlier []uint64, rest []logEntry, m *matcher, now int64) ([]uint64, []logEntry) {
	room := notify.MaxBacklog
	for i := len(rest) - 1; i >= 0; i-- {
		if e := &rest[i]; e.youngerThan(notify.PushTTL, now) && m.matches(e) {
			if room--; room == 0 {
				return nil, rest[i:]
			}
		}
	}
	for i, seq := range slices.Backward(earlier) {
		if e := v.find(seq); e != nil && e.youngerThan(notify.PushTTL, now) {
			if room--; room == 0 {
				return earlier[i:], rest
			}
		}
	}
	return earlier, rest
}

func seqsAfter(seqs []uint64, after uint64) []uint64 {
	return seqs[sort.Search(len(seqs), func(i int) bool { return seqs[i] > after }):]
}

// SeqsThrough returns the ascending seqs up to last.
func SeqsThrough(seqs []uint64, last uint64) []uint64 {
	return slices.Clip(seqs[:len(seqs)-len(seqsAfter(seqs, last))])
}
