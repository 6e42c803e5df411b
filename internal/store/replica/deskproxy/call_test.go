package deskproxy_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"candela/internal/kit/principal"
	"candela/internal/store/replica/deskproxy"
	"candela/internal/store/replica/replicatest"
	"candela/internal/testkit/longtest"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// travels demands that a value is decoded unchanged: amounts to the last digit, times to the
// nanosecond.
func travels[T any](rt *rapid.T, what string, value T) {
	data, err := deskproxy.Pack(value, 1<<20)
	if err != nil {
		rt.Fatalf("%s: %v", what, err)
	}
	var got T
	if err := deskproxy.Unpack(data, &got); err != nil {
		rt.Fatalf("%s: %v", what, err)
	}
	if diff := cmp.Diff(value, got); diff != "" {
		rt.Fatalf("%s: %s", what, diff)
	}
}

func drawAmount(rt *rapid.T) decimal.Decimal {
	d := decimal.New(rapid.Int64().Draw(rt, "digits"), rapid.Int32Range(-40, 40).Draw(rt, "exponent"))
	if rapid.Bool().Draw(rt, "long") {
		d = d.Mul(d).Add(decimal.New(1, -60))
	}
	return d
}

func drawTime(rt *rapid.T) time.Time {
	if rapid.Bool().Draw(rt, "never") {
		return time.Time{}
	}
	zone := time.FixedZone("", 60*rapid.IntRange(-14*60, 14*60).Draw(rt, "minutes east"))
	return time.Unix(rapid.Int64Range(0, 200_000_000_000).Draw(rt, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(rt, "nanoseconds")).In(zone)
}

func drawSymbol(rt *rapid.T) market.Symbol {
	name := rapid.SampledFrom([]string{"BTCUSDT", "BTC/USD", "BRK.B", "^GSPC", "EURUSD=X", "ES-2026"}).Draw(rt, "symbol")
	return market.Symbol{Venue: rapid.SampledFrom([]string{"", "binance", "alpaca", "csv"}).Draw(rt, "venue"), Name: name}
}

func drawText(rt *rapid.T, name string) string { return rapid.String().Draw(rt, name) }

func drawCaller(rt *rapid.T) principal.Caller {
	return principal.Caller{
		Subject: principal.Owner(drawText(rt, "subject")), Key: drawText(rt, "key"), Client: drawText(rt, "client"), ClientKey: drawText(rt, "client key"), Expires: drawTime(rt),
	}
}

func drawSpec(rt *rapid.T) order.Spec {
	return order.Spec{
		ID: drawText(rt, "id"), Owner: principal.Owner(drawText(rt, "owner")), Symbol: drawSymbol(rt), Side: order.Side(rapid.IntRange(0, 2).Draw(rt, "side")),
		Type: order.Type(rapid.IntRange(0, 2).Draw(rt, "type")), Quantity: drawAmount(rt), Price: drawAmount(rt),
	}
}

func drawFees(rt *rapid.T) order.Fees {
	fees := order.Fees{}
	for i := range rapid.IntRange(1, 3).Draw(rt, "assets") {
		fees[fmt.Sprint("A", i)] = drawAmount(rt)
	}
	return fees
}

func drawOrder(rt *rapid.T) order.Order {
	o := order.Order{
		Origin: order.Origin{
			Spec: drawSpec(rt), Broker: "binance", Mode: order.Live, Key: drawText(rt, "idempotency key"), Token: "t", Client: drawText(rt, "client"), External: rapid.Bool().Draw(rt, "external"),
		},
		Status: order.Status(rapid.IntRange(1, 11).Draw(rt, "status")), VenueID: drawText(rt, "venue id"), Filled: drawAmount(rt), Cost: drawAmount(rt), Fees: drawFees(rt),
		Claimed: drawAmount(rt), Reason: drawText(rt, "reason"), Denial: order.Denial{Rule: drawText(rt, "rule"), Limit: "1", Value: drawText(rt, "value")},
		Created: drawTime(rt), Updated: drawTime(rt), CancelRequested: drawTime(rt), Seen: drawTime(rt), Doubted: drawTime(rt), Doubt: drawText(rt, "doubt"),
	}
	for i := range rapid.IntRange(0, 4).Draw(rt, "fills") {
		o.Fills = append(o.Fills, order.Fill{
			TradeID: strconv.Itoa(i), OrderID: o.ID, VenueID: o.VenueID, Symbol: o.Symbol, Side: o.Side, Quantity: drawAmount(rt), Price: drawAmount(rt),
			Fee: drawAmount(rt), FeeAsset: "BNB", Maker: rapid.Bool().Draw(rt, "maker"), At: drawTime(rt),
		})
	}
	return o
}

func drawMarked(rt *rapid.T) order.PricedPosition {
	return order.PricedPosition{
		Position: order.Position{Symbol: drawSymbol(rt), Quantity: drawAmount(rt), Cost: drawAmount(rt), Realised: drawAmount(rt), Fees: drawFees(rt), Updated: drawTime(rt), FeesInBase: drawAmount(rt), FeesWorth: drawAmount(rt)},
		Quote:    order.Quote{Last: drawAmount(rt), Bid: drawAmount(rt), Ask: drawAmount(rt), At: drawTime(rt), MarketClosed: rapid.Bool().Draw(rt, "shut")}, Mode: order.Paper,
	}
}

func TestCall_EncodesExactly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := drawSpec(rt)
		travels(rt, "a caller", drawCaller(rt))
		travels(rt, "a request", order.Request{
			Symbol: s.Symbol, Side: s.Side, Type: s.Type, Quantity: s.Quantity, Price: s.Price, Key: drawText(rt, "key"), DryRun: rapid.Bool().Draw(rt, "dry run"),
		})
		travels(rt, "an order", drawOrder(rt))
		travels(rt, "orders", []order.Order{drawOrder(rt), drawOrder(rt)})
		travels(rt, "a position", drawMarked(rt))
		account := guard.Account{Broker: "paper", Mode: order.Paper, Rules: guard.Rules(guard.Default()), Unread: drawText(rt, "unread"), Usage: []guard.Usage{{Rule: guard.LossRule, Limit: guard.Limit{Value: drawAmount(rt)}, Used: drawAmount(rt)}}}
		account.Value(guard.Default(), guard.Prices{}, []order.Holding{{Asset: "USDT", Quantity: drawAmount(rt), Available: drawAmount(rt)}, {Symbol: drawSymbol(rt), Quantity: drawAmount(rt)}})
		travels(rt, "an account", account)
		travels(rt, "a status", desk.Status{
			Broker: "binance", Mode: order.Live, Open: 3, Uncertain: 1, Connected: true, Reconciled: true,
			State: guard.State{Restrictions: []guard.Restriction{{Kind: guard.Mismatch, Subject: drawText(rt, "subject"), Reason: drawText(rt, "reason"), Since: drawTime(rt)}}, Day: guard.Day{Date: "2026-01-31", Start: drawAmount(rt), Loss: drawAmount(rt)}},
		})
		f := &fault.Error{
			Kind: fault.Kind(rapid.IntRange(0, 6).Draw(rt, "kind")), Code: drawText(rt, "code"), Message: drawText(rt, "message"), Field: drawText(rt, "field"), Value: drawText(rt, "value"),
			Allowed: drawText(rt, "allowed"), Suggestions: []string{drawText(rt, "suggestion")}, Retryable: rapid.Bool().Draw(rt, "retryable"), RetryAfter: time.Duration(rapid.Int64().Draw(rt, "retry after")),
			Cause: errors.New("because " + drawText(rt, "cause")),
		}
		got := fault.Of(deskproxy.Travel(f))
		if got == nil || got.Cause == nil || got.Cause.Error() != f.Cause.Error() {
			rt.Fatalf("%#v became %#v", f, got)
		}
		want := *f
		want.Cause, got.Cause = nil, nil
		if diff := cmp.Diff(&want, got); diff != "" {
			rt.Fatal(diff)
		}
	})
}

