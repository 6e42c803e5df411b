package app

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/longtest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// rat reads a number exactly.
func rat(text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		panic("no number: " + text)
	}
	return r
}

// grid rounds a number to a multiple of a step, down or up.
func grid(x, step *big.Rat, up bool) *big.Rat {
	n := new(big.Rat).Quo(x, step)
	whole := new(big.Int).Quo(n.Num(), n.Denom())
	if up && !n.IsInt() {
		whole.Add(whole, big.NewInt(1))
	}
	return new(big.Rat).Mul(new(big.Rat).SetInt(whole), step)
}

// perCentOf returns so many per cent of a number.
func perCentOf(x, pct *big.Rat) *big.Rat {
	return new(big.Rat).Mul(new(big.Rat).Mul(x, pct), big.NewRat(1, 100))
}

func sum(all ...*big.Rat) *big.Rat {
	total := new(big.Rat)
	for _, x := range all {
		total.Add(total, x)
	}
	return total
}

func less(a, b *big.Rat) bool { return a.Cmp(b) < 0 }

// sizeCall is a call as it was drawn, in plain numbers; "" is not given.
type sizeCall struct {
	last, bid, ask                    string
	side                              string // buy, or sell what is held
	price, stopPrice                  string
	quantity, notional, riskPct, risk string
	stop, target, stopPct, targetPct  string
	all                               bool
	held                              string
	quoting                           string
}

// wanted is what must follow from a call.
type wanted struct {
	quantity, stop, target *big.Rat // stop and target are nil without one
	refused                bool
}

// oracle works a call out by hand: a step of 0.00001, a tick of 0.01, orders of 5 and more, a fee of 0.1 % and 0.5 % slippage,
// 100,000 of equity.
func (c sizeCall) oracle() wanted {
	step, tick := big.NewRat(1, 100_000), big.NewRat(1, 100)
	var w wanted
	from, last := rat(c.last), rat(c.last)
	switch {
	case c.price != "":
		from = rat(c.price)
	case c.stopPrice != "":
		from = rat(c.stopPrice)
	}
	if c.stop != "" {
		w.stop = rat(c.stop)
	}
	if c.target != "" {
		w.target = rat(c.target)
	}
	if c.stopPct != "" { // below what is bought, rounded up
		w.stop = grid(new(big.Rat).Sub(from, perCentOf(from, rat(c.stopPct))), tick, true)
	}
	if c.targetPct != "" { // above it, rounded down
		w.target = grid(sum(from, perCentOf(from, rat(c.targetPct))), tick, false)
	}
	switch {
	case c.all:
		w.quantity = grid(rat(c.held), step, false)
	case c.notional != "":
		w.quantity = grid(new(big.Rat).Quo(rat(c.notional), c.budget(tick)), step, false)
		w.refused = less(w.quantity, c.least(w, last, step))
	case c.riskPct != "" || c.risk != "":
		w.quantity = c.byRisk(w.stop, last, step)
	default:
		w.quantity = rat(c.quantity)
	}
	return w
}

// budget is the price at which money becomes a quantity.
func (c sizeCall) budget(tick *big.Rat) *big.Rat {
	switch {
	case c.price != "":
		return rat(c.price)
	case c.stopPrice != "":
		return rat(c.stopPrice)
	case c.side == "buy" && c.ask != "":
		return rat(c.ask)
	case c.side == "sell" && c.bid != "":
		return rat(c.bid)
	case c.side == "buy":
		return grid(sum(rat(c.last), perCentOf(rat(c.last), rat("0.5"))), tick, true)
	default:
		return rat(c.last)
	}
}

// least is the smallest quantity that is worth 5 at each price of the order.
func (c sizeCall) least(w wanted, last, step *big.Rat) *big.Rat {
	lowest := last
	for _, text := range []string{c.price, c.stopPrice} {
		if text != "" && less(rat(text), lowest) {
			lowest = rat(text)
		}
	}
	if w.stop != nil && less(w.stop, lowest) {
		lowest = w.stop
	}
	return grid(new(big.Rat).Quo(rat("5"), lowest), step, true)
}

