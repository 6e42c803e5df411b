package wording

import (
	"slices"
	"strings"
	"sync"

	"candela/internal/kit/strictjson"
	"candela/lib/fault"
)

// orderDialect is that of place_order.
func orderDialect() dialect {
	return dialect{words: orderWords(), first: []func(*call) error{(*call).goodTillDate, (*call).spotWords, (*call).bracketObject, (*call).trailObject, (*call).entryPrice, (*call).closeFlag}, refused: ambiguous, then: []func(*call) error{
		(*call).dollarWords, (*call).zeros, (*call).unit, (*call).legObjects, (*call).amounts, (*call).percents, (*call).numbers, (*call).orderPrices, (*call).class, (*call).breakEven, (*call).groupKinds, (*call).kind, (*call).side, (*call).closingSide, (*call).claims,
	}}
}

// dollarWords takes words for dollars where the price counts as dollars.
func (c *call) dollarWords() error {
	if !c.dollars() {
		return nil
	}
	return c.renames(words{
		"usd": "notional", "usdamount": "notional", "dollars": "notional", "amountusd": "notional", "dollaramount": "notional", "amountinusd": "notional", "usdvalue": "notional", "valueusd": "notional", "sizeusd": "notional",
		"positionsizeusd": "notional", "notionalusd": "notional", "usdnotional": "notional", "quantityusd": "notional", "qtyusd": "notional", "usdsize": "notional", "spend": "notional", "cost": "notional", "spendusd": "notional",
		"riskusd": "risk_amount", "riskdollars": "risk_amount", "usdrisk": "risk_amount",
	})
}

// numbers reads numbers in quotes.
func (c *call) numbers() error {
	for _, name := range orderNumbers() {
		c.unquote(name)
	}
	return nil
}

// orderNumbers are the arguments of place_order that are numbers.
func orderNumbers() []string {
	return []string{
		"quantity", "price", "stop_price", "stop_loss", "stop_loss_limit", "take_profit", "trail_percent",
		"stop_loss_pct", "take_profit_pct", "notional", "risk_pct", "risk_amount",
	}
}

// orderWords maps names that models and venues use, without case and separators, to those of place_order.
//
//nolint:gochecknoglobals // built once, never written
var orderWords = sync.OnceValue(func() words {
	return words{
		"qty": "quantity", "units": "quantity", "shares": "quantity",
		"quotequantity": "notional", "quoteorderqty": "notional", "quoteamount": "notional",
		"limitprice": "price", "sl": "stop_loss", "tp": "take_profit", "stoplossprice": "stop_loss", "takeprofitprice": "take_profit",
		"slpct": "stop_loss_pct", "stoplosspercent": "stop_loss_pct", "stoppct": "stop_loss_pct", "stoplosspercentage": "stop_loss_pct",
		"tppct": "take_profit_pct", "takeprofitpercent": "take_profit_pct", "takeprofitpercentage": "take_profit_pct",
		"trailpct": "trail_percent", "trailingpercent": "trail_percent", "trailingpct": "trail_percent", "trailpercentage": "trail_percent", "trailingstoppct": "trail_percent", "trailingstoppercent": "trail_percent", "trailingstoppercentage": "trail_percent", "callbackrate": "trail_percent",
		"riskpercent": "risk_pct", "riskpercentage": "risk_pct",
		"clientorderid": "idempotency_key", "newclientorderid": "idempotency_key",
		"tif": "time_in_force", "expiretime": "not_after", "reason": "note", "comment": "note", "test": "dry_run", "preview": "dry_run", "simulate": "dry_run", "validateonly": "dry_run", "validate": "dry_run",
		"ordertype": "type", "action": "side", "direction": "side", "strategy": "note", "rationale": "note", "thesis": "note", "justification": "note", "explanation": "note", "memo": "note", "tag": "note", "label": "note", "message": "note", "description": "note",
	}
})

