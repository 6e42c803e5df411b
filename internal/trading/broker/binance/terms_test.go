package binance_test

import (
	"errors"
	"net/url"
	"reflect"
	"testing"

	"github.com/shopspring/decimal"

	venue "candela/internal/testkit/fake/binance"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/binance"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// with returns an order of 0.1 at the price, changed.
func with(side order.Side, price string, change func(*order.Spec)) order.Spec {
	o := spec(side, "0.1", price)
	if change != nil {
		change(&o)
	}
	return o
}

// TestSubmit_WireForms holds the request of each kind of order, and what its report says.
func TestSubmit_WireForms(t *testing.T) {
	t.Parallel()
	const rest = "&newClientOrderId=A&newOrderRespType=FULL"
	for name, tc := range map[string]struct {
		o    order.Spec
		want string
	}{
		"at market": {with(order.Buy, "", nil), rest + "&quantity=0.1&side=BUY&symbol=BTCUSDT&type=MARKET"},
		"at market, what there is": {
			with(order.Buy, "", func(o *order.Spec) { o.TimeInForce = order.IOC }), rest + "&quantity=0.1&side=BUY&symbol=BTCUSDT&type=MARKET",
		},
		"a limit": {with(order.Buy, "49000", nil), rest + "&price=49000&quantity=0.1&side=BUY&symbol=BTCUSDT&timeInForce=GTC&type=LIMIT"},
		"a limit, now": {
			with(order.Buy, "50000", func(o *order.Spec) { o.TimeInForce = order.IOC }),
			rest + "&price=50000&quantity=0.1&side=BUY&symbol=BTCUSDT&timeInForce=IOC&type=LIMIT",
		},
		"a limit, all or nothing": {
			with(order.Sell, "50000", func(o *order.Spec) { o.TimeInForce = order.FOK }),
			rest + "&price=50000&quantity=0.1&side=SELL&symbol=BTCUSDT&timeInForce=FOK&type=LIMIT",
		},
		"post-only": {
			with(order.Sell, "51000", func(o *order.Spec) { o.PostOnly, o.TimeInForce = true, order.GTC }),
			rest + "&price=51000&quantity=0.1&side=SELL&symbol=BTCUSDT&type=LIMIT_MAKER",
		},
		"a stop": {
			with(order.Sell, "", func(o *order.Spec) { o.StopPrice, o.Role = dec("48000"), order.StopLoss }),
			rest + "&quantity=0.1&side=SELL&stopPrice=48000&symbol=BTCUSDT&type=STOP_LOSS",
		},
		"a stop that buys": {
			with(order.Buy, "", func(o *order.Spec) { o.StopPrice = dec("52000.5") }),
			rest + "&quantity=0.1&side=BUY&stopPrice=52000.5&symbol=BTCUSDT&type=STOP_LOSS",
		},
		"a stop with a limit": {
			with(order.Sell, "47900", func(o *order.Spec) { o.StopPrice = dec("48000") }),
			rest + "&price=47900&quantity=0.1&side=SELL&stopPrice=48000&symbol=BTCUSDT&timeInForce=GTC&type=STOP_LOSS_LIMIT",
		},
		"a stop with a limit, now": {
			with(order.Sell, "47900", func(o *order.Spec) { o.StopPrice, o.TimeInForce = dec("48000"), order.IOC }),
			rest + "&price=47900&quantity=0.1&side=SELL&stopPrice=48000&symbol=BTCUSDT&timeInForce=IOC&type=STOP_LOSS_LIMIT",
		},
		"a trailing stop": {
			with(order.Sell, "", func(o *order.Spec) { o.TrailPercent = dec("0.35") }),
			rest + "&quantity=0.1&side=SELL&symbol=BTCUSDT&trailingDelta=35&type=STOP_LOSS",
		},
		"a trailing stop of 20 %": {
			with(order.Sell, "", func(o *order.Spec) { o.TrailPercent = dec("20.00") }),
			rest + "&quantity=0.1&side=SELL&symbol=BTCUSDT&trailingDelta=2000&type=STOP_LOSS",
		},
	} {
		recorded(t, venue.Config{Depth: dec("10")}, func(t *testing.T, _ *venue.Server, b *binance.Broker, kept *sent) {
			t.Helper()
			r, err := b.Submit(t.Context(), tc.o)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got, err := url.QueryUnescape(kept.last([]order.Spec{tc.o})); got != "=POST order"+tc.want || err != nil {
				t.Errorf("%s is sent as\n%s, want\n%s", name, got, "=POST order"+tc.want)
			}
			again, err := b.Query(t.Context(), tc.o.Handle())
			for _, r := range []order.Report{r, again} {
				if err != nil || r.Type != tc.o.Type || !r.Price.Equal(tc.o.Price) || !r.StopPrice.Equal(tc.o.StopPrice) || !r.TrailPercent.Equal(tc.o.TrailPercent) ||
					r.PostOnly != tc.o.PostOnly || tc.o.Type == order.Limit && tc.o.TimeInForce != 0 && r.TimeInForce != tc.o.TimeInForce || !r.Triggered.IsZero() {
					t.Errorf("%s: %+v, %v", name, r, err)
				}
			}
		})
	}
}

// TestSubmit_WhatTheVenueDoesNotTake holds that nothing is sent in place of it, and what
// its refusals of stops say.
func TestSubmit_WhatTheVenueDoesNotTake(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		o          order.Spec
		fate       error
		field      string
		suggestion string
	}{
		"for the day":               {with(order.Buy, "49000", func(o *order.Spec) { o.TimeInForce = order.Day }), broker.ErrNotSent, "time_in_force", ""},
		"at market, all or nothing": {with(order.Buy, "", func(o *order.Spec) { o.TimeInForce = order.FOK }), broker.ErrNotSent, "time_in_force", ""},
		"post-only, now":            {with(order.Buy, "49000", func(o *order.Spec) { o.PostOnly, o.TimeInForce = true, order.IOC }), broker.ErrNotSent, "time_in_force", ""},
		"post-only at market":       {with(order.Buy, "", func(o *order.Spec) { o.PostOnly = true }), broker.ErrNotSent, "post_only", ""},
		"post-only with a stop":     {with(order.Sell, "47000", func(o *order.Spec) { o.PostOnly, o.StopPrice = true, dec("48000") }), broker.ErrNotSent, "post_only", ""},
		"a stop below zero":         {with(order.Sell, "", func(o *order.Spec) { o.StopPrice = dec("-1") }), broker.ErrNotSent, "stop_price", ""},
		"a trail below zero":        {with(order.Sell, "", func(o *order.Spec) { o.TrailPercent = dec("-1") }), broker.ErrNotSent, "trail_percent", ""},
		"a trail and a stop":        {with(order.Sell, "", func(o *order.Spec) { o.TrailPercent, o.StopPrice = dec("1"), dec("48000") }), broker.ErrNotSent, "trail_percent", ""},
		"a trail off the grid":      {with(order.Sell, "", func(o *order.Spec) { o.TrailPercent = dec("1.337") }), broker.ErrNotSent, "trail_percent", "1.34"},
		"a trail below the grid":    {with(order.Sell, "", func(o *order.Spec) { o.TrailPercent = dec("0.001") }), broker.ErrNotSent, "trail_percent", "0.01"},
		"legs that are not there":   {with(order.Buy, "49000", func(o *order.Spec) { o.Protect.StopLoss = dec("48000") }), broker.ErrNotSent, "", ""},
		"a sale above the price":    {with(order.Sell, "", func(o *order.Spec) { o.StopPrice = dec("51000") }), broker.ErrRejected, "stop_price", ""},
		"a stop that is passed":     {with(order.Sell, "", func(o *order.Spec) { o.StopPrice, o.Role = dec("50000"), order.StopLoss }), broker.ErrRejected, "stop_loss", ""},
		"post-only that would take": {with(order.Buy, "51000", func(o *order.Spec) { o.PostOnly = true }), broker.ErrRejected, "price", ""},
		"a trail that is too wide":  {with(order.Sell, "", func(o *order.Spec) { o.TrailPercent = dec("20.01") }), broker.ErrRejected, "trail_percent", ""},
		"a stop off the tick":       {with(order.Sell, "", func(o *order.Spec) { o.StopPrice = dec("48000.00001") }), broker.ErrRejected, "price", ""},
	} {
		recorded(t, venue.Config{}, func(t *testing.T, s *venue.Server, b *binance.Broker, kept *sent) {
			t.Helper()
			_, err := b.Submit(t.Context(), tc.o)
			f := fault.Of(err)
			if broker.Outcome(err) != tc.fate || tc.field != "" && (f == nil || f.Field != tc.field || f.Message == "") { //nolint:errorlint // one of the values
				t.Errorf("%s: %v", name, err)
			}
			if tc.suggestion != "" && (len(f.Suggestions) != 1 || f.Suggestions[0] != tc.suggestion) {
				t.Errorf("%s: %q", name, f.Suggestions)
			}
			if errors.Is(tc.fate, broker.ErrNotSent) != (len(kept.all) == 0) || len(s.Orders()) != 0 {
				t.Errorf("%s: %d requests, %d orders", name, len(kept.all), len(s.Orders()))
			}
		})
	}
}

