package alpaca_test

import (
	"testing"

	fakealpaca "candela/internal/testkit/fake/alpaca"
	"candela/internal/trading/order"
)

// TestQuery_TrailReportsItsLevel holds that a trail says where its stop stands and which price
// it follows.
func TestQuery_TrailReportsItsLevel(t *testing.T) {
	t.Parallel()
	play(t, noon(), fakealpaca.Config{}, func(t *testing.T, s *scene) {
		t.Helper()
		s.SetQuote("AAPL", "99.99", "100.01")
		s.must(t, buy("AAPL", "10", ""))
		o := sell("AAPL", "10", "")
		o.TrailPercent, o.Role = num("2"), order.StopLoss
		s.must(t, o)
		s.SetQuote("AAPL", "110.00", "110.02")
		s.SetQuote("AAPL", "109.00", "109.02")
		if r := s.state(t, o); !r.StopPrice.Equal(num("107.8")) || !r.Best.Equal(num("110")) || r.Status != order.Accepted {
			t.Errorf("the stop is at %s, the best price %s: %+v", r.StopPrice, r.Best, r)
		}
	})
}