// byRisk is the risk divided by what one unit loses at the stop.
func (c sizeCall) byRisk(stop, last, step *big.Rat) *big.Rat {
	money, entry := perCentOf(rat("100000"), rat("0"+c.riskPct)), last
	if c.risk != "" {
		money = rat(c.risk)
	}
	if c.ask != "" {
		entry = rat(c.ask)
	}
	if c.price != "" && less(rat(c.price), entry) {
		entry = rat(c.price) // it rests
	}
	distance := new(big.Rat).Sub(entry, stop)
	if distance.Sign() < 0 {
		distance = new(big.Rat)
	}
	unit := sum(distance, perCentOf(entry, rat("0.1")), perCentOf(stop, rat("0.1")), perCentOf(stop, rat("0.5")))
	quantity := grid(new(big.Rat).Quo(money, unit), step, false)
	if c.quantity != "" && less(rat(c.quantity), quantity) {
		return rat(c.quantity)
	}
	return quantity
}

// drawSize draws a call.
func drawSize(random *rand.Rand, held string) sizeCall {
	number := func(low, high, digits int) string {
		scale := 1
		for range digits {
			scale *= 10
		}
		return decimal.New(int64(low*scale+random.IntN((high-low)*scale)), int32(-digits)).String()
	}
	c := sizeCall{last: number(20_000, 90_000, 2), side: "buy", held: held}
	last := decimal.RequireFromString(c.last)
	near := func(low, high int) string { // so many tenths of a per cent from the last price
		return last.Mul(decimal.New(int64(1000+low+random.IntN(high-low)), -3)).Round(2).String()
	}
	if random.IntN(2) == 0 {
		c.bid, c.ask = near(-2, -1), near(1, 3)
	}
	c.quoting = []string{"", "", `"`}[random.IntN(3)]
	if held != "" && random.IntN(4) == 0 {
		if c.side = "sell"; random.IntN(2) == 0 {
			c.all = true
		} else {
			c.notional = number(20, 100, random.IntN(3))
		}
		return c
	}
	some := func() string { return decimal.New(int64(100+random.IntN(100_000)), -5).String() }
	legs := random.IntN(3) > 0
	switch kind := random.IntN(4); {
	case kind == 0:
		c.price = near(-20, 10)
	case kind == 1 && !legs:
		c.stopPrice = near(5, 30)
	}
	if legs {
		c.protect(random, number, near)
	}
	switch kind := random.IntN(5); {
	case kind == 0:
		c.quantity = some()
	case kind < 3 || c.stop == "" && c.stopPct == "":
		c.notional = number(4, 20_000, random.IntN(3))
		if random.IntN(4) == 0 {
			c.notional = number(1, 8, 2)
		}
	case kind == 3 && held == "":
		c.riskPct = decimal.New(int64(20+random.IntN(280)), -3).String() // 0.02 to 0.3
	default:
		c.risk = number(20, 300, 2)
	}
	if (c.riskPct != "" || c.risk != "") && random.IntN(4) == 0 {
		c.quantity = some()
	}
	return c
}

// protect draws a stop and a target.
func (c *sizeCall) protect(random *rand.Rand, number func(int, int, int) string, near func(int, int) string) {
	switch random.IntN(3) {
	case 0:
		c.stop = near(-120, -40)
	case 1:
		c.stopPct = number(3, 12, random.IntN(4))
	}
	switch random.IntN(3) {
	case 0:
		c.target = near(40, 120)
	case 1:
		c.targetPct = number(1, 12, random.IntN(4))
	}
}

// said are the words that clients use for an argument, each of which means it alone.
func said() map[string][]string {
	return map[string][]string{
		"symbol": {"symbol", "ticker", "pair", "instrument", "Symbol"}, "dry_run": {"dry_run", "dryRun", "test", "preview", "simulate"}, "reduce_only": {"reduce_only", "reduceOnly"},
		"price": {"price", "limit_price", "limitPrice", "entry_price", "entry"}, "stop_price": {"stop_price", "stopPrice"}, "risk_pct": {"risk_pct", "riskPercent", "risk_percentage"},
		"stop_loss": {"stop_loss", "sl", "stopLoss", "stop_loss_price"}, "take_profit": {"take_profit", "tp", "takeProfit", "take_profit_price"},
		"stop_loss_pct": {"stop_loss_pct", "stopLossPct", "sl_pct", "stop_loss_percent"}, "take_profit_pct": {"take_profit_pct", "tp_pct", "take_profit_percentage"},
		"quantity": {"quantity", "qty", "units", "shares"}, "notional": {"notional", "usd", "quoteOrderQty", "quote_quantity", "amount_usd", "cost", "spend"},
	}
}

// oneOf draws one of some words.
func oneOf(random *rand.Rand, all ...string) string { return all[random.IntN(len(all))] }

