package alpaca_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/id"
	"candela/internal/testkit/fake"
	fakealpaca "candela/internal/testkit/fake/alpaca"
	"candela/internal/trading/broker"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// group returns the orders of a request as the desk sends them: with ids, and the first
// one's as the name of their group.
func group(r order.Request) []order.Spec {
	if r.Symbol.IsZero() {
		r.Symbol = apple()
	}
	head := r.Spec(id.New(time.Now()), "local")
	all := []order.Spec{head}
	for _, leg := range head.Legs() {
		leg.ID = id.New(time.Now())
		all = append(all, leg)
	}
	return all
}

// bracket returns an entry at 99 with a stop at 95 and a target at 110.
func bracket(change func(*order.Request)) []order.Spec {
	r := order.Request{
		Side: order.Buy, Type: order.Limit, Quantity: num("10"), Price: num("99"),
		Protect: order.Protection{StopLoss: num("95"), TakeProfit: num("110")},
	}
	if change != nil {
		change(&r)
	}
	return group(r)
}

// atMarket makes the entry a market order.
func atMarket(r *order.Request) { r.Type, r.Price = order.Market, decimal.Zero }

// pair returns a target at 110 and a stop at 95 for what is held.
func pair(change func(*order.Request)) []order.Spec {
	return bracket(func(r *order.Request) {
		atMarket(r)
		r.Side, r.ReduceOnly = order.Sell, true
		if change != nil {
			change(r)
		}
	})
}

// trading runs fn while AAPL is at 100.
func trading(t *testing.T, fn func(t *testing.T, s *scene)) {
	t.Helper()
	play(t, noon(), fakealpaca.Config{}, func(t *testing.T, s *scene) {
		t.Helper()
		s.SetQuote("AAPL", "99.99", "100.01")
		fn(t, s)
	})
}

// mustGroup submits a group that the venue takes.
func (s *scene) mustGroup(t *testing.T, orders []order.Spec) []order.Report {
	t.Helper()
	reports, err := s.broker.SubmitGroup(t.Context(), orders)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range reports {
		o := orders[i]
		if r.ID != o.ID || r.VenueID == "" || r.Owner != o.Owner || r.Group != o.Group || r.Side != o.Side || !r.Quantity.Equal(o.Quantity) || !r.StopPrice.Equal(o.StopPrice) {
			t.Errorf("order %d of the group: %+v", i, r)
		}
	}
	return reports
}

// states queries each order of a group without the venue's ids and returns the statuses.
func (s *scene) states(t *testing.T, orders []order.Spec) string {
	t.Helper()
	var words []string
	for _, o := range orders {
		r := s.state(t, o)
		if r.ID != o.ID || r.Group != o.Group || r.Owner != o.Owner {
			t.Errorf("the answer is about %+v", r)
		}
		words = append(words, r.Status.String())
	}
	return strings.Join(words, " ")
}

// wants holds the statuses of the orders of a group.
func (s *scene) wants(t *testing.T, orders []order.Spec, want string) {
	t.Helper()
	if got := s.states(t, orders); got != want {
		t.Errorf("the group is %s, want %s", got, want)
	}
}