// refuse returns the error of a word that can mean several things, or that candela does not have.
func (c *call) refuse(refused func(string) (advice, bool)) error {
	for _, f := range c.fields {
		if c.known(f.name) {
			continue
		}
		word := Joined(f.name)
		advice, found := refused(word)
		if _, isPercent := percentText(f.raw); !found || isPercent && word == "risk" {
			continue
		}
		name := fault.Truncate(f.name, maxEcho)
		return &fault.Error{
			Kind: fault.Invalid, Code: "unknown_argument", Field: name, Value: shown(f.raw), Allowed: strings.Join(advice.use, ", "), Suggestions: advice.use,
			Message: "unknown argument " + string(strictjson.AppendString(nil, name)) + " with " + shown(f.raw) + ": " + advice.text,
		}
	}
	return nil
}

type advice struct {
	text string
	use  []string
}

// restsOn says when an order ends.
const restsOn = "an order rests until it is filled, or cancel_order ends it; time_in_force day ends it with the day where the venue has that, and not_after only keeps candela from sending it later."

// goodTillDate says what to send in place of an order that ends at a time.
func (c *call) goodTillDate() error {
	for _, f := range c.fields {
		word := c.text(f.name)
		if name := Joined(f.name); name != "timeinforce" && name != "tif" || Joined(word) != "gtd" && Joined(word) != "goodtilldate" {
			continue
		}
		e := fault.Field("time_in_force", word, "gtc, day, ioc, fok", "gtc")
		e.Message = "time_in_force: " + restsOn + " Use gtc in place of " + word
		for _, other := range c.fields {
			if advice, found := ambiguous(Joined(other.name)); found && strings.HasPrefix(advice.text, restsOn) {
				e.Message += ", and omit " + echo(other.name)
			}
		}
		e.Message += "."
		return e
	}
	return nil
}

// ambiguous returns what to say about a word of place_order that is not taken.
func ambiguous(word string) (advice, bool) {
	switch word {
	case "amount", "size", "volume", "value":
		return advice{"coins or money? Use quantity for coins or shares, or notional for an amount of money in the currency of the price.", []string{"quantity", "notional"}}, true
	case "percentofbalance", "percentofequity", "balancepct", "allocation", "positionpct":
		return advice{"use notional for an amount of money, or risk_pct with a stop; get_account shows the cash.", []string{"notional", "risk_pct"}}, true
	case "percent", "pct", "percentage", "quantitypct", "quantitypercent", "closepercent", "closepct", "percentofposition":
		return advice{`quantity is a number of coins or shares: get_positions has what is held, and "all" with reduce_only closes it.`, []string{"quantity"}}, true
	case "expiresin", "goodtill", "goodtilldate", "goodtildate", "gtd", "expiry", "expires", "expiration", "expiresat", "validuntil", "validfor", "expireat", "expireson", "expirydate", "expirytime", "expirationdate", "expirationtime", "expireafter", "expiresafter", "cancelafter", "cancelat", "cancelon", "autocancel", "gooduntil", "goodfor":
		return advice{restsOn + " Omit it.", []string{"time_in_force", "not_after"}}, true
	case "takeprofits", "targets", "takeprofitlevels", "tps", "takeprofit1", "takeprofit2", "tp1", "tp2":
		return advice{"an order has one take_profit: for two targets place two orders, each with its quantity.", []string{"take_profit"}}, true
	case "slippage", "maxslippage", "slippagetolerance", "slippagepct":
		return advice{"type limit with price is the worst price that is taken; omit it with type market.", []string{"price"}}, true
	case "trailingamount", "trailamount", "traildistance", "trailingdistance", "trailingoffset", "trailoffset":
		return advice{"trail_percent is the distance of a trail, in per cent.", []string{"trail_percent"}}, true
	case "entry", "entryprice":
		return advice{"price is that of a limit order; a market order has none.", []string{"price"}}, true
	case "stop":
		return advice{"stop_loss protects the position; stop_price delays the order until the price gets there.", []string{"stop_loss", "stop_price"}}, true
	case "leverage":
		return advice{"the owner sets the leverage of perpetual futures, no call does. notional is what an order is worth; omit leverage.", []string{"notional"}}, true
	case "account", "mode", "environment", "paper", "live", "network":
		return advice{"the owner chooses paper or live when candela starts; omit it. The answer has the mode.", nil}, true
	case "risk", "maxloss", "maxrisk", "riskvalue", "riskperc":
		return advice{"risk_pct is the loss at stop_loss in per cent of the equity, risk_amount the same in money; they decide the quantity.", []string{"risk_pct", "risk_amount"}}, true
	}
	return advice{}, false
}

