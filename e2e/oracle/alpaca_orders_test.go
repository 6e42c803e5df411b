package oracle

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	client "github.com/alpacahq/alpaca-trade-api-go/v3/alpaca"
	"github.com/shopspring/decimal"

	stocks "candela/internal/data/provider/alpaca"
	"candela/internal/data/upstream"
	"candela/internal/kit/id"
	fakealpaca "candela/internal/testkit/fake/alpaca"
	"candela/internal/trading/broker/alpaca"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// booth starts a fake Alpaca that takes orders at a price of 100, the venue's own
// client of it, and our broker on the same account.
func booth(t *testing.T) (*fakealpaca.Server, *client.Client, *alpaca.Broker) {
	t.Helper()
	start := time.Now()
	now := func() time.Time { return noon().Add(time.Since(start)) }
	venue, url := open(t, now, 0)
	venue.SetQuote("AAPL", "99.99", "100.01")
	hosts := upstream.NewHosts(nil)
	t.Cleanup(func() { _ = hosts.Close() })
	ours, err := alpaca.New(hosts, alpaca.Config{Keys: stocks.NewKeys(fakealpaca.KeyID, fakealpaca.Secret), URL: url, DataURL: url, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return venue, client.NewClient(client.ClientOpts{APIKey: fakealpaca.KeyID, APISecret: fakealpaca.Secret, BaseURL: url, RetryLimit: 1, RetryDelay: time.Millisecond}), ours
}

func number(text string) *decimal.Decimal { return new(decimal.RequireFromString(text)) }

func refusedBy(err error, status, code int, words string) bool {
	api, ok := errors.AsType[*client.APIError](err)
	return ok && api.StatusCode == status && api.Code == code && strings.Contains(api.Message, words)
}

// TestAlpaca_Orders lets the venue's own client place, query, list, replace and
// cancel, and holds that our broker sees the same orders.
func TestAlpaca_Orders(t *testing.T) {
	t.Parallel()
	venue, theirs, ours := booth(t)
	bought, err := theirs.PlaceOrder(client.PlaceOrderRequest{Symbol: "AAPL", Qty: number("10"), Side: client.Buy, Type: client.Market, TimeInForce: client.Day, ClientOrderID: "their-1"})
	if err != nil || bought.ClientOrderID != "their-1" || bought.Symbol != "AAPL" || bought.AssetClass != client.USEquity || bought.Status != "pending_new" || !bought.Qty.Equal(*number("10")) {
		t.Fatalf("%+v, %v", bought, err)
	}
	filled, err := theirs.GetOrder(bought.ID)
	if err != nil || filled.Status != "filled" || filled.FilledAt == nil || !filled.FilledAvgPrice.Equal(*number("100.01")) || !filled.FilledQty.Equal(*number("10")) {
		t.Fatalf("%+v, %v", filled, err)
	}
	rests, err := theirs.PlaceOrder(client.PlaceOrderRequest{Symbol: "AAPL", Qty: number("4"), Side: client.Sell, Type: client.Limit, LimitPrice: number("120.5"), TimeInForce: client.Day, ClientOrderID: "their-2"})
	if err != nil || !rests.LimitPrice.Equal(*number("120.5")) {
		t.Fatalf("%+v, %v", rests, err)
	}
	list, err := theirs.GetOrders(client.GetOrdersRequest{Status: "open"})
	if err != nil || len(list) != 1 || list[0].ID != rests.ID || list[0].Status != "new" {
		t.Errorf("%+v, %v", list, err)
	}
	for status, n := range map[string]int{"closed": 1, "all": 2} {
		if list, err := theirs.GetOrders(client.GetOrdersRequest{Status: status, Direction: "asc", Symbols: []string{"AAPL"}}); err != nil || len(list) != n || list[0].ID != bought.ID {
			t.Errorf("%s: %+v, %v", status, list, err)
		}
	}
	seen, err := ours.Open(t.Context())
	if err != nil || len(seen) != 1 || seen[0].ID != "their-2" || seen[0].VenueID != rests.ID || seen[0].Side != order.Sell || seen[0].Price.String() != "120.5" {
		t.Errorf("our broker sees %+v, %v", seen, err)
	}
	other, err := theirs.ReplaceOrder(rests.ID, client.ReplaceOrderRequest{LimitPrice: number("121")})
	if err != nil || other.ID == rests.ID || other.Replaces == nil || *other.Replaces != rests.ID || !other.LimitPrice.Equal(*number("121")) {
		t.Fatalf("%+v, %v", other, err)
	}
	if old, err := theirs.GetOrderByClientOrderID("their-2"); err != nil || old.Status != "replaced" || old.ReplacedBy == nil || *old.ReplacedBy != other.ID {
		t.Errorf("%+v, %v", old, err)
	}
	gone := order.Spec{ID: "their-2", Symbol: market.Symbol{Venue: "alpaca", Name: "AAPL"}, Side: order.Sell, Type: order.Limit}
	if r, err := ours.Query(t.Context(), gone.Handle()); err != nil || r.Status != order.Canceled || !strings.Contains(r.Reason, other.ID) {
		t.Errorf("our broker says of a replaced order %+v, %v", r, err)
	}
	if err := theirs.CancelOrder(other.ID); err != nil {
		t.Error(err)
	}
	if err := theirs.CancelOrder(bought.ID); !refusedBy(err, http.StatusUnprocessableEntity, 42210000, `already in "filled" state`) {
		t.Errorf("a cancel of what is filled: %v", err)
	}
	if _, err := theirs.GetOrderByClientOrderID("nobody"); !refusedBy(err, http.StatusNotFound, 40410000, "order not found") {
		t.Errorf("an order that is not there: %v", err)
	}
	if err := theirs.CancelAllOrders(); err != nil {
		t.Error(err)
	}
	if n := len(venue.Truth().Orders); n != 3 {
		t.Errorf("the venue has %d orders", n)
	}
}

// TestAlpaca_Refusals holds the words of the venue as its own client reads them.
func TestAlpaca_Refusals(t *testing.T) {
	t.Parallel()
	_, theirs, _ := booth(t)
	good := client.PlaceOrderRequest{Symbol: "AAPL", Qty: number("1"), Side: client.Buy, Type: client.Limit, LimitPrice: number("50"), TimeInForce: client.Day, ClientOrderID: "taken"}
	if _, err := theirs.PlaceOrder(good); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		change       func(*client.PlaceOrderRequest)
		status, code int
		words        string
	}{
		"an id that is taken":      {func(*client.PlaceOrderRequest) {}, 422, 40010001, "client_order_id must be unique"},
		"too much":                 {func(r *client.PlaceOrderRequest) { r.Qty = number("100000") }, 403, 40310000, "insufficient buying power"},
		"a fraction of a cent":     {func(r *client.PlaceOrderRequest) { r.LimitPrice = number("50.001") }, 422, 42210000, "sub-penny"},
		"no price":                 {func(r *client.PlaceOrderRequest) { r.LimitPrice = nil }, 422, 40010001, "require a limit price"},
		"no quantity":              {func(r *client.PlaceOrderRequest) { r.Qty = nil }, 422, 40010001, "qty or notional is required"},
		"a fraction until further": {func(r *client.PlaceOrderRequest) { r.Qty, r.TimeInForce = number("0.5"), client.GTC }, 422, 42210000, "must be DAY orders"},
		"a pair for the day":       {func(r *client.PlaceOrderRequest) { r.Symbol = "BTC/USD" }, 422, 42210000, "invalid crypto time_in_force"},
		"nothing":                  {func(r *client.PlaceOrderRequest) { r.Symbol = "NOSUCH" }, 422, 42210000, "not found"},
	} {
		bad := good
		if name != "an id that is taken" {
			bad.ClientOrderID = ""
		}
		tc.change(&bad)
		if _, err := theirs.PlaceOrder(bad); !refusedBy(err, tc.status, tc.code, tc.words) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAlpaca_Account holds positions, trades, money and hours against what our
// broker makes of them.
func TestAlpaca_Account(t *testing.T) {
	t.Parallel()
	_, theirs, ours := booth(t)
	apple := market.Symbol{Venue: "alpaca", Name: "AAPL"}
	for _, quantity := range []string{"3", "0.25"} {
		o := order.Spec{ID: id.New(time.Now()), Symbol: apple, Side: order.Buy, Type: order.Market, Quantity: decimal.RequireFromString(quantity)}
		if _, err := ours.Submit(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if their, err := theirs.GetOrderByClientOrderID(o.ID); err != nil || their.Status != "filled" || their.TimeInForce != client.Day || !their.Qty.Equal(o.Quantity) {
			t.Errorf("%+v, %v", their, err)
		}
	}
	position, err := theirs.GetPosition("AAPL")
	if err != nil || !position.Qty.Equal(*number("3.25")) || position.Side != "long" || !position.AvgEntryPrice.Equal(*number("100.01")) {
		t.Errorf("%+v, %v", position, err)
	}
	if all, err := theirs.GetPositions(); err != nil || len(all) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := theirs.GetPosition("MSFT"); !refusedBy(err, http.StatusNotFound, 40410000, "position does not exist") {
		t.Errorf("no position: %v", err)
	}
	held, err := ours.Holdings(t.Context())
	if err != nil || len(held) != 2 || !held[0].Quantity.Equal(position.Qty) || !held[0].Available.Equal(position.QtyAvailable) {
		t.Errorf("%+v, %v", held, err)
	}
	account, err := theirs.GetAccount()
	if err != nil || account.Status != "ACTIVE" || account.Currency != "USD" || !account.Cash.Equal(held[1].Quantity) || !account.NonMarginBuyingPower.Equal(held[1].Available) {
		t.Errorf("%+v, %v", account, err)
	}
	trades, err := theirs.GetAccountActivities(client.GetAccountActivitiesRequest{ActivityTypes: []string{"FILL"}, Direction: "asc", PageSize: 100})
	fills, _, ourErr := ours.Fills(t.Context(), apple, "")
	if err != nil || ourErr != nil || len(trades) != 2 || len(fills) != 2 {
		t.Fatalf("%+v, %v, %+v, %v", trades, err, fills, ourErr)
	}
	for i, their := range trades {
		if f := fills[i]; !strings.HasSuffix(their.ID, "::"+f.TradeID) || their.OrderID != f.VenueID || !their.Price.Equal(f.Price) || !their.Qty.Equal(f.Quantity) || !their.TransactionTime.Equal(f.At) {
			t.Errorf("%+v, ours %+v", their, f)
		}
	}
	rest, err := theirs.GetAccountActivities(client.GetAccountActivitiesRequest{ActivityTypes: []string{"FILL"}, Direction: "asc", PageToken: trades[0].ID})
	if err != nil || len(rest) != 1 || rest[0].ID != trades[1].ID {
		t.Errorf("%+v, %v", rest, err)
	}
	clock, err := theirs.GetClock()
	if err != nil || !clock.IsOpen || !clock.NextClose.Equal(time.Date(2025, time.July, 9, 20, 0, 0, 0, time.UTC)) || !clock.NextOpen.Equal(time.Date(2025, time.July, 10, 13, 30, 0, 0, time.UTC)) {
		t.Errorf("%+v, %v", clock, err)
	}
	asked := time.Now()
	if skew, err := ours.Skew(t.Context()); err != nil || skew.Abs() > time.Second+time.Since(asked) {
		t.Errorf("the clocks differ by %v, %v", skew, err)
	}
	pairs, err := theirs.GetAssets(client.GetAssetsRequest{AssetClass: "crypto"})
	if err != nil || len(pairs) != 1 || pairs[0].Symbol != "BTC/USD" || pairs[0].Class != client.Crypto {
		t.Errorf("%+v, %v", pairs, err)
	}
}

// TestAlpaca_Updates follows the account with the venue's own client, over
// server-sent events, and with ours, over the stream.
func TestAlpaca_Updates(t *testing.T) {
	t.Parallel()
	venue, theirs, ours := booth(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	updates, done := make(chan client.TradeUpdate, 100), make(chan error, 2)
	// From a moment ago on, as the venue can be asked.
	go func() {
		done <- theirs.StreamTradeUpdates(ctx, func(u client.TradeUpdate) { updates <- u }, client.StreamTradeUpdatesRequest{Since: noon().Add(-time.Minute)})
	}()
	reports, ready := make(chan order.Report, 100), make(chan struct{})
	go func() { done <- ours.Stream(ctx, func() { close(ready) }, reports) }()
	<-ready
	o := order.Spec{ID: id.New(time.Now()), Symbol: market.Symbol{Venue: "alpaca", Name: "AAPL"}, Side: order.Buy, Type: order.Limit, Quantity: *number("4"), Price: *number("50")}
	if _, err := ours.Submit(ctx, o); err != nil {
		t.Fatal(err)
	}
	venue.Trade(o.ID, *number("1"))
	if _, err := ours.Cancel(ctx, o.Handle()); err != nil {
		t.Fatal(err)
	}
	var events, statuses []string
	for range 3 {
		u, r := next(ctx, t, updates), next(ctx, t, reports)
		events, statuses = append(events, u.Event), append(statuses, r.Status.String())
		if u.Order.ClientOrderID != o.ID || r.ID != o.ID || u.Order.ID != r.VenueID || !u.Order.FilledQty.Equal(r.Filled) {
			t.Errorf("%+v, ours %+v", u, r)
		}
		if len(r.Fills) == 1 && (u.ExecutionID != r.Fills[0].TradeID || !u.Price.Equal(r.Fills[0].Price) || !u.Qty.Equal(r.Fills[0].Quantity) || !u.Timestamp.Equal(r.Fills[0].At)) {
			t.Errorf("%+v, ours %+v", u, r.Fills[0])
		}
	}
	if !slices.Equal(events, []string{"new", "partial_fill", "canceled"}) || !slices.Equal(statuses, []string{"accepted", "partially_filled", "canceled"}) {
		t.Errorf("events %v, our statuses %v", events, statuses)
	}
	cancel()
	<-done
	<-done
}
