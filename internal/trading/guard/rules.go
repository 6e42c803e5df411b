package guard

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
	"candela/lib/market"
)

// Rule documents one rule.
type Rule struct {
	Name   string // also the key in the file, if there is one
	Limit  string // under the policy
	Denies string
	Fixed  bool // no key of the file changes it
}

// rule is a Rule with its check, which returns a Denial without the rule's name.
type rule struct {
	name   string
	early  bool // needs no price and no filter of the venue
	limit  func(Policy) string
	denies string
	check  func(*orderCheck) *Denial
}

// Rules returns every rule for the orders of clients with its limit, in the order in which Check applies them.
// Those of DeploymentRules come after reducing.
func Rules(p Policy) []Rule {
	return documented(p, func(name string) bool { return !ofDeployments(name) })
}

func documented(p Policy, shown func(name string) bool) []Rule {
	table, keys := make([]Rule, 0, len(rules())), policyKeys()
	for _, r := range rules() {
		if !shown(r.name) {
			continue
		}
		fixed := r.name != entryKey && !slices.ContainsFunc(keys, func(k policyKey) bool { return k.key == r.name })
		table = append(table, Rule{r.name, r.limit(p), r.denies, fixed})
	}
	return table
}

// Exception is a limit that a symbol overrides.
type Exception struct {
	Symbol market.Symbol
	Rule   string
	Limit  string
}

// Exceptions returns the limits that differ from Rules, by symbol.
func Exceptions(p Policy) []Exception {
	var table []Exception
	symbols := slices.SortedFunc(maps.Keys(p.Symbols), func(a, b market.Symbol) int { return cmp.Compare(a.String(), b.String()) })
	for _, s := range symbols {
		own := p
		own.Limits = p.Symbols[s]
		for _, r := range rules() {
			if limit := r.limit(own); limit != r.limit(p) {
				table = append(table, Exception{s, r.name, limit})
			}
		}
		for i, general := range Settings(p) {
			if v := Settings(own)[i]; v != general {
				table = append(table, Exception{s, v.Name, v.Value})
			}
		}
	}
	return table
}

// rules lists every rule in the order in which Check applies them: first those that need
// only the order and the account, so that an agent that repeats itself learns of it;
// then those of the venue; last those that depend on prices.
func rules() []rule {
	return slices.Concat(earlyRules(), venueRules(), []rule{quoteRule()}, liquidationRules(), sideRules(), priceRules(), riskRules(), evidenceRules())
}

func quoteRule() rule {
	return rule{
		"max_quote_age", false, func(p Policy) string { return p.MaxQuoteAge.String() },
		"An order without a price, or with a last price older than this while the market is open. An order that only reduces a position passes, so that a lost feed does not block the exit.",
		checkQuoteAge,
	}
}

// priceRules are the rules about prices and sums.
func priceRules() []rule {
	return []rule{
		{
			"post_only", false, func(Policy) string { return "an order that rests" },
			"An order with post_only whose price would trade at once.",
			checkWouldTake,
		},
		{
			"price_band_pct", false, func(p Policy) string { return perCent(p.PriceBandPct) },
			"A limit price that would trade immediately and is further than this from the last price, or from the stop_price that it waits for: a buy above it, a sell below.",
			func(q *orderCheck) *Denial { return checkBand(q, q.limits.PriceBandPct, q.Side == order.Buy) },
		},
		{
			"resting_band_pct", false, func(p Policy) string { return perCent(p.RestingBandPct) },
			"A limit price that would rest further than this from the last price: a buy below it, a sell above; or a stop_price of an order that opens a position. A target that only closes a position passes.",
			checkRestingBand,
		},
		{
			"max_order_notional", false, func(p Policy) string { return p.MaxOrderNotional.String() },
			"An order worth more than this: its quantity at the highest price it may plausibly get.",
			checkNotional,
		},
		{ // after what the owner allows in one order: its remedy is several orders
			"venue_max_market", false, func(Policy) string { return "the venue's" },
			"An order at the market, or with a stop that becomes one, of more than the venue takes in one such order. What closes a position with reduce_only is sent in parts.",
			checkMaxMarket,
		},
		{
			"max_symbol_exposure", false, func(p Policy) string { return p.MaxSymbolExposure.String() },
			"An order after which the position in the symbol, with all that open orders may add to it, could be worth more than this. An order that reduces it passes.",
			checkSymbolExposure,
		},
		{
			"max_exposure", false, func(p Policy) string { return p.MaxExposure.String() },
			"The same over all symbols, with long and short positions added.",
			checkExposure,
		},
		{
			"max_daily_notional", false, func(p Policy) string { return p.MaxDailyNotional.String() },
			"An order that could raise the notional traded since midnight UTC above this. An order that only reduces a position passes.",
			checkDailyNotional,
		},
	}
}

