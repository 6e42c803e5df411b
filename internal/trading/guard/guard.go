// Package guard decides whether an order may be sent. It applies the owner's policy and
// the current trading state, and returns the first rule that denies the order.
//
// It is pure: it stores nothing and reads no clock and no file. The desk gathers the
// facts and calls Check; Parse reads the bytes of a policy, and State is stored as JSON.
package guard

import (
	"fmt"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// Intent is an order before it is checked. Protect and Role of its Spec say which other
// orders are sent with it, so that the whole group is judged.
type Intent struct {
	order.Spec        // of the order, or of the first of its group
	Broker     string // that gets it, for texts
	Mode       order.Mode
	Key        string       // idempotency key, "" for none
	Token      string       // identifies the caller's token
	Exit       bool         // a leg or another order whose only purpose is to close a position
	Holder     order.Holder // of its stop and target

	Lines   []order.Line // as they were, whose prices the order changes; trails with the best price that is known
	Unclear []order.Line // the plan, if it does not say which part of the position the order is for
	Stops   int          // how many stops the plan has after the order, if it adds one

	Sizing order.Sizing // as the client said it
	Asked  order.Terms  // of an order with a Sizing, what was said beside it

	Deployment string // whose order it is, "" for a client's

	Evidence   []order.Evidence // what was found of its claims
	Conditions []order.Evidence // and of the owner's conditions
}

// Facts are the inputs of the rules, in units of the symbol and the account's currency.
type Facts struct {
	Now        time.Time
	Quote      order.Quote         // zero if unknown
	Instrument provider.Instrument // the venue's filters; zero ones are not checked
	Rate       decimal.Decimal     // of the symbol's quote currency in the account's; zero if unknown

	Held     decimal.Decimal // of the symbol, negative when short: by the deployment whose order it is, else by no deployment
	Entry    decimal.Decimal // average price of what is held; zero without
	OpenBuy  decimal.Decimal // what open orders in the symbol may still buy, and ended ones have by fills that are not known yet
	OpenSell decimal.Decimal // what they may still sell, and have sold

	OthersHeld decimal.Decimal // the rest of the position in the symbol
	OthersBuy  decimal.Decimal // OpenBuy of all other orders in it
	OthersSell decimal.Decimal // OpenSell of these
	Shares     []order.Share   // the deployments that hold something of OthersHeld, and after them what none of them holds

	Started *Deployment  // whose order it is; nil if it is a client's, or if no such deployment was started
	Running []Deployment // the others in the symbol, by ID

	SymbolOrders int             // open orders in the symbol
	OpenOrders   int             // open orders in total
	Others       decimal.Decimal // exposure in all other symbols
	Traded       decimal.Decimal // notional traded since midnight UTC, plus what open orders may still trade
	Recent       []Recent        // orders of the last minute, newest first

	Capabilities order.Capabilities  // of the venue in the symbol
	Equity       decimal.NullDecimal // of the account; null if unknown
	Cash         decimal.NullDecimal // free, in the symbol's quote currency; null if unknown
	OpenRisk     decimal.Decimal     // what positions and open orders may lose at their stops
	Margin       *order.Margin       // behind the position in a perpetual future; nil if it is unknown or there is none
	Modes        *order.Modes        // of the account in a perpetual future; nil where the venue has none to choose
	TakerFeePct  decimal.NullDecimal // as the broker reports it; null for that of the policy
	Exits        []order.Order       // orders placed here that protect the position in the symbol, newest first

	Filling []order.Order // entries that brought a part of the position and are open, oldest first, each followed by its open legs
}

// Recent is an order of the last minute.
type Recent struct {
	order.Spec
	Token string
	At    time.Time
	Rule  string // that denied it, "" for none

	Deployment string // whose order it was

	Unfilled bool // it ended without a fill

	Sizing order.Sizing // as the client said it
	Asked  order.Terms  // what was said beside it
}

// Denial is the result of a rule that denies an order, with a text for models.
type Denial struct {
	Rule  string
	Limit string
	Value string
	Text  string

	Field      string        // argument to change, "" for none
	Nearest    []string      // values of Field that the rule allows, nearest first
	RetryAfter time.Duration // when the same order may pass; 0 if waiting does not help
}

// deny returns the denial of an order, without the rule. field is the argument to change.
func deny(field, value, limit, format string, args ...any) *Denial {
	return &Denial{Field: field, Value: value, Limit: limit, Text: fmt.Sprintf(format, args...)}
}

// Record returns the denial as it is stored with the order, without Text.
func (d *Denial) Record() *order.Denial {
	return &order.Denial{Rule: d.Rule, Limit: d.Limit, Value: d.Value}
}

// Fault returns the denial as clients see it.
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

// Check returns the denial of the first rule, in the order of Rules, or nil.
func Check(p Policy, s State, in Intent, f Facts) *Denial { return check(p, s, in, f, false) }

// Early is Check with only the rules that need no price and no instrument. A denial
// before those are fetched costs no request to the venue.
func Early(p Policy, s State, in Intent, f Facts) *Denial { return check(p, s, in, f, true) }

func check(p Policy, s State, in Intent, f Facts, early bool) *Denial {
	q := newCheck(p, s, in, f)
	for _, r := range rules() {
		if early && !r.early {
			continue
		}
		if d := r.check(q); d != nil {
			d.Rule = r.name
			return q.asked(d)
		}
	}
	return nil
}

// orderCheck is the input of a rule.
type orderCheck struct {
	policy Policy
	limits Limits
	state  State
	Intent
	Facts
}

// newCheck returns the input of the rules. For an order with reduce_only, orders that protect the
// position do not count as open: they give way to it.
func newCheck(p Policy, s State, in Intent, f Facts) *orderCheck {
	if in.ReduceOnly {
		switch legs := claimed(f.Exits); in.Side {
		case order.Buy:
			f.OpenBuy = f.OpenBuy.Sub(legs)
		case order.Sell:
			f.OpenSell = f.OpenSell.Sub(legs)
		}
	}
	return &orderCheck{policy: p, limits: p.For(in.Symbol), state: s, Intent: in, Facts: f}
}

// reduces reports whether this order and the open ones beside it only reduce the position.
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

// fresh reports whether the price is recent enough. The last price of a closed market
// is: the venue decides whether it accepts orders.
func (q *orderCheck) fresh() bool {
	return q.Quote.Last.IsPositive() && (q.Quote.MarketClosed || q.Now.Sub(q.Quote.At) <= q.policy.MaxQuoteAge)
}

// worst returns the highest price at which the order may plausibly trade. A buy limit
// trades at its price or below. A sell limit trades at its price or above, so at the
// last price if that is higher. A market order may trade beyond the last price, or the
// stop price that it waits for, by the price band.
func (q *orderCheck) worst() decimal.Decimal {
	price := q.plainPrice()
	if q.Type == order.Limit || q.limits.PriceBandPct.Off {
		return price
	}
	return price.Add(percent(price, q.limits.PriceBandPct.Value))
}

// notional returns the value of a quantity in the account's currency.
func (q *orderCheck) notional(quantity decimal.Decimal) decimal.Decimal {
	return quantity.Mul(q.worst()).Mul(q.Rate)
}

// exposure returns the possible position with all open orders, before and after this one.
func (q *orderCheck) exposure() (before, after decimal.Decimal) {
	held := q.Held.Add(q.OthersHeld)
	if q.Side == order.Buy {
		before = held.Add(q.OpenBuy).Add(q.OthersBuy)
		return before, before.Add(q.Quantity)
	}
	before = held.Sub(q.OpenSell).Sub(q.OthersSell)
	return before, before.Sub(q.Quantity)
}

// grows reports whether the order increases the exposure.
func (q *orderCheck) grows() bool {
	before, after := q.exposure()
	return after.Abs().GreaterThan(before.Abs())
}

// percent returns pct percent of d, exactly.
func percent(d, pct decimal.Decimal) decimal.Decimal { return d.Mul(pct).Shift(-2) }

// money formats an amount with two decimals, or with all of them below one.
func money(d decimal.Decimal) string {
	if d.Abs().LessThan(decimal.NewFromInt(1)) {
		return d.String()
	}
	return strings.TrimSuffix(d.StringFixed(2), ".00")
}
