package alpaca_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/fake/alpaca"
)

// counter is an account at a fake whose prices and clock the test moves.
type counter struct {
	remote
	*alpaca.Server
	ahead *atomic.Int64
}

// wire is an order as the API writes it.
type wire struct {
	ID            string
	ClientOrderID string `json:"client_order_id"`
	Status        string
	Type          string
	Side          string
	Qty           string
	FilledQty     string  `json:"filled_qty"`
	OrderClass    string  `json:"order_class"`
	LimitPrice    *string `json:"limit_price"`
	StopPrice     *string `json:"stop_price"`
	HWM           *string
	Replaces      *string
	ReplacedBy    *string `json:"replaced_by"`
	TimeInForce   string  `json:"time_in_force"`
	Legs          []wire
}

// newCounter opens an account at noon of a trading day, with AAPL at 100.
func newCounter(t *testing.T) counter {
	t.Helper()
	noon := time.Date(2025, time.July, 9, 16, 0, 0, 0, time.UTC)
	c := counter{ahead: new(atomic.Int64)}
	c.Server = alpaca.New(alpaca.Config{Now: func() time.Time { return noon.Add(time.Duration(c.ahead.Load())) }})
	c.SetUnlimited()
	c.price("100")
	web := httptest.NewServer(c.Server)
	t.Cleanup(web.Close)
	c.remote = remote{t, web.URL}
	return c
}

func (c counter) price(at string) { c.SetQuote("AAPL", at, at) }

func (c counter) wait(d time.Duration) { c.ahead.Add(int64(d)) }

// order makes the body of an order for AAPL, for the day unless it says otherwise.
func body(side, kind, quantity, more string) string {
	out := fmt.Sprintf(`{"symbol":"AAPL","side":%q,"type":%q,"qty":%q`, side, kind, quantity)
	if !strings.Contains(more, "time_in_force") {
		out += `,"time_in_force":"day"`
	}
	if more != "" {
		out += "," + more
	}
	return out + "}"
}

// place takes an order that the venue takes.
func (c counter) place(side, kind, quantity, more string) wire {
	c.t.Helper()
	status, answer := c.ask("POST", "/v2/orders", body(side, kind, quantity, more))
	if status != 200 {
		c.t.Fatalf("%s %s %s %s: %d %s", side, kind, quantity, more, status, answer)
	}
	return c.read(answer)
}

func (c counter) read(text string) (out wire) {
	c.t.Helper()
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		c.t.Fatalf("%v in %s", err, text)
	}
	return out
}

// get asks for an order with its legs.
func (c counter) get(id string) wire {
	c.t.Helper()
	status, answer := c.ask("GET", "/v2/orders/"+id+"?nested=true", "")
	if status != 200 {
		c.t.Fatalf("%s: %d %s", id, status, answer)
	}
	return c.read(answer)
}

// wants holds the states of an order and its legs.
func (c counter) wants(id string, statuses ...string) wire {
	c.t.Helper()
	o := c.get(id)
	have := []string{o.Status}
	for _, leg := range o.Legs {
		have = append(have, leg.Status)
	}
	if !slices.Equal(have, statuses) {
		c.t.Errorf("states are %v, not %v", have, statuses)
	}
	return o
}

// list returns the ids of orders.
func (c counter) list(query string) (ids []string) {
	c.t.Helper()
	_, answer := c.ask("GET", "/v2/orders?direction=asc&"+query, "")
	var all []wire
	if err := json.Unmarshal([]byte(answer), &all); err != nil {
		c.t.Fatalf("%v in %s", err, answer)
	}
	for _, o := range all {
		ids = append(ids, o.ID)
	}
	return ids
}

func (c counter) held(want string) {
	c.t.Helper()
	if got := c.Truth().Positions["AAPL"]; got.String() != want {
		c.t.Errorf("%s are held, not %s", got, want)
	}
}

const (
	bracket = `"order_class":"bracket","take_profit":{"limit_price":"110"},"stop_loss":{"stop_price":"95"}`
	oco     = `"order_class":"oco","take_profit":{"limit_price":"110"},"stop_loss":{"stop_price":"95"}`
)

