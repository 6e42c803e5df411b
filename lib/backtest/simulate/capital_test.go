package simulate

import "testing"

// TestNew_TakesNoCapital: a published strategy may declare initial_capital = 0. Without a margin it trades, and what
// it wins is its equity; with one every entry is refused for it.
func TestNew_TakesNoCapital(t *testing.T) {
	for _, c := range []struct {
		name            string
		margin          float64
		trades, refused int
	}{
		{"without margin", 0, 1, 0},
		{"with margin", 100, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := New(Config{Tick: 0.01, Step: 1, PointValue: 1, MarginLong: c.margin})
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range quiet {
				a.Bar(b)
			}
			a.Enter(Request{ID: "L", Side: Long, Quantity: 1, Limit: nan(), Stop: nan()})
			a.Computed()
			a.Bar(bar(101, 104, 100, 103))
			a.Close(CloseRequest{From: "L", Quantity: nan(), Percent: nan()})
			a.Computed()
			a.Bar(bar(105, 106, 104, 105))
			if len(a.Trades()) != c.trades || a.Requests().Margin.Count != c.refused || a.Equity() != 4*float64(c.trades) {
				t.Errorf("trades %d, refused %+v, equity %v", len(a.Trades()), a.Requests(), a.Equity())
			}
		})
	}
}
