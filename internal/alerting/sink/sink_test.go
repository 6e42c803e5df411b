package sink

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestSink_SendsInOrderAndRemembersItsPlace(t *testing.T) {
	t.Parallel()
	bubble(t, func(s *scene) {
		t := s.t
		s.fire(3) // before there was a sink
		stop := s.start()
		s.wants()
		s.fire(2)
		s.wants(4, 5)
		must(t, stop())
		if s.store.next() != 6 {
			t.Errorf("the store has %d", s.store.next())
		}
		s.fire(2) // while it is away
		stop = s.start()
		s.wants(4, 5, 6, 7)
		must(t, stop())
	})
}

// The first notification of an installation is not lost in a crash, although a sink
// that the store does not know begins at the end.
func TestSink_CrashBeforeTheFirstDelivery(t *testing.T) {
	t.Parallel()
	bubble(t, func(s *scene) {
		t := s.t
		stop := s.start()
		s.store.fail(errors.New("power cut")) // what the store has from here on is what it had
		s.answers(func(uint64) (int, http.Header, error) { return 0, nil, errHang })
		s.fire(1)
		synctest.Wait()
		must(t, stop()) // nothing was done, so nothing was to be written
		s.store.fail(nil)
		s.takes()
		stop = s.start()
		s.wants(1, 1)
		must(t, stop())
	})
}

func TestSink_CrashRepeatsAndLosesNothing(t *testing.T) {
	t.Parallel()
	bubble(t, func(s *scene) {
		t := s.t
		stop := s.start()
		s.fire(2)
		time.Sleep(2 * time.Second)
		if s.store.next() != 3 {
			t.Errorf("the store has %d", s.store.next())
		}
		s.store.fail(errors.New("power cut"))
		s.fire(2)
		time.Sleep(2 * time.Second)
		if err := stop(); err == nil || !strings.Contains(err.Error(), "power cut") && !strings.Contains(err.Error(), "disk is full") {
			t.Errorf("the last write: %v", err)
		}
		if logged := s.out.String(); strings.Count(logged, "saving the sink cursor failed") != 1 {
			t.Errorf("%s", logged)
		}
		s.store.fail(nil)
		stop = s.start()
		s.wants(1, 2, 3, 4, 3, 4)
		must(t, stop())
	})
}

func TestSink_StoreThatCannotBeRead(t *testing.T) {
	t.Parallel()
	bubble(t, func(s *scene) {
		t := s.t
		s.store.fail(errors.New("locked"))
		if err := s.start()(); err == nil || !strings.Contains(err.Error(), "locked") {
			t.Error(err)
		}
	})
}

func TestSink_AnOlderStoreSetsItBack(t *testing.T) {
	t.Parallel()
	bubble(t, func(s *scene) {
		t := s.t
		s.fire(3)
		s.store.cursors["sink:webhook"] = 900
		stop := s.start()
		s.fire(1)
		s.wants(4)
		must(t, stop())
		if !strings.Contains(s.out.String(), "rewound") {
			t.Errorf("%s", s.out)
		}
	})
}
