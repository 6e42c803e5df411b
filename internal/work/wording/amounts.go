package wording

import (
	"encoding/json"
	"slices"
	"strings"

	"candela/internal/kit/strictjson"
	"candela/lib/fault"
	"candela/lib/pattern"
)

// withUnit matches an amount with what it is counted in, such as "500 USDT" and "0.01 BTC".
var withUnit = pattern.Of(`^(\d+(?:\.\d+)?) ?([A-Za-z]{2,8})$`)

// amounts reads a quantity that says what it is counted in, and all of what is held.
func (c *call) amounts() error {
	c.sellsAll()
	raw := c.get("quantity")
	text, isText := strictjson.Text(raw)
	if raw == nil || !isText {
		return nil
	}
	text = strings.TrimSpace(text)
	if dollars, ok := strings.CutPrefix(text, "$"); ok && c.dollars() && !c.has("notional") {
		if number, ok := plainNumber(strings.TrimSpace(dollars)); ok {
			c.set("quantity", number, "quantity "+quote(text)+" is notional "+number)
			return c.move("quantity", "notional")
		}
	}
	if match := withUnit().FindStringSubmatch(text); match != nil {
		base, quoted := c.legs(strings.ToUpper(match[2]))
		number, ok := plainNumber(match[1])
		switch {
		case !ok || base == quoted:
		case base:
			c.set("quantity", number, "quantity "+quote(text)+" is "+number)
		case !c.has("notional"):
			c.set("quantity", number, "quantity "+quote(text)+" is notional "+number)
			return c.move("quantity", "notional")
		}
		return nil
	}
	closes := string(c.get("reduce_only")) == "true"
	switch word := strings.ToLower(text); {
	case (word == "100%" || word == "max" || word == "full" || word == "everything" || word == "entire") && closes:
		c.set("quantity", `"all"`, "quantity "+word+` is "all"`)
	case word == "max" || word == "half" || word == "quarter" || strings.HasSuffix(word, "%"):
		e := fault.Field("quantity", shown(raw), `a number, or "all" with "reduce_only":true`, `"all"`)
		e.Message = "quantity: " + quote(echo(text)) + ` is no quantity. Use a number (get_positions has what is held), notional for an amount of money, or "quantity":"all" with "reduce_only":true.`
		return e
	}
	return nil
}

// legs reports whether a currency or coin is what the symbol trades, or what it is priced in.
func (c *call) legs(unit string) (base, quoted bool) {
	name := strings.ToUpper(c.text("symbol"))
	if at := strings.LastIndexByte(name, ':'); at >= 0 {
		name = name[at+1:]
	}
	if left, right, ok := strings.Cut(strings.NewReplacer("-", "/", "_", "/").Replace(name), "/"); ok {
		return left == unit, right == unit
	}
	currencies := []string{"USD", "USDT", "USDC", "FDUSD", "EUR", "GBP", "TRY", "BRL", "BTC", "ETH", "BNB"}
	if rest, ok := strings.CutPrefix(name, unit); ok && slices.Contains(currencies, rest) {
		base = true
	}
	if rest, ok := strings.CutSuffix(name, unit); ok && rest != "" && slices.Contains(currencies, unit) {
		// Of BTCUSDT neither USD nor BTCUS is a leg: the longest currency at the end is.
		quoted = !slices.ContainsFunc(currencies, func(other string) bool {
			return len(other) > len(unit) && strings.HasSuffix(name, other)
		})
	}
	return base, quoted
}

// legObjects reads a stop or a target in an object of its own.
func (c *call) legObjects() error {
	for _, name := range []string{"stop_loss", "take_profit"} {
		raw := c.get(name)
		if raw == nil || raw[0] != '{' {
			continue
		}
		o := read(raw)
		words := []string{"price", "stop_price", "trigger_price", "stopprice", "triggerprice"}
		if name == "take_profit" {
			words = []string{"price", "limit_price", "limitprice"}
		}
		percents := []string{"pct", "percent", "percentage"}
		if o = typedLeg(o); len(o.fields) != 1 {
			continue
		}
		at, value := strings.ToLower(o.fields[0].name), o.fields[0].raw
		switch {
		case slices.Contains(words, at):
			c.set(name, string(value), name+"."+at+" is "+name)
		case slices.Contains(percents, at) && !c.has(name+"_pct"):
			c.set(name, string(value), name+"."+at+" is "+name+"_pct")
			if err := c.move(name, name+"_pct"); err != nil {
				return err
			}
		}
	}
	return nil
}

