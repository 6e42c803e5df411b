package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/access/oauth"
	"candela/internal/access/oauth/oauthtest"
	"candela/internal/access/owner"
	"candela/internal/config"
	"candela/internal/data/marketdata/marketdatatest"
	"candela/internal/kit/principal"
	"candela/internal/operate/status"
	"candela/internal/serve/console"
	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
	"candela/internal/store"
	"candela/internal/store/statedir"
	"candela/internal/testkit/longtest"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/desk"
	"candela/internal/trading/desk/desktest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/chart"
	"candela/lib/market"
)

// figures is an account whose numbers are read in every way that the program has.
type figures struct {
	t      *testing.T
	rng    *rand.Rand
	home   string
	name   string // of the account
	venue  *brokertest.Memory
	market *desktest.Market
	price  decimal.Decimal

	adjustedCash decimal.Decimal // what came without a trade counts as paid with it

	store store.Store
	desk  *desk.Desk
	tools *tool.Registry
	stop  func()
}

// shownFigures are the numbers of a position, "" where a way does not show one.
type shownFigures struct{ quantity, entry, unrealised string }

func num(text string) decimal.Decimal { return decimal.RequireFromString(text) }

func (f *figures) caller() principal.Caller {
	return principal.Caller{Subject: principal.Owner(f.name), Key: "token", Scope: principal.Trade}
}

// start opens the store and runs a desk on it.
func (f *figures) start() {
	f.t.Helper()
	var err error
	if f.store, err = StoreAt(f.home).Open(f.t.Context(), f.home, time.Now); err != nil {
		f.t.Fatal(err)
	}
	policy := guard.Default()
	off := guard.Limit{Off: true}
	policy.MaxOrdersPerMinute, policy.MaxOrderNotional, policy.MaxSymbolExposure, policy.MaxExposure, policy.MaxDailyNotional, policy.MaxDailyLoss = off, off, off, off, off, off
	policy.DuplicateWindow, policy.AllowShort = 0, true
	f.desk = desk.New(desk.Config{
		Owner: principal.Owner(f.name), OwnerAliases: []principal.Owner{accountOwner}, Broker: f.venue, Store: f.store, Market: f.market, Policy: policy, AssetBalances: true,
		Resolve: func(context.Context, market.Symbol) (market.Symbol, error) { return brokertest.MemorySymbol(), nil },
		Log:     slog.New(slog.DiscardHandler), Now: time.Now, Rand: f.rng.Float64,
	})
	parts := (&tooltest.Trading{}).Parts()
	parts.Orders, parts.Positions, parts.Account = f.desk, f.desk, f.desk
	if f.tools, err = tool.New(tool.Config{Charting: tooltest.Charts(marketdatatest.Bars{}, chart.NewRenderer(), parts), Trading: parts, Toolsets: []string{tool.AccountSet}, Log: slog.New(slog.DiscardHandler)}); err != nil {
		f.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(f.t.Context())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- f.desk.Run(ctx, ctx, func() { close(ready) }) }()
	<-ready
	f.stop = func() {
		f.stop = func() {}
		cancel()
		if err := <-done; err != nil {
			f.t.Error(err)
		}
		if err := f.store.Close(); err != nil {
			f.t.Error(err)
		}
	}
	time.Sleep(20 * time.Second) // it reads what happened at the venue meanwhile
}

// call calls a tool and decodes its answer.
func (f *figures) call(name, arguments string, into any) {
	f.t.Helper()
	result, err := f.tools.Call(f.t.Context(), f.caller(), name, json.RawMessage(arguments))
	if err != nil {
		f.t.Fatal(err)
	}
	if result.IsError {
		f.t.Fatalf("%s %s: %s", name, arguments, result.Content[0].Text)
	}
	if err := json.Unmarshal(result.Content[0].Text, into); err != nil {
		f.t.Fatal(err)
	}
}

