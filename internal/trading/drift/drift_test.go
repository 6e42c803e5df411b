package drift_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/longtest"
	"candela/internal/trading/drift"
)

func dec(s string) decimal.Decimal { return decimal.RequireFromString(s) }

func at(minutes int) time.Time {
	return time.Unix(1_700_000_000, 0).Add(time.Duration(minutes) * time.Minute)
}

// TestOf_Example has each step once: a smaller fill, prices that moved until the orders were sent and until they were
// filled, and lower fees.
func TestOf_Example(t *testing.T) {
	t.Parallel()
	model := []drift.Entry{{Key: "a", Funding: dec("0.03"), In: []drift.Fill{{At: at(0), Quantity: dec("0.5"), Price: dec("2001")}}, Out: []drift.Fill{{At: at(5), Quantity: dec("-0.5"), Price: dec("2040")}}}}
	account := drift.Account{
		In:    map[string][]drift.Fill{"a": {{At: at(0), Quantity: dec("0.4"), Price: dec("2001.6"), Quote: dec("2001.4"), Fee: dec("0.48")}}},
		Out:   []drift.Fill{{At: at(5), Quantity: dec("-0.4"), Price: dec("2038.7"), Quote: dec("2039.1"), Fee: dec("0.489712")}},
		Asked: map[string]decimal.Decimal{"a": dec("0.5")}, Funding: dec("0.15"),
	}
	r := drift.Of(model, account, dec("0.0005"), dec("2050"))
	got := fmt.Sprint(r.Model, r.Account, r.Gap, r.Steps)
	const want = "18.45975 13.720288 -4.739462 [{quantity partial -3.69795} {delay  -0.5199} {slippage  -0.23996} {fees  -0.161652} {funding  -0.12}]"
	if got != want {
		t.Errorf("\n%s\nnot\n%s", got, want)
	}
}

// TestOf_Causes compares an entry and its exit that the account traded in another way.
func TestOf_Causes(t *testing.T) {
	t.Parallel()
	fill := func(minutes int, quantity, price string) drift.Fill {
		return drift.Fill{At: at(minutes), Quantity: dec(quantity), Price: dec(price)}
	}
	held := drift.Entry{Key: "a", In: []drift.Fill{fill(0, "2", "100")}}
	closed := drift.Entry{Key: "a", In: held.In, Out: []drift.Fill{fill(5, "-1", "110"), fill(10, "-1", "120")}}
	rested := fill(7, "-2", "94")
	rested.Quote, rested.Rested = dec("95"), true
	asked := map[string]decimal.Decimal{"a": dec("2")}
	for _, c := range []struct {
		name    string
		model   drift.Entry
		account drift.Account
		want    string
	}{
		{"equal", closed, drift.Account{In: map[string][]drift.Fill{"a": closed.In}, Out: closed.Out}, "[]"},
		{"missed", closed, drift.Account{}, "[{quantity missed -30}]"},
		{"paused", drift.Entry{Key: "a", In: held.In, Cause: "paused"}, drift.Account{}, "[{quantity paused -60}]"},
		{"refused", closed, drift.Account{Asked: asked}, "[{quantity refused -30}]"},
		{"smaller", closed, drift.Account{In: map[string][]drift.Fill{"a": {fill(0, "1", "100")}}, Out: []drift.Fill{fill(10, "-1", "120")}, Asked: map[string]decimal.Decimal{"a": dec("1")}}, "[{quantity smaller -10}]"},
		{"partial, its exits as the model has left", closed, drift.Account{
			In:  map[string][]drift.Fill{"a": {fill(0, "1.6", "100")}},
			Out: []drift.Fill{fill(5, "-0.6", "110"), fill(10, "-1", "120")}, Asked: asked,
		}, "[{quantity partial -4}]"},
		{"late exit of all", closed, drift.Account{In: map[string][]drift.Fill{"a": closed.In}, Out: []drift.Fill{{At: at(60), Quantity: dec("-2"), Price: dec("90"), Quote: dec("90.5")}}, Asked: asked}, "[{delay  -49} {slippage  -1}]"},
		{"a stop that the model did not reach", held, drift.Account{In: map[string][]drift.Fill{"a": held.In}, Out: []drift.Fill{rested}, Asked: asked}, "[{quantity unmatched -72}]"},
		{"the stop of both, at another price", drift.Entry{Key: "a", In: held.In, Out: []drift.Fill{fill(5, "-2", "96")}}, drift.Account{In: map[string][]drift.Fill{"a": held.In}, Out: []drift.Fill{rested}, Asked: asked}, "[{path  -2} {slippage  -2}]"},
		{"an entry of the account alone", drift.Entry{Key: "b"}, drift.Account{In: map[string][]drift.Fill{"a": {fill(0, "1", "100")}}, Asked: asked}, "[{quantity unmatched 30}]"},
		{"a sale that nothing was held for", drift.Entry{Key: "b"}, drift.Account{Out: []drift.Fill{fill(0, "-1", "100")}}, "[{quantity unmatched -30}]"},
	} {
		var model []drift.Entry
		if len(c.model.In) > 0 {
			model = append(model, c.model)
		}
		r := drift.Of(model, c.account, decimal.Zero, dec("130"))
		if got := fmt.Sprint(r.Steps); got != c.want {
			t.Errorf("%s: %s, not %s", c.name, got, c.want)
		}
	}
}

