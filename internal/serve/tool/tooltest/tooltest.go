// Package tooltest has the tools over parts made for tests: sample bars, the real
// renderer and a trading side that remembers nothing.
package tooltest

import (
	"cmp"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/local"
	"candela/internal/data/marketdata/marketdatatest"
	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/internal/serve/tool"
	"candela/internal/trading/desk/desktest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/internal/work/charting"
	"candela/lib/chart"
	"candela/lib/fault"
	"candela/lib/market"
)

// Receipts knows one order, o-1.
type Receipts struct{}

// Receipt returns a text in place of a receipt.
func (Receipts) Receipt(_ context.Context, _ principal.Caller, id string) ([]byte, error) {
	if id != "o-1" {
		return nil, fault.New(fault.NotFound, "order_not_found", "no order of that id; get_orders lists those that there are").About("order_id", id, "")
	}
	return []byte(`{"receipt":{},"signature":{}}`), nil
}

// Trading is a trading side whose answers are fixed. Placed and Asked keep what
// came through last.
type Trading struct {
	Placed order.Request
	Away   error // why no order can be placed, nil when one can
	Traded int64 // when the last trade was made, in unix seconds
	Asked  alert.Alert
	Filter notify.Filter
}

func moment() time.Time { return time.Date(2026, 1, 31, 16, 0, 0, 123e6, time.UTC) }

func (t *Trading) order() order.Order {
	o := order.Order{
		Origin: order.Origin{
			Spec: order.Spec{
				ID: "o-1", Symbol: market.Symbol{Venue: "test", Name: "BTCUSDT"}, Side: order.Buy, Type: order.Limit,
				Quantity: t.Placed.Quantity, Price: t.Placed.Price,
			},
			Broker: "paper", Mode: order.Paper,
		},
		VenueID: "7", Status: order.PartiallyFilled, Filled: decimal.RequireFromString("0.1"), Cost: decimal.RequireFromString("7000.01"),
		Fees: order.Fees{"USDT": decimal.RequireFromString("7.00001")}, Created: moment(), Updated: moment(),
	}
	if t.Placed.Type != 0 {
		o.Type = t.Placed.Type
	}
	return o
}

// Place keeps the request and answers with an order. One over 1,000 is denied.
func (t *Trading) Place(_ context.Context, _ principal.Caller, r order.Request) (order.Placed, error) {
	t.Placed = r
	if err := cmp.Or(t.Away, marketdatatest.Listed(r.Symbol)); err != nil {
		return order.Placed{}, err
	}
	o := t.order()
	if r.Quantity.GreaterThan(decimal.NewFromInt(1000)) {
		o.Status, o.Filled, o.Reason = order.Denied, decimal.Zero, "quantity: too much"
		o.Denial = order.Denial{Rule: "max_order_quantity", Limit: "1000", Value: r.Quantity.String()}
		return order.Placed{Order: o}, &fault.Error{
			Kind: fault.Invalid, Code: "order_denied", Message: "max_order_quantity: quantity: too much", Field: "quantity", Value: r.Quantity.String(), Allowed: "1000",
		}
	}
	return order.Placed{Order: o}, nil
}

// Cancel knows the order o-1.
func (t *Trading) Cancel(_ context.Context, _ principal.Caller, id string) (order.Order, error) {
	if id != "o-1" {
		return order.Order{}, &fault.Error{Kind: fault.NotFound, Code: "unknown_order", Field: "order_id", Value: id, Message: "there is no order " + id, Suggestions: []string{"o-1"}}
	}
	o := t.order()
	o.Status = order.PendingCancel
	return o, nil
}

// Orders lists one.
func (t *Trading) Orders(context.Context, principal.Caller, bool) ([]order.Order, error) {
	return []order.Order{t.order()}, nil
}

// OrderPage has the same.
func (t *Trading) OrderPage(_ context.Context, _ principal.Caller, q order.Query) (order.Page, error) {
	return desktest.Page([]order.Order{t.order()}, q), nil
}

// Positions lists a long one, and a short one without a price.
func (t *Trading) Positions(context.Context, principal.Caller) ([]order.PricedPosition, error) {
	one := decimal.NewFromInt(1)
	long := order.PricedPosition{
		Position: order.Position{Symbol: market.Symbol{Venue: "test", Name: "BTCUSDT"}, Quantity: one, Cost: one},
		Quote:    order.Quote{Last: decimal.NewFromInt(2), At: moment()}, Mode: order.Paper,
	}
	short := long
	short.Quantity, short.Cost, short.Quote = one.Neg(), one.Neg(), order.Quote{}
	return []order.PricedPosition{long, short}, nil
}