// dollars reports whether the price of the symbol counts as dollars.
func (c *call) dollars() bool {
	name := strings.ToUpper(c.text("symbol"))
	return slices.ContainsFunc([]string{"USD", "USDT", "USDC", "FDUSD"}, func(currency string) bool { return strings.HasSuffix(name, currency) })
}

// percents reads "2%" of a stop, a target or a risk.
func (c *call) percents() error {
	for _, name := range []string{"stop_loss", "take_profit", "risk", "stop_loss_pct", "take_profit_pct", "risk_pct", "trail_percent"} {
		raw := c.get(name)
		if raw == nil {
			continue
		}
		number, ok := percentText(c.signed(name, raw))
		to := map[string]string{"stop_loss": "stop_loss_pct", "take_profit": "take_profit_pct", "risk": "risk_pct"}[name]
		switch {
		case !ok:
		case to == "":
			c.set(name, number, name+` "`+shown(raw)+`" is `+number)
		case !c.has(to) || name == "risk": // stop_loss and take_profit are arguments of their own
			c.set(name, number, name+` "`+shown(raw)+`" is `+to+" "+number)
			if err := c.move(name, to); err != nil {
				return err
			}
		}
	}
	return nil
}

// unquote reads a plain decimal in quotes.
func (c *call) unquote(name string) {
	raw := c.get(name)
	if raw == nil {
		return
	}
	text, _ := strictjson.Text(raw)
	if number, ok := plainNumber(text); ok {
		c.set(name, number, name+` "`+text+`" is `+number)
	}
}

// class drops the name of a group whose orders the call names anyway.
func (c *call) class() error {
	at := slices.IndexFunc(c.fields, func(f field) bool { return Joined(f.name) == "orderclass" })
	if at < 0 {
		return nil
	}
	name := c.fields[at].name
	both := c.has("stop_loss", "take_profit") || c.has("stop_loss_pct", "take_profit_pct")
	switch word := c.text(name); {
	case word == "simple", word == "bracket" && both, word == "oco" && both && string(c.get("reduce_only")) == "true":
		c.drop(name, fault.Truncate(name, maxEcho)+" "+word+" follows from the other arguments")
	}
	return nil
}

// kind reads types that venues have beside market and limit.
func (c *call) kind() error {
	is := func(plain string) {
		c.set("type", `"`+plain+`"`, "type "+fault.Truncate(c.text("type"), maxEcho)+" is "+plain)
	}
	switch Joined(c.text("type")) {
	case "stop", "stopmarket", "stoploss":
		switch {
		case c.has("stop_price") && !c.has("price"):
			is("market")
		case c.has("price") && !c.has("stop_price"):
			return fault.Field("price", shown(c.get("price")), "stop_price in its place: a stop is type market with stop_price; price alone would be a limit order", "stop_price")
		}
	case "stoplimit", "stoplosslimit":
		if c.has("stop_price", "price") {
			is("limit")
		}
	case "trailingstop", "trailingstopmarket":
		if c.has("trail_percent") {
			is("market")
		}
	}
	return nil
}

// side reads long, and says what short means.
func (c *call) side() error {
	switch c.text("side") {
	case "long":
		c.set("side", `"buy"`, "side long is buy")
	case "short":
		return fault.Field("side", "short", "buy, sell: selling what is not held needs allow_short of the owner; to close a position use sell with reduce_only", "sell")
	}
	return nil
}
