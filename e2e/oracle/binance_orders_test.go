package oracle

import (
	"errors"
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"
	"time"

	client "github.com/adshao/go-binance/v2"
	"github.com/adshao/go-binance/v2/common"
	"github.com/shopspring/decimal"

	"candela/internal/data/upstream"
	"candela/internal/kit/id"
	"candela/internal/kit/secret"
	venue "candela/internal/testkit/fake/binance"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/binance"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// counter starts a fake Binance that takes orders, somebody else's client of it, and
// our broker on the same account. The price stands at 50,000.
func counter(t *testing.T) (*venue.Server, *client.Client, *binance.Broker, string) {
	t.Helper()
	server := venue.New(venue.Config{Depth: decimal.NewFromInt(1)})
	server.Pin("BTCUSDT", decimal.NewFromInt(50_000))
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	theirs := client.NewClient(venue.Key, venue.Secret)
	theirs.BaseURL = web.URL
	hosts := upstream.NewHosts(nil)
	t.Cleanup(func() { _ = hosts.Close() })
	ours, err := binance.New(hosts, binance.Config{
		Environment: binance.Testnet, URL: web.URL, Key: secret.New(venue.Key), Secret: secret.New(venue.Secret),
	})
	if err != nil {
		t.Fatal(err)
	}
	return server, theirs, ours, web.URL
}

func refusedWith(err error, code int64) bool {
	e, ok := errors.AsType[*common.APIError](err)
	return ok && e.Code == code
}

// TestBinance_Orders lets somebody else's client place, query, list and cancel.
func TestBinance_Orders(t *testing.T) {
	t.Parallel()
	_, theirs, ours, _ := counter(t)
	ctx := t.Context()
	bought, err := theirs.NewCreateOrderService().Symbol("BTCUSDT").Side(client.SideTypeBuy).Type(client.OrderTypeMarket).Quantity("0.1").
		NewClientOrderID("their-1").NewOrderRespType(client.NewOrderRespTypeFULL).Do(ctx)
	if err != nil || bought.Status != client.OrderStatusTypeFilled || bought.ExecutedQuantity != "0.10000000" || len(bought.Fills) == 0 || bought.ClientOrderID != "their-1" {
		t.Fatalf("%+v, %v", bought, err)
	}
	if theirs.OrderCount.Count10s != 0 && theirs.OrderCount.Count10s != 1 || theirs.UsedWeight.Used1M == 0 {
		t.Errorf("counts %+v, weight %+v", theirs.OrderCount, theirs.UsedWeight)
	}
	rests, err := theirs.NewCreateOrderService().Symbol("BTCUSDT").Side(client.SideTypeSell).Type(client.OrderTypeLimit).TimeInForce(client.TimeInForceTypeGTC).
		Quantity("0.05").Price("60000.5").NewClientOrderID("their-2").Do(ctx)
	if err != nil || rests.Status != client.OrderStatusTypeNew || rests.Price != "60000.50000000" {
		t.Fatalf("%+v, %v", rests, err)
	}
	// Our broker sees it as another's.
	open, err := ours.Open(ctx)
	if err != nil || len(open) != 1 || open[0].ID != "their-2" || open[0].VenueID != strconv.FormatInt(rests.OrderID, 10) || open[0].Side != order.Sell {
		t.Errorf("%+v, %v", open, err)
	}
	listed, err := theirs.NewListOpenOrdersService().Do(ctx)
	if err != nil || len(listed) != 1 || listed[0].OrderID != rests.OrderID || listed[0].Time == 0 {
		t.Errorf("%+v, %v", listed, err)
	}
	found, err := theirs.NewGetOrderService().Symbol("BTCUSDT").OrigClientOrderID("their-2").Do(ctx)
	if err != nil || found.Status != client.OrderStatusTypeNew || found.OrigQuantity != "0.05000000" {
		t.Errorf("%+v, %v", found, err)
	}
	cancelled, err := theirs.NewCancelOrderService().Symbol("BTCUSDT").OrigClientOrderID("their-2").Do(ctx)
	if err != nil || cancelled.Status != client.OrderStatusTypeCanceled || cancelled.OrigClientOrderID != "their-2" || cancelled.ClientOrderID == "their-2" {
		t.Errorf("%+v, %v", cancelled, err)
	}
	if _, err := theirs.NewCancelOrderService().Symbol("BTCUSDT").OrigClientOrderID("their-2").Do(ctx); !refusedWith(err, -2011) {
		t.Errorf("a cancel of what is cancelled: %v", err)
	}
	if _, err := theirs.NewGetOrderService().Symbol("BTCUSDT").OrigClientOrderID("nobodys").Do(ctx); !refusedWith(err, -2013) {
		t.Errorf("an order that is not there: %v", err)
	}
	if _, err := theirs.NewCreateOrderService().Symbol("BTCUSDT").Side(client.SideTypeBuy).Type(client.OrderTypeMarket).Quantity("0.000001").Do(ctx); !refusedWith(err, -1013) {
		t.Errorf("less than the least: %v", err)
	}
	if err := theirs.NewCreateOrderService().Symbol("BTCUSDT").Side(client.SideTypeBuy).Type(client.OrderTypeMarket).Quantity("0.1").Test(ctx); err != nil {
		t.Errorf("a trial: %v", err)
	}
	stranger := client.NewClient(venue.Key, "wrong")
	stranger.BaseURL = theirs.BaseURL
	if _, err := stranger.NewGetAccountService().Do(ctx); !refusedWith(err, -1022) {
		t.Errorf("a wrong secret: %v", err)
	}
}

// TestBinance_OurOrders lets somebody else's client look at what our broker does.
func TestBinance_OurOrders(t *testing.T) {
	t.Parallel()
	server, theirs, ours, _ := counter(t)
	ctx := t.Context()
	o := order.Spec{
		ID: id.New(time.Now()), Symbol: market.Symbol{Venue: "binance", Name: "BTCUSDT"}, Side: order.Buy, Type: order.Limit,
		Quantity: decimal.RequireFromString("0.02"), Price: decimal.RequireFromString("49000.01"),
	}
	if _, err := ours.Submit(ctx, o); err != nil {
		t.Fatal(err)
	}
	server.Trade(o.ID, decimal.RequireFromString("0.005"))
	found, err := theirs.NewGetOrderService().Symbol("BTCUSDT").OrigClientOrderID(o.ID).Do(ctx)
	if err != nil || found.ClientOrderID != o.ID || found.Price != "49000.01000000" || found.OrigQuantity != "0.02000000" ||
		found.ExecutedQuantity != "0.00500000" || found.Status != client.OrderStatusTypePartiallyFilled || found.Type != client.OrderTypeLimit {
		t.Errorf("%+v, %v", found, err)
	}
	if _, err := ours.Submit(ctx, o); broker.Outcome(err) != broker.ErrUnknown { //nolint:errorlint // one of the values
		t.Errorf("the same id again: %v", err)
	}
	if r, err := ours.Cancel(ctx, o.Handle()); err != nil || r.Status != order.Canceled || !r.Filled.Equal(decimal.RequireFromString("0.005")) {
		t.Errorf("%+v, %v", r, err)
	}
	// Both read the same trades and balances.
	trades, err := theirs.NewListTradesService().Symbol("BTCUSDT").FromID(0).Do(ctx)
	if err != nil || len(trades) != 1 {
		t.Fatalf("%+v, %v", trades, err)
	}
	fills, _, err := ours.Fills(ctx, o.Symbol, "")
	if err != nil || len(fills) != 1 {
		t.Fatalf("%+v, %v", fills, err)
	}
	if f, tr := fills[0], trades[0]; f.TradeID != strconv.FormatInt(tr.ID, 10) || f.VenueID != strconv.FormatInt(tr.OrderID, 10) || f.Quantity.StringFixed(8) != tr.Quantity ||
		f.Price.StringFixed(8) != tr.Price || f.Fee.StringFixed(8) != tr.Commission || f.FeeAsset != tr.CommissionAsset || f.At.UnixMilli() != tr.Time || tr.IsMaker != f.Maker {
		t.Errorf("%+v, theirs %+v", f, tr)
	}
	account, err := theirs.NewGetAccountService().Do(ctx)
	if err != nil || !account.CanTrade || account.AccountType != "SPOT" {
		t.Fatalf("%+v, %v", account, err)
	}
	held, err := ours.Holdings(ctx)
	if err != nil || len(held) != len(account.Balances) {
		t.Fatalf("%+v, theirs %+v, %v", held, account.Balances, err)
	}
	for _, h := range held {
		if !slices.ContainsFunc(account.Balances, func(b client.Balance) bool { return b.Asset == h.Asset && b.Free == h.Available.StringFixed(8) }) {
			t.Errorf("%+v is not among theirs", h)
		}
	}
	asked := time.Now()
	if skew, err := ours.Skew(ctx); err != nil || skew.Abs() > time.Second+time.Since(asked) {
		t.Errorf("the venue's clock is %v ahead, %v", skew, err)
	}
}

// TestBinance_UserStream follows the account over the WebSocket API. The client has one
// address, so this test runs by itself; see TestMain.
func TestBinance_UserStream(t *testing.T) {
	server, _, ours, url := counter(t)
	t.Setenv(socketVenue, url)
	events := make(chan *client.WsUserDataEvent, 100)
	done, stop, err := client.WsUserDataServeSignature(venue.Key, venue.Secret, common.KeyTypeHmac, 0,
		func(e *client.WsUserDataEvent) { events <- e }, func(err error) { t.Errorf("stream: %v", err) })
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); server.Subscriptions() == 0; {
		if time.Now().After(deadline) {
			t.Fatal("no subscription")
		}
		time.Sleep(10 * time.Millisecond)
	}
	o := order.Spec{ID: id.New(time.Now()), Symbol: market.Symbol{Venue: "binance", Name: "BTCUSDT"}, Side: order.Buy, Type: order.Market, Quantity: decimal.RequireFromString("0.02")}
	r, err := ours.Submit(t.Context(), o)
	if err != nil || r.Status != order.Filled {
		t.Fatalf("%+v, %v", r, err)
	}
	rests := o
	rests.ID, rests.Type, rests.Price = id.New(time.Now()), order.Limit, decimal.NewFromInt(40_000)
	if _, err := ours.Submit(t.Context(), rests); err != nil {
		t.Fatal(err)
	}
	if _, err := ours.Cancel(t.Context(), rests.Handle()); err != nil {
		t.Fatal(err)
	}
	var traded, cancelled, balances bool
	for timeout := time.After(time.Minute); !traded || !cancelled || !balances; {
		select {
		case e := <-events:
			u := e.OrderUpdate
			switch {
			case e.Event == client.UserDataEventTypeOutboundAccountPosition:
				balances = len(e.AccountUpdate.WsAccountUpdates) == 2
			case e.Event == client.UserDataEventTypeExecutionReport && u.ClientOrderId == o.ID && u.ExecutionType == "TRADE" && u.Status == "FILLED":
				last := r.Fills[len(r.Fills)-1]
				if u.FilledVolume != "0.02000000" || strconv.FormatInt(u.TradeId, 10) != last.TradeID || u.LatestPrice != last.Price.StringFixed(8) || u.FeeAsset != "BTC" || u.IsMaker {
					t.Errorf("%+v, ours %+v", u, last)
				}
				traded = true
			case e.Event == client.UserDataEventTypeExecutionReport && u.Status == "CANCELED":
				if u.OrigCustomOrderId != rests.ID || u.ClientOrderId == rests.ID {
					t.Errorf("%+v", u)
				}
				cancelled = true
			}
		case <-timeout:
			t.Fatalf("traded %v, cancelled %v, balances %v", traded, cancelled, balances)
		}
	}
	close(stop)
	server.User.Drop()
	<-done
}
