package inboxtest

import (
	"testing"
	"time"

	"candela/internal/alerting/notify"
)

func TestTail_SkipsKnownAndExpiredEntries(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.Append(s.entries(3))
	s.now = s.now.Add(time.Hour)
	s.Append(s.entries(4))
	tail := s.Tail("owner", notify.Alerts)
	defer tail.Close()
	stranger := s.Tail("stranger", notify.Alerts)
	defer stranger.Close()
	for name, tc := range map[string]struct {
		after        uint64
		ttl          time.Duration
		most         int
		want, passed uint64
		count        int
	}{
		"the first":                     {0, 2 * time.Hour, 10, 1, 0, 0},
		"after a seq":                   {2, 2 * time.Hour, 10, 3, 2, 0},
		"the newest two":                {0, 2 * time.Hour, 2, 6, 5, 5},
		"younger than an hour":          {0, time.Hour, 10, 4, 3, 3},
		"younger than an hour, newest":  {1, time.Hour, 5, 4, 3, 2},
		"after the last":                {7, time.Hour, 10, 0, 7, 0},
		"beyond the last":               {9, time.Hour, 10, 0, 9, 0},
		"all too old":                   {2, 0, 10, 0, 7, 5},
		"none is among the newest none": {2, time.Hour, 0, 0, 7, 5},
	} {
		e, passed, count := tail.Next(tc.after, tc.ttl, tc.most)
		var seq uint64
		if e != nil {
			seq = e.Seq
			if seqOf(t, e.Data) != seq || e.Owner != "owner" || e.Type != "price_above" || e.At.IsZero() {
				t.Errorf("%s: %+v lost a part", name, e)
			}
		}
		if seq != tc.want || passed != tc.passed || count != tc.count {
			t.Errorf("%s: entry %d, skipped %d up to %d; want %d, %d, %d", name, seq, count, passed, tc.want, tc.count, tc.passed)
		}
	}
	if e, _, _ := stranger.Next(0, time.Hour, 10); e != nil || stranger.Head() != 0 || tail.Head() != 7 {
		t.Errorf("a stranger got %+v; heads %d and %d", e, stranger.Head(), tail.Head())
	}
}

func TestTail_WakesUntilItCloses(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	tail, other := s.Tail("owner", notify.Alerts), s.Tail("owner", notify.Alerts)
	defer other.Close()
	woken := func() bool {
		select {
		case <-tail.Ready():
			return true
		default:
			return false
		}
	}
	if woken() {
		t.Error("woken without an entry")
	}
	s.fire("AAPL", "AAPL")
	if !woken() || woken() {
		t.Error("two entries must wake it once")
	}
	tail.Close()
	s.fire("AAPL")
	if woken() {
		t.Error("woken after it was closed")
	}
	if len(other.Ready()) != 1 {
		t.Error("the other tail was closed too")
	}
}
