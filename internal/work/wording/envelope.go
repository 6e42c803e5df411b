package wording

import (
	"encoding/json"
	"slices"
	"strings"

	"candela/internal/kit/strictjson"
)

// unwrap reads a call whose arguments are all in one object, such as {"order":{..}}, or beside the name of the tool.
func (c *call) unwrap() {
	inner := -1
	for i, f := range c.fields {
		switch word := Joined(f.name); {
		case c.known(f.name):
			return
		case slices.Contains([]string{"order", "arguments", "args", "params", "parameters", "input", "inputs", "request", "payload", "body", "data", "alert", "call", "chart", "backtest", "scan"}, word) && inner < 0 && wrapped(f.raw) != nil:
			inner = i
		case slices.Contains([]string{"name", "tool", "toolname", "function"}, word) && c.text(f.name) == c.tool:
		default:
			return
		}
	}
	if inner < 0 {
		return
	}
	f := c.fields[inner]
	c.fields = read(wrapped(f.raw)).fields
	c.understood = append(c.understood, echo(f.name)+" has the arguments of the call")
}

// wrapped returns an object, also one in quotes, nil for another value.
func wrapped(raw json.RawMessage) json.RawMessage {
	if text, ok := strictjson.Text(raw); ok && strings.HasPrefix(text, "{") && strictjson.Check([]byte(text)) == nil {
		return json.RawMessage(text)
	}
	if raw[0] == '{' {
		return raw
	}
	return nil
}

// blanks drops texts without a letter: models that fill in every argument write them for none. A protective price is dropped only
// where the order opens a position: with reduce_only or replaces none could mean to remove it. A cursor without text is refused: a
// client that passes on one that it does not have would read the first page for ever.
func (c *call) blanks() {
	changes := string(c.get("reduce_only")) == "true" || c.has("replaces") && c.text("replaces") != ""
	for _, f := range slices.Clone(c.fields) {
		text, ok := strictjson.Text(f.raw)
		if !ok || strings.TrimSpace(text) != "" || f.name == "cursor" || changes && slices.Contains(orderNumbers(), f.name) {
			continue
		}
		c.drop(f.name, echo(f.name)+" without text is none")
	}
}

// zeros drops the numbers of an order that are 0 where several are: a form in which none is 0. One alone may be a mistake of the
// client, such as a stop that it computed, and is refused.
func (c *call) zeros() error {
	if string(c.get("reduce_only")) == "true" || c.has("replaces") {
		return nil
	}
	var none []string
	for _, name := range orderNumbers() {
		raw := strings.Trim(string(c.get(name)), `"`)
		limits := name == "price" && strings.Contains(Joined(c.text("type")), "limit")
		if number, ok := plainNumber(raw); ok && number == "0" && name != "quantity" && !limits {
			none = append(none, name)
		}
	}
	if len(none) < 2 {
		return nil
	}
	for _, name := range none {
		c.drop(name, "")
	}
	c.understood = append(c.understood, strings.Join(none, ", ")+": 0 is none")
	return nil
}

// single reads a list of one identifier, such as "order_ids":["x"], in the place of the identifier.
func single(id string) func(*call) error {
	return func(c *call) error {
		for _, f := range slices.Clone(c.fields) {
			if Joined(f.name) != Joined(id+"s") && Joined(f.name) != "ids" || c.has(id) || f.raw[0] != '[' {
				continue
			}
			if all := slices.Collect(strictjson.Items(f.raw)); len(all) == 1 {
				c.set(f.name, string(all[0]), echo(f.name)+" with one element is "+id)
				return c.move(f.name, id)
			}
		}
		return nil
	}
}