func earlyRules() []rule {
	return []rule{
		{
			"amounts", true, func(Policy) string { return "above 0" },
			"A quantity or limit price that is not greater than zero or has more than 24 digits on a side of the point, and a price on a market order.",
			checkAmounts,
		},
		{
			"halted", true, func(Policy) string { return "trading state" },
			"Every order while the trading state is HALTED.",
			checkHalted,
		},
		{
			"allowed_symbols", true, func(p Policy) string {
				if len(p.AllowedSymbols) == 0 {
					return "every symbol on paper, none live"
				}
				return joinSymbols(p.AllowedSymbols)
			},
			"A symbol that is not in the list. A name without a venue stands for every venue.",
			checkAllowed,
		},
		{
			"max_orders_per_minute", true, func(p Policy) string { return p.MaxOrdersPerMinute.String() },
			"More orders than this within 60 seconds from one token, including orders that other rules denied. An order that only reduces a position passes up to 60 more, and counts only those that were sent.",
			checkRate,
		},
		{
			"duplicate_window", true, func(p Policy) string { return p.DuplicateWindow.String() },
			"An order without an idempotency key that equals a recent one in symbol and every other argument. An order that only reduces a position passes if the other ended without a fill.",
			checkDuplicate,
		},
		{
			"max_symbol_open_orders", true, func(p Policy) string { return p.MaxSymbolOpenOrders.String() },
			"An order in a symbol that has this many open orders. The orders of a group count as one. An order that only reduces a position passes up to 60 more.",
			func(q *orderCheck) *Denial {
				return checkOpen(q.withExits(q.limits.MaxSymbolOpenOrders), q.SymbolOrders, " in "+q.Symbol.String())
			},
		},
		{
			"max_open_orders", true, func(p Policy) string { return p.MaxOpenOrders.String() },
			"An order when this many are open. The orders of a group count as one. An order that only reduces a position passes up to 60 more.",
			func(q *orderCheck) *Denial { return checkOpen(q.withExits(q.policy.MaxOpenOrders), q.OpenOrders, "") },
		},
		{
			"max_order_quantity", true, func(p Policy) string { return p.MaxOrderQuantity.String() },
			"A quantity above this, in units of the symbol.",
			checkQuantity,
		},
	}
}

func checkAmounts(q *orderCheck) *Denial {
	const limit = "greater than 0 with at most 24 digits on each side of the point"
	switch {
	case !order.Bounded(q.Quantity), !q.Quantity.IsPositive():
		return deny("quantity", formatNumber(q.Quantity), limit, "quantity must be %s (got %s).", limit, formatNumber(q.Quantity))
	case !order.Bounded(q.Price), q.Type == order.Limit && !q.Price.IsPositive():
		return deny("price", formatNumber(q.Price), limit, "price must be %s (got %s).", limit, formatNumber(q.Price))
	case !order.Bounded(q.StopPrice, q.TrailPercent, q.Protect.StopLoss, q.Protect.StopLossLimit, q.Protect.TakeProfit, q.Protect.TrailPercent):
		return deny("stop_loss", "a number of any size", limit, "stop_price, stop_loss, stop_loss_limit, take_profit and trail_percent must be %s.", limit)
	case q.Type == order.Market && !q.Price.IsZero():
		return deny("price", formatNumber(q.Price), "no price", "A market order has no price. Omit price.")
	}
	return nil
}

