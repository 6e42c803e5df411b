package binance_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/fake"
	venue "candela/internal/testkit/fake/binance"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/binance"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

func isQuery(r *http.Request) bool {
	return r.URL.Path == "/api/v3/order" && r.Method == http.MethodGet
}

// TestSubmit_Fates is the table of what each answer means for an order. What is
// not known to be a refusal is never taken for one.
func TestSubmit_Fates(t *testing.T) {
	t.Parallel()
	coded := func(status, code int) fake.Fault { return venue.Coded(status, code, "words") }
	fates := map[string]struct {
		want   error
		faults []fake.Fault
	}{
		"refused": {broker.ErrRejected, []fake.Fault{
			coded(400, -1013), coded(400, -1014), coded(400, -1015), coded(400, -1020), coded(400, -1021), coded(400, -1022), coded(400, -1100),
			coded(400, -1102), coded(400, -1111), coded(400, -1121), coded(400, -1131), coded(400, -1225), coded(400, -2010), coded(401, -2014),
			coded(401, -2015), coded(401, -1002), coded(429, -1003), coded(429, -1015), coded(418, -1003),
			{Status: 403},
			{Status: 429},
			{Status: 418},
			{Status: 451},
			venue.Coded(400, -2010, "This symbol is restricted for this account."),
		}},
		"unknown": {broker.ErrUnknown, []fake.Fault{
			coded(400, -1000), coded(400, -1001), coded(400, -1006), coded(504, -1007), coded(400, -1007), coded(503, -1008), coded(400, -1008), coded(400, -1016),
			coded(500, -1013), coded(502, -2010), coded(400, -9999), coded(400, 0), coded(409, -2021),
			{Status: 400},
			{Status: 404},
			{Status: 408},
			{Status: 500},
			{Status: 503},
			{Status: 301},
			{Status: 302, Body: "<html>"},
			{Status: 200},
			{Status: 200, Body: "{}"},
			{Status: 200, Body: "[]"},
			{Status: 202, Body: "accepted"},
			{Status: 400, Body: `{"code":"-2010"`},
			{Status: 400, Body: `{"code":null,"msg":"x"}`},
			venue.Coded(400, -2010, "Duplicate order sent."),
			{Reset: true},
			{Status: 200, Body: `{"symbol":"BTCUSDT","orderId":28,"orderListId":-1,"clientOrderId":"another","transactTime":1507725176595,"price":"0.0","origQty":"0.01","executedQty":"0","status":"NEW","type":"MARKET","side":"BUY"}`},
		}},
	}
	for name, tc := range fates {
		for i, f := range tc.faults {
			within(t, func(t *testing.T, s *venue.Server, b *binance.Broker) {
				t.Helper()
				f.On, f.Skip = venue.Changes, true
				s.Next(f)
				asked := s.Asked()
				_, err := b.Submit(t.Context(), spec(order.Buy, "0.01", ""))
				if !errors.Is(err, tc.want) || broker.Outcome(err) != tc.want { //nolint:errorlint // the fate is one of the values
					t.Errorf("%s %d (%d %s): %v", name, i, f.Status, f.Body, err)
				}
				if n := s.Asked() - asked; n > 2 { // the clock and the order
					t.Errorf("%s %d: asked %d times", name, i, n)
				}
			})
		}
	}
}

