package oracle

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	client "github.com/adshao/go-binance/v2"
	"github.com/adshao/go-binance/v2/common"
	"github.com/adshao/go-binance/v2/common/websocket"
	"github.com/shopspring/decimal"

	venue "candela/internal/testkit/fake/binance"
)

// pendingNew is a status that their client has no name for.
const pendingNew client.OrderStatusType = "PENDING_NEW"

// their returns an order as somebody else's client reads it.
func their(t *testing.T, c *client.Client, id string) *client.Order {
	t.Helper()
	o, err := c.NewGetOrderService().Symbol("BTCUSDT").OrigClientOrderID(id).Do(t.Context())
	if err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	return o
}

// TestBinance_Stops lets somebody else's client place, read, replace and cancel orders that
// wait for a trigger.
func TestBinance_Stops(t *testing.T) {
	t.Parallel()
	server, theirs, _, _ := counter(t)
	ctx := t.Context()
	stop := func(id string) *client.CreateOrderService {
		return theirs.NewCreateOrderService().Symbol("BTCUSDT").Side(client.SideTypeSell).Type(client.OrderTypeStopLoss).Quantity("0.1").NewClientOrderID(id)
	}
	placed, err := stop("stop").StopPrice("48000").NewOrderRespType(client.NewOrderRespTypeFULL).Do(ctx)
	if err != nil || placed.Status != client.OrderStatusTypeNew || placed.Type != client.OrderTypeStopLoss || placed.OrigQuantity != "0.10000000" {
		t.Fatalf("%+v, %v", placed, err)
	}
	if o := their(t, theirs, "stop"); o.StopPrice != "48000.00000000" || o.IsWorking || o.Status != client.OrderStatusTypeNew || o.OrderListId != -1 {
		t.Errorf("%+v", o)
	}
	if _, err := stop("wrong").StopPrice("51000").Do(ctx); !refusedWith(err, -2010) || !strings.Contains(err.Error(), "Order would trigger immediately.") {
		t.Errorf("a stop above the market: %v", err)
	}
	if _, err := stop("wrong").TrailingDelta("5").Do(ctx); !refusedWith(err, -1013) {
		t.Errorf("a trail too tight: %v", err)
	}
	if ack, err := stop("trail").TrailingDelta("100").Do(ctx); err != nil || ack.Status != "" || ack.OrderID == 0 {
		t.Errorf("%+v, %v", ack, err)
	}
	maker := theirs.NewCreateOrderService().Symbol("BTCUSDT").Side(client.SideTypeSell).Type(client.OrderTypeLimitMaker).Quantity("0.1")
	if _, err := maker.Price("49000").Do(ctx); !refusedWith(err, -2010) || !strings.Contains(err.Error(), "Order would immediately match and take.") {
		t.Errorf("a maker that takes: %v", err)
	}
	fok, err := theirs.NewCreateOrderService().Symbol("BTCUSDT").Side(client.SideTypeSell).Type(client.OrderTypeLimit).TimeInForce(client.TimeInForceTypeFOK).
		Quantity("0.1").Price("60000").Do(ctx)
	if err != nil || fok.Status != client.OrderStatusTypeExpired {
		t.Errorf("%+v, %v", fok, err)
	}
	replace := func(price string) *client.CancelReplaceOrderService {
		return theirs.NewCancelReplaceOrderService().Symbol("BTCUSDT").Side(client.SideTypeSell).Type(client.OrderTypeStopLoss).Quantity("0.1").StopPrice(price).
			CancelReplaceMode(client.CancelReplaceModeStopOnFailure).CancelOrigClientOrderID("stop")
	}
	both, err := replace("49000").NewClientOrderID("moved").Do(ctx)
	if err != nil || both.CancelResult != "SUCCESS" || both.NewOrderResult != "SUCCESS" || both.CancelResponse.OrigClientOrderID != "stop" || both.NewOrderResponse.ClientOrderID != "moved" {
		t.Fatalf("%+v, %v", both, err)
	}
	if _, err := replace("49000").Do(ctx); !refusedWith(err, -2022) {
		t.Errorf("a replacement of what is cancelled: %v", err)
	}
	if _, err := replace("51000").CancelOrigClientOrderID("moved").Do(ctx); !refusedWith(err, -2021) {
		t.Errorf("a replacement that is refused: %v", err)
	}
	if o := their(t, theirs, "moved"); o.Status != client.OrderStatusTypeCanceled {
		t.Errorf("%+v", o)
	}
	server.Move("BTCUSDT", decimal.NewFromInt(51_000))
	server.Move("BTCUSDT", decimal.NewFromInt(50_490)) // one per cent below
	if o := their(t, theirs, "trail"); o.Status != client.OrderStatusTypeFilled || o.ExecutedQuantity != "0.10000000" {
		t.Errorf("%+v", o)
	}
	rates, err := theirs.NewGetCommissionRatesService().Symbol("BTCUSDT").Do(ctx)
	if err != nil || rates.StandardCommission.Taker != "0.00100000" {
		t.Errorf("%+v, %v", rates, err)
	}
	info, err := theirs.NewExchangeInfoService().Symbols("BTCUSDT", "ETHBTC").Do(ctx)
	if err != nil || !slices.Contains(info.Symbols[0].OrderTypes, "STOP_LOSS") || slices.Contains(info.Symbols[1].OrderTypes, "STOP_LOSS") || info.Symbols[0].TrailingDeltaFilter().MaxTrailingBelowDelta != 2000 {
		t.Errorf("%+v, %v", info, err)
	}
}

