package desk_test

import (
	"testing/synctest"
	"time"

	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// planBackup is a copy of all that candela keeps, with what the plan may be in it.
type planBackup struct {
	restore func()
	models  []planModel
	events  int
}

// restore makes a backup the first time. Later it brings that back: trading is halted until the owner resumes,
// an order with a key that was placed since is not sent again, and the plan of the backup is in force, less
// what was sold since. What candela placed since and has no record of is cancelled.
func (s *planSequence) restore() {
	s.t.Helper()
	synctest.Wait()
	s.learn()
	if s.backup == nil && s.view.Position(s.symbol()).Updated.IsZero() {
		return // of a symbol that a backup does not know, no trades are read
	}
	if s.backup == nil {
		s.backup = &planBackup{restore: s.backUp(), events: s.seen}
		for _, m := range s.models {
			s.backup.models = append(s.backup.models, m.clone())
		}
		s.note("backup")
		return
	}
	keyed := order.Request{Symbol: s.symbol(), Side: order.Buy, Type: order.Market, Quantity: s.lot(s.random), Key: "since the backup"}
	p, err := s.desk().Place(s.t.Context(), caller(), keyed)
	s.note("buy %v with a key: %s %v %v", keyed.Quantity, p.ID, p.Status, err)
	s.calm()
	time.Sleep(5 * time.Second)
	s.note("restore")
	s.tally(func(c *planCount) { c.steps["restored"]++ })
	s.backup.restore()
	s.forget()
	time.Sleep(20 * time.Second)
	s.halted(keyed)
	s.resumeRestored()
	if p.Status == order.Filled && !s.simulated() {
		s.repeats(keyed)
	}
	s.backup = nil
	s.cancelRecovered()
}

// forget goes back to what the models and the book had in the backup.
func (s *planSequence) forget() {
	s.t.Helper()
	s.models, s.view, s.seen = s.backup.models, order.NewBook(owner), 0
	for e, err := range s.events() {
		if s.seen == s.backup.events {
			break
		}
		if s.seen++; err != nil || s.view.Apply(e) != nil {
			s.t.Fatalf("event %d of the backup: %v", s.seen, err)
		}
	}
}

// halted holds that nothing is bought before the owner has resumed.
func (s *planSequence) halted(keyed order.Request) {
	s.t.Helper()
	state := s.desk().Status().State
	if _, ok := state.Find(guard.Restored); !ok || state.Level() != guard.Halted {
		s.t.Errorf("after the restore the state is %+v", state)
	}
	keyed.Key = ""
	before := s.held()
	if p, err := s.desk().Place(s.t.Context(), caller(), keyed); err == nil || s.held().GreaterThan(before) {
		s.t.Errorf("before resume an order is %v, %v", p.Status, err)
	}
}

// resumeRestored resumes as the owner does: what differs is shown first.
func (s *planSequence) resumeRestored() {
	s.t.Helper()
	for range 30 { // an order of the backup without an answer is given up after a minute
		if s.desk().Status().Reconciled {
			break
		}
		time.Sleep(10 * time.Second)
	}
	for range 2 {
		if _, err := s.desk().Resume(s.t.Context(), "candela resume"); err != nil {
			s.t.Error(err)
		}
	}
	if state := s.desk().Status().State; state.Level() == guard.Halted {
		s.t.Errorf("after resume the state is %+v", state)
	}
	time.Sleep(2 * time.Second)
}

// repeats holds that the repeat of an order with a key buys nothing.
func (s *planSequence) repeats(keyed order.Request) {
	s.t.Helper()
	before := s.held()
	p, err := s.desk().Place(s.t.Context(), caller(), keyed)
	synctest.Wait()
	s.note("repeat: %s %v %v", p.ID, p.Status, err)
	if s.held().GreaterThan(before) {
		s.t.Errorf("the repeat of an order with a key bought %v", s.held().Sub(before))
	}
}

// cancelRecovered cancels what was placed since the backup: here, or at the venue.
func (s *planSequence) cancelRecovered() {
	s.t.Helper()
	for _, o := range s.book().Open() {
		if !o.External {
			continue
		}
		if _, err := s.desk().Cancel(s.t.Context(), caller(), o.ID); err != nil {
			s.cancelThere(o)
		}
		s.note("cancel the recovered %s, at %v", o.ID, o.StopPrice)
	}
	time.Sleep(2 * time.Second)
}
