package wording

import (
	"encoding/json"
	"slices"
	"strings"

	"candela/internal/alerting/alert"
	"candela/internal/kit/strictjson"
	"candela/lib/fault"
	"candela/lib/ta"
	"candela/lib/ta/candle"
)

// shape reads a condition of several keys in forms of other programs as a comparison or a signal, nil for none.
func (r *reader) shape(raw json.RawMessage) *call {
	o, changed := read(raw), false
	say := func(text string) {
		r.say(text)
		changed = true
	}
	sides := words{"left": "indicator", "field": "indicator", "metric": "indicator", "variable": "indicator", "series": "indicator", "name": "indicator", "source": "indicator", "lhs": "indicator", "indicator1": "indicator", "indicatora": "indicator", "right": "value", "rhs": "value", "indicator2": "value", "indicatorb": "value", "other": "value", "targetprice": "value", "target": "value"}
	for _, f := range slices.Clone(o.fields) {
		if to := sides[Joined(f.name)]; to != "" && !o.has(to) && o.move(f.name, to) == nil {
			say(echo(f.name) + " is " + to)
		}
	}
	for _, name := range []string{"operator", "comparison", "comparator", "condition", "direction", "cross", "relation"} {
		if op, ok := opOf(o.text(name)); ok && !o.has("op") && !o.has("signal") && o.move(name, "op") == nil {
			o.put("op", json.RawMessage(quote(op)))
			say(name + " is op " + op)
		}
	}
	for _, f := range slices.Clone(o.fields) { // such as "below":30
		if op, ok := opOf(strings.ReplaceAll(f.name, "_", "")); ok && f.name != "op" && !o.has("op") && !o.has("value") && (o.has("indicator") || o.has("price")) {
			o.fields = append(o.fields, field{"op", json.RawMessage(quote(op))})
			_ = o.move(f.name, "value") // it has none
			say(echo(f.name) + " is op " + op)
		}
	}
	r.typeWords(o, say)
	if !changed {
		return nil
	}
	return o
}

// typeWords drops a key type that says no more than the other keys, and reads types of crossings of the price.
func (r *reader) typeWords(o *call, say func(string)) {
	word := Joined(o.text("type"))
	onPrice := !o.has("indicator") && !o.has("line") && !o.has("signal")
	switch word {
	case "indicator", "indicatorvalue", "indicatorcompare", "indicatorcomparison", "comparison", "compare", "value", "technical", "indicatorthreshold", "threshold":
		if o.has("indicator") {
			o.drop("type", "")
			say("type " + word + " follows from the other keys")
		}
	case "indicatorsignal", "signal":
		if o.has("indicator", "signal") {
			o.drop("type", "")
			say("type " + word + " follows from the other keys")
		}
	case "price", "pricelevel", "pricealert", "pricecross", "pricecrosses", "pricecrossing", "cross", "crossing", "crosses":
		if onPrice {
			r.priceType(o, word, say)
		}
	case "crossesabove", "crossesbelow", "crossover", "crossunder", "crossabove", "crossbelow":
		if op, _ := opOf(word); op != "" && !o.has("op") {
			o.drop("type", "")
			o.fields = append(o.fields, field{"op", json.RawMessage(quote(op))})
			say("type " + word + " is op " + op)
		}
	default:
		if word == "" || !onPrice || !o.has("op", "value") {
			return
		}
		if _, _, ok := (sentence{library: r.library}).resolve(o.text("type")); ok && o.move("type", "indicator") == nil {
			say("type is indicator")
		}
	}
}

// event reads {"indicator":"macd","event":"bullish_cross"} as a signal, nil for none.
func (r *reader) event(o *call) json.RawMessage {
	indicator := o.text("indicator")
	if len(o.fields) != 2 || indicator == "" || len(indicator) > maxEcho {
		return nil
	}
	word := o.fields[0]
	if word.name == "indicator" {
		word = o.fields[1]
	}
	if text, ok := strictjson.Text(word.raw); ok && slices.Contains([]string{"event", "condition", "trigger", "action", "type", "cross", "state", "zone", "status"}, word.name) && len(text) <= maxEcho {
		if signal, ok := r.signalText(indicator + " " + text); ok {
			r.say(word.name + " " + text + " is " + string(signal))
			return signal
		}
		if right, ok := (sentence{library: r.library}).zone(indicator+" "+text, inAll); ok {
			r.say(word.name + " " + text + " is " + right)
			return json.RawMessage(right)
		}
	}
	return nil
}