// kindWord is the type of the order as a client would say it.
func (c sizeCall) kindWord(random *rand.Rand) string {
	switch {
	case c.bracketed() && c.stopPrice == "" && random.IntN(4) == 0:
		return oneOf(random, "bracket", "BRACKET")
	case c.price != "" && c.stopPrice != "":
		return oneOf(random, "limit", "stop_limit", "STOP_LOSS_LIMIT")
	case c.price != "":
		return oneOf(random, "limit", "LIMIT")
	case c.stopPrice != "":
		return oneOf(random, "market", "stop", "STOP_MARKET")
	}
	return oneOf(random, "market", "MARKET")
}

// bracketed reports whether the call has both legs in one form.
func (c sizeCall) bracketed() bool {
	return (c.stop != "" || c.stopPct != "") && (c.target != "" || c.targetPct != "") && (c.stop == "") == (c.target == "")
}

// filled are arguments of a form in which none is 0 or a text without a letter.
func (c sizeCall) filled(random *rand.Rand) (all []string) {
	if c.side == "buy" && random.IntN(4) == 0 {
		all = append(all, `"trail_percent":0`, `"stop_loss_limit":0`)
		for name, value := range map[string]string{"stop_loss": c.stop + c.stopPct, "take_profit": c.target + c.targetPct, "stop_price": c.stopPrice, "price": c.price} {
			if value == "" && random.IntN(2) == 0 {
				all = append(all, `"`+name+`":0`)
			}
		}
	}
	if random.IntN(4) == 0 {
		all = append(all, `"not_after":""`, `"idempotency_key":""`)
	}
	return all
}

// arguments writes the call as a client would.
func (c sizeCall) arguments(random *rand.Rand) string {
	words := said()
	name := func(argument string) string { return oneOf(random, words[argument]...) }
	side := map[string][]string{"buy": {"buy", "BUY", "long"}, "sell": {"sell", "SELL"}}[c.side]
	all := []string{`"` + name("symbol") + `":"BTCUSDT"`, `"` + oneOf(random, "side", "action", "direction") + `":"` + oneOf(random, side...) + `"`, `"` + name("dry_run") + `":true`, `"type":"` + c.kindWord(random) + `"`}
	add := func(argument, value string) {
		if value != "" {
			all = append(all, fmt.Sprintf(`"%s":%s%s%s`, name(argument), c.quoting, value, c.quoting))
		}
	}
	percent := func(argument, plain, value string) { // also "2%" for the price, or for the argument itself
		switch form := random.IntN(4); {
		case value == "" || form > 1:
			add(argument, value)
		case form == 1 && plain != "":
			sign := map[bool]string{true: "-", false: "+"}[argument == "stop_loss_pct"]
			if argument == "risk_pct" || plain != "stop_loss" && plain != "take_profit" || random.IntN(2) == 0 {
				sign = ""
			}
			all = append(all, fmt.Sprintf(`"%s":"%s%s%%"`, plain, sign, value))
		default:
			all = append(all, fmt.Sprintf(`"%s":"%s %%"`, argument, value))
		}
	}
	closing := c.all && random.IntN(3) == 0 // all that is held, without a quantity
	if c.side == "sell" && !closing && (!c.all || random.IntN(2) == 0) {
		all = append(all, `"`+name("reduce_only")+`":true`)
	}
	inQuantity := c.notional != "" && random.IntN(3) == 0 // an amount that says what it is counted in
	if inQuantity {
		all = append(all, fmt.Sprintf(oneOf(random, `"quantity":"$%s"`, `"quantity":%s,"quantity_unit":"USDT"`, `"quantity":%s,"quantity_type":"quote"`, `"quantity":"%s USDT"`, `"qty":"%s usdt"`), c.notional))
	} else {
		add("notional", c.notional)
	}
	leg := func(argument, value string, keys ...string) {
		if value != "" && random.IntN(4) == 0 {
			if form := oneOf(random, append(keys, "")...); form != "" {
				all = append(all, fmt.Sprintf(`"%s":{"%s":%s}`, argument, form, value))
			} else {
				all = append(all, fmt.Sprintf(`"%s":{"type":"price","value":%s}`, argument, value))
			}
			return
		}
		add(argument, value)
	}
	add("price", c.price)
	add("stop_price", c.stopPrice)
	percent("risk_pct", "risk", c.riskPct)
	if c.risk != "" {
		all = append(all, `"risk_amount":`+c.risk)
	}
	if c.stop != "" && c.target != "" && random.IntN(4) == 0 {
		all = append(all, fmt.Sprintf(`"%s":{"%s":%s,"%s":%s}`, oneOf(random, "bracket", "exits"), name("stop_loss"), c.stop, name("take_profit"), c.target))
	} else {
		leg("stop_loss", c.stop, "price", "stop_price")
		leg("take_profit", c.target, "price", "limit_price")
	}
	percent("stop_loss_pct", oneOf(random, words["stop_loss"]...), c.stopPct)
	percent("take_profit_pct", oneOf(random, words["take_profit"]...), c.targetPct)
	if c.bracketed() && random.IntN(3) == 0 {
		all = append(all, `"order_class":"bracket"`)
	}
	switch {
	case closing:
		all = append(all, `"`+oneOf(random, "close_position", "closePosition", "close")+`":true`)
	case c.all:
		all = append(all, `"quantity":"`+oneOf(random, "all", "100%")+`"`)
	case c.quantity != "" && random.IntN(4) == 0:
		all = append(all, `"quantity":"`+c.quantity+oneOf(random, " BTC", "btc")+`"`)
	case c.quantity != "":
		add("quantity", c.quantity)
	case inQuantity:
	case random.IntN(2) == 0:
		all = append(all, `"quantity":0`)
	}
	if random.IntN(4) == 0 {
		all = append(all, `"`+oneOf(random, "reason", "comment", "note", "strategy", "rationale")+`":"why"`)
	}
	all = append(all, c.filled(random)...)
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	object := "{" + strings.Join(all, ",") + "}"
	if random.IntN(8) == 0 {
		return `{"` + oneOf(random, "order", "params", "request") + `":` + object + `}`
	}
	return object
}

