package ordering_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/internal/trading/desk/desktest"
	"candela/internal/trading/order"
	"candela/internal/work/ordering"
	"candela/lib/fault"
	"candela/lib/market"
)

// account is a list of orders.
type account struct {
	orders []order.Order
	fails  map[string]error // of a cancel, by order
	calls  int
}

func (a *account) Orders(_ context.Context, _ principal.Caller, openOnly bool) ([]order.Order, error) {
	all := desktest.Page(a.orders, order.Query{Most: len(a.orders)}).Orders
	return slices.DeleteFunc(all, func(o order.Order) bool { return openOnly && o.Status.Final() }), nil
}

func (a *account) OrderPage(_ context.Context, _ principal.Caller, q order.Query) (order.Page, error) {
	a.calls++
	return desktest.Page(a.orders, q), nil
}

func (a *account) Cancel(_ context.Context, _ principal.Caller, id string) (order.Order, error) {
	i := slices.IndexFunc(a.orders, func(o order.Order) bool { return o.ID == id })
	if err := a.fails[id]; err != nil {
		return a.orders[i], err
	}
	a.orders[i].Status = order.Canceled
	return a.orders[i], nil
}

func btc() market.Symbol { return market.Symbol{Venue: "binance", Name: "BTCUSDT"} }
func eth() market.Symbol { return market.Symbol{Venue: "alpaca", Name: "ETH/USD"} }

// made returns an order that was created n minutes after others.
func made(n int, s market.Symbol, status order.Status) order.Order {
	o := order.Order{Status: status, Created: time.Date(2026, 1, 31, 0, n, 0, 0, time.UTC)}
	o.ID, o.Symbol, o.Side, o.Quantity = fmt.Sprintf("o%05d", n), s, order.Buy, decimal.NewFromInt(1)
	return o
}

// TestFind_EveryPart walks lists in parts of every size and holds that they have what a plain filter has, in order and
// once, with every open order in the first part.
func TestFind_EveryPart(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		a := &account{}
		for n := range 1 + random.IntN(60) {
			status := order.Filled
			if random.IntN(4) == 0 {
				status = order.Accepted
			}
			a.orders = append(a.orders, made(n, []market.Symbol{btc(), eth()}[random.IntN(2)], status))
		}
		q := ordering.Query{Symbol: []market.Symbol{{}, {Name: "BTCUSDT"}, {Name: "ETHUSD"}, {Venue: "binance", Name: "ETHUSD"}}[random.IntN(4)], Most: 1 + random.IntN(10)}
		q.State = []ordering.State{ordering.Open, ordering.Closed, ordering.All}[random.IntN(3)]
		var want []string
		for _, o := range slices.Backward(a.orders) {
			if order.Named(q.Symbol, o.Symbol) && (q.State == ordering.All || (q.State == ordering.Open) != o.Status.Final()) {
				want = append(want, o.ID)
			}
		}
		slices.Sort(want)
		var got []string
		for part := 0; ; part++ {
			l, err := ordering.Find(t.Context(), a, principal.Caller{}, q)
			if err != nil || part > len(a.orders) {
				t.Fatalf("part %d: %v", part, err)
			}
			for _, o := range l.Orders {
				if part > 0 && !o.Status.Final() {
					t.Errorf("an open order in part %d", part)
				}
				got = append(got, o.ID)
			}
			if l.Left == 0 {
				break
			}
			q.After = l.Last
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("%+v lists %v, want %v", q, got, want)
		}
	}
}

// TestFind_LooksAtABoundedNumber holds that a list by symbol ends after 2,000 orders with a place to go on from.
func TestFind_LooksAtABoundedNumber(t *testing.T) {
	t.Parallel()
	a := &account{orders: []order.Order{made(0, eth(), order.Filled)}}
	for n := range 5000 {
		a.orders = append(a.orders, made(n+1, btc(), order.Filled))
	}
	q := ordering.Query{Symbol: market.Symbol{Name: "ETHUSD"}, State: ordering.All, Most: 5}
	for part := range 3 {
		a.calls = 0
		l, err := ordering.Find(t.Context(), a, principal.Caller{}, q)
		if err != nil || a.calls > 4 {
			t.Fatalf("part %d took %d reads, %v", part, a.calls, err)
		}
		if last := part == 2; last != (l.Left == 0) || last != (len(l.Orders) == 1) {
			t.Errorf("part %d has %d orders and %d left", part, len(l.Orders), l.Left)
		}
		q.After = l.Last
	}
}

func TestFind_OneWithItsGroup(t *testing.T) {
	t.Parallel()
	entry, stop, other := made(1, btc(), order.Filled), made(2, btc(), order.Accepted), made(3, btc(), order.Accepted)
	entry.Role, entry.Group.Name = order.Entry, entry.ID
	stop.Role, stop.Group, stop.Parent = order.StopLoss, order.Group{Name: entry.ID, Leg: true}, entry.ID
	a := &account{orders: []order.Order{entry, stop, other}}
	for id, want := range map[string]string{entry.ID: entry.ID + " " + stop.ID, stop.ID: stop.ID + " " + entry.ID, other.ID: other.ID} {
		l, err := ordering.Find(t.Context(), a, principal.Caller{}, ordering.Query{ID: id})
		var got []string
		for _, o := range l.Orders {
			got = append(got, o.ID)
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s is with %v, %v; want %s", id, got, err, want)
		}
	}
	if _, err := ordering.Find(t.Context(), a, principal.Caller{}, ordering.Query{ID: "never"}); fault.KindOf(err) != fault.NotFound {
		t.Errorf("an unknown order: %v", err)
	}
}

