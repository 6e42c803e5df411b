package order_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
)

// TestNotices_Report folds events one after the other and together: both report the same, once each.
func TestNotices_Report(t *testing.T) {
	t.Parallel()
	buy, sell, stop, target := origin("buy", order.Buy, "3"), origin("sell", order.Sell, "3"), origin("stop", order.Sell, "3"), origin("target", order.Sell, "3")
	stop.Role, stop.StopPrice, stop.Parent, target.Role = order.StopLoss, dec("90"), "buy", order.TakeProfit
	trail := stop
	trail.TrailPercent = dec("2")
	bought := []order.Event{created(buy), event("buy", order.KindSent), event("buy", order.KindAccepted), filled(trade(buy, 5, "3", "100"))}
	placed := func(g order.Origin) []order.Event {
		return []order.Event{created(g), event(g.ID, order.KindSent), event(g.ID, order.KindAccepted)}
	}
	ended := func(k order.Kind) []order.Event { return append(placed(buy), event("buy", k)) }
	byOwner := event("buy", order.KindCancelRequested)
	byOwner.ByOwner = true
	forAnother := event("buy", order.KindCancelRequested)
	forAnother.Reason = "other"
	approved := event("buy", order.KindApproved)
	approved.Approval = &order.Approval{Decided: second(2), By: "owner"}
	denied := func(rule string) order.Event {
		e := event("buy", order.KindDenied)
		e.Reason, e.Denial = "no", &order.Denial{Rule: rule}
		return e
	}
	for name, tc := range map[string]struct {
		events []order.Event
		want   string
	}{
		"an entry":   {bought, "order_filled entry filled 3 after 3"},
		"an exit":    {slices.Concat(bought, placed(sell), []order.Event{filled(trade(sell, 6, "3", "110"))}), "order_filled entry filled 3 after 3; order_filled exit filled 3 after 0 earned 30; position_closed exit after 0 earned 30"},
		"a stop":     {slices.Concat(bought, placed(stop), []order.Event{filled(trade(stop, 6, "3", "90.5"))}), "order_filled entry filled 3 after 3; order_filled stop_loss filled 3 after 0 earned -28.5; position_closed stop_loss after 0 earned -28.5"},
		"a trail":    {slices.Concat(bought, placed(trail), []order.Event{filled(trade(trail, 6, "3", "99"))}), "order_filled entry filled 3 after 3; order_filled trail filled 3 after 0 earned -3; position_closed trail after 0 earned -3"},
		"a target":   {slices.Concat(bought, placed(target), []order.Event{filled(trade(target, 6, "3", "120"))}), "order_filled entry filled 3 after 3; order_filled take_profit filled 3 after 0 earned 60; position_closed take_profit after 0 earned 60"},
		"in parts":   {slices.Concat(bought, placed(sell), []order.Event{filled(trade(sell, 6, "1", "110")), filled(trade(sell, 8, "1", "120")), filled(trade(sell, 17, "0.5", "100")), filled(trade(sell, 18, "0.5", "100"))}), "order_filled entry filled 3 after 3; order_part_filled exit partially_filled 1 after 2 earned 10; order_filled exit filled 3 after 0 earned 30; position_closed exit after 0 earned 30"},
		"late":       {slices.Concat(placed(sell), bought, []order.Event{filled(trade(sell, 4, "3", "110"))}), "order_filled entry filled 3 after 3; order_filled exit filled 3 after 0 earned 0; position_closed exit after 0 earned 30"},
		"repeated":   {append(bought, filled(trade(buy, 5, "3", "100"))), "order_filled entry filled 3 after 3"},
		"refused":    {append(bought, filled(trade(buy, 6, "3", "100"))), "order_filled entry filled 3 after 3"},
		"canceled":   {ended(order.KindCanceled), "order_ended entry canceled 0"},
		"expired":    {ended(order.KindExpired), "order_ended entry expired 0"},
		"rejected":   {ended(order.KindRejected), "order_ended entry rejected 0"},
		"gone":       {ended(order.KindGone), "order_ended entry canceled 0"},
		"not taken":  {[]order.Event{created(buy), event("buy", order.KindSent), event("buy", order.KindRejected)}, ""},
		"a caller's": {append(placed(buy), event("buy", order.KindCancelRequested), event("buy", order.KindCanceled)), ""},
		"an owner's": {append(placed(buy), byOwner, event("buy", order.KindCanceled)), "order_ended entry canceled 0"},
		"a desk's":   {append(placed(buy), forAnother, event("buy", order.KindCanceled)), ""},
		"approved":   {[]order.Event{created(buy), asked("buy"), approved}, "order_decided entry new 0 approved"},
		"no":         {[]order.Event{created(buy), asked("buy"), denied("owner_refused")}, "order_decided entry denied 0 refused"},
		"no answer":  {[]order.Event{created(buy), asked("buy"), denied("approval_expired")}, "order_decided entry denied 0 expired"},
		"withdrawn":  {[]order.Event{created(buy), asked("buy"), event("buy", order.KindCanceled)}, ""},
		"denied":     {[]order.Event{created(buy), denied("max_order")}, ""},
		"taken away": {append(bought, order.Event{Kind: order.KindAdjusted, At: second(9), Adjustment: &order.Adjustment{Symbol: buy.Symbol, Quantity: dec("-3"), Price: dec("101")}}), "order_filled entry filled 3 after 3; position_closed after 0 earned 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			together := order.NewBook("me").Notices(tc.events)
			b, each := order.NewBook("me"), []order.Notice(nil)
			for i, e := range tc.events {
				for _, n := range b.Notices([]order.Event{e}) {
					n.Of = i
					each = append(each, n)
				}
				_ = b.Apply(e) // some are refused
			}
			if got := reported(t, together); got != tc.want {
				t.Errorf("reported %s\nwant %s", got, tc.want)
			}
			if len(each) != len(together) {
				t.Fatalf("one by one %s", reported(t, each))
			}
			seen := make(map[string]bool)
			for i, n := range each {
				if o := together[i]; n.ID != o.ID || n.Of != o.Of || !bytes.Equal(n.Data, o.Data) {
					t.Errorf("one by one %s, together %s", n.Data, o.Data)
				}
				if seen[n.ID] || bytes.ContainsRune(n.Data, '\n') || bytes.Contains(n.Data, []byte("alert_id")) {
					t.Errorf("the notice %s %s", n.ID, n.Data)
				}
				seen[n.ID] = true
			}
		})
	}
}