// TestSubmitGroup_WireForms holds the request of each kind of group.
func TestSubmitGroup_WireForms(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		orders []order.Spec
		want   string
		sentAs string
	}{
		"an entry with two legs": {
			bracket(nil),
			`{"client_order_id":"A","symbol":"AAPL","qty":"10","side":"buy","type":"limit","time_in_force":"gtc","limit_price":"99",` +
				`"order_class":"bracket","take_profit":{"limit_price":"110"},"stop_loss":{"stop_price":"95"}}`, "limit 99 gtc",
		},
		"an entry at market for the day": {
			bracket(func(r *order.Request) { atMarket(r); r.TimeInForce = order.Day }),
			`{"client_order_id":"A","symbol":"AAPL","qty":"10","side":"buy","type":"market","time_in_force":"day",` +
				`"order_class":"bracket","take_profit":{"limit_price":"110"},"stop_loss":{"stop_price":"95"}}`, "",
		},
		"an entry with a stop that has a limit": {
			bracket(func(r *order.Request) { r.Protect.TakeProfit, r.Protect.StopLossLimit = decimal.Zero, num("94.5") }),
			`{"client_order_id":"A","symbol":"AAPL","qty":"10","side":"buy","type":"limit","time_in_force":"gtc","limit_price":"99",` +
				`"order_class":"oto","stop_loss":{"limit_price":"94.5","stop_price":"95"}}`, "limit 99 gtc",
		},
		"an entry with a target": {
			bracket(func(r *order.Request) { atMarket(r); r.Protect.StopLoss = decimal.Zero }),
			`{"client_order_id":"A","symbol":"AAPL","qty":"10","side":"buy","type":"market","time_in_force":"gtc",` +
				`"order_class":"oto","take_profit":{"limit_price":"110"}}`, "market gtc",
		},
		"an entry that sells short": {
			bracket(func(r *order.Request) {
				atMarket(r)
				r.Side, r.Protect = order.Sell, order.Protection{StopLoss: num("105"), TakeProfit: num("90")}
			}),
			`{"client_order_id":"A","symbol":"AAPL","qty":"10","side":"sell","type":"market","time_in_force":"gtc",` +
				`"order_class":"bracket","take_profit":{"limit_price":"90"},"stop_loss":{"stop_price":"105"}}`, "market gtc",
		},
	} {
		trading(t, func(t *testing.T, s *scene) {
			t.Helper()
			reports := s.mustGroup(t, tc.orders)
			if got := s.lastPost(tc.orders...); got != tc.want {
				t.Errorf("%s:\n%s\nwant\n%s", name, got, tc.want)
			}
			if reports[0].SentAs != tc.sentAs {
				t.Errorf("%s: sent as %q", name, reports[0].SentAs)
			}
			for _, r := range reports[1:] {
				if r.Status != order.Held {
					t.Errorf("%s: a leg is %s", name, r.Status)
				}
			}
			if n := len(s.Truth().Groups); n != 1 {
				t.Errorf("%s: the venue has %d groups", name, n)
			}
		})
	}
	trading(t, func(t *testing.T, s *scene) {
		t.Helper()
		s.must(t, buy("AAPL", "10", ""))
		orders := pair(nil)
		reports := s.mustGroup(t, orders)
		want := `{"client_order_id":"A","symbol":"AAPL","qty":"10","side":"sell","type":"limit","time_in_force":"gtc",` +
			`"order_class":"oco","take_profit":{"limit_price":"110"},"stop_loss":{"stop_price":"95"}}`
		if got := s.lastPost(orders...); got != want {
			t.Errorf("a pair:\n%s\nwant\n%s", got, want)
		}
		if reports[1].Status != order.Accepted || reports[0].Status != order.Accepted || reports[0].SentAs != "limit 110 gtc" {
			t.Errorf("a pair is %+v", reports)
		}
		s.wants(t, orders, "accepted accepted")
	})
}

