package paper

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/trading/broker"
	"candela/internal/trading/margin"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// perp is the position in a perpetual future. Its margin has left the cash, and comes back with what is
// closed. An order that closes never turns it round, and one with reduce_only reserves nothing: beyond the
// position it is cut, and without one it expires.
type perp struct {
	margin.Position
	Currency string          `json:"currency"`
	Asset    string          `json:"asset"`
	Tick     decimal.Decimal `json:"tick,omitzero"`
	Leverage decimal.Decimal `json:"leverage,omitzero"` // of the newest entry
	Paid     decimal.Decimal `json:"paid,omitzero"`     // Funding when the position was opened
	Since    time.Time       `json:"since"`             // prices from before it do not liquidate the position
	Funded   time.Time       `json:"funded"`            // funding until then is in it
}

// Why orders in perpetual futures end without being asked to.
const (
	reasonNothing    = "there is no position that it could reduce"
	reasonTurn       = "it would turn the position round: one order closes it, another one opens the other side"
	reasonLiquidated = "the position was liquidated"
)

// closes returns how much of the position an order of a side would close.
func (p perp) closes(s order.Side) decimal.Decimal {
	if p.Quantity.Sign() != -int(s.Sign()) {
		return decimal.Zero
	}
	return p.Quantity.Abs()
}

// turn applies a fill to its position.
func (b *book) turn(t *ticket, signed decimal.Decimal, f order.Fill) {
	p := b.perps[f.Symbol]
	if p.Quantity.IsZero() {
		p.Since, p.Paid = f.At, p.Funding
		if p.Funded.IsZero() {
			p.Funded = f.At
		}
	}
	if p.Opens(signed) {
		p.Leverage = t.Leverage
	}
	p.Currency, p.Asset, p.Tick = t.Currency, b.assets[f.Symbol], t.Tick
	var cash decimal.Decimal
	p.Position, cash = p.Trade(signed, f.Price, t.Leverage)
	b.flows[t.Currency] = b.flows[t.Currency].Add(cash).Sub(f.Fee)
	b.perps[f.Symbol] = p
}

// checkTurn refuses a fill of a journal that no position can have.
func (b *book) checkTurn(f order.Fill) error {
	t, p := b.tickets[f.OrderID], b.perps[f.Symbol]
	signed := f.Quantity.Mul(decimal.NewFromInt(f.Side.Sign()))
	if !t.Perp || p.Opens(signed) && t.Leverage.IsPositive() || !p.Opens(signed) && signed.Abs().LessThanOrEqual(p.Quantity.Abs()) {
		return nil
	}
	return errAmount
}

var _ broker.Fees = (*Broker)(nil)

// FeePercent returns the fee in a perpetual future. For all else the policy says what is assumed.
func (b *Broker) FeePercent(ctx context.Context, s market.Symbol) (decimal.Decimal, error) {
	if _, named := s.Pair(); !named {
		return decimal.Zero, broker.ErrNoFee
	}
	inst, err := b.cfg.Market.Instrument(ctx, s)
	if err != nil || inst.Class != provider.Perpetual {
		return decimal.Zero, errors.Join(broker.ErrNoFee, err)
	}
	return b.cfg.Rates.PerpTaker.Shift(2), nil
}

// needsMargin is what an open order in a perpetual future may take out of the cash: margin and fee of what
// it opens.
func (b *book) needsMargin(t *ticket) decimal.Decimal {
	if t.ReduceOnly || b.perps[t.Symbol].closes(t.Side).IsPositive() {
		return decimal.Zero
	}
	price := t.Price
	if t.StopPrice.IsPositive() && t.Type != order.Limit {
		price = b.against(t.Side, t.StopPrice, t.Tick)
	}
	return b.margined(t, t.left(), price, !t.StopPrice.IsPositive())
}

// margined is what an entry takes out of the cash.
func (b *book) margined(t *ticket, quantity, price decimal.Decimal, maker bool) decimal.Decimal {
	worth := quantity.Mul(price)
	return margin.Initial(worth, t.Leverage).Add(worth.Mul(b.feeOf(t, maker)))
}

