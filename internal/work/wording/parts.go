package wording

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"candela/internal/kit/strictjson"
)

// parts joins indicators that a call has under several names, such as overlays and oscillators.
func (c *call) parts() error {
	var names []string
	var all []json.RawMessage
	for _, f := range c.fields {
		if !slices.Contains([]string{"indicators", "overlays", "oscillators", "panels", "subplots", "panes", "studies"}, f.name) {
			continue
		}
		switch text, isText := strictjson.Text(f.raw); {
		case f.raw[0] == '[':
			all = slices.AppendSeq(all, strictjson.Items(f.raw))
		case isText && !strings.ContainsAny(text, "[{,"):
			all = append(all, f.raw)
		default:
			return nil
		}
		names = append(names, f.name)
	}
	if len(names) < 2 {
		return nil
	}
	for _, name := range names {
		c.drop(name, "")
	}
	c.fields = append(c.fields, field{"indicators", array(all)})
	c.understood = append(c.understood, strings.Join(names, " and ")+" are indicators")
	return nil
}

// pineText reads a script in an argument of its own as one of the indicators.
func (c *call) pineText() error {
	for _, f := range slices.Clone(c.fields) {
		text, isText := strictjson.Text(f.raw)
		if !slices.Contains([]string{"pine", "pinescript", "script", "code", "source", "pinecode"}, Joined(f.name)) || c.known(f.name) || !isText || !strings.Contains(text, "(") {
			continue
		}
		one := json.RawMessage(`{"name":"pine","source":` + quote(text) + `}`)
		list := c.get("indicators")
		if list != nil && list[0] != '[' {
			return nil
		}
		c.drop(f.name, echo(f.name)+` is the indicator {"name":"pine","source":..}`)
		if list == nil {
			c.fields = append(c.fields, field{"indicators", array([]json.RawMessage{one})})
		} else {
			c.put("indicators", array(append(slices.Collect(strictjson.Items(list)), one)))
		}
	}
	return nil
}

// namedIndicator reads an indicator whose name, and parameters, are arguments, and parameters beside a list of one.
func (c *call) namedIndicator() error {
	if raw := c.get("name"); raw != nil && raw[0] == '"' && !c.known("name") && !c.has("indicators") && !c.has("indicator") {
		if err := c.rename("name", "indicators"); err != nil {
			return err
		}
	}
	for _, at := range []string{"indicators", "indicator"} {
		list := c.get(at)
		if list == nil {
			continue
		}
		name, isText := strictjson.Text(list)
		if list[0] == '[' {
			if all := slices.Collect(strictjson.Items(list)); len(all) == 1 {
				name, isText = strictjson.Text(all[0])
			}
		}
		for _, from := range []string{"params", "parameters", "settings"} {
			inner := c.get(from)
			if inner == nil || inner[0] != '{' || !isText || c.known(from) || strings.ContainsAny(name, ",[{") {
				continue
			}
			one := slices.Concat(json.RawMessage(`[{"name":`+quote(name)), comma(inner), inner[1:], json.RawMessage("]"))
			c.drop(from, echo(from)+" belong to "+echo(name))
			c.put(at, one)
		}
	}
	return nil
}