// TestStop holds that stops wait for their trigger and are then what they become.
func TestStop(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		side, kind, prices string
		at, then           string // prices of the market
		waits, after       string // states
	}{
		"a sell stop becomes a market order":                {"sell", "stop", `"stop_price":"95"`, "95.01", "95", "new", "filled"},
		"a sell stop is filled at the market after a gap":   {"sell", "stop", `"stop_price":"95"`, "96", "80", "new", "filled"},
		"a buy stop waits for a higher price":               {"buy", "stop", `"stop_price":"105"`, "104.99", "105", "new", "filled"},
		"a sell stop limit becomes a limit order":           {"sell", "stop_limit", `"stop_price":"95","limit_price":"94"`, "96", "94.5", "new", "filled"},
		"a stop limit rests when the market jumps over it":  {"sell", "stop_limit", `"stop_price":"95","limit_price":"94"`, "96", "93", "new", "new"},
		"a trail in money follows the price and not back":   {"sell", "trailing_stop", `"trail_price":"5"`, "120", "115", "new", "filled"},
		"a trail in per cent follows the price":             {"sell", "trailing_stop", `"trail_percent":"10"`, "120", "108", "new", "filled"},
		"a trail does not trigger above its distance":       {"sell", "trailing_stop", `"trail_percent":"10"`, "120", "108.01", "new", "new"},
		"a buy trail follows the price down":                {"buy", "trailing_stop", `"trail_price":"5"`, "80", "85", "new", "filled"},
		"a buy trail does not follow the price up":          {"buy", "trailing_stop", `"trail_price":"5"`, "104", "104.99", "new", "new"},
		"a good until canceled stop triggers the same way":  {"sell", "stop", `"stop_price":"95","time_in_force":"gtc"`, "96", "95", "new", "filled"},
		"a buy stop limit is not filled beyond its limit":   {"buy", "stop_limit", `"stop_price":"105","limit_price":"106"`, "104", "107", "new", "new"},
		"a buy stop limit is filled between stop and limit": {"buy", "stop_limit", `"stop_price":"105","limit_price":"106"`, "104", "105.5", "new", "filled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCounter(t)
			if tc.side == "sell" {
				c.place("buy", "market", "10", "")
			}
			o := c.place(tc.side, tc.kind, "10", tc.prices)
			c.price(tc.at)
			c.wants(o.ID, tc.waits)
			c.price(tc.then)
			c.wants(o.ID, tc.after)
		})
	}
}

// TestTrail holds the mark and the trigger that answers have.
func TestTrail(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	c.place("buy", "market", "10", "")
	o := c.place("sell", "trailing_stop", "10", `"trail_percent":"2.5","time_in_force":"gtc"`)
	for _, step := range [][3]string{{"100", "100", "97.5"}, {"120", "120", "117"}, {"118", "120", "117"}, {"130.5", "130.5", "127.2375"}} {
		c.price(step[0])
		got := c.get(o.ID)
		if got.HWM == nil || *got.HWM != step[1] || got.StopPrice == nil || *got.StopPrice != step[2] {
			t.Errorf("at %s: %+v", step[0], got)
		}
	}
	c.wait(24 * time.Hour) // it is of tomorrow, too
	c.wants(o.ID, "new")
	c.price("127.23")
	c.wants(o.ID, "filled")
	c.held("0")
}

// TestBracket goes through the life of an entry with a target and a stop.
func TestBracket(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	o := c.place("buy", "limit", "10", `"limit_price":"99","client_order_id":"ours",`+bracket)
	if len(o.Legs) != 2 || o.OrderClass != "bracket" || o.Status != "pending_new" {
		t.Fatalf("the answer is %+v", o)
	}
	target, stop := o.Legs[0], o.Legs[1]
	if target.Type != "limit" || *target.LimitPrice != "110" || target.Side != "sell" || target.Status != "held" || target.ClientOrderID == "" {
		t.Errorf("the target is %+v", target)
	}
	if stop.Type != "stop" || *stop.StopPrice != "95" || stop.Qty != "10" || stop.Status != "held" || stop.OrderClass != "bracket" {
		t.Errorf("the stop is %+v", stop)
	}
	c.wants(o.ID, "new", "held", "held")
	if ids := c.list("status=open"); !slices.Equal(ids, []string{o.ID}) {
		t.Errorf("open are %v", ids)
	}
	c.Trade("ours", quantity("4"))
	c.wants(o.ID, "partially_filled", "held", "held")
	c.price("94") // the legs do not work before all is filled
	c.wants(o.ID, "filled", "canceled", "filled")
	c.held("0")
}

