package desk_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/testkit/fake"
	fakealpaca "candela/internal/testkit/fake/alpaca"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// atAlpaca is a desk with a bracket over 10 shares at a fake Alpaca: an entry at 99, a stop at
// 95 and a target at 110.
type atAlpaca struct {
	*day
	venue  *fakealpaca.Server
	placed order.Placed
}

func newAtAlpaca(t *testing.T) *atAlpaca {
	t.Helper()
	network := fake.NewNetwork()
	f, shut := alpacaFloor(network, 1)
	t.Cleanup(shut)
	venue, ok := f.(onAlpaca)
	if !ok {
		t.Fatal("not at Alpaca")
	}
	a := &atAlpaca{day: newDay(t, 1, network, f), venue: venue.Server}
	a.venue.SetUnlimited()
	a.venue.SetQuote("AAPL", "99.99", "100.01")
	time.Sleep(5 * time.Second)
	return a
}

// fill fills the entry.
func (a *atAlpaca) fill() { a.venue.SetQuote("AAPL", "98.98", "99") }

// leg returns the venue's ID of the target or the stop.
func (a *atAlpaca) leg(kind string) string {
	for _, leg := range a.venue.Truth().Groups[0].Legs {
		if leg.Type == kind {
			return leg.VenueID
		}
	}
	return ""
}

// move replaces the stop by hand.
func (a *atAlpaca) move(t *testing.T, stop string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DialContext: a.network.Dial, DisableKeepAlives: true}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, "http://alpaca.test/v2/orders/"+a.leg("stop"), strings.NewReader(`{"stop_price":"`+stop+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Apca-Api-Key-Id", fakealpaca.KeyID)
	r.Header.Set("Apca-Api-Secret-Key", fakealpaca.Secret)
	resp, err := client.Do(r)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", resp, err)
	}
	_ = resp.Body.Close()
}

// TestAlpaca_ABracketStaysOneGroup takes a bracket through what can happen to it. In the end
// the venue has its orders and no others, and the desk knows them.
func TestAlpaca_ABracketStaysOneGroup(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mood   fakealpaca.Fault
		lost   string // how the answer to the bracket is lost
		do     func(t *testing.T, a *atAlpaca)
		want   string
		orders int    // at the venue; 3 when 0
		cause  string // of a restriction
	}{
		"it waits":                             {do: func(*testing.T, *atAlpaca) {}, want: "accepted held held"},
		"it works":                             {do: func(_ *testing.T, a *atAlpaca) { a.fill() }, want: "filled accepted accepted"},
		"no event of legs":                     {mood: fakealpaca.QuietLegs, do: func(_ *testing.T, a *atAlpaca) { a.fill() }, want: "filled accepted accepted"},
		"the answer is lost, and it is filled": {lost: "broken, done", do: func(_ *testing.T, a *atAlpaca) { a.fill() }, want: "filled accepted accepted"},
		"it is filled while the desk is down": {do: func(_ *testing.T, a *atAlpaca) {
			a.kill()
			a.fill()
			a.start()
		}, want: "filled accepted accepted"},
		"the stop is reached": {do: func(_ *testing.T, a *atAlpaca) {
			a.fill()
			time.Sleep(time.Minute)
			a.venue.SetQuote("AAPL", "94.90", "94.92")
		}, want: "filled filled canceled"},
		"the stop is reached while the desk is down": {mood: fakealpaca.TargetReplaced, do: func(_ *testing.T, a *atAlpaca) {
			a.kill()
			a.fill()
			a.venue.SetQuote("AAPL", "94.90", "94.92")
			a.start()
		}, want: "filled filled canceled"},
		"a part of the target is filled": {do: func(_ *testing.T, a *atAlpaca) {
			a.fill()
			a.venue.Trade(a.leg("limit"), dec("4"))
		}, want: "filled accepted partially_filled"},
		"both are filled": {do: func(_ *testing.T, a *atAlpaca) {
			a.fill()
			a.venue.FillBoth(a.placed.ID)
		}, want: "filled filled filled", cause: "leg_overfill"},
		"a part of the entry is filled and the rest cancelled": {do: func(t *testing.T, a *atAlpaca) {
			t.Helper()
			a.venue.SetCancelDelay(20 * time.Second)
			a.venue.SetRelease(5 * time.Second)
			a.venue.Trade(a.placed.ID, dec("4"))
			time.Sleep(time.Second)
			if _, err := a.Cancel(t.Context(), caller(), a.placed.ID); err != nil {
				t.Error(err)
			}
			time.Sleep(2 * time.Minute)
			groups := a.venue.Truth().Groups
			if last := groups[len(groups)-1]; last.Class != "oco" || !last.Parent.Quantity.Equal(dec("4")) || !last.Legs[0].Stop.Equal(dec("95")) || last.Legs[0].Status != "held" {
				t.Errorf("the part is protected by %+v", last)
			}
		}, want: "canceled canceled canceled", orders: 5},
		"the stop is moved by hand": {do: func(t *testing.T, a *atAlpaca) {
			t.Helper()
			a.fill()
			time.Sleep(time.Minute)
			a.move(t, "96")
		}, want: "filled canceled accepted", orders: 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := newAtAlpaca(t)
				a.venue.SetFault(c.mood)
				if c.lost != "" {
					a.venue.Next(fakealpaca.OrderFaults()[c.lost])
				}
				var err error
				a.placed, err = a.Place(t.Context(), caller(), order.Request{
					Symbol: market.Symbol{Venue: "alpaca", Name: "AAPL"}, Side: order.Buy, Type: order.Limit, Quantity: dec("10"), Price: dec("99"),
					Protect: order.Protection{StopLoss: dec("95"), TakeProfit: dec("110")},
				})
				if err != nil || len(a.placed.Legs) != 2 {
					t.Fatalf("%+v, %v", a.placed, err)
				}
				time.Sleep(time.Second)
				c.do(t, a)
				time.Sleep(3 * time.Minute)
				a.hold(t, c.want, max(c.orders, 3), c.cause)
			})
		})
	}
}