// TestCall_EncodesLongLists encodes the longest list of orders, with many trades each.
func TestCall_EncodesLongLists(t *testing.T) {
	t.Parallel()
	list := func(fills int) []order.Order {
		all := make([]order.Order, 500)
		for i := range all {
			o := &all[i]
			o.Spec = replicatest.Placed("ann", fmt.Sprint("0196a0b0-7c1e-7000-8000-", 100_000_000_000+i))[0].Origin.Spec
			o.Status, o.Filled, o.Created, o.Updated = order.PartiallyFilled, decimal.NewFromInt(int64(fills)), time.Now().UTC(), time.Now().UTC()
			for k := range fills {
				o.Fills = append(o.Fills, order.Fill{TradeID: strconv.Itoa(i*fills + k), OrderID: o.ID, Symbol: o.Symbol, Side: o.Side, Quantity: decimal.New(1, 0), Price: decimal.New(int64(k*i), -2), At: o.Created})
			}
		}
		return all
	}
	most := longtest.Pick(1<<17, 1<<20)
	for name, c := range map[string]struct {
		fills int
		kept  bool
	}{"none": {0, true}, "some": {longtest.Pick(4, 20), true}, "very many": {longtest.Pick(30, 250), false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := list(c.fills)
			data, err := deskproxy.Pack(want, most)
			if err != nil || len(data) > most {
				t.Fatalf("%d bytes, %v", len(data), err)
			}
			if !c.kept {
				for i := range want {
					want[i].Fills = nil
				}
			}
			var got []order.Order
			if err := deskproxy.Unpack(data, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			t.Logf("500 orders of %d trades are %d bytes", c.fills, len(data))
		})
	}
	long := list(1)[0]
	for i := range 2_000 {
		long.Fills = append(long.Fills, order.Fill{TradeID: rand.Text(), OrderID: long.ID, Symbol: long.Symbol, Price: decimal.New(int64(i), -2)})
	}
	const little = 16 << 10
	if data, err := deskproxy.PackOrder(long, little); err != nil || len(data) > little {
		t.Errorf("an order of %d trades is %d bytes, %v", len(long.Fills), len(data), err)
	}
	if _, err := deskproxy.Pack(list(0), 1000); fault.KindOf(err) != fault.Unsupported {
		t.Errorf("an oversized list: %v", err)
	}
}
