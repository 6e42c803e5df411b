package provider_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"candela/internal/data/provider"
	"candela/internal/data/provider/providertest"
	"candela/lib/market"
)

// TestSequence_WhateverComesTheContractHolds draws events in any order, with
// repeats, and holds what is let through against the contract.
func TestSequence_WhateverComesTheContractHolds(t *testing.T) {
	t.Parallel()
	subs := []provider.Sub{{Symbol: market.Symbol{Name: "A"}, Interval: market.Minute1}, {Symbol: market.Symbol{Name: "B"}, Interval: market.Hour1}}
	kinds := []provider.EventKind{provider.Forming, provider.Closed, provider.Traded, provider.Ending}
	rapid.Check(t, func(rt *rapid.T) {
		var s provider.EventFilter
		var through []provider.Event
		closed := map[provider.Sub]int64{}
		for range rapid.IntRange(1, 60).Draw(rt, "events") {
			e := provider.Event{
				Sub:  rapid.SampledFrom(subs).Draw(rt, "sub"),
				Kind: rapid.SampledFrom(kinds).Draw(rt, "kind"),
				At:   time.Unix(rapid.Int64Range(1, 500).Draw(rt, "at"), 0), Price: 1,
			}
			e.Bar = market.Bar{T: 60 * rapid.Int64Range(0, 8).Draw(rt, "open"), O: 1, H: 1, L: 1, C: 1, V: 1, TakerBuy: math.NaN()}
			if e.Kind == provider.Ending {
				e.Sub = provider.Sub{}
			}
			last, seen := closed[e.Sub]
			admitted := s.Allow(&e)
			if e.Kind == provider.Closed {
				if newer := !seen || e.Bar.T > last; newer != admitted {
					rt.Fatalf("the bar at %d after %d: admitted %v", e.Bar.T, last, admitted)
				}
				closed[e.Sub] = max(last, e.Bar.T)
			}
			if admitted {
				through = append(through, e)
			}
		}
		if err := providertest.CheckEvents(subs, through); err != nil {
			rt.Fatal(err)
		}
	})
}

func TestSequence_Forget(t *testing.T) {
	t.Parallel()
	var s provider.EventFilter
	e := provider.Event{Kind: provider.Closed, At: time.Unix(1, 0)}
	if !s.Allow(&e) || s.Allow(&e) {
		t.Error("a bar closes other than once")
	}
	if s.Forget(e.Sub); !s.Allow(&e) {
		t.Error("a forgotten subscription does not start again")
	}
}