// leveraged notes the leverage of a batch in a perpetual future: that of the policy, or the most that a
// position of its size may have.
func (b *Broker) leveraged(g *batch) error {
	if g.inst.Class != provider.Perpetual {
		first := g.orders[0]
		if first.Role == order.Entry && first.Side == order.Sell {
			return fault.Field("side", first.Side.String(), "a purchase: the paper account cannot sell short")
		}
		return nil
	}
	s := g.inst.Symbol
	if b.cfg.Leverage != nil {
		g.leverage = b.cfg.Leverage(s)
	}
	if !g.leverage.IsPositive() {
		if g.orders[0].ReduceOnly {
			return nil
		}
		return fault.Field("symbol", s.String(), "a pair or a share: max_leverage of the policy is 0, which allows no perpetual future")
	}
	return nil
}

// oneSide refuses what is sent as an entry and would close a position, and lowers the leverage to what a
// position of the size may have.
func (p *plan) oneSide(g *batch) error {
	first, s := g.orders[0], g.inst.Symbol
	if g.inst.Class != provider.Perpetual {
		return nil
	}
	held := p.perps[first.Symbol]
	if first.Role == order.Entry && held.closes(first.Side).IsPositive() {
		return fault.Field("side", first.Side.String(), fmt.Sprintf("the side of the position: %s of %s is held, and one order never turns it round", held.Quantity, s))
	}
	price := g.quote.Last
	if first.Price.IsPositive() {
		price = first.Price
	}
	worth := held.Cost.Abs().Add(first.Quantity.Mul(price))
	g.leverage = decimal.Min(g.leverage, margin.Usual(p.asset(g.inst)).At(worth).MaxLeverage)
	return nil
}

// affordMargin refuses an entry for which the account has no margin.
func (p *plan) affordMargin(t *ticket, rests bool, price decimal.Decimal) error {
	need := p.need(t)
	if t.ReduceOnly || p.perps[t.Symbol].closes(t.Side).IsPositive() {
		return nil
	}
	free := p.freeCash(t.Currency).Add(need)
	if !rests {
		need = p.margined(t, t.Quantity, price, false)
	}
	if need.GreaterThan(free) {
		return fault.Field("quantity", t.Quantity.String(),
			fmt.Sprintf("what needs at most the %s %s that the paper account has; this would need %s as margin at %sx with the fee", free, t.Currency, need, t.Leverage))
	}
	return nil
}

// marginFor returns how much of an order the account has margin for.
func (m *matching) marginFor(k *ticket, price decimal.Decimal) decimal.Decimal {
	if k.ReduceOnly || m.perps[k.Symbol].closes(k.Side).IsPositive() {
		return k.left()
	}
	cash := m.freeCash(k.Currency).Add(m.need(k))
	if m.margined(k, k.left(), price, false).LessThanOrEqual(cash) {
		return k.left()
	}
	unit := m.margined(k, decimal.NewFromInt(1), price, false)
	quantity, _ := cash.QuoRem(unit, anyStep)
	return decimal.Max(quantity, decimal.Zero)
}

// closesNothing reports whether an order may only reduce a position, and there is none.
func (p *plan) closesNothing(t *ticket) bool {
	return t.Perp && t.ReduceOnly && p.perps[t.Symbol].closes(t.Side).IsZero()
}

// within cuts a fill to the position that it closes. It reports false where the order cannot trade: it has
// nothing to reduce, or nothing would be left of the margin, and the position is liquidated.
func (p *plan) within(t *ticket, f *order.Fill) bool {
	held := p.perps[t.Symbol]
	most := held.closes(t.Side)
	switch {
	case most.IsPositive() && t.Role == order.Entry:
		p.end(t, order.Expired, reasonTurn)
		return false
	case most.IsZero() && t.ReduceOnly:
		p.end(t, order.Expired, reasonNothing)
		return false
	case most.IsZero():
		return true
	}
	f.Quantity = decimal.Min(f.Quantity, most)
	fee := most.Mul(f.Price).Mul(p.feeOf(t, f.Maker))
	if held.Equity(f.Price).LessThan(fee) {
		p.liquidate(t.Symbol)
		if !t.Status.Final() {
			p.end(t, order.Expired, reasonLiquidated)
		}
		return false
	}
	return true
}

// closed ends what is left of an order that closed the position, and of the others that would reduce it.
func (p *plan) closed(t *ticket) {
	if !p.perps[t.Symbol].Quantity.IsZero() {
		return
	}
	p.endReducing(t.Symbol, reasonNothing)
	if !t.Status.Final() {
		p.end(t, order.Expired, reasonTurn)
	}
}

// endReducing ends the orders that may only reduce the position in a symbol. Legs whose entry is open wait for
// what it brings.
func (p *plan) endReducing(s market.Symbol, reason string) {
	for _, o := range slices.Clone(p.open) {
		entries := p.others(o, order.Group{Name: o.Group.Name})
		if o.Symbol == s && o.ReduceOnly && !o.Status.Final() && o.Status != order.Held && (!o.Group.Leg || len(entries) == 0) {
			p.end(o, order.Expired, reason)
		}
	}
}

