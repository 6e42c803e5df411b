package alpaca

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	stocks "candela/internal/data/provider/alpaca"
	"candela/internal/trading/order"
	"candela/internal/trading/venue"
)

// Examples of the venue's documentation.
const (
	documentedOrder = `{"id":"61e69015-8549-4bfd-b9c3-01e75843f47d","client_order_id":"eb9e2aaa-f71a-4f51-b5b4-52a6c565dad4","created_at":"2021-03-16T18:38:01.942282Z","updated_at":"2021-03-16T18:38:01.942282Z","submitted_at":"2021-03-16T18:38:01.937734Z","filled_at":null,"expired_at":null,"canceled_at":null,"failed_at":null,"replaced_at":null,"replaced_by":null,"replaces":null,"asset_id":"b0b6dd9d-8b9b-48a9-ba46-b9d54906e415","symbol":"AAPL","asset_class":"us_equity","notional":"500","qty":null,"filled_qty":"0","filled_avg_price":null,"order_class":"","order_type":"market","type":"market","side":"buy","time_in_force":"day","limit_price":null,"stop_price":null,"status":"accepted","extended_hours":false,"legs":null,"trail_percent":null,"trail_price":null,"hwm":null}`

	documentedUpdate = `{"stream":"trade_updates","data":{"event":"fill","execution_id":"2f63ea93-423d-4169-b3f6-3fdafc10c418","order":{"asset_class":"crypto","asset_id":"1cf35270-99ee-44e2-a77f-6fab902c7f80","cancel_requested_at":null,"canceled_at":null,"client_order_id":"4642fd68-d59a-47d7-a9ac-e22f536828d1","created_at":"2022-04-19T13:45:04.981350886-04:00","expired_at":null,"filled_avg_price":"105.8988475","filled_qty":"1790.86","id":"a5be8f5e-fdfa-41f5-a644-7a74fe947a8f","legs":null,"limit_price":null,"notional":null,"order_class":"","qty":"1790.86","side":"sell","status":"filled","symbol":"SOLUSD","time_in_force":"gtc","type":"market","updated_at":"2022-04-19T13:45:05.027690731-04:00"},"position_qty":"0","price":"105.8988475","qty":"1790.86","timestamp":"2022-04-19T17:45:05.024916716Z"}}`

	documentedActivities = `[{"activity_type":"FILL","cum_qty":"1","id":"20190524113406977::8efc7b9a-8b2b-4000-9955-d36e7db0df74","leaves_qty":"0","price":"1.63","qty":"1","side":"buy","symbol":"LPCN","transaction_time":"2019-05-24T15:34:06.977Z","order_id":"904837e3-3b76-47ec-b432-046db621571b","type":"fill"}]`

	documentedPositions = `[{"asset_id":"904837e3-3b76-47ec-b432-046db621571b","symbol":"AAPL","exchange":"NASDAQ","asset_class":"us_equity","avg_entry_price":"100.0","qty":"5","qty_available":"4","side":"long","market_value":"600.0","cost_basis":"500.0","unrealized_pl":"100.0","unrealized_plpc":"0.20","unrealized_intraday_pl":"10.0","unrealized_intraday_plpc":"0.0084","current_price":"120.0","lastday_price":"119.0","change_today":"0.0084"}]`

	documentedAccount = `{"account_blocked":false,"account_number":"010203ABCD","buying_power":"262113.632","cash":"-23140.2","created_at":"2019-06-12T22:47:07.99658Z","currency":"USD","crypto_status":"ACTIVE","non_marginable_buying_power":"7386.56","daytrade_count":"0","equity":"103820.56","multiplier":"4","status":"ACTIVE"}` //nolint:misspell // the venue's word

	documentedPair = `{"id":"276e2673-764b-4ab6-a611-caf665ca6340","class":"crypto","exchange":"FTXU","symbol":"BTC/USD","name":"BTC/USD pair","status":"active","tradable":true,"fractionable":true,"min_order_size":"0.0001","min_trade_increment":"0.0001","price_increment":"1"}`

	documentedClock = `{"timestamp":"2022-04-28T14:07:04.451420928-04:00","is_open":true,"next_open":"2022-04-29T09:30:00-04:00","next_close":"2022-04-28T16:00:00-04:00"}`
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	when, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

func TestRead_WhatTheVenueDocuments(t *testing.T) {
	t.Parallel()
	o, err := readTicket([]byte(documentedOrder))
	if err != nil || o.id != "61e69015-8549-4bfd-b9c3-01e75843f47d" || o.symbol.String() != "alpaca:AAPL" || o.side != order.Buy || o.kind != order.Market ||
		!o.quantity.IsZero() || !o.submitted.Equal(at(t, "2021-03-16T18:38:01.937734Z")) || o.report().Status != order.Accepted {
		t.Errorf("order: %+v, %v", o, err)
	}
	m, err := readMessage([]byte(documentedUpdate))
	r := m.report
	if err != nil || m.stream != updates || r.ID != "4642fd68-d59a-47d7-a9ac-e22f536828d1" || r.Symbol.String() != "alpaca:SOL/USD" || r.Status != order.Filled ||
		!r.At.Equal(at(t, "2022-04-19T17:45:05.027690731Z")) || len(r.Fills) != 1 {
		t.Fatalf("update: %+v, %v", m, err)
	}
	if f := r.Fills[0]; f.TradeID != "2f63ea93-423d-4169-b3f6-3fdafc10c418" || f.Side != order.Sell || f.Price.String() != "105.8988475" || f.Quantity.String() != "1790.86" ||
		f.VenueID != r.VenueID || f.Symbol != r.Symbol || !f.At.Equal(at(t, "2022-04-19T17:45:05.024916716Z")) {
		t.Errorf("fill: %+v", f)
	}
	all, err := venue.List("a page of activities", activityAt)([]byte(documentedActivities))
	if err != nil || len(all) != 1 || all[0].stamp() != "20190524113406977" || all[0].tradeID() != "8efc7b9a-8b2b-4000-9955-d36e7db0df74" || all[0].price.String() != "1.63" {
		t.Errorf("activities: %+v, %v", all, err)
	}
	held, err := venue.List("a list of positions", positionAt)([]byte(documentedPositions))
	if err != nil || len(held) != 1 || held[0].Symbol.String() != "alpaca:AAPL" || held[0].Quantity.String() != "5" || held[0].Available.String() != "4" {
		t.Errorf("positions: %+v, %v", held, err)
	}
	cash, err := readCash([]byte(documentedAccount))
	if err != nil || cash.Asset != "USD" || cash.Quantity.String() != "-23140.2" || cash.Available.String() != "7386.56" {
		t.Errorf("account: %+v, %v", cash, err)
	}
	in, err := readPair([]byte(documentedPair), "BTCUSD")
	if err != nil || in.Symbol.String() != "alpaca:BTC/USD" || in.Tick.String() != "1" || in.Step.String() != "0.0001" || in.Quote != "USD" {
		t.Errorf("pair: %+v, %v", in, err)
	}
	if when, err := readClock([]byte(documentedClock)); err != nil || !when.Equal(at(t, "2022-04-28T18:07:04.451420928Z")) {
		t.Errorf("clock: %v, %v", when, err)
	}
}

// TestUpdate_Events goes through the events that the venue documents, and some
// that it does not.
func TestUpdate_Events(t *testing.T) {
	t.Parallel()
	for event, want := range map[string]struct {
		status order.Status
		fills  int
	}{
		"new": {order.Filled, 0}, "fill": {order.Filled, 1}, "partial_fill": {order.Filled, 1}, "canceled": {order.Filled, 0}, "expired": {order.Filled, 0},
		"done_for_day": {order.Filled, 0}, "replaced": {order.Filled, 0}, "rejected": {order.Filled, 0}, "pending_new": {order.Filled, 0},
		"stopped": {order.Filled, 0}, "pending_cancel": {order.Filled, 0}, "pending_replace": {order.Filled, 0}, "calculated": {order.Filled, 0},
		"suspended": {order.Filled, 0}, "order_replace_rejected": {order.Filled, 0}, "order_cancel_rejected": {order.Filled, 0},
		"trade_bust": {order.Filled, 0}, "trade_correct": {order.Filled, 0}, "restated": {order.Filled, 0}, "Fill": {order.Filled, 0},
	} {
		m, err := readMessage([]byte(strings.Replace(documentedUpdate, `"event":"fill"`, `"event":"`+event+`"`, 1)))
		if err != nil || m.report.Status != want.status || len(m.report.Fills) != want.fills || slices.Contains([]string{"trade_bust", "trade_correct", "restated", "Fill"}, event) != (m.strange == event) {
			t.Errorf("%s: %+v, %v", event, m.report, err)
		}
	}
	// A fill that is not whole is none, and the sum of the order says so.
	for name, change := range map[string][2]string{
		"no execution": {`"execution_id":"2f63ea93-423d-4169-b3f6-3fdafc10c418",`, ""}, "no price": {`"price":"105.8988475"`, `"price":null`},
		"no quantity": {`"qty":"1790.86","timestamp"`, `"timestamp"`}, "no side": {`"side":"sell"`, `"side":""`},
	} {
		m, err := readMessage([]byte(strings.Replace(documentedUpdate, change[0], change[1], 1)))
		if err != nil || len(m.report.Fills) != 0 || m.report.Filled.String() != "1790.86" {
			t.Errorf("%s: %+v, %v", name, m.report, err)
		}
	}
}

func TestSplitPair(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"BTC/USD": "BTC/USD", "BTCUSD": "BTC/USD", "BTCUSDT": "BTC/USDT", "BTCUSDC": "BTC/USDC", "USDCUSD": "USDC/USD", "USDTUSD": "USDT/USD", "USDTUSDC": "USDT/USDC",
		"ETHBTC": "ETH/BTC", "SHIBUSD": "SHIB/USD", "AAPL": "", "USD": "", "BTC": "", "/USD": "", "BTC/": "",
	} {
		base, quote, ok := splitPair(text)
		if got := base + "/" + quote; ok != (want != "") || ok && got != want {
			t.Errorf("%s: %s %v", text, got, ok)
		}
	}
}

