package app

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/access/oauth"
	"candela/internal/access/owners"
	"candela/internal/config"
	"candela/internal/kit/lifecycle"
	"candela/internal/kit/principal"
	"candela/internal/operate/control"
	"candela/internal/serve/httpd"
	"candela/internal/serve/httpd/httpdtest"
	"candela/internal/store/statedir"
	fakebinance "candela/internal/testkit/fake/binance"
	"candela/internal/testkit/porttest"
	"candela/internal/trading/accounts"
	"candela/internal/trading/policy"
)

// manyServer is the program for many owners, whose tokens are their names.
type manyServer struct {
	t    *testing.T
	url  string
	home string
	side *trading
	stop func()
}

// startMany starts the program for many owners on a state directory.
func startMany(t *testing.T, home, venue string, owners []string, flags ...string) *manyServer {
	t.Helper()
	tokens := httpdtest.Tokens{}
	for _, name := range owners {
		tokens[name] = principal.Caller{Subject: principal.Owner(name), Key: oauth.HashOf(name).Hex(), ClientKey: "client", Scope: principal.Trade, Expires: time.Now().Add(time.Hour)}
	}
	return startServer(t, home, venue, tokens, append(manyFlags(t), flags...)...)
}

// startServer is startTradingFor that also returns the trading side.
func startServer(t *testing.T, home, venue string, tokens httpdtest.Tokens, flags ...string) *manyServer {
	t.Helper()
	s := &manyServer{t: t, home: home}
	port := porttest.Free(t)
	cfg, err := LoadConfig(config.Input{Args: append([]string{"--serve", "--trade", "--port", port, "--home", home, "--binance-url", venue, "--shutdown-timeout", "5m"}, flags...)})
	if err != nil {
		t.Fatal(err)
	}
	services := Wired()
	var kept Runtime
	services.Serve = func(rt Runtime) (parts []lifecycle.Part, err error) {
		kept = rt
		parts, s.side, _, err = rt.listen(httpd.Authorizer(tokens), nil)
		if err != nil {
			return nil, err
		}
		socket := control.Server{Home: home, Locked: true, Trader: s.side.trader(), Trades: s.side.tradeCommands(rt), ManyOwners: true, Status: s.side.statusOf(rt, nil), ApplyPolicy: s.side.applyPolicy(), Log: rt.Log}
		return append([]lifecycle.Part{{Name: "control", Run: socket.Attempt}}, parts...), nil
	}
	s.url, s.stop = "http://127.0.0.1:"+port, runUntil(t, cfg, services)
	if err := storeTokens(kept, tokens); err != nil {
		t.Fatal(err)
	}
	return s
}

// runUntil starts the program and returns when it is ready. The function that it returns ends it.
func runUntil(t *testing.T, cfg *config.Config, services Services) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done, ready := make(chan error, 1), make(chan struct{})
	go func() {
		done <- Run(ctx, cfg, Deps{Version: "test", Stderr: &signalOn{text: "msg=ready", found: ready}, Services: services})
	}()
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

// call calls a tool for an owner and returns the answer.
func (s *manyServer) call(owner, tool, arguments string) string {
	s.t.Helper()
	status, text := ask(s.t, http.MethodPost, s.url+"/mcp", owner, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments))
	if status != http.StatusOK {
		s.t.Fatalf("%s: %d %s", tool, status, text)
	}
	return text
}

// want calls a tool and demands that the answer has some texts and lacks those with a minus sign.
func (s *manyServer) want(owner, tool, arguments string, texts ...string) {
	s.t.Helper()
	got := s.call(owner, tool, arguments)
	for _, text := range texts {
		text, lacks := strings.CutPrefix(text, "-")
		if strings.Contains(strings.ReplaceAll(got, `\"`, `"`), text) == lacks {
			s.t.Errorf("%s answers %s without %q as wanted: %s", tool, owner, text, got)
		}
	}
}

// noOrders waits until an owner has no open order.
func (s *manyServer) noOrders(owner string) {
	s.t.Helper()
	waitFor(s.t, func() bool { return strings.Contains(s.call(owner, "get_orders", `{"filter":"open"}`), `"text":"[]"`) })
}

// steadyVenue starts a venue where BTCUSDT stays at 52000 and ETHUSDT at 3000: the usual prices
// depend on the date.
func steadyVenue(t *testing.T) (url string) {
	t.Helper()
	venue := fakebinance.New(fakebinance.Config{Seed: 1})
	venue.Fix("BTCUSDT", decimal.NewFromInt(52_000), decimal.NewFromInt(1000))
	venue.Fix("ETHUSDT", decimal.NewFromInt(3000), decimal.NewFromInt(1000))
	server := httptest.NewServer(venue)
	t.Cleanup(server.Close)
	return server.URL
}

// buyLow is an order that rests at such a venue.
const buyLow = `{"symbol":"BTCUSDT","side":"buy","type":"limit","price":51500,"quantity":0.01,"idempotency_key":"low"}`

// buyMarket returns an order that fills, another for each number.
func buyMarket(n int) string {
	return fmt.Sprintf(`{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":%.3f}`, float64(n)/1000)
}

