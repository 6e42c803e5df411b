package binance_test

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/fake"
	venue "candela/internal/testkit/fake/binance"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/binance"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

func dec(text string) decimal.Decimal { return decimal.RequireFromString(text) }

// sent keeps the changes that reach a venue.
type sent struct {
	mu  sync.Mutex
	all []url.Values
}

// last returns the newest request: its path and its parameters, without those that sign
// it and with the ids of orders by their place.
func (s *sent) last(orders []order.Spec) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) == 0 {
		return ""
	}
	params := maps.Clone(s.all[len(s.all)-1])
	for _, name := range []string{"timestamp", "signature", "recvWindow"} {
		delete(params, name)
	}
	text := params.Encode()
	for i, o := range orders {
		letter := []string{"A", "B", "C"}[i]
		text = strings.NewReplacer(o.ID, letter, strings.ReplaceAll(o.ID, "-", ""), letter).Replace(text)
	}
	return text
}

// recorded runs fn in virtual time against a fake venue whose changes are kept.
func recorded(t *testing.T, c venue.Config, fn func(*testing.T, *venue.Server, *binance.Broker, *sent)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		network, server, kept := fake.NewNetwork(), venue.New(c), &sent{}
		t.Cleanup(network.Serve(address, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if venue.Changes(r) {
				kept.mu.Lock()
				params := r.URL.Query()
				params.Set("", r.Method+" "+strings.TrimPrefix(r.URL.Path, "/api/v3/"))
				kept.all = append(kept.all, params)
				kept.mu.Unlock()
			}
			server.ServeHTTP(w, r)
		})))
		server.Pin("BTCUSDT", decimal.NewFromInt(50_000))
		fn(t, server, connect(t, network), kept)
	})
}

// group returns the orders of a request as the desk sends them: with ids, and the first
// one's as the name of their group.
func group(r order.Request) []order.Spec {
	head := r.Spec(spec(order.Buy, "1", "").ID, "local")
	if r.Symbol.IsZero() {
		head.Symbol = btc()
	}
	all := []order.Spec{head}
	for _, leg := range head.Legs() {
		leg.ID = spec(order.Buy, "1", "").ID
		all = append(all, leg)
	}
	return all
}

func bracket(change func(*order.Request)) []order.Spec {
	r := order.Request{
		Side: order.Buy, Type: order.Limit, Quantity: dec("0.1"), Price: dec("49000"),
		Protect: order.Protection{StopLoss: dec("47000"), TakeProfit: dec("55000")},
	}
	if change != nil {
		change(&r)
	}
	return group(r)
}

func pair(change func(*order.Request)) []order.Spec {
	return bracket(func(r *order.Request) {
		r.Side, r.Type, r.Price, r.ReduceOnly = order.Sell, order.Market, decimal.Zero, true
		if change != nil {
			change(r)
		}
	})
}

