package app

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/marketdata/marketdatatest"
	"candela/internal/data/provider"
	stocks "candela/internal/data/provider/alpaca"
	"candela/internal/data/upstream"
	"candela/internal/kit/principal"
	"candela/internal/kit/secret"
	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
	"candela/internal/testkit/fake"
	fakealpaca "candela/internal/testkit/fake/alpaca"
	fakebinance "candela/internal/testkit/fake/binance"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/alpaca"
	"candela/internal/trading/broker/binance"
	"candela/internal/trading/broker/paper"
	"candela/internal/trading/broker/paper/papertest"
	"candela/internal/trading/desk"
	"candela/internal/trading/desk/desktest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/chart"
	"candela/lib/market"
)

// floor is a desk at a broker with the tools before it. Its clients make mistakes.
type floor struct {
	t      *testing.T
	desk   *desk.Desk
	tools  *tool.Registry
	market *desktest.Market
	symbol string
	name   string            // of the call
	ids    map[string]string // of orders, by the names that calls use for them

	policy  guard.Policy
	orders  func() int                                // at the venue
	trade   func(id string, quantity decimal.Decimal) // of an order there
	changed *atomic.Int64
}

// mistake is a call that is refused, and the one that follows from the answer.
type mistake struct {
	name      string
	tool      string // place_order if empty
	arguments string // other than those of a good call
	before    func(*floor)
	rule      string // of the guard, or the code of the error
	says      string // in the message

	// next are the arguments that change, and "absent" for those that go. Empty takes the
	// first suggestion for the argument that the error names.
	next     string
	nextTool string // tool if empty
	free     string // an argument whose value the client chooses
	real     bool   // the next call is no dry run
}

// protections is a table of the page.
type protections struct {
	title string
	about string
	open  func(*testing.T) *floor
	calls []mistake
}

// openDay is when the stock market is open.
func openDay() time.Time { return time.Date(2025, time.July, 9, 16, 0, 0, 0, time.UTC) }

// start runs a desk at a broker. It must be called in virtual time.
func (f *floor) start(b broker.Broker, venue string, assets bool, change func(*guard.Policy)) *floor {
	f.t.Helper()
	f.ids = make(map[string]string)
	policy := guard.Default()
	policy.MaxOrdersPerMinute, policy.DuplicateWindow = guard.Limit{Off: true}, 0
	if change != nil {
		change(&policy)
	}
	f.policy = policy
	f.desk = desk.New(desk.Config{
		Owner: "owner", Broker: b, Store: desktest.NewStore(), Market: f.market, Policy: policy, AssetBalances: assets,
		Resolve: func(_ context.Context, s market.Symbol) (market.Symbol, error) {
			s.Venue = venue
			return s, nil
		},
		Log: slog.New(slog.DiscardHandler), Now: time.Now, Rand: rand.Float64,
	})
	ctx, cancel := context.WithCancel(f.t.Context())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- f.desk.Run(ctx, ctx, func() { close(ready) }) }()
	<-ready
	f.t.Cleanup(func() {
		cancel()
		<-done
	})
	parts := (&tooltest.Trading{}).Parts()
	parts.Orders, parts.Positions = f.desk, f.desk
	var err error
	f.tools, err = tool.New(tool.Config{Charting: tooltest.Charts(marketdatatest.Bars{}, chart.NewRenderer(), parts), Trading: parts, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.t.Fatal(err)
	}
	time.Sleep(5 * time.Second)
	return f
}

// counted is the paper broker with a count of what is asked of it.
type counted struct {
	*paper.Broker
	changed *atomic.Int64
}

func (c counted) Submit(ctx context.Context, o order.Spec) (order.Report, error) {
	c.changed.Add(1)
	return c.Broker.Submit(ctx, o)
}

func (c counted) SubmitGroup(ctx context.Context, orders []order.Spec) ([]order.Report, error) {
	c.changed.Add(1)
	return c.Broker.SubmitGroup(ctx, orders)
}

func (c counted) Cancel(ctx context.Context, o order.Handle) (order.Report, error) {
	c.changed.Add(1)
	return c.Broker.Cancel(ctx, o)
}

// pricedMarket is the market of the paper broker.
type pricedMarket struct {
	*desktest.Market
	instruments *papertest.Market
}

