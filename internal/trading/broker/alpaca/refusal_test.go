package alpaca_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/fake"
	fakealpaca "candela/internal/testkit/fake/alpaca"
	"candela/internal/trading/broker"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// send submits an order, or a group.
func (s *scene) send(t *testing.T, orders []order.Spec) error {
	t.Helper()
	if len(orders) == 1 {
		_, err := s.broker.Submit(t.Context(), orders[0])
		return err
	}
	_, err := s.broker.SubmitGroup(t.Context(), orders)
	return err
}

// alone returns one order as changed.
func alone(o order.Spec, change func(*order.Spec)) []order.Spec {
	change(&o)
	return []order.Spec{o}
}

// each returns a group as changed.
func each(orders []order.Spec, change func(i int, o *order.Spec)) []order.Spec {
	for i := range orders {
		change(i, &orders[i])
	}
	return orders
}

// TestSubmit_WhatTheVenueCannotHoldIsNotSent holds that these orders are refused with the
// field before anything leaves.
func TestSubmit_WhatTheVenueCannotHoldIsNotSent(t *testing.T) {
	t.Parallel()
	coin := market.Symbol{Venue: "alpaca", Name: "BTC/USD"}
	for name, tc := range map[string]struct {
		orders []order.Spec
		field  string
		words  string
	}{
		"a bracket on half a share": {
			bracket(func(r *order.Request) { r.Quantity = num("0.5") }), "quantity",
			"alpaca takes legs for whole shares only; the nearest are 1 and 0; without legs 0.5 can be bought",
		},
		"a pair on a share and a half": {
			pair(func(r *order.Request) { r.Quantity = num("1.5") }), "quantity", "the nearest are 2 and 1; without legs 1.5 can be sold",
		},
		"a stop for half a share": {
			alone(sell("AAPL", "0.5", ""), func(o *order.Spec) { o.StopPrice = num("95") }), "quantity", "alpaca takes stops and trails for whole shares only",
		},
		"a trailing leg": {
			bracket(func(r *order.Request) { r.Protect.StopLoss, r.Protect.TrailPercent = decimal.Zero, num("2") }), "trail_percent",
			"alpaca has no trailing leg; place it after the entry is filled, or give stop_loss",
		},
		"a trailing stop of a pair": {
			pair(func(r *order.Request) { r.Protect.StopLoss, r.Protect.TrailPercent = decimal.Zero, num("2") }), "trail_percent", "alpaca has no trailing leg",
		},
		"legs of a crypto pair": {bracket(func(r *order.Request) { r.Symbol = coin }), "symbol", "no legs for crypto pairs"},
		"an entry that waits":   {bracket(func(r *order.Request) { r.StopPrice = num("101") }), "stop_price", "waits for a price together with legs"},
		"legs at once":          {bracket(func(r *order.Request) { r.TimeInForce = order.IOC }), "time_in_force", "gtc or day"},
		"legs that end earlier": {each(bracket(nil), func(i int, o *order.Spec) { o.TimeInForce = []order.TimeInForce{0, order.Day, 0}[i] }), "time_in_force", "that of the entry"},
		"a stop at once":        {alone(sell("AAPL", "1", ""), func(o *order.Spec) { o.StopPrice, o.TimeInForce = num("95"), order.FOK }), "time_in_force", "gtc or day"},
		"a coin for the day":    {alone(buy("BTC/USD", "1", ""), func(o *order.Spec) { o.TimeInForce = order.Day }), "time_in_force", "gtc or ioc"},
		"a stop of a coin":      {alone(sell("BTC/USD", "1", ""), func(o *order.Spec) { o.StopPrice = num("40000") }), "stop_price", "no stop without a limit in crypto pairs"},
		"a stop loss of a coin": {alone(sell("BTC/USD", "1", ""), func(o *order.Spec) { o.StopPrice, o.Role = num("40000"), order.StopLoss }), "stop_loss", "give stop_loss_limit as well"},
		"a trail of a coin":     {alone(sell("BTC/USD", "1", ""), func(o *order.Spec) { o.TrailPercent = num("1") }), "trail_percent", "no trailing stop in crypto pairs"},
		"a trail with a limit":  {alone(sell("AAPL", "1", "95"), func(o *order.Spec) { o.TrailPercent = num("1") }), "type", "no limit for it"},
		"a trail with a stop":   {alone(sell("AAPL", "1", ""), func(o *order.Spec) { o.TrailPercent, o.StopPrice = num("1"), num("95") }), "trail_percent", "not both"},
		"a trail that goes on":  {alone(sell("AAPL", "1", ""), func(o *order.Spec) { o.TrailPercent, o.Best = num("1"), num("105") }), "best", "begins at the price of now"},
		"a trail of all":        {alone(sell("AAPL", "1", ""), func(o *order.Spec) { o.TrailPercent = num("100.1") }), "trail_percent", "up to 100"},
		"a trail below zero":    {alone(sell("AAPL", "1", ""), func(o *order.Spec) { o.TrailPercent = num("-1") }), "trail_percent", "above 0"},
		"a stop below zero":     {alone(sell("AAPL", "1", ""), func(o *order.Spec) { o.StopPrice = num("-1") }), "stop_price", "above 0"},
		"one that only rests":   {alone(buy("AAPL", "1", "95"), func(o *order.Spec) { o.PostOnly = true }), "post_only", "no orders that only rest"},
		"one order twice":       {each(bracket(nil), func(_ int, o *order.Spec) { o.ID = o.Group.Name }), "", "there twice"},
		"another quantity":      {each(bracket(nil), func(i int, o *order.Spec) { o.Quantity = num([]string{"10", "9", "10"}[i]) }), "", "does not belong to group"},
		"another group":         {each(bracket(nil), func(i int, o *order.Spec) { o.Group.Name += []string{"", "x", ""}[i] }), "", "does not belong to group"},
		"legs on the same side": {each(bracket(nil), func(_ int, o *order.Spec) { o.Side = order.Buy }), "", "does not close the position"},
		"a pair on both sides":  {each(pair(nil), func(i int, o *order.Spec) { o.Side = []order.Side{order.Sell, order.Buy}[i] }), "", "does not close the position"},
		"two stops":             {each(bracket(nil), func(_ int, o *order.Spec) { o.StopPrice = map[bool]decimal.Decimal{true: num("95")}[o.Group.Leg] }), "", "a stop and a target"},
		"a pair without a stop": {each(pair(nil), func(_ int, o *order.Spec) { o.StopPrice, o.Type, o.Price = decimal.Zero, order.Limit, num("110") }), "", "a stop and a target"},
		"a pair at market":      {each(pair(nil), func(_ int, o *order.Spec) { o.Type = order.Market }), "", "a target with a limit"},
		"a target without a limit": {
			each(bracket(func(r *order.Request) { r.Protect.StopLoss = decimal.Zero }), func(i int, o *order.Spec) { o.Type = []order.Type{order.Limit, order.Market}[i] }),
			"", "does not close the position",
		},
	} {
		trading(t, func(t *testing.T, s *scene) {
			t.Helper()
			err := s.send(t, tc.orders)
			if !errors.Is(broker.Outcome(err), broker.ErrNotSent) || !strings.Contains(err.Error(), tc.words) || s.Requests() != 0 {
				t.Errorf("%s: %v after %d requests", name, err, s.Requests())
			}
			if f := fault.Of(err); tc.field != "" && (f == nil || f.Field != tc.field) {
				t.Errorf("%s: the field of %+v", name, f)
			}
		})
	}
	for _, n := range []int{0, 1, 4} {
		trading(t, func(t *testing.T, s *scene) {
			t.Helper()
			orders := append(bracket(nil), buy("AAPL", "1", ""))[:n]
			if _, err := s.broker.SubmitGroup(t.Context(), orders); !errors.Is(broker.Outcome(err), broker.ErrNotSent) || s.Requests() != 0 {
				t.Errorf("%d orders: %v", n, err)
			}
		})
	}
}

