package binance_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/fake/binance"
)

// TestSymbols_SayWhatTheyHave holds that exchangeInfo and the refusals agree about what the
// orders of a symbol can have.
func TestSymbols_SayWhatTheyHave(t *testing.T) {
	t.Parallel()
	d := &desk{now: time.Unix(1717200000, 0)}
	d.Server = binance.New(binance.Config{Now: func() time.Time { return d.now }, Symbols: map[string]binance.Features{
		"BTCUSDT": {NoTypes: []string{"TAKE_PROFIT_LIMIT"}, NoOCO: true, NoReplace: true},
		"ETHUSDT": {NoOTO: true},
	}})
	d.Pin("BTCUSDT", decimal.NewFromInt(50_000))
	_, info := d.send(t, http.MethodGet, "/api/v3/exchangeInfo")
	symbols, ok := info["symbols"].([]any)
	if !ok || len(symbols) != 3 {
		t.Fatalf("%v", info)
	}
	flags := []string{"ocoAllowed", "otoAllowed", "opoAllowed", "allowTrailingStop", "cancelReplaceAllowed"}
	for i, want := range []struct {
		lacks []string
		types []string
	}{
		{[]string{"ocoAllowed", "cancelReplaceAllowed"}, []string{"TAKE_PROFIT_LIMIT"}},
		{[]string{"otoAllowed"}, nil},
		{[]string{"opoAllowed", "allowTrailingStop"}, []string{"STOP_LOSS", "TAKE_PROFIT"}},
	} {
		symbol, ok := symbols[i].(map[string]any)
		if !ok {
			t.Fatalf("%v", symbols[i])
		}
		for _, flag := range flags {
			if symbol[flag] != !slices.Contains(want.lacks, flag) {
				t.Errorf("%v: %s is %v", symbol["symbol"], flag, symbol[flag])
			}
		}
		types, ok := symbol["orderTypes"].([]any)
		if !ok || len(types) != 7-len(want.types) || slices.ContainsFunc(types, func(kind any) bool { return slices.Contains(want.types, fmt.Sprint(kind)) }) {
			t.Errorf("%v has %v", symbol["symbol"], types)
		}
		if filters := fmt.Sprint(symbol["filters"]); !strings.Contains(filters, "maxNumAlgoOrders:5") || !strings.Contains(filters, "maxNumOrderLists:20") || !strings.Contains(filters, "maxTrailingBelowDelta:2000") {
			t.Errorf("%v", filters)
		}
	}
	for query, text := range map[string]string{
		"orderList/oco?" + pair: "OCO orders are not supported for this symbol.",
		"orderList/opo?" + strings.Replace(entry, "BTCUSDT", "ETHUSDT", 1) + oneLeg:                                           "OTO orders are not supported for this symbol.",
		"order?" + sell + "TAKE_PROFIT_LIMIT&timeInForce=GTC&stopPrice=51000&price=51000":                                     "Take profit limit orders are not supported for this symbol.",
		"order/cancelReplace?" + sellStop + "&stopPrice=48000&cancelReplaceMode=STOP_ON_FAILURE&cancelOrigClientOrderId=none": "Order cancel-replace is not supported for this symbol.",
	} {
		path, params, _ := strings.Cut(query, "?")
		if code, object := d.on(t, http.MethodPost, path, params); code != 400 || object["msg"] != text {
			t.Errorf("%s: %d %v", query, code, object)
		}
	}
	if rates := d.must(t, http.MethodGet, "account/commission", "symbol=BTCUSDT"); !strings.Contains(fmt.Sprint(rates["standardCommission"]), "taker:0.00100000") {
		t.Errorf("%v", rates)
	}
}

// TestCancel_MayBeRestricted holds that a cancel can depend on whether the order traded.
func TestCancel_MayBeRestricted(t *testing.T) {
	t.Parallel()
	d := newDesk()
	d.must(t, http.MethodPost, "order", sellStop+"&stopPrice=48000")
	for _, step := range []struct {
		only string
		code float64
	}{{"SOME", -1145}, {"ONLY_PARTIALLY_FILLED", -2011}, {"ONLY_NEW", 0}} {
		_, object := d.on(t, http.MethodDelete, "order", "symbol=BTCUSDT&origClientOrderId=stop&cancelRestrictions="+step.only)
		if code, _ := object["code"].(float64); code != step.code {
			t.Errorf("%s: %v", step.only, object)
		}
	}
}
