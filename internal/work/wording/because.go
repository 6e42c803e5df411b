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
		at := "because[" + strconv.Itoa(i) + "]"
		switch {
		case i >= order.MaxClaims: // refused
		case item[0] == '{':
			items[i] = r.claim(at, item)
		case item[0] == '"':
			items[i] = r.claimInWords(at, item)
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

// claimInWords reads a claim such as "rsi < 30 on 1h", on bars of 4 hours where it names none.
func (r *reader) claimInWords(at string, raw json.RawMessage) json.RawMessage {
	text, _ := strictjson.Text(raw)
	rest, interval, ok := barsOfText(text)
	if !ok || len(text) > maxEcho {
		return r.condition(at, raw, alone)
	}
	on := &reader{library: r.library, interval: interval}
	read := on.condition(at, json.RawMessage(quote(rest)), alone)
	if read[0] != '{' {
		return raw
	}
	read = beside(json.RawMessage(closing(string(read))), json.RawMessage(quote(interval.String())))
	r.say(quote(text) + " is " + string(read))
	return read
}

// named returns a field under the name it has here.
func (r *reader) named(f field, name string) field {
	if f.name != name {
		r.say(echo(f.name) + " is " + name)
	}
	return field{name, f.raw}
}