// stake says whether the price that came may liquidate the position in a symbol: on its whole way, or with
// its last price alone, because the position was opened on the way.
type stake struct {
	symbol         market.Symbol
	ready, arrived bool
}

// stake returns what a bar means for the position. Where mark prices are known, bars liquidate nothing. The
// caller holds the lock.
func (b *Broker) stake(s market.Symbol, began time.Time, late bool) stake {
	if late || b.cfg.Now().Sub(b.marks[s].at) <= maxQuoteAge {
		return stake{symbol: s}
	}
	p := b.book.perps[s]
	ready := b.seen[s] || p.Quantity.IsZero() || !began.Before(p.Since) // what is opened on the way sees the rest of it
	b.seen[s] = true
	return stake{symbol: s, ready: ready, arrived: !ready}
}

// endangered reports whether a way of the price may reach the liquidation price.
func (b *book) endangered(s stake, w way) bool {
	p := b.perps[s.symbol]
	price, ok := p.liquidation()
	if !ok || !s.ready && !s.arrived {
		return false
	}
	turns := w.turns
	if s.arrived {
		turns = turns[len(turns)-1:]
	}
	return slices.ContainsFunc(turns, func(turn float64) bool {
		return price.Sub(decimal.NewFromFloat(turn)).Sign()*p.Quantity.Sign() >= 0
	})
}

// liquidation returns the mark price that ends the position, and false if none does.
func (p perp) liquidation() (decimal.Decimal, bool) {
	return margin.Usual(p.Asset).Liquidation(p.Position, p.Tick)
}

// judge liquidates the position in a symbol if a price is at or beyond the one that ends it.
func (p *plan) judge(s market.Symbol, price decimal.Decimal) {
	held := p.perps[s]
	if !held.Quantity.IsZero() && margin.Usual(held.Asset).Liquidated(held.Position, price, held.Tick) {
		p.liquidate(s)
	}
}

// liquidate closes a position at its liquidation price. What is left of the margin is the fee, so that the
// margin is gone, and nothing else. The order is the venue's own.
func (p *plan) liquidate(s market.Symbol) {
	held := p.perps[s]
	price, ok := held.liquidation()
	if !ok {
		price = held.Average()
	}
	side := order.Sell
	if held.Quantity.IsNegative() {
		side = order.Buy
	}
	id := p.id()
	t := p.do(entry{Taken: &taken{
		Spec: order.Spec{
			ID: order.ByLiquidation + "-" + id, Symbol: s, Side: side, Type: order.Market, Quantity: held.Quantity.Abs(), ReduceOnly: true,
		},
		VenueID: id, Asset: held.Asset, Currency: held.Currency, Tick: held.Tick, Perp: true,
	}})
	p.do(entry{Fill: &order.Fill{
		TradeID: p.id(), OrderID: t.ID, VenueID: id, Symbol: s, Side: side, Quantity: t.Quantity, Price: price,
		Fee: held.Equity(price), FeeAsset: held.Currency, At: p.now, Cause: order.ByLiquidation,
	}})
	p.endReducing(s, reasonLiquidated)
}

// reopen lets positions see prices from now on alone: while the process did not run, the market was closed.
func (b *Broker) reopen(at time.Time) {
	for s, p := range b.book.perps {
		if !p.Quantity.IsZero() {
			p.Since, b.tapes[s] = at, &tape{}
			b.book.perps[s] = p
		}
	}
}

// margins lists the positions in perpetual futures. The caller holds the lock.
func (b *Broker) margins() []order.Holding {
	var all []order.Holding
	symbols := slices.SortedFunc(maps.Keys(b.book.perps), func(x, y market.Symbol) int { return strings.Compare(x.String(), y.String()) })
	for _, s := range symbols {
		p := b.book.perps[s]
		if p.Quantity.IsZero() {
			continue
		}
		at, _ := p.liquidation()
		all = append(all, order.Holding{
			Asset: p.Asset, Symbol: s, Quantity: p.Quantity, Available: p.Quantity,
			Margin: &order.Margin{
				Entry: p.Average(), Margin: p.Margin, Leverage: p.Leverage, Mark: b.marks[s].price, Liquidation: at, Funding: p.Funding.Sub(p.Paid),
			},
		})
	}
	return all
}
