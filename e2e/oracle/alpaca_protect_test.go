package oracle

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	client "github.com/alpacahq/alpaca-trade-api-go/v3/alpaca"
	"github.com/shopspring/decimal"

	fakealpaca "candela/internal/testkit/fake/alpaca"
)

// hand is the venue's own client at a fake where 20 AAPL are held, at a price of 100, and
// what the venue reports to it.
type hand struct {
	*client.Client
	t       *testing.T
	venue   *fakealpaca.Server
	updates chan client.TradeUpdate
}

// newHand opens the account. The events of the purchase are read.
func newHand(t *testing.T) hand {
	t.Helper()
	venue, theirs, _ := booth(t)
	h := hand{theirs, t, venue, make(chan client.TradeUpdate, 100)}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	done := make(chan error, 1)
	go func() {
		done <- theirs.StreamTradeUpdates(ctx, func(u client.TradeUpdate) { h.updates <- u }, client.StreamTradeUpdatesRequest{Since: noon().Add(-time.Minute)})
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	h.place(client.PlaceOrderRequest{Side: client.Buy, Type: client.Market, Qty: number("20")})
	h.hears(map[string]string{"": "new fill"})
	return h
}

// place takes an order for AAPL, 10 for the day unless it says otherwise.
func (h hand) place(r client.PlaceOrderRequest) *client.Order {
	h.t.Helper()
	r.Symbol = "AAPL"
	if r.Qty == nil {
		r.Qty = number("10")
	}
	if r.TimeInForce == "" {
		r.TimeInForce = client.Day
	}
	o, err := h.PlaceOrder(r)
	if err != nil {
		h.t.Fatalf("%+v: %v", r, err)
	}
	return o
}

// replace puts another order in the place of one.
func (h hand) replace(id string, r client.ReplaceOrderRequest) *client.Order {
	h.t.Helper()
	o, err := h.ReplaceOrder(id, r)
	if err != nil {
		h.t.Fatal(err)
	}
	if o.ID == id || o.Replaces == nil || *o.Replaces != id {
		h.t.Errorf("%+v does not replace %s", o, id)
	}
	if old, err := h.GetOrder(id); err != nil || old.Status != "replaced" || old.ReplacedBy == nil || *old.ReplacedBy != o.ID || old.ReplacedAt == nil {
		h.t.Errorf("%+v, %v", old, err)
	}
	return o
}

func (h hand) cancel(id string) {
	h.t.Helper()
	if err := h.CancelOrder(id); err != nil {
		h.t.Error(err)
	}
}

// nested returns an order with its legs, from the list of all orders.
func (h hand) nested(id string) client.Order {
	h.t.Helper()
	all, err := h.GetOrders(client.GetOrdersRequest{Status: "all", Nested: true, Symbols: []string{"AAPL"}})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, o := range all {
		if o.ID == id {
			return o
		}
	}
	h.t.Fatalf("%s is not among %+v", id, all)
	panic("not reached")
}

// is holds the states of an order and its legs, as the client reads them and as the venue
// knows them.
func (h hand) is(id string, statuses ...string) client.Order {
	h.t.Helper()
	o := h.nested(id)
	have := []string{o.Status}
	for _, leg := range o.Legs {
		have = append(have, leg.Status)
	}
	if !slices.Equal(have, statuses) {
		h.t.Errorf("the states are %v, not %v", have, statuses)
	}
	for _, g := range h.venue.Truth().Groups {
		if g.Parent.VenueID != id {
			continue
		}
		for i, leg := range g.Legs {
			if their := o.Legs[i]; their.ID != leg.VenueID || their.ClientOrderID != leg.ClientID || their.Status != leg.Status || !their.Qty.Equal(leg.Quantity) || their.OrderClass != o.OrderClass {
				h.t.Errorf("the client reads %+v of %+v", their, leg)
			}
		}
	}
	return o
}

// open holds which orders are listed as open.
func (h hand) open(ids ...string) {
	h.t.Helper()
	all, err := h.GetOrders(client.GetOrdersRequest{Status: "open", Direction: "asc"})
	var have []string
	for _, o := range all {
		have = append(have, o.ID)
	}
	slices.Sort(have)
	slices.Sort(ids)
	if err != nil || !slices.Equal(have, ids) {
		h.t.Errorf("open are %v, not %v, %v", have, ids, err)
	}
}

// hears reads as many events as are wanted, by the id of the order; "" is any.
func (h hand) hears(want map[string]string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
	defer cancel()
	n := 0
	for _, names := range want {
		n += len(strings.Fields(names))
	}
	have := make(map[string][]string)
	for range n {
		u := next(ctx, h.t, h.updates)
		id := u.Order.ID
		if _, known := want[id]; !known {
			id = ""
		}
		have[id] = append(have[id], u.Event)
		if fill := u.Event == "fill" || u.Event == "partial_fill"; fill != (u.ExecutionID != "" && u.Price != nil && u.Qty != nil) || u.Order.Qty == nil {
			h.t.Errorf("the event %+v", u)
		}
	}
	for id, names := range want {
		if got := strings.Join(have[id], " "); got != names {
			h.t.Errorf("of %q came %q, not %q", id, got, names)
		}
	}
}

// same holds an amount that may be missing.
func same(have *decimal.Decimal, want string) bool { return have != nil && have.Equal(*number(want)) }

// TestAlpaca_Stop places, lists, replaces and cancels stops, and lets one trigger.
func TestAlpaca_Stop(t *testing.T) {
	t.Parallel()
	h := newHand(t)
	stop := h.place(client.PlaceOrderRequest{Side: client.Sell, Type: client.Stop, StopPrice: number("95"), ClientOrderID: "stop-1"})
	if stop.Type != client.Stop || !same(stop.StopPrice, "95") || stop.LimitPrice != nil || stop.OrderClass != "" || stop.Legs != nil {
		t.Errorf("%+v", stop)
	}
	moved := h.replace(stop.ID, client.ReplaceOrderRequest{StopPrice: number("96"), ClientOrderID: "stop-2"})
	if moved.ClientOrderID != "stop-2" || !same(moved.StopPrice, "96") {
		t.Errorf("%+v", moved)
	}
	limit := h.place(client.PlaceOrderRequest{Side: client.Sell, Type: client.StopLimit, StopPrice: number("94"), LimitPrice: number("93.5"), TimeInForce: client.GTC})
	if !same(limit.StopPrice, "94") || !same(limit.LimitPrice, "93.5") || limit.TimeInForce != client.GTC {
		t.Errorf("%+v", limit)
	}
	h.open(moved.ID, limit.ID)
	if _, err := h.PlaceOrder(client.PlaceOrderRequest{Symbol: "AAPL", Qty: number("1"), Side: client.Sell, Type: client.Market, TimeInForce: client.Day}); !refusedBy(err, http.StatusForbidden, 40310000, "insufficient qty available") {
		t.Errorf("a sale of what the stops hold: %v", err)
	}
	if p, err := h.GetPosition("AAPL"); err != nil || !p.Qty.Equal(*number("20")) || !p.QtyAvailable.IsZero() {
		t.Errorf("%+v, %v", p, err)
	}
	h.cancel(limit.ID)
	h.venue.SetQuote("AAPL", "95.5", "95.6")
	if o := h.is(moved.ID, "filled"); !same(o.FilledAvgPrice, "95.5") || o.FilledAt == nil {
		t.Errorf("%+v", o)
	}
	h.hears(map[string]string{stop.ID: "new replaced", moved.ID: "new fill", limit.ID: "new canceled"})
}

// TestAlpaca_TrailingStop follows the mark and the trigger of a trail.
func TestAlpaca_TrailingStop(t *testing.T) {
	t.Parallel()
	h := newHand(t)
	o := h.place(client.PlaceOrderRequest{Side: client.Sell, Type: client.TrailingStop, TrailPercent: number("5"), TimeInForce: client.GTC})
	if !same(o.TrailPercent, "5") || o.TrailPrice != nil {
		t.Errorf("%+v", o)
	}
	h.venue.SetQuote("AAPL", "120", "120.02")
	h.venue.SetQuote("AAPL", "118", "118.02")
	if got, err := h.GetOrder(o.ID); err != nil || !same(got.HWM, "120") || !same(got.StopPrice, "114") || got.Status != "new" {
		t.Errorf("%+v, %v", got, err)
	}
	nearer := h.replace(o.ID, client.ReplaceOrderRequest{Trail: number("2.5")})
	if got, err := h.GetOrder(nearer.ID); err != nil || !same(got.TrailPercent, "2.5") || !same(got.StopPrice, "117") {
		t.Errorf("%+v, %v", got, err)
	}
	money := h.place(client.PlaceOrderRequest{Side: client.Sell, Type: client.TrailingStop, TrailPrice: number("7")})
	h.open(nearer.ID, money.ID)
	h.venue.SetQuote("AAPL", "117", "117.02")
	h.is(nearer.ID, "filled")
	h.cancel(money.ID)
	h.hears(map[string]string{o.ID: "new replaced", nearer.ID: "new fill", money.ID: "new canceled"})
}

// legs are a target and a stop around 100.
func legs() (*client.TakeProfit, *client.StopLoss) {
	return &client.TakeProfit{LimitPrice: number("110")}, &client.StopLoss{StopPrice: number("95"), LimitPrice: number("94.5")}
}

// TestAlpaca_Bracket goes through the life of an entry with a target and a stop.
func TestAlpaca_Bracket(t *testing.T) {
	t.Parallel()
	h := newHand(t)
	target, stop := legs()
	o := h.place(client.PlaceOrderRequest{
		Side: client.Buy, Type: client.Limit, LimitPrice: number("99"), OrderClass: client.Bracket, TakeProfit: target, StopLoss: stop, ClientOrderID: "bracket-1",
	})
	if o.OrderClass != client.Bracket || len(o.Legs) != 2 || o.Legs[0].Type != client.Limit || !same(o.Legs[0].LimitPrice, "110") || o.Legs[0].Side != client.Sell ||
		o.Legs[1].Type != client.StopLimit || !same(o.Legs[1].StopPrice, "95") || !same(o.Legs[1].LimitPrice, "94.5") || o.Legs[1].ClientOrderID == "" {
		t.Fatalf("%+v", o)
	}
	first, second := o.Legs[0].ID, o.Legs[1].ID
	h.is(o.ID, "new", "held", "held")
	h.open(o.ID)
	h.venue.SetQuote("AAPL", "98.99", "99")
	h.is(o.ID, "filled", "new", "held")
	h.open(first) // the stop works and is not listed
	if all, err := h.GetOrders(client.GetOrdersRequest{Status: "open", Nested: true}); err != nil || len(all) != 0 {
		t.Errorf("nested and open are %+v, %v", all, err)
	}
	moved := h.replace(second, client.ReplaceOrderRequest{StopPrice: number("96")})
	if _, err := h.ReplaceOrder(first, client.ReplaceOrderRequest{Qty: number("5")}); !refusedBy(err, http.StatusUnprocessableEntity, 42210000, "qty cannot be changed for advanced orders") {
		t.Errorf("the quantity of a leg: %v", err)
	}
	h.venue.Trade(first, *number("4"))
	if got := h.is(o.ID, "filled", "partially_filled", "held"); got.Legs[1].ID != moved.ID || !same(got.Legs[1].Qty, "6") {
		t.Errorf("the stop is %+v", got.Legs[1])
	}
	h.cancel(moved.ID)
	h.is(o.ID, "filled", "canceled", "canceled")
	h.open()
	h.hears(map[string]string{o.ID: "new fill", first: "held new partial_fill canceled", second: "held replaced", moved.ID: "held held canceled"})
}

// TestAlpaca_OCO lets one of two exits be filled, and cancels another pair.
func TestAlpaca_OCO(t *testing.T) {
	t.Parallel()
	h := newHand(t)
	target, stop := legs()
	ask := client.PlaceOrderRequest{Side: client.Sell, Type: client.Limit, OrderClass: client.OCO, TakeProfit: target, StopLoss: stop}
	o, other := h.place(ask), h.place(ask)
	if o.OrderClass != client.OCO || !same(o.LimitPrice, "110") || len(o.Legs) != 1 || !same(o.Legs[0].StopPrice, "95") {
		t.Fatalf("%+v", o)
	}
	h.open(o.ID, other.ID)
	if all, err := h.GetOrders(client.GetOrdersRequest{Status: "open", Nested: true}); err != nil || len(all) != 2 || len(all[0].Legs) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
	moved := h.replace(o.ID, client.ReplaceOrderRequest{LimitPrice: number("108")})
	h.is(moved.ID, "new", "held")
	h.cancel(other.Legs[0].ID)
	h.is(other.ID, "canceled", "canceled")
	h.venue.SetQuote("AAPL", "94.8", "94.9")
	if got := h.is(moved.ID, "canceled", "filled"); !same(got.Legs[0].FilledAvgPrice, "94.8") {
		t.Errorf("%+v", got.Legs[0])
	}
	h.hears(map[string]string{
		o.ID: "new replaced", moved.ID: "new canceled", o.Legs[0].ID: "held new fill", other.ID: "new canceled", other.Legs[0].ID: "held canceled",
	})
}

// TestAlpaca_OTO follows entries with one leg, which works on its own.
func TestAlpaca_OTO(t *testing.T) {
	t.Parallel()
	h := newHand(t)
	target, stop := legs()
	o := h.place(client.PlaceOrderRequest{Side: client.Buy, Type: client.Market, OrderClass: client.OTO, StopLoss: stop})
	leg := o.Legs[0].ID
	h.is(o.ID, "filled", "new")
	moved := h.replace(leg, client.ReplaceOrderRequest{StopPrice: number("97"), LimitPrice: number("96")})
	if moved.OrderClass != client.OTO {
		t.Errorf("%+v", moved)
	}
	h.open(moved.ID)
	waits := h.place(client.PlaceOrderRequest{Side: client.Buy, Type: client.Limit, LimitPrice: number("90"), OrderClass: client.OTO, TakeProfit: target})
	h.is(waits.ID, "new", "held")
	h.cancel(waits.ID)
	h.is(waits.ID, "canceled", "canceled")
	h.venue.SetQuote("AAPL", "96.5", "96.6")
	h.is(o.ID, "filled", "filled")
	h.hears(map[string]string{
		o.ID: "new fill", leg: "held new replaced", moved.ID: "new fill", waits.ID: "new canceled", waits.Legs[0].ID: "held canceled",
	})
	if p, err := h.GetPosition("AAPL"); err != nil || !p.Qty.Equal(*number("20")) || !p.QtyAvailable.Equal(*number("20")) {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestAlpaca_ProtectionRefused holds the words of the venue as its own client reads them.
func TestAlpaca_ProtectionRefused(t *testing.T) {
	t.Parallel()
	h := newHand(t)
	target, stop := legs()
	for name, tc := range map[string]struct {
		ask    client.PlaceOrderRequest
		status int
		code   int
		words  string
	}{
		"one leg of a bracket":  {client.PlaceOrderRequest{Side: client.Buy, Type: client.Market, OrderClass: client.Bracket, StopLoss: stop}, 422, 40010001, "bracket orders require take_profit.limit_price"},
		"a bracket that closes": {client.PlaceOrderRequest{Side: client.Sell, Type: client.Market, OrderClass: client.Bracket, TakeProfit: &client.TakeProfit{LimitPrice: number("90")}, StopLoss: &client.StopLoss{StopPrice: number("105")}}, 422, 42210000, "bracket orders must be entry orders"},
		"a pair that enters":    {client.PlaceOrderRequest{Side: client.Buy, Type: client.Limit, OrderClass: client.OCO, TakeProfit: &client.TakeProfit{LimitPrice: number("90")}, StopLoss: &client.StopLoss{StopPrice: number("105")}}, 422, 42210000, "oco orders must be exit orders"},
		"a fraction with legs":  {client.PlaceOrderRequest{Side: client.Buy, Type: client.Market, Qty: number("0.5"), OrderClass: client.Bracket, TakeProfit: target, StopLoss: stop}, 422, 42210000, "fractional orders must be simple orders"},
		"a stop at the market":  {client.PlaceOrderRequest{Side: client.Buy, Type: client.Market, OrderClass: client.OTO, StopLoss: &client.StopLoss{StopPrice: number("100")}}, 422, 42210000, "stop_loss.stop_price must be <= base_price - 0.01"},
		"a stop that is passed": {client.PlaceOrderRequest{Side: client.Sell, Type: client.Stop, StopPrice: number("101")}, 422, 42210000, "stop price must be less than current price"},
		"a trail of nothing":    {client.PlaceOrderRequest{Side: client.Sell, Type: client.TrailingStop}, 422, 40010001, "must specify one of trail_price or trail_percent"},
	} {
		bad := tc.ask
		bad.Symbol, bad.TimeInForce = "AAPL", client.Day
		if bad.Qty == nil {
			bad.Qty = number("1")
		}
		if _, err := h.PlaceOrder(bad); !refusedBy(err, tc.status, tc.code, tc.words) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(h.venue.Truth().Orders); n != 1 {
		t.Errorf("the venue has %d orders", n)
	}
}
