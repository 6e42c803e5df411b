package alpaca_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"candela/internal/testkit/fake/alpaca"
)

// named returns what the venue reported of one order.
func (c counter) named(id string) (names []string) {
	for _, e := range c.Events() {
		if e.VenueID == id {
			names = append(names, e.Name)
		}
	}
	return names
}

// TestEvents holds what is reported of each order of a bracket.
func TestEvents(t *testing.T) {
	t.Parallel()
	const resized = "held held"
	for name, tc := range map[string]struct {
		mood                alpaca.Fault
		play                func(c counter, o wire)
		entry, target, stop string
	}{
		"the stop is reached":   {alpaca.None, func(c counter, _ wire) { c.price("95") }, "new fill", "held new canceled", "held new fill"},
		"the target is reached": {alpaca.None, func(c counter, _ wire) { c.price("110") }, "new fill", "held new fill", "held canceled"},
		"the target is filled in part": {
			alpaca.None, func(c counter, o wire) { c.Trade(o.Legs[0].ID, quantity("4")) }, "new fill", "held new partial_fill", resized,
		},
		"a leg is canceled": {
			alpaca.None, func(c counter, o wire) { c.ask("DELETE", "/v2/orders/"+o.Legs[1].ID, "") }, "new fill", "held new canceled", "held canceled",
		},
		"a slow cancel": {alpaca.CancelSlow, func(c counter, o wire) {
			c.ask("DELETE", "/v2/orders/"+o.Legs[0].ID, "")
			c.wait(2 * time.Second)
		}, "new fill", "held new pending_cancel canceled", "held pending_cancel canceled"},
		"the day ends":              {alpaca.None, func(c counter, _ wire) { c.wait(4 * time.Hour) }, "new fill", "held new expired", "held expired"},
		"the target is replaced":    {alpaca.TargetReplaced, func(c counter, _ wire) { c.price("95") }, "new fill", "held new replaced", "held new fill"},
		"the venue keeps the stop":  {alpaca.QuietLegs, func(c counter, _ wire) { c.price("110") }, "new fill", "held new fill", ""},
		"the quiet stop is reached": {alpaca.QuietLegs, func(c counter, _ wire) { c.price("95") }, "new fill", "held new canceled", "new fill"},
		"both are filled":           {alpaca.None, func(c counter, o wire) { c.FillBoth(o.ID) }, "new fill", "held new fill", "held fill"},
		"the stop is moved": {
			alpaca.None, func(c counter, o wire) { c.replace(o.Legs[1].ID, `{"stop_price":"96"}`) }, "new fill", "held new", "held replaced",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCounter(t)
			c.SetFault(tc.mood)
			o := c.place("buy", "market", "10", bracket)
			tc.play(c, o)
			for id, want := range map[string]string{o.ID: tc.entry, o.Legs[0].ID: tc.target, o.Legs[1].ID: tc.stop} {
				if got := strings.Join(c.named(id), " "); got != want {
					t.Errorf("%q is reported, not %q", got, want)
				}
			}
		})
	}
}

// TestFillBoth holds that both exits can be filled, and then more is sold than was there.
func TestFillBoth(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	o := c.place("buy", "market", "10", bracket)
	if !c.FillBoth(o.Legs[1].ID) {
		t.Fatal("not filled")
	}
	c.wants(o.ID, "filled", "filled", "filled")
	c.held("-10")
	if c.FillBoth(o.ID) || c.FillBoth("nobody") {
		t.Error("filled again")
	}
}

// TestRejectLegs holds that legs can be refused when they begin to work.
func TestRejectLegs(t *testing.T) {
	t.Parallel()
	for role, after := range map[string][]string{
		"stop_loss": {"filled", "new", "rejected"}, "take_profit": {"filled", "rejected", "new"}, "both": {"filled", "rejected", "rejected"}, "": {"filled", "new", "held"},
	} {
		c := newCounter(t)
		if c.RejectLegs("entry") || !c.RejectLegs(role) {
			t.Error("the roles are others")
		}
		o := c.place("buy", "market", "10", bracket)
		c.wants(o.ID, after...)
	}
}

