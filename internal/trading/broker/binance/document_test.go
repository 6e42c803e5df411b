package binance

import (
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
	"candela/lib/market"
)

// Payloads in the shapes of the venue's documentation.
const (
	docStop = `{"symbol":"BTCUSDT","orderId":31,"orderListId":-1,"clientOrderId":"stop","transactTime":1710485608839,"price":"0.00000000","origQty":"0.50000000","executedQty":"0.00000000","origQuoteOrderQty":"0.000000","cummulativeQuoteQty":"0.00000000","status":"NEW","timeInForce":"GTC","type":"STOP_LOSS","side":"SELL","stopPrice":"48000.00000000","workingTime":-1,"selfTradePreventionMode":"NONE","fills":[]}`
	docPair = `{"orderListId":7,"contingencyType":"OCO","listStatusType":"EXEC_STARTED","listOrderStatus":"EXECUTING","listClientOrderId":"gtarget","transactionTime":1710485608839,"symbol":"BTCUSDT","orders":[{"symbol":"BTCUSDT","orderId":40,"clientOrderId":"stop"},{"symbol":"BTCUSDT","orderId":41,"clientOrderId":"target"}],"orderReports":[` +
		`{"symbol":"BTCUSDT","orderId":40,"orderListId":7,"clientOrderId":"stop","transactTime":1710485608839,"price":"0.00000000","origQty":"0.50000000","executedQty":"0.00000000","origQuoteOrderQty":"0.000000","cummulativeQuoteQty":"0.00000000","status":"NEW","timeInForce":"GTC","type":"STOP_LOSS","side":"SELL","stopPrice":"48000.00000000","workingTime":-1,"selfTradePreventionMode":"NONE"},` +
		`{"symbol":"BTCUSDT","orderId":41,"orderListId":7,"clientOrderId":"target","transactTime":1710485608839,"price":"55000.00000000","origQty":"0.50000000","executedQty":"0.00000000","origQuoteOrderQty":"0.000000","cummulativeQuoteQty":"0.00000000","status":"NEW","timeInForce":"GTC","type":"LIMIT_MAKER","side":"SELL","workingTime":1710485608839,"selfTradePreventionMode":"NONE"}]}`
	docSized = `{"orderListId":0,"contingencyType":"OTO","listStatusType":"EXEC_STARTED","listOrderStatus":"EXECUTING","listClientOrderId":"gentry","transactionTime":1763000506354,"symbol":"BTCUSDT","orders":[{"symbol":"BTCUSDT","orderId":9,"clientOrderId":"entry"},{"symbol":"BTCUSDT","orderId":10,"clientOrderId":"stop"},{"symbol":"BTCUSDT","orderId":11,"clientOrderId":"target"}],"orderReports":[` +
		`{"symbol":"BTCUSDT","orderId":9,"orderListId":0,"clientOrderId":"entry","transactTime":1763000506354,"price":"50000.00000000","origQty":"0.50000000","executedQty":"0.00000000","origQuoteOrderQty":"0.00000000","cummulativeQuoteQty":"0.00000000","status":"NEW","timeInForce":"GTC","type":"LIMIT","side":"BUY","workingTime":1763000506354,"selfTradePreventionMode":"NONE"},` +
		`{"symbol":"BTCUSDT","orderId":10,"orderListId":0,"clientOrderId":"stop","transactTime":1763000506354,"price":"47900.00000000","executedQty":"0.00000000","origQuoteOrderQty":"0.00000000","cummulativeQuoteQty":"0.00000000","status":"PENDING_NEW","timeInForce":"GTC","type":"STOP_LOSS_LIMIT","side":"SELL","stopPrice":"48000.00000000","workingTime":-1,"selfTradePreventionMode":"NONE"},` +
		`{"symbol":"BTCUSDT","orderId":11,"orderListId":0,"clientOrderId":"target","transactTime":1763000506354,"price":"55000.00000000","executedQty":"0.00000000","origQuoteOrderQty":"0.00000000","cummulativeQuoteQty":"0.00000000","status":"PENDING_NEW","timeInForce":"GTC","type":"LIMIT_MAKER","side":"SELL","workingTime":-1,"selfTradePreventionMode":"NONE"}]}`
	docEvent   = `{"subscriptionId":0,"event":{"e":"executionReport","E":1710485609001,"s":"BTCUSDT","c":"stop","S":"SELL","o":"STOP_LOSS","f":"GTC","q":"0.50000000","p":"0.00000000","P":"48000.00000000","F":"0.00000000","g":7,"C":"","x":"NEW","X":"NEW","r":"NONE","i":40,"l":"0.00000000","z":"0.00000000","L":"0.00000000","n":"0","N":null,"T":1710485609000,"t":-1,"I":8641984,"w":false,"m":false,"M":false,"O":1710485608839,"Z":"0.00000000","Y":"0.00000000","Q":"0.00000000","V":"NONE"}}`
	docInfo    = `{"timezone":"UTC","serverTime":1565246363776,"rateLimits":[],"exchangeFilters":[],"symbols":[{"symbol":"ETHBTC","status":"TRADING","orderTypes":["LIMIT","LIMIT_MAKER","MARKET","STOP_LOSS","STOP_LOSS_LIMIT","TAKE_PROFIT","TAKE_PROFIT_LIMIT"],"icebergAllowed":true,"ocoAllowed":true,"otoAllowed":true,"opoAllowed":true,"quoteOrderQtyMarketAllowed":true,"allowTrailingStop":true,"cancelReplaceAllowed":false,"filters":[{"filterType":"TRAILING_DELTA","minTrailingAboveDelta":10,"maxTrailingAboveDelta":2000,"minTrailingBelowDelta":25,"maxTrailingBelowDelta":1500},{"filterType":"MAX_NUM_ALGO_ORDERS","maxNumAlgoOrders":5},{"minPrice":"0.1","filterType":"PRICE_FILTER","tickSize":"0.1"}]}]}`
	docFees    = `{"symbol":"BTCUSDT","standardCommission":{"maker":"0.00000010","taker":"0.00100000","buyer":"0.00030000","seller":"0.00000040"},"specialCommission":{"maker":"0.01000000","taker":"0.02000000","buyer":"0.03000000","seller":"0.04000000"},"taxCommission":{"maker":"0.00000112","taker":"0.00000114","buyer":"0.00000118","seller":"0.00000116"},"discount":{"enabledForAccount":true,"enabledForSymbol":true,"discountAsset":"BNB","discount":"0.75000000"}}`
	docListEnd = `{"orderListId":7,"contingencyType":"OCO","listStatusType":"ALL_DONE","listOrderStatus":"ALL_DONE","listClientOrderId":"gtarget","transactionTime":1684804350068,"symbol":"BTCUSDT","orders":[],"orderReports":[` +
		`{"symbol":"BTCUSDT","origClientOrderId":"stop","orderId":40,"orderListId":7,"clientOrderId":"by","transactTime":1684804350068,"price":"0.00000000","origQty":"0.5","executedQty":"0.00000000","cummulativeQuoteQty":"0.00000000","status":"CANCELED","timeInForce":"GTC","type":"STOP_LOSS","side":"SELL","stopPrice":"48000.0"},` +
		`{"symbol":"BTCUSDT","origClientOrderId":"target","orderId":41,"orderListId":7,"clientOrderId":"by","transactTime":1684804350068,"price":"55000.00000000","origQty":"0.5","executedQty":"0.00000000","cummulativeQuoteQty":"0.00000000","status":"CANCELED","timeInForce":"GTC","type":"LIMIT_MAKER","side":"SELL"}]}`
)

