// Package guard stands between whoever asks for an order and the money: a policy
// that the owner writes into a file and no tool can change, rules that an order
// must pass, and a trading state that takes orders away when something is wrong.
//
// It is pure. The desk gathers the facts and asks Check; what comes back is nil or
// the one rule that refuses, with its limit and the value. It stores nothing,
// reads no clock and no file; Parse takes the bytes of a policy and State goes to
// the store as JSON.
package guard

import (
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/fault"
	"candela/internal/market/provider"
	"candela/internal/trading/order"
)

// Intent is an order that somebody wants.
type Intent struct {
	order.Spec
	Mode  order.Mode
	Key   string // the idempotency key, "" for none
	Token string // stands for the token that asks
}

// Facts is what the rules must know, at one moment. Gather makes it. Quantities
// are in units of the symbol, money is in the account's currency.
type Facts struct {
	Now        time.Time
	Quote      order.Quote         // zero when there is none
	Instrument provider.Instrument // the venue's rules; a zero part is not checked
	Rate       decimal.Decimal     // of the symbol's currency in the account's; zero when not known

	Held     decimal.Decimal // of the symbol, below zero when short
	OpenBuy  decimal.Decimal // what open orders in the symbol may still buy
	OpenSell decimal.Decimal // what they may still sell

	SymbolOrders int             // open orders in the symbol
	OpenOrders   int             // in all
	Others       decimal.Decimal // exposure in all other symbols
	Traded       decimal.Decimal // quantity times price traded since midnight UTC, and what open orders may still trade
	Recent       []Recent        // the orders of the last minute, newest first
}

// Recent is an order that was asked for a moment ago.
type Recent struct {
	order.Spec
	Token string
	At    time.Time
	Rule  string // that refused it, "" when none did
}

// Denial is a refusal. It names the rule, what the rule allows and what the order
// would have needed; Text says the same in a sentence that a model can act on.
type Denial struct {
	Rule  string
	Limit string
	Value string
	Text  string

	Field      string        // the argument to change, "" when no argument helps
	Nearest    []string      // values of Field that the rule allows, nearest first
	RetryAfter time.Duration // when the same order may pass; 0 when waiting does not help
}

// Record is the denial as an order remembers it, beside Text as its reason.
func (d *Denial) Record() *order.Denial {
	return &order.Denial{Rule: d.Rule, Limit: d.Limit, Value: d.Value}
}

// Fault is the denial as a client sees it.
func (d *Denial) Fault() *fault.Error {
	kind := fault.Conflict
	if d.Field != "" {
		kind = fault.Invalid
	}
	return &fault.Error{
		Kind: kind, Code: "denied", Message: d.Rule + ": " + d.Text, Field: d.Field, Value: d.Value, Allowed: d.Limit,
		Suggestions: d.Nearest, Retryable: d.RetryAfter > 0, RetryAfter: d.RetryAfter,
	}
}

// Check returns the first rule that refuses the order, or nil. The rules are
// asked in the order of Rules: first those that need neither a price nor the
// venue's filters, so that whoever repeats himself or hammers is told so.
func Check(p Policy, s State, in Intent, f Facts) *Denial {
	return check(p, s, in, f, false)
}

// Early is Check with only the rules that need no Quote, no Instrument and nothing
// that is computed from a price. It is for before those are fetched: a refusal
// here costs no request to a venue.
func Early(p Policy, s State, in Intent, f Facts) *Denial {
	return check(p, s, in, f, true)
}

func check(p Policy, s State, in Intent, f Facts, early bool) *Denial {
	q := orderCheck{policy: p, limits: p.For(in.Symbol), state: s, Intent: in, Facts: f}
	for _, r := range rules() {
		if early && !r.early {
			continue
		}
		if d := r.check(&q); d != nil {
			d.Rule = r.name
			return d
		}
	}
	return nil
}

// orderCheck is one order before the rules.
type orderCheck struct {
	policy Policy
	limits Limits
	state  State
	Intent
	Facts
}

// reduces reports whether the order can only make the position smaller: together
// with what open orders of the same side may still trade it does not go beyond
// zero.
func (q *orderCheck) reduces() bool {
	switch q.Side {
	case order.Buy:
		return q.Held.IsNegative() && q.OpenBuy.Add(q.Quantity).LessThanOrEqual(q.Held.Neg())
	case order.Sell:
		return q.Held.IsPositive() && q.OpenSell.Add(q.Quantity).LessThanOrEqual(q.Held)
	default:
		return false
	}
}

// fresh reports whether there is a price that is young enough to judge by. That of a
// closed market is as young as can be: whether it takes orders is the venue's to say.
func (q *orderCheck) fresh() bool {
	return q.Quote.Last.IsPositive() && (q.Quote.MarketClosed || q.Now.Sub(q.Quote.At) <= q.policy.MaxQuoteAge)
}

// worst returns the price at which the order is valued: the highest at which it
// may plausibly trade. A limit order to buy trades at its limit or below. One to
// sell trades at its limit or above, so at the last price when that is higher. A
// market order may find the book thin: the last price and the band.
func (q *orderCheck) worst() decimal.Decimal {
	last := q.Quote.Last
	switch {
	case q.Type == order.Limit && q.Side == order.Buy:
		return q.Price
	case q.Type == order.Limit:
		return decimal.Max(q.Price, last)
	case q.limits.PriceBandPct.Off:
		return last
	default:
		return last.Add(percent(last, q.limits.PriceBandPct.Value))
	}
}

// notional returns the value of a quantity in the account's currency.
func (q *orderCheck) notional(quantity decimal.Decimal) decimal.Decimal {
	return quantity.Mul(q.worst()).Mul(q.Rate)
}

// exposure returns what of the symbol could be held, before and after the order:
// the position with everything that open orders of the order's side may add.
func (q *orderCheck) exposure() (before, after decimal.Decimal) {
	if q.Side == order.Buy {
		before = q.Held.Add(q.OpenBuy)
		return before, before.Add(q.Quantity)
	}
	before = q.Held.Sub(q.OpenSell)
	return before, before.Sub(q.Quantity)
}

// grows reports whether the order adds to the exposure.
func (q *orderCheck) grows() bool {
	before, after := q.exposure()
	return after.Abs().GreaterThan(before.Abs())
}

// percent returns pct per cent of d, exactly.
func percent(d, pct decimal.Decimal) decimal.Decimal { return d.Mul(pct).Shift(-2) }

// money writes an amount of the account's currency for people: two decimals, or
// all of them below one.
func money(d decimal.Decimal) string {
	if d.Abs().LessThan(decimal.NewFromInt(1)) {
		return d.String()
	}
	return strings.TrimSuffix(d.StringFixed(2), ".00")
}
