package binance_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

const (
	sellStop = "symbol=BTCUSDT&side=SELL&type=STOP_LOSS&quantity=0.1&newClientOrderId=stop&newOrderRespType=FULL"
	sell     = "symbol=BTCUSDT&side=SELL&quantity=0.1&newClientOrderId=stop&newOrderRespType=FULL&type="
)

// TestStops_AreRefusedInTheVenuesWords holds codes and texts against the venue's
// documentation.
func TestStops_AreRefusedInTheVenuesWords(t *testing.T) {
	t.Parallel()
	const ethbtc = "symbol=ETHBTC&side=SELL&quantity=1"
	for name, tc := range map[string]struct {
		path, query string
		code        float64
		text        string
	}{
		"a stop above the market":         {"order", sellStop + "&stopPrice=50001", -2010, "Order would trigger immediately."},
		"a stop at the market":            {"order", sellStop + "&stopPrice=50000", -2010, "Order would trigger immediately."},
		"a target below the market":       {"order", sell + "TAKE_PROFIT&stopPrice=49000", -2010, "Order would trigger immediately."},
		"a maker that takes":              {"order", sell + "LIMIT_MAKER&price=50000", -2010, "Order would immediately match and take."},
		"a maker with a time in force":    {"order", sell + "LIMIT_MAKER&price=51000&timeInForce=GTC", -1106, "'timeInForce'"},
		"a stop without its price":        {"order", sellStop, -1102, "'stopPrice' or 'trailingDelta'"},
		"a stop with a limit":             {"order", sellStop + "&stopPrice=48000&price=47000", -1106, "'price'"},
		"a stop limit without the limit":  {"order", sell + "STOP_LOSS_LIMIT&stopPrice=48000&timeInForce=GTC", -1102, "'price'"},
		"a stop limit without a force":    {"order", sell + "STOP_LOSS_LIMIT&stopPrice=48000&price=47000", -1102, "'timeInForce'"},
		"a limit with a stop price":       {"order", sell + "LIMIT&stopPrice=48000&price=47000&timeInForce=GTC", -1106, "'stopPrice'"},
		"a market order with a trail":     {"order", sell + "MARKET&trailingDelta=100", -1106, "'trailingDelta'"},
		"no such force":                   {"order", sell + "LIMIT&price=51000&timeInForce=DAY", -1115, "Invalid timeInForce."},
		"no such answer":                  {"order", strings.Replace(sellStop, "FULL", "ALL", 1) + "&stopPrice=48000", -1130, "'newOrderRespType'"},
		"a stop price off the tick":       {"order", sellStop + "&stopPrice=48000.00001", -1013, "PRICE_FILTER"},
		"a trail too tight":               {"order", sellStop + "&trailingDelta=9", -1013, "TRAILING_DELTA"},
		"a trail too wide":                {"order", sellStop + "&trailingDelta=2001", -1013, "TRAILING_DELTA"},
		"a trail that is no number":       {"order", sellStop + "&trailingDelta=1.5", -1100, "'trailingDelta'"},
		"a stop that the symbol lacks":    {"order", ethbtc + "&type=STOP_LOSS&stopPrice=0.01", -1013, "Stop loss orders are not supported for this symbol."},
		"a target that the symbol lacks":  {"order", ethbtc + "&type=TAKE_PROFIT&stopPrice=0.01", -1013, "Take profit orders are not supported"},
		"a trail that the symbol lacks":   {"order", ethbtc + "&type=STOP_LOSS_LIMIT&timeInForce=GTC&price=0.01&trailingDelta=100", -1013, "Trailing stop orders are not"},
		"an OPO that the symbol lacks":    {"orderList/opo", strings.Replace(entry, "BTCUSDT", "ETHBTC", 1) + oneLeg, -1013, "OPO orders are not supported"},
		"more than there is":              {"order", strings.Replace(sellStop, "0.1", "2.1", 1) + "&stopPrice=48000", -2010, "insufficient balance"},
		"a pair on the wrong sides":       {"orderList/oco", strings.Replace(pair, "55000", "49000", 1), -2010, "The relationship of the prices"},
		"a pair with a stop too high":     {"orderList/oco", strings.Replace(pair, "48000", "51000", 1), -2010, "The relationship of the prices"},
		"a sale with its limit below":     {"orderList/oco", strings.NewReplacer("belowType=STOP_LOSS&belowStopPrice", "belowType=LIMIT_MAKER&belowPrice", "LIMIT_MAKER&abovePrice", "TAKE_PROFIT&aboveStopPrice").Replace(pair), -1166, "A limit order in a sell OCO must be above."},
		"a sale with its stop above":      {"orderList/oco", strings.Replace(pair, "LIMIT_MAKER&abovePrice", "STOP_LOSS&aboveStopPrice", 1), -1197, "A stop loss order in a sell OCO must be below."},
		"a sale with its target below":    {"orderList/oco", strings.Replace(pair, "belowType=STOP_LOSS", "belowType=TAKE_PROFIT", 1), -1199, "A take profit order in a sell OCO must be above."},
		"a purchase with its limit above": {"orderList/oco", strings.Replace(pair, "SELL", "BUY", 1), -1165, "A limit order in a buy OCO must be below."},
		"a purchase with its stop below":  {"orderList/oco", strings.NewReplacer("SELL", "BUY", "LIMIT_MAKER&abovePrice", "STOP_LOSS&aboveStopPrice").Replace(pair), -1196, "A stop loss order in a buy OCO must be above."},
		"a purchase with its target above": {
			"orderList/oco", strings.NewReplacer("SELL", "BUY", "LIMIT_MAKER&abovePrice", "TAKE_PROFIT&aboveStopPrice", "belowType=STOP_LOSS", "belowType=TAKE_PROFIT").Replace(pair),
			-1198, "A take profit order in a buy OCO must be below.",
		},
		"two limits":                 {"orderList/oco", strings.Replace(pair, "belowType=STOP_LOSS&belowStopPrice", "belowType=LIMIT_MAKER&belowPrice", 1), -1168, "At least one OCO order must be contingent."},
		"a pair with a market order": {"orderList/oco", strings.Replace(pair, "belowType=STOP_LOSS&belowStopPrice=48000", "belowType=MARKET", 1), -1158, "Order type not supported in OCO."},
		"an OPO that sells first":    {"orderList/opo", strings.Replace(entry, "BUY", "SELL", 1) + oneLeg, -1222, "must be a bid"},
		"an OPO that buys twice":     {"orderList/opo", strings.Replace(entry, "SELL", "BUY", 1) + oneLeg, -1223, "must be asks"},
		"an OPO with a quantity":     {"orderList/opo", entry + oneLeg + sized, -1104, "Not all sent parameters were read"},
		"an OTO without a quantity":  {"orderList/oto", entry + oneLeg, -1102, "'pendingQuantity'"},
		"an entry at market":         {"orderList/opo", strings.Replace(entry, "=LIMIT&workingSide=BUY&workingPrice=49000&workingQuantity=0.1&workingTimeInForce=GTC", "=MARKET&workingSide=BUY&workingQuantity=0.1", 1) + oneLeg, -1159, "working order"},
		"one id for two":             {"orderList/opo", strings.Replace(entry, "=entry", "=stop", 1) + oneLeg, -2010, "Duplicate order sent."},
		"a bracket inside out":       {"orderList/opoco", entry + strings.NewReplacer("55000", "45000", "46000", "45500").Replace(twoLegs), -2010, "The relationship of the prices"},
	} {
		d := newDesk()
		code, object := d.on(t, http.MethodPost, tc.path, tc.query)
		if code != http.StatusBadRequest || object["code"] != tc.code || !strings.Contains(fmt.Sprint(object["msg"]), tc.text) {
			t.Errorf("%s: %d %v", name, code, object)
		}
		if len(d.Orders()) != 0 || len(d.Lists()) != 0 || len(d.Locks()) != 0 {
			t.Errorf("%s: taken", name)
		}
	}
}