// TestSubmit_SaysWhatToDo holds the faults that a client sees.
func TestSubmit_SaysWhatToDo(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*order.Spec)
		fault  *fake.Fault
		kind   fault.Kind
		code   string
		field  string
	}{
		"too expensive":    {change: func(o *order.Spec) { o.Quantity = decimal.NewFromInt(50) }, kind: fault.Invalid, code: "insufficient_balance", field: "quantity"},
		"off the tick":     {change: func(o *order.Spec) { o.Price = decimal.RequireFromString("40000.00001") }, kind: fault.Invalid, code: "venue_filter", field: "price"},
		"off the step":     {change: func(o *order.Spec) { o.Quantity = decimal.RequireFromString("0.010001") }, kind: fault.Invalid, code: "venue_filter", field: "quantity"},
		"too precise":      {change: func(o *order.Spec) { o.Quantity = decimal.RequireFromString("0.0100000001") }, kind: fault.Unavailable, code: "venue_refused"},
		"too small":        {change: func(o *order.Spec) { o.Quantity = decimal.RequireFromString("0.0001") }, kind: fault.Invalid, code: "venue_filter", field: "quantity"},
		"far away":         {change: func(o *order.Spec) { o.Price = decimal.NewFromInt(900) }, kind: fault.Invalid, code: "venue_filter", field: "price"},
		"no symbol":        {change: func(o *order.Spec) { o.Symbol.Name = "NOSUCH" }, kind: fault.NotFound, code: "unknown_symbol", field: "symbol"},
		"another venue":    {change: func(o *order.Spec) { o.Symbol.Venue = "kraken" }, kind: fault.NotFound, code: "unknown_symbol", field: "symbol"},
		"no side":          {change: func(o *order.Spec) { o.Side = 0 }, kind: fault.Invalid, code: "invalid_argument", field: "side"},
		"no type":          {change: func(o *order.Spec) { o.Type = 9 }, kind: fault.Invalid, code: "invalid_argument", field: "type"},
		"no quantity":      {change: func(o *order.Spec) { o.Quantity = decimal.NewFromInt(-1) }, kind: fault.Invalid, code: "invalid_argument", field: "quantity"},
		"no price":         {change: func(o *order.Spec) { o.Price = decimal.Zero }, kind: fault.Invalid, code: "invalid_argument", field: "price"},
		"a long id":        {change: func(o *order.Spec) { o.ID += "x" }, kind: fault.Invalid, code: "invalid_argument", field: "id"},
		"an id with blank": {change: func(o *order.Spec) { o.ID = "a b" }, kind: fault.Invalid, code: "invalid_argument", field: "id"},
		"wrong keys":       {fault: coded(401, -2015), kind: fault.Unavailable, code: "venue_keys_refused"},
		"closed":           {fault: &fake.Fault{Status: 400, Body: `{"code":-2010,"msg":"Market is closed."}`}, kind: fault.Conflict, code: "venue_refused"},
		"over the limit":   {fault: &fake.Fault{Status: 429, RetryAfter: 7 * time.Second}, kind: fault.Unavailable, code: "rate_limited"},
		"the region":       {fault: &fake.Fault{Status: 451}, kind: fault.Unavailable, code: "region_refused"},
	} {
		within(t, func(t *testing.T, s *venue.Server, b *binance.Broker) {
			t.Helper()
			o := spec(order.Buy, "0.01", "40000")
			if tc.change != nil {
				tc.change(&o)
			}
			if tc.fault != nil {
				tc.fault.On = venue.Changes
				s.Next(*tc.fault)
			}
			_, err := b.Submit(t.Context(), o)
			f := fault.Of(err)
			if f == nil || f.Kind != tc.kind || f.Code != tc.code || f.Field != tc.field || f.Message == "" {
				t.Errorf("%s: %#v, %v", name, f, err)
			}
			if fate := broker.Outcome(err); !errors.Is(fate, broker.ErrRejected) && !errors.Is(fate, broker.ErrNotSent) {
				t.Errorf("%s: %v", name, err)
			}
			if name == "over the limit" && (f.RetryAfter != 7*time.Second || !f.Retryable) {
				t.Errorf("come back after %v", f.RetryAfter)
			}
		})
	}
}

func coded(status, code int) *fake.Fault {
	f := venue.Coded(status, code, "words")
	return &f
}

// TestSubmit_APauseKeepsOrdersHere holds that after a 429 nothing is sent until it
// is over.
func TestSubmit_APauseKeepsOrdersHere(t *testing.T) {
	t.Parallel()
	within(t, func(t *testing.T, s *venue.Server, b *binance.Broker) {
		t.Helper()
		if _, err := b.Submit(t.Context(), spec(order.Buy, "0.01", "")); err != nil {
			t.Fatal(err)
		}
		s.Next(venue.TooMany(http.StatusTeapot, 2*time.Minute))
		_, err := b.Submit(t.Context(), spec(order.Buy, "0.01", ""))
		if !errors.Is(err, broker.ErrRejected) {
			t.Error(err)
		}
		asked := s.Asked()
		_, err = b.Submit(t.Context(), spec(order.Buy, "0.01", ""))
		if f := fault.Of(err); !errors.Is(err, broker.ErrNotSent) || f == nil || f.Code != "rate_limited" || f.RetryAfter != 2*time.Minute || s.Asked() != asked {
			t.Errorf("%v, asked %d times", err, s.Asked()-asked)
		}
		time.Sleep(2 * time.Minute)
		if _, err := b.Submit(t.Context(), spec(order.Buy, "0.01", "")); err != nil {
			t.Error(err)
		}
	})
}

