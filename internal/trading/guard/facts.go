package guard

import (
	"iter"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// Prices are the known prices when an order is checked.
type Prices struct {
	Now         time.Time
	Quotes      map[market.Symbol]order.Quote
	Instruments map[market.Symbol]provider.Instrument
	Rates       map[string]decimal.Decimal // of an asset in the account's currency
}

// assetRate returns the value of an asset in the account's currency, zero if unknown.
func (x Prices) assetRate(p Policy, asset string) decimal.Decimal {
	if slices.Contains(p.Currencies, asset) {
		return decimal.NewFromInt(1)
	}
	return x.Rates[asset]
}

// quoteRate is assetRate of a symbol's quote currency; on paper an unknown one counts as 1.
func (x Prices) quoteRate(p Policy, s market.Symbol, mode order.Mode) decimal.Decimal {
	quote := x.Instruments[s].Quote
	if quote == "" && mode != order.Live {
		return decimal.NewFromInt(1)
	}
	return x.assetRate(p, quote)
}

// feeRate is assetRate of a fee for a trade in a symbol with that quoteRate: a fee in what is traded is
// worth its last price.
func (x Prices) feeRate(p Policy, s market.Symbol, asset string, quoteRate decimal.Decimal) decimal.Decimal {
	if last := x.Quotes[s].Last; asset != "" && asset == x.Instruments[s].Base && last.IsPositive() {
		return last.Mul(quoteRate)
	}
	return x.assetRate(p, asset)
}

// GatherEarly returns the facts that Early needs: the counts of open and recent orders, and what
// is held and may be traded in the symbol, of a deployment, "" for a client.
func GatherEarly(b *order.Book, now time.Time, s market.Symbol, deployment string) Facts {
	f := Facts{Now: now, Recent: recent(b, now), Held: b.Part(s, deployment)}
	var sum pending
	entries := entries(b)
	for o := range f.open(b, s, "") {
		if o.Symbol == s && b.DeploymentOf(o) == deployment && !waits(o, entries) {
			sum.add(o, decimal.Zero)
		}
	}
	sum.addUnreported(own(b, b.Unreported(s), deployment), decimal.Zero)
	f.OpenBuy, f.OpenSell = sum.buy, sum.sell
	return f
}

// open yields and counts the open orders, but not New ones: the order being checked or one
// after it. Nor does it those with the ID or of the group that is judged again. The orders
// of a group count as one.
func (f *Facts) open(b *order.Book, s market.Symbol, judged string) iter.Seq[order.Order] {
	return func(yield func(order.Order) bool) {
		counted := make(map[groupKey]bool)
		for _, o := range b.Open() {
			if o.Status == order.New || judged != "" && (o.ID == judged || o.Group.Name == judged) {
				continue
			}
			if key := (groupKey{symbol: o.Symbol, name: o.Group.Name}); key.name == "" || !counted[key] {
				counted[key] = true
				f.OpenOrders++
				if o.Symbol == s {
					f.SymbolOrders++
				}
			}
			if !yield(o) {
				return
			}
		}
	}
}

// groupKey identifies a group, or the orders of a group that exclude each other.
type groupKey struct {
	symbol market.Symbol
	name   string
	leg    bool
	side   order.Side
}

// recent returns the own orders of the last minute, newest first, of a group the first.
func recent(b *order.Book, now time.Time) []Recent {
	var all []Recent
	for o := range b.EachSince(now.Add(-minute)) {
		if name := o.Group.Name; name != "" && name != o.ID && b.Has(name) {
			continue // it was requested with the first of its group
		}
		if o.Status != order.New && !o.External {
			all = append(all, Recent{Spec: o.Spec, Token: o.Token, At: o.Created, Deployment: o.Deployment, Rule: o.Denial.Rule, Unfilled: o.Status.Final() && o.Claimed.IsZero(), Sizing: o.Sizing, Asked: o.Asked})
		}
	}
	return all
}

// Gather returns the facts for an order of a client in a symbol.
func Gather(p Policy, b *order.Book, x Prices, s market.Symbol, mode order.Mode) Facts {
	return gather(p, b, x, s, mode, "", "")
}

// GatherOf returns the facts for an order of a deployment, "" for a client.
func GatherOf(deployment string, p Policy, b *order.Book, x Prices, s market.Symbol, mode order.Mode) Facts {
	return gather(p, b, x, s, mode, deployment, "")
}

// GatherAgain returns the facts for an order that the book has and that is judged again
// with its group. It has no recent orders: the client requests nothing now.
func GatherAgain(p Policy, b *order.Book, x Prices, o order.Order) Facts {
	f := gather(p, b, x, o.Symbol, o.Mode, b.DeploymentOf(o), o.ID)
	f.Recent = nil
	return f
}

func gather(p Policy, b *order.Book, x Prices, s market.Symbol, mode order.Mode, deployment, judged string) Facts {
	f := Facts{
		Now: x.Now, Quote: x.Quotes[s], Instrument: x.Instruments[s], Rate: x.quoteRate(p, s, mode),
		Held: b.Part(s, deployment), Recent: recent(b, x.Now),
	}
	f.shared(b, s, deployment)
	sums := make(map[market.Symbol]*pending)
	for _, pos := range b.Positions() {
		sums[pos.Symbol] = &pending{held: pos.Held(x.Instruments[pos.Symbol].Base), cost: pos.Cost}
	}
	var mine pending // the same of the orders of those whose order it is
	entries, open := entries(b), make(map[market.Symbol][]order.Order)
	for o := range f.open(b, s, judged) {
		open[o.Symbol] = append(open[o.Symbol], o)
		if sums[o.Symbol] == nil {
			sums[o.Symbol] = &pending{}
		}
		if waits(o, entries) {
			continue
		}
		sums[o.Symbol].add(o, x.Quotes[o.Symbol].Last)
		if o.Symbol != s || b.DeploymentOf(o) != deployment {
			continue
		}
		mine.add(o, decimal.Zero)
		if givesWay(o, f.Held) {
			f.Exits = append(f.Exits, o)
		}
	}
	f.Filling = filling(own(b, open[s], deployment), f.Held)
	mine.addUnreported(own(b, b.Unreported(s), deployment), decimal.Zero)
	f.OpenBuy, f.OpenSell = mine.buy, mine.sell
	for sym, sum := range sums {
		sum.addUnreported(b.Unreported(sym), x.Quotes[sym].Last)
		rate := x.quoteRate(p, sym, mode)
		f.Traded = f.Traded.Add(sum.worth.Mul(rate))
		risk := openRisk{policy: p, limits: p.For(sym), book: b, quote: x.Quotes[sym], inst: x.Instruments[sym]}
		f.OpenRisk = f.OpenRisk.Add(risk.of(b.Position(sym), open[sym]).Mul(rate))
		if sym == s {
			f.OthersBuy, f.OthersSell = sum.buy.Sub(mine.buy), sum.sell.Sub(mine.sell)
			continue
		}
		f.Others = f.Others.Add(sum.exposure(x.Quotes[sym].Last).Mul(rate))
	}
	for sym, worth := range b.Traded(x.Now) {
		f.Traded = f.Traded.Add(worth.Mul(x.quoteRate(p, sym, mode)))
	}
	return f
}

// givesWay reports whether an order protects a position of a signed quantity, and so gives way to
// an order with reduce_only.
func givesWay(o order.Order, held decimal.Decimal) bool {
	against := held.Sign() == -int(o.Side.Sign())
	return !o.External && against && (o.ReduceOnly || o.Protects(held)) && !o.IsExit()
}

// filling returns the open entries that brought a part of a position of a signed quantity,
// each followed by its legs, which will close all that the entry brings.
func filling(open []order.Order, held decimal.Decimal) []order.Order {
	var all []order.Order
	for _, entry := range open {
		if entry.Role != order.Entry || !entry.Claimed.IsPositive() || held.Sign() != int(entry.Side.Sign()) {
			continue
		}
		all = append(all, entry)
		for _, leg := range open {
			if leg.Group.Leg && leg.Group.Name == entry.ID {
				all = append(all, leg)
			}
		}
	}
	return all
}

// entries returns the side of the open order of each group that its legs wait for.
func entries(b *order.Book) map[groupKey]order.Side {
	sides := make(map[groupKey]order.Side)
	for _, o := range b.Open() {
		if o.Group.Name != "" && !o.Group.Leg {
			sides[groupKey{symbol: o.Symbol, name: o.Group.Name}] = o.Side
		}
	}
	return sides
}

// waits reports whether an order waits for its entry, and gives back what that brings.
func waits(o order.Order, entries map[groupKey]order.Side) bool {
	entry := entries[groupKey{symbol: o.Symbol, name: o.Group.Name}]
	return o.Group.Leg && entry != 0 && entry != o.Side
}

// pending sums the position and the open orders in a symbol.
type pending struct {
	held, cost decimal.Decimal
	buy, sell  decimal.Decimal
	worth      decimal.Decimal // of what open orders may still trade
	groups     map[groupKey]claim
}

// claim is what one order may still trade, or the most of several that exclude each other.
type claim struct{ left, worth decimal.Decimal }

func (n *pending) add(o order.Order, last decimal.Decimal) {
	more := claimOf(o, last)
	if key := (groupKey{o.Symbol, o.Group.Name, o.Group.Leg, o.Side}); key.name != "" {
		known := n.groups[key]
		most := claim{decimal.Max(known.left, more.left), decimal.Max(known.worth, more.worth)}
		if n.groups == nil {
			n.groups = make(map[groupKey]claim)
		}
		n.groups[key] = most
		more = claim{most.left.Sub(known.left), most.worth.Sub(known.worth)}
	}
	if o.Side == order.Buy {
		n.buy = n.buy.Add(more.left)
	} else {
		n.sell = n.sell.Add(more.left)
	}
	n.worth = n.worth.Add(more.worth)
}

// addUnreported adds what ended orders have traded by fills that are not known yet.
func (n *pending) addUnreported(ended []order.Order, last decimal.Decimal) {
	for _, o := range ended {
		o.Group = order.Group{}
		n.add(o, last)
	}
}

// claimOf values an order at the highest price at which it may plausibly trade.
func claimOf(o order.Order, last decimal.Decimal) claim {
	price := o.Price
	switch {
	case o.Side == order.Sell:
		price = decimal.Max(price, last)
	case price.IsZero():
		price = decimal.Max(last, o.StopPrice)
	}
	return claim{o.Remaining(), o.Remaining().Mul(price)}
}

// exposure returns the largest possible position, long or short, at a price. Without a
// price the position counts at cost and the orders at their own prices.
func (n *pending) exposure(last decimal.Decimal) decimal.Decimal {
	if !last.IsPositive() {
		return n.cost.Abs().Add(n.worth)
	}
	return decimal.Max(n.held.Add(n.buy).Abs(), n.held.Sub(n.sell).Abs()).Mul(last)
}

// Total returns the realised and unrealised profit of all trading in the account's
// currency, after fees, and the symbols and assets without a known price, which it
// leaves out.
func Total(p Policy, b *order.Book, x Prices, mode order.Mode) (total decimal.Decimal, missing []string) {
	for _, pos := range b.Positions() {
		last, rate := x.Quotes[pos.Symbol].Last, x.quoteRate(p, pos.Symbol, mode)
		closed := pos.Side() == 0
		if !closed && (rate.IsZero() || !last.IsPositive()) {
			missing = append(missing, pos.Symbol.String())
		}
		// The profit of a closed position counts even if the symbol is delisted.
		if rate.IsZero() || !closed && !last.IsPositive() {
			continue
		}
		total = total.Add(pos.Realised.Add(pos.Unrealised(last)).Sub(pos.FeesWorth).Sub(pos.Funding).Mul(rate))
		for asset, fee := range pos.FeesBeside() {
			worth := x.feeRate(p, pos.Symbol, asset, rate)
			if worth.IsZero() {
				missing = append(missing, asset)
			}
			total = total.Sub(fee.Mul(worth))
		}
	}
	slices.Sort(missing)
	return total, slices.Compact(missing)
}