// TestBracket_TheTargetShrinksTheStop holds what a target that is filled in part does.
func TestBracket_TheTargetShrinksTheStop(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	o := c.place("buy", "market", "10", `"client_order_id":"ours",`+bracket)
	c.wants(o.ID, "filled", "new", "held")
	if ids := c.list("status=open"); !slices.Equal(ids, []string{o.Legs[0].ID}) {
		t.Errorf("open are %v, not the target alone", ids)
	}
	if ids := c.list("status=open&nested=true"); len(ids) != 0 {
		t.Errorf("open are %v though their parent is filled", ids)
	}
	if ids := c.list("status=all&nested=true"); !slices.Equal(ids, []string{o.ID}) {
		t.Errorf("nested are %v", ids)
	}
	if status, answer := c.ask("POST", "/v2/orders", body("sell", "market", "1", "")); status != 403 || !strings.Contains(answer, "insufficient qty available") || !strings.Contains(answer, `"held_for_orders":"10"`) {
		t.Errorf("a sale of what the legs hold: %d %s", status, answer)
	}
	c.Trade(o.Legs[0].ID, quantity("3"))
	got := c.wants(o.ID, "filled", "partially_filled", "held")
	if got.Legs[1].Qty != "7" || c.Truth().Reserved["AAPL"].String() != "7" {
		t.Errorf("the stop is over %s, %v are reserved", got.Legs[1].Qty, c.Truth().Reserved)
	}
	c.price("95")
	c.wants(o.ID, "filled", "canceled", "filled")
	c.held("0")
}

// TestOCO holds that one of two exits is filled.
func TestOCO(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ price, parent, leg string }{
		"the target is reached": {"110", "filled", "canceled"},
		"the stop is reached":   {"95", "canceled", "filled"},
		"neither is":            {"105", "new", "held"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCounter(t)
			c.place("buy", "market", "10", "")
			o := c.place("sell", "limit", "10", oco)
			if len(o.Legs) != 1 || *o.LimitPrice != "110" || o.Legs[0].OrderClass != "oco" {
				t.Fatalf("the answer is %+v", o)
			}
			c.price(tc.price)
			c.wants(o.ID, tc.parent, tc.leg)
		})
	}
}

// TestOTO holds that one leg works when the entry is filled.
func TestOTO(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	o := c.place("sell", "limit", "10", `"limit_price":"105","order_class":"oto","stop_loss":{"stop_price":"108","limit_price":"109"}`)
	c.wants(o.ID, "new", "held")
	c.price("105")
	got := c.wants(o.ID, "filled", "new")
	if got.Legs[0].Type != "stop_limit" || got.Legs[0].Side != "buy" {
		t.Errorf("the leg is %+v", got.Legs[0])
	}
	c.held("-10")
	c.price("108.5")
	c.wants(o.ID, "filled", "filled")
	c.held("0")
}

// TestCancel_OneIsAll holds that the cancel of one order is that of its group.
func TestCancel_OneIsAll(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		price string // at which the entry is filled, or not
		which int    // 0 is the parent
		after []string
	}{
		"the entry takes its legs with it":          {"100", 0, []string{"canceled", "canceled", "canceled"}},
		"a leg takes the entry with it":             {"100", 2, []string{"canceled", "canceled", "canceled"}},
		"the target takes the stop with it":         {"99", 1, []string{"filled", "canceled", "canceled"}},
		"the stop that is held takes the target so": {"99", 2, []string{"filled", "canceled", "canceled"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCounter(t)
			c.SetCancelDelay(30 * time.Second)
			o := c.place("buy", "limit", "5", `"limit_price":"99",`+bracket)
			c.price(tc.price)
			id := append([]wire{o}, o.Legs...)[tc.which].ID
			if status, answer := c.ask("DELETE", "/v2/orders/"+id, ""); status != 204 {
				t.Fatalf("%d %s", status, answer)
			}
			if got := c.get(id); got.Status != "pending_cancel" {
				t.Errorf("the state is %s", got.Status)
			}
			c.wait(30 * time.Second)
			c.wants(o.ID, tc.after...)
		})
	}
}

func quantity(text string) decimal.Decimal { return decimal.RequireFromString(text) }
