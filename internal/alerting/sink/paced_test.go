package sink

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// agent is a paced receiver in a test.
type agent struct {
	Receiver

	pace   Pace
	answer func(call int) Answer

	mu    sync.Mutex
	calls []call
}

// all returns the calls so far.
func (a *agent) all() []call {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.calls)
}

type call struct {
	at    time.Time
	first uint64
	Batch
}

func (a *agent) Pace() Pace   { return a.pace }
func (a *agent) Host() string { return "agent" }
func (a *agent) Close()       {}
func (a *agent) Send(_ context.Context, m Message) Answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, call{m.Now, m.Batch.Entries[0].Seq, *m.Batch})
	if a.answer != nil {
		return a.answer(len(a.calls))
	}
	return Answer{Outcome: Delivered}
}

func TestPaced_SendsTogetherAndNotTooOften(t *testing.T) {
	t.Parallel()
	bubble(t, func(s *scene) {
		t := s.t
		a := &agent{pace: Pace{Most: 3, Every: time.Minute, PerDay: 48}}
		stop := s.startWith("command", a)
		s.fire(1)
		time.Sleep(time.Second)
		s.fire(7)
		time.Sleep(10 * time.Minute)
		var sizes, more []int
		for i, c := range a.all() {
			sizes, more = append(sizes, len(c.Entries)), append(more, c.More)
			if i > 0 && c.at.Sub(a.all()[i-1].at) < time.Minute {
				t.Errorf("called again after %v", c.at.Sub(a.all()[i-1].at))
			}
		}
		if len(sizes) != 4 || sizes[0] != 1 || sizes[1] != 3 || sizes[2] != 3 || sizes[3] != 1 || more[1] != 4 || more[2] != 1 || a.all()[3].LeftToday != 44 {
			t.Errorf("sizes %v, more %v: %+v", sizes, more, a.all())
		}
		must(t, stop())
		if got := s.sink.Status(); got.Delivered != 8 {
			t.Errorf("%+v", got)
		}
	})
}

// TestPaced_DayIsBoundedAcrossRestarts holds that neither a restart nor a failure refills the calls of a day, that the
// owner is notified once, and that nothing is lost at midnight.
func TestPaced_DayIsBoundedAcrossRestarts(t *testing.T) {
	t.Parallel()
	bubble(t, func(s *scene) {
		t := s.t
		a := &agent{pace: Pace{Most: 100, Every: time.Minute, PerDay: 5}}
		a.answer = func(n int) Answer {
			if n == 2 {
				return Answer{Outcome: Failed, Text: "exit status 75"}
			}
			return Answer{Outcome: Delivered}
		}
		var posted []Notice
		s.post = func(n Notice) error { posted = append(posted, n); return nil }
		for range 20 {
			stop := s.startWith("command", a)
			s.fire(1)
			time.Sleep(5 * time.Minute)
			must(t, stop())
		}
		if len(a.all()) != 5 || len(posted) != 1 || !strings.Contains(posted[0].Text, "5 times today") || posted[0].check() != nil {
			t.Errorf("%d calls, posted %+v", len(a.all()), posted)
		}
		if got := s.sink.Status(); !strings.Contains(got.Problem, "after midnight UTC") {
			t.Errorf("%+v", got)
		}
		stop := s.startWith("command", a)
		time.Sleep(24 * time.Hour)
		must(t, stop())
		if len(a.all()) != 6 {
			t.Fatalf("%d calls", len(a.all()))
		}
		seen := map[uint64]bool{}
		for i, c := range a.all() {
			for _, e := range c.Entries {
				if i != 1 { // that call is repeated
					if seen[e.Seq] {
						t.Errorf("%d came twice", e.Seq)
					}
					seen[e.Seq] = true
				}
			}
		}
		if len(seen) != 20 || a.all()[5].LeftToday != 4 {
			t.Errorf("%d of 20 came, the last with %+v", len(seen), a.all()[5].Batch)
		}
	})
}

// TestPaced_ManyEventsMakeFewCalls holds that 10,000 events in a day make no more calls than the day has.
func TestPaced_ManyEventsMakeFewCalls(t *testing.T) {
	t.Parallel()
	bubble(t, func(s *scene) {
		t := s.t
		a := &agent{pace: Pace{Most: 100, Every: time.Minute, PerDay: 48}}
		stop := s.startWith("command", a)
		for range 1000 {
			s.fire(10)
			time.Sleep(time.Minute)
		}
		must(t, stop())
		if len(a.all()) != 48 {
			t.Errorf("%d calls, want 48", len(a.all()))
		}
		for _, c := range a.all() {
			if len(c.Entries) > 100 {
				t.Errorf("%d events at once", len(c.Entries))
			}
		}
	})
}

// TestPaced_CountsBeforeItCalls holds that nothing is started that could not be counted.
func TestPaced_CountsBeforeItCalls(t *testing.T) {
	t.Parallel()
	bubble(t, func(s *scene) {
		t := s.t
		a := &agent{pace: Pace{Most: 100, Every: time.Minute, PerDay: 5}}
		stop := s.startWith("command", a)
		s.store.fail(errors.New("the disk is full"))
		s.fire(1)
		time.Sleep(time.Hour)
		if len(a.all()) != 0 {
			t.Errorf("%d calls", len(a.all()))
		}
		s.store.fail(nil)
		time.Sleep(time.Hour)
		if len(a.all()) != 1 {
			t.Errorf("%d calls", len(a.all()))
		}
		must(t, stop())
	})
}

// TestPaced_GetsNoNotices holds that a message for the owner starts no program.
func TestPaced_GetsNoNotices(t *testing.T) {
	t.Parallel()
	if o := NewOutbox([]Target{{"command", &agent{}}}, OutboxConfig{}); len(o.queues) != 0 {
		t.Errorf("%d queues", len(o.queues))
	}
}