// TestReject holds that a leg that the exchanges reject ends alone, and an entry does not.
func TestReject(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	o := c.place("buy", "limit", "10", `"limit_price":"99",`+bracket)
	c.Reject(o.ID)
	c.wants(o.ID, "rejected", "canceled", "canceled")
	o = c.place("buy", "market", "10", bracket)
	c.Reject(o.Legs[0].ID)
	c.wants(o.ID, "filled", "rejected", "held")
	if r := c.Truth().Reserved["AAPL"]; r.String() != "10" {
		t.Errorf("%s are reserved", r)
	}
	c.price("95")
	c.wants(o.ID, "filled", "rejected", "filled")
}

// TestCancel_InPart holds that a group ends with an entry that was filled in part, which
// leaves what was bought without a stop.
func TestCancel_InPart(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	o := c.place("buy", "limit", "10", `"limit_price":"99",`+bracket)
	c.Trade(o.ID, quantity("4"))
	c.ask("DELETE", "/v2/orders/"+o.ID, "")
	c.wants(o.ID, "canceled", "canceled", "canceled")
	c.held("4")
}

// TestCancel_Claims holds that what a cancel frees is free when it is done, or later.
func TestCancel_Claims(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	o := c.place("buy", "market", "10", bracket)
	c.SetCancelDelay(10 * time.Second)
	c.SetRelease(time.Second)
	c.ask("DELETE", "/v2/orders/"+o.Legs[0].ID, "")
	for i, want := range []int{403, 403, 200} {
		if status, answer := c.ask("POST", "/v2/orders", body("sell", "market", "10", "")); status != want {
			t.Errorf("sale %d: %d %s", i, status, answer)
		}
		c.wait([]time.Duration{10 * time.Second, time.Second, 0}[i])
		c.get(o.ID)
	}
	c.held("0")
}

// TestCancel_Moods holds that a cancel of a stop may be refused or lose.
func TestCancel_Moods(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	o := c.place("buy", "market", "10", bracket)
	c.SetFault(alpaca.CancelRefused)
	c.ask("DELETE", "/v2/orders/"+o.Legs[1].ID, "")
	c.wants(o.ID, "filled", "new", "held")
	c.SetFault(alpaca.CancelLoses)
	c.ask("DELETE", "/v2/orders/"+o.Legs[1].ID, "")
	c.wants(o.ID, "filled", "canceled", "filled")
	c.held("0")
}

// TestBuyStop holds that a stop that buys takes no price far above its trigger.
func TestBuyStop(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	o := c.place("buy", "stop", "1", `"stop_price":"110"`)
	c.price("112.76")
	c.wants(o.ID, "new")
	c.price("112.75")
	c.wants(o.ID, "filled")
}

// TestPairs holds that pairs take a stop limit.
func TestPairs(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	c.SetQuote("BTC/USD", "50000", "50000")
	status, answer := c.ask("POST", "/v2/orders", `{"symbol":"BTC/USD","qty":"0.1","side":"buy","type":"stop_limit","time_in_force":"gtc","stop_price":"51000","limit_price":"51500"}`)
	if status != 200 {
		t.Fatalf("%d %s", status, answer)
	}
	c.SetQuote("BTC/USD", "51200", "51200")
	c.wants(c.read(answer).ID, "filled")
}

