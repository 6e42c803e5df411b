package desk_test

import (
	"testing"
	"time"

	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

const (
	firstPrices  = "stop 44232.95 target 46941.09"
	secondPrices = "stop 44500"
)

// call is one row of what a call changes: a position of 0.05 at 45,158.22 with firstPrices, and with two
// of 0.02 more with secondPrices.
type call struct {
	two     bool
	require bool // require_stop
	do      func(s *site)
	after   func(s *site) []string // the plan after it
}

// TestPlan_WhatACallChanges holds the plan after each call, that the venue has the orders of it and no
// others, and that a restart changes nothing.
func TestPlan_WhatACallChanges(t *testing.T) {
	t.Parallel()
	for name, c := range calls() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atSites(t, func(s *site) {
				if c.require {
					s.stop()
					s.policy.RequireStop = guard.StopAlways
					s.again(func() {})
				}
				s.move("45158.22")
				time.Sleep(2 * time.Second)
				s.done(s.buys("0.05", firstPrices))
				if c.two {
					s.done(s.buys("0.02", secondPrices))
				}
				c.do(s)
				time.Sleep(10 * time.Second)
				want := c.after(s)
				s.planned(want...)
				s.again(s.kill)
				time.Sleep(time.Minute)
				s.planned(want...)
			}, onThePaper, binanceToo)
		})
	}
}