// TestStops_CountAgainstTheFilters holds how many stops and lists a symbol takes.
func TestStops_CountAgainstTheFilters(t *testing.T) {
	t.Parallel()
	d := newDesk()
	for n := range 5 {
		d.must(t, http.MethodPost, "order", strings.Replace(sellStop, "=stop", fmt.Sprintf("=stop%d", n), 1)+"&stopPrice=48000")
	}
	if code, object := d.on(t, http.MethodPost, "order", sellStop+"&stopPrice=48000"); code != 400 || object["msg"] != "Filter failure: MAX_NUM_ALGO_ORDERS" {
		t.Errorf("a sixth stop: %d %v", code, object)
	}
	if code, object := d.on(t, http.MethodPost, "orderList/opo", entry+oneLeg); code != 400 || object["msg"] != "Filter failure: MAX_NUM_ALGO_ORDERS" {
		t.Errorf("a sixth stop that is pending: %d %v", code, object)
	}
	d.must(t, http.MethodPost, "order", sell+"LIMIT_MAKER&price=51000")
	d = newDesk()
	for n := range 20 {
		d.must(t, http.MethodPost, "orderList/oto", "symbol=BTCUSDT&workingType=LIMIT_MAKER&workingSide=BUY&workingPrice=40000&workingQuantity=0.01"+
			"&pendingType=LIMIT_MAKER&pendingSide=SELL&pendingPrice=60000&pendingQuantity=0.01&listClientOrderId="+fmt.Sprint("L", n))
	}
	if code, object := d.on(t, http.MethodPost, "orderList/oco", strings.Replace(pair, "=L&", "=more&", 1)); code != 400 || object["msg"] != "Filter failure: MAX_NUM_ORDER_LISTS" {
		t.Errorf("one list more: %d %v", code, object)
	}
}