// sign sends a signed request without anybody's client, for what theirs does not have.
func sign(t *testing.T, method, base, path string, params url.Values) (int, map[string]any) {
	t.Helper()
	params.Set("timestamp", strconv.FormatInt(time.Now().UnixMilli(), 10))
	query := params.Encode()
	mac := hmac.New(sha256.New, []byte(venue.Secret))
	_, _ = mac.Write([]byte(query))
	r, err := http.NewRequestWithContext(t.Context(), method, base+path+"?"+query+"&signature="+hex.EncodeToString(mac.Sum(nil)), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-MBX-APIKEY", venue.Key)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := json.Unmarshal(body, &object); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return resp.StatusCode, object
}

// TestBinance_OPO places what their client does not know, and lets it read and cancel that.
func TestBinance_OPO(t *testing.T) {
	t.Parallel()
	server, theirs, ours, base := counter(t)
	ctx := t.Context()
	params := func(name string) url.Values {
		return url.Values{
			"symbol": {"BTCUSDT"}, "listClientOrderId": {name}, "workingType": {"LIMIT"}, "workingSide": {"BUY"}, "workingPrice": {"49000"}, "workingQuantity": {"0.1"},
			"workingTimeInForce": {"GTC"}, "workingClientOrderId": {name + "-entry"}, "pendingSide": {"SELL"},
			"pendingAboveType": {"LIMIT_MAKER"}, "pendingAbovePrice": {"55000"}, "pendingAboveClientOrderId": {name + "-target"},
			"pendingBelowType": {"STOP_LOSS"}, "pendingBelowStopPrice": {"47000"}, "pendingBelowClientOrderId": {name + "-stop"},
		}
	}
	status, object := sign(t, http.MethodPost, base, "/api/v3/orderList/opoco", params("one"))
	if reports, ok := object["orderReports"].([]any); !ok || status != http.StatusOK || object["contingencyType"] != "OTO" || len(reports) != 3 || !strings.Contains(fmt.Sprint(reports[1]), "status:PENDING_NEW") {
		t.Fatalf("%d %v", status, object)
	}
	if o := their(t, theirs, "one-stop"); o.Status != pendingNew || o.OrigQuantity != "" || o.OrderListId != 1 {
		t.Errorf("%+v", o)
	}
	server.Trade("one-entry", decimal.RequireFromString("0.1"))
	if o := their(t, theirs, "one-stop"); o.Status != client.OrderStatusTypeNew || o.OrigQuantity != "0.10000000" || o.StopPrice != "47000.00000000" || o.IsWorking {
		t.Errorf("%+v", o)
	}
	if open, err := ours.Open(ctx); err != nil || len(open) != 2 || open[0].Group.Name != open[1].Group.Name {
		t.Errorf("%+v, %v", open, err)
	}
	server.Move("BTCUSDT", decimal.NewFromInt(55_000))
	if o := their(t, theirs, "one-stop"); o.Status != client.OrderStatusTypeExpired {
		t.Errorf("%+v", o)
	}
	if _, object = sign(t, http.MethodGet, base, "/api/v3/orderList", url.Values{"origClientOrderId": {"one"}}); object["listOrderStatus"] != "ALL_DONE" {
		t.Errorf("%v", object)
	}
	server.Move("BTCUSDT", decimal.NewFromInt(50_000))
	if status, object = sign(t, http.MethodPost, base, "/api/v3/orderList/opoco", params("two")); status != http.StatusOK {
		t.Fatalf("%d %v", status, object)
	}
	lists, err := theirs.NewListOpenOcoService().Do(ctx)
	if err != nil || len(lists) != 1 || lists[0].ListClientOrderID != "two" || len(lists[0].Orders) != 3 {
		t.Errorf("%+v, %v", lists, err)
	}
	over, err := theirs.NewCancelOCOService().Symbol("BTCUSDT").ListClientOrderID("two").Do(ctx)
	if err != nil || over.ListOrderStatus != "ALL_DONE" || len(over.OrderReports) != 3 || over.OrderReports[2].Status != client.OrderStatusTypeCanceled || over.OrderReports[2].OrigClientOrderID != "two-target" {
		t.Errorf("%+v, %v", over, err)
	}
	if _, err := theirs.NewCancelOCOService().Symbol("BTCUSDT").ListClientOrderID("two").Do(ctx); !refusedWith(err, -2011) {
		t.Errorf("a cancel of what is cancelled: %v", err)
	}
}

// placed is the answer to a list that their client placed.
func placed(t *testing.T, r *client.CreateOrderListWsResponse, err error) client.CreateOrderListResult {
	t.Helper()
	if err != nil || r.Status != http.StatusOK || r.Error != nil {
		t.Fatalf("%+v, %v", r, err)
	}
	return r.Result
}

// TestBinance_Lists lets somebody else's client place and cancel lists over the WebSocket
// API, which is where it has them, and follow the account's events. The client has one address,
// so this test runs by itself; see TestMain.
func TestBinance_Lists(t *testing.T) {
	server, theirs, _, base := counter(t)
	t.Setenv(socketVenue, base)
	events := make(chan *client.WsUserDataEvent, 1000)
	done, stop, err := client.WsUserDataServeSignature(venue.Key, venue.Secret, common.KeyTypeHmac, 0,
		func(e *client.WsUserDataEvent) { events <- e }, func(err error) { t.Errorf("stream: %v", err) })
	if err != nil {
		t.Fatal(err)
	}
	lists := subscribe(t)
	for deadline := time.Now().Add(time.Minute); server.Subscriptions() < 2; {
		if time.Now().After(deadline) {
			t.Fatal("no subscription")
		}
		time.Sleep(10 * time.Millisecond)
	}
	pairs, err := client.NewOrderListCreateWsService(venue.Key, venue.Secret)
	if err != nil {
		t.Fatal(err)
	}
	pair := func(id string) *client.OrderListCreateWsRequest {
		return client.NewOrderListCreateWsRequest().Symbol("BTCUSDT").ListClientOrderID(id).Side(client.SideTypeSell).Quantity("0.1").
			AboveType(client.OrderTypeLimitMaker).AbovePrice("55000").AboveClientOrderID(id + "-target").
			BelowType(client.OrderTypeStopLoss).BelowStopPrice("48000").BelowClientOrderID(id + "-stop").NewOrderRespType(client.NewOrderRespTypeRESULT)
	}
	answer, err := pairs.SyncDo("1", pair("oco"))
	oco := placed(t, answer, err)
	if oco.ContingencyType != "OCO" || oco.ListClientOrderId != "oco" || len(oco.OrderReports) != 2 || oco.OrderReports[0].StopPrice != "48000.00000000" || oco.OrderReports[0].WorkingTime != -1 {
		t.Errorf("%+v", oco)
	}
	if no, err := pairs.SyncDo("2", pair("bad").BelowStopPrice("51000")); err != nil || no.Error == nil || no.Error.Code != -2010 {
		t.Errorf("a pair on the wrong sides: %+v, %v", no, err)
	}
	if _, err := theirs.NewCancelOrderService().Symbol("BTCUSDT").OrigClientOrderID("oco-stop").Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	if o := their(t, theirs, "oco-target"); o.Status != client.OrderStatusTypeCanceled {
		t.Errorf("the other of a pair: %+v", o)
	}
	single, err := client.NewOrderListPlaceOtoWsService(venue.Key, venue.Secret)
	if err != nil {
		t.Fatal(err)
	}
	answer, err = single.SyncDo("3", client.NewOrderListPlaceOtoWsRequest().Symbol("BTCUSDT").ListClientOrderID("oto").
		WorkingType(client.OrderTypeLimit).WorkingSide(client.SideTypeBuy).WorkingPrice("49000").WorkingQuantity("0.1").WorkingTimeInForce(client.TimeInForceTypeGTC).WorkingClientOrderID("oto-entry").
		PendingType(client.OrderTypeStopLoss).PendingSide(client.SideTypeSell).PendingQuantity("0.0999").PendingStopPrice("47000").PendingClientOrderID("oto-stop"))
	if oto := placed(t, answer, err); oto.ContingencyType != "OTO" || oto.OrderReports[1].Status != pendingNew || oto.OrderReports[1].OrigQty != "0.09990000" {
		t.Errorf("%+v", oto)
	}
	server.Trade("oto-entry", decimal.RequireFromString("0.1"))
	if o := their(t, theirs, "oto-stop"); o.Status != client.OrderStatusTypeNew || o.OrigQuantity != "0.09990000" {
		t.Errorf("%+v", o)
	}
	bracket(t, theirs)
	server.Move("BTCUSDT", decimal.NewFromInt(47_000))
	follows(t, events)
	followsLists(t, lists)
	close(stop)
	server.User.Drop()
	<-done
}

// bracket places an OTOCO that fills at once, and cancels it.
func bracket(t *testing.T, theirs *client.Client) {
	t.Helper()
	brackets, err := client.NewOrderListPlaceOtocoWsService(venue.Key, venue.Secret)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := brackets.SyncDo("4", client.NewOrderListPlaceOtocoWsRequest().Symbol("BTCUSDT").ListClientOrderID("otoco").
		WorkingType(client.OrderTypeLimit).WorkingSide(client.SideTypeBuy).WorkingPrice("50000").WorkingQuantity("0.1").WorkingTimeInForce(client.TimeInForceTypeFOK).WorkingClientOrderID("otoco-entry").
		PendingSide(client.SideTypeSell).PendingQuantity("0.0999").PendingAboveType(client.OrderTypeLimitMaker).PendingAbovePrice("56000").PendingAboveClientOrderID("otoco-target").
		PendingBelowType(client.OrderTypeStopLossLimit).PendingBelowStopPrice("46000").PendingBelowPrice("45000").PendingBelowTimeInForce(client.TimeInForceTypeGTC).PendingBelowClientOrderID("otoco-stop"))
	list := placed(t, answer, err)
	if list.OrderReports[0].Status != client.OrderStatusTypeFilled || list.OrderReports[1].Status != pendingNew || list.OrderReports[1].Type != client.OrderTypeStopLossLimit {
		t.Errorf("%+v", list)
	}
	if o := their(t, theirs, "otoco-target"); o.Status != client.OrderStatusTypeNew || o.Price != "56000.00000000" {
		t.Errorf("%+v", o)
	}
	cancels, err := client.NewOrderListCancelWsService(venue.Key, venue.Secret)
	if err != nil {
		t.Fatal(err)
	}
	over, err := cancels.SyncDo("5", client.NewOrderListCancelWsRequest().Symbol("BTCUSDT").ListClientOrderID("otoco"))
	if err != nil || over.Status != http.StatusOK || over.Result.ListStatusType != "ALL_DONE" {
		t.Errorf("%+v, %v", over, err)
	}
}

// follows reads events until the stop of the OTO is filled.
func follows(t *testing.T, events <-chan *client.WsUserDataEvent) {
	t.Helper()
	states, books := map[string]string{}, map[string]bool{}
	for timeout := time.After(time.Minute); !strings.Contains(states["oto-stop"], "FILLED"); {
		select {
		case e := <-events:
			u := e.OrderUpdate
			if e.Event != client.UserDataEventTypeExecutionReport {
				continue
			}
			id := u.ClientOrderId
			if u.OrigCustomOrderId != "" {
				id = u.OrigCustomOrderId
			}
			states[id] += u.Status + " "
			books[id] = books[id] || u.IsInOrderBook
			if u.OrderListId < 1 || id == "oto-stop" && u.StopPrice != "47000.00000000" {
				t.Errorf("%+v", u)
			}
		case <-timeout:
			t.Fatalf("%v", states)
		}
	}
	for id, want := range map[string]string{
		"oco-stop": "NEW CANCELED ", "oco-target": "NEW CANCELED ", "oto-entry": "NEW FILLED ", "oto-stop": "PENDING_NEW NEW NEW FILLED ",
		"otoco-entry": "NEW FILLED ", "otoco-stop": "PENDING_NEW NEW CANCELED ", "otoco-target": "PENDING_NEW NEW CANCELED ",
	} {
		if states[id] != want {
			t.Errorf("%s was %s, want %s", id, states[id], want)
		}
	}
	if !books["oto-stop"] || books["oco-stop"] {
		t.Errorf("%v", books)
	}
}

// subscribe opens a second stream of theirs, because their handler waits for events named
// ListStatus, and the venue names them listStatus.
func subscribe(t *testing.T) func() []byte {
	t.Helper()
	conn, err := client.WsApiInitReadWriteConn()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	request, err := websocket.CreateRequest(websocket.NewRequestData("lists", venue.Key, venue.Secret, 0, common.KeyTypeHmac),
		websocket.UserDataStreamSubscribeSignatureSpotWsApiMethod, map[string]any{})
	if err != nil {
		t.Fatal(err)
	}
	const text = 1
	if err := conn.WriteMessage(text, request); err != nil {
		t.Fatal(err)
	}
	return func() []byte {
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		_, message, err := conn.ReadMessage()
		if err != nil {
			t.Fatal(err)
		}
		return message
	}
}

// followsLists reads events with the types of their client until the list of the OTO is
// done.
func followsLists(t *testing.T, next func() []byte) {
	t.Helper()
	states := map[string]string{}
	for !strings.Contains(states["oto"], "ALL_DONE") {
		var message struct {
			Event json.RawMessage `json:"event"`
		}
		data := next()
		if err := json.Unmarshal(data, &message); err != nil {
			t.Fatal(err)
		}
		var kind struct {
			Event string `json:"e"`
			At    int64  `json:"E"`
		}
		if message.Event == nil {
			continue // the answer to the subscription
		}
		if err := json.Unmarshal(message.Event, &kind); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if kind.Event != "listStatus" {
			continue
		}
		var list client.WsOCOUpdate
		if err := errors.Join(json.Unmarshal(message.Event, &list), json.Unmarshal(message.Event, &list.Orders)); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		states[list.ClientOrderId] += list.ListStatusType + "/" + list.ListOrderStatus + " "
		first := list.ClientOrderId + "-entry"
		if list.ContingencyType == "OCO" {
			first = list.ClientOrderId + "-stop"
		}
		if orders := list.Orders.WsOCOOrders; len(orders) < 2 || orders[0].ClientOrderId != first || orders[0].OrderId == 0 || list.RejectReason != "NONE" {
			t.Errorf("%+v", list)
		}
	}
	const started, done = "EXEC_STARTED/EXECUTING ", "ALL_DONE/ALL_DONE "
	for id, want := range map[string]string{"oco": started + done, "oto": started + started + done, "otoco": started + started + done} {
		if states[id] != want {
			t.Errorf("%s was %s, want %s", id, states[id], want)
		}
	}
}