func (m pricedMarket) Instrument(ctx context.Context, s market.Symbol) (provider.Instrument, error) {
	return m.instruments.Instrument(ctx, s)
}

func onPaper(change func(*guard.Policy)) func(*testing.T) *floor {
	return func(t *testing.T) *floor {
		t.Helper()
		f := &floor{t: t, market: &desktest.Market{}, symbol: "BTCUSDT", changed: new(atomic.Int64)}
		inst := papertest.BTCUSDT()
		other, perpetual := inst, inst
		other.Symbol.Name, other.Base = "ETHUSDT", "ETH"
		perpetual.Symbol.Name, perpetual.Class, perpetual.Settle = "BTCUSDT.P", provider.Perpetual, "USDT"
		f.price(inst.Symbol, "50000")
		f.price(perpetual.Symbol, "50000")
		f.price(other.Symbol, "2000")
		journal := &papertest.Journal{}
		f.orders = func() int {
			n := 0
			for range journal.Entries(t.Context()) {
				n++
			}
			return n
		}
		b := paper.New(paper.Config{
			Journal: journal, Market: pricedMarket{f.market, papertest.NewMarket(inst, other, perpetual)}, Rates: paper.Usual(), Now: time.Now, Log: slog.New(slog.DiscardHandler),
			Cash:     map[string]decimal.Decimal{"USDT": decimal.NewFromInt(100_000)},
			Leverage: func(s market.Symbol) decimal.Decimal { return f.policy.For(s).MaxLeverage.Value },
		})
		if err := b.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		return f.start(counted{b, f.changed}, "binance", false, change)
	}
}

func (f *floor) price(s market.Symbol, last string) {
	f.market.Set(s, order.Quote{Last: decimal.RequireFromString(last)})
}

// serve serves a fake venue and counts the requests that change orders.
func (f *floor) serve(address string, venue http.Handler, changes func(*http.Request) bool) *upstream.Hosts {
	f.changed = new(atomic.Int64)
	network := fake.NewNetwork()
	f.t.Cleanup(network.Serve(address, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if changes(r) {
			f.changed.Add(1)
		}
		venue.ServeHTTP(w, r)
	})))
	hosts := upstream.NewHosts(network.Dial)
	f.t.Cleanup(func() { _ = hosts.Close() })
	return hosts
}

func onBinance(t *testing.T) *floor {
	t.Helper()
	f := &floor{t: t, market: &desktest.Market{}, symbol: "BTCUSDT"}
	known := func(s string) bool { return s == "BTCUSDT" || s == "ETHUSDT" || s == "ETHUSDC" }
	venue := fakebinance.New(fakebinance.Config{Seed: 1, Knows: known, Symbols: map[string]fakebinance.Features{
		"ETHUSDT": {NoTypes: []string{"STOP_LOSS", "TAKE_PROFIT"}, NoTrailing: true, NoOPO: true},
		"ETHUSDC": {NoOTO: true, NoOPO: true, NoOCO: true},
	}})
	for name, price := range map[string]string{"BTCUSDT": "50000", "ETHUSDT": "2000", "ETHUSDC": "2000"} {
		venue.Pin(name, decimal.RequireFromString(price))
		f.price(market.Symbol{Venue: "binance", Name: name}, price)
	}
	f.orders = func() int { return len(venue.Orders()) }
	hosts := f.serve("binance.test:80", venue, fakebinance.Changes)
	b, err := binance.New(hosts, binance.Config{
		Environment: binance.Testnet, URL: "http://binance.test", Key: secret.New(fakebinance.Key), Secret: secret.New(fakebinance.Secret),
	})
	if err != nil {
		t.Fatal(err)
	}
	return f.start(b, "binance", true, nil)
}