// hold holds the statuses of the group, how many orders the venue has, and the restrictions.
func (a *atAlpaca) hold(t *testing.T, want string, orders int, cause string) {
	t.Helper()
	all, err := a.Orders(t.Context(), caller(), false)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, id := range []string{a.placed.ID, a.placed.Legs[0].ID, a.placed.Legs[1].ID} {
		for _, o := range all {
			if o.ID == id {
				words = append(words, o.Status.String())
			}
		}
	}
	if got := strings.Join(words, " "); got != want {
		t.Errorf("the group is %s, want %s", got, want)
	}
	if n := len(a.venue.Truth().Orders); n != orders {
		t.Errorf("the venue has %d orders, want %d: %+v", n, orders, a.venue.Truth().Orders)
	}
	var causes []string
	for _, r := range a.Status().State.Restrictions {
		causes = append(causes, string(r.Kind))
	}
	if got := strings.Join(causes, " "); got != cause {
		t.Errorf("restricted by %q, want %q: %+v", got, cause, a.Status().State.Restrictions)
	}
}

// TestAlpaca_AShortEntryInPart holds that what is sold short before the rest is cancelled
// gets a pair that buys it back, and that the stop does.
func TestAlpaca_AShortEntryInPart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAtAlpaca(t)
		p, err := a.Place(t.Context(), caller(), order.Request{
			Symbol: market.Symbol{Venue: "alpaca", Name: "AAPL"}, Side: order.Sell, Type: order.Limit, Quantity: dec("10"), Price: dec("101"),
			Protect: order.Protection{StopLoss: dec("105"), TakeProfit: dec("90")},
		})
		if err != nil || len(p.Legs) != 2 {
			t.Fatalf("%+v, %v", p, err)
		}
		a.venue.Trade(p.ID, dec("4"))
		time.Sleep(time.Second)
		if _, err := a.Cancel(t.Context(), caller(), p.ID); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Minute)
		groups := a.venue.Truth().Groups
		last := groups[len(groups)-1]
		if last.Class != "oco" || !last.Parent.Quantity.Equal(dec("4")) || !last.Legs[0].Stop.Equal(dec("105")) {
			t.Errorf("the part is protected by %+v", last)
		}
		a.venue.SetQuote("AAPL", "105.10", "105.12")
		time.Sleep(2 * time.Minute)
		if s := a.Status(); s.Open != 0 || len(s.State.Restrictions) != 0 {
			t.Errorf("the desk is %+v", s)
		}
		if positions, err := a.Positions(t.Context(), caller()); err != nil || len(positions) != 0 {
			t.Errorf("held are %+v, %v", positions, err)
		}
	})
}

// TestAlpaca_EntriesThatCloseEachOther holds that the stops of a purchase and of a short sale of
// the same size end: nothing is held, so either of them would open a position.
func TestAlpaca_EntriesThatCloseEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAtAlpaca(t)
		var entries []order.Placed
		for _, r := range []order.Request{
			{Side: order.Sell, Price: dec("101"), Protect: order.Protection{StopLoss: dec("105")}},
			{Side: order.Buy, Price: dec("99"), Protect: order.Protection{StopLoss: dec("95")}},
		} {
			r.Symbol, r.Type, r.Quantity = market.Symbol{Venue: "alpaca", Name: "AAPL"}, order.Limit, dec("4")
			p, err := a.Place(t.Context(), caller(), r)
			if err != nil || len(p.Legs) != 1 {
				t.Fatalf("%+v, %v", p, err)
			}
			entries = append(entries, p)
		}
		for _, p := range entries {
			a.venue.Trade(p.ID, dec("4"))
			time.Sleep(time.Second)
		}
		time.Sleep(2 * time.Minute)
		if held := a.venue.Truth().Positions["AAPL"]; !held.IsZero() {
			t.Fatalf("%v is held", held)
		}
		if s := a.Status(); s.Open != 0 || len(s.State.Restrictions) != 0 {
			t.Errorf("the desk is %+v", s)
		}
	})
}
