package drift

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"
)

// round is an entry with all that came of it, in the model and in the account.
type round struct {
	model   Entry
	in, out []Fill // of the account
	asked   decimal.Decimal
	sent    bool
	first   time.Time
}

// roundsOf returns the entries of the model and those of the account that the model has not made, without what closed
// them in the account.
func roundsOf(model []Entry, account Account) []*round {
	rounds := make([]*round, 0, len(model))
	known := make(map[string]bool, len(model))
	for i := range model {
		x := &round{model: model[i], in: account.In[model[i].Key]}
		x.asked, x.sent = account.Asked[model[i].Key]
		rounds, known[model[i].Key] = append(rounds, x), true
	}
	for key, fills := range account.In {
		if !known[key] {
			rounds = append(rounds, &round{model: Entry{Key: key}, in: fills, asked: account.Asked[key], sent: true})
		}
	}
	for _, x := range rounds {
		x.first = x.begun()
	}
	slices.SortStableFunc(rounds, func(a, b *round) int { return a.first.Compare(b.first) })
	return rounds
}

func (x *round) begun() time.Time {
	if len(x.in) > 0 {
		return x.in[0].At
	}
	if len(x.model.In) > 0 {
		return x.model.In[0].At
	}
	return time.Time{}
}

// give shares what the account closed among its entries: first to those of which the account holds more than the model,
// then to the oldest. What closes no entry is a round of its own.
func give(rounds []*round, out []Fill) []*round {
	out = slices.Clone(out)
	slices.SortStableFunc(out, func(a, b Fill) int { return a.At.Compare(b.At) })
	var open []*round // that the account has begun and not ended, the oldest first
	next, begun := 0, len(rounds)
	for i := range out {
		left := &out[i]
		for ; next < begun && !rounds[next].first.After(left.At); next++ {
			if len(rounds[next].in) > 0 {
				open = append(open, rounds[next])
			}
		}
		left.close(open, (*round).over)
		left.close(open, (*round).holds)
		if !left.Quantity.IsZero() {
			rounds = append(rounds, &round{out: []Fill{*left}})
		}
		open = slices.DeleteFunc(open, func(x *round) bool { return x.holds(time.Time{}).IsZero() })
	}
	return rounds
}

// close gives rounds what a fill closes of them, each at most so much.
func (f *Fill) close(open []*round, most func(*round, time.Time) decimal.Decimal) {
	for _, x := range open {
		if held := most(x, f.At); held.Sign() == -f.Quantity.Sign() && !held.IsZero() {
			x.out = append(x.out, f.cut(decimal.Min(held.Abs(), f.Quantity.Abs())))
		}
	}
}

// cut takes a part of a fill away and returns it.
func (f *Fill) cut(quantity decimal.Decimal) Fill {
	part := *f
	part.Quantity = quantity.Mul(decimal.NewFromInt(int64(f.Quantity.Sign())))
	part.Fee = f.Fee
	if !part.Quantity.Equal(f.Quantity) {
		part.Fee = f.Fee.Mul(quantity).DivRound(f.Quantity.Abs(), feeDigits)
	}
	f.Quantity, f.Fee = f.Quantity.Sub(part.Quantity), f.Fee.Sub(part.Fee)
	return part
}

// feeDigits is how exact a fee is shared; the last part has the rest of it.
const feeDigits = 18

// holds returns what the account held of the entry at a time, in the end if it is zero.
func (x *round) holds(at time.Time) decimal.Decimal {
	return sum(x.in, at).Add(sum(x.out, at))
}

// over returns by how much the account held more than the model.
func (x *round) over(at time.Time) decimal.Decimal {
	has, model := x.holds(at), sum(x.model.In, at).Add(sum(x.model.Out, at))
	if more := has.Sub(model); model.Sign()*has.Sign() >= 0 && more.Sign() == has.Sign() {
		return more
	}
	return decimal.Zero
}