// TestSubmit_RefusalsNameTheField holds what a caller reads of a stop or a group that the
// venue refuses: its own words, which argument they are about and what to do. Nothing of the
// group is left.
func TestSubmit_RefusalsNameTheField(t *testing.T) {
	t.Parallel()
	nothing := func(*testing.T, *scene) {}
	holds := func(t *testing.T, s *scene) {
		t.Helper()
		s.must(t, buy("AAPL", "10", ""))
	}
	says := func(status int, body string) func(*testing.T, *scene) {
		return func(_ *testing.T, s *scene) {
			s.Next(fake.Fault{On: fakealpaca.Changes, Skip: true, Status: status, Body: body})
		}
	}
	for name, tc := range map[string]struct {
		first  func(*testing.T, *scene)
		orders []order.Spec
		field  string
		words  [2]string // the venue's and ours
	}{
		"a stop that the price has passed": {
			holds, alone(sell("AAPL", "10", ""), func(o *order.Spec) { o.StopPrice, o.Role = num("101"), order.StopLoss }), "stop_loss",
			[2]string{"stop price must be less than current price", "give a lower one, or close at market"},
		},
		"a purchase that the price has passed": {
			nothing, alone(buy("AAPL", "10", ""), func(o *order.Spec) { o.StopPrice = num("99") }), "stop_price",
			[2]string{"stop price must be greater than current price", "give a higher one"},
		},
		"a stop above the entry": {
			nothing, bracket(func(r *order.Request) { r.Protect.StopLoss = num("99") }), "stop_loss",
			[2]string{"stop_loss.stop_price must be <= base_price - 0.01", "for a sale the stop is below the market"},
		},
		"a target below the entry": {
			nothing, bracket(func(r *order.Request) { r.Protect.TakeProfit = num("98") }), "take_profit",
			[2]string{"take_profit.limit_price must be >= base_price + 0.01", "the target above it"},
		},
		"a target below the stop": {
			nothing, bracket(func(r *order.Request) { r.Protect.TakeProfit = num("94") }), "take_profit",
			[2]string{"take_profit.limit_price must be > stop_loss.stop_price", "the target above it"},
		},
		"a pair without a position": {nothing, pair(nil), "reduce_only", [2]string{"oco orders must be exit orders", "nothing is held"}},
		"an entry that would close": {
			holds, bracket(func(r *order.Request) {
				atMarket(r)
				r.Side, r.Protect = order.Sell, order.Protection{StopLoss: num("105"), TakeProfit: num("90")}
			}),
			"side",
			[2]string{"bracket orders must be entry orders", "to close use reduce_only"},
		},
		"an entry where some is held": {
			func(t *testing.T, s *scene) { t.Helper(); holds(t, s); s.SetFlatEntries(true) }, bracket(nil), "side",
			[2]string{"bracket orders must be entry orders", "place the order without legs and protect it afterwards with reduce_only"},
		},
		"more than is free": {
			func(t *testing.T, s *scene) { t.Helper(); holds(t, s); s.must(t, sell("AAPL", "5", "120")) }, pair(nil), "quantity",
			[2]string{"insufficient qty available", "use reduce_only to release them"},
		},
		"too little money": {nothing, bracket(func(r *order.Request) { r.Quantity = num("10000") }), "quantity", [2]string{"insufficient buying power", "too little money"}},
		"a fraction of a cent": {
			nothing, bracket(func(r *order.Request) { r.Protect.StopLoss = num("95.001") }), "price", [2]string{"sub-penny increment", "two decimals"},
		},
		"a fraction for long": {
			nothing, alone(buy("AAPL", "0.5", ""), func(o *order.Spec) { o.TimeInForce = order.GTC }), "time_in_force",
			[2]string{"fractional orders must be DAY orders", "use day or a whole number"},
		},
		"a fraction with legs, in the venue's words": {
			says(http.StatusUnprocessableEntity, `{"code":42210000,"message":"fractional orders must be simple orders"}`), bracket(nil), "quantity",
			[2]string{"code 42210000", "legs are for whole shares only"},
		},
		"an opposite order": {
			says(http.StatusForbidden, `{"code":40310000,"message":"potential wash trade detected. use complex orders"}`), bracket(nil), "side",
			[2]string{"code 40310000", "cancel that one first"},
		},
		"words that nobody knows": {
			says(http.StatusUnprocessableEntity, `{"code":42210000,"message":"no"}`), bracket(nil), "",
			[2]string{"the venue refuses: no (HTTP 422, code 42210000)", ""},
		},
	} {
		trading(t, func(t *testing.T, s *scene) {
			t.Helper()
			tc.first(t, s)
			before := len(s.Truth().Orders)
			err := s.send(t, tc.orders)
			f := fault.Of(err)
			if !errors.Is(broker.Outcome(err), broker.ErrRejected) || f == nil || f.Field != tc.field || f.Retryable ||
				!strings.Contains(f.Message, tc.words[0]) || !strings.Contains(f.Message, tc.words[1]) {
				t.Errorf("%s: %v, %+v", name, err, f)
			}
			if n := len(s.Truth().Orders); n != before {
				t.Errorf("%s: the venue took %d orders", name, n-before)
			}
		})
	}
}

