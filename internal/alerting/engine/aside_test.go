package engine_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/alerting/alert"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

// uses counts how often each use of a script was evaluated.
type uses struct {
	mu    sync.Mutex
	begun map[string]int
	open  int
}

func (u *uses) Begin(_ context.Context, use string) func() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.begun[use]++
	u.open++
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.open--
	}
}

// take returns what was evaluated since the last call, and how much still is.
func (u *uses) take() (begun map[string]int, open int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	begun, u.begun = u.begun, make(map[string]int)
	return begun, u.open
}

// An alert whose script was in evaluation when a process died is set aside by the next one, and
// stays so until its owner resumes it. One beside it, on the same script with other inputs, and one
// on no script are evaluated.
func TestSetAside_WhatWasInEvaluationWaitsForItsOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		def := fragileDef(t, 4_000_000_000)
		seen := &uses{begun: make(map[string]int)}
		s := &scene{t: t, venue: newVenue(waves), dir: t.TempDir(), library: ta.Library{Scripts: single{def}}, evaluations: seen}
		time.Sleep(time.Until(monday))
		s.from = s.venue
		s.start()
		defer func() { s.stop() }()
		bomb := s.set(signal("BTC", market.Minute1, "fragile@0123456789ab", "never"))
		time.Sleep(2 * time.Minute)
		begun, open := seen.take()
		if len(begun) != 1 || open != 0 {
			t.Fatalf("evaluated %v, and %d still are", begun, open)
		}
		other := signal("BTC", market.Minute1, "fragile@0123456789ab", "never")
		other.Condition.Params = `{"limit":4100000000}`
		beside := s.set(other)
		s.died = make(map[string]time.Time)
		for use := range begun {
			s.died[use] = time.Now()
		}
		idle := func() (aside []string) {
			t.Helper()
			all, err := s.Alerts(t.Context(), ann())
			if err != nil || len(all) != 2 {
				t.Fatalf("listed %v, %v", all, err)
			}
			for i := range all {
				if all[i].IsSetAside() {
					aside = append(aside, all[i].ID)
				}
			}
			return aside
		}
		for range 2 { // the second start finds it set aside in the store
			s.stop()
			_, _ = seen.take()
			s.start()
			s.died = nil
			time.Sleep(2 * time.Minute)
			if aside := idle(); len(aside) != 1 || aside[0] != bomb.ID {
				t.Fatalf("set aside are %v, not %s", aside, bomb.ID)
			}
			again, _ := seen.take()
			for use := range begun {
				if again[use] > 0 || len(again) != 1 {
					t.Errorf("evaluated again: %v", again)
				}
			}
		}
		var reports []firing
		for _, f := range s.fired() {
			if f.State == alert.SetAside {
				reports = append(reports, f)
			}
		}
		if now := s.Status(); now.SetAside != 1 || now.Alerts != 1 {
			t.Errorf("status %+v", now)
		}
		if len(reports) > 1 || strings.Count(s.log.String(), "alert set aside") != 1 {
			t.Errorf("reported %+v, logged %s", reports, &s.log)
		}
		if err := s.ResumeAlert(t.Context(), ann(), beside.ID); err == nil {
			t.Error("an alert that is not set aside was resumed")
		}
		if err := s.ResumeAlert(t.Context(), ann(), bomb.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		if again, _ := seen.take(); len(idle()) != 0 || len(again) != 2 {
			t.Errorf("after the resume: %v, evaluated %v", idle(), again)
		}
		s.stop()
		s.start()
		if aside := idle(); len(aside) != 0 {
			t.Errorf("after another start: %v", aside)
		}
	})
}

// A script that fails on the present bars refuses the alert with its error, and nothing is stored.
func TestSet_AScriptThatFailsRefusesTheAlert(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		def := fragileDef(t, monday.Add(-time.Hour).Unix())
		s := &scene{t: t, venue: newVenue(waves), dir: t.TempDir(), library: ta.Library{Scripts: single{def}}}
		time.Sleep(time.Until(monday))
		s.from = s.venue
		s.start()
		defer func() { s.stop() }()
		_, err := s.Set(t.Context(), ann(), signal("BTC", market.Minute1, "fragile@0123456789ab", "never"))
		if err == nil || !strings.Contains(err.Error(), "no more") || fault.KindOf(err) != fault.Invalid {
			t.Errorf("the answer is %v", err)
		}
		if left := s.active(); len(left) != 0 {
			t.Errorf("stored are %v", left)
		}
	})
}