// TestCapabilities_FollowTheSymbol holds them against what exchangeInfo says.
func TestCapabilities_FollowTheSymbol(t *testing.T) {
	t.Parallel()
	times := []order.TimeInForce{order.GTC, order.IOC, order.FOK}
	all := order.Capabilities{
		Stops: true, StopLimits: true, Times: times, PostOnly: true, TrailMin: dec("0.1"), TrailMax: dec("20"), TrailStep: dec("0.01"), Pairs: true, OneLeg: true, TwoLegs: true,
		TrailLeg: true, CancelEndsGroup: true, MaxStops: 5,
	}
	without := func(change func(*order.Capabilities)) order.Capabilities {
		c := all
		change(&c)
		return c
	}
	for name, tc := range map[string]struct {
		symbol venue.Features
		want   order.Capabilities
	}{
		"all": {venue.Features{}, all},
		"no stops at market": {
			venue.Features{NoTypes: []string{"STOP_LOSS", "TAKE_PROFIT"}},
			without(func(c *order.Capabilities) {
				c.Stops, c.TrailLeg, c.TrailMin, c.TrailMax, c.TrailStep = false, false, decimal.Zero, decimal.Zero, decimal.Zero
			}),
		},
		"no trails": {
			venue.Features{NoTrailing: true},
			without(func(c *order.Capabilities) {
				c.TrailLeg, c.TrailMin, c.TrailMax, c.TrailStep = false, decimal.Zero, decimal.Zero, decimal.Zero
			}),
		},
		"no pairs":   {venue.Features{NoOCO: true}, without(func(c *order.Capabilities) { c.Pairs, c.TwoLegs = false, false })},
		"no entries": {venue.Features{NoOTO: true}, without(func(c *order.Capabilities) { c.OneLeg, c.TwoLegs = false, false })},
		"no sizing":  {venue.Features{NoOPO: true}, all},
		"no makers": {
			venue.Features{NoTypes: []string{"LIMIT_MAKER"}}, without(func(c *order.Capabilities) { c.PostOnly, c.Pairs, c.TwoLegs = false, false, false }),
		},
	} {
		recorded(t, venue.Config{Symbols: map[string]venue.Features{"BTCUSDT": tc.symbol}}, func(t *testing.T, s *venue.Server, b *binance.Broker, _ *sent) {
			t.Helper()
			asked := s.Asked()
			for range 3 {
				got, err := b.Capabilities(t.Context(), btc())
				if err != nil || !got.TrailMin.Equal(tc.want.TrailMin) || !got.TrailMax.Equal(tc.want.TrailMax) || !got.TrailStep.Equal(tc.want.TrailStep) {
					t.Fatalf("%s: %+v, %v", name, got, err)
				}
				got.TrailMin, got.TrailMax, got.TrailStep = tc.want.TrailMin, tc.want.TrailMax, tc.want.TrailStep
				if !reflect.DeepEqual(got, tc.want) {
					t.Errorf("%s: %+v, want %+v", name, got, tc.want)
				}
			}
			if n := s.Asked() - asked; n != 1 {
				t.Errorf("%s: asked %d times", name, n)
			}
			if _, err := b.Capabilities(t.Context(), market.Symbol{Venue: "binance", Name: "NOSUCH"}); fault.KindOf(err) != fault.NotFound {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}
