package app

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/marketdata/marketdatatest"
	"candela/internal/data/provider"
	"candela/internal/kit/principal"
	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
	"candela/internal/testkit/pagetest"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/desk"
	"candela/internal/trading/desk/desktest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/chart"
	"candela/lib/market"
)

var update = flag.Bool("update", false, "rewrite parts of docs/errors.md, and docs/configuration.md")

const errorsPage, appCommand = "docs/errors.md", "go test ./internal/app -update"

// counter is a desk whose venue is in memory, and the tools before it. The policy is
// the default one, the price 50,000.
type counter struct {
	t      *testing.T
	venue  *brokertest.Memory
	market *desktest.Market
	desk   *desk.Desk
	tools  *tool.Registry
}

// withMoney is the venue with a mode of its own.
type withMoney struct{ *brokertest.Memory }

func (withMoney) Mode() order.Mode { return order.Live }

// openCounter must be called in virtual time.
func openCounter(t *testing.T, live bool) *counter {
	t.Helper()
	c := &counter{t: t, venue: brokertest.NewMemory(), market: &desktest.Market{}}
	c.market.Set(brokertest.MemorySymbol(), order.Quote{Last: decimal.NewFromInt(50000)})
	var venue broker.Broker = c.venue
	if live {
		venue = withMoney{c.venue}
	}
	c.desk = desk.New(desk.Config{
		Owner: "owner", Broker: venue, Store: desktest.NewStore(), Market: c.market, Policy: guard.Default(), AssetBalances: true,
		Resolve: func(_ context.Context, s market.Symbol) (market.Symbol, error) {
			if s.Name != "BTCUSDT" {
				return s, provider.UnknownSymbol("memory", s, "BTCUSDT")
			}
			return brokertest.MemorySymbol(), nil
		},
		Log: slog.New(slog.DiscardHandler), Now: time.Now, Rand: rand.Float64,
	})
	ctx, cancel := context.WithCancel(t.Context())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- c.desk.Run(ctx, ctx, func() { close(ready) }) }()
	<-ready
	t.Cleanup(func() {
		cancel()
		<-done
	})
	parts := (&tooltest.Trading{}).Parts()
	parts.Orders, parts.Positions = c.desk, c.desk
	var err error
	c.tools, err = tool.New(tool.Config{Charting: tooltest.Charts(marketdatatest.Bars{}, chart.NewRenderer(), parts), Trading: parts, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second)
	return c
}

// place calls place_order.
func (c *counter) place(arguments string) (text string, isError bool) {
	c.t.Helper()
	result, err := c.tools.Call(c.t.Context(), principal.Caller{Subject: "owner", Key: "token", Client: "agent", Scope: principal.Trade}, "place_order", json.RawMessage(arguments))
	if err != nil {
		c.t.Fatal(err)
	}
	return string(result.Content[0].Text), result.IsError
}

// buying is a call with other or more arguments than a good one.
func buying(arguments string) string {
	good := map[string]any{"symbol": "BTCUSDT", "side": "buy", "type": "market", "quantity": json.Number("0.1")}
	d := json.NewDecoder(strings.NewReader(arguments))
	d.UseNumber()
	if err := d.Decode(&good); err != nil {
		return arguments // no JSON: as it is
	}
	for name, value := range good {
		if value == "absent" {
			delete(good, name)
		}
	}
	data, _ := json.Marshal(good) // of what was decoded
	return string(data)
}

// refusal is a call that must not reach the venue.
type refusal struct {
	name      string
	arguments string                     // other than a good call's
	before    func(*testing.T, *counter) // what is so when it comes
	rule      string                     // of the guard's, "" when the arguments are wrong
	says      string                     // in the message
	live      bool
}

