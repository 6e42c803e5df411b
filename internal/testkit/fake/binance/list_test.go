package binance_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/fake/binance"
)

func dec(text string) decimal.Decimal { return decimal.RequireFromString(text) }

// on signs and sends a request to an endpoint, and returns the answer's status and object.
func (d *desk) on(t *testing.T, method, path, query string) (int, map[string]any) {
	t.Helper()
	query = strings.TrimPrefix(query+"&timestamp="+strconv.FormatInt(d.now.UnixMilli(), 10), "&")
	w, object := d.send(t, method, "/api/v3/"+path+"?"+signed(query))
	return w.Code, object
}

// must sends a request that the venue takes.
func (d *desk) must(t *testing.T, method, path, query string) map[string]any {
	t.Helper()
	code, object := d.on(t, method, path, query)
	if code != http.StatusOK {
		t.Fatalf("%s %s: %d %v", path, query, code, object)
	}
	return object
}

// wants holds what the venue knows of an order: its status, what was filled, and why it
// expired.
func (d *desk) wants(t *testing.T, id, status, filled, reason string) binance.Order {
	t.Helper()
	for _, o := range d.Orders() {
		if o.ClientID == id {
			if o.Status != status || !o.Executed.Equal(dec(filled)) || o.ExpiryReason != reason {
				t.Errorf("%s is %s, %s filled, %q; want %s, %s, %q", id, o.Status, o.Executed, o.ExpiryReason, status, filled, reason)
			}
			return o
		}
	}
	t.Errorf("no order %s", id)
	return binance.Order{}
}

// coins holds how many are free and locked.
func (d *desk) coins(t *testing.T, free, locked string) {
	t.Helper()
	if b := d.Balances()["BTC"]; !b.Free.Equal(dec(free)) || !b.Locked.Equal(dec(locked)) {
		t.Errorf("%s free and %s locked, want %s and %s", b.Free, b.Locked, free, locked)
	}
}

const (
	pair = "symbol=BTCUSDT&side=SELL&quantity=0.1&listClientOrderId=L&aboveType=LIMIT_MAKER&abovePrice=55000&aboveClientOrderId=target" +
		"&belowType=STOP_LOSS&belowStopPrice=48000&belowClientOrderId=stop"
	entry = "symbol=BTCUSDT&listClientOrderId=L&workingType=LIMIT&workingSide=BUY&workingPrice=49000&workingQuantity=0.1&workingTimeInForce=GTC&workingClientOrderId=entry" +
		"&pendingSide=SELL"
	oneLeg  = "&pendingType=STOP_LOSS&pendingStopPrice=47000&pendingClientOrderId=stop"
	twoLegs = "&pendingAboveType=LIMIT_MAKER&pendingAbovePrice=55000&pendingAboveClientOrderId=target" +
		"&pendingBelowType=STOP_LOSS_LIMIT&pendingBelowStopPrice=47000&pendingBelowPrice=46000&pendingBelowTimeInForce=GTC&pendingBelowClientOrderId=stop"
	sized = "&pendingQuantity=0.1"
)

