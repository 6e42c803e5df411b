package engine_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/fault"
	"candela/internal/market"
)

func TestQuote_IsNewOrAskedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, steps(map[time.Duration]float64{time.Minute: 101.25}))
		defer s.stop()
		btc := market.Symbol{Venue: "venue", Name: "BTC"}
		if _, known := s.Last(btc); known {
			t.Error("a price is known before anyone asked")
		}
		q, err := s.Quote(t.Context(), btc)
		if err != nil || q.Last.String() != "100" || time.Since(q.At) > 2*time.Second {
			t.Errorf("%+v, %v", q, err)
		}
		if _, err := s.Quote(t.Context(), market.Symbol{Venue: "venue", Name: "NONE"}); fault.KindOf(err) != fault.NotFound {
			t.Errorf("a symbol that is not there: %v", err)
		}
		s.Follow([]market.Symbol{btc})
		time.Sleep(2 * time.Minute)
		if q, known := s.Last(btc); !known || q.Last.String() != "101.25" || time.Since(q.At) > tickEvery*time.Second {
			t.Errorf("%+v, %v", q, known)
		}
		s.mu.Lock()
		observed := slices.Clone(s.observed)
		s.mu.Unlock()
		if len(observed) == 0 || observed[0].Symbol != btc || observed[0].Interval != market.Minute1 {
			t.Errorf("%d events observed", len(observed))
		}
		if got := s.venue.streamed(); !slices.Equal(got, []string{"venue:BTC 1m"}) {
			t.Errorf("streams %v", got)
		}
		s.venue.setDown(true)
		time.Sleep(3 * time.Minute)
		if lost := s.Lost(); !slices.Equal(lost, []string{"venue"}) {
			t.Errorf("lost %v", lost)
		}
		if _, err := s.Quote(t.Context(), btc); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("a quote of a venue that is away: %v", err)
		}
		s.venue.setDown(false)
		time.Sleep(3 * time.Minute)
		if lost := s.Lost(); len(lost) != 0 || s.logged("prices do not come") != 1 || s.logged("prices come again") != 1 {
			t.Errorf("lost %v: %s", lost, s.log.String())
		}
		s.Follow(nil)
		time.Sleep(2 * time.Minute)
		if got := s.venue.streamed(); len(got) != 0 {
			t.Errorf("streams %v", got)
		}
		if _, known := s.Last(btc); known {
			t.Error("a price is known that nobody follows")
		}
	})
}
