package tool

import (
	"strings"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
	"candela/lib/fault"
)

// orderArgs holds the arguments of place_order.
type orderArgs struct {
	order.Request
	side, kind, force string
	priced            bool
}

func declareOrder() (*orderArgs, args) {
	p := &orderArgs{}
	return p, args{
		symbolArg(&p.Symbol, "The instrument, such as BTCUSDT.").require(),
		enumArg("side", &p.side, "", order.Sides()...).require(),
		enumArg("type", &p.kind, "market: now, at the best price; limit: at price or better.", order.Types()...).require(),
		amountArg("quantity", &p.Quantity, "Units: coins (BTC for BTCUSDT) or shares, not money. Never rounded. With a risk: the most.").require().unless("risk_pct", "risk_amount"),
		priceArg("price", &p.Price, &p.priced, "Of a limit order."),
		optionalAmountArg("stop_price", &p.StopPrice, "Wait for this price."),
		optionalAmountArg("stop_loss", &p.Protect.StopLoss, "Price that closes the position at a loss."),
		optionalAmountArg("stop_loss_limit", &p.Protect.StopLossLimit, "Its worst price, else market."),
		optionalAmountArg("take_profit", &p.Protect.TakeProfit, "Price that closes it in profit."),
		optionalAmountArg("trail_percent", &p.Protect.TrailPercent, "For stop_loss: distance from the best price."),
		optionalAmountArg("risk_pct", &p.Risk.Percent, "Loss at stop_loss, % of equity; decides quantity."),
		optionalAmountArg("risk_amount", &p.Risk.Amount, "The same in money."),
		enumArg("time_in_force", &p.force, "", order.TimesInForce()...),
		boolArg("post_only", &p.PostOnly, "Rest or be refused."),
		boolArg("reduce_only", &p.ReduceOnly, "Only close. With stop_loss or take_profit: change these; what you do not name stays."),
		stringArg("replaces", &p.Replaces, 64, "order_id to replace."),
		noteArg("note", &p.Note, 300, "For the owner."),
		timeArg("not_after", &p.NotAfter, "Not sent later."),
		keyArg("idempotency_key", &p.Key, 64, "Your unique name for this order: repeating it returns the same order. Set it if you may retry."),
		boolArg("dry_run", &p.DryRun, "Send nothing; return cost, fee, risk and limits left."),
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
	if !p.Risk.IsZero() {
		p.Risk.Most, p.Quantity = p.Quantity, decimal.Zero
	}
	for _, check := range []func() error{p.checkPrice, p.checkExit, p.checkStop, p.checkRisk} {
		if err := check(); err != nil {
			return p.Request, err
		}
	}
	return p.Request, nil
}

func (p *orderArgs) checkPrice() error {
	limit := p.Type == order.Limit
	switch {
	case limit && !p.priced:
		return fault.Missing("price", "a number, for a limit order")
	case !limit && p.priced:
		return fault.Field("price", p.Price.String(), "no price for a market order, or type limit", "limit")
	case !limit && p.PostOnly:
		return fault.Field("post_only", "true", "limit orders: a market order never rests")
	}
	return nil
}

// checkExit checks an order that closes a position at the prices of its legs.
func (p *orderArgs) checkExit() error {
	legs := p.Protect
	if !p.ReduceOnly || legs.IsZero() {
		return nil
	}
	switch {
	case p.Type == order.Limit:
		return fault.Field("price", p.Price.String(), "no price with reduce_only and stop_loss or take_profit: use type market, and take_profit for the limit price", "take_profit")
	case p.StopPrice.IsPositive():
		return fault.Field("stop_price", p.StopPrice.String(), "stop_loss in its place: both are the price that triggers the exit", "stop_loss")
	}
	return nil
}

// checkStop checks the arguments of stops against each other.
func (p *orderArgs) checkStop() error {
	legs := p.Protect
	switch {
	case legs.TrailPercent.IsPositive() && p.StopPrice.IsPositive():
		return fault.Field("trail_percent", legs.TrailPercent.String(), "no trail_percent with stop_price: give one of them")
	case legs.TrailPercent.IsPositive() && legs.StopLoss.IsPositive():
		return fault.Field("trail_percent", legs.TrailPercent.String(), "no trail_percent with stop_loss: give one of them")
	case legs.StopLossLimit.IsPositive() && !legs.StopLoss.IsPositive():
		return fault.Missing("stop_loss", "the price that triggers the order at stop_loss_limit")
	}
	return nil
}

// checkRisk checks that a risk can decide the quantity.
func (p *orderArgs) checkRisk() error {
	r := p.Risk
	switch {
	case r.IsZero():
		return nil
	case r.Percent.IsPositive() && r.Amount.IsPositive():
		return fault.Field("risk_amount", r.Amount.String(), "no risk_amount with risk_pct: give one of them")
	case p.ReduceOnly:
		return fault.Field("reduce_only", "true", "no reduce_only with a risk: it closes a position; give quantity")
	case !p.Protect.HasStop():
		return fault.Missing("stop_loss", "the price at which the loss is taken, or trail_percent: a risk gives the quantity only with a stop")
	case r.Percent.GreaterThan(decimal.NewFromInt(100)):
		return fault.Field("risk_pct", r.Percent.String(), "at most 100, in percent of the equity; usual is 0.5 to 2", "1")
	}
	return nil
}

// protectiveWords maps names that models and venues use for protective orders, without
// separators, to what they mean here.
func protectiveWords() map[string]struct {
	advice string
	args   []string
} {
	type row = struct {
		advice string
		args   []string
	}
	stop := row{"a stop is type market with stop_price; stop_loss protects an entry, or with reduce_only a position", []string{"stop_price", "stop_loss"}}
	stopLimit := row{"a stop-limit is type limit with price and stop_price", []string{"price", "stop_price"}}
	target := row{"take_profit closes a position at a profit: with an entry, or with reduce_only for a position you have", []string{"take_profit"}}
	trail := row{"trail_percent trails: with an entry, or with reduce_only for a position you have", []string{"trail_percent"}}
	both := row{"stop_loss and take_profit together make a bracket; with reduce_only a pair of which one cancels the other", []string{"stop_loss", "take_profit"}}
	return map[string]row{
		"stop": stop, "stoploss": stop, "stopmarket": stop, "stoporder": stop, "sl": stop, "trigger": stop, "triggerprice": stop, "stopprice": stop, "stoplossprice": stop,
		"stoplimit": stopLimit, "stoplimitprice": stopLimit, "stoplosslimit": stopLimit,
		"takeprofit": target, "takeprofitlimit": target, "takeprofitprice": target, "tp": target, "target": target, "targetprice": target,
		"trail": trail, "trailing": trail, "trailingstop": trail, "trailingdelta": trail, "trailpercent": trail, "trailprice": trail, "trailingpercent": trail, "callbackrate": trail,
		"oco": both, "bracket": both, "orderclass": both, "legs": both, "oto": both, "otoco": both,
		"risk":          {"risk_pct is the loss at stop_loss in percent of the equity, risk_amount the same in money; they decide the quantity", []string{"risk_pct", "risk_amount"}},
		"riskpercent":   {"risk_pct is the loss at stop_loss in percent of the equity", []string{"risk_pct"}},
		"tif":           {"time_in_force is gtc, day, ioc or fok", []string{"time_in_force"}},
		"closeposition": {"reduce_only closes a position without opening another", []string{"reduce_only"}},
	}
}

// protectiveAdvice explains how to ask for a protective order, or returns "" for another word.
func protectiveAdvice(word string) string {
	return protectiveWords()[joined(word)].advice
}

// protectiveArgs names the arguments of protectiveAdvice.
func protectiveArgs(word string) []string { return protectiveWords()[joined(word)].args }

// joined is a word in lower case without separators.
func joined(word string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(word))
}