// TestSubmit_StopsAndTrails holds the request of each order that waits for a price.
func TestSubmit_StopsAndTrails(t *testing.T) {
	t.Parallel()
	trading(t, func(t *testing.T, s *scene) {
		t.Helper()
		s.SetQuote("BTC/USD", "49999", "50001")
		s.must(t, buy("AAPL", "40", ""))
		s.must(t, buy("BTC/USD", "0.1", ""))
		time.Sleep(time.Second)
		with := func(o order.Spec, change func(*order.Spec)) order.Spec {
			change(&o)
			return o
		}
		for name, tc := range map[string]struct {
			order  order.Spec
			want   string
			sentAs string
		}{
			"a stop": {
				with(sell("AAPL", "10", ""), func(o *order.Spec) { o.StopPrice = num("95") }),
				`"qty":"10","side":"sell","type":"stop","time_in_force":"gtc","stop_price":"95"}`, "stop 95 gtc",
			},
			"a stop for the day": {
				with(sell("AAPL", "10", ""), func(o *order.Spec) { o.StopPrice, o.TimeInForce = num("95"), order.Day }),
				`"qty":"10","side":"sell","type":"stop","time_in_force":"day","stop_price":"95"}`, "",
			},
			"a stop with a limit": {
				with(sell("AAPL", "10", "94"), func(o *order.Spec) { o.StopPrice = num("95") }),
				`"qty":"10","side":"sell","type":"stop_limit","time_in_force":"gtc","limit_price":"94","stop_price":"95"}`, "stop_limit 95 94 gtc",
			},
			"a trail": {
				with(sell("AAPL", "10", ""), func(o *order.Spec) { o.TrailPercent = num("2.5") }),
				`"qty":"10","side":"sell","type":"trailing_stop","time_in_force":"gtc","trail_percent":"2.5"}`, "trailing_stop 2.5% gtc",
			},
			"a stop of a pair": {
				with(sell("BTC/USD", "0.1", "44000"), func(o *order.Spec) { o.StopPrice = num("45000") }),
				`"qty":"0.1","side":"sell","type":"stop_limit","time_in_force":"gtc","limit_price":"44000","stop_price":"45000"}`, "",
			},
			"at once or nothing": {
				with(buy("AAPL", "1", "101"), func(o *order.Spec) { o.TimeInForce = order.FOK }),
				`"qty":"1","side":"buy","type":"limit","time_in_force":"fok","limit_price":"101"}`, "",
			},
			"until it is cancelled": {
				with(buy("AAPL", "1", "90"), func(o *order.Spec) { o.TimeInForce = order.GTC }),
				`"qty":"1","side":"buy","type":"limit","time_in_force":"gtc","limit_price":"90"}`, "",
			},
		} {
			r := s.must(t, tc.order)
			if got := s.lastPost(tc.order); !strings.HasSuffix(got, tc.want) {
				t.Errorf("%s:\n%s\nwant\n%s", name, got, tc.want)
			}
			if r.SentAs != tc.sentAs || r.TimeInForce == 0 || !r.TrailPercent.Equal(tc.order.TrailPercent) || !tc.order.TrailPercent.IsPositive() && !r.StopPrice.Equal(tc.order.StopPrice) {
				t.Errorf("%s: %+v", name, r)
			}
			if !tc.order.StopPrice.IsZero() && (s.state(t, tc.order).Status != order.Accepted || !r.Triggered.IsZero()) {
				t.Errorf("%s: it is %+v", name, r)
			}
			if r := s.state(t, tc.order); !r.Status.Final() {
				if _, err := s.broker.Cancel(t.Context(), tc.order.Handle()); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	})
}

// TestGroup_FollowsTheEntry goes through the life of a bracket: held, working, and one leg
// that ends the other.
func TestGroup_FollowsTheEntry(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		do   func(s *scene, orders []order.Spec, legs []fakealpaca.Leg)
		want string
	}{
		"it works":            {func(*scene, []order.Spec, []fakealpaca.Leg) {}, "filled accepted accepted"},
		"the stop is reached": {func(s *scene, _ []order.Spec, _ []fakealpaca.Leg) { s.SetQuote("AAPL", "94.90", "94.92") }, "filled filled canceled"},
		"the target is reached": {
			func(s *scene, _ []order.Spec, _ []fakealpaca.Leg) { s.SetQuote("AAPL", "110.10", "110.12") }, "filled canceled filled",
		},
		"the target ends as replaced": {func(s *scene, _ []order.Spec, _ []fakealpaca.Leg) {
			s.SetFault(fakealpaca.TargetReplaced)
			s.SetQuote("AAPL", "94.90", "94.92")
		}, "filled filled canceled"},
		"both are filled": {func(s *scene, orders []order.Spec, _ []fakealpaca.Leg) { s.FillBoth(orders[0].ID) }, "filled filled filled"},
		"a part of the target is filled": {
			func(s *scene, _ []order.Spec, legs []fakealpaca.Leg) { s.Trade(legs[0].VenueID, num("4")) }, "filled accepted partially_filled",
		},
	} {
		trading(t, func(t *testing.T, s *scene) {
			t.Helper()
			orders := bracket(nil)
			s.mustGroup(t, orders)
			s.wants(t, orders, "accepted held held")
			s.SetQuote("AAPL", "98.98", "99")
			legs := s.Truth().Groups[0].Legs
			if legs[1].Status != "held" || legs[1].Type != "stop" {
				t.Fatalf("%s: the stop is %+v", name, legs[1])
			}
			tc.do(s, orders, legs)
			s.wants(t, orders, tc.want)
			stop := s.state(t, orders[1])
			if stop.Triggered.IsZero() != !stop.Filled.IsPositive() {
				t.Errorf("%s: triggered %v with %s filled", name, stop.Triggered, stop.Filled)
			}
			if name == "a part of the target is filled" && !stop.Quantity.Equal(num("6")) {
				t.Errorf("%s: the stop is over %s", name, stop.Quantity)
			}
		})
	}
}

// TestGroup_EndsTogether cancels a group by one of its orders, at once and slowly.
func TestGroup_EndsTogether(t *testing.T) {
	t.Parallel()
	for _, which := range []int{0, 1, 2} {
		for _, slow := range []bool{false, true} {
			trading(t, func(t *testing.T, s *scene) {
				t.Helper()
				name := fmt.Sprint("order ", which, ", slow ", slow)
				orders := bracket(nil)
				s.mustGroup(t, orders)
				if slow {
					s.SetCancelDelay(5 * time.Second)
				}
				if r, err := s.broker.Cancel(t.Context(), orders[which].Handle()); err != nil || r.Status != order.PendingCancel || r.ID != orders[which].ID || r.Group != orders[which].Group {
					t.Errorf("%s: %+v, %v", name, r, err)
				}
				if slow {
					s.wants(t, orders, "pending_cancel pending_cancel pending_cancel")
					time.Sleep(6 * time.Second)
				}
				s.wants(t, orders, "canceled canceled canceled")
				if r, err := s.broker.Cancel(t.Context(), orders[1].Handle()); err != nil || r.Status != order.Canceled {
					t.Errorf("%s: again %+v, %v", name, r, err)
				}
			})
		}
	}
}

// TestCapabilities_OfStocksAndPairs holds what each kind of symbol takes.
func TestCapabilities_OfStocksAndPairs(t *testing.T) {
	t.Parallel()
	trading(t, func(t *testing.T, s *scene) {
		t.Helper()
		c, err := s.broker.Capabilities(t.Context(), apple())
		if err != nil || !c.Stops || !c.StopLimits || !c.Trails() || !c.Pairs || !c.OneLeg || !c.TwoLegs || !c.MarketEntry || !c.WholeLegs || !c.SellEntry || !c.CancelEndsGroup ||
			c.TrailLeg || c.PostOnly || c.LegsInPart || c.KeepsLegs || c.FlatEntry || strings.Join(c.TimeNames(), " ") != "day gtc ioc fok" {
			t.Errorf("a stock: %+v, %v", c, err)
		}
		asked := s.Requests()
		if _, err := s.broker.Capabilities(t.Context(), apple()); err != nil || s.Requests() != asked {
			t.Errorf("it is asked for again: %v", err)
		}
		for _, name := range []string{"BTC/USD", "BTCUSD"} {
			c, err = s.broker.Capabilities(t.Context(), market.Symbol{Venue: "alpaca", Name: name})
			if err != nil || c.Stops || !c.StopLimits || c.Trails() || c.Pairs || c.OneLeg || c.TwoLegs || strings.Join(c.TimeNames(), " ") != "gtc ioc" {
				t.Errorf("%s: %+v, %v", name, c, err)
			}
		}
		if _, err := s.broker.Capabilities(t.Context(), market.Symbol{Venue: "alpaca", Name: "NOSUCH"}); fault.KindOf(err) != fault.NotFound {
			t.Error(err)
		}
		for from, path := range map[string]string{`"easy_to_borrow":true`: "/v2/assets/MSFT", `"shorting_enabled":true`: "/v2/account"} {
			msft := market.Symbol{Venue: "alpaca", Name: "MSFT"}
			if _, err := s.broker.Instrument(t.Context(), msft); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Hour) // what was known is too old
			if _, err := s.broker.Instrument(t.Context(), msft); err != nil {
				t.Fatal(err)
			}
			s.Next(fake.Fault{On: func(r *http.Request) bool { return r.URL.Path == path }, Change: func(b []byte) []byte {
				return []byte(strings.Replace(string(b), from, strings.Replace(from, "true", "false", 1), 1))
			}})
			if c, err := s.broker.Capabilities(t.Context(), msft); err != nil || !c.Pairs || c.SellEntry {
				t.Errorf("without %s: %+v, %v", from, c, err)
			}
		}
	})
}