// typeKey reads {"type":"rsi_below","value":30}, whose type is a key with an operator.
func (r *reader) typeKey(o *call, where place) (json.RawMessage, bool) {
	name := o.text("type")
	if len(o.fields) != 2 || name == "" {
		return nil, false
	}
	for _, at := range []string{"value", "threshold", "level", "price"} {
		if o.has(at) {
			return r.keyed(field{name, o.get(at)}, where)
		}
	}
	return nil, false
}

// priceType reads a type that names the price, with an operator or a direction and a number.
func (r *reader) priceType(o *call, word string, say func(string)) {
	at := ""
	for _, name := range []string{"value", "price", "level", "threshold"} {
		if _, ok := quotedNumber(strings.Trim(string(o.get(name)), `"`)); ok {
			at = name
			break
		}
	}
	op := o.text("op")
	switch direction := o.text("direction"); {
	case op != "":
	case slices.Contains([]string{"up", "upward", "upwards", "rising"}, direction):
		op = "crosses_above"
	case slices.Contains([]string{"down", "downward", "downwards", "falling"}, direction):
		op = "crosses_below"
	case direction == "" && strings.Contains(word, "cross"):
		op = "crosses"
	}
	if over, ok := map[string]string{">": "crosses_above", ">=": "crosses_above", "<": "crosses_below", "<=": "crosses_below"}[op]; ok && strings.Contains(word, "cross") {
		op = over
	}
	fields := onPriceFields(op, o.get(at))
	if at == "" || fields == nil || len(o.fields) > 3 {
		return
	}
	o.fields = fields
	say("type " + word + " is " + echo(string(o.object())))
}

// onPriceFields returns the condition of the price with an operator and a number, nil for none.
func onPriceFields(op string, number json.RawMessage) []field {
	if kind, ok := map[string]string{">": "price_above", ">=": "price_above", "<": "price_below", "<=": "price_below", "crosses": "price_crosses"}[op]; ok {
		return []field{{kind, number}}
	}
	if strings.HasPrefix(op, "crosses_") {
		return []field{{"value", json.RawMessage(`{"price":"close","op":"` + op + `","value":` + string(number) + `}`)}}
	}
	return nil
}

// keyed reads a condition whose only key has the operator in it, such as "rsi_below":30 and "crosses_above":70000.
func (r *reader) keyed(f field, where place) (json.RawMessage, bool) {
	number, ok := quotedNumber(strings.Trim(string(f.raw), `"`))
	if inner := f.raw; Joined(f.name) == "price" && inner[0] == '{' { // such as "price":{"above":70000}
		o := read(inner)
		if len(o.fields) != 1 {
			return nil, false
		}
		op, known := opOf(o.fields[0].name)
		if number, ok = quotedNumber(strings.Trim(string(o.fields[0].raw), `"`)); !ok || !known {
			return nil, false
		}
		fields := onPriceFields(op, json.RawMessage(number))
		if fields == nil {
			return nil, false
		}
		right := (&call{fields: fields}).object()
		r.say("price " + echo(string(inner)) + " is " + string(right))
		return right, true
	}
	if _, isType := alert.ParseType(f.name); isType || len(f.name) > 40 {
		return nil, false
	}
	words := symbolWords(f.name)
	if right, ok := r.pair(f); ok {
		return right, true
	}
	if op, isOp := opOf(f.name); isOp { // of the price
		words = "price " + strings.ReplaceAll(op, "_", " ")
	}
	value := number
	if !ok {
		if value, ok = strictjson.Text(f.raw); !ok || len(value) > 40 {
			return nil, false
		}
	}
	right, ok := sentence{library: r.library}.read(words+" "+value, where)
	if !ok {
		return nil, false
	}
	r.say(echo(f.name) + " " + shown(f.raw) + " is " + right)
	return json.RawMessage(right), true
}