// TestSubmitGroup_WireForms holds the request of each kind of group.
func TestSubmitGroup_WireForms(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		orders []order.Spec
		want   string
		sentAs string
	}{
		"a pair": {pair(nil), "=POST orderList/oco&aboveClientOrderId=A&abovePrice=55000&aboveType=LIMIT_MAKER&belowClientOrderId=B&belowStopPrice=47000&belowType=STOP_LOSS" +
			"&listClientOrderId=gA&newOrderRespType=FULL&quantity=0.1&side=SELL&symbol=BTCUSDT", ""},
		"a pair with a limit for the stop": {
			pair(func(r *order.Request) { r.Protect.StopLossLimit = dec("46900") }),
			"=POST orderList/oco&aboveClientOrderId=A&abovePrice=55000&aboveType=LIMIT_MAKER&belowClientOrderId=B&belowPrice=46900&belowStopPrice=47000&belowTimeInForce=GTC" +
				"&belowType=STOP_LOSS_LIMIT&listClientOrderId=gA&newOrderRespType=FULL&quantity=0.1&side=SELL&symbol=BTCUSDT", "",
		},
		"a pair that trails": {
			pair(func(r *order.Request) { r.Protect.StopLoss, r.Protect.TrailPercent = decimal.Zero, dec("1.25") }),
			"=POST orderList/oco&aboveClientOrderId=A&abovePrice=55000&aboveType=LIMIT_MAKER&belowClientOrderId=B&belowTrailingDelta=125&belowType=STOP_LOSS" +
				"&listClientOrderId=gA&newOrderRespType=FULL&quantity=0.1&side=SELL&symbol=BTCUSDT", "",
		},
		"a pair that buys back": {
			pair(func(r *order.Request) {
				r.Side, r.Protect = order.Buy, order.Protection{StopLoss: dec("52000"), TakeProfit: dec("45000")}
			}),
			"=POST orderList/oco&aboveClientOrderId=B&aboveStopPrice=52000&aboveType=STOP_LOSS&belowClientOrderId=A&belowPrice=45000&belowType=LIMIT_MAKER" +
				"&listClientOrderId=gA&newOrderRespType=FULL&quantity=0.1&side=BUY&symbol=BTCUSDT", "",
		},
		"an entry with two legs": {bracket(nil), "=POST orderList/opoco&listClientOrderId=gA&newOrderRespType=FULL&pendingAboveClientOrderId=C&pendingAbovePrice=55000&pendingAboveType=LIMIT_MAKER" +
			"&pendingBelowClientOrderId=B&pendingBelowStopPrice=47000&pendingBelowType=STOP_LOSS&pendingSide=SELL&symbol=BTCUSDT" +
			"&workingClientOrderId=A&workingPrice=49000&workingQuantity=0.1&workingSide=BUY&workingTimeInForce=GTC&workingType=LIMIT", ""},
		"an entry with a stop": {
			bracket(func(r *order.Request) { r.Protect.TakeProfit, r.PostOnly = decimal.Zero, true }),
			"=POST orderList/opo&listClientOrderId=gA&newOrderRespType=FULL&pendingClientOrderId=B&pendingSide=SELL&pendingStopPrice=47000&pendingType=STOP_LOSS&symbol=BTCUSDT" +
				"&workingClientOrderId=A&workingPrice=49000&workingQuantity=0.1&workingSide=BUY&workingType=LIMIT_MAKER", "",
		},
		"an entry with a target": {
			bracket(func(r *order.Request) { r.Protect.StopLoss = decimal.Zero }),
			"=POST orderList/opo&listClientOrderId=gA&newOrderRespType=FULL&pendingClientOrderId=B&pendingPrice=55000&pendingSide=SELL&pendingTimeInForce=GTC&pendingType=LIMIT&symbol=BTCUSDT" +
				"&workingClientOrderId=A&workingPrice=49000&workingQuantity=0.1&workingSide=BUY&workingTimeInForce=GTC&workingType=LIMIT", "",
		},
		"an entry at market": {
			edged(bracket(func(r *order.Request) { r.Type, r.Price = order.Market, decimal.Zero }), "50250.00009"),
			"=POST orderList/opoco&listClientOrderId=gA&newOrderRespType=FULL&pendingAboveClientOrderId=C&pendingAbovePrice=55000&pendingAboveType=LIMIT_MAKER" +
				"&pendingBelowClientOrderId=B&pendingBelowStopPrice=47000&pendingBelowType=STOP_LOSS&pendingSide=SELL&symbol=BTCUSDT" +
				"&workingClientOrderId=A&workingPrice=50250&workingQuantity=0.1&workingSide=BUY&workingTimeInForce=FOK&workingType=LIMIT", "limit 50250 fok",
		},
		"an entry at market that sells": {
			edged(bracket(func(r *order.Request) {
				r.Side, r.Type, r.Price, r.Protect = order.Sell, order.Market, decimal.Zero, order.Protection{StopLoss: dec("52000"), TakeProfit: dec("45000")}
			}), "49750.00009"),
			"=POST orderList/otoco&listClientOrderId=gA&newOrderRespType=FULL&pendingAboveClientOrderId=B&pendingAboveStopPrice=52000&pendingAboveType=STOP_LOSS" +
				"&pendingBelowClientOrderId=C&pendingBelowPrice=45000&pendingBelowType=LIMIT_MAKER&pendingQuantity=0.1&pendingSide=BUY&symbol=BTCUSDT" +
				"&workingClientOrderId=A&workingPrice=49750.0001&workingQuantity=0.1&workingSide=SELL&workingTimeInForce=FOK&workingType=LIMIT", "limit 49750.0001 fok",
		},
		"where the venue does not size legs": {
			bracket(func(r *order.Request) {
				r.Quantity, r.Protect.StopLossLimit = dec("0.10001"), dec("46000")
			}),
			"=POST orderList/otoco&listClientOrderId=gA&newOrderRespType=FULL&pendingAboveClientOrderId=C&pendingAbovePrice=55000&pendingAboveType=LIMIT_MAKER" +
				"&pendingBelowClientOrderId=B&pendingBelowPrice=46000&pendingBelowStopPrice=47000&pendingBelowTimeInForce=GTC&pendingBelowType=STOP_LOSS_LIMIT" +
				"&pendingQuantity=0.0999&pendingSide=SELL&symbol=BTCUSDT" +
				"&workingClientOrderId=A&workingPrice=49000&workingQuantity=0.10001&workingSide=BUY&workingTimeInForce=GTC&workingType=LIMIT", "",
		},
	} {
		config := venue.Config{Depth: dec("10"), Symbols: map[string]venue.Features{"BTCUSDT": {NoOPO: strings.Contains(name, "not size")}}}
		recorded(t, config, func(t *testing.T, _ *venue.Server, b *binance.Broker, kept *sent) {
			t.Helper()
			reports, err := b.SubmitGroup(t.Context(), tc.orders)
			got, err2 := url.QueryUnescape(kept.last(tc.orders))
			if got != tc.want || err2 != nil {
				t.Errorf("%s is sent as\n%s, want\n%s", name, got, tc.want)
			}
			if err != nil || len(reports) != len(tc.orders) {
				t.Fatalf("%s: %+v, %v", name, reports, err)
			}
			for i, r := range reports {
				if o := tc.orders[i]; r.ID != o.ID || r.Side != o.Side || r.Group != o.Group || r.VenueID == "" || !r.StopPrice.Equal(o.StopPrice) || !r.TrailPercent.Equal(o.TrailPercent) {
					t.Errorf("%s: report %d is %+v", name, i, r)
				}
			}
			if reports[0].SentAs != tc.sentAs {
				t.Errorf("%s: sent as %q", name, reports[0].SentAs)
			}
		})
	}
}