// TestPair_LocksOnceAndOneOfThemFills follows a pair to either end.
func TestPair_LocksOnceAndOneOfThemFills(t *testing.T) {
	t.Parallel()
	d := newDesk()
	answer := d.must(t, http.MethodPost, "orderList/oco", pair)
	reports := fmt.Sprint(answer["orderReports"])
	if answer["contingencyType"] != "OCO" || answer["listStatusType"] != "EXEC_STARTED" || answer["listClientOrderId"] != "L" ||
		!strings.Contains(reports, "stopPrice:48000.00000000") || !strings.Contains(reports, "workingTime:-1") {
		t.Errorf("%v", answer)
	}
	d.coins(t, "1.9", "0.1")
	if locks := d.Locks(); len(locks) != 1 || len(locks[0].Orders) != 2 || !locks[0].Amount.Equal(dec("0.1")) {
		t.Errorf("%+v", locks)
	}
	d.Move("BTCUSDT", dec("48000"))
	stop := d.wants(t, "stop", "FILLED", "0.1", "")
	d.wants(t, "target", "EXPIRED", "0", "OCO_TRIGGER")
	d.coins(t, "1.9", "0")
	if l := d.Lists(); len(l) != 1 || l[0].Status != "ALL_DONE" || l[0].Orders[0] != stop.ID {
		t.Errorf("%+v", l)
	}

	d = newDesk()
	d.must(t, http.MethodPost, "orderList/oco", pair)
	d.Trade("target", dec("0.04"))
	d.wants(t, "target", "PARTIALLY_FILLED", "0.04", "")
	d.wants(t, "stop", "EXPIRED", "0", "OCO_TRIGGER")
	d.coins(t, "1.9", "0.06")
	if object := d.must(t, http.MethodGet, "orderList", "origClientOrderId=L"); object["listOrderStatus"] != "EXECUTING" {
		t.Errorf("%v", object)
	}
	d.Move("BTCUSDT", dec("55000"))
	d.wants(t, "target", "FILLED", "0.1", "")
	if object := d.must(t, http.MethodGet, "orderList", "orderListId=1"); object["listOrderStatus"] != "ALL_DONE" {
		t.Errorf("%v", object)
	}

	d = newDesk()
	d.Assume(binance.Assumptions{TargetKeepsStop: true})
	d.must(t, http.MethodPost, "orderList/oco", pair)
	d.Trade("target", dec("0.04"))
	if stop := d.wants(t, "stop", "NEW", "0", ""); !stop.Quantity.Equal(dec("0.06")) {
		t.Errorf("the stop is over %s", stop.Quantity)
	}
	d.coins(t, "1.9", "0.06")
	d.Move("BTCUSDT", dec("47000"))
	d.wants(t, "stop", "FILLED", "0.06", "")
	d.wants(t, "target", "EXPIRED", "0.04", "OCO_TRIGGER")
	d.coins(t, "1.9", "0")
}

// TestEntry_LegsFollowTheWholeFill holds when the legs of each kind of list enter the book
// and how large they are.
func TestEntry_LegsFollowTheWholeFill(t *testing.T) {
	t.Parallel()
	poor := map[string]decimal.Decimal{"USDT": dec("100000")}
	for name, tc := range map[string]struct {
		path, query    string
		funds          map[string]decimal.Decimal
		stop, quantity string // status of the stop afterwards; its quantity
		reason         string
		locked         string // of BTC, afterwards
	}{
		"OTO of one who has some":    {"oto", entry + sized + oneLeg, nil, "NEW", "0.1", "", "0.1"},
		"OTO of one who has none":    {"oto", entry + sized + oneLeg, poor, "EXPIRED", "0.1", "REJECTED", "0"},
		"OTO without the fee":        {"oto", entry + "&pendingQuantity=0.0999" + oneLeg, poor, "NEW", "0.0999", "", "0.0999"},
		"OTOCO":                      {"otoco", entry + sized + twoLegs, nil, "NEW", "0.1", "", "0.1"},
		"OTOCO of one who has none":  {"otoco", entry + sized + twoLegs, poor, "EXPIRED", "0.1", "REJECTED", "0"},
		"OPO":                        {"opo", entry + oneLeg, poor, "NEW", "0.0999", "", "0.0999"},
		"OPO, the fee from the free": {"opo", entry + oneLeg, nil, "NEW", "0.1", "", "0.1"},
		"OPOCO":                      {"opoco", entry + twoLegs, poor, "NEW", "0.0999", "", "0.0999"},
		"OPOCO with a fill-or-kill":  {"opoco", strings.Replace(entry, "workingPrice=49000", "workingPrice=50010", 1) + twoLegs, poor, "NEW", "0.0999", "", "0.0999"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &desk{now: time.Unix(1717200000, 0)}
			d.Server = binance.New(binance.Config{Now: func() time.Time { return d.now }, Funds: tc.funds, Depth: dec("1")})
			d.Pin("BTCUSDT", dec("50000"))
			query := tc.query
			if strings.Contains(name, "kill") {
				query = strings.Replace(query, "workingTimeInForce=GTC", "workingTimeInForce=FOK", 1)
			}
			answer := fmt.Sprint(d.must(t, http.MethodPost, "orderList/"+tc.path, query))
			if legs := strings.Count(answer, "PENDING_NEW"); !strings.Contains(answer, "contingencyType:OTO") || legs == 0 {
				t.Errorf("%v", answer)
			}
			if has := strings.Count(answer, "origQty"); strings.HasPrefix(tc.path, "op") != (has == 1) {
				t.Errorf("the answer has %d quantities: %v", has, answer)
			}
			if !strings.Contains(name, "kill") {
				if !d.Trade("entry", dec("0.06")) || d.Trade("stop", dec("0.01")) {
					t.Error("the entry is not on the book, or the stop is")
				}
				d.wants(t, "stop", "PENDING_NEW", "0", "")
				d.Trade("entry", dec("0.04"))
			}
			d.wants(t, "entry", "FILLED", "0.1", "")
			if stop := d.wants(t, "stop", tc.stop, "0", tc.reason); !stop.Quantity.Equal(dec(tc.quantity)) {
				t.Errorf("the stop is over %s, want %s", stop.Quantity, tc.quantity)
			}
			if locked := d.Balances()["BTC"].Locked; !locked.Equal(dec(tc.locked)) {
				t.Errorf("%s locked, want %s", locked, tc.locked)
			}
			if tc.stop != "NEW" {
				return
			}
			d.Move("BTCUSDT", dec("46900"))
			d.wants(t, "stop", "FILLED", tc.quantity, "")
			if l := d.Lists(); l[0].Status != "ALL_DONE" || len(d.Locks()) != 0 {
				t.Errorf("%+v, locks %+v", l, d.Locks())
			}
		})
	}
}