func onAlpaca(t *testing.T) *floor {
	t.Helper()
	f := &floor{t: t, market: &desktest.Market{}, symbol: "AAPL"}
	venue := fakealpaca.New(fakealpaca.Config{Now: time.Now, Seed: 3})
	venue.SetUnlimited()
	for name, price := range map[string]string{"AAPL": "200", "MSFT": "400", "BTC/USD": "50000"} {
		venue.SetQuote(name, price, price)
		f.price(market.Symbol{Venue: "alpaca", Name: name}, price)
	}
	f.orders = func() int { return len(venue.Truth().Orders) }
	f.trade = func(id string, quantity decimal.Decimal) { venue.Trade(id, quantity) }
	hosts := f.serve("alpaca.test:80", venue, fakealpaca.Changes)
	b, err := alpaca.New(hosts, alpaca.Config{
		Keys: stocks.NewKeys(fakealpaca.KeyID, fakealpaca.Secret), URL: "http://alpaca.test", DataURL: "http://alpaca.test", Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	return f.start(b, "alpaca", false, func(p *guard.Policy) {
		short := p.Limits
		short.AllowShort = true
		p.Symbols = map[market.Symbol]guard.Limits{{Venue: "alpaca", Name: "MSFT"}: short}
	})
}

// call calls a tool.
func (f *floor) call(name, arguments string) (text string, isError bool) {
	f.t.Helper()
	caller := principal.Caller{Subject: "owner", Key: "token", Client: "agent", Scope: principal.Trade}
	result, err := f.tools.Call(f.t.Context(), caller, name, json.RawMessage(f.named(arguments)))
	if err != nil {
		f.t.Fatal(err)
	}
	return string(result.Content[0].Text), result.IsError
}

// named replaces the names of orders by their IDs.
func (f *floor) named(text string) string {
	for name, id := range f.ids {
		text = strings.ReplaceAll(text, name, id)
	}
	return text
}

// place places an order that is right, and keeps the IDs of it and its legs: HEAD, STOP and
// TARGET with the name in front.
func (f *floor) place(name, arguments string) {
	f.t.Helper()
	text, isError := f.call("place_order", f.merge(`{}`, arguments))
	var placed struct {
		ID   string `json:"order_id"`
		Legs []struct {
			ID   string `json:"order_id"`
			Role string
		}
	}
	if err := json.Unmarshal([]byte(text), &placed); err != nil || isError {
		f.t.Fatalf("%s: %v %s", arguments, err, text)
	}
	f.ids[name+"_HEAD"] = placed.ID
	for _, leg := range placed.Legs {
		f.ids[name+"_"+map[string]string{"stop_loss": "STOP", "take_profit": "TARGET"}[leg.Role]] = leg.ID
	}
	time.Sleep(5 * time.Second)
}

// merge puts arguments over others, and both over those of a good call.
func (f *floor) merge(arguments, changes string) string {
	all := map[string]any{"symbol": f.symbol, "side": "buy", "type": "market", "quantity": json.Number("0.1")}
	if f.symbol == "AAPL" {
		all["quantity"] = json.Number("10")
	}
	for _, text := range []string{arguments, changes} {
		maps.Copy(all, f.decode(text))
	}
	maps.DeleteFunc(all, func(_ string, v any) bool { return v == "absent" })
	return encode(all)
}

func (f *floor) decode(text string) map[string]any {
	f.t.Helper()
	var all map[string]any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&all); err != nil {
		f.t.Fatalf("%s: %v", text, err)
	}
	return all
}

func encode(v any) string {
	data, _ := json.Marshal(v) // of what was decoded
	return string(data)
}

// refused is the answer to a mistake.
type refused struct {
	Code, Message, Rule, Field string
	Suggestions                []string
	Order                      *struct{ Status string }
}

// errorf reports an error of the call.
func (f *floor) errorf(format string, args ...any) {
	f.t.Helper()
	f.t.Errorf(f.name+": "+format, args...)
}

// check makes the mistake and the next call, and returns their line of the table.
func (m mistake) check(f *floor) string {
	f.t.Helper()
	if m.before != nil {
		m.before(f)
	}
	name, arguments := "place_order", f.merge(m.arguments, `{}`)
	if m.tool != "" {
		name, arguments = m.tool, m.arguments
	}
	orders, changed := f.orders(), f.changed.Load()
	text, isError := f.call(name, arguments)
	var r refused
	if err := json.Unmarshal([]byte(text), &r); err != nil || !isError {
		f.t.Fatalf("%s: it passed: %v %s", f.name, err, text)
	}
	rule := r.Rule
	if rule == "" {
		rule = r.Code
	}
	if rule != m.rule || !strings.Contains(r.Message, f.named(m.says)) {
		f.errorf("%s, want %q and %q", text, m.rule, m.says)
	}
	if r.Rule != "" && (r.Order == nil || r.Order.Status != "denied") {
		f.errorf("the refusal has no order that is denied: %s", text)
	}
	time.Sleep(2 * time.Second)
	if f.orders() != orders || f.changed.Load() != changed {
		f.errorf("the venue has %d orders more and %d requests", f.orders()-orders, f.changed.Load()-changed)
	}
	return m.line(f, rule, r, m.correct(f, name, r))
}

// correct makes the call that the answer leads to, which must pass, and returns it.
func (m mistake) correct(f *floor, name string, r refused) string {
	f.t.Helper()
	next := m.next
	if next == "" {
		if r.Field == "" || len(r.Suggestions) == 0 {
			f.t.Fatalf("%s: no suggestion: %+v", f.name, r)
		}
		var value any = json.Number(r.Suggestions[0])
		if _, err := decimal.NewFromString(r.Suggestions[0]); err != nil {
			value = r.Suggestions[0]
		}
		next = encode(map[string]any{r.Field: value})
	} else {
		m.derives(f, r)
	}
	if m.nextTool != "" {
		name = m.nextTool
	}
	arguments := f.decode(next)
	if m.tool == "" && m.nextTool == "" {
		arguments = f.decode(m.arguments)
		maps.Copy(arguments, f.decode(next))
	}
	shown := maps.Clone(arguments)
	maps.DeleteFunc(shown, func(_ string, v any) bool { return v == "absent" })
	call := encode(arguments)
	if name == "place_order" {
		extra := `{}`
		if !m.real {
			extra = `{"dry_run":true}`
		}
		call = f.merge(call, extra)
	}
	if text, isError := f.call(name, call); isError {
		f.errorf("%s is refused after %q: %s", call, r.Message, text)
	}
	if m.real || name == "cancel_order" {
		time.Sleep(5 * time.Second)
	}
	if name != "place_order" || m.nextTool != "" {
		return name + " `" + encode(shown) + "`"
	}
	return "`" + encode(shown) + "`"
}

// derives holds that the next call can be read from the answer: it has the name of every
// argument that changes, and its value.
func (m mistake) derives(f *floor, r refused) {
	f.t.Helper()
	said := append([]string{r.Message, r.Field}, r.Suggestions...)
	has := func(word string) bool {
		return slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, word) })
	}
	for name, value := range f.decode(f.named(m.next)) {
		if m.tool != "" && name == "symbol" || m.tool != "" && name == "side" { // of the order that was named
			continue
		}
		if text := fmt.Sprint(value); !has(name) || text != "absent" && text != "true" && name != m.free && !has(text) {
			f.errorf("%s %v is not in the answer %q %v", name, value, r.Message, r.Suggestions)
		}
	}
}

