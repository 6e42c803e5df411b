package order_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
	"candela/lib/market"
)

// change sets a field to another value of its type.
func change(t *testing.T, field reflect.Value) {
	t.Helper()
	switch v := field.Addr().Interface().(type) {
	case *decimal.Decimal:
		*v = v.Add(decimal.NewFromInt(1))
	case *order.Side:
		*v = order.Sell
	case *order.Type:
		*v = order.Market
	case *order.TimeInForce:
		*v = order.IOC
	case *order.Role:
		*v = order.Exit
	case *time.Time:
		*v = v.Add(time.Second)
	case *bool:
		*v = !*v
	case *string:
		*v += "x"
	case *[]order.Claim:
		*v = append(*v, order.Claim{Condition: []byte(`{"price_above":1}`)})
	case *order.Sizing:
		change(t, field.FieldByName("TakeProfitPct"))
	case *order.Protection:
		change(t, field.Field(field.NumField()-1))
	default:
		t.Fatalf("a field of type %v: say here how it changes", field.Type())
	}
}

// TestTerms_HaveEveryArgument holds that no argument of an order is left out of the
// comparison, also one that is added later.
func TestTerms_HaveEveryArgument(t *testing.T) {
	t.Parallel()
	btc := market.Symbol{Venue: "binance", Name: "BTCUSDT"}
	request := order.Request{Symbol: btc, Side: order.Buy, Type: order.Limit, Quantity: decimal.RequireFromString("0.010"), Price: decimal.NewFromInt(100)}
	placed := request.Spec("o1", "me")
	placed.Quantity = decimal.RequireFromString("0.01")
	if !request.Matches(order.Order{Origin: order.Origin{Spec: placed}}) || request.Spec("", "").Terms() != placed.Terms() {
		t.Fatal("an order is not the one that was requested")
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[order.Request]()) {
		if slices.Contains([]string{"Symbol", "RequestedSymbol", "Key", "DryRun", "Note", "Scope", "Evidence", "Conditions"}, field.Name) {
			continue
		}
		other := request
		change(t, reflect.ValueOf(&other).Elem().FieldByIndex(field.Index))
		if other.Matches(order.Order{Origin: order.Origin{Spec: placed}}) {
			t.Errorf("a request with another %s matches", field.Name)
		}
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[order.Spec]()) {
		if slices.Contains([]string{"ID", "Owner", "Symbol", "Group", "Edge", "Best"}, field.Name) {
			continue
		}
		other := placed
		change(t, reflect.ValueOf(&other).Elem().FieldByIndex(field.Index))
		if other.Terms() == placed.Terms() {
			t.Errorf("an order with another %s has the same terms", field.Name)
		}
	}
}

// TestSizing_EveryWordCounts holds that a request with another word of a size is another request, and that what
// followed from the words is not compared.
func TestSizing_EveryWordCounts(t *testing.T) {
	t.Parallel()
	said := order.Request{Side: order.Buy, Type: order.Market, Sizing: order.Sizing{Notional: decimal.NewFromInt(500), StopLossPct: decimal.NewFromInt(2)}}
	found := said
	found.Quantity, found.Protect.StopLoss, found.Sizing.Price, found.Sizing.From = decimal.NewFromInt(3), decimal.NewFromInt(98), decimal.NewFromInt(101), decimal.NewFromInt(100)
	placed := order.Order{Origin: order.Origin{Spec: found.Spec("o1", "me"), Asked: found.Terms(), Sizing: found.Sizing}}
	if !said.Matches(placed) || !found.Matches(placed) {
		t.Fatal("a request is not the order that followed from it")
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[order.Sizing]()) {
		other := said
		change(t, reflect.ValueOf(&other.Sizing).Elem().FieldByIndex(field.Index))
		if matches := other.Matches(placed); matches != (field.Name == "Price" || field.Name == "From") {
			t.Errorf("with another %s it matches: %v", field.Name, matches)
		}
	}
	said.Quantity = decimal.NewFromInt(3)
	said.Sizing.Notional = decimal.Zero
	if said.Matches(placed) {
		t.Error("a request for the quantity is the one for the amount of money")
	}
	old := order.Order{Origin: order.Origin{Spec: found.Spec("o1", "me"), Sizing: order.Sizing{Percent: decimal.NewFromInt(1)}}}
	risk := order.Request{Side: order.Buy, Type: order.Market, Protect: found.Protect, Sizing: old.Sizing}
	if !risk.Matches(old) {
		t.Error("an order without what was asked is not found again")
	}
}
