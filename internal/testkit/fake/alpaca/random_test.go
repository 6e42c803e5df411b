package alpaca_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/fake/alpaca"
	"candela/internal/testkit/longtest"
)

// TestRandom does what comes to mind with orders that buy and those that sell what is held,
// and holds after each step that the venue does not contradict itself.
func TestRandom(t *testing.T) {
	t.Parallel()
	steps := longtest.Pick(120, 300)
	for seed := range longtest.Pick[uint64](4, 24) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			c, r := newCounter(t), rand.New(rand.NewPCG(longtest.Seed(), seed))
			market, taken := 10000, 0
			for step := range steps {
				taken += c.random(r, &market)
				c.consistent()
				if t.Failed() {
					t.Fatalf("after step %d", step)
				}
			}
			if taken < steps/10 {
				t.Errorf("%d orders were taken", taken)
			}
		})
	}
}

// random does one thing, and returns how many orders it placed.
func (c counter) random(r *rand.Rand, market *int) (placed int) {
	price := func(from, to int) string { return decimal.New(int64(*market+from+r.IntN(to-from)), -2).String() }
	legs := fmt.Sprintf(`"take_profit":{"limit_price":%q},"stop_loss":{"stop_price":%q}`, price(50, 400), price(-400, -50))
	stop := fmt.Sprintf(`"stop_loss":{"stop_price":%q}`, price(-400, -50))
	asks := []string{
		body("buy", "market", "10", `"order_class":"bracket",`+legs), body("buy", "limit", "10", fmt.Sprintf(`"limit_price":%q,"order_class":"oto",`, price(-40, 10))+stop),
		body("sell", "limit", "5", `"order_class":"oco",`+legs), body("sell", "stop", "3", fmt.Sprintf(`"stop_price":%q,"time_in_force":"gtc"`, price(-300, -20))),
		body("sell", "trailing_stop", "4", `"trail_percent":"1.5"`), body("buy", "stop", "2", fmt.Sprintf(`"stop_price":%q`, price(20, 300))),
		body("buy", "limit", "7", fmt.Sprintf(`"limit_price":%q`, price(-300, -20))), body("sell", "market", "2", ""),
	}
	pick := func() string {
		if all := c.list("status=all&limit=500&direction=desc"); len(all) > 0 {
			return all[r.IntN(min(len(all), 12))]
		}
		return "nobody"
	}
	switch r.IntN(10) {
	case 0, 1, 2:
		asked := asks[r.IntN(len(asks))]
		if strings.Contains(asked, `"side":"sell"`) && c.Truth().Positions["AAPL"].IsZero() {
			return 0 // it would sell short
		}
		if status, _ := c.ask("POST", "/v2/orders", asked); status == 200 {
			return 1
		}
	case 3, 4:
		*market += r.IntN(301) - 150
		c.price(decimal.New(int64(*market), -2).String())
	case 5:
		c.ask("DELETE", "/v2/orders/"+pick(), "")
	case 6:
		c.ask("PATCH", "/v2/orders/"+pick(), fmt.Sprintf(`{"stop_price":%q}`, price(-300, -20)))
	case 7:
		c.ask("PATCH", "/v2/orders/"+pick(), fmt.Sprintf(`{"limit_price":%q}`, price(20, 300)))
	case 8:
		c.Trade(pick(), decimal.NewFromInt(int64(1+r.IntN(6))))
	default:
		moods := []alpaca.Fault{
			alpaca.None, alpaca.None, alpaca.CancelSlow, alpaca.CancelLoses, alpaca.CancelRefused, alpaca.ReplaceSlow, alpaca.ReplaceLoses, alpaca.ReplaceRefused,
			alpaca.TargetReplaced,
		}
		c.SetFault(moods[r.IntN(len(moods))])
		c.wait(time.Duration(r.IntN(5)) * time.Second)
		if r.IntN(6) == 0 {
			c.wait(5 * time.Hour)
		}
	}
	return 0
}

// consistent holds the orders, groups, positions and events against each other.
func (c counter) consistent() {
	c.t.Helper()
	_, answer := c.ask("GET", "/v2/orders?status=all&limit=500", "")
	var all []wire
	if err := json.Unmarshal([]byte(answer), &all); err != nil {
		c.t.Fatal(err)
	}
	truth := c.Truth()
	last := make(map[string]string)
	for _, e := range c.Events() {
		last[e.VenueID] = e.Status
	}
	for _, o := range all {
		if status, known := last[o.ID]; known && status != o.Status {
			c.t.Errorf("the order %+v was reported %s", o, status)
		}
	}
	if held, free := truth.Positions["AAPL"], truth.Reserved["AAPL"]; held.IsNegative() || free.GreaterThan(held) {
		c.t.Errorf("%s are held, %s of it reserved", held, free)
	}
	sum := decimal.Decimal{}
	for _, f := range truth.Fills {
		sum = sum.Add(f.Quantity.Mul(decimal.NewFromInt(f.Side.Sign())))
	}
	if !sum.Equal(truth.Positions["AAPL"]) {
		c.t.Errorf("the fills make %s, the position is %s", sum, truth.Positions["AAPL"])
	}
	for _, g := range truth.Groups {
		c.sound(g)
	}
}

// sound holds one group against the rules.
func (c counter) sound(g alpaca.Group) {
	c.t.Helper()
	ended := func(l alpaca.Leg) bool {
		return slices.Contains([]string{"filled", "canceled", "expired", "rejected", "replaced"}, l.Status)
	}
	sold := decimal.Decimal{}
	for _, leg := range g.Legs {
		sold = sold.Add(leg.Filled)
		switch {
		case leg.Waits && (ended(g.Parent) || g.Class == "oco"):
			c.t.Errorf("a leg waits for what is over: %+v", g)
		case !leg.Waits && !ended(leg) && g.Class != "oco" && g.Parent.Status != "filled":
			c.t.Errorf("a leg works before its entry is filled: %+v", g)
		case !ended(leg) && ended(g.Parent) && g.Parent.Status != "filled" && (g.Class != "oco" || leg.Status == "held"): // a stop that was reached goes on
			c.t.Errorf("a leg outlives its parent: %+v", g)
		}
	}
	if bought := g.Parent.Filled; g.Class != "oco" && sold.GreaterThan(bought) || g.Class == "oco" && sold.Add(bought).GreaterThan(g.Parent.Quantity) {
		c.t.Errorf("more is sold than there is: %+v", g)
	}
}