// TestControl_Groups drives what is about groups over TCP.
func TestControl_Groups(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	for _, step := range []struct {
		path   string
		status int
	}{
		{"legs?reject=stop_loss", 200},
		{"legs?reject=entry", 400},
		{"cancels?delay=30s&release=1s", 200},
		{"cancels?delay=soon", 400},
		{"entries?flat=true", 200},
		{"stream?lose=0.5&duplicate=0.1&reorder=0.1", 200},
		{"stream?lose=2", 400},
		{"mood?name=replace+loses", 200},
		{"clear", 200},
	} {
		if status, answer := c.ask("POST", "/fake/"+step.path, ""); status != step.status {
			t.Errorf("%s: %d %s", step.path, status, answer)
		}
	}
	o := c.place("buy", "market", "10", bracket)
	for path, want := range map[string]int{"both?id=nobody": 400, "reject?id=nobody": 400, "both?id=" + o.ID: 200} {
		if status, answer := c.ask("POST", "/fake/"+path, ""); status != want {
			t.Errorf("%s: %d %s", path, status, answer)
		}
	}
	if _, answer := c.ask("GET", "/fake/truth", ""); !strings.Contains(answer, `"groups":[{"class":"bracket"`) || !strings.Contains(answer, `"positions":{"AAPL":"-10"}`) {
		t.Errorf("the truth is %s", answer)
	}
	if ids := c.list("status=all"); !slices.Contains(ids, o.Legs[1].ID) || len(ids) != 3 {
		t.Errorf("the orders are %v", ids)
	}
}

// TestFaults_Groups holds that a group whose answer is lost is found by the id of its parent,
// and that one that did not arrive is not.
func TestFaults_Groups(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	find := func(id string) (int, wire) {
		status, answer := c.ask("GET", "/v2/orders:by_client_order_id?nested=true&client_order_id="+id, "")
		return status, c.read(answer)
	}
	for i, name := range []string{"outage, done", "timeout, done", "reset, done", "half, done", "outage", "reset"} {
		id := fmt.Sprint("bracket-", i)
		c.Next(alpaca.OrderFaults()[name])
		if status, answer := c.ask("POST", "/v2/orders", body("buy", "limit", "1", `"limit_price":"99","client_order_id":"`+id+`",`+bracket)); status == 200 && json.Valid([]byte(answer)) {
			t.Errorf("%s: %s", name, answer)
		}
		status, o := find(id)
		if done := strings.HasSuffix(name, "done"); done != (status == 200 && len(o.Legs) == 2 && o.Legs[1].Status == "held") || done != (status != 404) {
			t.Errorf("%s: %d %+v", name, status, o)
		}
	}
	_, o := find("bracket-0")
	c.Next(alpaca.OrderFaults()["outage, done"])
	c.ask("PATCH", "/v2/orders/"+o.Legs[1].ID, `{"stop_price":"96","client_order_id":"moved"}`)
	if status, n := find("moved"); status != 200 || n.Status != "held" || *n.Replaces != o.Legs[1].ID {
		t.Errorf("the replacement: %d %+v", status, n)
	}
	c.Next(alpaca.OrderFaults()["timeout, done"])
	c.ask("DELETE", "/v2/orders/"+o.ID, "")
	c.wants(o.ID, "canceled", "canceled", "canceled")
	if c.Trade(o.Legs[0].ID, quantity("1")) {
		t.Error("a leg is filled after all")
	}
}

// TestClosed holds what becomes of groups that are placed while the market is closed.
func TestClosed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		price string // at the open
		entry []string
		pair  []string
	}{
		"the market opens where it was":   {"100", []string{"filled", "new", "held"}, []string{"new", "held"}},
		"the market opens below the stop": {"90", []string{"filled", "canceled", "filled"}, []string{"canceled", "filled"}},
		"the market opens at the target":  {"110", []string{"filled", "filled", "canceled"}, []string{"filled", "canceled"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCounter(t)
			c.place("buy", "market", "10", "")
			c.wait(5 * time.Hour)
			o, pair := c.place("buy", "market", "10", bracket), c.place("sell", "limit", "10", oco)
			if c.Trade(o.Legs[0].ID, quantity("1")) {
				t.Error("a leg is filled before its entry")
			}
			c.price(tc.price)
			c.wants(o.ID, "accepted", "held", "held")
			c.wants(pair.ID, "accepted", "held")
			c.wait(17 * time.Hour)
			c.wants(o.ID, tc.entry...)
			c.wants(pair.ID, tc.pair...)
		})
	}
}
