package app

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/internal/serve/httpd/httpdtest"
	fakebinance "candela/internal/testkit/fake/binance"
)

// perpetualVenue is a venue whose perpetual future stands at 50,000 until it is moved.
func perpetualVenue(t *testing.T) (url string, move func(price string)) {
	t.Helper()
	server := fakebinance.New(fakebinance.Config{Seed: 1, Step: 100 * time.Millisecond})
	move = func(price string) {
		server.Fix("BTCUSDT.P", decimal.RequireFromString(price), decimal.NewFromInt(100))
	}
	move("50000")
	venue := httptest.NewServer(server)
	t.Cleanup(venue.Close)
	return venue.URL, move
}

const shortLaws = "max_leverage = 5\nallow_short = true\nmax_orders_per_minute = \"none\"\nprice_band_pct = \"none\"\n"

// TestPerpetual_OwnersAreApart lets two owners of one server be short and long in the same future. The short is
// liquidated: the other owner neither pays for it nor hears of it.
func TestPerpetual_OwnersAreApart(t *testing.T) {
	t.Parallel()
	venue, move := perpetualVenue(t)
	expires := time.Now().Add(time.Hour)
	flags := append(manyFlags(t), "--policy", ownPolicy(t, shortLaws), "--toolsets", "account")
	url, stop := startTradingFor(t, filepath.Join(t.TempDir(), "home"), venue, httpdtest.Tokens{
		"ann": {Subject: "ann", Key: "ann's", ClientKey: "client", Scope: principal.Trade, Expires: expires},
		"bob": {Subject: "bob", Key: "bob's", ClientKey: "client", Scope: principal.Trade, Expires: expires},
	}, flags...)
	defer stop()
	call := func(token, tool, arguments string) string {
		t.Helper()
		status, text := ask(t, http.MethodPost, url+"/mcp", token, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments))
		if status != http.StatusOK {
			t.Fatalf("%s: %d %s", tool, status, text)
		}
		return strings.ReplaceAll(text, `\"`, `"`)
	}
	var held string
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(held)
		}
	})
	for token, side := range map[string]string{"ann": "sell", "bob": "buy"} {
		order := fmt.Sprintf(`{"symbol":"BTCUSDT.P","side":%q,"type":"market","quantity":0.1,"idempotency_key":"one"}`, side)
		waitFor(t, func() bool { return strings.Contains(call(token, "place_order", order), `"status":"filled"`) })
		waitFor(t, func() bool {
			held = call(token, "get_positions", `{}`)
			return strings.Contains(held, `"side":"`+side+`"`) && strings.Contains(held, `"leverage":"5"`)
		})
	}
	move("60500")
	waitFor(t, func() bool { return strings.Contains(call("ann", "get_trades", `{}`), `"reason":"liquidation"`) })
	waitFor(t, func() bool {
		return strings.Contains(call("ann", "get_account", `{}`), `liquidated (binance:BTCUSDT.P)`)
	})
	if held = call("ann", "get_positions", `{}`); strings.Contains(held, `"quantity"`) {
		t.Errorf("ann still holds %s", held)
	}
	if trades := call("bob", "get_trades", `{}`); strings.Contains(trades, `"reason":`) {
		t.Errorf("bob has trades of ann: %s", trades)
	}
	if account := call("bob", "get_account", `{}`); !strings.Contains(account, `"trading_state":"ACTIVE"`) || strings.Contains(account, "liquidated") {
		t.Errorf("the liquidation of ann's reaches bob: %s", account)
	}
	order := `{"symbol":"BTCUSDT.P","side":"sell","type":"market","quantity":0.1,"reduce_only":true,"idempotency_key":"two"}`
	waitFor(t, func() bool { return strings.Contains(call("bob", "place_order", order), `"status":"filled"`) })
	if trades := call("bob", "get_trades", `{}`); !strings.Contains(trades, `"reason":"exit"`) || strings.Contains(trades, `"reason":"liquidation"`) {
		t.Errorf("bob's trades are %s", trades)
	}
}

// TestCluster_AShortIsTakenOver ends the replica that trades while a short with a stop is held. The next one has
// the position, its margin and its stop, which closes it once.
func TestCluster_AShortIsTakenOver(t *testing.T) {
	t.Parallel()
	venue, move := perpetualVenue(t)
	c := newCast(t, "--trade", "--binance-url", venue, "--toolsets", "account")
	a, b := c.startWith(shortLaws), c.startWith(shortLaws)
	token := a.Token()
	plain := func(text string) string { return strings.ReplaceAll(text, `\"`, `"`) }
	n := 0
	waitFor(t, func() bool {
		n++
		order := fmt.Sprintf(`{"symbol":"BTCUSDT.P","side":"sell","type":"market","quantity":0.1,"stop_loss":51500,"idempotency_key":"%d"}`, n)
		_, text := ask(t, http.MethodPost, a.url+"/mcp", token, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"place_order","arguments":`+order+`}}`)
		return strings.Contains(plain(text), `"status":"filled"`)
	})
	figures := func(text string) string {
		_, rest, _ := strings.Cut(plain(text), `"margin":`)
		figure, _, _ := strings.Cut(rest, `,`)
		return figure
	}
	var before string
	waitFor(t, func() bool {
		before = figures(useAgain(t, b.url, token, "get_positions", `{}`))
		return before != ""
	})
	a.stop()
	waitFor(t, func() bool {
		held := plain(useAgain(t, b.url, token, "get_positions", `{}`))
		return figures(held) == before && strings.Contains(held, `"side":"sell"`) && strings.Contains(held, `"quantity":"0.1"`) && strings.Contains(held, "51500")
	})
	// The account's market opens with the replica: the stop sees prices from then on.
	waitFor(t, func() bool {
		move("51600")
		return strings.Contains(plain(useAgain(t, b.url, token, "get_trades", `{}`)), `"reason":"stop"`)
	})
	if trades := plain(useAgain(t, b.url, token, "get_trades", `{}`)); strings.Count(trades, `"order_id"`) != 1 || !strings.Contains(trades, `"quantity":"0.1"`) {
		t.Errorf("the trades are %s", trades)
	}
}
