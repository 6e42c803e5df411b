package wording

import (
	"encoding/json"
	"slices"
	"strings"

	"candela/internal/kit/strictjson"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/pattern"
	"candela/lib/ta"
)

// indicatorMap reads {"ema":50,"rsi":14} as a list of indicators with their lengths.
func (r *reader) indicatorMap(item json.RawMessage) []json.RawMessage {
	if item[0] != '{' {
		return nil
	}
	var list []json.RawMessage
	for name, value := range strictjson.Fields(item) {
		if _, err := r.library.Resolve(ta.Request{Name: name}); err != nil || len(name) > maxEcho {
			return nil
		}
		switch value[0] {
		case '{':
			list = append(list, slices.Concat(json.RawMessage(`{"name":`+quote(name)), comma(value), value[1:]))
		case 't':
			list = append(list, json.RawMessage(quote(name)))
		case '[':
			for length := range strictjson.Items(value) {
				if _, ok := plainNumber(string(length)); !ok || len(list) == maxList {
					return nil
				}
				list = append(list, json.RawMessage(quote(name+"("+string(length)+")")))
			}
		default:
			if _, ok := plainNumber(string(value)); !ok {
				return nil
			}
			list = append(list, json.RawMessage(quote(name+"("+string(value)+")")))
		}
	}
	return list
}

// comma returns what stands between a member and those of an object.
func comma(object json.RawMessage) json.RawMessage {
	if len(read(object).fields) == 0 {
		return nil
	}
	return json.RawMessage(",")
}

// twoNumbers matches two numbers that are one without the blank between them.
var twoNumbers = pattern.Of(`\d[ _-]+\d`)

// spelled returns the spelling of an indicator that the library knows, of a name that it does not know.
func (r *reader) spelled(name string) (string, bool) {
	if _, err := r.library.Find(name); err == nil {
		return "", false // sooner than with its parameters
	}
	if _, err := r.library.Resolve(ta.Request{Name: name}); err == nil || len(name) > maxEcho || twoNumbers().MatchString(name) {
		return "", false
	}
	plain := strings.Join(strings.Fields(strings.ReplaceAll(strings.ToLower(name), "_", " ")), " ")
	plain = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(plain, "the "), " indicator"))
	plain = sentence{library: r.library, interval: r.interval}.average(plain)
	joined := strings.NewReplacer(" and ", " ", " & ", " ").Replace(plain)
	forms := []string{plain, joined, strings.ReplaceAll(joined, " ", "_"), strings.ReplaceAll(joined, " ", "")}
	for _, end := range []string{" channels", " channel", " bands", " band", " lines", " levels", " clouds", " retracements", " retracement", " standard", " classic", " overlay"} {
		if rest, ok := strings.CutSuffix(joined, end); ok {
			forms = append(forms, rest, strings.ReplaceAll(rest, " ", "_"))
		}
	}
	if rest, ok := strings.CutSuffix(joined, "s"); ok {
		forms = append(forms, rest, strings.ReplaceAll(rest, " ", "_"))
	}
	for _, form := range forms {
		if form == "" {
			continue
		}
		if _, err := r.library.Resolve(ta.Request{Name: form}); err == nil {
			return form, true
		}
	}
	return "", false
}

// parameterWords maps names of parameters in other libraries to those of the catalogue; the first that an indicator has is meant.
func parameterWords() map[string][]string {
	length := []string{"length", "period", "n"}
	return map[string][]string{
		"timeperiod": length, "period": length, "periods": length, "window": length, "len": length, "n": length, "lookback": length, "span": length, "length": length,
		"stddev": {"std_dev", "mult", "multiplier"}, "std": {"std_dev", "mult"}, "deviation": {"std_dev", "mult"}, "deviations": {"std_dev", "mult"}, "stdev": {"std_dev", "mult"}, "nbdevup": {"std_dev"}, "multiplier": {"mult", "multiplier", "factor", "std_dev"}, "factor": {"mult", "multiplier", "factor"}, "mult": {"mult", "multiplier", "factor", "std_dev"},
		"fastperiod": {"fast"}, "fastlength": {"fast"}, "fastlen": {"fast"}, "slowperiod": {"slow"}, "slowlength": {"slow"}, "slowlen": {"slow"}, "signalperiod": {"signal"}, "signallength": {"signal"}, "signalsmoothing": {"signal"},
		"kperiod": {"k", "length"}, "dperiod": {"d"}, "klength": {"k", "length"}, "smooth": {"smooth_k", "smooth"}, "atrperiod": {"length", "atr_length"}, "atrlength": {"atr_length", "length"}, "src": {"source"},
	}
}

