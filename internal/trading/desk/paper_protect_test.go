package desk_test

import (
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/data/provider"
	"candela/internal/trading/broker/paper/papertest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// inPaper runs a test in a world whose venue is the paper broker.
func inPaper(t *testing.T, test func(p *onPaper)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := newPaper(t)
		defer func() { p.stop() }()
		time.Sleep(2 * time.Second)
		test(p)
	})
}

// stops holds that the open stops on paper close this much, that the desk says so, and that
// no restriction says otherwise.
func (p *onPaper) stops(quantity string) {
	p.t.Helper()
	open, err := p.paper.Open(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	sum := dec("0")
	for _, r := range open {
		if r.IsStop() && r.Status != order.Held {
			sum = sum.Add(r.Quantity.Sub(r.Filled))
		}
	}
	if !sum.Equal(dec(quantity)) || p.restricted(guard.Unprotected) {
		p.t.Errorf("stops close %v, want %s: %+v, %+v", sum, quantity, open, p.Status().State.Restrictions)
	}
	positions, err := p.Positions(p.t.Context(), caller())
	if err != nil || len(positions) != 1 || !positions[0].Protected.Equal(dec(quantity)) {
		p.t.Errorf("the position is %+v, %v, want %s protected", positions, err, quantity)
	}
}

// inPart places a bracket over 0.5 of which 0.2 is filled.
func (p *onPaper) inPart() order.Placed {
	p.t.Helper()
	entry := p.placed(bracket(limit("0.5", "49000")))
	p.feed("48500", 0.2)
	time.Sleep(2 * time.Second)
	p.wants(p.order(entry.ID), order.PartiallyFilled)
	return entry
}

// TestPaper_AnEntryInPart holds that legs work for what is filled, that they stay when the
// rest is cancelled, and that nothing is placed beside them, also after a restart.
func TestPaper_AnEntryInPart(t *testing.T) {
	t.Parallel()
	inPaper(t, func(p *onPaper) {
		entry := p.inPart()
		time.Sleep(time.Minute)
		p.stops("0.2")
		if o, err := p.Cancel(p.t.Context(), caller(), entry.ID); err != nil || o.Status != order.Canceled {
			p.t.Errorf("cancelled as %v, %v", o.Status, err)
		}
		time.Sleep(time.Minute)
		p.stops("0.2")
		p.stop()
		p.open()
		time.Sleep(time.Minute)
		p.stops("0.2")
		if n := len(p.exits(entry.ID)); n != 2 {
			p.t.Errorf("there are %d exits", n)
		}
	})
}

// TestPaper_AnExitEndsTheEntry holds that an exit cancels the rest of an entry and its legs,
// and that what is left has a pair of its size.
func TestPaper_AnExitEndsTheEntry(t *testing.T) {
	t.Parallel()
	inPaper(t, func(p *onPaper) {
		entry := p.inPart()
		exit := buy("0.15")
		exit.Side, exit.ReduceOnly = order.Sell, true
		p.wants(p.place(exit), order.Filled)
		p.wants(p.order(entry.ID), order.Canceled)
		time.Sleep(time.Minute)
		p.stops("0.05")
		p.feed("47000", 10)
		time.Sleep(time.Minute)
		if s := p.Status(); s.Open != 0 || len(s.State.Restrictions) != 0 || !p.store.Book(owner).Position(papertest.BTCUSDT().Symbol).Quantity.IsZero() {
			p.t.Errorf("the desk is %+v", s)
		}
	})
}

// TestPaper_ATrailingStop holds that a stop that trails is released, placed again for the
// rest, and stays cancelled when the client cancels it.
func TestPaper_ATrailingStop(t *testing.T) {
	t.Parallel()
	inPaper(t, func(p *onPaper) {
		r := buy("0.5")
		r.Protect = order.Protection{TrailPercent: dec("2"), TakeProfit: dec("55000")}
		entry := p.placed(r)
		time.Sleep(2 * time.Second)
		p.stops("0.5")
		exit := buy("0.2")
		exit.Side, exit.ReduceOnly = order.Sell, true
		p.wants(p.place(exit), order.Filled)
		time.Sleep(time.Minute)
		p.stops("0.3")
		exits := p.exits(entry.ID)
		stop := exits[len(exits)-1]
		if len(exits) != 4 || !stop.TrailPercent.Equal(dec("2")) || !exits[2].Price.Equal(dec("55000")) {
			p.t.Fatalf("exits are %+v", exits)
		}
		if _, err := p.Cancel(p.t.Context(), caller(), stop.ID); err != nil {
			p.t.Error(err)
		}
		time.Sleep(time.Minute)
		p.stops("0")
		p.wants(p.order(exits[2].ID), order.Accepted)
	})
}

// TestPaper_ATrailShowsItsStop holds that the stop price of a trail is that of the moment, in the
// answer, in the list and after a restart.
func TestPaper_ATrailShowsItsStop(t *testing.T) {
	t.Parallel()
	inPaper(t, func(p *onPaper) {
		r := buy("0.5")
		r.Protect = order.Protection{TrailPercent: dec("2"), TakeProfit: dec("55000")}
		entry := p.placed(r)
		level := func() string {
			p.t.Helper()
			for _, openOnly := range []bool{true, false} {
				all, err := p.Orders(p.t.Context(), caller(), openOnly)
				if err != nil {
					p.t.Fatal(err)
				}
				for _, o := range all {
					if o.ID == entry.Legs[0].ID && (openOnly || o.Status.Final()) {
						return o.StopPrice.String()
					}
				}
			}
			return "none"
		}
		time.Sleep(2 * time.Second)
		first := level()
		if first == "0" || first == "none" || entry.Legs[0].StopPrice.String() != first {
			p.t.Fatalf("the stop is at %s, in the answer at %v", first, entry.Legs[0].StopPrice)
		}
		p.minutes++
		p.paper.Observe(provider.Event{
			Sub: provider.Sub{Symbol: papertest.BTCUSDT().Symbol, Interval: market.Minute1}, Kind: provider.Closed, At: time.Now().Add(time.Hour),
			Bar: market.Bar{T: time.Now().Unix() + 60*p.minutes, O: 50000, H: 51000, L: 50000, C: 51000, V: 1},
		}, provider.Clock{})
		time.Sleep(2 * time.Second)
		if got := level(); got != "49980" {
			p.t.Errorf("the stop is at %s", got)
		}
		p.stop()
		p.open()
		time.Sleep(5 * time.Second)
		if got := level(); got != "49980" {
			p.t.Errorf("after a restart the stop is at %s", got)
		}
		if _, err := p.Cancel(p.t.Context(), caller(), entry.Legs[0].ID); err != nil {
			p.t.Error(err)
		}
		if got := level(); got != "0" {
			p.t.Errorf("after its end the stop is at %s", got)
		}
	})
}
