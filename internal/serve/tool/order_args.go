package tool

import (
	"encoding/json"
	"strings"

	"github.com/shopspring/decimal"

	"candela/internal/kit/strictjson"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/internal/work/wording"
	"candela/lib/fault"
	"candela/lib/ta"
)

// orderArgs holds the arguments of place_order.
type orderArgs struct {
	order.Request
	side, kind, force string
	priced            bool
	because           json.RawMessage
	library           ta.Library
}

func (t *Trading) declareOrder() (*orderArgs, args) {
	p := &orderArgs{library: t.library}
	return p, args{
		symbolArg(&p.Symbol, "Such as BTCUSDT.").require(),
		enumArg("side", &p.side, "", order.Sides()...).require(),
		enumArg("type", &p.kind, "market: now, at the best price; limit: at price or better.", order.Types()...).require(),
		quantityArg(p),
		priceArg("price", &p.Price, &p.priced, "Of a limit order."),
		optionalAmountArg("stop_price", &p.StopPrice, "Wait for this price."),
		optionalAmountArg("stop_loss", &p.Protect.StopLoss, "Price that closes at a loss."),
		optionalAmountArg("stop_loss_limit", &p.Protect.StopLossLimit, "Its worst price, else market."),
		optionalAmountArg("take_profit", &p.Protect.TakeProfit, "Price that closes in profit."),
		optionalAmountArg("trail_percent", &p.Protect.TrailPercent, "Stop's distance from the best price."),
		optionalAmountArg("notional", &p.Sizing.Notional, "Money, in place of quantity."),
		optionalAmountArg("stop_loss_pct", &p.Sizing.StopLossPct, "% from the entry."),
		optionalAmountArg("take_profit_pct", &p.Sizing.TakeProfitPct, ""),
		optionalAmountArg("risk_pct", &p.Sizing.Percent, "Loss at the stop, % of equity."),
		optionalAmountArg("risk_amount", &p.Sizing.Amount, "The same in money."),
		enumArg("time_in_force", &p.force, "", order.TimesInForce()...),
		boolArg("post_only", &p.PostOnly, "Rest or be refused."),
		boolArg("reduce_only", &p.ReduceOnly, "Only close; with stop_loss or take_profit change these, the rest stays."),
		stringArg("replaces", &p.Replaces, 64, "order_id to replace."),
		becauseArg(&p.because),
		noteArg("note", &p.Note, 300, "For the owner."),
		timeArg("not_after", &p.NotAfter, "Not sent later."),
		keyArg("idempotency_key", &p.Key, 64, "Your name: a repeat returns the same order."),
		boolArg("dry_run", &p.DryRun, "Send nothing; return cost, risk and limits."),
	}
}

// request checks rules that involve several arguments.
func (p *orderArgs) request() (order.Request, error) {
	var err error
	if p.Side, err = order.ParseSide(p.side); err != nil {
		return p.Request, err
	}
	if p.Type, err = order.ParseType(p.kind); err != nil {
		return p.Request, err
	}
	if p.force != "" {
		if p.TimeInForce, err = order.ParseTimeInForce(p.force); err != nil {
			return p.Request, err
		}
	}
	if p.Sizing.Risks() {
		p.Sizing.Most, p.Quantity = p.Quantity, decimal.Zero
	}
	if p.Because, err = readClaims(p.library, p.Symbol, p.because); err != nil {
		return p.Request, err
	}
	if err := p.checkPrice(); err != nil {
		return p.Request, err
	}
	if p.Quantity.IsZero() && !p.Sizing.SetsQuantity() {
		return p.Request, fault.Field("quantity", "0", "a number above 0, or notional for an amount of money")
	}
	return p.Request, guard.CheckRequest(p.Request)
}

// quantityArg is an amount, 0 where another argument gives it, or "all" of what is held.
func quantityArg(p *orderArgs) arg {
	const name, allowed = "quantity", "a number above 0"
	s := &schema{Type: "number", Description: "Units: coins (BTC for BTCUSDT) or shares. 0 with notional; most with a risk."}
	return newArg(name, &p.Quantity, allowed+", without quotes", s, func(raw json.RawMessage) (decimal.Decimal, error) {
		if text, _ := strictjson.Text(raw); strings.EqualFold(text, "all") {
			p.Sizing.All = true
			return decimal.Zero, nil
		}
		value, ok := wording.Exact(raw)
		if !ok || value.IsNegative() {
			return value, wrongNumber(name, raw, allowed)
		}
		return value, nil
	}).require().unless("notional", "risk_pct", "risk_amount")
}

func (p *orderArgs) checkPrice() error {
	limit := p.Type == order.Limit
	switch {
	case limit && !p.priced:
		return fault.Missing("price", "a number, for a limit order")
	case !limit && p.priced:
		return fault.Field("price", p.Price.String(), "no price for a market order, or type limit", "limit")
	case p.Protect.TrailPercent.IsPositive() && p.StopPrice.IsPositive():
		return fault.Field("trail_percent", p.Protect.TrailPercent.String(), "no trail_percent with stop_price: give one of them")
	case !limit && p.PostOnly:
		return fault.Field("post_only", "true", "limit orders: a market order never rests")
	}
	return nil
}