// points reads the ends of a drawing that are objects or a list: {"start":{"time":..,"price":..},"end":{..}} and "points":[{..},{..}].
func (c *call) points() {
	var ends []json.RawMessage
	var from []string
	for _, name := range []string{"points", "coordinates", "coords", "anchors"} {
		if raw := c.get(name); raw != nil && raw[0] == '[' {
			ends, from = slices.Collect(strictjson.Items(raw)), []string{name}
		}
	}
	for _, pair := range [][2]string{{"start", "end"}, {"from", "to"}, {"point1", "point2"}, {"p1", "p2"}, {"a", "b"}} {
		if c.has(pair[0], pair[1]) && c.get(pair[0])[0] == '{' && c.get(pair[1])[0] == '{' {
			ends, from = []json.RawMessage{c.get(pair[0]), c.get(pair[1])}, pair[:]
		}
	}
	if len(ends) != 2 {
		return
	}
	var made []field
	for i, end := range ends {
		if end[0] != '{' {
			return
		}
		o := read(end)
		o.names = []string{"time", "price"}
		if o.renames(words{"x": "time", "t": "time", "date": "time", "timestamp": "time", "y": "price", "value": "price", "level": "price", "p": "price"}) != nil || len(o.fields) != 2 || !o.has("time", "price") {
			return
		}
		suffix := []string{"", "2"}[i]
		if c.has("time"+suffix) || c.has("price"+suffix) {
			return
		}
		made = append(made, field{"time" + suffix, o.get("time")}, field{"price" + suffix, o.get("price")})
	}
	for _, name := range from {
		c.drop(name, "")
	}
	c.fields = append(c.fields, made...)
	c.understood = append(c.understood, strings.Join(from, " and ")+" are time, price, time2 and price2")
}

// maxSteps bounds the values that a range of a sweep stands for.
const maxSteps = 100

// ranges reads {"from":5,"to":20,"step":5} in a sweep as the list of its values.
func (c *call) ranges() error {
	raw := c.get("sweep")
	if raw == nil || raw[0] != '{' {
		return nil
	}
	o := read(raw)
	for _, f := range o.fields {
		list := steps(f.raw)
		if list == "" {
			continue
		}
		o.put(f.name, json.RawMessage(list))
		o.understood = append(o.understood, "sweep "+echo(f.name)+" "+echo(string(f.raw))+" is "+echo(list))
	}
	c.replace("sweep", o.object(), o.understood)
	return nil
}

// steps returns the values of a range as a list, "" for no range.
func steps(raw json.RawMessage) string {
	if raw[0] != '{' {
		return ""
	}
	o := read(raw)
	o.names = []string{"from", "to", "step"}
	if o.renames(words{"start": "from", "min": "from", "low": "from", "end": "to", "stop": "to", "max": "to", "high": "to", "increment": "step", "by": "step", "interval": "step"}) != nil || len(o.fields) != 3 || !o.has("from", "to", "step") {
		return ""
	}
	var at [3]decimal.Decimal
	for i, name := range o.names {
		number, ok := Number(strings.Trim(string(o.get(name)), `"`))
		if !ok {
			return ""
		}
		at[i] = number
	}
	if !at[2].IsPositive() || at[1].LessThan(at[0]) || at[1].Sub(at[0]).Div(at[2]).GreaterThanOrEqual(decimal.NewFromInt(maxSteps)) {
		return ""
	}
	var list []json.RawMessage
	for value := at[0]; value.LessThanOrEqual(at[1]); value = value.Add(at[2]) {
		list = append(list, json.RawMessage(value.String()))
	}
	return string(array(list))
}

// listed reads {"name":"sma","params":[50]} as the length of the indicator.
func (r *reader) listed(o *call) {
	for _, name := range []string{"params", "parameters", "args", "inputs", "settings"} {
		raw := o.get(name)
		if raw == nil || raw[0] != '[' || o.has("length") {
			continue
		}
		if all := slices.Collect(strictjson.Items(raw)); len(all) == 1 {
			if _, ok := plainNumber(string(all[0])); ok && o.move(name, "length") == nil {
				o.put("length", all[0])
				r.say(name + " " + echo(string(raw)) + " is length")
			}
		}
	}
}

// reasons reads the names of exits that place_order has.
func (c *call) reasons() error {
	if to, ok := map[string]string{"stoploss": "stop", "sl": "stop", "takeprofit": "target", "tp": "target", "trailingstop": "stop"}[Joined(c.text("reason"))]; ok {
		c.set("reason", quote(to), "reason "+c.text("reason")+" is "+to)
	}
	return nil
}

// storedScript reads the name of a script in the place of its text.
func (c *call) storedScript() error {
	text, ok := strictjson.Text(c.get("script"))
	if !c.has("script") || !ok || c.has("script_name") || text == "" || len(text) > 48 || strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return nil
	}
	return c.rename("script", "script_name")
}
