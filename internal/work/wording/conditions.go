package wording

import (
	"encoding/json"
	"slices"
	"strings"

	"candela/internal/alerting/alert"
	"candela/internal/kit/strictjson"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

// conditionIn reads the condition of an argument.
func conditionIn(name string) func(*call) error {
	return func(c *call) error { return c.condition(name, name) }
}

// condition reads the condition of an argument; at is its path in errors.
func (c *call) condition(name, at string) error {
	raw := c.get(name)
	if raw == nil {
		return nil
	}
	r := &reader{library: c.library, interval: c.barLength()}
	out := r.condition(at, c.onBars(name, raw), alone)
	if r.err != nil {
		return r.err
	}
	c.replace(name, out, r.said)
	return nil
}

// reader reads values inside arguments.
type reader struct {
	library  ta.Library
	interval market.Interval // of the call, its default if it has none
	said     []string
	err      error
}

func (r *reader) say(text string) { r.said = append(r.said, text) }

// place is where a condition stands.
type place int

const (
	alone place = iota
	inAll
	inAny
)

// condition returns a condition in the words of set_alert.
func (r *reader) condition(at string, raw json.RawMessage, where place) json.RawMessage {
	if text, ok := strictjson.Text(raw); ok {
		return r.text(at, raw, strings.TrimSpace(text), where)
	}
	if raw[0] == '[' {
		return r.list(at, raw, where)
	}
	if raw[0] != '{' {
		return raw
	}
	o := read(raw)
	if out, ok := r.onInterval(at, o, where); ok {
		return out
	}
	switch len(o.fields) {
	case 0:
		return raw
	case 1:
		return r.one(at, raw, o.fields[0], where)
	}
	return r.several(at, raw, o, where)
}

// text reads a condition in words, or an object in quotes.
func (r *reader) text(at string, raw json.RawMessage, text string, where place) json.RawMessage {
	if len(text) > 400 {
		return raw
	}
	if strings.HasPrefix(text, "{") && strictjson.Check([]byte(text)) == nil {
		r.say(at + " in quotes is an object")
		return r.condition(at, json.RawMessage(text), where)
	}
	s := sentence{library: r.library, interval: r.interval}
	right, ok := s.readAny(text, where)
	if !ok && where != alone {
		right, ok = s.onOwnBars(text, where)
	}
	if !ok {
		return raw
	}
	r.say(quote(echo(text)) + " is " + right)
	return json.RawMessage(right)
}

// one reads a condition with one key.
func (r *reader) one(at string, raw json.RawMessage, f field, where place) json.RawMessage {
	switch word := Joined(f.name); word {
	case "all", "and", "allof", "any", "or", "anyof":
		return r.members(at, raw, f, word, where)
	case "value", "expression", "expr", "formula", "rule", "when", "condition", "trigger":
		if text, ok := strictjson.Text(f.raw); ok || word != "value" {
			inner := r.condition(at, f.raw, where)
			if ok && inner[0] == '"' || !ok && f.raw[0] != '{' || text != "" && word == "value" && inner[0] != '{' {
				return raw // not understood
			}
			if !ok {
				r.say(echo(f.name) + " is the condition itself")
			}
			return inner
		}
		return r.value(raw, f.raw, where)
	case "indicatorsignal", "signal":
		if text, ok := strictjson.Text(f.raw); ok && len(text) <= maxEcho {
			if signal, ok := r.signalText(text); ok {
				r.say(quote(text) + " is " + string(signal))
				return signal
			}
		}
		if word == "signal" {
			return raw
		}
		return r.signal(raw, f)
	case "priceabove", "pricebelow", "pricecrosses":
		return r.price(raw, f, word)
	case "pricebetween", "pricerange", "priceinrange", "pricewithin":
		return r.priceBetween(raw, f)
	case "newhigh", "newlow":
		if out := r.newExtremeOver(f); out != nil {
			return out
		}
		if bars, ok := plainNumber(strings.Trim(string(f.raw), `"`)); ok {
			r.say(f.name + " " + bars + ` is {"bars":` + bars + "}")
			return json.RawMessage(`{"` + f.name + `":{"bars":` + bars + `}}`)
		}
	case "percentchange", "pctchange", "pricechange", "pricechangepct", "pricechangepercent", "changepct", "changepercent":
		return r.change(at, raw, f)
	case "orderfilled", "orderfill", "fill", "filled", "positionclosed", "stopfilled":
		r.err = cmpErr(r.err, &fault.Error{
			Kind: fault.Invalid, Code: "invalid_argument", Field: at, Value: echo(f.name), Allowed: strings.Join(alert.Names(), ", "),
			Message: at + `: alerts watch prices and indicators. Fills come by get_notifications {"events":["orders"]}.`,
		})
	default:
		if right, ok := r.keyed(f, where); ok {
			return right
		}
		if right := r.operators(f, where); right != nil {
			return right
		}
		if right := r.crossing(f); right != nil {
			return right
		}
	}
	return raw
}

// list reads a list of one condition in its place.
func (r *reader) list(at string, raw json.RawMessage, where place) json.RawMessage {
	items := slices.Collect(strictjson.Items(raw))
	switch {
	case where != alone || len(items) == 0:
		return raw
	case len(items) == 1:
		r.say(at + " with one element is that condition")
		return r.condition(at, items[0], where)
	}
	r.err = cmpErr(r.err, allOrAny(at, at, raw))
	return raw
}

func cmpErr(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

// members reads the conditions of all or any. One condition alone is that condition.
func (r *reader) members(at string, raw json.RawMessage, f field, word string, outer place) json.RawMessage {
	plain, where := "all", inAll
	if strings.HasPrefix(word, "any") || word == "or" {
		plain, where = "any", inAny
	}
	only := f.raw
	if f.raw[0] == '[' {
		if items := slices.Collect(strictjson.Items(f.raw)); len(items) == 1 {
			only = items[0]
		}
	}
	switch {
	case only[0] == '{':
		r.say(echo(f.name) + " of one condition is that condition")
		return r.condition(at, only, outer)
	case f.raw[0] != '[':
		return raw
	}
	if f.name != plain {
		r.say(echo(f.name) + " is " + plain)
	}
	var list []json.RawMessage
	for item := range strictjson.Items(f.raw) {
		member := r.condition(at+"."+plain, item, where)
		if spread := where == inAny && isListOf("any", member) && !isListOf("any", item) || where == inAll && isListOf("all", member) && !isListOf("all", item); spread {
			list = append(list, slices.Collect(strictjson.Items(read(member).fields[0].raw))...) // crosses in an any, between in an all
		} else {
			list = append(list, member)
		}
		if len(list) > maxList {
			return raw // the tool refuses it
		}
	}
	return json.RawMessage(`{"` + plain + `":` + string(array(list)) + `}`)
}

// isListOf reports whether a condition is an all or an any.
func isListOf(word string, raw json.RawMessage) bool {
	if raw[0] != '{' {
		return false
	}
	o := read(raw)
	return len(o.fields) == 1 && o.fields[0].name == word && o.fields[0].raw[0] == '['
}

// several reads a condition without the name of its type.
func (r *reader) several(at string, raw json.RawMessage, o *call, where place) json.RawMessage {
	if Joined(o.text("type")) == "percentchange" && !o.has("op") {
		rest := read(raw)
		rest.drop("type", "")
		return r.change(at, raw, field{"percent_change", rest.object()})
	}
	if right, ok := typed(raw); ok {
		r.say(echo(string(raw)) + " is " + echo(right))
		return json.RawMessage(right)
	}
	for _, list := range []string{"conditions", "members", "rules"} {
		for _, logic := range logicWords() {
			word := map[string]string{"all": "all", "and": "all", "any": "any", "or": "any"}[o.text(logic)]
			if word != "" && len(o.fields) == 2 && o.has(list) {
				return r.members(at, raw, field{word, o.get(list)}, word, where)
			}
		}
	}
	if right := r.event(o); right != nil {
		return right
	}
	if right := r.changeWithin(at, raw, o); right != nil {
		return right
	}
	if word := o.text("type"); word != "" {
		rest := read(raw)
		rest.drop("type", "")
		if right := r.crossing(field{word, rest.object()}); right != nil {
			return right
		}
	}
	if right := r.priceDirection(o); right != nil {
		return right
	}
	if right, ok := r.typeKey(o, where); ok {
		return right
	}
	if shaped := r.shape(raw); shaped != nil {
		o, raw = shaped, shaped.object()
		if len(o.fields) == 1 {
			return r.one(at, raw, o.fields[0], where)
		}
	}
	switch {
	case o.has("indicator", "signal") && !o.has("op"):
		r.say(`indicator with signal is "indicator_signal"`)
		return r.signal(raw, field{"indicator_signal", raw})
	case (o.has("indicator") || o.has("price")) && (o.has("op") || o.has("operator")) && (o.has("value") || o.has("threshold") || o.has("level")):
		r.say(`indicator, op and value are "value"`)
		return r.value(json.RawMessage(`{"value":`+string(raw)+`}`), raw, where)
	}
	return raw
}

// signal reads a condition on a signal.
func (r *reader) signal(raw json.RawMessage, f field) json.RawMessage {
	if f.raw[0] != '{' {
		return raw
	}
	o, before := read(f.raw), len(r.said)
	r.signalWords(o)
	r.loose(o, "signal")
	if len(r.said) == before && f.name == "indicator_signal" && len(raw) != len(f.raw) {
		return raw
	}
	return json.RawMessage(`{"indicator_signal":` + string(o.object()) + `}`)
}

// change reads a condition on the change of the price.
func (r *reader) change(at string, raw json.RawMessage, f field) json.RawMessage {
	if f.raw[0] != '{' {
		r.err = cmpErr(r.err, changeReady(at, f.raw))
		return raw
	}
	o := read(f.raw)
	if f.name != "percent_change" {
		o.understood = append(o.understood, echo(f.name)+" is percent_change")
	}
	o.names = []string{"bars", "op", "value"}
	if o.renames(words{"operator": "op", "threshold": "value", "percent": "value", "pct": "value", "length": "bars", "period": "bars", "lookback": "bars", "window": "bars", "timeframe": "bars", "over": "bars", "direction": "op", "percentage": "value"}) != nil {
		return raw
	}
	r.barsOf(o)
	o.operator()
	o.unquote("bars")
	if number, ok := percentText(o.get("value")); ok {
		o.set("value", number, "value "+shown(o.get("value"))+" is "+number)
	} else {
		o.unquote("value")
	}
	if number, ok := quotedNumber(string(o.get("value"))); o.has("value") && !o.has("op") && ok {
		op := map[bool]string{true: "<=", false: ">="}[number[0] == '-']
		o.fields = append(o.fields, field{"op", json.RawMessage(quote(op))})
		o.understood = append(o.understood, "value "+number+" without op is "+op+" "+number)
	}
	if len(o.understood) == 0 {
		return raw
	}
	r.said = append(r.said, o.understood...)
	return json.RawMessage(`{"percent_change":` + string(o.object()) + `}`)
}

// operator reads other spellings of an operator.
func (c *call) operator() {
	word := c.text("op")
	if op, ok := opOf(word); ok && op != word {
		c.set("op", quote(op), "op "+quote(word)+" is "+op)
	}
}

// value reads a comparison; crosses is either direction.
func (r *reader) value(raw, inner json.RawMessage, where place) json.RawMessage {
	if inner[0] != '{' {
		return raw
	}
	o, before := read(inner), len(r.said)
	if shaped := r.shape(inner); o.has("left", "right") && shaped != nil {
		o = shaped
	}
	o.names = []string{"indicator", "price", "line", "op", "value", "interval"}
	if o.renames(words{"timeframe": "interval", "tf": "interval", "resolution": "interval", "operator": "op", "comparison": "op", "comparator": "op", "threshold": "value", "level": "value", "than": "value", "compareto": "value"}) != nil {
		return raw
	}
	o.operator()
	r.said = append(r.said, o.understood...)
	r.loose(o, "op", "value", "line", "price")
	if both := r.between(o, where); both != nil {
		return both
	}
	r.ownLine(o)
	if right := o.get("value"); right != nil {
		o.put("value", r.right(right))
	}
	r.mainLine(o)
	r.lineWord(o)
	if Joined(o.text("op")) == "crosses" || Joined(o.text("op")) == "cross" {
		if where != inAll {
			r.say("op crosses is crosses_above or crosses_below")
			o.put("op", json.RawMessage(`"crosses_above"`))
			up := o.object()
			o.put("op", json.RawMessage(`"crosses_below"`))
			return json.RawMessage(`{"any":[{"value":` + string(up) + `},{"value":` + string(o.object()) + `}]}`)
		}
	}
	if len(r.said) == before {
		return raw
	}
	return json.RawMessage(`{"value":` + string(o.object()) + `}`)
}

// right reads the right side of a comparison.
func (r *reader) right(raw json.RawMessage) json.RawMessage {
	text, isText := strictjson.Text(raw)
	switch {
	case raw[0] == '{':
		return r.side(raw)
	case !isText || slices.Contains(alert.Prices(), strings.ToLower(text)):
		return raw
	}
	if number, ok := quotedNumber(text); ok {
		r.say("value " + quote(text) + " is " + number)
		return json.RawMessage(number)
	}
	side, _, ok := sentence{library: r.library}.side(text)
	if !ok {
		return raw
	}
	r.say("value " + quote(echo(text)) + " is {" + side + "}")
	return json.RawMessage("{" + side + "}")
}

// side reads an object that names an indicator or a price.
func (r *reader) side(raw json.RawMessage) json.RawMessage {
	o, before := read(raw), len(r.said)
	if o.has("name") && !o.has("indicator") && !o.has("price") {
		r.say("an object with name is indicator")
		return json.RawMessage(`{"indicator":` + string(raw) + `}`)
	}
	r.loose(o, "line", "price")
	r.lineWord(o)
	if len(r.said) == before {
		return raw
	}
	return o.object()
}

// loose reads the indicator of an object: the name of a price, of one of its lines, or with parameters beside
// it. keys are those that are no parameters.
func (r *reader) loose(o *call, keys ...string) {
	text, isText := strictjson.Text(o.get("indicator"))
	if o.get("indicator") == nil || len(text) > maxEcho {
		return
	}
	average := o.has("line") && Joined(o.text("line")) != "volume" // volume is also an indicator, which has one
	if name := strings.ToLower(strings.TrimSpace(text)); isText && !o.has("price") && (name == "price" || slices.Contains(alert.Prices(), name) && (name != "volume" || !average)) && slices.Contains(keys, "price") {
		if name == "price" {
			name = "close"
		}
		o.put("indicator", json.RawMessage(quote(name)))
		_ = o.move("indicator", "price") // it has none
		r.say("indicator " + quote(text) + " is price " + name)
		return
	}
	if isText && !o.has("line") {
		if name, line, ok := (sentence{library: r.library}).dotted(text); ok {
			o.put("indicator", json.RawMessage(quote(name)))
			o.fields = append(o.fields, field{"line", json.RawMessage(quote(line))})
			r.say(quote(text) + " is line " + line + " of " + name)
			return
		}
	}
	r.parameters(o, text, isText, keys)
}

// parameters puts parameters beside an indicator into it, if it has them.
func (r *reader) parameters(o *call, name string, isText bool, keys []string) {
	if !isText {
		inner := o.get("indicator")
		if inner[0] != '{' {
			return
		}
		o.put("indicator", r.indicator(inner))
		return
	}
	entry := &call{fields: []field{{"name", json.RawMessage(quote(name))}}}
	for _, f := range o.fields {
		if f.name != "indicator" && f.name != "interval" && !slices.Contains(keys, f.name) {
			entry.fields = append(entry.fields, f)
		}
	}
	if len(entry.fields) == 1 {
		changed := r.divergence(o.get("indicator"), name)
		o.put("indicator", changed)
		return
	}
	given := slices.Clone(entry.fields[1:])
	silent := &reader{library: r.library}
	silent.flatten(entry)
	params := map[string]json.RawMessage{}
	for _, f := range entry.fields[1:] {
		params[f.name] = f.raw
	}
	if _, err := r.library.Resolve(ta.Request{Name: name, Params: params}); err != nil {
		return
	}
	for _, f := range given {
		o.drop(f.name, "")
		r.say(echo(f.name) + " belongs to " + name)
	}
	o.put("indicator", entry.object())
}

// quotedNumber reads a number in quotes, which may have commas between groups of three digits.
func quotedNumber(text string) (string, bool) {
	text = strings.TrimPrefix(strings.TrimSpace(text), "$")
	groups := strings.Split(text, ",")
	for i, group := range groups {
		whole, _, _ := strings.Cut(group, ".")
		if i > 0 && len(whole) != 3 || i == 0 && len(groups) > 1 && (len(group) > 3 || strings.HasPrefix(group, "0")) || i < len(groups)-1 && whole != group {
			return "", false
		}
	}
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "-", text[1:]
	}
	number, ok := plainNumber(strings.ReplaceAll(text, ",", ""))
	return sign + number, ok
}