func docSpec(id string, side order.Side, quantity, price, stop string) order.Spec {
	o := order.Spec{
		ID: id, Symbol: market.Symbol{Venue: name, Name: "BTCUSDT"}, Side: side, Type: order.Market, Quantity: decimal.RequireFromString(quantity),
		Price: decimal.RequireFromString(price), StopPrice: decimal.RequireFromString(stop),
	}
	if o.Price.IsPositive() {
		o.Type = order.Limit
	}
	return o
}

func docPairList() list {
	target := docSpec("target", order.Sell, "0.5", "55000", "0")
	target.PostOnly, target.Role = true, order.TakeProfit
	return list{name: "oco", id: listID("target"), spelled: "BTCUSDT", orders: []order.Spec{target, docSpec("stop", order.Sell, "0.5", "0", "48000")}}
}

func docSizedList() list {
	entry, target := docSpec("entry", order.Buy, "0.5", "50000", "0"), docSpec("target", order.Sell, "0.5", "55000", "0")
	entry.Role, target.PostOnly = order.Entry, true
	return list{name: "opoco", id: listID("entry"), spelled: "BTCUSDT", orders: []order.Spec{entry, docSpec("stop", order.Sell, "0.5", "47900", "48000"), target}}
}

func TestParse_DocumentedLists(t *testing.T) {
	t.Parallel()
	d := decimal.RequireFromString
	r, err := parseReport([]byte(docStop), docSpec("stop", order.Sell, "0.5", "0", "48000").Handle(), "BTCUSDT")
	if err != nil || r.Status != order.Accepted || !r.StopPrice.Equal(d("48000")) || r.Type != order.Market || !r.Triggered.IsZero() || r.Group.Name != "" {
		t.Errorf("a stop: %+v, %v", r, err)
	}
	all, err := parseList([]byte(docPair), docPairList())
	if err != nil || len(all) != 2 || all[0].ID != "target" || all[1].ID != "stop" || all[0].Status != order.Accepted || all[1].VenueID != "40" || all[0].Group.Name != "7" {
		t.Errorf("a pair: %+v, %v", all, err)
	}
	all, err = parseList([]byte(docSized), docSizedList())
	if err != nil || len(all) != 3 || all[0].Status != order.Accepted || all[1].Status != order.Held || all[2].Status != order.Held || !all[1].Quantity.IsZero() ||
		!all[1].Triggered.IsZero() || !all[2].PostOnly {
		t.Errorf("an entry with legs: %+v, %v", all, err)
	}
	for text, instead := range map[string]string{
		`"listClientOrderId":"gentry"`: `"listClientOrderId":"another"`, `"clientOrderId":"stop","transactTime"`: `"clientOrderId":"stops","transactTime"`,
		`"price":"47900.00000000"`: `"price":"47800.00000000"`, `"stopPrice":"48000.00000000"`: `"stopPrice":"48001.00000000"`, `"origQty":"0.50000000"`: `"origQty":"0.40000000"`,
		`"LIMIT_MAKER"`: `"LIMIT"`, `"type":"LIMIT","side":"BUY"`: `"type":"LIMIT","side":"SELL"`, `"origQty":"0.50000000",`: ``, `"orderReports"`: `"reports"`,
	} {
		changed := strings.Replace(docSized, text, instead, 1)
		if all, err := parseList([]byte(changed), docSizedList()); changed == docSized || err == nil {
			t.Errorf("with %s: %+v", instead, all)
		}
	}
	for _, text := range []string{docListEnd, strings.Replace(docCancel, "LTCBTC", "BTCUSDT", 1)} {
		o := docSpec("stop", order.Sell, "0.5", "0", "48000")
		if text != docListEnd {
			o = docSpec("myOrder1", order.Buy, "1", "2", "0")
		}
		if r, err := parseCanceled([]byte(text), o.Handle(), "BTCUSDT"); err != nil || r.Status != order.Canceled || r.ID != o.ID {
			t.Errorf("cancelled: %+v, %v", r, err)
		}
	}
}

