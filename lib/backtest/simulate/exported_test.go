package simulate

import (
	"math"
	"testing"
	"time"

	"candela/internal/testkit/exportedtest"
)

// moment is what a strategy of these tests sees at a close.
type moment struct {
	*Account
	hour, minute int
	close        float64
}

func (m moment) at(hour, minute int) bool { return m.hour == hour && m.minute == minute }

func nan() float64 { return math.NaN() }

func (m moment) enter(id string, side Side, stop float64) {
	m.Enter(Request{ID: id, Side: side, Quantity: 1, Limit: nan(), Stop: stop})
}

func (m moment) flatten() { m.Close(CloseRequest{Quantity: nan(), Percent: nan()}) }

// Strategies written by hand give the trades that TradingView exported for the same
// rules.
func TestExported(t *testing.T) {
	archive := exportedtest.Load(t)
	trail := func(points, offset float64) func(moment) {
		return func(m moment) {
			flat := m.Position() == 0
			if m.at(9, 15) && flat {
				m.enter("L", Long, nan())
			}
			if m.at(15, 15) && flat {
				m.enter("S", Short, nan())
			}
			for id, held := range map[string]bool{"L": m.Position() > 0, "S": m.Position() < 0} {
				if held {
					x := NewExit(id+"X", id)
					x.TrailPoints, x.TrailOffset = points, offset
					m.Exit(x)
				}
			}
			if !flat && m.at(23, 45) {
				m.flatten()
			}
		}
	}
	bracket := func(m moment) {
		if m.at(0, 15) && m.Position() == 0 {
			m.enter("L", Long, nan())
		}
		if m.Position() > 0 {
			x := NewExit("LX", "L")
			x.Limit, x.Stop = m.AveragePrice()*1.004, m.AveragePrice()*0.996
			m.Exit(x)
			if m.at(6, 15) {
				m.Close(CloseRequest{From: "L", Quantity: nan(), Percent: nan()})
			}
		}
	}
	dual := func(m moment) {
		if m.at(2, 45) && m.Position() == 0 {
			m.enter("LE", Long, m.close*1.002)
			m.enter("SE", Short, m.close*0.998)
		}
		if m.Position() != 0 && m.at(6, 15) {
			m.flatten()
		}
		if m.at(14, 45) && m.Position() == 0 {
			m.enter("LE2", Long, m.close*1.004)
			m.enter("SE2", Short, m.close*0.996)
		}
		if m.Position() != 0 && m.at(18, 15) {
			m.flatten()
		}
	}
	for name, step := range map[string]func(moment){
		"bracket-exit-tp-sl-fixed-01":                bracket,
		"bracket-trailing-activation-offset-path-01": trail(800, 400),
		"bracket-trail-points-with-offset-only-01":   trail(80, 40),
		"order-dual-stop-both-touch-priority-01":     dual,
	} {
		t.Run(name, func(t *testing.T) {
			a, err := New(Config{Capital: 1e6, Tick: 0.01, Step: 0.0001, PointValue: 1, Pyramiding: 1})
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range archive.Bars {
				a.Bar(Bar{Time: b.T * 1000, Open: b.O, High: b.H, Low: b.L, Close: b.C})
				at := time.Unix(b.T, 0).UTC()
				step(moment{a, at.Hour(), at.Minute(), b.C})
				a.Computed()
			}
			compare(t, archive.Strategy(t, name).Trades(t), a.Trades())
		})
	}
}

// compare demands the exported trades within their span, in order.
func compare(t *testing.T, want []exportedtest.Trade, got []Trade) {
	t.Helper()
	type key struct {
		side     bool
		in, out  int64
		from, to float64
		qty      float64
	}
	cents := func(x float64) float64 { return math.Round(x * 100) }
	count := map[key]int{}
	first, last := want[0].EntryTime, want[len(want)-1].ExitTime
	for _, w := range want {
		count[key{w.Long, w.EntryTime, w.ExitTime, cents(w.EntryPrice), cents(w.ExitPrice), w.Quantity}]++
	}
	equal, extra := 0, 0
	for _, g := range got {
		if g.EntryTime < first || g.ExitTime > last {
			continue
		}
		k := key{g.Side == Long, g.EntryTime, g.ExitTime, cents(g.EntryPrice), cents(g.ExitPrice), g.Quantity}
		if count[k] == 0 {
			if extra++; extra <= 3 {
				t.Errorf("not exported: %+v", g)
			}
			continue
		}
		count[k]--
		equal++
	}
	if equal != len(want) || extra != 0 {
		t.Errorf("%d of %d exported trades, %d more", equal, len(want), extra)
	}
}