// edged sets the worst price of an entry at market.
func edged(orders []order.Spec, price string) []order.Spec {
	orders[0].Edge = dec(price)
	return orders
}

// TestSubmitGroup_LegsOfAnEntry holds what is reported of legs before and after their
// entry is filled, and that each is found by our id.
func TestSubmitGroup_LegsOfAnEntry(t *testing.T) {
	t.Parallel()
	funds := map[string]decimal.Decimal{"USDT": dec("100000")}
	recorded(t, venue.Config{Depth: dec("1"), Funds: funds}, func(t *testing.T, s *venue.Server, b *binance.Broker, _ *sent) {
		t.Helper()
		orders := bracket(nil)
		reports, err := b.SubmitGroup(t.Context(), orders)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []order.Status{order.Accepted, order.Held, order.Held} {
			if reports[i].Status != want || i > 0 && !reports[i].Quantity.IsZero() || !reports[i].Triggered.IsZero() {
				t.Errorf("%d: %+v", i, reports[i])
			}
		}
		if open, err := b.Open(t.Context()); err != nil || len(open) != 3 || open[1].Status != order.Held {
			t.Errorf("%+v, %v", open, err)
		}
		s.Trade(orders[0].ID, dec("0.1"))
		for i, want := range []order.Status{order.Filled, order.Accepted, order.Accepted} {
			r, err := b.Query(t.Context(), orders[i].Handle())
			if err != nil || r.Status != want || i > 0 && !r.Quantity.Equal(dec("0.0999")) || r.Group != orders[i].Group || !r.Triggered.IsZero() {
				t.Errorf("%d: %+v, %v", i, r, err)
			}
		}
		s.Move("BTCUSDT", dec("46000"))
		if r, err := b.Query(t.Context(), orders[1].Handle()); err != nil || r.Status != order.Filled || r.Triggered.IsZero() {
			t.Errorf("the stop: %+v, %v", r, err)
		}
		if r, err := b.Query(t.Context(), orders[2].Handle()); err != nil || r.Status != order.Expired || r.Reason != "OCO_TRIGGER" || !r.Triggered.IsZero() {
			t.Errorf("the target: %+v, %v", r, err)
		}
	})
	for _, open := range []bool{false, true} {
		recorded(t, venue.Config{Depth: dec("1"), Funds: funds}, func(t *testing.T, s *venue.Server, b *binance.Broker, _ *sent) {
			t.Helper()
			s.Assume(venue.Assumptions{ShowsUnsized: open})
			orders := edged(bracket(func(r *order.Request) { r.Type, r.Price = order.Market, decimal.Zero }), "50100")
			reports, err := b.SubmitGroup(t.Context(), orders)
			if err != nil || reports[0].Status != order.Filled || len(reports[0].Fills) != 1 || reports[1].Status != order.Accepted || !reports[2].Quantity.Equal(dec("0.0999")) {
				t.Errorf("filled at once: %+v, %v", reports, err)
			}
			if r, err := b.Query(t.Context(), orders[0].Handle()); err != nil || r.SentAs != "limit 50100 fok" {
				t.Errorf("%+v, %v", r, err)
			}
			s.Next(fake.Fault{Status: 503, On: isQuery}, fake.Fault{Status: 503, On: isQuery}, fake.Fault{Status: 503, On: isQuery})
			orders = edged(bracket(func(r *order.Request) { r.Type, r.Price = order.Market, decimal.Zero }), "50100")
			reports, err = b.SubmitGroup(t.Context(), orders)
			if err != nil || reports[0].Status != order.Filled || reports[1].Status != order.Held {
				t.Errorf("when the legs cannot be read: %+v, %v", reports, err)
			}
		})
	}
}

