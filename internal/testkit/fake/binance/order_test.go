package binance_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/fake/binance"
)

// desk is a venue whose clock the test moves, and a client that signs.
type desk struct {
	*binance.Server
	now time.Time
}

func newDesk() *desk {
	d := &desk{now: time.Unix(1717200000, 0)}
	d.Server = binance.New(binance.Config{Now: func() time.Time { return d.now }})
	d.Pin("BTCUSDT", decimal.NewFromInt(50_000))
	return d
}

// newThinDesk has a book with one coin at each level.
func newThinDesk() *desk {
	d := &desk{now: time.Unix(1717200000, 0)}
	d.Server = binance.New(binance.Config{Now: func() time.Time { return d.now }, Depth: decimal.NewFromInt(1)})
	d.Pin("BTCUSDT", decimal.NewFromInt(50_000))
	return d
}

func signed(query string) string {
	mac := hmac.New(sha256.New, []byte(binance.Secret))
	_, _ = mac.Write([]byte(query))
	return query + "&signature=" + hex.EncodeToString(mac.Sum(nil))
}

// ask signs and sends a request, and returns the answer's status and object.
func (d *desk) ask(t *testing.T, method, query string) (*httptest.ResponseRecorder, map[string]any) {
	t.Helper()
	query = strings.TrimPrefix(query+"&timestamp="+strconv.FormatInt(d.now.UnixMilli(), 10), "&")
	return d.send(t, method, "/api/v3/order?"+signed(query))
}

func (d *desk) send(t *testing.T, method, target string) (*httptest.ResponseRecorder, map[string]any) {
	t.Helper()
	w := raw(t, d, method, target)
	var object map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &object); err != nil && !strings.HasPrefix(w.Body.String(), "[") {
		t.Fatalf("%s: %v", w.Body, err)
	}
	return w, object
}

// raw sends a request and returns the answer, whatever it is.
func raw(t *testing.T, d *desk, method, target string) *httptest.ResponseRecorder {
	t.Helper()
	w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), method, target, http.NoBody)
	r.Header.Set("X-MBX-APIKEY", binance.Key)
	d.ServeHTTP(w, r)
	return w
}

const limit = "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC"