// calls are the rows.
func calls() map[string]call {
	all := func(words string) func(*site) []string {
		return func(s *site) []string { return []string{s.want(s.net("0.05"), words)} }
	}
	both := func(first, second string) func(*site) []string {
		return func(s *site) []string { return []string{s.want(s.net("0.05"), first), s.want(s.net("0.02"), second)} }
	}
	part := func(rest, part string) func(*site) []string {
		return func(s *site) []string {
			return []string{s.want(s.net("0.05", "-0.02"), rest), s.want(s.q("0.02"), part)}
		}
	}
	ask := func(words string) func(*site) {
		return func(s *site) { s.done(s.sells(s.held(), words)) }
	}
	return map[string]call{
		"a nearer stop":  {do: ask("stop 44819.71"), after: all("stop 44819.71 target 46941.09")},
		"a trail":        {do: ask("trail 0.8"), after: all("trail 0.8 target 46941.09")},
		"another target": {do: ask("target 46000"), after: all("stop 44232.95 target 46000")},
		"both":           {do: ask("stop 44819.71 target 46000"), after: all("stop 44819.71 target 46000")},
		"a limit that rests is a target": {do: func(s *site) {
			r := s.sells(s.held(), "")
			r.Type, r.Price = order.Limit, dec("46000")
			p := s.done(r)
			if o := s.order(p.ID); o.Role != order.TakeProfit || o.Status != order.Accepted {
				s.t.Errorf("the order is a %v, %v", o.Role, o.Status)
			}
		}, after: all("stop 44232.95 target 46000")},
		"a limit of a part that rests": {do: func(s *site) {
			r := s.sells(s.q("0.02"), "")
			r.Type, r.Price = order.Limit, dec("46000")
			s.done(r)
		}, after: part(firstPrices, "stop 44232.95 target 46000")},
		"a sale at the market": {do: func(s *site) { s.sold(s.q("0.02")) }, after: func(s *site) []string {
			return []string{s.want(s.net("0.05", "-0.02"), firstPrices)}
		}},
		"a limit that trades at once": {do: func(s *site) {
			r := s.sells(s.q("0.02"), "")
			r.Type, r.Price = order.Limit, dec("45000")
			s.wants(s.order(s.done(r).ID), order.Filled)
		}, after: func(s *site) []string { return []string{s.want(s.net("0.05", "-0.02"), firstPrices)} }},
		"a sale of all":          {do: func(s *site) { s.sold(s.held()) }, after: func(*site) []string { return nil }},
		"a target for a part":    {do: func(s *site) { s.done(s.sells(s.q("0.02"), "target 46000")) }, after: part(firstPrices, "stop 44232.95 target 46000")},
		"a stop for a part":      {do: func(s *site) { s.done(s.sells(s.q("0.02"), "stop 44819.71")) }, after: part(firstPrices, "stop 44819.71 target 46941.09")},
		"a cancel of the target": {do: drop(order.TakeProfit, ""), after: all("stop 44232.95")},
		"a cancel of the stop":   {do: drop(order.StopLoss, ""), after: all("target 46941.09")},
		"a cancel of both": {do: func(s *site) {
			drop(order.StopLoss, "")(s)
			time.Sleep(10 * time.Second)
			drop(order.TakeProfit, "")(s)
		}, after: func(*site) []string { return nil }},
		"a cancel of the last stop":           {require: true, do: drop(order.StopLoss, "last_stop"), after: all(firstPrices)},
		"a cancel of the target with a stop":  {require: true, do: drop(order.TakeProfit, ""), after: all("stop 44232.95")},
		"replaces the stop by its price":      {do: replace(order.StopLoss, "stop 44819.71"), after: all("stop 44819.71 target 46941.09")},
		"replaces the stop by a target":       {do: replace(order.StopLoss, "target 46000"), after: all("stop 44232.95 target 46000")},
		"replaces the target by a stop":       {do: replace(order.TakeProfit, "stop 44819.71"), after: all("stop 44819.71 target 46941.09")},
		"replaces the target by its price":    {do: replace(order.TakeProfit, "target 46000"), after: all("stop 44232.95 target 46000")},
		"replaces the stop by a wider":        {do: refuse("allow_wider_stop", order.StopLoss, "stop 44200"), after: all(firstPrices)},
		"a wider stop":                        {do: refuse("allow_wider_stop", 0, "stop 44200"), after: all(firstPrices)},
		"a second purchase with its own stop": {two: true, do: func(*site) {}, after: both(firstPrices, secondPrices)},
		"a second purchase, then its stop": {do: func(s *site) {
			s.done(s.buys("0.02", ""))
			s.done(s.sells(s.net("0.02"), secondPrices))
		}, after: both(firstPrices, secondPrices)},
		"a target over two lines":      {two: true, do: ask("target 47000"), after: both("stop 44232.95 target 47000", "stop 44500 target 47000")},
		"a stop over two lines":        {two: true, do: ask("stop 44819.71"), after: both("stop 44819.71 target 46941.09", "stop 44819.71")},
		"a stop wider than one of two": {two: true, do: refuse("allow_wider_stop", 0, "stop 44300"), after: both(firstPrices, secondPrices)},
		"a quantity that is no line":   {two: true, do: func(s *site) { s.denied(s.sells(s.q("0.03"), "target 47000"), "which_line") }, after: both(firstPrices, secondPrices)},
		"the quantity of a line":       {two: true, do: func(s *site) { s.done(s.sells(s.net("0.02"), "target 47000")) }, after: both(firstPrices, "stop 44500 target 47000")},
		"replaces one of two lines":    {two: true, do: replaceSecond("target 47000", "0.02"), after: both(firstPrices, "stop 44500 target 47000")},
		"a sale that names the second line": {two: true, do: replaceSecond("", "0.01"), after: func(s *site) []string {
			return []string{s.want(s.net("0.05"), firstPrices), s.want(s.net("0.02", "-0.01"), secondPrices)}
		}},
		"a sale over both lines":              {two: true, do: func(s *site) { s.sold(s.q("0.06")) }, after: func(s *site) []string { return []string{s.want(s.net("0.05", "0.02", "-0.06"), secondPrices)} }},
		"a cancel of the entry ends its line": {two: true, do: func(s *site) { s.cancelEntry() }, after: func(s *site) []string { return []string{s.want(s.net("0.02"), secondPrices)} }},
	}
}

// drop cancels the order of a role, which may be refused.
func drop(role order.Role, code string) func(*site) {
	return func(s *site) {
		s.t.Helper()
		_, err := s.Cancel(s.t.Context(), caller(), s.legOf(role).ID)
		if f := fault.Of(err); code == "" && err != nil || code != "" && (f == nil || f.Code != code) {
			s.t.Errorf("the cancel of the %v: %v", role, err)
		}
	}
}

// replace names the order of a role and some prices.
func replace(role order.Role, words string) func(*site) {
	return func(s *site) {
		s.t.Helper()
		r := s.sells(s.held(), words)
		r.Replaces = s.legOf(role).ID
		s.done(r)
	}
}

// refuse holds that a stop is denied, also if it names the order of a role.
func refuse(rule string, role order.Role, words string) func(*site) {
	return func(s *site) {
		s.t.Helper()
		r := s.sells(s.held(), words)
		if role != 0 {
			r.Replaces = s.legOf(role).ID
		}
		s.denied(r, rule)
	}
}

// replaceSecond names the stop of the second line.
func replaceSecond(words, quantity string) func(*site) {
	return func(s *site) {
		s.t.Helper()
		r := s.sells(s.net(quantity), words)
		if words == "" {
			r.Quantity = s.q(quantity)
		}
		for _, o := range s.store.Book(owner).Open() {
			if o.StopPrice.Equal(dec("44500")) {
				r.Replaces = o.ID
			}
		}
		s.done(r)
	}
}