// TestEntry_LegsAreOnTheStep holds that the venue sizes legs down to the step, and frees
// the rest.
func TestEntry_LegsAreOnTheStep(t *testing.T) {
	t.Parallel()
	d := &desk{now: time.Unix(1717200000, 0)}
	d.Server = binance.New(binance.Config{Now: func() time.Time { return d.now }, Funds: map[string]decimal.Decimal{"USDT": dec("100000")}})
	d.Pin("BTCUSDT", dec("50000"))
	d.must(t, http.MethodPost, "orderList/opoco", strings.Replace(entry, "=0.1&", "=0.01234&", 1)+twoLegs)
	d.Trade("entry", dec("0.01234")) // of which 0.00001234 is the fee
	if o := d.wants(t, "stop", "NEW", "0", ""); !o.Quantity.Equal(dec("0.01232")) {
		t.Errorf("%+v", o)
	}
	d.coins(t, "0.00000766", "0.01232")
}

// TestPair_OfPurchases holds that a pair of purchases locks what the larger needs, and that
// the rest is free when one of them trades.
func TestPair_OfPurchases(t *testing.T) {
	t.Parallel()
	d := newDesk()
	d.must(t, http.MethodPost, "orderList/oco", "symbol=BTCUSDT&side=BUY&quantity=0.1&aboveType=STOP_LOSS_LIMIT&aboveTimeInForce=GTC&aboveStopPrice=52000&abovePrice=53000&aboveClientOrderId=stop"+
		"&belowType=LIMIT_MAKER&belowPrice=45000&belowClientOrderId=target")
	for _, step := range []struct{ filled, locked string }{{"0", "5300"}, {"0.04", "2700"}, {"0.06", "0"}} {
		if step.filled != "0" {
			d.Trade("target", dec(step.filled))
		}
		if b := d.Balances()["USDT"]; !b.Locked.Equal(dec(step.locked)) {
			t.Errorf("%s locked after %s, want %s", b.Locked, step.filled, step.locked)
		}
	}
	d.wants(t, "stop", "EXPIRED", "0", "OCO_TRIGGER")
}

