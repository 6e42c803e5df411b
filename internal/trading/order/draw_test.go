package order_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"candela/internal/trading/order"
	"candela/lib/market"
)

// Common to the tests: orders, trades and moments that are drawn or written down.

func dec(s string) decimal.Decimal { return decimal.RequireFromString(s) }

func symbol(name string) market.Symbol { return market.Symbol{Venue: "paper", Name: name} }

// second is a moment: n seconds into a day.
func second(n int) time.Time { return time.Unix(1_790_000_000+int64(n), 0).UTC() }

func origin(id string, side order.Side, quantity string) order.Origin {
	return order.Origin{
		Spec: order.Spec{
			ID: id, Owner: "me", Symbol: symbol("BTCUSDT"), Side: side, Type: order.Limit,
			Quantity: dec(quantity), Price: dec("100"),
		},
		Broker: "paper", Mode: order.Paper, Token: "k1", Client: "c",
	}
}

func created(g order.Origin) order.Event {
	return order.Event{Kind: order.KindCreated, OrderID: g.ID, At: second(0), Origin: &g}
}

func event(id string, k order.Kind) order.Event {
	return order.Event{Kind: k, OrderID: id, At: second(1)}
}

// trade is a fill of an order; n is its trade id and its time.
func trade(g order.Origin, n int, quantity, price string) order.Fill {
	return order.Fill{
		TradeID: strconv.Itoa(n), OrderID: g.ID, Symbol: g.Symbol, Side: g.Side,
		Quantity: dec(quantity), Price: dec(price), Fee: dec("0.01"), FeeAsset: "USDT", At: second(n),
	}
}

func filled(f order.Fill) order.Event {
	return order.Event{Kind: order.KindFill, OrderID: f.OrderID, At: f.At, VenueAt: f.At, Fill: &f}
}

// sent returns an order that is on its way.
func sent(g order.Origin) order.Order {
	return fold(order.Order{}, created(g), event(g.ID, order.KindSent))
}

// fold applies events that must be legal.
func fold(o order.Order, events ...order.Event) order.Order {
	for _, e := range events {
		next, err := order.Apply(o, e)
		if err != nil {
			panic(err)
		}
		o = next
	}
	return o
}

// hear applies what reports add.
func hear(o order.Order, reports ...order.Report) order.Order {
	for _, r := range reports {
		o = fold(o, order.FromReport(o, r)...)
	}
	return o
}

// same compares orders in all that matters: which report came first shows in the
// times alone.
func same(a, b order.Order) string {
	return cmp.Diff(a, b, cmpopts.IgnoreFields(order.Order{}, "Updated", "Seen", "CancelRequested"), cmpopts.EquateEmpty())
}

// drawDecimal draws a number above zero with up to eight decimals, often a round
// one and often one that does not divide well.
func drawDecimal(t *rapid.T, label string, most int64) decimal.Decimal {
	units := rapid.Int64Range(1, most).Draw(t, label)
	return decimal.New(units, -int32(rapid.IntRange(0, 8).Draw(t, label+" decimals")))
}

// split cuts a quantity into n parts of at least one unit of its last decimal.
func split(rng *rand.Rand, quantity decimal.Decimal, n int) []decimal.Decimal {
	unit := decimal.New(1, quantity.Exponent())
	left := quantity.Div(unit).IntPart()
	var parts []decimal.Decimal
	for ; n > 1 && left > 1; n-- {
		k := 1 + rng.Int64N(left-1)
		parts = append(parts, unit.Mul(decimal.NewFromInt(k)))
		left -= k
	}
	return append(parts, unit.Mul(decimal.NewFromInt(left)))
}

func shuffled[T any](rng *rand.Rand, in []T) []T {
	out := slices.Clone(in)
	rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// twice repeats some of the items, somewhere later.
func twice[T any](rng *rand.Rand, in []T) []T {
	out := slices.Clone(in)
	for _, item := range in {
		if rng.IntN(2) == 0 {
			out = append(out, item)
		}
	}
	return out
}

func generator(t *rapid.T) *rand.Rand {
	return rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
}