// TestSubmitGroup_FatesAreOfAll breaks the answer to a group in every way.
func TestSubmitGroup_FatesAreOfAll(t *testing.T) {
	t.Parallel()
	for name, f := range fakealpaca.OrderFaults() {
		trading(t, func(t *testing.T, s *scene) {
			t.Helper()
			orders := bracket(nil)
			s.Next(f)
			reports, err := s.broker.SubmitGroup(t.Context(), orders)
			s.Clear()
			outcome := broker.Outcome(err)
			if err == nil || reports != nil {
				t.Fatalf("%s: %+v", name, reports)
			}
			done := strings.HasSuffix(name, ", done")
			if done && !errors.Is(outcome, broker.ErrUnknown) {
				t.Errorf("%s: %v", name, err)
			}
			if n := len(s.Truth().Groups); n != map[bool]int{true: 1}[done] {
				t.Errorf("%s: the venue has %d groups", name, n)
			}
			time.Sleep(2 * time.Minute)
			if done {
				s.wants(t, orders, "accepted held held") // found by the head and the role alone
				return
			}
			for _, o := range orders {
				if _, err := s.broker.Query(t.Context(), o.Handle()); !errors.Is(err, broker.ErrNotFound) {
					t.Errorf("%s: %v", name, err)
				}
				if _, err := s.broker.Cancel(t.Context(), o.Handle()); !errors.Is(broker.Outcome(err), broker.ErrNotFound) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}