// trade lets something happen to the account.
func (f *figures) trade() {
	f.t.Helper()
	if f.rng.IntN(3) == 0 {
		f.price = decimal.NewFromInt(40_000 + f.rng.Int64N(2_000_000)).Shift(-2).Add(num("20000"))
		f.venue.SetPrice(f.price)
		f.market.Set(brokertest.MemorySymbol(), order.Quote{Last: f.price})
	}
	side, quantity := order.Buy, decimal.New(100+f.rng.Int64N(50_000), -5)
	if f.rng.IntN(2) == 0 {
		side = order.Sell
	}
	if held := f.book().Position(brokertest.MemorySymbol()).Quantity; f.rng.IntN(4) == 0 && held.Abs().GreaterThan(num("0.001")) {
		side, quantity = order.Sell, held.Abs().Truncate(5) // close all that can be
		if held.IsNegative() {
			side = order.Buy
		}
	}
	if f.rng.IntN(5) == 0 {
		f.venue.Place(order.Spec{ID: fmt.Sprint("web_", f.rng.Uint64()), Symbol: brokertest.MemorySymbol(), Side: side, Type: order.Market, Quantity: quantity})
	} else {
		var placed struct{ Status string }
		f.call("place_order", fmt.Sprintf(`{"symbol":"BTCUSDT","side":%q,"type":"market","quantity":%s}`, side, quantity), &placed)
		if placed.Status != "filled" {
			f.t.Fatalf("%v %v is %s", side, quantity, placed.Status)
		}
		return
	}
	time.Sleep(2 * time.Second) // for the report
}

// book returns what the stored events make.
func (f *figures) book() *order.Book {
	f.t.Helper()
	_, b, err := desk.LoadStored(f.t.Context(), f.store, principal.Owner(f.name))
	if err != nil {
		f.t.Fatal(err)
	}
	return b
}

// adjust changes the position without a trade, while no desk runs.
func (f *figures) adjust() {
	f.t.Helper()
	kept, err := StoreAt(f.home).Open(f.t.Context(), f.home, time.Now)
	if err != nil {
		f.t.Fatal(err)
	}
	quantity := decimal.New(1+f.rng.Int64N(1000), -4)
	e := order.Event{Kind: order.KindAdjusted, At: time.Now().UTC().Truncate(time.Microsecond), Adjustment: &order.Adjustment{Symbol: brokertest.MemorySymbol(), Quantity: quantity, Price: f.price}}
	if _, err := kept.AppendEvents(f.t.Context(), f.caller(), []order.Event{e}); err != nil {
		f.t.Fatal(err)
	}
	if err := kept.Close(); err != nil {
		f.t.Fatal(err)
	}
	f.venue.Move("BTC", quantity)
	f.adjustedCash = f.adjustedCash.Add(quantity.Mul(f.price))
}

// atConsole is the desk as the console sees it.
type atConsole struct{ *desk.Desk }

func (a atConsole) Status(context.Context) (desk.Status, []string, bool) {
	return a.Desk.Status(), nil, true
}