// orderPrices reads names of prices whose meaning follows from the type.
func (c *call) orderPrices() error {
	kind := Joined(c.text("type"))
	if strings.HasPrefix(kind, "stop") && kind != "stoploss" || kind == "stoploss" && !c.has("price") {
		for _, f := range slices.Clone(c.fields) {
			if word := Joined(f.name); word == "triggerprice" || word == "trigger" || word == "activationprice" {
				if err := c.rename(f.name, "stop_price"); err != nil {
					return err
				}
			}
		}
	}
	if limit := c.get("limit"); limit != nil && (kind == "limit" || kind == "stoplimit" || kind == "stoplosslimit") && !c.has("price") {
		return c.rename("limit", "price")
	}
	return nil
}

// spotWords drops what says that the order is for the spot market without leverage, as all are.
func (c *call) spotWords() error {
	if string(c.get("leverage")) == "1" {
		c.drop("leverage", "leverage 1 is what there is")
	}
	for _, name := range []string{"market", "market_type", "asset_type", "asset_class", "position_side"} {
		if word := c.text(name); word == "spot" || word == "long" && name == "position_side" && (c.text("side") == "buy" || c.text("side") == "long") {
			c.drop(name, name+" "+word+" is what there is")
		}
	}
	return nil
}

// closingSide says how to close a position.
func (c *call) closingSide() error {
	word := c.text("side")
	if word != "close" && word != "exit" && word != "flat" {
		return nil
	}
	symbol := c.get("symbol")
	if symbol == nil || len(symbol) > maxEcho {
		symbol = json.RawMessage(`"BTCUSDT"`)
	}
	ready := `{"symbol":` + string(symbol) + `,"side":"sell","type":"market","quantity":"all","reduce_only":true}`
	e := fault.Field("side", word, "buy, sell", ready)
	e.Message = "side: to close a position send " + ready + "."
	return e
}

// typedLeg returns {"type":"percent","value":2} of a leg as {"percent":2}, and other objects as they are.
func typedLeg(o *call) *call {
	word := Joined(o.text("type"))
	if len(o.fields) != 2 || !o.has("type", "value") || word != "percent" && word != "pct" && word != "percentage" && word != "price" {
		return o
	}
	return &call{fields: []field{{word, o.get("value")}}}
}

// signed returns a percentage of a purchase without the sign that says on which side of the entry it is: "-2%" of a stop and "+4%" of
// a target.
func (c *call) signed(name string, raw json.RawMessage) json.RawMessage {
	text, isText := strictjson.Text(raw)
	sign := map[string]string{"stop_loss": "-", "stop_loss_pct": "-", "take_profit": "+", "take_profit_pct": "+"}[name]
	if rest, ok := strings.CutPrefix(strings.TrimSpace(text), sign); isText && ok && sign != "" && (c.text("side") == "buy" || c.text("side") == "long") {
		return json.RawMessage(quote(rest))
	}
	return raw
}

// unit reads what a quantity is counted in from an argument of its own.
func (c *call) unit() error {
	for _, name := range []string{"quantity_unit", "quantity_type", "quantityUnit", "quantityType", "qty_type", "unit", "size_type", "quantity_currency"} {
		word := c.text(name)
		if !c.has(name) || c.known(name) || word == "" {
			continue
		}
		number, ok := plainNumber(strings.Trim(string(c.get("quantity")), `"`))
		base, quoted := c.legs(strings.ToUpper(word))
		switch {
		case slices.Contains([]string{"base", "units", "coins", "shares", "base_asset", "coin"}, word) || base && !quoted:
			c.drop(name, name+" "+echo(word)+" is what a quantity is")
		case ok && (word == "quote" || word == "quote_asset" || quoted && !base || word == "usd" && c.dollars()) && !c.has("notional") && number != "0":
			c.drop(name, "")
			c.set("quantity", number, "quantity "+number+" in "+echo(word)+" is notional")
			return c.move("quantity", "notional")
		}
	}
	return nil
}