// TestOrderSizes_EqualTheOracle makes generated calls and holds that each would place the quantity, the stop and the target
// that follow by hand.
func TestOrderSizes_EqualTheOracle(t *testing.T) {
	t.Parallel()
	calls := longtest.Pick(600, 10_000)
	seed := longtest.Seed()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(openDay()))
		off := guard.Limit{Off: true}
		f := onPaper(func(p *guard.Policy) {
			p.MaxOrderNotional, p.MaxSymbolExposure, p.MaxExposure, p.MaxDailyNotional, p.RestingBandPct = off, off, off, off, off
			p.PriceBandPct, p.MaxStopDistancePct, p.MaxTargetDistancePct, p.MinStopDistancePct, p.MaxDailyLoss = off, off, off, off, off // the price jumps
		})(t)
		random, held, differ, refusals := rand.New(rand.NewPCG(seed, 42)), "", 0, 0
		for n := range calls {
			if n == calls/2 {
				f.place("HELD", `{"quantity":0.12345}`)
				held = "0.12345"
			}
			c := drawSize(random, held)
			quote := order.Quote{Last: decimal.RequireFromString(c.last)}
			if c.ask != "" {
				quote.Bid, quote.Ask = decimal.RequireFromString(c.bid), decimal.RequireFromString(c.ask)
			}
			f.market.Set(market.Symbol{Venue: "binance", Name: "BTCUSDT"}, quote)
			arguments := c.arguments(random)
			if why := c.oracle().differs(f, arguments); why != "" {
				if differ++; differ < 10 {
					t.Errorf("seed %d, call %d at %s (%s, %s), %s held: %s: %s", seed, n, c.last, c.bid, c.ask, held, arguments, why)
				}
			}
			if c.oracle().refused {
				refusals++
			}
		}
		t.Logf("%d calls, of which %d are too small: %d differ", calls, refusals, differ)
	})
}

// differs makes a call and returns how its answer differs, "" if it does not.
func (w wanted) differs(f *floor, arguments string) string {
	text, isError := f.call("place_order", arguments)
	if isError || w.refused {
		if isError && w.refused && strings.Contains(text, "too small") {
			return ""
		}
		return fmt.Sprintf("refused: %v, answered %s", w.refused, text)
	}
	var got struct {
		Quantity json.Number
		Stop     string `json:"stop_loss"`
		Target   string `json:"take_profit"`
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		return err.Error()
	}
	for name, pair := range map[string]struct {
		got  string
		want *big.Rat
	}{"quantity": {got.Quantity.String(), w.quantity}, "stop_loss": {got.Stop, w.stop}, "take_profit": {got.Target, w.target}} {
		if pair.want == nil && pair.got != "" || pair.want != nil && (pair.got == "" || rat(pair.got).Cmp(pair.want) != 0) {
			return fmt.Sprintf("%s is %s, want %v", name, pair.got, pair.want)
		}
	}
	return ""
}
