package wording

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"candela/internal/kit/strictjson"
)

// operators reads {"rsi":{"length":7,"below":30}} and {"ema20":{"crosses_above":"ema50"}}: an indicator with one operator, nil for another form.
func (r *reader) operators(f field, where place) json.RawMessage {
	if f.raw[0] != '{' || Joined(f.name) == "price" {
		return nil
	}
	if _, _, ok := (sentence{library: r.library}).resolve(strings.ToLower(f.name)); !ok {
		return nil
	}
	named, op, value := &call{fields: []field{{"name", json.RawMessage(quote(f.name))}}}, "", json.RawMessage(nil)
	for _, inner := range read(f.raw).fields {
		spelling, isOp := opOf(inner.name)
		switch {
		case !isOp || inner.raw[0] == '[' || inner.raw[0] == '{':
			named.fields = append(named.fields, inner)
		case op != "":
			return nil
		default:
			op, value = spelling, inner.raw
		}
	}
	if op == "" || len(named.fields) == 1 && value[0] != '"' { // a bare number beside the operator is refused with the right form
		return nil
	}
	r.say(echo(f.name) + " " + echo(string(f.raw)) + " is a comparison")
	inner := slices.Concat(json.RawMessage(`{"indicator":`), r.indicator(named.object()), json.RawMessage(`,"op":`+quote(op)+`,"value":`), value, json.RawMessage("}"))
	return r.value(slices.Concat(json.RawMessage(`{"value":`), inner, json.RawMessage("}")), inner, where)
}

// crossing reads {"cross":{"fast":"ema20","slow":"ema50","direction":"up"}}, nil for another form.
func (r *reader) crossing(f field) json.RawMessage {
	if f.raw[0] != '{' {
		return nil
	}
	o := read(f.raw)
	op, _ := opOf(f.name)
	if word := Joined(f.name); word == "cross" || word == "crosses" {
		switch Joined(o.text("direction")) {
		case "up", "above", "bullish", "over":
			op = "crosses_above"
		case "down", "below", "bearish", "under":
			op = "crosses_below"
		}
		o.drop("direction", "")
	}
	if !strings.HasPrefix(op, "crosses_") || len(o.fields) != 2 {
		return nil
	}
	for _, names := range [][2]string{{"fast", "slow"}, {"left", "right"}, {"a", "b"}, {"first", "second"}, {"line1", "line2"}, {"indicator1", "indicator2"}, {"from", "to"}, {"series1", "series2"}, {"indicator", "value"}} {
		left, right := o.text(names[0]), o.text(names[1])
		if left == "" || right == "" || len(left)+len(right) > maxEcho {
			continue
		}
		if out, ok := (sentence{library: r.library}).compare(left, op, right, inAll); ok {
			r.say(echo(f.name) + " " + echo(string(f.raw)) + " is " + out)
			return json.RawMessage(out)
		}
	}
	return nil
}

// changeWithin reads {"price_change_pct":5,"window":"24h"}: a change of the price with the time that it is over.
func (r *reader) changeWithin(at string, raw json.RawMessage, o *call) json.RawMessage {
	change := &call{}
	for _, f := range o.fields {
		switch Joined(f.name) {
		case "percentchange", "pctchange", "pricechange", "pricechangepct", "pricechangepercent", "changepct", "changepercent":
			if _, ok := quotedNumber(strings.Trim(string(f.raw), `"%`)); !ok {
				return nil
			}
			change.fields = append(change.fields, field{"value", f.raw})
		case "droppct", "fallpct", "droppercent", "pricedroppct", "pricedrop", "drop":
			number, ok := plainNumber(strings.Trim(string(f.raw), `"%`))
			if !ok {
				return nil
			}
			change.fields = append(change.fields, field{"value", json.RawMessage("-" + number)})
		case "risepct", "gainpct", "risepercent", "pricerisepct", "pricerise", "rise":
			number, ok := plainNumber(strings.Trim(string(f.raw), `"%`))
			if !ok {
				return nil
			}
			change.fields = append(change.fields, field{"value", json.RawMessage(number)})
		case "window", "period", "timeframe", "over", "bars", "within", "lookback", "duration":
			change.fields = append(change.fields, field{"bars", f.raw})
		case "op", "operator", "direction":
			change.fields = append(change.fields, field{"op", f.raw})
		default:
			return nil
		}
	}
	if !change.has("value", "bars") || len(change.fields) != len(o.fields) {
		return nil
	}
	r.say(echo(string(raw)) + " is percent_change")
	object := change.object()
	return r.change(at, raw, field{"percent_change", object})
}

// priceDirection reads {"price":70000,"direction":"above"}, nil for another form.
func (r *reader) priceDirection(o *call) json.RawMessage {
	number, ok := quotedNumber(strings.Trim(string(o.get("price")), `"`))
	if !ok || len(o.fields) != 2 {
		return nil
	}
	for _, f := range o.fields {
		if f.name == "price" || !slices.Contains([]string{"direction", "op", "operator", "condition", "when", "is", "comparison", "side"}, f.name) {
			continue
		}
		text, _ := strictjson.Text(f.raw)
		op, _ := opOf(text)
		fields := onPriceFields(op, json.RawMessage(number))
		if fields == nil {
			return nil
		}
		right := (&call{fields: fields}).object()
		r.say("price " + number + " with " + f.name + " " + echo(text) + " is " + string(right))
		return right
	}
	return nil
}

