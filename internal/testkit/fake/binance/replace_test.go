package binance_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"candela/internal/testkit/fake/binance"
)

// TestReplace_HasTwoFates holds the answers to a cancel with a replacement.
func TestReplace_HasTwoFates(t *testing.T) {
	t.Parallel()
	const (
		next  = "symbol=BTCUSDT&side=SELL&type=STOP_LOSS&quantity=0.1&newClientOrderId=next"
		stop  = "&cancelReplaceMode=STOP_ON_FAILURE"
		allow = "&cancelReplaceMode=ALLOW_FAILURE"
		old   = "&cancelOrigClientOrderId=stop"
	)
	for name, tc := range map[string]struct {
		query     string
		status    int
		code      float64 // 0 when both halves are done
		old, next string  // status of the orders, empty for none
	}{
		"both done":                      {next + "&stopPrice=49000" + stop + old, 200, 0, "CANCELED", "NEW"},
		"the same id again":              {strings.Replace(next, "=next", "=stop", 1) + "&stopPrice=49000" + stop + old, 200, 0, "CANCELED", ""},
		"no order to cancel":             {next + "&stopPrice=49000" + stop + "&cancelOrderId=7", 400, -2022, "NEW", ""},
		"cancelled, the new one refused": {next + "&stopPrice=51000" + stop + old, 409, -2021, "CANCELED", ""},
		"not cancelled, the new placed":  {next + "&stopPrice=49000" + allow + "&cancelOrderId=7", 409, -2021, "NEW", "NEW"},
		"neither":                        {next + "&stopPrice=51000" + allow + "&cancelOrderId=7", 400, -2022, "NEW", ""},
		"a filter comes first":           {next + "&stopPrice=49000.00001" + stop + old, 400, -1013, "NEW", ""},
		"no mode":                        {next + "&stopPrice=49000" + old, 400, -1102, "NEW", ""},
		"a wrong mode":                   {next + "&stopPrice=49000&cancelReplaceMode=MAYBE" + old, 400, -1130, "NEW", ""},
		"no order is named":              {next + "&stopPrice=49000" + stop, 400, -1102, "NEW", ""},
	} {
		d := newDesk()
		d.must(t, http.MethodPost, "order", sellStop+"&stopPrice=48000")
		status, object := d.on(t, http.MethodPost, "order/cancelReplace", tc.query)
		code, _ := object["code"].(float64)
		if status != tc.status || code != tc.code {
			t.Errorf("%s: %d %v", name, status, object)
		}
		if tc.code == -2021 && !strings.Contains(fmt.Sprint(object["data"]), "SUCCESS") {
			t.Errorf("%s: %v", name, object)
		}
		got := map[string]string{}
		for _, o := range d.Orders() {
			if _, twice := got[o.ClientID]; !twice {
				got[o.ClientID] = o.Status
			}
		}
		if got["stop"] != tc.old || got["next"] != tc.next {
			t.Errorf("%s: %v", name, got)
		}
	}
	d := newDesk()
	d.must(t, http.MethodPost, "orderList/oco", pair)
	d.must(t, http.MethodPost, "order/cancelReplace", next+"&stopPrice=49000"+stop+old)
	d.wants(t, "target", "CANCELED", "0", "")
	d.coins(t, "1.9", "0.1")
}

// TestLists_FailAsOrdersDo lets placing and cancelling a list go wrong in every way. What
// is named as done is done.
func TestLists_FailAsOrdersDo(t *testing.T) {
	t.Parallel()
	for name, f := range binance.OrderFaults() {
		if f.Hang || f.Stall || f.Reset || f.Cut || f.Body == "" {
			continue // which need a connection, or have no object
		}
		done := strings.HasSuffix(name, "done")
		d := newDesk()
		d.Next(f)
		query := signed(fmt.Sprintf("%s&timestamp=%d", pair, d.now.UnixMilli()))
		raw(t, d, http.MethodPost, "/api/v3/orderList/oco?"+query)
		if n := len(d.Lists()); (n == 1) != done {
			t.Errorf("%s: %d lists", name, n)
		}
		d.Clear()
		if !done {
			d.must(t, http.MethodPost, "orderList/oco", pair)
		}
		d.Next(f)
		raw(t, d, http.MethodDelete, "/api/v3/orderList?"+signed(fmt.Sprintf("symbol=BTCUSDT&listClientOrderId=L&timestamp=%d", d.now.UnixMilli())))
		if l := d.Lists()[0]; (l.Status == "ALL_DONE") != done {
			t.Errorf("%s: after the cancel %+v", name, l)
		}
	}
}