// formatNumber formats a number of any size.
func formatNumber(d decimal.Decimal) string {
	if order.Bounded(d) {
		return d.String()
	}
	return fmt.Sprintf("a number of the size 1e%d", int64(d.NumDigits())+int64(d.Exponent())-1)
}

func checkHalted(q *orderCheck) *Denial {
	if q.state.Level() != Halted {
		return nil
	}
	return deny("", q.state.Level().String(), "no orders", "Trading is halted: %s", q.state.Explain())
}

func checkAllowed(q *orderCheck) *Denial {
	if q.Mode == order.Live && len(q.policy.AllowedSymbols) == 0 {
		return deny("symbol", q.Symbol.String(), "the symbols of allowed_symbols",
			"The policy allows no symbol for live trading. The owner must set allowed_symbols.")
	}
	if q.policy.Allows(q.Symbol) {
		return nil
	}
	list := joinSymbols(q.policy.AllowedSymbols)
	return deny("symbol", q.Symbol.String(), list, "symbol %v is not allowed by the policy. Allowed: %s.", q.Symbol, list)
}

// minute is the window of max_orders_per_minute.
const minute = time.Minute

// exitAllowance is by how many orders that only reduce a position a number of orders may exceed
// its limit: a client that repeats itself must still be able to close, but not flood the venue.
const exitAllowance = 60

// exits reports whether the order only reduces a position. Another rule denies reduce_only where
// it would not.
func (q *orderCheck) exits() bool { return q.ReduceOnly || q.Exit || q.reduces() }

// withExits returns the limit of a number of orders as it is for this order.
func (q *orderCheck) withExits(limit Limit) Limit {
	if q.exits() {
		limit.Value = limit.Value.Add(decimal.NewFromInt(exitAllowance))
	}
	return limit
}

func checkRate(q *orderCheck) *Denial {
	limit, exits := q.withExits(q.policy.MaxOrdersPerMinute), q.exits()
	count, oldest := 0, q.Now
	for _, r := range q.Recent {
		if exits && r.Rule != "" && !r.ReduceOnly {
			continue // it reached no venue
		}
		// Denials of this rule do not count, or a client that waits would be denied again.
		if r.Token == q.Token && q.Now.Sub(r.At) < minute && r.Rule != "max_orders_per_minute" {
			count++
			if r.At.Before(oldest) {
				oldest = r.At
			}
		}
	}
	if !limit.exceeded(decimal.NewFromInt(int64(count + 1))) {
		return nil
	}
	d := deny("", strconv.Itoa(count+1), limit.String()+" per minute",
		"%d orders in the last minute; the limit is %v. Wait, and check get_orders first.", count, limit)
	d.RetryAfter = max(minute-q.Now.Sub(oldest), time.Second)
	return d
}

func checkDuplicate(q *orderCheck) *Denial {
	if q.Key != "" || q.Deployment != "" {
		return nil
	}
	window := q.policy.DuplicateWindow
	for _, r := range q.Recent {
		age := q.Now.Sub(r.At)
		if r.Unfilled && q.exits() {
			continue // nothing was closed
		}
		if r.Rule == "" && age < window && r.Symbol == q.Symbol && r.Deployment == q.Deployment && q.repeats(r) {
			return &Denial{
				Limit: fmt.Sprintf("one within %v without an idempotency_key", window), Value: r.ID, Field: "idempotency_key", RetryAfter: max(window-age, 0),
				Text: fmt.Sprintf("Duplicate of order %s, placed %v ago. If you want a second order, give each one its own idempotency_key.", r.ID, age.Round(time.Millisecond)),
			}
		}
	}
	return nil
}