// TestStops_Trigger follows each type from the order to its fill.
func TestStops_Trigger(t *testing.T) {
	t.Parallel()
	buy := strings.Replace(sell, "SELL", "BUY", 1)
	for name, tc := range map[string]struct {
		query          string
		short, reaches string // a price that does not trigger, and one that does
		status, filled string
		reason         string
	}{
		"a stop":                          {sell + "STOP_LOSS&stopPrice=48000", "48000.5", "48000", "FILLED", "0.1", ""},
		"a stop after a gap":              {sell + "STOP_LOSS&stopPrice=48000", "49000", "40000", "FILLED", "0.1", ""},
		"a target":                        {sell + "TAKE_PROFIT&stopPrice=52000", "51999", "52000", "FILLED", "0.1", ""},
		"a stop to buy":                   {buy + "STOP_LOSS&stopPrice=52000", "51999", "53000", "FILLED", "0.1", ""},
		"a target to buy":                 {buy + "TAKE_PROFIT&stopPrice=48000", "48001", "48000", "FILLED", "0.1", ""},
		"a stop limit":                    {sell + "STOP_LOSS_LIMIT&timeInForce=GTC&stopPrice=48000&price=47500", "48001", "48000", "FILLED", "0.1", ""},
		"a stop limit that a gap passes":  {sell + "STOP_LOSS_LIMIT&timeInForce=GTC&stopPrice=48000&price=47500", "48001", "47000", "NEW", "0", ""},
		"a stop limit that does not rest": {sell + "STOP_LOSS_LIMIT&timeInForce=IOC&stopPrice=48000&price=47500", "48001", "47000", "EXPIRED", "0", "UNFILLED_IOC_QUANTITY_EXPIRED"},
		"a stop limit, all or nothing":    {sell + "STOP_LOSS_LIMIT&timeInForce=FOK&stopPrice=48000&price=47500", "48001", "47000", "EXPIRED", "0", "UNFILLED_FOK_ORDER_EXPIRED"},
		"a target with a limit":           {sell + "TAKE_PROFIT_LIMIT&timeInForce=GTC&stopPrice=52000&price=51900", "51000", "52000", "FILLED", "0.1", ""},
		"a stop to buy without the money": {strings.Replace(buy, "=0.1", "=1.9", 1) + "STOP_LOSS&stopPrice=52000", "51000", "60000", "EXPIRED", "0", "REJECTED"},
	} {
		d := newDesk()
		object := d.must(t, http.MethodPost, "order", tc.query)
		if object["status"] != "NEW" || object["workingTime"] != -1. {
			t.Errorf("%s: %v", name, object)
		}
		d.Move("BTCUSDT", dec(tc.short))
		if o := d.wants(t, "stop", "NEW", "0", ""); !o.Working.IsZero() {
			t.Errorf("%s: triggered at %s", name, tc.short)
		}
		if locks := d.Locks(); len(locks) != 1 {
			t.Errorf("%s: %+v", name, locks)
		}
		d.Move("BTCUSDT", dec(tc.reaches))
		d.wants(t, "stop", tc.status, tc.filled, tc.reason)
		if tc.status != "NEW" && len(d.Locks()) != 0 {
			t.Errorf("%s: %+v", name, d.Locks())
		}
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

// TestTrails_FollowTheVenuesScenarios walks through the five scenarios of the venue's page
// about trailing stops.
func TestTrails_FollowTheVenuesScenarios(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		query  string
		before []string // prices that do not trigger it
		at     string   // which does
	}{
		"A, stop loss to buy":       {"side=BUY&type=STOP_LOSS_LIMIT&stopPrice=44000&trailingDelta=500&price=45000", []string{"37000", "44000", "45000", "46000", "42000", "44099"}, "44100"},
		"B, stop loss to sell":      {"side=SELL&type=STOP_LOSS_LIMIT&stopPrice=39000&trailingDelta=1000&price=38000", []string{"41500", "39000", "37000", "41000", "36901"}, "36900"},
		"C, take profit to buy":     {"side=BUY&type=TAKE_PROFIT_LIMIT&stopPrice=38000&trailingDelta=850&price=38500", []string{"42000", "38000", "37000", "39000", "38000", "40144"}, "40145"},
		"D, take profit to sell":    {"side=SELL&type=TAKE_PROFIT_LIMIT&stopPrice=42000&trailingDelta=750&price=41000", []string{"41500", "39000", "42000", "45000", "44000", "46500", "43012.6"}, "43012.5"},
		"E, without a stop price":   {"side=SELL&type=STOP_LOSS_LIMIT&trailingDelta=700&price=39000", []string{"42000", "39500", "45500", "42315.1"}, "42315"},
		"E, down from where it was": {"side=SELL&type=STOP_LOSS_LIMIT&trailingDelta=700&price=39000", []string{"37200.1"}, "37200"},
	} {
		d := newDesk()
		d.Pin("BTCUSDT", dec("40000"))
		object := d.must(t, http.MethodPost, "order", "symbol=BTCUSDT&timeInForce=GTC&quantity=0.1&newClientOrderId=stop&newOrderRespType=RESULT&"+tc.query)
		if started := object["trailingTime"] != -1.; object["trailingDelta"] == nil || started != strings.HasPrefix(name, "E") {
			t.Errorf("%s: %v", name, object)
		}
		for _, price := range tc.before {
			d.Move("BTCUSDT", dec(price))
			if o := d.wants(t, "stop", "NEW", "0", ""); !o.Working.IsZero() {
				t.Fatalf("%s: triggered at %s", name, price)
			}
		}
		d.Move("BTCUSDT", dec(tc.at))
		if o := d.Orders()[0]; o.Working.IsZero() {
			t.Errorf("%s: not triggered at %s: %+v", name, tc.at, o)
		}
	}
}

// TestForces holds what becomes of an order that the book does not fill.
func TestForces(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ query, status, filled, reason string }{
		"IOC that the book fills":     {"timeInForce=IOC&price=49000&quantity=0.1", "FILLED", "0.1", ""},
		"IOC away from the book":      {"timeInForce=IOC&price=51000&quantity=0.1", "EXPIRED", "0", "UNFILLED_IOC_QUANTITY_EXPIRED"},
		"FOK that the book fills":     {"timeInForce=FOK&price=49000&quantity=0.1", "FILLED", "0.1", ""},
		"FOK larger than one level":   {"timeInForce=FOK&price=50000&quantity=1.5", "EXPIRED", "0", "UNFILLED_FOK_ORDER_EXPIRED"},
		"IOC larger than one level":   {"timeInForce=IOC&price=50000&quantity=1.5", "EXPIRED", "1", "UNFILLED_IOC_QUANTITY_EXPIRED"},
		"GTC larger than one level":   {"timeInForce=GTC&price=50000&quantity=1.5", "PARTIALLY_FILLED", "1", ""},
		"FOK larger, down the levels": {"timeInForce=FOK&price=49990&quantity=1.5", "FILLED", "1.5", ""},
	} {
		d := newThinDesk()
		object := d.must(t, http.MethodPost, "order", "symbol=BTCUSDT&side=SELL&type=LIMIT&newClientOrderId=o&"+tc.query)
		if object["status"] != tc.status || tc.reason != "" && object["expiryReason"] != tc.reason {
			t.Errorf("%s: %v", name, object)
		}
		d.wants(t, "o", tc.status, tc.filled, tc.reason)
	}
}
