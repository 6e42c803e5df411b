package alpaca_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"candela/internal/testkit/fake/alpaca"
)

// replace puts another order in the place of one.
func (c counter) replace(id, change string) wire {
	c.t.Helper()
	status, answer := c.ask("PATCH", "/v2/orders/"+id, change)
	if status != 200 {
		c.t.Fatalf("%s: %d %s", change, status, answer)
	}
	return c.read(answer)
}

// TestReplace goes through replacements of orders on their own.
func TestReplace(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	c.place("buy", "market", "10", "")
	o := c.place("sell", "stop", "10", `"stop_price":"90","client_order_id":"one"`)
	n := c.replace(o.ID, `{"stop_price":"95","client_order_id":"two","time_in_force":"gtc"}`)
	if n.ID == o.ID || n.ClientOrderID != "two" || n.Replaces == nil || *n.Replaces != o.ID || *n.StopPrice != "95" || n.TimeInForce != "gtc" || n.Status != "pending_new" {
		t.Errorf("the answer is %+v", n)
	}
	if old := c.wants(o.ID, "replaced"); old.ReplacedBy == nil || *old.ReplacedBy != n.ID {
		t.Errorf("the old one is %+v", old)
	}
	if r := c.Truth().Reserved["AAPL"]; r.String() != "10" {
		t.Errorf("%s are reserved", r)
	}
	c.Trade("two", quantity("0"))
	half := c.replace(n.ID, `{"qty":"4"}`)
	c.price("95")
	c.wants(half.ID, "filled")
	c.held("6")
}

// TestReplace_InPart holds that the quantity counts what was filled before.
func TestReplace_InPart(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	o := c.place("buy", "limit", "10", `"limit_price":"90","client_order_id":"one"`)
	c.Trade("one", quantity("4"))
	if status, answer := c.ask("PATCH", "/v2/orders/"+o.ID, `{"qty":"4"}`); status != 422 || !strings.Contains(unescape(answer), "qty must be > filled_qty") {
		t.Errorf("%d %s", status, answer)
	}
	n := c.replace(o.ID, `{"qty":"6"}`)
	if n.Qty != "2" || n.FilledQty != "0" {
		t.Errorf("the new one is over %s", n.Qty)
	}
	c.price("90")
	c.held("6")
}

// TestReplace_Trail holds that the trail of an order changes and its mark does not.
func TestReplace_Trail(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	c.place("buy", "market", "10", "")
	o := c.place("sell", "trailing_stop", "10", `"trail_percent":"10"`)
	c.price("120")
	n := c.get(c.replace(o.ID, `{"trail":"5"}`).ID)
	if n.Status != "new" || *n.HWM != "120" || *n.StopPrice != "114" {
		t.Errorf("%+v", n)
	}
}

// TestReplace_Leg holds that a leg is replaced in its group, working or not.
func TestReplace_Leg(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		price  string // at which the entry is filled, or not
		states []string
	}{
		"before the entry is filled": {"100", []string{"new", "held", "held"}},
		"while it works":             {"99", []string{"filled", "new", "held"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCounter(t)
			o := c.place("buy", "limit", "10", `"limit_price":"99",`+bracket)
			c.price(tc.price)
			stop := c.replace(o.Legs[1].ID, `{"stop_price":"96"}`)
			target := c.replace(o.Legs[0].ID, `{"limit_price":"108"}`)
			got := c.wants(o.ID, tc.states...)
			if got.Legs[0].ID != target.ID || *got.Legs[0].LimitPrice != "108" || got.Legs[1].ID != stop.ID || *got.Legs[1].StopPrice != "96" || got.Legs[1].OrderClass != "bracket" {
				t.Errorf("the legs are %+v", got.Legs)
			}
			c.wants(o.Legs[0].ID, "replaced")
			c.price("96")
			c.wants(o.ID, "filled", "canceled", "filled")
			c.held("0")
		})
	}
}

// TestReplace_Entry holds that the legs go with the order that takes the place of their entry.
func TestReplace_Entry(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	o := c.place("buy", "limit", "10", `"limit_price":"99",`+bracket)
	n := c.replace(o.ID, `{"limit_price":"98","client_order_id":"moved"}`)
	c.wants(o.ID, "replaced")
	c.wants(n.ID, "new", "held", "held")
	c.price("98")
	c.wants(n.ID, "filled", "new", "held")
	if g := c.Truth().Groups; len(g) != 1 || g[0].Parent.ClientID != "moved" || g[0].Class != "bracket" || len(g[0].Legs) != 2 || g[0].Legs[0].Waits {
		t.Errorf("the groups are %+v", g)
	}
}