// TestOrders_AreRefusedInTheVenuesWords holds codes and texts against the venue's
// documentation.
func TestOrders_AreRefusedInTheVenuesWords(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		query string
		code  float64
		text  string
	}{
		"no symbol":          {"side=BUY&type=MARKET&quantity=1", -1102, "'symbol'"},
		"unknown symbol":     {"symbol=NOSUCH&side=BUY&type=MARKET&quantity=1", -1121, "Invalid symbol."},
		"wrong side":         {"symbol=BTCUSDT&side=buy&type=MARKET&quantity=1", -1117, "Invalid side."},
		"wrong type":         {"symbol=BTCUSDT&side=BUY&type=market&quantity=1", -1116, "Invalid orderType."},
		"no price":           {limit + "&quantity=1", -1102, "'price'"},
		"price of market":    {"symbol=BTCUSDT&side=BUY&type=MARKET&quantity=1&price=3", -1106, "'price'"},
		"no time in force":   {"symbol=BTCUSDT&side=BUY&type=LIMIT&quantity=1&price=3", -1102, "'timeInForce'"},
		"exponent":           {limit + "&price=50000&quantity=1e-3", -1100, "'quantity'"},
		"comma":              {limit + "&price=50,000&quantity=1", -1100, "'price'"},
		"too precise":        {limit + "&price=50000&quantity=0.123456789", -1111, "'quantity'"},
		"nothing":            {limit + "&price=50000&quantity=0", -1013, "Invalid quantity."},
		"off the tick":       {limit + "&price=50000.00001&quantity=0.1", -1013, "Filter failure: PRICE_FILTER"},
		"far from the price": {limit + "&price=9000&quantity=0.1", -1013, "Filter failure: PERCENT_PRICE_BY_SIDE"},
		"off the step":       {limit + "&price=50000&quantity=0.000011", -1013, "Filter failure: LOT_SIZE"},
		"over the lot":       {limit + "&price=50000&quantity=9001", -1013, "Filter failure: LOT_SIZE"},
		"over market lot":    {"symbol=BTCUSDT&side=BUY&type=MARKET&quantity=101", -1013, "Filter failure: MARKET_LOT_SIZE"},
		"too little money":   {limit + "&price=40000&quantity=0.0001", -1013, "Filter failure: NOTIONAL"},
		"too much money":     {limit + "&price=40000&quantity=300", -1013, "Filter failure: NOTIONAL"},
		"not enough funds":   {limit + "&price=40000&quantity=3", -2010, "Account has insufficient balance for requested action."},
		"nothing to sell":    {"symbol=BTCUSDT&side=SELL&type=MARKET&quantity=3", -2010, "Account has insufficient balance for requested action."},
		"a long id":          {limit + "&price=40000&quantity=1&newClientOrderId=" + strings.Repeat("x", 37), -1100, "'newClientOrderId'"},
		"a parameter extra":  {limit + "&price=40000&quantity=1&stop=1", -1104, "Not all sent parameters were read"},
		"a parameter twice":  {limit + "&price=40000&quantity=1&quantity=2", -1101, "Duplicate"},
	} {
		d := newDesk()
		w, object := d.ask(t, http.MethodPost, tc.query)
		if w.Code != http.StatusBadRequest || object["code"] != tc.code || !strings.Contains(fmt.Sprint(object["msg"]), tc.text) {
			t.Errorf("%s: %d %v", name, w.Code, object)
		}
		if len(d.Orders()) != 0 {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestOrders_MustBeSignedInTime(t *testing.T) {
	t.Parallel()
	const order = limit + "&price=40000&quantity=1"
	at := func(ms int64) string { return order + "&timestamp=" + strconv.FormatInt(1717200000000+ms, 10) }
	for name, tc := range map[string]struct {
		query string
		code  float64
	}{
		"right":                  {signed(at(0)), 0},
		"a little ahead":         {signed(at(999)), 0},
		"a little late":          {signed(at(-5000)), 0},
		"a large window":         {signed(at(-59_000) + "&recvWindow=60000"), 0},
		"upper case":             {strings.ToUpper(signed(at(0))[strings.LastIndex(signed(at(0)), "="):]), 0},
		"ahead":                  {signed(at(1000)), -1021},
		"late":                   {signed(at(-5001)), -1021},
		"late but allowed":       {signed(at(-5001)), 0},
		"a window beyond reason": {signed(at(0) + "&recvWindow=60001"), -1131},
		"no time":                {signed(order), -1102},
		"no signature":           {at(0), -1102},
		"a wrong signature":      {at(0) + "&signature=00", -1022},
		"another payload":        {strings.Replace(signed(at(0)), "quantity=1", "quantity=2", 1), -1022},
	} {
		if name == "upper case" {
			tc.query = at(0) + "&signature" + tc.query
		}
		d := newDesk()
		d.AllowLate(name == "late but allowed")
		if _, object := d.send(t, http.MethodPost, "/api/v3/order?"+tc.query); tc.code == 0 && object["orderId"] == nil || tc.code != 0 && object["code"] != tc.code {
			t.Errorf("%s: %v", name, object)
		}
	}
	w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v3/account?"+signed(at(0)), http.NoBody)
	newDesk().ServeHTTP(w, r)
	if w.Code != http.StatusUnauthorized || !strings.Contains(w.Body.String(), "-2014") {
		t.Errorf("without a key: %d %s", w.Code, w.Body)
	}
}

// TestOrders_CountAgainstTheirLimit places more than the venue takes in ten
// seconds. Orders that trade do not count.
func TestOrders_CountAgainstTheirLimit(t *testing.T) {
	t.Parallel()
	d := newDesk()
	for n := 1; n <= 100; n++ {
		w, _ := d.ask(t, http.MethodPost, limit+"&price=40000&quantity=0.001")
		if got := w.Header().Get("X-MBX-ORDER-COUNT-10S"); w.Code != http.StatusOK || got != strconv.Itoa(n) {
			t.Fatalf("order %d: %d, count %s", n, w.Code, got)
		}
	}
	w, object := d.ask(t, http.MethodPost, limit+"&price=40000&quantity=0.001")
	if w.Code != http.StatusTooManyRequests || object["code"] != -1015. || w.Header().Get("Retry-After") != "10" {
		t.Errorf("over the limit: %d %v, retry after %s", w.Code, object, w.Header().Get("Retry-After"))
	}
	d.now = d.now.Add(10 * time.Second)
	for range 150 {
		if w, object := d.ask(t, http.MethodPost, "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=0.001"); w.Code != http.StatusOK {
			t.Fatalf("orders that trade: %v", object)
		}
	}
}

// TestExchange_KeepsTheBooks trades at random for hours and holds that nothing is
// made or lost: funds are what they were, but for trades and fees.
func TestExchange_KeepsTheBooks(t *testing.T) {
	t.Parallel()
	d, random := &desk{now: time.Unix(1717200000, 0)}, rand.New(rand.NewPCG(1, 2))
	d.Server = binance.New(binance.Config{Now: func() time.Time { return d.now }, Depth: decimal.New(5, -3)})
	ids := 0
	for range 2000 {
		d.now = d.now.Add(time.Duration(random.IntN(20)) * time.Second)
		side, price := []string{"BUY", "SELL"}[random.IntN(2)], d.Price("BTCUSDT")
		quantity := decimal.New(int64(1+random.IntN(300)), -4)
		switch random.IntN(4) {
		case 0:
			d.ask(t, http.MethodPost, "symbol=BTCUSDT&type=MARKET&side="+side+"&quantity="+quantity.String())
		case 1, 2:
			ids++
			at := price.Mul(decimal.New(int64(9950+random.IntN(100)), -4)).Round(4)
			d.ask(t, http.MethodPost, fmt.Sprintf("symbol=BTCUSDT&type=LIMIT&timeInForce=GTC&side=%s&quantity=%s&price=%s&newClientOrderId=o%d", side, quantity, at, ids))
		case 3:
			d.ask(t, http.MethodDelete, "symbol=BTCUSDT&origClientOrderId=o"+strconv.Itoa(1+random.IntN(ids+1)))
		}
	}
	want := map[string]decimal.Decimal{"BTC": decimal.NewFromInt(2), "USDT": decimal.NewFromInt(100_000)}
	executed, locked := map[int64]decimal.Decimal{}, map[string]decimal.Decimal{}
	maker, trades := 0, d.Trades()
	for _, tr := range trades {
		sign := decimal.NewFromInt(1)
		if !tr.Buyer {
			sign = sign.Neg()
		}
		want["BTC"] = want["BTC"].Add(tr.Quantity.Mul(sign))
		want["USDT"] = want["USDT"].Sub(tr.Quantity.Mul(tr.Price).Mul(sign))
		want[tr.FeeAsset] = want[tr.FeeAsset].Sub(tr.Fee)
		executed[tr.OrderID] = executed[tr.OrderID].Add(tr.Quantity)
		if tr.Maker {
			maker++
		}
	}
	states := map[string]int{}
	for _, o := range d.Orders() {
		states[o.Status]++
		if !o.Executed.Equal(executed[o.ID]) || o.Executed.GreaterThan(o.Quantity) || (o.Status == "FILLED") != o.Executed.Equal(o.Quantity) {
			t.Errorf("%+v has trades of %s", o, executed[o.ID])
		}
		if left := o.Quantity.Sub(o.Executed); o.Open() && o.Side == "BUY" {
			locked["USDT"] = locked["USDT"].Add(left.Mul(o.Price))
		} else if o.Open() {
			locked["BTC"] = locked["BTC"].Add(left)
		}
	}
	for asset, b := range d.Balances() {
		if total := b.Free.Add(b.Locked); asset == "BTC" || asset == "USDT" {
			if !total.Equal(want[asset]) || !b.Locked.Equal(locked[asset]) || b.Free.IsNegative() {
				t.Errorf("%s: %s free and %s locked, want %s in all and %s locked", asset, b.Free, b.Locked, want[asset], locked[asset])
			}
		}
	}
	if states["FILLED"] < 500 || states["CANCELED"] < 10 || states["NEW"] == 0 || states["EXPIRED"] == 0 || maker < 50 || len(trades) < 2*states["FILLED"] {
		t.Errorf("too little happened: %v, %d trades, %d as maker", states, len(trades), maker)
	}
}

// TestControl is how another process has the fake in hand.
func TestControl(t *testing.T) {
	t.Parallel()
	d := newDesk()
	const order = limit + "&price=40000&quantity=0.1&newClientOrderId=one"
	if w, _ := d.send(t, http.MethodPost, "/fake/fault?name=timeout,+done"); w.Code != http.StatusOK {
		t.Fatal(w.Body)
	}
	if w, object := d.ask(t, http.MethodPost, order); w.Code != http.StatusGatewayTimeout || object["code"] != -1007. {
		t.Errorf("%d %v", w.Code, object)
	}
	if w, _ := d.send(t, http.MethodPost, "/fake/trade?id=one&quantity=0.05"); w.Code != http.StatusOK {
		t.Error(w.Body)
	}
	_, truth := d.send(t, http.MethodGet, "/fake/truth")
	if orders, trades := fmt.Sprint(truth["orders"]), fmt.Sprint(truth["trades"]); !strings.Contains(orders, "PARTIALLY_FILLED") || !strings.Contains(trades, "0.05") {
		t.Errorf("%v", truth)
	}
	d.must(t, http.MethodPost, "orderList/opo", entry+oneLeg)
	for _, path := range []string{
		"/fake/refuse?id=stop", "/fake/lose?event=listStatus&count=2", "/fake/assume?ShowsUnsized=true", "/fake/move?symbol=BTCUSDT&price=49500", "/fake/expire?id=entry",
	} {
		if w, _ := d.send(t, http.MethodPost, path); w.Code != http.StatusOK {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	_, truth = d.send(t, http.MethodGet, "/fake/truth")
	if lists := fmt.Sprint(truth["lists"], truth["locks"]); !strings.Contains(lists, "ALL_DONE") || !strings.Contains(lists, "USDT") {
		t.Errorf("%v", truth)
	}
	for path, status := range map[string]int{"/fake/refuse?id=stop": 404, "/fake/lose?event=listStatus&count=some": 400, "/fake/trade?id=none&quantity=1": 404} {
		if w := raw(t, d, http.MethodPost, path); w.Code != status {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	for _, path := range []string{"/fake/clear", "/fake/drop", "/fake/wipe", "/fake/pin?symbol=BTCUSDT&price=41000"} {
		if w, _ := d.send(t, http.MethodPost, path); w.Code != http.StatusOK {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	if len(d.Orders()) != 0 || d.Price("BTCUSDT").String() != "41000" {
		t.Error("not wiped or not pinned")
	}
}

// TestExchange_TakesAnIDAgainWhenItsOrderIsClosed is why ids must be kept unique by
// the issuer of them.
func TestExchange_TakesAnIDAgainWhenItsOrderIsClosed(t *testing.T) {
	t.Parallel()
	d := newDesk()
	const market, rests = "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=0.001&newClientOrderId=", limit + "&price=40000&quantity=0.001&newClientOrderId="
	for _, step := range []struct {
		method, query string
		status        int
	}{
		{http.MethodPost, market + "a", 200},
		{http.MethodPost, market + "a", 200},
		{http.MethodPost, rests + "b", 200},
		{http.MethodPost, rests + "b", 400},
		{http.MethodPost, market + "b", 400},
		{http.MethodDelete, "symbol=BTCUSDT&origClientOrderId=b", 200},
		{http.MethodPost, rests + "b", 200},
	} {
		if w, object := d.ask(t, step.method, step.query); w.Code != step.status {
			t.Errorf("%s: %v", step.query, object)
		}
	}
	if n := len(d.Orders()); n != 4 {
		t.Errorf("%d orders", n)
	}
}

// TestExchange_WalksTheBook has an order be larger than the book: what is left of a
// market order expires, what is left of a limit order rests and is filled as time
// goes by.
func TestExchange_WalksTheBook(t *testing.T) {
	t.Parallel()
	d := &desk{now: time.Unix(1717200000, 0)}
	d.Server = binance.New(binance.Config{Now: func() time.Time { return d.now }, Depth: decimal.NewFromInt(1), Funds: map[string]decimal.Decimal{"USDT": decimal.NewFromInt(1e7)}})
	d.Pin("BTCUSDT", decimal.NewFromInt(50_000))
	_, object := d.ask(t, http.MethodPost, "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=99")
	fills, ok := object["fills"].([]any)
	if !ok || object["status"] != "EXPIRED" || len(fills) != 5 || !strings.Contains(fmt.Sprint(fills[4]), "50020.0") {
		t.Errorf("%v", object)
	}
	_, object = d.ask(t, http.MethodPost, limit+"&price=50005&quantity=30&newClientOrderId=rests")
	if fills, ok = object["fills"].([]any); !ok || object["status"] != "PARTIALLY_FILLED" || len(fills) != 2 {
		t.Errorf("%v", object)
	}
	d.now = d.now.Add(time.Hour)
	maker := 0
	for _, tr := range d.Trades() {
		if tr.Maker && tr.Price.Equal(decimal.NewFromInt(50_005)) {
			maker++
		}
	}
	if o := d.Orders()[1]; o.Status != "FILLED" || maker < 2 {
		t.Errorf("%+v after %d trades as maker", o, maker)
	}
}