// symbolWords returns the words of a key, such as price > for price_gt.
func symbolWords(key string) string {
	words := strings.Fields(strings.ReplaceAll(key, "_", " "))
	if n := len(words); n > 1 {
		if op, ok := map[string]string{"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}[strings.ToLower(words[n-1])]; ok {
			words[n-1] = op
		}
	}
	return strings.Join(words, " ")
}

// pair reads an operator with both of its sides in a list.
func (r *reader) pair(f field) (json.RawMessage, bool) {
	op, isOp := opOf(f.name)
	if !isOp || f.raw[0] != '[' {
		return nil, false
	}
	sides := slices.Collect(strictjson.Items(f.raw))
	if len(sides) != 2 {
		return nil, false
	}
	left, isText := strictjson.Text(sides[0])
	right, rightText := strictjson.Text(sides[1])
	if !isText {
		return nil, false
	}
	if !rightText {
		right = string(sides[1])
	}
	read, ok := sentence{library: r.library}.compare(left, op, right, inAll)
	if !ok || len(left)+len(right) > maxEcho {
		return nil, false
	}
	r.say(echo(f.name) + " " + echo(string(f.raw)) + " is " + read)
	return json.RawMessage(read), true
}

// turns returns the labels of signals that words such as bullish and bearish may name.
func turns(word string) (labels []string, ok bool) {
	word = strings.NewReplacer("crossover", "", "crossing", "", "crosses", "", "cross", "", "flips", "", "flip", "", "turns", "", "turn", "", "signal", "", "goes", "", "to", "").Replace(Joined(word))
	switch word {
	case "bullish", "bull", "up", "buy", "long", "green", "upward", "above", "over":
		return []string{"cross_up", "flip_up", "bullish", "golden_cross", "bullish_cross", "turn_up", "up"}, true
	case "bearish", "bear", "down", "sell", "short", "red", "downward", "below", "under":
		return []string{"cross_down", "flip_down", "bearish", "death_cross", "bearish_cross", "turn_down", "down"}, true
	}
	return nil, false
}

// signalOf returns the one signal of an indicator of the catalogue that a word may name, "" for none or several.
func (r *reader) signalOf(indicator, word string) string {
	selection, _, ok := sentence{library: r.library}.resolve(strings.ToLower(indicator))
	if zone := Joined(word); ok && (zone == "oversold" || zone == "overbought") { // enters it, as people mean it
		for _, label := range []string{zone + "_enter", selection.Def.Name + "_" + zone + "_enter"} {
			if slices.ContainsFunc(selection.Def.Signals, func(t ta.Trigger) bool { return t.Label == label }) {
				return label
			}
		}
	}
	labels, isTurn := turns(word)
	if !ok || !isTurn {
		return ""
	}
	found := ""
	for _, s := range selection.Def.Signals {
		switch {
		case strings.EqualFold(s.Label, word):
			return ""
		case !slices.Contains(labels, s.Label):
		case found != "":
			return ""
		default:
			found = s.Label
		}
	}
	return found
}

// signalWords reads other words of a signal in {"indicator":..,"signal":..}.
func (r *reader) signalWords(o *call) {
	if o.has("name") && !o.has("indicator") && o.move("name", "indicator") == nil {
		r.say("name is indicator")
	}
	indicator, isText := strictjson.Text(o.get("indicator"))
	if o.get("indicator") != nil && !isText && o.get("indicator")[0] == '{' {
		indicator = read(o.get("indicator")).text("name")
	}
	if label := r.signalOf(indicator, o.text("signal")); label != "" && len(indicator) <= maxEcho {
		r.say("signal " + echo(o.text("signal")) + " of " + indicator + " is " + label)
		o.put("signal", json.RawMessage(quote(label)))
	}
}