// TestSubmitGroup_Refusals holds what is not sent, and what the venue's refusals become.
func TestSubmitGroup_Refusals(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		orders  []order.Spec
		fault   *fake.Fault
		fate    error
		code    string
		field   string
		passing bool
	}{
		"a stop above the price":     {orders: pair(func(r *order.Request) { r.Protect.StopLoss = dec("51000") }), fate: broker.ErrRejected, code: "venue_refused", field: "stop_loss"},
		"a target below the price":   {orders: pair(func(r *order.Request) { r.Protect.TakeProfit = dec("49000") }), fate: broker.ErrRejected, code: "venue_refused", field: "stop_loss"},
		"more than the account has":  {orders: pair(func(r *order.Request) { r.Quantity = dec("50") }), fate: broker.ErrRejected, code: "insufficient_balance", field: "quantity"},
		"a trail that is too tight":  {orders: trailing("0.05"), fate: broker.ErrRejected, code: "venue_filter", field: "trail_percent"},
		"a trail between the steps":  {orders: trailing("1.255"), fate: broker.ErrNotSent, code: "invalid_argument", field: "trail_percent"},
		"a trail that goes on":       {orders: goingOn(), fate: broker.ErrNotSent, code: "invalid_argument", field: "best"},
		"a trail of all":             {orders: trailing("101"), fate: broker.ErrNotSent, code: "invalid_argument", field: "trail_percent"},
		"an entry that waits":        {orders: bracket(func(r *order.Request) { r.StopPrice = dec("51000") }), fate: broker.ErrNotSent, code: "invalid_argument", field: "stop_price"},
		"at market without an edge":  {orders: bracket(func(r *order.Request) { r.Type = order.Market }), fate: broker.ErrNotSent, code: "invalid_argument", field: "type"},
		"for the day":                {orders: bracket(func(r *order.Request) { r.TimeInForce = order.Day }), fate: broker.ErrNotSent, code: "invalid_argument", field: "time_in_force"},
		"one order":                  {orders: bracket(nil)[:1], fate: broker.ErrNotSent},
		"two entries":                {orders: append(bracket(nil)[:1], bracket(nil)[0]), fate: broker.ErrNotSent},
		"another group's leg":        {orders: append(bracket(nil)[:2], bracket(nil)[2]), fate: broker.ErrNotSent},
		"another symbol's leg":       {orders: changed(bracket(nil), func(o *order.Spec) { o.Symbol.Name = "ETHUSDT" }), fate: broker.ErrNotSent},
		"another quantity":           {orders: changed(pair(nil), func(o *order.Spec) { o.Quantity = dec("0.2") }), fate: broker.ErrNotSent},
		"a stop of the other side":   {orders: changed(pair(nil), func(o *order.Spec) { o.Side = order.Buy }), fate: broker.ErrNotSent},
		"two targets":                {orders: changed(bracket(nil), func(o *order.Spec) { o.StopPrice, o.Type, o.Price = decimal.Zero, order.Limit, dec("60000") }), fate: broker.ErrNotSent},
		"a leg without an id":        {orders: changed(bracket(nil), func(o *order.Spec) { o.ID = "" }), fate: broker.ErrNotSent, code: "invalid_argument", field: "id"},
		"a symbol that is not there": {orders: bracket(func(r *order.Request) { r.Symbol = market.Symbol{Venue: "binance", Name: "NOSUCH"} }), fate: broker.ErrNotSent, code: "unknown_symbol", field: "symbol"},
		"below, says the venue":      {orders: pair(nil), fault: coded(400, -1166), fate: broker.ErrRejected, code: "venue_refused", field: "stop_loss"},
		"above, says the venue":      {orders: pair(nil), fault: coded(400, -1199), fate: broker.ErrRejected, code: "venue_refused", field: "stop_loss"},
		"no purchase":                {orders: bracket(nil), fault: coded(400, -1222), fate: broker.ErrRejected, code: "venue_refused", field: "side"},
		"no sale":                    {orders: bracket(nil), fault: coded(400, -1223), fate: broker.ErrRejected, code: "venue_refused", field: "side"},
		"not in this symbol": {
			orders: pair(nil), fault: words(-2010, "OCO orders are not supported for this symbol"), fate: broker.ErrRejected, code: "protection_not_native",
		},
		"not together": {orders: bracket(nil), fault: words(-2010, "Unsupported order combination"), fate: broker.ErrRejected, code: "venue_refused", field: "type"},
		"the target is passed": {
			orders: pair(nil), fault: words(-2010, "Order would immediately match and take."), fate: broker.ErrRejected, code: "venue_refused", field: "take_profit",
		},
		"too many stops":  {orders: pair(nil), fault: words(-2010, "Filter failure: MAX_NUM_ALGO_ORDERS"), fate: broker.ErrRejected, code: "venue_filter", passing: true},
		"too many orders": {orders: pair(nil), fault: words(-1013, "Filter failure: MAX_NUM_ORDERS"), fate: broker.ErrRejected, code: "venue_filter", passing: true},
		"too many lists":  {orders: pair(nil), fault: words(-2010, "Filter failure: MAX_NUM_ORDER_LISTS"), fate: broker.ErrRejected, code: "venue_filter", passing: true},
	} {
		recorded(t, venue.Config{}, func(t *testing.T, s *venue.Server, b *binance.Broker, kept *sent) {
			t.Helper()
			if tc.fault != nil {
				tc.fault.On, tc.fault.Skip = venue.Changes, true
				s.Next(*tc.fault)
			}
			_, err := b.SubmitGroup(t.Context(), tc.orders)
			if broker.Outcome(err) != tc.fate { //nolint:errorlint // one of the values
				t.Errorf("%s: %v", name, err)
			}
			if broker.Passing(err) != tc.passing {
				t.Errorf("%s: it passes is %v", name, !tc.passing)
			}
			if f := fault.Of(err); tc.code != "" && (f == nil || f.Code != tc.code || f.Field != tc.field || f.Message == "") {
				t.Errorf("%s: %#v", name, f)
			}
			if tried := len(kept.all); errors.Is(tc.fate, broker.ErrNotSent) != (tried == 0) || len(s.Orders()) != 0 {
				t.Errorf("%s: %d requests, %d orders", name, tried, len(s.Orders()))
			}
		})
	}
}