// TestEntry_EndsInPart holds that no leg enters the book when the working order is filled
// in part and over, and that what an OPO kept for them is free again.
func TestEntry_EndsInPart(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		path, query    string // of the cancel; none has the venue expire the entry
		status, reason string // of the legs
	}{
		"the venue expires it":   {"", "", "EXPIRED", "OTO_PHASE_ONE_EXPIRED"},
		"the entry is cancelled": {"order", "symbol=BTCUSDT&origClientOrderId=entry", "CANCELED", ""},
		"a leg is cancelled":     {"order", "symbol=BTCUSDT&origClientOrderId=stop", "CANCELED", ""},
		"the list is cancelled":  {"orderList", "symbol=BTCUSDT&listClientOrderId=L", "CANCELED", ""},
	} {
		d := newDesk()
		d.must(t, http.MethodPost, "orderList/opoco", entry+twoLegs)
		d.Trade("entry", dec("0.06"))
		d.coins(t, "1.99994", "0.06")
		if tc.path == "" {
			d.Expire("entry")
		} else {
			d.must(t, http.MethodDelete, tc.path, tc.query)
		}
		d.wants(t, "stop", tc.status, "0", tc.reason)
		d.wants(t, "target", tc.status, "0", tc.reason)
		d.coins(t, "2.05994", "0")
		if b := d.Balances()["USDT"]; !b.Locked.IsZero() {
			t.Errorf("%s: %s USDT locked", name, b.Locked)
		}
		if l := d.Lists(); l[0].Status != "ALL_DONE" {
			t.Errorf("%s: %+v", name, l)
		}
		if code, object := d.on(t, http.MethodDelete, "orderList", "symbol=BTCUSDT&listClientOrderId=L"); code != 400 || object["msg"] != "Unknown order list sent." {
			t.Errorf("%s: a cancel of what is over: %d %v", name, code, object)
		}
	}
	d := newDesk()
	d.must(t, http.MethodPost, "orderList/opoco", entry+twoLegs)
	if !d.RefuseLeg("stop") || d.RefuseLeg("entry") {
		t.Error("only a pending order can be refused later")
	}
	d.Trade("entry", dec("0.1"))
	d.wants(t, "stop", "EXPIRED", "0", "REJECTED")
	d.wants(t, "target", "EXPIRED", "0", "OCO_TRIGGER")
	d.coins(t, "2.0999", "0")
}

// TestEntry_PricesAreJudgedAtTheFill holds that legs on the wrong side of the price at
// which the entry is filled are refused.
func TestEntry_PricesAreJudgedAtTheFill(t *testing.T) {
	t.Parallel()
	d := newDesk()
	d.must(t, http.MethodPost, "orderList/opoco", entry+twoLegs)
	d.Pin("BTCUSDT", dec("46000"))
	d.Trade("entry", dec("0.1"))
	if o := d.wants(t, "stop", "EXPIRED", "0", "REJECTED"); o.RejectReason != "OCO_BAD_PRICES" {
		t.Errorf("%+v", o)
	}
	d.coins(t, "2.0999", "0")
	d = newDesk()
	d.must(t, http.MethodPost, "orderList/opo", entry+oneLeg)
	d.Pin("BTCUSDT", dec("46000"))
	d.Trade("entry", dec("0.1"))
	if o := d.wants(t, "stop", "EXPIRED", "0", "REJECTED"); o.RejectReason != "STOP_PRICE_WOULD_TRIGGER_IMMEDIATELY" {
		t.Errorf("%+v", o)
	}
}