// FuzzRead feeds every reader. What one takes must be fit to count with: bounded,
// not below zero, of a symbol that can be written.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{documentedOrder, bracketAnswer("new", "held", "held"), bracketAnswer("filled", "new", "held"), `{"class":"us_equity","shortable":true,"easy_to_borrow":true}`, documentedActivities, documentedPositions, documentedAccount, documentedPair, documentedClock, `{"code":42210000,"message":"no"}`, "[" + documentedOrder + "]", "[]", "{}", "null"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if o, err := readTicket(data); err == nil {
			checkTicket(t, o)
		}
		if all, err := venue.List("a list of orders", orderAt)(data); err == nil {
			for _, o := range all {
				checkTicket(t, o)
			}
		}
		if all, err := venue.List("a page of activities", activityAt)(data); err == nil {
			for _, a := range all {
				bounded(t, a.quantity, a.price, a.sofar)
				if fill, err := a.fill(apple()); err == nil && (!fill.Quantity.IsPositive() || fill.TradeID == "" || fill.At.IsZero()) {
					t.Errorf("%+v", fill)
				}
			}
		}
		if all, err := venue.List("a list of positions", positionAt)(data); err == nil {
			for _, h := range all {
				bounded(t, h.Quantity, h.Available)
				if h.Symbol.Name == "" || h.Asset == "" {
					t.Errorf("%+v", h)
				}
			}
		}
		if h, err := readCash(data); err == nil {
			bounded(t, h.Quantity, h.Available)
		}
		if in, err := readPair(data, "BTCUSD"); err == nil {
			bounded(t, in.Tick, in.Step, in.MinQuantity)
			if !in.Tick.IsPositive() || !in.Step.IsPositive() || in.Symbol.Name != "BTC/USD" {
				t.Errorf("%+v", in)
			}
		}
		if f, err := readFeatures(data); err == nil && f.crypto && f.shorts {
			t.Errorf("%+v", f)
		}
		_, _ = readShorting(data)
		if reports, err := groupReports(data, classBracket, answeredGroup()); err == nil && (len(reports) != 3 || reports[1].ID != "B" || !reports[1].StopPrice.Equal(decimal.NewFromInt(95)) || reports[2].ID != "C") {
			t.Errorf("%+v", reports)
		}
		_, _ = stocks.ReadRefusal(data)
		if when, err := readClock(data); err == nil && when.IsZero() {
			t.Error("a clock without a time")
		}
	})
}

