package soak

import (
	"math/big"
	"testing"
	"time"

	"github.com/shopspring/decimal"
)

func d(text string) decimal.Decimal { return decimal.RequireFromString(text) }

// TestPlan_WhatACallChanges holds the model against the table of calls: a position of 0.05 with
// one line, a stop at 44,232.95 and a target at 46,941.09.
func TestPlan_WhatACallChanges(t *testing.T) {
	t.Parallel()
	price := d("45000")
	begin := plan{}.bought("entry", d("0.05"), price, want{stop: d("44232.95"), target: d("46941.09")})
	two := begin.bought("second", d("0.02"), price, want{stop: d("44000")})
	changed := func(p plan, quantity string, w want) plan {
		after, _ := p.changed("later", d(quantity), price, w)
		return after
	}
	for name, c := range map[string]struct {
		got  plan
		want string
	}{
		"a nearer stop keeps the target":                      {changed(begin, "0.05", want{stop: d("44819.71")}), "holds 0.05; line 0.05 stop 44819.71 target 46941.09"},
		"a trail takes the place of the stop":                 {changed(begin, "0.05", want{trail: d("0.8")}), "holds 0.05; line 0.05 trail 0.8 best 45000 target 46941.09"},
		"a target keeps the stop":                             {changed(begin, "0.05", want{target: d("46000")}), "holds 0.05; line 0.05 stop 44232.95 target 46000"},
		"a wider stop changes nothing":                        {changed(begin, "0.05", want{stop: d("44000")}), begin.String()},
		"an exit shortens the line":                           {begin.sold(d("0.02")), "holds 0.03; line 0.03 stop 44232.95 target 46941.09"},
		"a target for a part splits the line":                 {changed(begin, "0.02", want{target: d("46000")}), "holds 0.05; line 0.03 stop 44232.95 target 46941.09; line 0.02 stop 44232.95 target 46000"},
		"a cancelled target leaves the stop":                  {begin.cancelled(0, true), "holds 0.05; line 0.05 stop 44232.95"},
		"a cancelled stop leaves the target":                  {begin.cancelled(0, false), "holds 0.05; line 0.05 target 46941.09"},
		"both cancelled leave a position without a line":      {begin.cancelled(0, true).cancelled(0, false), "holds 0.05"},
		"a second purchase has a line of its own":             {two, "holds 0.07; line 0.05 stop 44232.95 target 46941.09; line 0.02 stop 44000"},
		"a change of the whole position is one of both lines": {changed(two, "0.07", want{stop: d("44500")}), "holds 0.07; line 0.05 stop 44500 target 46941.09; line 0.02 stop 44500"},
		"a change of one line leaves the other":               {changed(two, "0.02", want{stop: d("44500")}), "holds 0.07; line 0.05 stop 44232.95 target 46941.09; line 0.02 stop 44500"},
		"an exit across lines takes the oldest first":         {two.sold(d("0.06")), "holds 0.01; line 0.01 stop 44000"},
		"what no line covers is sold first":                   {begin.bought("plain", d("0.03"), price, want{}).sold(d("0.04")), "holds 0.04; line 0.04 stop 44232.95 target 46941.09"},
		"a stop alone makes a line of its own":                {changed(plan{held: d("0.05")}, "0.05", want{stop: d("44000")}), "holds 0.05; line 0.05 stop 44000"},
		"everything sold ends the plan":                       {begin.sold(d("0.05")), "holds 0"},
		"a price below a stop closes its line":                {two.moved(d("44100")), "holds 0.02; line 0.02 stop 44000"},
		"a price above the target closes its line":            {two.moved(d("47000")), "holds 0.02; line 0.02 stop 44000"},
		"a trail follows the price and does not go back":      {changed(begin, "0.05", want{trail: d("1")}).moved(d("46000")).moved(d("45600")), "holds 0.05; line 0.05 trail 1 best 46000 target 46941.09"},
		"a trail closes at its distance from the best price":  {changed(begin, "0.05", want{trail: d("1")}).moved(d("46000")).moved(d("45540")), "holds 0"},
	} {
		if got := c.got.String(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestAccount_SumsUpTrades checks figures that were worked out by hand.
func TestAccount_SumsUpTrades(t *testing.T) {
	t.Parallel()
	fill := func(side, quantity, price, fee, asset string) *order {
		average := d(price)
		return &order{Symbol: "ABC" + quote, Side: side, Filled: d(quantity), Average: &average, Fees: map[string]decimal.Decimal{asset: d(fee)}}
	}
	a := newAccount()
	for _, o := range []*order{fill("buy", "1", "100", "0.1", quote), fill("buy", "2", "103", "0.206", quote), fill("sell", "1.5", "104", "0.156", quote)} {
		a.trade(o)
	}
	h := a.of("ABC" + quote)
	if !h.held.Equal(d("1.5")) || h.average().Cmp(big.NewRat(102, 1)) != 0 || h.realised.Cmp(big.NewRat(3, 1)) != 0 || !a.cash.Equal(d("-150.462")) {
		t.Errorf("held %v at %v, realised %v, cash %v", h.held, h.average(), h.realised, a.cash)
	}
	a = newAccount()
	a.trade(fill("buy", "2", "60", "0.002", "ABC"))
	h = a.of("ABC" + quote)
	if !h.held.Equal(d("1.998")) || h.average().Cmp(big.NewRat(60, 1)) != 0 || !a.cash.Equal(d("-120")) || !h.fees["ABC"].Equal(d("0.002")) {
		t.Errorf("held %v at %v, cash %v, fees %v", h.held, h.average(), a.cash, h.fees)
	}
	a.trade(fill("sell", "1.998", "61", "0.12", quote))
	a.trade(fill("buy", "1", "62", "0.001", "ABC"))
	if h = a.of("ABC" + quote); !h.fees["ABC"].Equal(d("0.001")) || h.realised.Sign() != 0 {
		t.Errorf("a new position begins with the fees %v and the profit %v", h.fees, h.realised)
	}
	if third := big.NewRat(1, 3); !shows(d("0.3333333333"), third) || shows(d("0.333"), third) || shows(d("0.3333333331"), third) {
		t.Error("digits are compared wrongly")
	}
}

// TestAlert_IsDueByTheClose checks which minute makes an alert due.
func TestAlert_IsDueByTheClose(t *testing.T) {
	t.Parallel()
	at := func(text string) time.Time {
		moment, err := time.Parse("15:04:05", text)
		if err != nil {
			t.Fatal(err)
		}
		return moment
	}
	prices := []priced{{at("10:00:10"), d("100")}, {at("10:00:30"), d("105")}, {at("10:01:59"), d("99")}, {at("10:02:20"), d("106")}}
	for made, want := range map[string]string{"10:00:20": "10:01:00", "10:01:10": "10:03:00", "10:00:59": "10:03:00"} {
		one := &alert{kind: closes, at: d("102"), made: at(made)}
		if due := closedDue(one, prices, at("10:05:00")); !due.Equal(at(want)) {
			t.Errorf("made at %s it is due at %v, want %s", made, due, want)
		}
	}
	one := &alert{kind: closes, at: d("102"), made: at("10:01:10")}
	if closedCause(one, prices[:3], at("10:01:30")) || !closedCause(one, prices, at("10:03:00")) {
		t.Error("the cause is found wrongly")
	}
	if due := closedDue(&alert{kind: closes, at: d("110"), made: at("10:00:20")}, prices, at("10:05:00")); !due.IsZero() {
		t.Errorf("due at %v, and no price was above", due)
	}
}

// TestBoundary_IsAmongTheClosedOrders checks after which time a page has every order.
func TestBoundary_IsAmongTheClosedOrders(t *testing.T) {
	t.Parallel()
	page := []order{{Created: "9", Status: "accepted"}}
	for _, at := range []string{"8", "7", "6", "5", "1"} {
		page = append(page, order{Created: at, Status: "filled"})
	}
	for limit, want := range map[int]string{5: "5", 6: "5", 7: ""} {
		if got := boundary(page, limit); got != want {
			t.Errorf("with a limit of %d the page is complete from %q on, want %q", limit, got, want)
		}
	}
}

// TestReceipts_RepeatOnlyAfterAFault checks when a second notification is wrong.
func TestReceipts_RepeatOnlyAfterAFault(t *testing.T) {
	t.Parallel()
	now := time.Now()
	twice := []receipt{{at: now}, {at: now.Add(time.Minute)}}
	kill := span{now.Add(30 * time.Second), now.Add(32 * time.Second)}
	if repeated(twice, nil) == "" || repeated(twice, []span{kill}) != "" || repeated(twice[:1], nil) != "" {
		t.Error("repetitions are judged wrongly")
	}
	if repeated(twice, []span{{now.Add(2 * time.Minute), time.Time{}}}) == "" {
		t.Error("a later fault excuses a repetition")
	}
}
