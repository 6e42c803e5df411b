package binance_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/shopspring/decimal"

	"candela/internal/testkit/fake"
	"candela/internal/testkit/fake/binance"
	"candela/internal/testkit/longtest"
)

// event has the fields of the account's events that are held against the truth.
type event struct {
	Kind, ClientID, What, State, Expiry, Filled, Stop string
	ListKind, Status, ListID                          string // of a list
	List, Order, Number, Delta, Since                 int64
	OnBook                                            bool
	Orders                                            int // of a list
}

// UnmarshalJSON reads the venue's letters, of which those of both cases differ.
func (e *event) UnmarshalJSON(data []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	var orders []json.RawMessage
	to := map[string]any{"e": &e.Kind, "g": &e.List}
	switch string(fields["e"]) {
	case `"listStatus"`:
		maps.Copy(to, map[string]any{"l": &e.ListKind, "L": &e.Status, "C": &e.ListID, "O": &orders})
	case `"executionReport"`:
		maps.Copy(to, map[string]any{
			"c": &e.ClientID, "x": &e.What, "X": &e.State, "eR": &e.Expiry, "z": &e.Filled, "P": &e.Stop, "i": &e.Order, "I": &e.Number, "d": &e.Delta,
			"D": &e.Since, "w": &e.OnBook,
		})
	}
	for name, value := range to {
		if raw, ok := fields[name]; ok {
			if err := json.Unmarshal(raw, value); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	e.Orders = len(orders)
	return nil
}

// follower is a client that reads the account's events.
type follower struct {
	conn *websocket.Conn
	t    *testing.T
}

// follow subscribes to the account.
func follow(t *testing.T, d *binance.Server, now time.Time) *follower {
	t.Helper()
	web := httptest.NewServer(d)
	t.Cleanup(web.Close)
	conn, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(web.URL, "http")+"/ws-api/v3", nil) //nolint:bodyclose // the library closes it
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(1 << 20)
	t.Cleanup(func() { _ = conn.CloseNow() })
	payload := "apiKey=" + binance.Key + "&timestamp=" + strconv.FormatInt(now.UnixMilli(), 10)
	mac := hmac.New(sha256.New, []byte(binance.Secret))
	_, _ = mac.Write([]byte(payload))
	request := fmt.Sprintf(`{"id":1,"method":"userDataStream.subscribe.signature","params":{"apiKey":%q,"timestamp":%d,"signature":%q}}`,
		binance.Key, now.UnixMilli(), hex.EncodeToString(mac.Sum(nil)))
	if err := conn.Write(t.Context(), websocket.MessageText, []byte(request)); err != nil {
		t.Fatal(err)
	}
	if _, answer, err := conn.Read(t.Context()); err != nil || !strings.Contains(string(answer), `"status":200`) {
		t.Fatalf("%s, %v", answer, err)
	}
	return &follower{conn: conn, t: t}
}

// rest ends the subscription and returns its events.
func (f *follower) rest(d *binance.Server) []event {
	f.t.Helper()
	d.Terminate()
	var all []event
	for {
		_, data, err := f.conn.Read(f.t.Context())
		if err != nil {
			f.t.Fatal(err)
		}
		var in struct{ Event event }
		if err := json.Unmarshal(data, &in); err != nil {
			f.t.Fatalf("%s: %v", data, err)
		}
		if in.Event.Kind == "eventStreamTerminated" {
			return all
		}
		all = append(all, in.Event)
	}
}

// lines writes events about orders and lists shortly.
func lines(all []event) string {
	var out []string
	for _, e := range all {
		switch e.Kind {
		case "listStatus":
			out = append(out, fmt.Sprintf("list %s %s/%s %d", e.ListID, e.ListKind, e.Status, e.Orders))
		case "executionReport":
			line := strings.TrimSpace(fmt.Sprintf("%s %s %s %s", e.ClientID, e.What, e.State, e.Expiry))
			if e.OnBook {
				line += " on the book"
			}
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

// TestEvents_OfABracket holds which events a bracket has from its order to its stop.
func TestEvents_OfABracket(t *testing.T) {
	t.Parallel()
	d := newDesk()
	f := follow(t, d.Server, d.now)
	d.must(t, http.MethodPost, "orderList/opoco", entry+twoLegs)
	d.Trade("entry", dec("0.04"))
	d.Trade("entry", dec("0.06"))
	d.Move("BTCUSDT", dec("47000"))
	all := f.rest(d.Server)
	want := `list L EXEC_STARTED/EXECUTING 3
entry NEW NEW on the book
stop NEW PENDING_NEW
target NEW PENDING_NEW
entry TRADE PARTIALLY_FILLED on the book
entry TRADE FILLED
stop NEW NEW
target NEW NEW on the book
list L EXEC_STARTED/EXECUTING 3
target EXPIRED EXPIRED OCO_TRIGGER
stop NEW NEW on the book
stop TRADE FILLED
list L ALL_DONE/ALL_DONE 3`
	if got := lines(all); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, e := range all {
		if e.ClientID == "stop" && e.Stop != "47000.00000000" || e.Kind == "executionReport" && e.List != 1 {
			t.Errorf("%+v", e)
		}
	}
}

// TestEvents_OfATrail holds the fields of an order that trails, and that events of one
// kind can be lost.
func TestEvents_OfATrail(t *testing.T) {
	t.Parallel()
	d := newDesk()
	f := follow(t, d.Server, d.now)
	d.must(t, http.MethodPost, "order", sellStop+"&trailingDelta=100&stopPrice=49000")
	d.Lose("listStatus", 1)
	d.must(t, http.MethodPost, "orderList/oco", strings.Replace(pair, "=stop", "=other", 1))
	d.Cancel("other")
	d.Cancel("stop")
	all := f.rest(d.Server)
	want := `stop NEW NEW
other NEW NEW
target NEW NEW on the book
by-somebody-else CANCELED CANCELED
by-somebody-else CANCELED CANCELED
list L ALL_DONE/ALL_DONE 2
by-somebody-else CANCELED CANCELED`
	if got := lines(all); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if first := all[0]; first.Delta != 100 || first.Since != -1 || first.Stop != "49000.00000000" {
		t.Errorf("%+v", first)
	}
}

// floor is a venue in which things happen at random.
type floor struct {
	desk   *desk
	clock  atomic.Int64
	random *rand.Rand
	ids    int
}

func (f *floor) now() time.Time { return time.UnixMilli(f.clock.Load()) }

// some returns the id of an order, most often of one that is open.
func (f *floor) some() string {
	open := []string{"none"}
	for _, o := range f.desk.Orders() {
		if o.Open() {
			open = append(open, o.ClientID)
		}
	}
	return open[f.random.IntN(len(open))]
}

// step does one thing of many: it places, cancels, replaces, trades, or lets time pass.
func (f *floor) step(t *testing.T) {
	t.Helper()
	f.clock.Add(int64(f.random.IntN(9000)))
	d, random := f.desk, f.random
	d.now = f.now()
	price := d.Price("BTCUSDT")
	at := func(bips int) string { return price.Mul(decimal.New(int64(10_000+bips), -4)).Round(4).String() }
	f.ids++
	id, quantity := strconv.Itoa(f.ids), decimal.New(int64(100+random.IntN(900)), -4).String()
	some := f.some()
	entry := fmt.Sprintf("symbol=BTCUSDT&listClientOrderId=l%s&workingType=LIMIT&workingSide=BUY&workingQuantity=%s&workingClientOrderId=o%s&workingPrice=%s&workingTimeInForce=%s&pendingSide=SELL",
		id, quantity, id, at(random.IntN(8)-4), []string{"GTC", "GTC", "IOC", "FOK"}[random.IntN(4)])
	legs := fmt.Sprintf("&pendingAboveType=LIMIT_MAKER&pendingAbovePrice=%s&pendingAboveClientOrderId=t%s&pendingBelowType=STOP_LOSS&pendingBelowStopPrice=%s&pendingBelowClientOrderId=s%s",
		at(5+random.IntN(40)), id, at(-5-random.IntN(40)), id)
	side, up := "SELL", -1
	if random.IntN(2) == 0 {
		side, up = "BUY", 1
	}
	stop := fmt.Sprintf("symbol=BTCUSDT&side=%s&quantity=%s&newClientOrderId=o%s&type=", side, quantity, id)
	switch random.IntN(16) {
	case 0:
		d.on(t, http.MethodPost, "orderList/oco", fmt.Sprintf("symbol=BTCUSDT&side=SELL&quantity=%s&listClientOrderId=l%s&aboveType=LIMIT_MAKER&abovePrice=%s&aboveClientOrderId=t%s&belowType=STOP_LOSS_LIMIT&belowTimeInForce=GTC&belowStopPrice=%s&belowPrice=%s&belowClientOrderId=o%s",
			quantity, id, at(5+random.IntN(40)), id, at(-5-random.IntN(40)), at(-60), id))
	case 1:
		d.on(t, http.MethodPost, "orderList/oco", fmt.Sprintf("symbol=BTCUSDT&side=BUY&quantity=%s&listClientOrderId=l%s&aboveType=STOP_LOSS&aboveStopPrice=%s&belowType=TAKE_PROFIT&belowStopPrice=%s&belowClientOrderId=o%s",
			quantity, id, at(5+random.IntN(40)), at(-5-random.IntN(40)), id))
	case 2, 3:
		d.on(t, http.MethodPost, "orderList/opoco", entry+legs)
	case 4:
		d.on(t, http.MethodPost, "orderList/otoco", entry+legs+"&pendingQuantity="+quantity)
	case 5:
		d.on(t, http.MethodPost, "orderList/opo", entry+"&pendingType=TAKE_PROFIT&pendingTrailingDelta=15")
	case 6:
		d.on(t, http.MethodPost, "order", stop+"STOP_LOSS&stopPrice="+at(up*(2+random.IntN(30))))
	case 7:
		d.on(t, http.MethodPost, "order", stop+"STOP_LOSS_LIMIT&timeInForce=GTC&trailingDelta=15&price="+at(up*30))
	case 8:
		d.on(t, http.MethodPost, "order", stop+"MARKET")
	case 9:
		d.on(t, http.MethodDelete, "order", "symbol=BTCUSDT&origClientOrderId="+some)
	case 10:
		d.on(t, http.MethodPost, "order/cancelReplace", stop+"STOP_LOSS&cancelReplaceMode=STOP_ON_FAILURE&stopPrice="+at(up*(random.IntN(30)-3))+"&cancelOrigClientOrderId="+some)
	case 11:
		d.Trade(some, decimal.New(int64(1+random.IntN(500)), -4))
	case 12:
		if random.IntN(2) == 0 {
			d.Expire(some)
		}
		for _, o := range d.Orders() {
			if o.Status == "PENDING_NEW" && random.IntN(4) == 0 {
				d.RefuseLeg(o.ClientID)
			}
		}
	default:
		d.Move("BTCUSDT", price.Mul(decimal.New(int64(9980+random.IntN(41)), -4)).Round(4))
	}
}

// check holds what is true of an account at every moment.
func (f *floor) check(t *testing.T) {
	t.Helper()
	total := map[string]decimal.Decimal{"BTC": decimal.NewFromInt(2), "USDT": decimal.NewFromInt(100_000)}
	for _, tr := range f.desk.Trades() {
		sign := decimal.NewFromInt(1)
		if !tr.Buyer {
			sign = sign.Neg()
		}
		total["BTC"] = total["BTC"].Add(tr.Quantity.Mul(sign))
		total["USDT"] = total["USDT"].Sub(tr.Quantity.Mul(tr.Price).Mul(sign))
		total[tr.FeeAsset] = total[tr.FeeAsset].Sub(tr.Fee)
	}
	locked, sells := map[string]decimal.Decimal{}, map[int64]decimal.Decimal{}
	for _, l := range f.desk.Locks() {
		locked[l.Asset] = locked[l.Asset].Add(l.Amount)
		for _, id := range l.Orders {
			sells[id] = l.Amount
		}
	}
	orders := map[int64]*binance.Order{}
	for _, o := range f.desk.Orders() {
		orders[o.ID] = &o
		held, has := sells[o.ID]
		if left := o.Quantity.Sub(o.Executed); o.Open() && o.Status != "PENDING_NEW" && o.Side == "SELL" && !held.Equal(left) || has && !o.Open() || left.IsNegative() {
			t.Fatalf("%s is held for %+v", held, o)
		}
	}
	for asset, b := range f.desk.Balances() {
		if all, known := total[asset]; known && (!b.Free.Add(b.Locked).Equal(all) || !b.Locked.Equal(locked[asset]) || b.Free.IsNegative()) {
			t.Fatalf("%s: %s free and %s locked, want %s in all and %s locked", asset, b.Free, b.Locked, all, locked[asset])
		}
	}
	for _, l := range f.desk.Lists() {
		f.checkList(t, l, orders)
	}
}

// checkList holds what is true of a list at every moment.
func (f *floor) checkList(t *testing.T, l binance.List, orders map[int64]*binance.Order) {
	t.Helper()
	open, legs := false, l.Orders
	for _, id := range l.Orders {
		open = open || orders[id].Open()
	}
	if open == (l.Status == "ALL_DONE") {
		t.Fatalf("%+v is open: %v", l, open)
	}
	if l.Contingency == "OTO" {
		working := orders[l.Orders[0]]
		legs = legs[1:]
		for _, id := range legs {
			if o := orders[id]; (working.Open() != (o.Status == "PENDING_NEW")) || working.Status != "FILLED" && o.Executed.IsPositive() {
				t.Fatalf("the leg %+v of %+v", o, working)
			}
		}
	}
	if len(legs) == 2 && orders[legs[0]].Executed.IsPositive() && orders[legs[1]].Executed.IsPositive() {
		t.Fatalf("both of %+v were filled", l)
	}
}

// TestExchange_KeepsTheBooksOfLists lets lists and stops live at random for hours and
// holds after every step that nothing is made, lost or locked twice. A client that reads
// duplicate and reordered events ends with the account's state.
func TestExchange_KeepsTheBooksOfLists(t *testing.T) {
	t.Parallel()
	f := &floor{desk: &desk{}, random: rand.New(rand.NewPCG(longtest.Seed(), 3))}
	f.clock.Store(1717200000000)
	f.desk.Server = binance.New(binance.Config{Now: f.now, Depth: decimal.New(2, -2)})
	reader := follow(t, f.desk.Server, f.now())
	f.desk.User.Set(fake.StreamFaults{Duplicate: 0.1, Reorder: 0.1})
	for i := range longtest.Pick(700, 10_000) {
		f.step(t)
		if i%10 == 0 {
			f.check(t)
		}
	}
	f.check(t)
	f.desk.User.Set(fake.StreamFaults{})
	newest := map[int64]event{}
	for _, e := range reader.rest(f.desk.Server) {
		if e.Kind == "executionReport" && e.Number >= newest[e.Order].Number {
			newest[e.Order] = e
		}
	}
	states := map[string]int{}
	for _, o := range f.desk.Orders() {
		states[o.Status+" "+o.ExpiryReason]++
		if e := newest[o.ID]; e.State != o.Status || e.Filled != o.Executed.StringFixed(8) || e.Expiry != o.ExpiryReason {
			t.Errorf("the last event of %+v is %+v", o, e)
		}
	}
	for _, state := range []string{"FILLED ", "CANCELED ", "EXPIRED OCO_TRIGGER", "EXPIRED OTO_PHASE_ONE_EXPIRED", "EXPIRED EXCHANGE_CANCELED", "EXPIRED UNFILLED_IOC_QUANTITY_EXPIRED"} {
		if states[state] == 0 {
			t.Errorf("too little happened: %v", states)
		}
	}
}