// TestReplace_Refusals holds what cannot be replaced.
func TestReplace_Refusals(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	filled := c.place("buy", "market", "30", `"client_order_id":"taken"`)
	stop := c.place("sell", "stop", "10", `"stop_price":"90"`)
	pair := c.place("sell", "limit", "10", oco)
	half := c.place("sell", "limit", "0.5", `"limit_price":"120"`)
	slow := c.place("sell", "limit", "1", `"limit_price":"120"`)
	c.SetFault(alpaca.CancelSlow)
	c.ask("DELETE", "/v2/orders/"+slow.ID, "")
	c.SetFault(alpaca.ReplaceSlow)
	busy := c.place("sell", "limit", "1", `"limit_price":"120"`)
	c.replace(busy.ID, `{"limit_price":"121"}`)
	c.SetFault(alpaca.None)
	for name, tc := range map[string]struct {
		id, change string
		words      string
	}{
		"an order that is filled":             {filled.ID, `{"qty":"1"}`, `already in "filled" state`},
		"an order that is being canceled":     {slow.ID, `{"qty":"2"}`, "cannot replace order in pending_cancel status"},
		"an order that is being replaced":     {busy.ID, `{"qty":"2"}`, "cannot replace order in pending_replace status"},
		"nothing":                             {stop.ID, `{}`, "order parameters are not changed"},
		"the same":                            {stop.ID, `{"stop_price":"90","qty":"10"}`, "order parameters are not changed"},
		"a stop that would trigger":           {stop.ID, `{"stop_price":"100"}`, "stop price must be less than current price"},
		"a limit for a stop":                  {stop.ID, `{"stop_price":"91","limit_price":"90"}`, "stop orders require no limit price"},
		"a trail for a stop":                  {stop.ID, `{"trail":"1"}`, "only trailing stop orders have a trail"},
		"more than is free":                   {stop.ID, `{"qty":"20"}`, "insufficient qty available"},
		"an id that is taken":                 {stop.ID, `{"stop_price":"91","client_order_id":"taken"}`, "client_order_id must be unique"},
		"the quantity of a pair":              {pair.ID, `{"qty":"5"}`, "qty cannot be changed for advanced orders"},
		"the time of a leg":                   {pair.Legs[0].ID, `{"time_in_force":"gtc"}`, "time_in_force cannot be changed for advanced orders"},
		"a target below its stop":             {pair.ID, `{"limit_price":"94"}`, "take_profit.limit_price must be > stop_loss.stop_price"},
		"a stop above its target":             {pair.Legs[0].ID, `{"stop_price":"111"}`, "stop price must be less than"},
		"the quantity of a fraction":          {half.ID, `{"qty":"0.25"}`, "qty cannot be changed for fractional orders"},
		"a price in a fraction of a cent":     {stop.ID, `{"stop_price":"91.001"}`, "sub-penny"},
		"an order that is not there":          {"nobody", `{"qty":"1"}`, "order not found"},
		"a document that is none":             {stop.ID, `{`, "request body format is invalid"},
		"a cancel of what is being replaced ": {busy.ID, "", "pending replacement"},
	} {
		method := "PATCH"
		if tc.change == "" {
			method = "DELETE"
		}
		if status, answer := c.ask(method, "/v2/orders/"+tc.id, tc.change); status < 400 || !strings.Contains(unescape(answer), tc.words) {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
}

// TestReplace_Closed holds that an order that waits for the session cannot be replaced.
func TestReplace_Closed(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	c.wait(5 * time.Hour)
	o := c.place("buy", "stop", "1", `"stop_price":"110"`)
	c.wants(o.ID, "accepted")
	if status, answer := c.ask("PATCH", "/v2/orders/"+o.ID, `{"stop_price":"111"}`); status != 422 || !strings.Contains(answer, "cannot replace order in accepted status") {
		t.Errorf("%d %s", status, answer)
	}
}

// TestReplace_Moods holds that an answer of 200 promises nothing.
func TestReplace_Moods(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		mood            alpaca.Fault
		price           string
		at, old, fresh  string // states: the old one at once, both at the end
		held            string
		stop, rejection bool
	}{
		"it takes a while":                  {alpaca.ReplaceSlow, "100", "pending_replace", "replaced", "new", "10", false, false},
		"the old one is filled meanwhile":   {alpaca.ReplaceSlow, "120", "filled", "filled", "rejected", "0", false, true},
		"the exchanges refuse":              {alpaca.ReplaceRefused, "100", "new", "new", "rejected", "10", false, true},
		"the old one is filled first":       {alpaca.ReplaceLoses, "100", "filled", "filled", "rejected", "0", false, true},
		"a stop is filled first":            {alpaca.ReplaceLoses, "100", "filled", "filled", "rejected", "0", true, true},
		"a stop is reached in the meantime": {alpaca.ReplaceSlow, "90", "filled", "filled", "rejected", "0", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCounter(t)
			c.place("buy", "market", "10", "")
			kind, prices, change := "limit", `"limit_price":"120"`, `{"limit_price":"121"}`
			if tc.stop {
				kind, prices, change = "stop", `"stop_price":"90"`, `{"stop_price":"91"}`
			}
			o := c.place("sell", kind, "10", prices)
			c.SetFault(tc.mood)
			n := c.replace(o.ID, change)
			c.price(tc.price)
			c.wants(o.ID, tc.at)
			if r := c.Truth().Reserved["AAPL"]; tc.held == "10" && r.String() != "10" {
				t.Errorf("%s are reserved meanwhile", r)
			}
			c.wait(2 * time.Second)
			c.wants(o.ID, tc.old)
			c.wants(n.ID, tc.fresh)
			c.held(tc.held)
			if names := c.named(o.ID); slices.Contains(names, "order_replace_rejected") != tc.rejection {
				t.Errorf("the events are %v", names)
			}
		})
	}
}