// Trades has one.
func (t *Trading) Trades(_ context.Context, _ principal.Caller, q order.TradeQuery) (order.TradePage, error) {
	num := decimal.RequireFromString
	return q.Page([]order.Trade{{
		Symbol: market.Symbol{Venue: "test", Name: "BTCUSDT"}, Side: order.Buy, Quantity: num("0.5"), Proceeds: num("35100"), Realised: num("100"),
		Paid: order.Charges{Fees: order.Fees{"USDT": num("7.01"), "BNB": num("0.01")}}, Opened: moment().Add(-time.Hour), Closed: moment(),
		OrderID: "o-1", Reason: order.ByStop, Key: "1",
	}}, func(market.Symbol) string { return "USDT" }), nil
}

// Account has cash, a holding with a price and one without.
func (t *Trading) Account(context.Context, principal.Caller) (guard.Account, error) {
	num := decimal.RequireFromString
	policy := guard.Default()
	a := guard.Account{Broker: "paper", Mode: order.Paper, Rules: guard.Rules(policy), Usage: []guard.Usage{
		{Rule: guard.LossRule, Limit: policy.MaxDailyLoss, Used: num("12.5")}, {Rule: "max_open_orders", Limit: policy.MaxOpenOrders, Used: num("1")},
	}, Earned: []guard.Earned{{Time: "today", Realised: num("100"), Fees: num("7.01")}}}
	s := market.Symbol{Venue: "test", Name: "BTCUSDT"}
	a.Value(policy, guard.Prices{Quotes: map[market.Symbol]order.Quote{s: {Last: num("2")}}}, []order.Holding{
		{Asset: "USDT", Quantity: num("100"), Available: num("90")}, {Symbol: s, Quantity: num("3"), Available: num("3")}, {Asset: "XYZ", Quantity: num("1"), Available: num("1")},
	})
	return a, nil
}

// InSymbol has a position, an order above and one far below the price of the sample, a stop
// between them, and two trades, one of them long ago.
func (t *Trading) InSymbol(_ context.Context, _ principal.Caller, s market.Symbol) ([]order.Order, order.PricedPosition, error) {
	num := decimal.RequireFromString
	open := order.Order{Origin: order.Origin{Spec: order.Spec{ID: "o-2", Symbol: s, Side: order.Sell, Type: order.Limit, Quantity: num("0.50"), Price: num("650.5")}, Mode: order.Paper}, Status: order.Accepted}
	far := open
	far.ID, far.Side, far.Price = "o-3", order.Buy, num("1")
	stop := open
	stop.ID, stop.Role, stop.Type, stop.Price, stop.StopPrice = "o-4", order.StopLoss, order.Market, decimal.Decimal{}, num("430")
	done := order.Order{Origin: order.Origin{Spec: order.Spec{ID: "o-1", Symbol: s, Side: order.Buy, Type: order.Market, Quantity: num("2")}}, Status: order.Filled, Fills: []order.Fill{
		{TradeID: "1", Side: order.Buy, Quantity: num("1"), Price: num("500"), At: time.Unix(0, 0)},
		{TradeID: "2", Side: order.Buy, Quantity: num("1"), Price: num("600.25"), At: time.Unix(t.Traded, 0)},
	}}
	p := order.PricedPosition{Position: order.Position{Symbol: s, Quantity: num("2"), Cost: num("1100.25")}, Quote: order.Quote{Last: num("600")}, Mode: order.Paper}
	return []order.Order{far, stop, open, done}, p, nil
}

// Alerts is the alert side.
func (t *Trading) alert() alert.Alert {
	return alert.Alert{
		ID: "a-1", Symbol: market.Symbol{Name: "BTCUSDT"}, Condition: alert.Condition{Type: alert.PriceAbove, Threshold: decimal.NewFromInt(70000)},
		Created: moment(), Note: "note", Expires: moment(),
	}
}

// Alerts are the alert tools' part; the methods of orders have the same names.
type Alerts struct{ *Trading }

