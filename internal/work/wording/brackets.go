package wording

import (
	"encoding/json"
	"slices"
	"strings"

	"candela/internal/kit/strictjson"
	"candela/lib/fault"
)

// bracketObject reads the legs of an order in an object of their own, such as "bracket":{"stop_loss":49000,"take_profit":54000}.
func (c *call) bracketObject() error {
	for _, f := range slices.Clone(c.fields) {
		if !slices.Contains([]string{"bracket", "oco", "exits", "protection", "protect"}, Joined(f.name)) || c.known(f.name) || f.raw[0] != '{' {
			continue
		}
		o := read(f.raw)
		o.names = []string{"stop_loss", "take_profit", "trail_percent", "stop_loss_pct", "take_profit_pct", "stop_loss_limit"}
		if err := o.renames(orderWords()); err != nil {
			return err
		}
		if len(o.fields) == 0 || slices.ContainsFunc(o.fields, func(leg field) bool { return !o.known(leg.name) || c.has(leg.name) }) {
			continue
		}
		c.drop(f.name, echo(f.name)+" are legs of the order")
		c.fields = append(c.fields, o.fields...)
		c.understood = append(c.understood, o.understood...)
	}
	return nil
}

// trailObject reads "trailing_stop":{"percent":2} and "trailing_stop":"2%".
func (c *call) trailObject() error {
	for _, f := range slices.Clone(c.fields) {
		if !slices.Contains([]string{"trailingstop", "trail", "trailing", "trailingstoploss", "trailstop"}, Joined(f.name)) || c.known(f.name) || c.has("trail_percent") {
			continue
		}
		number, ok := percentText(f.raw)
		if f.raw[0] == '{' {
			if o := read(f.raw); len(o.fields) == 1 && slices.Contains([]string{"percent", "pct", "percentage", "trailpercent", "trailpct", "callbackrate"}, Joined(o.fields[0].name)) {
				number, ok = plainNumber(strings.Trim(string(o.fields[0].raw), `"%`))
			}
		}
		if ok {
			c.set(f.name, number, echo(f.name)+" "+shown(f.raw)+" is trail_percent "+number)
			return c.move(f.name, "trail_percent")
		}
	}
	return nil
}

// entryPrice reads the price of an entry that waits for it.
func (c *call) entryPrice() error {
	kind := Joined(c.text("type") + c.text("order_type"))
	for _, f := range slices.Clone(c.fields) {
		if word := Joined(f.name); (word == "entry" || word == "entryprice" || word == "entrylimit") && !c.has("price") && slices.Contains([]string{"limit", "limitmaker", "bracket", "stoplimit", "stoplosslimit"}, kind) {
			return c.rename(f.name, "price")
		}
	}
	return nil
}

// groupKinds reads types that name a group of orders: the legs say what it is.
func (c *call) groupKinds() error {
	kind := Joined(c.text("type"))
	leg := func(name string) bool { return c.has(name) || c.has(name+"_pct") }
	both, closes := leg("stop_loss") && leg("take_profit"), string(c.get("reduce_only")) == "true"
	switch {
	case kind == "bracket" && both && !closes && c.has("price"):
		c.set("type", `"limit"`, "type bracket with price is limit")
	case kind == "bracket" && both && !closes, kind == "oco" && both && closes && !c.has("price"):
		c.set("type", `"market"`, "type "+kind+" is market")
	case kind == "oco" && both && c.text("side") == "sell" && !c.has("reduce_only") && !c.has("price"):
		return c.readyOrder("type", `a target and a stop of a position need "reduce_only":true and type market`, field{"type", json.RawMessage(`"market"`)}, field{"reduce_only", json.RawMessage("true")})
	case kind == "limitmaker" && string(c.get("post_only")) != "false":
		c.set("type", `"limit"`, "type limit_maker is limit with post_only")
		c.drop("post_only", "")
		c.fields = append(c.fields, field{"post_only", json.RawMessage("true")})
	case (kind == "takeprofit" || kind == "takeprofitmarket" || kind == "takeprofitlimit") && closes && !c.has("take_profit"):
		return c.readyTarget()
	}
	return nil
}

// readyTarget says how a position gets a target.
func (c *call) readyTarget() error {
	price := c.get("price")
	if price == nil {
		price = c.get("stop_price")
	}
	if _, ok := plainNumber(strings.Trim(string(price), `"`)); price == nil || !ok {
		return nil
	}
	c.drop("price", "")
	c.drop("stop_price", "")
	return c.readyOrder("type", "take_profit closes a position at a profit: with an entry, or with reduce_only for a position you have", field{"type", json.RawMessage(`"market"`)}, field{"take_profit", price})
}

// readyOrder refuses an argument of an order and says the call as it would be right.
func (c *call) readyOrder(name, why string, right ...field) error {
	given := shown(c.get(name))
	for _, f := range right {
		c.drop(f.name, "")
	}
	c.fields = append(c.fields, right...)
	ready := string(c.object())
	if len(ready) > 400 {
		ready = string((&call{fields: right}).object()) + " beside the other arguments"
	}
	e := fault.Field(name, given, "market, limit", ready)
	e.Message = name + ": " + why + ". Send " + ready + "."
	return e
}

// closeFlag reads "close_position":true of a sale as all that is held, and drops one that is false.
func (c *call) closeFlag() error {
	for _, f := range slices.Clone(c.fields) {
		if word := Joined(f.name); c.known(f.name) || !slices.Contains([]string{"closeposition", "closeall", "close"}, word) {
			continue
		}
		switch string(f.raw) {
		case "false":
			c.drop(f.name, echo(f.name)+" false is how orders are")
		case "true":
			if size := strings.Trim(string(c.get("quantity")), `"`); c.isSale() && (size == "" || size == "0") && string(c.get("reduce_only")) != "false" {
				c.drop("quantity", "")
				c.drop("reduce_only", "")
				c.drop(f.name, echo(f.name)+` of a sale is quantity "all" with reduce_only`)
				c.fields = append(c.fields, field{"quantity", json.RawMessage(`"all"`)}, field{"reduce_only", json.RawMessage("true")})
			}
		}
	}
	return nil
}

// isSale reports whether the call is a sale at the market whose size is the only question.
func (c *call) isSale() bool {
	alone := !slices.ContainsFunc(slices.DeleteFunc(orderNumbers(), func(name string) bool { return name == "quantity" }), func(name string) bool { return c.has(name) })
	sells := slices.ContainsFunc([]string{"side", "action", "direction"}, func(name string) bool { return c.text(name) == "sell" })
	return alone && sells && (c.text("type") == "market" || c.text("order_type") == "market") && !c.has("replaces")
}

// sellsAll adds reduce_only to a sale of all that is held: it can only close.
func (c *call) sellsAll() {
	size := strings.TrimSpace(c.text("quantity"))
	if !c.isSale() || c.has("reduce_only") || !slices.Contains([]string{"all", "100%", "everything"}, size) {
		return
	}
	c.fields = append(c.fields, field{"reduce_only", json.RawMessage("true")})
	c.understood = append(c.understood, "a sale of "+echo(size)+" that is held is reduce_only")
}

// breakEven says where the price is at which a position breaks even.
func (c *call) breakEven() error {
	for _, name := range []string{"stop_loss", "stop_price"} {
		word, isText := strictjson.Text(c.get(name))
		if c.has(name) && isText && slices.Contains([]string{"breakeven", "entry", "entryprice", "be"}, Joined(word)) {
			e := fault.Field(name, word, "the entry_price of get_positions, as a number")
			e.Message = name + ": get_positions has the entry_price of the position; send that number."
			return e
		}
	}
	return nil
}
