package alpaca_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestRefusals holds the venue's answers to orders that it does not take. AAPL stands at 100,
// 10 of MSFT are held and 5 of TSLA are sold short.
func TestRefusals(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	c.SetQuote("MSFT", "100", "100")
	c.SetQuote("TSLA", "100", "100")
	c.SetQuote("BTC/USD", "50000", "50000")
	c.must(t, "MSFT", "buy", "10")
	c.must(t, "TSLA", "sell", "5")
	legs := func(class, target, stop string) string {
		out := fmt.Sprintf(`"order_class":%q`, class)
		if target != "" {
			out += `,"take_profit":{"limit_price":"` + target + `"}`
		}
		if stop != "" {
			out += `,"stop_loss":{"stop_price":"` + stop + `"}`
		}
		return out
	}
	for name, tc := range map[string]struct {
		symbol, side, kind, quantity, more string
		status, code                       int
		words                              string
	}{
		"a type of nothing":                   {"AAPL", "buy", "iceberg", "1", ``, 422, 40010001, "invalid order type"},
		"a stop without a trigger":            {"AAPL", "buy", "stop", "1", ``, 422, 40010001, "stop orders require a stop price"},
		"a stop with a limit":                 {"AAPL", "buy", "stop", "1", `"stop_price":"110","limit_price":"111"`, 422, 40010001, "stop orders require no limit price"},
		"a stop limit with one price":         {"AAPL", "buy", "stop_limit", "1", `"stop_price":"110"`, 422, 40010001, "require both stop and limit price"},
		"a limit order with a trigger":        {"AAPL", "buy", "limit", "1", `"limit_price":"90","stop_price":"80"`, 422, 40010001, "limit orders require no stop price"},
		"a market order with a trail":         {"AAPL", "buy", "market", "1", `"trail_price":"1"`, 422, 40010001, "market orders must not have trail_price"},
		"a trail of nothing":                  {"MSFT", "sell", "trailing_stop", "1", ``, 422, 40010001, "must specify one of trail_price or trail_percent"},
		"two trails":                          {"MSFT", "sell", "trailing_stop", "1", `"trail_price":"1","trail_percent":"1"`, 422, 40010001, "must specify one of"},
		"a trail with a trigger":              {"MSFT", "sell", "trailing_stop", "1", `"trail_price":"1","stop_price":"90"`, 422, 40010001, "require no stop or limit price"},
		"a trail below zero":                  {"MSFT", "sell", "trailing_stop", "1", `"trail_price":"-1"`, 422, 40010001, "trail_price must be > 0"},
		"a trail of a fraction":               {"MSFT", "sell", "trailing_stop", "1.5", `"trail_price":"1"`, 422, 42210000, "fractional"},
		"a stop that has been passed":         {"MSFT", "sell", "stop", "1", `"stop_price":"101"`, 422, 42210000, "stop price must be less than current price"},
		"a stop to buy below the market":      {"AAPL", "buy", "stop", "1", `"stop_price":"99"`, 422, 42210000, "stop price must be greater than current price"},
		"a stop in a fraction of a cent":      {"MSFT", "sell", "stop", "1", `"stop_price":"90.001"`, 422, 42210000, "invalid stop_price 90.001. sub-penny"},
		"a stop that is immediate":            {"MSFT", "sell", "stop", "1", `"stop_price":"90","time_in_force":"ioc"`, 422, 40010001, `only "day" or "gtc"`},
		"a stop outside of the hours":         {"MSFT", "sell", "stop", "1", `"stop_price":"90","extended_hours":true`, 422, 42210000, "not eligible for extended hours"},
		"a market order outside of the hours": {"AAPL", "buy", "market", "1", `"extended_hours":true`, 422, 42210000, "must be DAY or GTC limit orders"},
		"an order for the opening":            {"AAPL", "buy", "market", "1", `"time_in_force":"opg"`, 422, 40010001, "invalid time_in_force"},
		"an order for the close":              {"AAPL", "buy", "market", "1", `"time_in_force":"cls"`, 422, 40010001, "invalid time_in_force"},
		"a fraction of a stop until canceled": {"MSFT", "sell", "stop", "0.5", `"stop_price":"90","time_in_force":"gtc"`, 422, 42210000, "fractional orders must be DAY orders"},

		"a pair with a stop":       {"BTC/USD", "buy", "stop", "1", `"stop_price":"51000","time_in_force":"gtc"`, 422, 40010001, "invalid order type for crypto order"},
		"a pair with a trail":      {"BTC/USD", "buy", "trailing_stop", "1", `"trail_price":"1","time_in_force":"gtc"`, 422, 40010001, "invalid order type for crypto order"},
		"a pair with legs":         {"BTC/USD", "buy", "market", "1", `"time_in_force":"gtc",` + legs("bracket", "51000", "49000"), 422, 42210000, "advanced order_class: otoco"},
		"a pair for the day":       {"BTC/USD", "buy", "stop_limit", "1", `"stop_price":"51000","limit_price":"52000"`, 422, 42210000, "invalid crypto time_in_force"},
		"a pair in one or nothing": {"BTC/USD", "buy", "market", "1", `"time_in_force":"fok"`, 422, 42210000, "invalid crypto time_in_force"},

		"a class of nothing":           {"AAPL", "buy", "market", "1", legs("ladder", "110", "90"), 422, 40010001, "invalid order_class"},
		"a bracket without a target":   {"AAPL", "buy", "market", "1", legs("bracket", "", "90"), 422, 40010001, "bracket orders require take_profit.limit_price"},
		"a bracket without a stop":     {"AAPL", "buy", "market", "1", legs("bracket", "110", ""), 422, 40010001, "bracket orders require stop_loss.stop_price"},
		"a bracket with a trail":       {"AAPL", "buy", "market", "1", legs("bracket", "110", "") + `,"stop_loss":{"trail_percent":"10"}`, 422, 40010001, "bracket orders require stop_loss.stop_price"},
		"a bracket that is immediate":  {"AAPL", "buy", "market", "1", `"time_in_force":"ioc",` + legs("bracket", "110", "90"), 422, 40010001, `bracket orders support only "day" or "gtc" time_in_force`},
		"a bracket outside the hours":  {"AAPL", "buy", "limit", "1", `"limit_price":"99","extended_hours":true,` + legs("bracket", "110", "90"), 403, 40310000, "bracket orders do not support extended hours trading"},
		"a bracket of a fraction":      {"AAPL", "buy", "market", "0.5", legs("bracket", "110", "90"), 422, 42210000, "fractional orders must be simple orders"},
		"an oto of a fraction":         {"AAPL", "buy", "market", "0.5", legs("oto", "", "90"), 422, 42210000, "fractional orders must be simple orders"},
		"a bracket that closes":        {"MSFT", "sell", "market", "1", legs("bracket", "90", "110"), 422, 42210000, "bracket orders must be entry orders"},
		"a bracket that covers":        {"TSLA", "buy", "market", "1", legs("bracket", "110", "90"), 422, 42210000, "bracket orders must be entry orders"},
		"an oto that closes":           {"MSFT", "sell", "market", "1", legs("oto", "", "110"), 422, 42210000, "oto orders must be entry orders"},
		"an oto with both":             {"AAPL", "buy", "market", "1", legs("oto", "110", "90"), 422, 40010001, "oto orders require one of take_profit or stop_loss"},
		"an oto with neither":          {"AAPL", "buy", "market", "1", legs("oto", "", ""), 422, 40010001, "oto orders require one of take_profit or stop_loss"},
		"an oto with a trail":          {"AAPL", "buy", "market", "1", `"order_class":"oto","stop_loss":{"trail_price":"1"}`, 422, 40010001, "oto orders require stop_loss.stop_price"},
		"legs the wrong way round":     {"AAPL", "buy", "market", "1", legs("bracket", "90", "110"), 422, 42210000, "take_profit.limit_price must be > stop_loss.stop_price"},
		"legs of a short the same way": {"AAPL", "sell", "market", "1", legs("bracket", "110", "90"), 422, 42210000, "take_profit.limit_price must be < stop_loss.stop_price"},
		"a stop at the market":         {"AAPL", "buy", "market", "1", legs("bracket", "110", "100"), 422, 42210000, "stop_loss.stop_price must be <= base_price - 0.01"},
		"a stop at the entry":          {"AAPL", "buy", "limit", "1", `"limit_price":"90",` + legs("oto", "", "90"), 422, 42210000, `stop_loss.stop_price must be <= base_price - 0.01`},
		"a stop above the market":      {"AAPL", "buy", "limit", "1", `"limit_price":"105",` + legs("oto", "", "102"), 422, 42210000, `"base_price":"100"`},
		"a target at the entry":        {"AAPL", "buy", "limit", "1", `"limit_price":"90",` + legs("bracket", "90", "80"), 422, 42210000, "take_profit.limit_price must be >= base_price + 0.01"},
		"a stop of a short too near":   {"AAPL", "sell", "market", "1", legs("oto", "", "100"), 422, 42210000, "stop_loss.stop_price must be >= base_price + 0.01"},
		"a leg in a fraction of cents": {"AAPL", "buy", "market", "1", legs("bracket", "110.001", "90"), 422, 42210000, "invalid take_profit.limit_price 110.001. sub-penny"},

		"a pair of exits at the market":    {"MSFT", "sell", "market", "1", legs("oco", "110", "90"), 422, 40010001, "oco orders must be limit orders"},
		"a pair of exits of nothing":       {"AAPL", "sell", "limit", "1", legs("oco", "110", "90"), 422, 42210000, "oco orders must be exit orders"},
		"a pair that adds":                 {"MSFT", "buy", "limit", "1", legs("oco", "90", "110"), 422, 42210000, "oco orders must be exit orders"},
		"a pair with its target elsewhere": {"MSFT", "sell", "limit", "1", `"limit_price":"110",` + legs("oco", "", "90"), 422, 40010001, "oco orders require take_profit.limit_price"},
		"a pair over more than is held":    {"MSFT", "sell", "limit", "11", legs("oco", "110", "90"), 403, 40310000, "insufficient qty available"},
		"a pair whose stop was passed":     {"MSFT", "sell", "limit", "1", legs("oco", "110", "101"), 422, 42210000, "stop_loss.stop_price must be <= base_price - 0.01"},
		"an entry beyond the money":        {"AAPL", "buy", "market", "100000", legs("bracket", "110", "90"), 403, 40310000, "insufficient buying power"},
	} {
		status, answer := c.ask("POST", "/v2/orders", strings.Replace(body(tc.side, tc.kind, tc.quantity, tc.more), "AAPL", tc.symbol, 1))
		if status != tc.status || !strings.Contains(answer, fmt.Sprintf(`"code":%d`, tc.code)) || !strings.Contains(unescape(answer), tc.words) {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
	if n := len(c.Truth().Orders); n != 2 {
		t.Errorf("the venue has %d orders", n)
	}
}

func unescape(text string) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\"`, `"`).Replace(text)
}

// must fills an order at the market.
func (c counter) must(t *testing.T, symbol, side, quantity string) {
	t.Helper()
	if status, answer := c.ask("POST", "/v2/orders", strings.Replace(body(side, "market", quantity, ""), "AAPL", symbol, 1)); status != 200 {
		t.Fatalf("%d %s", status, answer)
	}
}

// TestFlatEntries holds the stricter rule that some users report.
func TestFlatEntries(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	c.place("buy", "market", "10", bracket)
	c.place("buy", "market", "10", bracket) // adds
	c.SetFlatEntries(true)
	if status, answer := c.ask("POST", "/v2/orders", body("buy", "market", "10", bracket)); status != 422 || !strings.Contains(answer, "bracket orders must be entry orders") {
		t.Errorf("%d %s", status, answer)
	}
}

// TestLegsWithoutAClass holds that the venue ignores them.
func TestLegsWithoutAClass(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	o := c.place("buy", "market", "1", `"take_profit":{"limit_price":"110"},"stop_loss":{"stop_price":"90"}`)
	if c.wants(o.ID, "filled"); o.OrderClass != "" || len(c.Truth().Orders) != 1 {
		t.Errorf("%+v", o)
	}
}

// TestTimeInForce holds what becomes of orders that are not filled at once, and of the rest.
func TestTimeInForce(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		kind, more string
		now, later string // after the close
	}{
		"a day order expires at the close":         {"limit", `"limit_price":"90"`, "new", "expired"},
		"an order until canceled stays":            {"limit", `"limit_price":"90","time_in_force":"gtc"`, "new", "new"},
		"an immediate order is canceled":           {"limit", `"limit_price":"90","time_in_force":"ioc"`, "canceled", "canceled"},
		"all or nothing is canceled":               {"limit", `"limit_price":"90","time_in_force":"fok"`, "canceled", "canceled"},
		"all or nothing is filled":                 {"limit", `"limit_price":"101","time_in_force":"fok"`, "filled", "filled"},
		"a stop for the day expires at the close":  {"stop", `"stop_price":"110"`, "new", "expired"},
		"a trail for the day expires at the close": {"trailing_stop", `"trail_price":"5"`, "new", "expired"},
		"a trail until canceled stays":             {"trailing_stop", `"trail_price":"5","time_in_force":"gtc"`, "new", "new"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCounter(t)
			o := c.place("buy", tc.kind, "1", tc.more)
			c.wants(o.ID, tc.now)
			c.wait(4 * time.Hour)
			c.wants(o.ID, tc.later)
		})
	}
}

// TestTimeInForce_Legs holds that the legs of a day order are gone at the close, and that
// stops sleep outside of the hours.
func TestTimeInForce_Legs(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	day := c.place("buy", "market", "10", bracket)
	waits := c.place("buy", "limit", "10", `"limit_price":"96",`+bracket)
	stays := c.place("buy", "market", "10", `"time_in_force":"gtc",`+bracket)
	c.wait(4 * time.Hour)
	c.wants(day.ID, "filled", "expired", "expired")
	c.wants(waits.ID, "expired", "canceled", "canceled")
	c.price("80") // in the evening
	c.wants(stays.ID, "filled", "new", "held")
	c.wait(20 * time.Hour)
	c.wants(stays.ID, "filled", "canceled", "filled")
	c.held("10")
}