// TestCancelAll holds that entries end, that stops and targets stay and are named, and that one that cannot be cancelled does
// not keep the others.
func TestCancelAll(t *testing.T) {
	t.Parallel()
	limit, stop, target, outside, elsewhere, asked := made(1, btc(), order.Accepted), made(2, btc(), order.Accepted), made(3, btc(), order.Accepted),
		made(4, btc(), order.Accepted), made(5, eth(), order.Accepted), made(6, btc(), order.PendingApproval)
	stop.Role, target.Role = order.StopLoss, order.TakeProfit
	refused := &fault.Error{Kind: fault.Unsupported, Code: "external_order", Message: "Order was placed outside candela."}
	list := func(briefs []ordering.Brief) string {
		var ids []string
		for _, b := range briefs {
			ids = append(ids, b.OrderID)
		}
		return strings.Join(ids, " ")
	}
	a := &account{orders: []order.Order{limit, stop, target, outside, elsewhere, asked}, fails: map[string]error{outside.ID: refused}}
	c, err := ordering.CancelAll(t.Context(), a, principal.Caller{}, market.Symbol{Name: "BTCUSDT"})
	if err != nil || list(c.Orders) != "o00006 o00001" || list(c.Kept) != "o00003 o00002" || list(c.Failed) != "o00004" || c.Failed[0].Reason == "" || c.Status != "incomplete" {
		t.Errorf("of a symbol: %+v, %v", c, err)
	}
	a.fails = map[string]error{outside.ID: &fault.Error{Kind: fault.Conflict, Code: "order_closed"}}
	if c, err := ordering.CancelAll(t.Context(), a, principal.Caller{}, market.Symbol{}); err != nil || list(c.Orders) != "o00005 o00004" || c.Status != "pending_cancel" && c.Status != "canceled" || c.Next == "" {
		t.Errorf("of all: %+v, %v", c, err)
	}
	a.orders = []order.Order{stop}
	if c, err := ordering.CancelAll(t.Context(), a, principal.Caller{}, market.Symbol{}); err != nil || c.Status != "nothing_open" || list(c.Kept) != stop.ID {
		t.Errorf("of a stop alone: %+v, %v", c, err)
	}
}

func TestCancelAll_IsBounded(t *testing.T) {
	t.Parallel()
	a := &account{}
	for n := range 120 {
		a.orders = append(a.orders, made(n, btc(), order.Accepted))
	}
	for call, left := range []int{70, 20, 0} {
		c, err := ordering.CancelAll(t.Context(), a, principal.Caller{}, market.Symbol{})
		if err != nil || c.Left != left || (c.Next == "") != (left == 0) {
			t.Errorf("call %d leaves %d, %v; want %d", call, c.Left, err, left)
		}
	}
}

// TestSymbol_ThatOnlyBegins asks for BTC where BTCUSDT is held: an empty list would say that nothing is.
func TestSymbol_ThatOnlyBegins(t *testing.T) {
	t.Parallel()
	held := order.PricedPosition{}
	held.Symbol = market.Symbol{Venue: "binance", Name: "BTCUSDT"}
	for _, row := range []struct {
		asked market.Symbol
		held  int
		err   string
	}{
		{market.Symbol{}, 1, ""},
		{market.Symbol{Name: "BTCUSDT"}, 1, ""},
		{market.Symbol{Name: "BTC/USDT"}, 1, ""},
		{market.Symbol{Name: "ETHUSDT"}, 0, ""},
		{market.Symbol{Venue: "alpaca", Name: "BTC"}, 0, ""},
		{market.Symbol{Name: "BTC"}, 0, "symbol: nothing is in BTC; there is binance:BTCUSDT. Use that, or leave symbol out for all."},
	} {
		got, err := ordering.Held([]order.PricedPosition{held}, row.asked)
		text := ""
		if f := fault.Of(err); f != nil {
			text = f.Public()
		}
		if len(got) != row.held || text != row.err {
			t.Errorf("%v: %d held, %q", row.asked, len(got), text)
		}
	}
	open := order.Order{Status: order.Accepted}
	open.ID, open.Symbol = "a", held.Symbol
	resting := &account{orders: []order.Order{open}}
	if _, err := ordering.Find(t.Context(), resting, principal.Caller{}, ordering.Query{State: ordering.Open, Symbol: market.Symbol{Name: "BTC"}}); err == nil {
		t.Error("the list of open orders in BTC is empty")
	}
	if _, err := ordering.CancelAll(t.Context(), resting, principal.Caller{}, market.Symbol{Name: "BTC"}); err == nil {
		t.Error("nothing in BTC is left to cancel")
	}
}
