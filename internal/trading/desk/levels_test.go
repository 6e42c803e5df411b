package desk_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"candela/internal/trading/broker/paper"
	"candela/internal/trading/order"
)

// slowRead is a paper account of which one read takes a second, in which something happens.
type slowRead struct {
	*paper.Broker

	meanwhile atomic.Pointer[func()] // nil once it has happened
}

func (s *slowRead) Holdings(ctx context.Context) ([]order.Holding, error) {
	if do := s.meanwhile.Swap(nil); do != nil {
		(*do)()
		time.Sleep(time.Second)
	}
	return s.Broker.Holdings(ctx)
}

// TestLevels_AnOlderAnswerTakesNothingBack holds that a trail which has moved while the account was read is
// not shown where it was before.
func TestLevels_AnOlderAnswerTakesNothingBack(t *testing.T) {
	t.Parallel()
	atSites(t, func(s *site) {
		s.stop()
		account := &slowRead{Broker: s.paper.paper}
		s.broker = account
		s.start()
		s.done(s.buys("0.04", "trail 2"))
		time.Sleep(2 * time.Second)
		rise := func() { s.move("52000") }
		account.meanwhile.Store(&rise)
		time.Sleep(62 * time.Second)
		if account.meanwhile.Load() != nil {
			s.t.Fatal("the account was not read")
		}
		s.levelAtVenue("50960")
		if open, err := s.Orders(s.t.Context(), caller(), true); err != nil || len(open) != 1 || !open[0].StopPrice.Equal(s.p("50960")) {
			s.t.Errorf("the open orders are shown as %+v, %v", open, err)
		}
		if got := s.level(); !got.Equal(s.p("50960")) {
			s.t.Errorf("the level of the line is %v", got)
		}
	}, onThePaper)
}