// TestAccounts_FollowThePolicyOfTheHost holds that a policy that is applied reaches the accounts of
// all owners, also of those who call later.
func TestAccounts_FollowThePolicyOfTheHost(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "home")
	s := startMany(t, home, steadyVenue(t), []string{"ann", "bob"}, "--toolsets", "account")
	s.want("ann", "place_order", buyMarket(1), `"status":"filled"`)
	apply := func(text string) (policy.Status, error) {
		if err := os.WriteFile(filepath.Join(home, statedir.PolicyName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		now, reached, err := control.ApplyPolicy(t.Context(), home)
		if !reached {
			t.Fatal("no program was reached")
		}
		return now, err
	}
	if now, err := apply("max_order_quantity = 0.001"); err != nil || !slices.Contains(now.Changes, "max_order_quantity: 0.001, was none") {
		t.Fatalf("%+v, %v", now, err)
	}
	for _, owner := range []string{"ann", "bob"} { // one is awake, the other not yet
		s.want(owner, "place_order", buyMarket(2), "max_order_quantity")
	}
	if _, err := apply("max_order_quantity = ="); err == nil || !strings.Contains(err.Error(), "Nothing was changed") {
		t.Errorf("a broken policy: %v", err)
	}
	s.want("ann", "place_order", buyMarket(3), "max_order_quantity")
	s.stop()
}

// TestAccounts_EachOwnerHasOne trades for two owners at one program: each has orders, positions,
// money and halts of its own, also after a restart.
func TestAccounts_EachOwnerHasOne(t *testing.T) {
	t.Parallel()
	venue := steadyVenue(t)
	home, owners := filepath.Join(t.TempDir(), "home"), []string{"ann", "bob", "carl", accountOwner}
	s := startMany(t, home, venue, owners, "--toolsets", "account")
	s.want("ann", "place_order", buyMarket(1), `"status":"filled"`, `"mode":"paper"`)
	s.want("ann", "get_positions", `{}`, `"quantity"`, "BTCUSDT")
	s.want("bob", "get_positions", `{}`, "-BTCUSDT", `-"isError":true`)
	s.want("bob", "get_orders", `{}`, "-BTCUSDT", `-"isError":true`)
	s.want("bob", "place_order", buyLow, `"status":"accepted"`)
	s.want("ann", "place_order", buyLow, `"status":"accepted"`) // the key is its own
	order := part(t, s.call("bob", "get_orders", `{"filter":"open"}`), `order_id\\?":\\?"([^"\\]+)`)
	const never = "0198f3c2-0000-7000-8000-000000000000"
	if got, want := s.call("ann", "cancel_order", `{"order_id":"`+order+`"}`), s.call("ann", "cancel_order", `{"order_id":"`+never+`"}`); strings.ReplaceAll(got, order, never) != want {
		t.Errorf("ann cancels bob's order: %s\none that never was: %s", got, want)
	}
	s.want("bob", "get_account", `{"receipt":"`+order+`"}`, "candela.order", order, "sha256:", "-100000")
	if got, want := s.call("ann", "get_account", `{"receipt":"`+order+`"}`), s.call("ann", "get_account", `{"receipt":"`+never+`"}`); strings.ReplaceAll(got, order, never) != want {
		t.Errorf("ann asks for the receipt of bob's order: %s\none that never was: %s", got, want)
	}
	s.want("bob", "get_account", `{}`, `"trading_state":"ACTIVE"`, "100000")
	s.want("ann", "get_account", `{}`, `"trading_state":"ACTIVE"`)
	// Nobody is the operator, whatever the name.
	s.want(accountOwner, "place_order", buyLow, "not_your_account")

	all := s.side.accounts.Load()
	if _, err := all.HaltOwner(t.Context(), "bob", "candela halt", "as agreed", false); err != nil {
		t.Fatal(err)
	}
	s.want("bob", "place_order", buyMarket(2), "host_owner_halt", "as agreed")
	s.noOrders("bob")
	s.want("ann", "place_order", `{"symbol":"BTCUSDT","side":"buy","type":"limit","price":51501,"quantity":0.01}`, `"status":"accepted"`)
	s.stop()

	s = startMany(t, home, venue, owners, "--toolsets", "account")
	all = s.side.accounts.Load()
	waitFor(t, func() bool { return all.Status().Open == 2 && all.Awake() == 1 }) // ann's; bob has nothing open and sleeps
	s.want("ann", "get_positions", `{}`, "BTCUSDT")
	s.want("bob", "place_order", buyMarket(3), "host_owner_halt", "as agreed")
	s.want("carl", "place_order", buyMarket(4), `"status":"filled"`)
	if _, err := all.ResumeOwner(t.Context(), "bob", "candela resume"); err != nil {
		t.Fatal(err)
	}
	s.want("bob", "place_order", buyMarket(5), `"status":"filled"`)
	s.haltsForAll(all)
	s.stop()
}

// haltsForAll halts all accounts and resumes them, and suspends one.
func (s *manyServer) haltsForAll(all *accounts.Accounts) {
	t := s.t
	t.Helper()
	if state, err := s.side.orders.Halt(t.Context(), "candela halt", "all stop"); err != nil || state.Level().String() != "HALTED" {
		t.Errorf("%+v, %v", state, err)
	}
	for _, name := range []string{"ann", "bob", "carl"} {
		s.want(name, "place_order", buyMarket(6), "host_halt", "all stop")
	}
	s.noOrders("ann")
	if _, err := s.side.orders.Resume(t.Context(), "candela resume"); err != nil {
		t.Fatal(err)
	}
	s.want("ann", "place_order", buyMarket(7), `"status":"filled"`)
	s.want("bob", "place_order", `{"symbol":"BTCUSDT","side":"buy","type":"limit","price":51502,"quantity":0.01}`, `"status":"accepted"`)
	if err := s.side.standing(t.Context(), "bob", owners.Standing{State: owners.Suspended}); err != nil {
		t.Fatal(err)
	}
	s.noOrders("bob")
	s.want("bob", "place_order", buyMarket(8), "host_halt", "suspended")
	if err := s.side.standing(t.Context(), "bob", owners.Standing{State: owners.Active}); err != nil {
		t.Fatal(err)
	}
	s.want("bob", "place_order", buyMarket(9), `"status":"filled"`)
	if err := all.Drop(t.Context(), "ann"); err != nil {
		t.Error(err)
	}
}