// cancelEntry cancels the first entry, which has ended: its orders end, and its line.
func (s *site) cancelEntry() {
	s.t.Helper()
	all := s.store.Book(owner).Orders()
	for _, o := range all {
		if o.Role == order.Entry && o.Quantity.Equal(s.q("0.05")) {
			if _, err := s.Cancel(s.t.Context(), caller(), o.ID); err != nil {
				s.t.Error(err)
			}
		}
	}
}

// TestPlan_AnExitThatWaits lets a limit trade in part at once and then wait: what is left of it becomes a
// target, and its part keeps the stop.
func TestPlan_AnExitThatWaits(t *testing.T) {
	t.Parallel()
	for _, words := range []string{"stop 48000", "stop 48000 target 55000"} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			atSites(t, func(s *site) {
				s.done(s.buys("0.05", words))
				s.setVenue("49900")
				r := s.sells(s.q("0.03"), "")
				r.Type, r.Price = order.Limit, s.p("49950")
				exit := s.placed(r)
				s.trade(exit.ID, "0.01")
				s.move("49900")
				time.Sleep(10 * time.Second)
				rest := s.want(s.net("0.05", "-0.03"), words)
				target := s.want(s.q("0.02"), "stop 48000 target 49950")
				s.planned(rest, target)
				s.again(s.kill)
				s.planned(rest, target)
				s.move("49960")
				time.Sleep(10 * time.Second)
				s.planned(rest)
			}, binanceToo, alpacaToo)
		})
	}
}

// setVenue sets the price at the fake alone, as when the desk's is a moment old.
func (s *site) setVenue(price string) {
	if s.binance != nil {
		s.binance.Move(s.symbol.Name, s.p(price))
	} else {
		s.alpaca.SetQuote(s.symbol.Name, s.p(price).String(), s.p(price).String())
	}
}

// trade fills a part of an order at the fake.
func (s *site) trade(id, quantity string) {
	s.t.Helper()
	if s.binance != nil && !s.binance.Trade(id, s.q(quantity)) || s.alpaca != nil && !s.alpaca.Trade(id, s.q(quantity)) {
		s.t.Fatalf("no order %s is open", id)
	}
}

// TestPlan_AnExitAboutToTrade holds that an exit at a limit which the price has passed is left to trade:
// paper rests it until the next bar, and as a target it could not be placed.
func TestPlan_AnExitAboutToTrade(t *testing.T) {
	t.Parallel()
	atSites(t, func(s *site) {
		s.done(s.buys("0.05", "stop 48000 target 55000"))
		r := s.sells(s.q("0.02"), "")
		r.Type, r.Price = order.Limit, dec("49990") // below the last price, above what paper takes for it
		exit := s.done(r)
		s.wants(exit.Order, order.Accepted)
		time.Sleep(10 * time.Second)
		s.move("50010")
		time.Sleep(2 * time.Second)
		s.wants(s.order(exit.ID), order.Filled)
		s.planned(s.want(s.q("0.03"), "stop 48000 target 55000"))
	}, onThePaper)
}

// TestPlan_WhatTheVenueDoesNotTake holds that a change is denied which the venue has no orders for, and that
// nothing ends for it: a target beside a stop where there are no pairs, and a part of a share.
func TestPlan_WhatTheVenueDoesNotTake(t *testing.T) {
	t.Parallel()
	atSites(t, func(s *site) {
		s.done(s.buys("0.05", "stop 48000"))
		s.denied(s.sells(dec("20.5"), "target 55000"), "venue_whole_legs")
		s.denied(s.sells(dec("50"), "trail 1 target 55000"), "protection_not_native")
		s.planned(s.want(s.net("0.05"), "stop 48000"))
	}, alpacaToo)
	t.Run("no pairs", func(t *testing.T) {
		t.Parallel()
		atSites(t, func(s *site) {
			s.symbol.Name, s.shares = "BTC/USD", false
			s.move("50000")
			s.done(s.buys("0.05", ""))
			stop := s.sells(s.held(), "stop 48000")
			stop.Protect.StopLossLimit = dec("47900")
			s.done(stop)
			s.planned(s.want(s.held(), "stop 48000"))
			s.denied(s.sells(s.held(), "target 55000"), "protection_not_native")
			time.Sleep(10 * time.Second)
			s.planned(s.want(s.held(), "stop 48000"))
		}, alpacaToo)
	})
}