// goingOn returns a pair whose trail has followed a price before.
func goingOn() []order.Spec {
	orders := trailing("2")
	orders[1].Best = dec("51000")
	return orders
}

func trailing(percent string) []order.Spec {
	return pair(func(r *order.Request) { r.Protect.StopLoss, r.Protect.TrailPercent = decimal.Zero, dec(percent) })
}

// changed changes the second order of a group.
func changed(orders []order.Spec, change func(*order.Spec)) []order.Spec {
	change(&orders[1])
	return orders
}

func words(code int, text string) *fake.Fault {
	f := venue.Coded(400, code, text)
	return &f
}

// TestSubmit_FillsTheRoomForStops holds that as many stops as the capabilities say are taken,
// that one more may be taken later, and that it is.
func TestSubmit_FillsTheRoomForStops(t *testing.T) {
	t.Parallel()
	recorded(t, venue.Config{}, func(t *testing.T, _ *venue.Server, b *binance.Broker, _ *sent) {
		t.Helper()
		can, err := b.Capabilities(t.Context(), pair(nil)[0].Symbol)
		if err != nil || can.MaxStops != 5 {
			t.Fatal(can.MaxStops, err)
		}
		var first order.Spec
		for n := range can.MaxStops {
			orders := pair(func(r *order.Request) { r.Quantity = dec("0.01") })
			if n == 0 {
				first = orders[0]
			}
			if _, err := b.SubmitGroup(t.Context(), orders); err != nil {
				t.Fatal(n, err)
			}
		}
		more := pair(func(r *order.Request) { r.Quantity = dec("0.01") })
		if _, err := b.SubmitGroup(t.Context(), more); !broker.Passing(err) {
			t.Error(err)
		}
		if _, err := b.Cancel(t.Context(), first.Handle()); err != nil {
			t.Fatal(err)
		}
		if _, err := b.SubmitGroup(t.Context(), more); err != nil {
			t.Error(err)
		}
	})
}