// repeats reports whether the order asks for what a recent one did. What was said counts, not the quantity and
// the prices that followed from it.
func (q *orderCheck) repeats(r Recent) bool {
	if !q.Sizing.IsZero() {
		return r.Sizing.Equal(q.Sizing) && r.Asked == q.Asked
	}
	return r.Terms() == q.Terms()
}

func checkOpen(limit Limit, open int, where string) *Denial {
	if !limit.exceeded(decimal.NewFromInt(int64(open + 1))) {
		return nil
	}
	return deny("", strconv.Itoa(open+1), limit.String(), "%d orders are open%s; the limit is %v. Cancel one first.", open, where, limit)
}

func checkQuantity(q *orderCheck) *Denial {
	limit := q.limits.MaxOrderQuantity
	if !limit.exceeded(q.Quantity) {
		return nil
	}
	return deny("quantity", q.Quantity.String(), limit.String(), "quantity %v is above the limit of %v per order.", q.Quantity, limit)
}

// perCent formats a limit in percent.
func perCent(l Limit) string {
	if l.Off {
		return l.String()
	}
	return l.String() + " %"
}

// The rules that need a price.

func checkQuoteAge(q *orderCheck) *Denial {
	limit := q.policy.MaxQuoteAge
	switch {
	case q.fresh(), q.reduces():
		return nil
	case !q.Quote.Last.IsPositive():
		d := deny("", "no price", limit.String(), "No current price for %v. Retry in 1 s.", q.Symbol)
		d.RetryAfter = time.Second
		return d
	}
	age := q.Now.Sub(q.Quote.At).Round(time.Millisecond)
	d := deny("", age.String(), limit.String(), "The last price of %v, %v, is %v old; the limit is %v.", q.Symbol, q.Quote.Last, age, limit)
	if q.Quote.Stalled(q.Now) {
		d.Text += " Its market may be closed, its feed lost or its file old, so a retry soon does not help."
	} else {
		d.RetryAfter = time.Second
	}
	return d
}

// checkBand denies a limit price that is too far above or below the last price, or the stop
// price that the order waits for. Without a fresh price only an order that reduces a
// position gets here, and it passes. The limit of a stop that closes a position bounds its
// loss, so it may be anywhere beyond the stop.
func checkBand(q *orderCheck, limit Limit, above bool) *Denial {
	if q.Type != order.Limit || q.Role == order.StopLoss {
		return nil
	}
	from := argument{"the last price", q.Quote.Last}
	if q.waits() {
		from = argument{"stop_price", q.StopPrice}
	}
	name := "price"
	if q.Role == order.TakeProfit {
		name = "take_profit"
	}
	return q.beyondBand(argument{name, q.Price}, from, limit, above)
}

// beyondBand denies a price that is further from another than the limit.
func (q *orderCheck) beyondBand(a, from argument, limit Limit, above bool) *Denial {
	if limit.Off || !q.fresh() {
		return nil
	}
	width := percent(from.value, limit.Value)
	edge := from.value.Sub(width)
	if above {
		edge = from.value.Add(width)
	}
	if !isBeyond(a.value, edge, above) {
		return nil
	}
	word, _ := words(above)
	off := a.value.Sub(from.value).Abs().Shift(2).DivRound(from.value, 2) // rounded for display
	d := deny(a.name, off.String()+" %", perCent(limit), "%s %v is %v %% %s %s %v; the limit is %v.", a.name, a.value, off, word, from.name, from.value, perCent(limit))
	if nearest := q.onTick(edge, above); nearest.IsPositive() {
		d.Nearest = []string{nearest.String()}
		d.Text += " The nearest allowed price is " + nearest.String() + "."
	}
	return d
}