func (m mistake) line(f *floor, rule string, r refused, next string) string {
	said := r.Message
	for name, id := range f.ids {
		said = strings.ReplaceAll(said, id, name)
	}
	said = strings.ReplaceAll(changing.ReplaceAllString(said, "ID"), "|", `\|`)
	call := "`" + m.arguments + "`"
	if m.tool != "" {
		call = m.tool + " " + call
	}
	return fmt.Sprintf("| %s | %s | `%s` | %s | %s |\n", m.name, call, rule, said, next)
}

// mistakenProtection makes every mistaken call with a protective order and returns the tables.
func mistakenProtection(t *testing.T) string {
	t.Helper()
	var page strings.Builder
	count := 0
	for _, p := range protectionTables() {
		lines := make([]string, len(p.calls))
		t.Run(p.title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(openDay()))
				f := p.open(t)
				for i, m := range p.calls {
					f.name = m.name
					lines[i] = m.check(f)
				}
			})
		})
		count += len(p.calls)
		fmt.Fprintf(&page, "\n### %s\n\n%s\n\n| Mistake | Call | Rule | Answer | Next call |\n|---|---|---|---|---|\n%s", p.title, p.about, strings.Join(lines, ""))
	}
	if count < 40 {
		t.Errorf("%d calls, want 40 or more", count)
	}
	return page.String()
}