func refusals() []refusal {
	good := `{}`
	return []refusal{
		{name: "a quantity with a comma", arguments: `{"quantity":"1,000"}`, says: "a number above 0, without quotes"},
		{name: "a quantity that is no number", arguments: `{"quantity":"NaN"}`, says: "without quotes"},
		{name: "a quantity without end", arguments: `{"quantity":1e400}`, says: "1e400"},
		{name: "a quantity below zero", arguments: `{"quantity":-1}`, says: "above 0"},
		{name: "no quantity at all", arguments: `{"quantity":0}`, says: "above 0"},
		{name: "a quantity as a list", arguments: `{"quantity":[1]}`, says: "a number above 0"},
		{name: "a missing quantity", arguments: `{"quantity":"absent"}`, says: "quantity is required"},
		{name: "a side that does not exist", arguments: `{"side":"up"}`, says: "buy, sell"},
		{name: "a type that does not exist", arguments: `{"type":"stop"}`, says: "market, limit"},
		{name: "an argument that does not exist", arguments: `{"leverage":10}`, says: `unknown argument "leverage"`},
		{name: "an unknown symbol", arguments: `{"symbol":"BTCUSD"}`, says: `did you mean "BTCUSDT"?`},
		{name: "a symbol that is none", arguments: `{"symbol":"BTCUSDT'; DROP TABLE orders"}`, says: "1 to 40 characters"},
		{name: "a market order with a price", arguments: `{"price":50000}`, says: "no price for a market order"},
		{name: "a limit order without one", arguments: `{"type":"limit"}`, says: "price is required"},
		{name: "a price off the grid", arguments: `{"type":"limit","price":49999.999}`, rule: "venue_tick", says: "50000 and 49999.99"},
		{name: "a quantity off the grid", arguments: `{"quantity":0.123456789}`, rule: "venue_step", says: "0.12346 and 0.12345"},
		{name: "a quantity too small for the venue", arguments: `{"quantity":0.00001}`, rule: "venue_min_notional", says: "the venue's minimum is 5"},
		{name: "a price 50 % too high", arguments: `{"type":"limit","price":75000}`, rule: "price_band_pct", says: "50 % above the last price 50000"},
		{name: "a price 50 % too low", arguments: `{"type":"limit","price":25000}`, rule: "resting_band_pct", says: "50 % below the last price 50000"},
		{name: "a price with a digit too many", arguments: `{"type":"limit","price":500000}`, rule: "price_band_pct", says: "The nearest allowed price is 52500"},
		{name: "a quantity with a digit too many", arguments: `{"quantity":1}`, rule: "max_order_notional", says: "the limit per order is 10000"},
		{name: "a sale of what is not held", arguments: `{"side":"sell"}`, rule: "allow_short", says: "would open a short position"},
		{name: "the same call twice", arguments: good, before: func(t *testing.T, c *counter) {
			t.Helper()
			c.first()
		}, rule: "duplicate_window", says: "Duplicate of order"},
		{name: "the same key for another order", arguments: `{"quantity":0.2,"idempotency_key":"k"}`, before: func(t *testing.T, c *counter) {
			t.Helper()
			if text, isError := c.place(buying(`{"idempotency_key":"k"}`)); isError {
				t.Error(text)
			}
		}, says: "idempotency_key"},
		{name: "a hundred calls a second", arguments: good, before: func(t *testing.T, c *counter) {
			t.Helper()
			for i := range 100 {
				c.place(buying(fmt.Sprintf(`{"quantity":0.001,"type":"limit","price":%d}`, 49000+i)))
				time.Sleep(10 * time.Millisecond)
			}
		}, rule: "max_orders_per_minute", says: "the limit is 20"},
		{name: "an order during a halt", arguments: good, before: func(t *testing.T, c *counter) {
			t.Helper()
			if _, err := c.desk.Halt(t.Context(), "candela halt", "enough for today"); err != nil {
				t.Error(err)
			}
		}, rule: "halted", says: "enough for today"},
		{name: "an order while prices are lost", arguments: `{"quantity":0.05}`, before: func(t *testing.T, c *counter) {
			t.Helper()
			c.first()
			time.Sleep(5 * time.Second)
			c.market.SetLagging("memory")
			time.Sleep(2 * time.Second)
		}, rule: "reducing", says: "no prices from memory"},
		{name: "an order at an old price", arguments: good, before: func(_ *testing.T, c *counter) {
			c.market.Set(brokertest.MemorySymbol(), order.Quote{Last: decimal.NewFromInt(50000), At: time.Now().Add(-11 * time.Second)})
		}, rule: "max_quote_age", says: "11s old; the limit is 10s"},
		{name: "live without a list of symbols", arguments: good, live: true, rule: "allowed_symbols", says: "allows no symbol for live trading"},
	}
}

// first places a good order.
func (c *counter) first() {
	c.t.Helper()
	if text, isError := c.place(buying(`{}`)); isError {
		c.t.Error(text)
	}
}

const refusalsHead = "| Call | Arguments | Rule | Answer |\n|---|---|---|---|\n"

// changing matches what is different every time.
var changing = regexp.MustCompile(`[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// TestRefusals_NoneReachesTheVenue makes every hostile or mistaken call and holds
// that it is refused by the right rule, in words, kept as denied where there is an
// order, and never sent.
func TestRefusals_NoneReachesTheVenue(t *testing.T) {
	lines := make(map[string]string)
	for _, r := range refusals() {
		t.Run(r.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { lines[r.name] = r.check(t) })
		})
	}
	var page strings.Builder
	page.WriteString(refusalsHead)
	for _, r := range refusals() {
		page.WriteString(lines[r.name])
	}
	pagetest.Part(t, errorsPage, "orders", appCommand, page.String(), *update)
	pagetest.Part(t, errorsPage, "protective orders", appCommand, mistakenProtection(t), *update)
}

// check makes the call and returns its line of the table.
func (r refusal) check(t *testing.T) string {
	t.Helper()
	c := openCounter(t, r.live)
	if r.before != nil {
		r.before(t, c)
	}
	before := len(c.venue.Orders())
	text, isError := c.place(buying(r.arguments))
	var answer struct {
		Code, Message, Rule, Limit, Value string
		Order                             *struct{ Status, Mode string }
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil || !isError {
		t.Fatalf("it passed: %v %s", err, text)
	}
	if answer.Rule != r.rule || !strings.Contains(answer.Message, r.says) || answer.Message == "" {
		t.Errorf("%s, want rule %q and %q", text, r.rule, r.says)
	}
	if r.rule != "" && (answer.Code != "order_denied" || answer.Limit == "" || answer.Value == "" || answer.Order == nil || answer.Order.Status != "denied" || answer.Order.Mode == "") {
		t.Errorf("the refusal lacks code, limit, value or order: %s", text)
	}
	time.Sleep(5 * time.Second)
	if n := len(c.venue.Orders()); n != before {
		t.Errorf("the venue has %d orders more", n-before)
	}
	rule := "arguments"
	if r.rule != "" {
		rule = "`" + r.rule + "`"
	}
	message := strings.ReplaceAll(changing.ReplaceAllString(answer.Message, "ID"), "|", `\|`)
	return fmt.Sprintf("| %s | `%s` | %s | %s |\n", r.name, r.arguments, rule, message)
}
