package paper

import (
	"context"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/trading/broker"
	"candela/internal/trading/margin"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// rememberedFunding is how many payments can be asked for.
const rememberedFunding = 1000

var _ broker.Funded = (*Broker)(nil)

// fund takes a payment from the margin of its position, or from the cash where that has been closed since.
func (b *book) fund(f order.Funding) {
	p := b.perps[f.Symbol]
	p.Position, p.Funded = p.Pay(f.Amount), f.At
	if p.Quantity.IsZero() {
		p.Margin = p.Margin.Add(f.Amount)
		b.flows[p.Currency] = b.flows[p.Currency].Sub(f.Amount)
	}
	b.perps[f.Symbol] = p
	b.paid = append(b.paid, f)
	b.paid = b.paid[max(0, len(b.paid)-rememberedFunding):]
}

// Funding applies what came due since it was last asked for, also while the process did not run, and lists
// the payments after a time.
func (b *Broker) Funding(ctx context.Context, after time.Time) ([]order.Funding, error) {
	for s, since := range b.due() {
		rates, err := b.cfg.Funding(ctx, s, since, b.cfg.Now())
		if err != nil {
			return nil, err
		}
		if err := b.pay(ctx, s, rates); err != nil {
			return nil, err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	paid := slices.DeleteFunc(slices.Clone(b.book.paid), func(f order.Funding) bool { return !f.At.After(after) })
	slices.SortStableFunc(paid, func(x, y order.Funding) int { return x.At.Compare(y.At) })
	return paid, ctx.Err()
}

// due returns since when funding is not applied, by the symbols that were held since.
func (b *Broker) due() map[market.Symbol]time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make(map[market.Symbol]time.Time)
	for s, p := range b.book.perps {
		if b.cfg.Funding != nil && (!p.Quantity.IsZero() || len(b.book.since(s, p.Funded)) > 0) {
			all[s] = p.Funded
		}
	}
	return all
}

// since returns the trades in a symbol from a time on.
func (b *book) since(s market.Symbol, at time.Time) []order.Fill {
	var found []order.Fill
	for _, f := range slices.Backward(b.trades) {
		if f.At.Before(at) {
			break
		}
		if f.Symbol == s {
			found = append(found, f)
		}
	}
	return found
}

// pay applies rates to what was held when their times came: a trade at the time itself comes after it.
func (b *Broker) pay(ctx context.Context, s market.Symbol, rates []provider.Funding) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range rates {
		p := b.book.perps[s]
		if !r.At.After(p.Funded) || r.At.After(b.cfg.Now()) {
			continue
		}
		held := p.Quantity
		for _, f := range b.book.since(s, r.At) {
			held = held.Sub(f.Quantity.Mul(decimal.NewFromInt(f.Side.Sign())))
		}
		if held.IsZero() {
			p.Funded = r.At
			b.book.perps[s] = p
			continue
		}
		f := order.Funding{Symbol: s, At: r.At, Rate: decimal.NewFromFloat(r.Rate), Mark: decimal.NewFromFloat(r.Mark)}
		f.Amount = margin.FundingAt(held, f.Mark, f.Rate)
		if err := b.commit(ctx, entry{At: b.cfg.Now(), Funded: &f}); err != nil {
			return notSent(err)
		}
	}
	return nil
}