func sum(fills []Fill, at time.Time) (q decimal.Decimal) {
	for i := range fills {
		if at.IsZero() || !fills[i].At.After(at) {
			q = q.Add(fills[i].Quantity)
		}
	}
	return q
}

// cause says why the quantities differ, "" if they do not.
func (x *round) cause() string {
	wanted, got := sum(x.model.In, time.Time{}).Abs(), sum(x.in, time.Time{}).Abs()
	for i := range x.in {
		got = got.Add(x.in[i].Taken)
	}
	switch {
	case wanted.IsZero():
		return Unmatched
	case got.IsZero() && x.sent:
		return Refused
	case got.IsZero() && x.model.Cause != "":
		return x.model.Cause
	case got.IsZero():
		return Missed
	case got.Equal(wanted):
		return ""
	case got.LessThan(x.asked):
		return Partial
	default:
		return Smaller
	}
}

// books are what one round earned between model and account.
type books struct {
	model    decimal.Decimal // the model, with its funding
	quantity decimal.Decimal // the quantities of the account, else as the model, without funding
	delay    decimal.Decimal // the change that the prices when orders were sent make
	path     decimal.Decimal // and of those the prices of orders that rested
	slippage decimal.Decimal
	priced   decimal.Decimal // quantities and prices of the account, fees as the model counts
	paid     decimal.Decimal // as the account, without funding
}

func (x *round) books(rate, mark decimal.Decimal) (b books) {
	worth := func(q, price, fee decimal.Decimal) decimal.Decimal { return q.Mul(mark.Sub(price)).Sub(fee) }
	charged := func(q, price decimal.Decimal) decimal.Decimal { return worth(q, price, q.Abs().Mul(price).Mul(rate)) }
	for _, fills := range [][]Fill{x.model.In, x.model.Out} {
		for i := range fills {
			b.model = b.model.Add(charged(fills[i].Quantity, fills[i].Price))
		}
	}
	b.model = b.model.Sub(x.model.Funding)
	for _, p := range append(pair(x.in, x.model.In, oldest), pair(x.out, x.model.Out, newest)...) {
		model, quote := p.Price, p.Price
		if p.matched {
			model = p.model
			if p.Quote.IsPositive() {
				quote = p.Quote
			}
		}
		as, sent, got := charged(p.Quantity, model), charged(p.Quantity, quote), charged(p.Quantity, p.Price)
		b.quantity = b.quantity.Add(as)
		if p.Rested {
			b.path = b.path.Add(sent.Sub(as))
		} else {
			b.delay = b.delay.Add(sent.Sub(as))
		}
		b.slippage, b.priced = b.slippage.Add(got.Sub(sent)), b.priced.Add(got)
		b.paid = b.paid.Add(worth(p.Quantity, p.Price, p.Fee))
	}
	return b
}

// paired is a fill of the account, or a part of one, with the price at which the model traded it.
type paired struct {
	Fill
	model   decimal.Decimal
	matched bool
}

// The fills of the model that a fill of the account may stand for: all, the oldest first; or those that came before it,
// the newest first, because the account closes what the model has left.
func oldest(int) (from, step int)   { return 0, 1 }
func newest(n int) (from, step int) { return n - 1, -1 }

// pair finds the prices of the model for fills of the account.
func pair(fills, model []Fill, from func(n int) (from, step int)) []paired {
	left := slices.Clone(model)
	all := make([]paired, 0, len(fills))
	for _, f := range fills {
		at, step := from(len(left))
		for ; at >= 0 && at < len(left) && !f.Quantity.IsZero(); at += step {
			m := &left[at]
			if m.Quantity.Sign() != f.Quantity.Sign() || step < 0 && m.At.After(f.At) {
				continue
			}
			part := f.cut(decimal.Min(m.Quantity.Abs(), f.Quantity.Abs()))
			m.Quantity = m.Quantity.Sub(part.Quantity)
			all = append(all, paired{Fill: part, model: m.Price, matched: true})
		}
		if !f.Quantity.IsZero() {
			all = append(all, paired{Fill: f})
		}
	}
	return all
}
