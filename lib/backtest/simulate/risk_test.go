package simulate

import "testing"

// After the last order that a day allows, the position closes where the path arrives
// next: at the extreme it moves to, or at the open for an order that filled there. So do
// the lists that TradingView exported.
func TestLimit_ClosesAtTheNextPoint(t *testing.T) {
	for _, c := range []struct {
		name string
		stop float64
		bar  Bar
		want result
	}{
		{"filled on the way up", 102, bar(101, 104, 100, 103), result{2, 102, 2, 104}},
		{"filled in the open", 102, bar(103, 105, 100, 101), result{2, 103, 2, 103}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := New(Config{Capital: 1e6, Tick: 0.01, Step: 1, PointValue: 1})
			if err != nil {
				t.Fatal(err)
			}
			a.Limit(Risk{FillsADay: 1})
			for _, b := range quiet {
				a.Bar(b)
			}
			a.Enter(Request{ID: "L", Side: Long, Quantity: 1, Limit: nan(), Stop: c.stop})
			a.Computed()
			a.Bar(c.bar)
			if got := only(t, a); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}