// TestOf_StepsAddUp compares random histories: the steps add up to the difference of what the fills of both come to.
func TestOf_StepsAddUp(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(longtest.Seed(), 47))
	for range longtest.Pick(2000, 100_000) {
		model, account := history(r)
		rate, mark := decimal.New(r.Int64N(100), -5), decimal.New(1000+r.Int64N(100_000), -2)
		var want, has decimal.Decimal
		for _, e := range model {
			want = want.Sub(e.Funding)
			for _, f := range append(e.In, e.Out...) {
				want = want.Add(f.Quantity.Mul(mark.Sub(f.Price))).Sub(f.Quantity.Abs().Mul(f.Price).Mul(rate))
			}
		}
		has = has.Sub(account.Funding)
		all := account.Out
		for _, in := range account.In {
			all = append(all, in...)
		}
		held := decimal.Zero
		for _, f := range all {
			has, held = has.Add(f.Quantity.Mul(mark.Sub(f.Price))).Sub(f.Fee), held.Add(f.Quantity)
		}
		got := drift.Of(model, account, rate, mark)
		steps := decimal.Zero
		for _, s := range got.Steps {
			steps = steps.Add(s.Amount)
		}
		if !got.Model.Equal(want) || !got.Account.Equal(has) || !steps.Equal(has.Sub(want)) || !got.Held.Equal(held) {
			t.Fatalf("%+v: model %s, account %s, steps %s, held %s", got, want, has, steps, held)
		}
	}
}

// history makes a model and an account that follows it badly.
func history(r *rand.Rand) (model []drift.Entry, account drift.Account) {
	price := func() decimal.Decimal { return decimal.New(1000+r.Int64N(100_000), -2) }
	fill := func(minutes int, up int64) drift.Fill {
		f := drift.Fill{At: at(minutes), Quantity: decimal.New((1+r.Int64N(1000))*up, -3), Price: price(), Fee: decimal.New(r.Int64N(1000), -5), Rested: r.IntN(3) == 0}
		if r.IntN(4) > 0 {
			f.Quote = price()
		}
		return f
	}
	account.In, account.Asked = make(map[string][]drift.Fill), make(map[string]decimal.Decimal)
	account.Funding = decimal.New(r.Int64N(2000)-1000, -4)
	up := int64(1 - 2*r.IntN(2))
	for n := range r.IntN(8) {
		e := drift.Entry{Key: strconv.Itoa(n), Funding: decimal.New(r.Int64N(2000)-1000, -4), In: []drift.Fill{fill(10*n, up)}}
		left := e.In[0].Quantity
		for range r.IntN(3) {
			out := fill(10*n+r.IntN(40), -up)
			if out.Quantity.Abs().GreaterThan(left.Abs()) {
				out.Quantity = left.Neg()
			}
			if left = left.Add(out.Quantity); !out.Quantity.IsZero() {
				e.Out = append(e.Out, out)
			}
		}
		model = append(model, e)
		if r.IntN(4) == 0 {
			continue
		}
		key := e.Key
		if r.IntN(10) == 0 {
			key += " not in the model"
		}
		account.Asked[key] = e.In[0].Quantity.Abs()
		for range r.IntN(3) {
			account.In[key] = append(account.In[key], fill(10*n+r.IntN(20), up))
		}
		for range r.IntN(3) {
			account.Out = append(account.Out, fill(10*n+r.IntN(60), -up))
		}
	}
	return model, account
}