// TestParse_DocumentedEvents follows a stop through its reports.
func TestParse_DocumentedEvents(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1710485609000).UTC()
	for name, tc := range map[string]struct {
		change    []string
		status    order.Status
		triggered time.Time
		reason    string
		trail     string
		leg       bool
	}{
		"it waits":              {nil, order.Accepted, time.Time{}, "", "0", false},
		"its entry waits":       {[]string{`"X":"NEW"`, `"X":"PENDING_NEW"`, `"q":"0.50000000"`, `"q":"0.00000000"`}, order.Held, time.Time{}, "", "0", true},
		"it is triggered":       {[]string{`"w":false`, `"w":true,"W":1710485608950`}, order.Accepted, time.UnixMilli(1710485608950).UTC(), "", "0", false},
		"it is on the book":     {[]string{`"w":false`, `"w":true`}, order.Accepted, at, "", "0", false},
		"it trades":             {[]string{`"x":"NEW","X":"NEW"`, `"x":"TRADE","X":"FILLED"`, `"l":"0.00000000","z":"0.00000000","L":"0.00000000"`, `"l":"0.5","z":"0.5","L":"47990"`, `"t":-1`, `"t":5`}, order.Filled, at, "", "0", false},
		"the other is filled":   {[]string{`"x":"NEW","X":"NEW"`, `"x":"EXPIRED","X":"EXPIRED"`, `"V":"NONE"`, `"V":"NONE","eR":"OCO_TRIGGER"`}, order.Expired, time.Time{}, "OCO_TRIGGER", "0", false},
		"it lacks money":        {[]string{`"x":"NEW","X":"NEW","r":"NONE"`, `"x":"EXPIRED","X":"EXPIRED","r":"INSUFFICIENT_BALANCES","eR":"REJECTED"`}, order.Expired, time.Time{}, "REJECTED: INSUFFICIENT_BALANCES", "0", false},
		"it trails":             {[]string{`"P":"48000.00000000"`, `"P":"0.00000000","d":125,"D":1710485608839`}, order.Accepted, time.Time{}, "", "1.25", false},
		"it has not begun":      {[]string{`"P":"48000.00000000"`, `"P":"0.00000000","d":10,"D":-1`}, order.Accepted, time.Time{}, "", "0.1", false},
		"a limit order is none": {[]string{`"o":"STOP_LOSS"`, `"o":"LIMIT_MAKER"`, `"w":false`, `"w":true,"W":1710485608950`}, order.Accepted, time.Time{}, "", "0", false},
	} {
		text := strings.NewReplacer(tc.change...).Replace(docEvent)
		m, err := parseMessage([]byte(text))
		r := m.report
		if err != nil || r.Status != tc.status || !r.Triggered.Equal(tc.triggered) || r.Reason != tc.reason || !r.TrailPercent.Equal(decimal.RequireFromString(tc.trail)) ||
			r.Group != (order.Group{Name: "7", Leg: tc.leg}) || r.ID != "stop" || r.At != at {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	m, err := parseMessage([]byte(strings.Replace(docEvent, `"P":"48000.00000000"`, `"d":-1`, 1)))
	if err == nil {
		t.Errorf("a trail below zero: %+v", m.report)
	}
}

func TestParse_DocumentedFeatures(t *testing.T) {
	t.Parallel()
	d := decimal.RequireFromString
	f, err := parseFeatures([]byte(docInfo), "ETHBTC")
	if c := f.capabilities(); err != nil || !f.opo || !c.TrailMin.Equal(d("0.25")) || !c.TrailMax.Equal(d("15")) || !c.TwoLegs || !c.CancelEndsGroup || c.MarketEntry || c.LegsInPart || c.SellEntry || c.MaxStops != 5 || c.TrailFrom {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := parseFeatures([]byte(docInfo), "BTCUSDT"); err == nil {
		t.Error("a symbol that is not in it")
	}
	f, err = parseFeatures([]byte(`{"symbols":[{"symbol":"ETHBTC","orderTypes":["STOP_LOSS"],"allowTrailingStop":true}]}`), "ETHBTC")
	if c := f.capabilities(); err != nil || !c.Stops || c.Trails() || c.OneLeg || c.Pairs || c.MaxStops != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	if rate, err := parseFeeRate([]byte(docFees)); err != nil || !rate.Equal(d("0.05130232")) {
		t.Errorf("%v, %v", rate, err)
	}
	for _, text := range []string{`{}`, `[]`, `{"standardCommission":{"taker":"1.0"}}`, `{"standardCommission":{"taker":"-0.1"}}`} {
		if rate, err := parseFeeRate([]byte(text)); err == nil {
			t.Errorf("%s is %v", text, rate)
		}
	}
}

func FuzzParseList(f *testing.F) {
	for _, s := range []string{docPair, docSized, docListEnd, docStop, `{"orderReports":[]}`, `{"orderReports":[{}]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, l := range []list{docPairList(), docSizedList()} {
			all, err := parseList(data, l)
			if err != nil {
				continue
			}
			if len(all) != len(l.orders) {
				t.Fatalf("%q has %d orders", data, len(all))
			}
			for i, r := range all {
				sound(t, data, r)
				if o := l.orders[i]; r.ID != o.ID || r.Side != o.Side || !r.StopPrice.Equal(o.StopPrice) || i == 0 && !r.Quantity.Equal(o.Quantity) {
					t.Fatalf("%q is taken for the list: %+v", data, r)
				}
			}
		}
		o := docSpec("stop", order.Sell, "0.5", "0", "48000")
		if r, err := parseCanceled(data, o.Handle(), "BTCUSDT"); err == nil {
			sound(t, data, r)
			if r.ID != o.ID || r.Side != o.Side {
				t.Fatalf("%q is taken for the order: %+v", data, r)
			}
		}
	})
}

func FuzzParseFeatures(f *testing.F) {
	for _, s := range []string{docInfo, docFees, `{"symbols":[]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, err := parseFeatures(data, "ETHBTC"); err == nil {
			c := got.capabilities()
			if c.TrailMin.IsNegative() || c.TrailMax.LessThan(c.TrailMin) || c.TwoLegs && !c.OneLeg || c.Pairs && !c.Stops && !c.StopLimits || c.TrailLeg != c.Trails() {
				t.Fatalf("%q becomes %+v", data, c)
			}
		}
		if rate, err := parseFeeRate(data); err == nil && (rate.IsNegative() || rate.GreaterThanOrEqual(decimal.NewFromInt(1))) {
			t.Fatalf("%q becomes %v", data, rate)
		}
	})
}