// FuzzMessage feeds the reader of the stream.
func FuzzMessage(f *testing.F) {
	for _, seed := range []string{
		documentedUpdate, `{"stream":"authorization","data":{"status":"authorized","action":"authenticate"}}`, `{"stream":"listening","data":{"streams":["trade_updates"]}}`,
		`{"stream":"listening","data":{"streams":null}}`, `{"stream":"x","data":1}`, strings.Replace(documentedUpdate, `"event":"fill"`, `"event":"order_cancel_rejected"`, 1),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := readMessage(data)
		if err != nil || m.stream != updates {
			return
		}
		r := m.report
		bounded(t, r.Quantity, r.Filled, r.Price)
		if r.VenueID == "" || r.Status == 0 || r.At.IsZero() || r.Status == order.Uncertain && r.Reason == "" {
			t.Errorf("%+v", r)
		}
		for _, fill := range r.Fills {
			bounded(t, fill.Quantity, fill.Price)
			if fill.TradeID == "" || !fill.Quantity.IsPositive() || !fill.Price.IsPositive() || fill.At.IsZero() || fill.Symbol != r.Symbol {
				t.Errorf("%+v", fill)
			}
		}
	})
}

func checkTicket(t *testing.T, o ticket) {
	t.Helper()
	bounded(t, o.quantity, o.filled, o.limit, o.stop, o.trail, o.best)
	for i, r := range o.reports() {
		if i > 0 && (r.Status.Final() || r.Group.Name != o.id || r.VenueID == "") || r.Status == order.Filled && !r.Filled.IsPositive() || r.Status == order.Uncertain && r.Reason == "" {
			t.Errorf("%+v", r)
		}
	}
	r := o.report()
	if o.id == "" || r.Status == 0 || r.At.IsZero() || r.Filled.IsNegative() || r.Quantity.IsNegative() || r.Price.IsNegative() {
		t.Errorf("%+v", r)
	}
	if r.Status == order.Filled && !r.Filled.IsPositive() {
		t.Errorf("filled with nothing: %+v", r)
	}
}

// bounded holds that amounts can be added up without exhausting anything.
func bounded(t *testing.T, all ...decimal.Decimal) {
	t.Helper()
	for _, d := range all {
		if d.Exponent() > 30 || d.Exponent() < -30 || d.NumDigits() > 60 {
			t.Errorf("the amount %s has %d digits and exponent %d", d, d.NumDigits(), d.Exponent())
		}
	}
}
