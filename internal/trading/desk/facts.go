package desk

import (
	"context"
	"errors"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/trading/broker"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// symbolMarket is what the venue says of a symbol while an order is checked.
type symbolMarket struct {
	instrument   provider.Instrument
	capabilities order.Capabilities
	limited      bool                // capabilities are unknown; the order needs none
	quote        order.Quote         // zero if unknown
	holdings     []order.Holding     // of the account; nil if unknown
	judged       judgedAgain         // of an order that waits for the owner
	fee          decimal.NullDecimal // of a trade in percent; null for that of the policy
	modes        *order.Modes        // of a perpetual future; nil where the venue has none to choose
}

// readMarket reads what the check of an order needs.
func (d *Desk) readMarket(ctx context.Context, o order.Spec) (symbolMarket, error) {
	var m symbolMarket
	symbol := o.Symbol
	var err error
	if m.instrument, err = d.cfg.Broker.Instrument(ctx, symbol); err != nil {
		return m, err
	}
	if err := checkSymbolSpelling(symbol, m.instrument); err != nil {
		return m, err
	}
	plain := !o.IsStop() && o.Protect.IsZero() && o.TimeInForce == 0 && !o.PostOnly
	if m.capabilities, err = d.cfg.Broker.Capabilities(ctx, symbol); err != nil && !plain {
		return m, err
	}
	m.limited = err != nil
	// Without a price the guard decides.
	m.quote, err = d.cfg.Market.Quote(ctx, symbol)
	if ctx.Err() != nil {
		return m, ctx.Err()
	}
	if err != nil {
		d.cfg.Log.WarnContext(ctx, "quote failed", "symbol", symbol.String(), "error", err)
	}
	policy := d.view.Load().policy
	limits := policy.For(symbol)
	perpetual := m.instrument.Class == provider.Perpetual
	if !limits.MaxTradeRiskPct.Off || perpetual {
		d.readHoldings(ctx, &m)
	}
	if perpetual && !o.ReduceOnly {
		d.readModes(ctx, symbol, &m)
	}
	if !plain || !limits.MaxTradeRiskPct.Off || !limits.MaxTradeRisk.Off || !policy.MaxOpenRisk.Off {
		d.readFee(ctx, symbol, &m)
	}
	return m, nil
}

// readFee reads what the account pays for a trade, where the venue says it. Without an answer
// the policy's fee counts.
func (d *Desk) readFee(ctx context.Context, s market.Symbol, m *symbolMarket) {
	fees, ok := d.cfg.Broker.(broker.Fees)
	if !ok || m.fee.Valid {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, quoteTimeout)
	defer cancel()
	fee, err := fees.FeePercent(ctx, s)
	if errors.Is(err, broker.ErrNoFee) {
		return
	}
	if err != nil {
		d.cfg.Log.WarnContext(ctx, "fee failed", "symbol", s.String(), "error", err)
		return
	}
	m.fee = decimal.NewNullDecimal(fee)
}

// How long modes are believed, and of how many symbols: a change at the venue counts from the next minute on.
const modesTTL, maxModes = time.Minute, 1000

// readModes reads how the account holds positions in a perpetual future. Without an answer orders that open are denied.
func (d *Desk) readModes(ctx context.Context, s market.Symbol, m *symbolMarket) {
	venue, ok := d.cfg.Broker.(broker.Moded)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, quoteTimeout)
	defer cancel()
	modes, err := d.modes.Get(ctx, d.cfg.Now(), s.String(), func(ctx context.Context) (order.Modes, error) { return venue.Modes(ctx, s) })
	if err != nil {
		d.cfg.Log.WarnContext(ctx, "modes failed", "symbol", s.String(), "error", err)
	}
	modes.Known = err == nil
	m.modes = &modes
}

// learn keeps what the venue says of a symbol.
func (l *loop) learn(s market.Symbol, m symbolMarket) {
	l.instruments[s] = m.instrument
	if !m.limited {
		l.capabilities[s] = m.capabilities
	}
}

// readHoldings reads the balances, from which the equity follows. Without them the rules that
// need it deny.
func (d *Desk) readHoldings(ctx context.Context, m *symbolMarket) {
	if m.holdings != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, quoteTimeout)
	defer cancel()
	var err error
	if m.holdings, err = d.balances(ctx); err != nil {
		d.cfg.Log.WarnContext(ctx, "balances failed", "error", err)
	}
}

// facts gathers what the rules need to judge an order in a symbol, of a deployment or, with "", of a client.
func (l *loop) facts(s market.Symbol, deployment string, m symbolMarket) guard.Facts {
	prices := l.prices()
	if known, ok := prices.Quotes[s]; !ok || !known.At.After(m.quote.At) {
		prices.Quotes[s] = m.quote
	}
	return l.withAccount(guard.GatherOf(deployment, l.cfg.Policy, l.book, prices, s, l.cfg.Broker.Mode()), prices, m).WithDeployments(l.deployments, s, deployment)
}

// withAccount adds what the venue takes, and the equity and the free cash, which are null if they
// are unknown.
func (l *loop) withAccount(f guard.Facts, prices guard.Prices, m symbolMarket) guard.Facts {
	f.Capabilities, f.TakerFeePct, f.Modes = m.capabilities, m.fee, m.modes
	f.Margin = guard.MarginOf(m.holdings, m.instrument.Symbol)
	if m.holdings != nil {
		account := guard.Account{Mode: l.cfg.Broker.Mode()}
		l.priceHoldings(prices, m.holdings, l.cfg.Market.LastQuote)
		account.Value(l.cfg.Policy, prices, m.holdings)
		f.Equity = decimal.NewNullDecimal(account.Equity)
		f.Cash = freeCash(m.holdings, f.Instrument.Quote)
	}
	return f
}

// freeCash returns what no order is about to spend of a currency, null if that is unknown.
func freeCash(holdings []order.Holding, currency string) decimal.NullDecimal {
	free := decimal.NullDecimal{Valid: currency != ""}
	for _, h := range holdings {
		if h.Symbol.IsZero() && h.Asset == currency {
			free.Decimal = free.Decimal.Add(h.Available)
		}
	}
	return free
}