// checkRestingBand passes a target: an exit is meant to rest until the price gets there. It
// also bounds the stop price of an order that opens a position.
func checkRestingBand(q *orderCheck) *Denial {
	limit := q.limits.RestingBandPct
	if q.waits() && !q.ReduceOnly {
		return q.beyondBand(argument{"stop_price", q.StopPrice}, argument{"the last price", q.Quote.Last}, limit, q.Side == order.Buy)
	}
	if (q.Exit || q.Role == order.TakeProfit) && q.reduces() {
		return nil
	}
	return checkBand(q, limit, q.Side == order.Sell)
}

// checkWouldTake compares with the other side of the book, or with the last price.
func checkWouldTake(q *orderCheck) *Denial {
	if !q.PostOnly || !q.fresh() {
		return nil
	}
	buys := q.Side == order.Buy
	taker, known := q.Quote.TakerPrice(q.Side)
	name, limit := map[bool]string{true: "the ask", false: "the bid"}[buys], taker
	if !known {
		name, limit = "the last price", q.Quote.Last
	}
	if isBeyond(limit, q.Price, buys) || !known && limit.Equal(q.Price) {
		return nil
	}
	_, opposite := words(buys)
	d := deny("price", q.Price.String(), opposite+" "+limit.String(), "price %v would trade at once, which post_only excludes: %s is %v.", q.Price, name, limit)
	if tick := q.Instrument.TickAt(limit); tick.IsPositive() {
		nearest := q.onTick(limit.Sub(tick.Mul(decimal.NewFromInt(q.Side.Sign()))), buys)
		d.Nearest = []string{nearest.String()}
		d.Text += " The nearest price is " + nearest.String() + "."
	}
	return d
}

// onTick rounds a price to the venue's tick, towards the last price.
func (q *orderCheck) onTick(edge decimal.Decimal, down bool) decimal.Decimal {
	tick := q.Instrument.TickAt(edge)
	if !tick.IsPositive() {
		return edge
	}
	_, rest := edge.QuoRem(tick, 0)
	if edge = edge.Sub(rest); !down && !rest.IsZero() {
		edge = edge.Add(tick)
	}
	return edge
}

func checkNotional(q *orderCheck) *Denial {
	limit, worth := q.limits.MaxOrderNotional, q.notional(q.Quantity)
	if !limit.exceeded(worth) {
		return nil
	}
	return deny("quantity", worth.String(), limit.String(),
		"quantity %v at up to %v is worth %s; the limit per order is %v.", q.Quantity, q.worst(), money(worth), limit)
}

func checkSymbolExposure(q *orderCheck) *Denial {
	_, after := q.exposure()
	limit, worth := q.limits.MaxSymbolExposure, q.notional(after.Abs())
	if !limit.exceeded(worth) || !q.grows() {
		return nil
	}
	return deny("quantity", worth.String(), limit.String(),
		"Exposure in %v could reach %v, worth %s; the limit per symbol is %v.", q.Symbol, after.Abs(), money(worth), limit)
}

func checkExposure(q *orderCheck) *Denial {
	_, after := q.exposure()
	limit, worth := q.policy.MaxExposure, q.notional(after.Abs()).Add(q.Others)
	if !limit.exceeded(worth) || !q.grows() {
		return nil
	}
	return deny("quantity", worth.String(), limit.String(), "Total exposure could reach %s; the limit is %v.", money(worth), limit)
}

func checkDailyNotional(q *orderCheck) *Denial {
	limit, worth := q.policy.MaxDailyNotional, q.Traded.Add(q.notional(q.Quantity))
	if !limit.exceeded(worth) || q.reduces() {
		return nil
	}
	d := deny("", worth.String(), limit.String(), "The notional traded since midnight UTC could reach %s; the limit per day is %v.", money(worth), limit)
	d.RetryAfter = 24*time.Hour - q.Now.Sub(q.Now.Truncate(24*time.Hour)) // at midnight UTC
	return d
}