// TestSubmit_TooManyOrdersHoldOrdersAlone holds that the limit of orders does not
// keep anybody from cancelling: it may last until midnight.
func TestSubmit_TooManyOrdersHoldOrdersAlone(t *testing.T) {
	t.Parallel()
	within(t, func(t *testing.T, s *venue.Server, b *binance.Broker) {
		t.Helper()
		var rests []order.Spec
		for range 100 {
			o := spec(order.Buy, "0.001", "40000")
			if _, err := b.Submit(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			rests = append(rests, o)
		}
		_, err := b.Submit(t.Context(), spec(order.Buy, "0.001", "40000"))
		if f := fault.Of(err); !errors.Is(err, broker.ErrRejected) || f == nil || f.Code != "rate_limited" || f.RetryAfter == 0 {
			t.Errorf("one too many: %v", err)
		}
		asked := s.Asked()
		_, err = b.Submit(t.Context(), spec(order.Buy, "0.001", "40000"))
		if f := fault.Of(err); !errors.Is(err, broker.ErrNotSent) || f == nil || f.Code != "rate_limited" || s.Asked() != asked {
			t.Errorf("the next one: %v", err)
		}
		for _, o := range rests {
			if r, err := b.Cancel(t.Context(), o.Handle()); err != nil || r.Status != order.Canceled {
				t.Fatalf("%+v, %v", r, err)
			}
		}
		time.Sleep(10 * time.Second)
		if _, err := b.Submit(t.Context(), spec(order.Buy, "0.001", "40000")); err != nil {
			t.Error(err)
		}
	})
}

// TestCancel_WhatTheVenueDoesNotKnow distinguishes the cases that it answers with one
// code.
func TestCancel_WhatTheVenueDoesNotKnow(t *testing.T) {
	t.Parallel()
	within(t, func(t *testing.T, s *venue.Server, b *binance.Broker) {
		t.Helper()
		o := spec(order.Buy, "0.01", "40000")
		if _, err := b.Submit(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		unknown := venue.Coded(400, -2011, "Unknown order sent.")
		unknown.On, unknown.Skip = venue.Changes, true
		s.Next(unknown)
		if _, err := b.Cancel(t.Context(), o.Handle()); broker.Outcome(err) != broker.ErrUnknown || !errors.Is(err, broker.ErrUnknown) { //nolint:errorlint // one of the values
			t.Errorf("an order that the venue lists nevertheless: %v", err)
		}
		restricted := venue.Coded(400, -2011, "Order was not canceled due to cancel restrictions.")
		restricted.On, restricted.Skip = venue.Changes, true
		s.Next(restricted)
		if _, err := b.Cancel(t.Context(), o.Handle()); !errors.Is(err, broker.ErrRejected) {
			t.Errorf("a cancel that is refused: %v", err)
		}
		s.Next(unknown, fake.Fault{Status: 503, On: isQuery}, fake.Fault{Status: 503, On: isQuery}, fake.Fault{Status: 503, On: isQuery})
		if _, err := b.Cancel(t.Context(), o.Handle()); broker.Outcome(err) != broker.ErrUnknown { //nolint:errorlint // one of the values
			t.Errorf("when nothing can be read: %v", err)
		}
		s.Expire(o.ID)
		if r, err := b.Cancel(t.Context(), o.Handle()); err != nil || r.Status != order.Expired {
			t.Errorf("an order that expired: %+v, %v", r, err)
		}
	})
}

func TestQuery_Answers(t *testing.T) {
	t.Parallel()
	within(t, func(t *testing.T, s *venue.Server, b *binance.Broker) {
		t.Helper()
		o := spec(order.Buy, "0.01", "40000")
		if _, err := b.Submit(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		s.Call(o.ID, "HIBERNATING")
		if r, err := b.Query(t.Context(), o.Handle()); err != nil || r.Status != order.Uncertain {
			t.Errorf("a word that nobody knows: %+v, %v", r, err)
		}
		s.Call(o.ID, "")
		s.Next(fake.Fault{Status: 400, Body: `{"code":-2026,"msg":"Order was canceled or expired with no executed qty over 90 days ago and has been archived."}`, On: isQuery})
		if r, err := b.Query(t.Context(), o.Handle()); err != nil || r.Status != order.Canceled || r.ID != o.ID || !r.Filled.IsZero() {
			t.Errorf("an archived order: %+v, %v", r, err)
		}
		s.SetLag(5 * time.Second)
		late := spec(order.Buy, "0.01", "41000")
		if _, err := b.Submit(t.Context(), late); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Query(t.Context(), late.Handle()); !errors.Is(err, broker.ErrNotFound) {
			t.Errorf("before reads know of it: %v", err)
		}
		time.Sleep(5 * time.Second)
		if r, err := b.Query(t.Context(), late.Handle()); err != nil || r.Status != order.Accepted {
			t.Errorf("after: %+v, %v", r, err)
		}
		for _, f := range []fake.Fault{{Status: 503}, fake.Page(), fake.HalfJSON(), fake.Mistyped(), {Status: 403}, *coded(401, -2015)} {
			f.On = isQuery
			s.Always(&f)
			_, err := b.Query(t.Context(), o.Handle())
			if err == nil || errors.Is(err, broker.ErrNotFound) || fault.Of(err) == nil {
				t.Errorf("a failed read: %v", err)
			}
			s.Always(nil)
			time.Sleep(time.Minute)
		}
	})
}

// TestFills_OverPages reads 2,300 trades, from each of several cursors.
func TestFills_OverPages(t *testing.T) {
	t.Parallel()
	within(t, func(t *testing.T, s *venue.Server, b *binance.Broker) {
		t.Helper()
		s.Place("theirs", "BTCUSDT", "BUY", decimal.RequireFromString("0.023"), decimal.NewFromInt(40_000))
		for range 2300 {
			s.Trade("theirs", decimal.New(1, -5))
		}
		all, _, err := b.Fills(t.Context(), btc(), "")
		if err != nil || len(all) != 2300 {
			t.Fatalf("%d fills, %v", len(all), err)
		}
		for i, f := range all {
			if f.TradeID != strconv.Itoa(i+1) || f.OrderID != "" || f.VenueID != "1" || !f.Maker || f.FeeAsset != "BTC" {
				t.Fatalf("fill %d is %+v", i, f)
			}
		}
		for _, cursor := range []int{1, 1000, 1300, 2300} {
			rest, next, err := b.Fills(t.Context(), btc(), broker.Cursor(strconv.Itoa(cursor)))
			if err != nil || next != "2300" || len(rest) != 2300-cursor || len(rest) > 0 && rest[0].TradeID != strconv.Itoa(cursor+1) {
				t.Errorf("after %d: %d fills, %v", cursor, len(rest), err)
			}
		}
		for _, cursor := range []broker.Cursor{"x", "-1", "1.5"} {
			if _, _, err := b.Fills(t.Context(), btc(), cursor); fault.KindOf(err) != fault.Invalid {
				t.Errorf("%q: %v", cursor, err)
			}
		}
		if _, _, err := b.Fills(t.Context(), btc(), "2301"); !errors.Is(err, broker.ErrCursorLost) {
			t.Errorf("a cursor that is not there: %v", err)
		}
		s.Wipe()
		if _, _, err := b.Fills(t.Context(), btc(), "2300"); !errors.Is(err, broker.ErrCursorLost) {
			t.Errorf("after a wipe: %v", err)
		}
		if _, _, err := b.Fills(t.Context(), market.Symbol{Venue: "binance", Name: "NOSUCH"}, ""); fault.KindOf(err) != fault.NotFound {
			t.Errorf("an unknown symbol: %v", err)
		}
	})
}

// TestReads_StayWithinTheWeight asks far more than the venue allows, beside orders,
// which are let through.
func TestReads_StayWithinTheWeight(t *testing.T) {
	t.Parallel()
	within(t, func(t *testing.T, s *venue.Server, b *binance.Broker) {
		t.Helper()
		refused := 0
		for range 200 {
			if _, err := b.Open(t.Context()); err != nil {
				if f := fault.Of(err); f == nil || f.Code != "rate_limited" {
					t.Fatal(err)
				}
				refused++
			}
		}
		if refused == 0 || s.PeakWeight() > 4800 {
			t.Errorf("%d reads were held back, the most in a minute was %d", refused, s.PeakWeight())
		}
		if _, err := b.Submit(t.Context(), spec(order.Buy, "0.001", "")); err != nil {
			t.Errorf("an order beside them: %v", err)
		}
	})
}

func TestHoldings_AreExact(t *testing.T) {
	t.Parallel()
	within(t, func(t *testing.T, s *venue.Server, b *binance.Broker) {
		t.Helper()
		if _, err := b.Submit(t.Context(), spec(order.Buy, "0.1", "")); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Submit(t.Context(), spec(order.Sell, "0.5", "60000")); err != nil {
			t.Fatal(err)
		}
		all, err := b.Holdings(t.Context())
		if err != nil || len(all) != 4 {
			t.Fatalf("%+v, %v", all, err)
		}
		for _, h := range all {
			if want := s.Balances()[h.Asset]; !h.Quantity.Equal(want.Free.Add(want.Locked)) || !h.Available.Equal(want.Free) || h.Symbol != (market.Symbol{}) {
				t.Errorf("%+v, want %+v", h, want)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s.Always(&fake.Fault{Status: 200, Body: `{"balances":[{"asset":"BTC","free":"-1","locked":"0"}]}`})
		if _, err := b.Holdings(ctx); err == nil || !strings.Contains(err.Error(), "negative") {
			t.Errorf("less than nothing: %v", err)
		}
	})
}