// TestEntry_NothingIsLeftOfAFillOrKill holds what is answered to a bracket whose entry the
// book does not fill.
func TestEntry_NothingIsLeftOfAFillOrKill(t *testing.T) {
	t.Parallel()
	d := newDesk()
	answer := d.must(t, http.MethodPost, "orderList/opoco", strings.Replace(entry, "GTC", "FOK", 1)+twoLegs)
	if answer["listOrderStatus"] != "ALL_DONE" || answer["listClientOrderId"] != nil || strings.Count(fmt.Sprint(answer["orderReports"]), "OTO_PHASE_ONE_EXPIRED") != 2 {
		t.Errorf("%v", answer)
	}
	d.wants(t, "entry", "EXPIRED", "0", "UNFILLED_FOK_ORDER_EXPIRED")
	if object := d.must(t, http.MethodGet, "orderList", "origClientOrderId=L"); object["listClientOrderId"] != "L" || len(d.Locks()) != 0 {
		t.Errorf("%v, locks %v", object, d.Locks())
	}
	d.Assume(binance.Assumptions{OPORefusesFOK: true})
	if code, object := d.on(t, http.MethodPost, "orderList/opoco", strings.Replace(entry, "GTC", "FOK", 1)+twoLegs); code != 400 || object["code"] != -2010. {
		t.Errorf("%d %v", code, object)
	}
}

// TestEntry_MayLockItsLegs holds the assumption that an OTO locks what its legs need when it
// is placed.
func TestEntry_MayLockItsLegs(t *testing.T) {
	t.Parallel()
	d := newDesk()
	d.Assume(binance.Assumptions{OTOLocksLegs: true, ShowsUnsized: true})
	d.must(t, http.MethodPost, "orderList/otoco", entry+sized+twoLegs)
	d.coins(t, "1.9", "0.1")
	d.Trade("entry", dec("0.1"))
	d.wants(t, "stop", "NEW", "0", "")
	d.coins(t, "1.9999", "0.1")
	over := d.must(t, http.MethodDelete, "orderList", "symbol=BTCUSDT&listClientOrderId=L")
	if reports, ok := over["orderReports"].([]any); !ok || len(reports) != 2 {
		t.Errorf("%v", over)
	}
	d.coins(t, "2.0999", "0")
	if code, object := d.on(t, http.MethodPost, "orderList/otoco", entry+strings.Replace(sized, "0.1", "2.2", 1)+twoLegs); code != 400 || object["code"] != -2010. || len(d.Locks()) != 0 {
		t.Errorf("%d %v, locks %v", code, object, d.Locks())
	}
	if answer := fmt.Sprint(d.must(t, http.MethodPost, "orderList/opoco", entry+twoLegs)); strings.Count(answer, "origQty:0.00000000") != 2 {
		t.Errorf("%v", answer)
	}
}

// TestLists_AreReadAndListed reads what the venue keeps of lists.
func TestLists_AreReadAndListed(t *testing.T) {
	t.Parallel()
	d := newDesk()
	d.must(t, http.MethodPost, "orderList/oco", pair)
	if code, object := d.on(t, http.MethodPost, "orderList/oco", pair); code != 400 || object["msg"] != "Duplicate order sent." {
		t.Errorf("the same ids: %d %v", code, object)
	}
	query := "timestamp=" + strconv.FormatInt(d.now.UnixMilli(), 10)
	w, _ := d.send(t, http.MethodGet, "/api/v3/openOrderList?"+signed(query))
	if !strings.Contains(w.Body.String(), `"listClientOrderId":"L"`) || strings.Contains(w.Body.String(), "orderReports") {
		t.Errorf("%s", w.Body)
	}
	if code, object := d.on(t, http.MethodGet, "orderList", "origClientOrderId=nobodys"); code != 400 || object["code"] != -2013. {
		t.Errorf("%d %v", code, object)
	}
	if code, object := d.on(t, http.MethodGet, "orderList", ""); code != 400 || object["code"] != -1102. {
		t.Errorf("%d %v", code, object)
	}
	d.SetLag(time.Second)
	d.must(t, http.MethodDelete, "orderList", "symbol=BTCUSDT&orderListId=1&newClientOrderId=by")
	if code, object := d.on(t, http.MethodGet, "orderList", "orderListId=1"); code != 400 {
		t.Errorf("read before its time: %d %v", code, object)
	}
	d.now = d.now.Add(time.Second)
	if object := d.must(t, http.MethodGet, "orderList", "orderListId=1"); object["listStatusType"] != "ALL_DONE" {
		t.Errorf("%v", object)
	}
	d.coins(t, "2", "0")
}