func reported(t *testing.T, all []order.Notice) string {
	t.Helper()
	texts := make([]string, 0, len(all))
	for _, n := range all {
		var r order.NoticeRecord
		if err := json.Unmarshal(n.Data, &r); err != nil || r.Event != n.Event || r.Mode != "paper" || r.Symbol != "BTCUSDT" {
			t.Fatalf("%s: %v", n.Data, err)
		}
		words := []string{r.Event, r.Role, r.Status, r.Filled}
		if text := r.Text(); !strings.Contains(text, r.Symbol) || strings.Contains(text, "  ") || strings.Contains(text, ": (") {
			t.Errorf("%s is %q", n.Data, text)
		}
		if r.After != "" {
			words = append(words, "after", r.After)
		}
		if r.Realised != "" {
			words = append(words, "earned", r.Realised)
		}
		texts = append(texts, strings.Join(slices.DeleteFunc(append(words, r.Decision), func(s string) bool { return s == "" }), " "))
	}
	return strings.Join(texts, "; ")
}

// TestNotices_SumOfClosedPositions closes positions by random fills: what the notices say was earned
// is what the position realised, exactly.
func TestNotices_SumOfClosedPositions(t *testing.T) {
	t.Parallel()
	b, sum, closed := order.NewBook("me"), decimal.Zero, 0
	held := decimal.Zero
	for n := range 2000 {
		side, quantity := order.Buy, decimal.New(int64(1+n*7%13), -2)
		if n%3 == 2 {
			side, quantity = order.Sell, held
		}
		g := origin(fmt.Sprint("o", n), side, quantity.String())
		f := trade(g, n, quantity.String(), decimal.New(int64(10000+n*37%911), -2).String())
		f.At = second(0).Add(time.Duration(n) * time.Second)
		held = held.Add(quantity.Mul(decimal.NewFromInt(side.Sign())))
		events := []order.Event{created(g), event(g.ID, order.KindSent), filled(f)}
		for _, notice := range b.Notices(events) {
			var r order.NoticeRecord
			if err := json.Unmarshal(notice.Data, &r); err != nil {
				t.Fatal(err)
			}
			if r.Event == order.NoticeClosed {
				sum, closed = sum.Add(dec(r.Realised)), closed+1
			}
		}
		for _, e := range events {
			if err := b.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	if p := b.Position(symbol("BTCUSDT")); closed != 666 || !sum.Equal(p.Earlier.Realised) {
		t.Errorf("%d positions closed with %v; the position realised %v", closed, sum, p.Earlier.Realised)
	}
}
