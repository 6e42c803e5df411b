package alpaca

import (
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
)

// answeredGroup is a bracket as it was sent.
func answeredGroup() []order.Spec {
	r := order.Request{
		Symbol: apple(), Side: order.Buy, Type: order.Limit, Quantity: decimal.NewFromInt(10), Price: decimal.NewFromInt(99),
		Protect: order.Protection{StopLoss: decimal.NewFromInt(95), TakeProfit: decimal.NewFromInt(110)},
	}
	head := r.Spec("A", "local")
	legs := head.Legs()
	legs[0].ID, legs[1].ID = "B", "C"
	return append([]order.Spec{head}, legs...)
}

// bracketAnswer is an answer about a bracket in the venue's form, written by hand: the
// entry, the target and the stop with their states.
func bracketAnswer(entry, target, stop string) string {
	one := func(id, client, side, kind, prices, status string) string {
		filled := "0"
		if status == "filled" {
			filled = "10"
		}
		return `{"id":"` + id + `","client_order_id":"` + client + `","created_at":"2026-07-08T14:00:00.5Z","updated_at":"2026-07-08T14:00:01Z","submitted_at":"2026-07-08T14:00:00.5Z",` +
			`"filled_at":null,"replaced_by":null,"replaces":null,"asset_class":"us_equity","symbol":"AAPL","qty":"10","filled_qty":"` + filled + `","order_class":"bracket",` +
			`"order_type":"` + kind + `","type":"` + kind + `","side":"` + side + `","time_in_force":"gtc",` + prices + `,"trail_percent":null,"trail_price":null,"hwm":null,"status":"` + status + `","legs":`
	}
	return one("e", "A", "buy", "limit", `"limit_price":"99","stop_price":null`, entry) + "[" +
		one("t", "made-up-1", "sell", "limit", `"limit_price":"110","stop_price":null`, target) + "null}," +
		one("s", "made-up-2", "sell", "stop", `"limit_price":null,"stop_price":"95"`, stop) + "null}]}"
}

// TestGroupReports_MatchByRole reads answers in which only the roles say which leg is which.
func TestGroupReports_MatchByRole(t *testing.T) {
	t.Parallel()
	for states, want := range map[string]string{
		"new held held":          "A accepted e, B held s, C held t",
		"pending_new held held":  "A accepted e, B held s, C held t",
		"filled new held":        "A filled e, B accepted s, C accepted t",
		"filled held held":       "A filled e, B accepted s, C accepted t",
		"canceled canceled held": "A canceled e, B held s, C canceled t",
	} {
		words := strings.Fields(states)
		reports, err := groupReports([]byte(bracketAnswer(words[0], words[1], words[2])), classBracket, answeredGroup())
		var got []string
		for _, r := range reports {
			got = append(got, r.ID+" "+r.Status.String()+" "+r.VenueID)
			if r.Owner != "local" || r.Group.Name != "A" || r.Group.Leg != (r.ID != "A") || r.TimeInForce != order.GTC {
				t.Errorf("%s: %+v", states, r)
			}
		}
		if text := strings.Join(got, ", "); err != nil || text != want {
			t.Errorf("%s: %s, %v; want %s", states, text, err, want)
		}
	}
}

// TestStatusOf_Held holds what held means for an order alone, without its parent: a leg of
// an entry waits as far as is known, the stop of a pair works.
func TestStatusOf_Held(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		class, word string
		want        order.Status
	}{
		"a stop of a bracket": {classBracket, typeStop, order.Held}, "a target of a bracket": {classBracket, "limit", order.Held},
		"a stop of one leg": {classOneLeg, typeStopLimit, order.Held}, "a stop of a pair": {classPair, typeStop, order.Accepted},
		"a stop of nothing": {"", typeStop, order.Held}, "an order of nothing": {"", "limit", order.Accepted},
	} {
		if got, _ := statusOf(ticket{class: tc.class, word: tc.word, status: "held", quantity: decimal.NewFromInt(1)}); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