// page returns the page of orders and positions of the console.
func (f *figures) page() string {
	f.t.Helper()
	const base = "http://127.0.0.1:1"
	logins, err := oauth.New(oauth.NewMemory(oauth.MaxTokens), oauthtest.Owner(f.t), oauth.Config{BaseURL: base, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.t.Fatal(err)
	}
	handler, err := console.New(console.Config{
		Owner: owner.New(logins, time.Now), BaseURL: base, Log: slog.New(slog.DiscardHandler), Now: time.Now,
		Ports: console.Ports{Account: atConsole{f.desk}, Prices: f.market},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	cookies := map[string]*http.Cookie{}
	do := func(method, path string, form url.Values) string {
		r := httptest.NewRequestWithContext(f.t.Context(), method, base+path, strings.NewReader(form.Encode()))
		r.Header.Set("Origin", base)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for _, c := range cookies {
			r.AddCookie(c)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		for _, c := range w.Result().Cookies() {
			cookies[c.Name] = c
		}
		return w.Body.String()
	}
	token := regexp.MustCompile(`name="token" value="([^"]+)"`).FindStringSubmatch(do(http.MethodGet, "/console/login", nil))
	do(http.MethodPost, "/console/login", url.Values{"token": {token[1]}, "passphrase": {oauthtest.Passphrase}})
	return do(http.MethodGet, "/console/orders", nil)
}

// check compares the numbers with each other and with what the venue has, to the last digit.
func (f *figures) check() {
	f.t.Helper()
	p := f.book().Position(brokertest.MemorySymbol())
	f.addsUp(p)
	running := f.byTool(p)
	if c := f.byConsole(); c.quantity != running.quantity || !near(c.entry, running.entry, "0.005") || !near(c.unrealised, running.unrealised, "0.005") {
		f.t.Errorf("the console shows %+v, get_positions %+v", c, running)
	}
	f.stop()
	stored, err := Commands(&config.Config{Home: f.home}, io.Discard).ReadStatus(f.t.Context())
	if err != nil || len(stored.Accounts) != 1 {
		f.t.Fatalf("the stored status is %+v, %v", stored, err)
	}
	var status shownFigures
	if all := stored.Accounts[0].Positions; len(all) > 0 {
		status = signedFigures(all[0].Side, all[0].Quantity, all[0].Entry, "")
	}
	if status.quantity != running.quantity || !near(status.entry, running.entry, "0.00000001") {
		f.t.Errorf("the stored status shows %+v, get_positions %+v", status, running)
	}
}

// addsUp compares a position and the account with the balances of the venue.
func (f *figures) addsUp(p order.Position) {
	f.t.Helper()
	holdings, err := f.venue.Holdings(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	has := map[string]decimal.Decimal{}
	for _, h := range holdings {
		has[h.Asset] = h.Quantity
	}
	beside := p.FeesBeside()
	for asset, want := range map[string]decimal.Decimal{
		"BTC": num("1000").Add(p.Quantity).Sub(beside["BTC"]), "BNB": num("1000").Sub(beside["BNB"]), "USDT": num("1000000").Add(p.Cash()).Add(f.adjustedCash).Sub(beside["USDT"]),
	} {
		if !has[asset].Equal(want) {
			f.t.Errorf("the venue has %v %s, the position makes it %v", has[asset], asset, want)
		}
	}
	var account struct {
		Equity string
		Earned map[string]struct {
			Realised string `json:"realized_pnl"`
		}
	}
	f.call("get_account", `{}`, &account)
	if all := account.Earned["all"]; !num(all.Realised).Equal(p.Realised) {
		f.t.Errorf("get_account says that %s was earned, the position %v", all.Realised, p.Realised)
	}
	f.trades(p)
	earned := p.Realised.Add(p.Unrealised(f.price)).Sub(p.FeesWorth).Sub(beside["USDT"]).Sub(beside["BTC"].Mul(f.price))
	if want := num("1000000").Add(num("1000").Mul(f.price)).Add(f.adjustedCash).Add(earned); !num(account.Equity).Equal(want) {
		f.t.Errorf("get_account has an equity of %s, the position makes it %v", account.Equity, want)
	}
}

// trades compares the sum of get_trades with the position.
func (f *figures) trades(p order.Position) {
	f.t.Helper()
	var list struct {
		Trades []struct {
			Realised string `json:"realized_pnl"`
		}
		Sums []struct {
			Currency, Net, Fees string
			Realised            string `json:"realized_pnl"`
		}
		More struct{ Left int }
	}
	f.call("get_trades", `{"limit":100}`, &list)
	var sum decimal.Decimal
	for _, one := range list.Trades {
		sum = sum.Add(num(one.Realised))
	}
	switch {
	case len(list.Trades) == 0 && p.Realised.IsZero():
	case len(list.Sums) != 1 || list.Sums[0].Currency != "USDT" || !num(list.Sums[0].Realised).Equal(p.Realised) || !num(list.Sums[0].Net).Equal(p.Realised.Sub(num(list.Sums[0].Fees))):
		f.t.Errorf("get_trades sums to %+v, the position has %v", list.Sums, p.Realised)
	case list.More.Left == 0 && !sum.Equal(p.Realised):
		f.t.Errorf("the trades make %v, the position has %v", sum, p.Realised)
	}
}

// byTool returns what get_positions shows, which is the position, and compares the status with it.
func (f *figures) byTool(p order.Position) shownFigures {
	f.t.Helper()
	var all []struct {
		Side        string
		Quantity    json.Number
		Entry       json.Number `json:"entry_price"`
		Unrealized  json.Number `json:"unrealized_pnl"`
		RealizedPnL string      `json:"realized_pnl"`
	}
	f.call("get_positions", `{}`, &all)
	held, err := f.desk.Positions(f.t.Context(), f.caller())
	if err != nil || len(held) != len(all) || (len(all) == 0) != p.Quantity.IsZero() {
		f.t.Fatalf("%+v and %+v of %v, %v", all, held, p.Quantity, err)
	}
	if len(all) == 0 {
		return shownFigures{}
	}
	shown := signedFigures(all[0].Side, all[0].Quantity.String(), all[0].Entry.String(), all[0].Unrealized.String())
	entry, _ := p.Average()
	if !num(shown.quantity).Equal(p.Quantity) || !num(shown.entry).Equal(entry) || !num(shown.unrealised).Equal(p.Unrealised(f.price)) || !num(all[0].RealizedPnL).Equal(p.Realised.Sub(p.Earlier.Realised)) {
		f.t.Errorf("get_positions has %+v, the stored position is %+v", all[0], p)
	}
	status := status.Position(held[0], nil)
	if s := signedFigures(status.Side, status.Quantity, status.Entry, status.Unrealized); s.quantity != shown.quantity || s.unrealised != shown.unrealised || !near(s.entry, shown.entry, "0.00000001") {
		f.t.Errorf("the status shows %+v, get_positions %+v", s, shown)
	}
	return shown
}

// byConsole returns what the console shows.
func (f *figures) byConsole() shownFigures {
	f.t.Helper()
	plain := strings.NewReplacer(",", "", "\u2212", "-", "&#43;", "")
	cell := regexp.MustCompile(`<td class="num[^>]*>(?:<[^>]*>)?([^ <]*)`)
	_, rows, found := strings.Cut(f.page(), `data-part="positions"`)
	if !found {
		f.t.Fatal("the console shows no positions")
	}
	_, row, found := strings.Cut(rows, `<span class="sym">BTCUSDT`)
	if !found {
		return shownFigures{}
	}
	row, _, _ = strings.Cut(row, "</tr>")
	cells := cell.FindAllStringSubmatch(row, -1)
	if len(cells) != 6 {
		f.t.Fatalf("the row has %q", cells)
	}
	return shownFigures{plain.Replace(cells[0][1]), plain.Replace(cells[1][1]), plain.Replace(cells[5][1])}
}

func signedFigures(side, quantity, entry, unrealised string) shownFigures {
	if side == "sell" {
		quantity = "-" + quantity
	}
	return shownFigures{quantity, entry, unrealised}
}

// near reports whether two numbers are equal but for rounding.
func near(a, b, by string) bool {
	if a == "" || b == "" {
		return a == b
	}
	return num(a).Sub(num(b)).Abs().LessThanOrEqual(num(by))
}

// TestFigures_AddUpInEveryView trades at random, with fees in the asset, its currency and a third
// one, below zero too, with orders from elsewhere, adjustments and restarts. What the venue has, the
// position, get_positions, get_account, the status with and without a program and the console agree.
func TestFigures_AddUpInEveryView(t *testing.T) {
	t.Parallel()
	for n := range longtest.Pick(uint64(4), 40) {
		seed := longtest.Seed() + n
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &figures{
					t: t, rng: rand.New(rand.NewPCG(seed, 31)), home: filepath.Join(t.TempDir(), "home"), name: accountNames()[0],
					venue: brokertest.NewMemory(), market: &desktest.Market{}, price: num("50000"),
				}
				if err := statedir.Open(f.home); err != nil {
					t.Fatal(err)
				}
				f.stop = func() {}
				defer func() { f.stop() }() // after a failure
				f.venue.Move("BNB", num("1000"))
				f.venue.Move("BTC", num("1000")) // from before, so that more can be sold than was bought
				f.venue.FeesIn("BTC", "USDT", "BNB", "BTC", "BTC")
				f.market.Set(brokertest.MemorySymbol(), order.Quote{Last: f.price})
				for range longtest.Pick(4, 12) {
					f.start()
					for range 1 + f.rng.IntN(12) {
						f.trade()
					}
					f.check()
					if f.rng.IntN(2) == 0 {
						f.adjust()
					}
				}
			})
		})
	}
}