// TestSubmitGroup_AnAnswerAboutAnotherGroupIsUnknown changes the answer to a group. What the
// venue took is there in every case, and is found by the head.
func TestSubmitGroup_AnAnswerAboutAnotherGroupIsUnknown(t *testing.T) {
	t.Parallel()
	for name, change := range map[string][2]string{
		"another class":    {`"order_class":"bracket"`, `"order_class":"oto"`},
		"no class":         {`"order_class":"bracket"`, `"order_class":""`},
		"another id":       {`"client_order_id":"`, `"client_order_id":"x`},
		"another stop":     {`"stop_price":"95"`, `"stop_price":"96"`},
		"no stop":          {`"type":"stop"`, `"type":"market"`},
		"another side":     {`"side":"sell"`, `"side":"buy"`},
		"another symbol":   {`"symbol":"AAPL"`, `"symbol":"MSFT"`},
		"another quantity": {`"qty":"10"`, `"qty":"11"`},
		"no legs":          {`"legs":[`, `"others":[`},
	} {
		trading(t, func(t *testing.T, s *scene) {
			t.Helper()
			s.Next(fake.Fault{On: fakealpaca.Changes, Change: func(b []byte) []byte {
				n := 1
				if name == "another quantity" || strings.HasSuffix(name, "class") {
					n = -1
				}
				return []byte(strings.Replace(string(b), change[0], change[1], n))
			}})
			orders := bracket(nil)
			_, err := s.broker.SubmitGroup(t.Context(), orders)
			if f := fault.Of(err); !errors.Is(broker.Outcome(err), broker.ErrUnknown) || f == nil || f.Code != "outcome_unknown" || f.Retryable {
				t.Errorf("%s: %v", name, err)
			}
			s.wants(t, orders, "accepted held held")
		})
	}
}

// TestSubmitGroup_AnIDThatIsTakenIsUnknown sends a group twice.
func TestSubmitGroup_AnIDThatIsTakenIsUnknown(t *testing.T) {
	t.Parallel()
	trading(t, func(t *testing.T, s *scene) {
		t.Helper()
		orders := bracket(nil)
		s.mustGroup(t, orders)
		_, err := s.broker.SubmitGroup(t.Context(), orders)
		if !errors.Is(broker.Outcome(err), broker.ErrUnknown) || !strings.Contains(err.Error(), "has an order with this id already") {
			t.Error(err)
		}
		if n := len(s.Truth().Orders); n != 3 {
			t.Errorf("the venue has %d orders", n)
		}
		s.wants(t, orders, "accepted held held")
	})
}