// parameterNames gives parameters that the indicator does not know their names here.
func (r *reader) parameterNames(o *call) {
	if o.text("name") == "pine" {
		for _, from := range []string{"script", "code", "pine", "text"} {
			if o.has(from) && !o.has("source") && o.move(from, "source") == nil {
				r.say(from + " is source")
			}
		}
	}
	def, err := r.library.Find(o.text("name"))
	if err != nil {
		return
	}
	has := func(name string) bool {
		return slices.ContainsFunc(def.Params, func(p ta.Param) bool { return p.Name == name || slices.Contains(p.Aliases, name) })
	}
	for i, f := range o.fields {
		if f.name == "name" || f.name == "interval" || has(f.name) {
			continue
		}
		for _, to := range parameterWords()[Joined(f.name)] {
			if has(to) && !o.has(to) {
				r.say(echo(f.name) + " is " + to)
				o.fields[i].name = to
				break
			}
		}
	}
	for i, f := range o.fields {
		if text, ok := strictjson.Text(f.raw); ok && has(f.name) {
			if number, ok := plainNumber(text); ok {
				r.say(f.name + " " + quote(text) + " is " + number)
				o.fields[i].raw = json.RawMessage(number)
			}
		}
	}
}

// severalIntervals reads a list of intervals as the shortest of them, and each indicator on all of them.
func (c *call) severalIntervals() error {
	name := "interval"
	if !c.has(name) {
		name = "timeframes"
	}
	raw, list := c.get(name), c.get("indicators")
	if raw == nil || raw[0] != '[' || list == nil || list[0] != '[' || c.has("interval", "timeframes") {
		return nil
	}
	var lengths []market.Interval
	for item := range strictjson.Items(raw) {
		text, _ := strictjson.Text(item)
		interval, err := market.ParseInterval(text)
		if err != nil || len(lengths) == 4 {
			return nil // refused below
		}
		lengths = append(lengths, interval)
	}
	if len(lengths) < 2 {
		return nil
	}
	slices.Sort(lengths)
	var all []json.RawMessage
	for item := range strictjson.Items(list) {
		indicator, isText := strictjson.Text(item)
		if !isText {
			return nil
		}
		all = append(all, item)
		for _, longer := range lengths[1:] {
			all = append(all, json.RawMessage(`{"name":`+quote(indicator)+`,"interval":`+quote(longer.String())+`}`))
		}
	}
	c.put("indicators", array(all))
	c.set(name, quote(lengths[0].String()), name+" "+echo(string(raw))+" is interval "+lengths[0].String()+", and the others beside each indicator")
	if name == "interval" {
		return nil
	}
	return c.move(name, "interval")
}

// ofOne puts a length beside one indicator into it.
func (c *call) ofOne() error {
	raw := c.get("indicators")
	if raw == nil || raw[0] != '[' || !c.known("indicators") {
		return nil
	}
	all := slices.Collect(strictjson.Items(raw))
	if len(all) != 1 {
		return nil
	}
	for _, name := range []string{"period", "length", "timeperiod"} {
		number, ok := plainNumber(strings.Trim(string(c.get(name)), `"`))
		text, isText := strictjson.Text(all[0])
		if !ok || !isText || c.known(name) {
			continue
		}
		one := `[{"name":` + quote(text) + `,"length":` + number + `}]`
		c.drop(name, "")
		c.set("indicators", one, name+" "+number+" belongs to "+echo(text))
		break
	}
	return nil
}

// priceAmong drops the price from a list of indicators: the answer has it.
func (c *call) priceAmong() error {
	raw := c.get("indicators")
	if raw == nil || raw[0] != '[' {
		return nil
	}
	var rest []json.RawMessage
	said := ""
	for item := range strictjson.Items(raw) {
		switch text, _ := strictjson.Text(item); strings.ToLower(text) {
		case "price", "close", "last", "last price", "current price", "last_price":
			said = echo(text) + " is close in last"
		case "all", "high", "low", "open", "ohlc", "ohlcv":
			return amongIndicators(text)
		default:
			rest = append(rest, item)
		}
	}
	switch {
	case said == "":
	case len(rest) == 0:
		c.drop("indicators", said)
	default:
		c.set("indicators", string(array(rest)), said)
	}
	return nil
}

// pricesDrawn drops prices from the indicators of a chart, which has them.
func (c *call) pricesDrawn() error {
	raw := c.get("indicators")
	if raw == nil || raw[0] != '[' {
		return nil
	}
	var rest []json.RawMessage
	var said []string
	for item := range strictjson.Items(raw) {
		text, _ := strictjson.Text(item)
		if slices.Contains([]string{"price", "close", "open", "high", "low", "ohlc", "ohlcv", "candles"}, strings.ToLower(text)) {
			said = append(said, echo(text)+" is in the bars")
			continue
		}
		rest = append(rest, item)
	}
	c.replace("indicators", array(rest), said)
	return nil
}

// splitOutside splits a text at commas outside brackets.
func splitOutside(text string) []string {
	var parts []string
	depth, from := 0, 0
	for i, r := range text {
		switch r {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case ',', ';':
			if depth == 0 {
				parts, from = append(parts, text[from:i]), i+1
			}
		}
	}
	return append(parts, text[from:])
}

// amongIndicators says where what is no indicator is found.
func amongIndicators(word string) error {
	e := fault.Field("indicators", word, "a name or alias from list_indicators")
	e.Message = "indicators: " + quote(echo(word)) + " is no indicator: last has the close, and generate_chart {\"format\":\"series\"} the prices of each bar. Omit open, high and low here."
	if strings.EqualFold(word, "all") {
		e.Message = `indicators: name those you need, such as ["rsi","macd","bbands"]; list_indicators has the names.`
	}
	return e
}
