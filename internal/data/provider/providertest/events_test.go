package providertest

import (
	"math"
	"testing"
	"time"

	"candela/internal/data/provider"
	"candela/lib/market"
)

func TestCheckEvents(t *testing.T) {
	t.Parallel()
	sub := provider.Sub{Symbol: market.Symbol{Name: "KNOWN"}, Interval: market.Minute1}
	event := func(kind provider.EventKind, open, at int64) provider.Event {
		bar := market.Bar{T: open, O: 1, H: 2, L: 1, C: 2, V: 3, TakerBuy: math.NaN()}
		return provider.Event{Sub: sub, Kind: kind, Bar: bar, Price: 2, At: time.Unix(at, 0)}
	}
	with := func(e provider.Event, change func(*provider.Event)) provider.Event {
		change(&e)
		return e
	}
	good := []provider.Event{
		event(provider.Forming, 0, 10), event(provider.Forming, 0, 20), event(provider.Closed, 0, 60),
		{Sub: sub, Kind: provider.Traded, Price: 3, At: time.Unix(61, 0)},
		event(provider.Forming, 60, 70), event(provider.Closed, 60, 120), event(provider.Closed, 120, 180),
	}
	cases := map[string]struct {
		next provider.Event
		ok   bool
	}{
		"the next bar":                 {event(provider.Forming, 180, 190), true},
		"the end announced":            {provider.Event{Kind: provider.Ending, At: time.Unix(190, 0)}, true},
		"a sign of life":               {provider.Event{Kind: provider.Alive, At: time.Unix(190, 0)}, true},
		"the end of one subscription":  {provider.Event{Sub: sub, Kind: provider.Ending, At: time.Unix(190, 0)}, false},
		"the end at no time":           {provider.Event{Kind: provider.Ending}, false},
		"a closed bar again":           {event(provider.Closed, 120, 190), false},
		"a forming bar that is closed": {event(provider.Forming, 120, 190), false},
		"an older closed bar":          {event(provider.Closed, 60, 190), false},
		"time that runs back":          {event(provider.Forming, 180, 170), false},
		"no time":                      {with(event(provider.Forming, 180, 190), func(e *provider.Event) { e.At = time.Time{} }), false},
		"no kind":                      {event(0, 180, 190), false},
		"another price":                {with(event(provider.Forming, 180, 190), func(e *provider.Event) { e.Price = 9 }), false},
		"a broken bar":                 {with(event(provider.Forming, 180, 190), func(e *provider.Event) { e.Bar.L = 9 }), false},
		"another symbol":               {with(event(provider.Forming, 180, 190), func(e *provider.Event) { e.Symbol.Name = "OTHER" }), false},
	}
	for name, tc := range cases {
		err := CheckEvents([]provider.Sub{sub}, append(append([]provider.Event{}, good...), tc.next))
		if (err == nil) != tc.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	back := []provider.Event{event(provider.Forming, 60, 70), event(provider.Forming, 0, 80)}
	if CheckEvents([]provider.Sub{sub}, back) == nil {
		t.Error("a forming bar that goes back is not noticed")
	}
}
