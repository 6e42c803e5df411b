package order_test

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"candela/internal/trading/order"
	"candela/lib/fault"
)

func TestParseAmount(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"1": "1", "0": "0", "-0.5": "-0.5", "0.10": "0.1", "1e3": "1000", "1E-8": "0.00000001", "61234.123456789012345678": "61234.123456789012345678",
		"123456789012345678901234": "123456789012345678901234", "0.000000000000000000000001": "0.000000000000000000000001",
	} {
		if got, err := order.ParseAmount("quantity", text); err != nil || got.String() != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	if !order.Bounded(dec("1e23"), dec("-0.5")) || order.Bounded(dec("1"), dec("1e400")) || order.Bounded(dec("1e-25")) {
		t.Error("what is bounded is not what can be read")
	}
	for _, text := range []string{
		"", " 1", "1 ", "1,000", "1_000", "NaN", "Infinity", "-", "+1", ".5", "5.", "01", "1e400", "1e-400", "1e25", "1e-25",
		"1e9999999999", "0x10", "1.2.3", "1e", "١", "1234567890123456789012345", strings.Repeat("1", 65), "0." + strings.Repeat("0", 24) + "1",
	} {
		got, err := order.ParseAmount("quantity", text)
		if e := fault.Of(err); e == nil || e.Field != "quantity" || e.Allowed == "" {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

// FuzzParseAmount compares every amount that is read with the fraction that the
// text stands for.
func FuzzParseAmount(f *testing.F) {
	for _, seed := range []string{"1", "-0.5", "1e3", "1e-24", "1,000", "NaN", "1e400", "00", "9.99999999999999999999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := order.ParseAmount("quantity", text)
		if err != nil {
			if fault.Of(err) == nil {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		want, ok := new(big.Rat).SetString(text)
		if !ok || got.Rat().Cmp(want) != 0 {
			t.Fatalf("%q became %v", text, got)
		}
	})
}

func FuzzNames(f *testing.F) {
	for _, names := range [][]string{order.Sides(), order.Types(), order.Statuses(), order.Kinds()} {
		for _, name := range names {
			f.Add(name)
		}
	}
	f.Fuzz(func(t *testing.T, s string) {
		same := func(got string, err error) {
			if err == nil && got != strings.ToLower(s) || err != nil && fault.Of(err) == nil {
				t.Errorf("%q became %q, %v", s, got, err)
			}
		}
		side, err := order.ParseSide(s)
		same(side.String(), err)
		typ, err := order.ParseType(s)
		same(typ.String(), err)
		status, err := order.ParseStatus(s)
		same(status.String(), err)
		kind, err := order.ParseKind(s)
		same(kind.String(), err)
	})
}

// FuzzEvents feeds a book with whatever can be read as a list of events. Nothing
// may panic, and what is taken must be taken again by a replay.
func FuzzEvents(f *testing.F) {
	g := origin("o1", order.Buy, "3")
	seed, err := json.Marshal([]order.Event{
		created(g), event("o1", order.KindSent), event("o1", order.KindLost), filled(trade(g, 5, "1", "100")),
		event("o1", order.KindCancelRequested), event("o1", order.KindCanceled), filled(trade(g, 6, "2", "100")),
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte(`[{"kind":"adjusted","adjustment":{"symbol":"AAPL","quantity":"1e999999999","price":"1e-999999999"}}]`))
	f.Add([]byte(`[{"kind":"adjusted","adjustment":{"symbol":"AAPL","quantity":"1e5","price":"-1"}}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var events []order.Event
		if json.Unmarshal(data, &events) != nil {
			return
		}
		b := order.NewBook("me")
		var taken []order.Event
		for _, e := range events {
			if b.Apply(e) == nil {
				taken = append(taken, e)
			}
		}
		if _, err := replay(taken); err != nil {
			t.Fatal(err)
		}
		for _, o := range b.Orders() {
			if o.Status.String() == "" || o.Filled.GreaterThan(o.Quantity) {
				t.Fatalf("%+v", o)
			}
		}
	})
}