// signalText reads words such as "macd bullish crossover" and "supertrend flips up", the form of indicator_signal in a text.
func (r *reader) signalText(text string) (json.RawMessage, bool) {
	words := strings.Fields(strings.NewReplacer("_", " ", ":", " ", ".", " ").Replace(strings.ToLower(text)))
	for at := 1; at < len(words) && len(words) <= 6; at++ {
		name, rest := strings.Join(words[:at], " "), strings.TrimPrefix(strings.Join(words[at:], " "), "is ")
		selection, spelling, ok := sentence{library: r.library}.resolve(name)
		if !ok {
			continue
		}
		label := r.signalOf(spelling, rest)
		for _, s := range selection.Def.Signals {
			if Joined(s.Label) == Joined(rest) {
				label = s.Label
			}
		}
		if label != "" {
			return json.RawMessage(`{"indicator_signal":{"indicator":` + quote(spelling) + `,"signal":` + quote(label) + `}}`), true
		}
	}
	return patternText(words)
}

// patternText reads a candle pattern, such as "bullish engulfing" and "hammer candle". One with two directions needs a word for one.
func patternText(words []string) (json.RawMessage, bool) {
	name, suffix := "", ""
	for _, word := range words {
		switch word {
		case "a", "an", "candle", "candlestick", "pattern", "appears", "forms":
		case "bullish", "bearish":
			suffix += "_" + word[:4]
		default:
			name += word
		}
	}
	p, ok := candle.Find(name)
	if !ok || name == "" {
		return nil, false
	}
	meanings := map[string]string{"": p.Plain(), "_bull": p.Bull(), "_bear": p.Bear()}
	if suffix == "" && p.Plain() == "" && (p.Bull() == "") != (p.Bear() == "") {
		suffix = map[bool]string{true: "_bear", false: "_bull"}[p.Bull() == ""]
	}
	if meanings[suffix] == "" {
		return nil, false
	}
	return json.RawMessage(`{"indicator_signal":{"indicator":` + quote(p.Name()) + `,"signal":` + quote(p.Name()+suffix) + `}}`), true
}

// mainLine names the line of an indicator with several that has the indicator's own name, where a comparison names none.
func (r *reader) mainLine(o *call) {
	name, isText := strictjson.Text(o.get("indicator"))
	if o.get("indicator") == nil || o.has("line") || len(name) > maxEcho {
		return
	}
	request := ta.Request{Name: name}
	if !isText {
		if o.get("indicator")[0] != '{' {
			return
		}
		inner := read(o.get("indicator"))
		request.Name, request.Params = inner.text("name"), map[string]json.RawMessage{}
		for _, f := range inner.fields {
			if f.name != "name" && f.name != "interval" {
				request.Params[f.name] = f.raw
			}
		}
	}
	selection, err := r.library.Resolve(request)
	if err != nil {
		return
	}
	if lines := selection.Outputs(); len(lines) > 1 && Joined(lines[0].Label) == Joined(selection.Def.Name) {
		o.fields = append(o.fields, field{"line", json.RawMessage(quote(lines[0].Label))})
		r.say(selection.Def.Name + " is its line " + lines[0].Label)
	}
}

// lineWord gives a line that is named by its last word, such as lower of BB Lower, its label.
func (r *reader) lineWord(o *call) {
	name, isText := strictjson.Text(o.get("indicator"))
	word := o.text("line")
	if o.get("indicator") == nil || !isText || word == "" || len(name) > maxEcho || len(word) > maxEcho {
		return
	}
	s := sentence{library: r.library}
	selection, _, ok := s.resolve(strings.ToLower(name))
	if !ok || slices.ContainsFunc(selection.Outputs(), func(l ta.Output) bool { return strings.EqualFold(l.Label, word) }) {
		return
	}
	if _, label, ok := s.dotted(strings.ToLower(name) + "." + word); ok {
		r.say("line " + word + " is " + label)
		o.put("line", json.RawMessage(quote(label)))
	}
}

// changeReady is the error of a change of the price without the bars it is over.
func changeReady(at string, raw json.RawMessage) error {
	number, ok := percentText(raw)
	if !ok {
		if number, ok = quotedNumber(strings.Trim(string(raw), `"`)); !ok {
			return nil
		}
	}
	op := ">="
	if number[0] == '-' {
		op = "<="
	}
	right := `{"percent_change":{"bars":24,"op":"` + op + `","value":` + number + `}}`
	e := fault.Field(at, shown(raw), "bars, op and value", right)
	e.Message = at + ": over how many bars? Use " + right + " for 24 bars of interval."
	return e
}