// between reads a value between two bounds as two comparisons; o is a comparison without its operator's bounds.
func (r *reader) between(o *call, where place) json.RawMessage {
	list := o.get("value")
	if Joined(o.text("op")) != "between" || where == inAny || list == nil || list[0] != '[' {
		return nil
	}
	ends := slices.Collect(strictjson.Items(list))
	if len(ends) != 2 {
		return nil
	}
	var both []json.RawMessage
	for i, op := range []string{">=", "<="} {
		if _, ok := quotedNumber(strings.Trim(string(ends[i]), `"`)); !ok {
			return nil
		}
		o.put("op", json.RawMessage(quote(op)))
		o.put("value", ends[i])
		both = append(both, json.RawMessage(`{"value":`+string(o.object())+`}`))
	}
	r.say("op between is >= and <=")
	return json.RawMessage(`{"all":` + string(array(both)) + `}`)
}

// ownLine reads the value "signal" of the line MACD as that line of the same indicator.
func (r *reader) ownLine(o *call) {
	word, isText := strictjson.Text(o.get("value"))
	name := o.text("indicator")
	if o.get("value") == nil || !isText || name == "" || len(name)+len(word) > maxEcho {
		return
	}
	s := sentence{library: r.library}
	if _, _, known := s.side(word); known && Joined(word) != "signal" {
		return
	}
	if line, ok := s.lineOf(name, word); ok {
		o.put("value", json.RawMessage("{"+line+"}"))
		r.say("value " + quote(word) + " is that line of " + name)
	}
}

// newExtremeOver reads {"new_high":{"days":30}} as bars of the interval.
func (r *reader) newExtremeOver(f field) json.RawMessage {
	o := read(f.raw)
	if f.raw[0] != '{' || len(o.fields) != 1 || o.has("bars") {
		return nil
	}
	text := shown(o.fields[0].raw)
	if unit := Joined(o.fields[0].name); unit == "days" || unit == "hours" || unit == "weeks" {
		text += " " + unit
	}
	bars, ok := barsIn(text, r.interval)
	if !ok {
		return nil
	}
	r.say(f.name + " over " + echo(text) + " is " + strconv.Itoa(bars) + " bars of " + r.interval.String())
	return json.RawMessage(`{"` + f.name + `":{"bars":` + strconv.Itoa(bars) + `}}`)
}

// priceBetween reads {"price_between":[50000,52000]} as the close within both.
func (r *reader) priceBetween(raw json.RawMessage, f field) json.RawMessage {
	var ends []json.RawMessage
	switch f.raw[0] {
	case '[':
		ends = slices.Collect(strictjson.Items(f.raw))
	case '{':
		o := read(f.raw)
		o.names = []string{"low", "high"}
		if o.renames(words{"min": "low", "max": "high", "from": "low", "to": "high", "lower": "low", "upper": "high"}) != nil || len(o.fields) != 2 || !o.has("low", "high") {
			return raw
		}
		ends = []json.RawMessage{o.get("low"), o.get("high")}
	}
	if len(ends) != 2 {
		return raw
	}
	for _, end := range ends {
		if _, ok := plainNumber(string(end)); !ok {
			return raw
		}
	}
	r.say(echo(f.name) + " is the close at or between both")
	return json.RawMessage(`{"all":[{"value":{"price":"close","op":">=","value":` + string(ends[0]) + `}},{"value":{"price":"close","op":"<=","value":` + string(ends[1]) + `}}]}`)
}

// price reads the threshold of a condition on the price: a number in quotes, or an indicator.
func (r *reader) price(raw json.RawMessage, f field, word string) json.RawMessage {
	text, ok := strictjson.Text(f.raw)
	if over := map[string]string{"priceabove": ">", "pricebelow": "<"}[word]; !ok && f.raw[0] == '{' && over != "" && read(f.raw).has("indicator") {
		r.say("close " + over + " " + echo(string(f.raw)) + " at a bar's close")
		inner := slices.Concat(json.RawMessage(`{"value":{"price":"close","op":"`+over+`","value":`), f.raw, json.RawMessage("}}"))
		return r.value(inner, readFirst(inner), alone)
	}
	if !ok {
		return raw
	}
	if number, ok := quotedNumber(text); ok {
		r.say(f.name + " " + quote(text) + " is " + number)
		return json.RawMessage(`{"` + f.name + `":` + number + `}`)
	}
	op := map[string]string{"priceabove": ">", "pricebelow": "<"}[word]
	side, label, ok := sentence{library: r.library}.side(text)
	if op == "" || !ok || label == "" {
		return raw
	}
	verb := map[string]string{">": "above", "<": "below"}[op]
	r.say("close " + verb + " " + label + " at a bar's close")
	return json.RawMessage(`{"value":{"price":"close","op":"` + op + `","value":{` + side + `}}}`)
}
