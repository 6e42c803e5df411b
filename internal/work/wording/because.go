package wording

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"candela/internal/kit/strictjson"
	"candela/internal/trading/order"
)

// claims reads the conditions in because, each with keys of its own beside it.
func (c *call) claims() error {
	raw := c.get("because")
	if raw == nil || raw[0] != '[' && raw[0] != '{' {
		return nil
	}
	items := []json.RawMessage{raw}
	r := &reader{library: c.library}
	if raw[0] == '[' {
		items = slices.Collect(strictjson.Items(raw))
	} else {
		r.say("because is a list with one claim")
	}
	for i, item := range items {
		if item[0] == '{' && i < order.MaxClaims { // more are refused
			items[i] = r.claim("because["+strconv.Itoa(i)+"]", item)
		}
	}
	if r.err != nil {
		return r.err
	}
	c.replace("because", array(items), r.said)
	return nil
}

// claim reads the condition of one claim.
func (r *reader) claim(at string, raw json.RawMessage) json.RawMessage {
	var beside, inside []field
	for _, f := range read(raw).fields {
		switch name := cmp.Or(sharedWords()[Joined(f.name)], Joined(f.name)); name {
		case "interval", "symbol":
			beside = append(beside, r.named(f, name))
		case "withinbars", "within":
			beside = append(beside, r.named(f, "within_bars"))
		default:
			inside = append(inside, f)
		}
	}
	condition := (&call{fields: inside}).object()
	if len(inside) == 1 && inside[0].name == "condition" {
		condition = inside[0].raw
		r.say("condition is the claim itself")
	}
	condition = r.condition(at, condition, alone)
	if r.err != nil || condition[0] != '{' {
		return raw
	}
	return (&call{fields: append(beside, read(condition).fields...)}).object()
}

// named returns a field under the name it has here.
func (r *reader) named(f field, name string) field {
	if f.name != name {
		r.say(echo(f.name) + " is " + name)
	}
	return field{name, f.raw}
}