// Set keeps the request.
func (a Alerts) Set(_ context.Context, _ principal.Caller, want alert.Alert) (alert.Alert, error) {
	a.Asked = want
	if err := marketdatatest.Listed(want.Symbol); err != nil {
		return alert.Alert{}, err
	}
	set := a.alert()
	set.Condition, set.Interval, set.OnTick, set.Repeat = want.Condition, want.Interval, want.OnTick, want.Repeat
	return set, nil
}

// Preview has a value below what it is compared with, which it was above an hour ago.
func (a Alerts) Preview(context.Context, alert.Alert) alert.Present {
	return alert.Present{Known: true, Value: 41.5 + 1e-14, Against: 70, At: moment(), LastFired: moment().Add(-time.Hour), From: moment().Add(-24 * time.Hour)}
}

// Alerts lists one.
func (a Alerts) Alerts(context.Context, principal.Caller) ([]alert.Alert, error) {
	return []alert.Alert{a.alert()}, nil
}

// AlertsOn lists one above and one below the price of the sample.
func (a Alerts) AlertsOn(_ context.Context, _ principal.Caller, s market.Symbol) ([]alert.Alert, error) {
	up, down := a.alert(), a.alert()
	down.ID, down.Note, down.Symbol, up.Symbol = "a-2", "", s, s
	up.Condition.Threshold = decimal.NewFromInt(640)
	down.Condition = alert.Condition{Type: alert.PriceBelow, Threshold: decimal.RequireFromString("540.50")}
	return []alert.Alert{up, down}, nil
}

// Cancel accepts any.
func (a Alerts) Cancel(context.Context, principal.Caller, string) error { return nil }

// Poll gives one of each kind.
func (t *Trading) Poll(ctx context.Context, caller principal.Caller, wait time.Duration, most notify.Bound) (*notify.Batch, error) {
	price := alert.Firing{Alert: t.alert(), Value: 70001.5, At: moment()}
	price.Note = ""
	signal := price
	signal.Interval, signal.Condition = market.Hour4, alert.Condition{Type: alert.IndicatorSignal, Indicator: "wavetrend", Signal: "cross_up"}
	signal.Note, signal.Late = "note", true
	log, err := local.Open(local.Config{Now: moment, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	for i, f := range []alert.Firing{price, signal} {
		log.Append([]notify.Entry{{Seq: uint64(i) + 1, Owner: caller.Subject, At: moment(), Data: f.AppendJSON(nil)}})
	}
	return log.Poll(ctx, caller, wait, most)
}

// Subscribe keeps the filter.
func (t *Trading) Subscribe(_ context.Context, _ principal.Caller, f notify.Filter) error {
	t.Filter = f
	return nil
}

// Unsubscribe knows a subscription.
func (t *Trading) Unsubscribe(context.Context, principal.Caller) (bool, error) { return true, nil }

// Subscription is active.
func (t *Trading) Subscription(context.Context, principal.Caller) (notify.Subscription, error) {
	return notify.Subscription{Active: true, Filter: t.Filter, Queued: 3, Connected: true}, nil
}

// Parts returns t as the parts behind the trading tools.
func (t *Trading) Parts() *tool.Trading {
	return &tool.Trading{Mode: order.Paper, Orders: t, Positions: t, Account: t, Receipts: Receipts{}, Tradable: func(market.Symbol) bool { return true }, Alerts: Alerts{t}, Notifications: t, Subscriptions: t, Drawings: Drawings()}
}

// Charts returns the charts over bars, with the marks of trading when it is not nil.
func Charts(bars charting.BarSource, renderer charting.Renderer, trading *tool.Trading) *charting.Charting {
	cfg := charting.Config{Bars: bars, Renderer: renderer, Log: slog.New(slog.DiscardHandler)}
	if trading != nil {
		cfg.Alerts, cfg.Account, cfg.Saved = trading.Alerts, trading.Positions, trading.Drawings
	}
	return charting.New(cfg)
}

// Patient returns a context whose calls are waited for as long as they take, as those of a client that asks
// for their progress.
func Patient(ctx context.Context) context.Context {
	return mcp.WithProgress(ctx, func(int, int, string) {})
}

// Registry returns the tools, with trading when it is not nil.
func Registry(tb testing.TB, trading *Trading) *tool.Registry {
	tb.Helper()
	cfg := tool.Config{Log: slog.New(slog.DiscardHandler)}
	if trading != nil {
		cfg.Trading = trading.Parts()
	}
	cfg.Charting = Charts(marketdatatest.Bars{}, chart.NewRenderer(), cfg.Trading)
	r, err := tool.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}
