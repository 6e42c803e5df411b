package wording

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"candela/lib/pattern"

	"github.com/shopspring/decimal"

	"candela/internal/kit/strictjson"
	"candela/lib/market"
	"candela/lib/ta"
)

// reaching matches words such as "price reaches 70000".
var reaching = pattern.Of(`(?i)^\s*(price|close)\s+(?:reaches|hits|touches|gets to|reach|hit|touch)\s+(\S+)\s*$`)

// changing matches words such as "price drops 5% in 24h".
var changing = pattern.Of(`(?i)^(?:the )?(?:price )?(?:is )?(up|rises|rose|gains|increases|jumps|pumps|climbs|down|drops|dropped|falls|fell|declines|loses|dumps|decreases)(?: by)?(?: more than| over| at least)? (\d+(?:\.\d+)?) ?(?:%|percent|pct) (?:in|over|within|during) (?:the )?(?:last |past )?(.+)$`)

// changingBy matches the same without a time.
var changingBy = pattern.Of(`(?i)^(?:the )?(?:price )?(?:is )?(up|rises|gains|increases|jumps|down|drops|falls|declines|loses|decreases)(?: by)?(?: more than| over| at least)? (\d{1,3}(?:\.\d{1,4})?) ?(?:%|percent|pct)( from (?:here|now|this level|(?:the )?(?:current|last|present) price|current))?$`)

// Words that say no more than the rest of a condition.
var (
	leadWords = pattern.Of(`(?i)^(?:please )?(?:alert(?: me)?|notify(?: me)?)?\s*(?:when|if|once|whenever)\s+`)
	moveWords = pattern.Of(`(?i)\b(?:falls|drops|dips|goes|moves|rises|climbs|gets|trades|stays|closes|breaks|is|are)\s+(below|under|above|over)\b`)
)

// plainWords returns words without those that say no more.
func plainWords(words string) string {
	plain := strings.Join(strings.Fields(strings.ReplaceAll(words, "_", " ")), " ")
	return moveWords().ReplaceAllString(leadWords().ReplaceAllString(plain, ""), "$1")
}

// Conditions with words of their own.
var (
	newExtreme = pattern.Of(`(?i)^(?:a )?new (\d{1,4})[- ](bar|candle|day|week)s? (high|low)$`)
	busyVolume = pattern.Of(`(?i)^(?:the )?volume (?:is )?(>=?|<=?|above|over|exceeds|below|under|greater than|more than|less than|at least) ?(?:(\d{1,3}(?:\.\d{1,4})?) ?(?:x|times|\*|×) ?)?(?:the |its )?(?:(\d{1,3})[- ](?:bar|period|candle) )?(?:average|avg|mean)(?: volume)?$`)
	turnsSign  = pattern.Of(`(?i)^(.+?) (?:turns|goes|becomes|flips) (positive|negative)$`)
)

// phrase reads conditions with words of their own.
func (s sentence) phrase(words string) (string, bool) {
	if match := newExtreme().FindStringSubmatch(words); match != nil {
		bars, ok := barsIn(match[1]+" "+strings.ToLower(match[2])+"s", s.interval)
		return `{"new_` + strings.ToLower(match[3]) + `":{"bars":` + strconv.Itoa(bars) + `}}`, ok
	}
	if match := busyVolume().FindStringSubmatch(words); match != nil {
		times, name := cmp.Or(match[2], "1"), "relative_volume"
		if match[3] != "" {
			name += "(" + match[3] + ")"
		}
		op, ok := opOf(match[1])
		if _, known := s.library.Resolve(ta.Request{Name: name}); !ok || known != nil {
			return "", false
		}
		return s.compare(name, op, times, inAll)
	}
	if match := turnsSign().FindStringSubmatch(words); match != nil {
		op := map[bool]string{true: "crosses_above", false: "crosses_below"}[strings.EqualFold(match[2], "positive")]
		return s.compare(match[1], op, "0", inAll)
	}
	return "", false
}

// changed reads the change of the price over a time that is a whole number of bars.
func (s sentence) changed(words string) (string, bool) {
	match := changing().FindStringSubmatch(words)
	if match == nil {
		return "", false
	}
	bars, ok := barsIn(match[3], s.interval)
	if !ok {
		return "", false
	}
	op, sign := ">=", ""
	if falls(match[1]) {
		op, sign = "<=", "-"
	}
	return fmt.Sprintf(`{"percent_change":{"bars":%d,"op":"%s","value":%s%s}}`, bars, op, sign, match[2]), true
}

// falls reports whether a word of changing is about a falling price.
func falls(word string) bool { return strings.ContainsAny(strings.ToLower(word[:1]), "dfl") } // down, falls, loses

// barsIn returns how many bars of an interval a time is, or the number of words such as "24 bars".
func barsIn(text string, interval market.Interval) (int, bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	for _, unit := range []string{" bars", " bar", " candles", " candle"} {
		if number, ok := strings.CutSuffix(text, unit); ok {
			n, err := strconv.Atoi(number)
			return n, err == nil && n > 0
		}
	}
	if text == "day" || text == "hour" || text == "week" {
		text = "1 " + text
	}
	length, ok := span(text)
	if !ok || !interval.Valid() {
		return 0, false
	}
	bar := time.Duration(interval.Seconds()) * time.Second
	return int(length / bar), length >= bar && length%bar == 0
}

// barsOf reads a time in place of the bars of a change.
func (r *reader) barsOf(o *call) {
	text, ok := strictjson.Text(o.get("bars"))
	if o.get("bars") == nil || !ok {
		return
	}
	if bars, ok := barsIn(text, r.interval); ok {
		o.set("bars", strconv.Itoa(bars), fmt.Sprintf("%s is %d bars of %s", echo(text), bars, r.interval))
	}
}

// zone reads "rsi is oversold" as the comparison with the bound that the indicator has for it.
func (s sentence) zone(words string, where place) (string, bool) {
	name, word, ok := strings.Cut(strings.ToLower(words), " ")
	word = strings.TrimPrefix(strings.TrimPrefix(word, "is "), "gets ")
	op := map[string]string{"oversold": "<", "overbought": ">"}[word]
	if !ok || op == "" {
		return "", false
	}
	selection, spelling, ok := s.resolve(name)
	if !ok || len(selection.Outputs()) != 1 {
		return "", false
	}
	for _, p := range selection.Def.Params {
		if p.Name == word && p.Default != nil {
			return s.compare(spelling, op, fmt.Sprint(p.Default), where)
		}
	}
	return "", false
}

// dayAverage matches "50 day moving average" and "50-day ema".
var dayAverage = pattern.Of(`^(\d{1,3})[- ](?:(day|bar|period|week) )?(moving average|simple moving average|exponential moving average|ma|sma|ema|wma|hma)$`)

// average reads an average whose length comes first. One in days is meant on bars of a day.
func (s sentence) average(name string) string {
	match := dayAverage().FindStringSubmatch(name)
	if match == nil || match[2] == "day" && s.interval != market.Day1 || match[2] == "week" && s.interval != market.Week1 {
		return name
	}
	kind := map[string]string{"moving average": "sma", "simple moving average": "sma", "exponential moving average": "ema", "ma": "sma"}[match[3]]
	if kind == "" {
		kind = match[3]
	}
	return kind + " " + match[1]
}

// edge reads "upper bollinger band": a line of an indicator, before its name.
func (s sentence) edge(name string) (string, bool) {
	word, rest, ok := strings.Cut(name, " ")
	if !ok || word != "upper" && word != "lower" && word != "middle" {
		return "", false
	}
	for _, end := range []string{"", " band", " bands", " channel", " line"} {
		indicator, ended := strings.CutSuffix(rest, end)
		if !ended {
			continue
		}
		if line, ok := s.lineOf(indicator, word); ok {
			return line, true
		}
	}
	return "", false
}

// thousands reads 70k as 70000.
func thousands(text string) string {
	number, ok := strings.CutSuffix(strings.ToLower(strings.TrimSpace(text)), "k")
	if plain, isNumber := plainNumber(strings.TrimPrefix(number, "$")); ok && isNumber {
		d, err := decimal.NewFromString(plain)
		if err == nil {
			return d.Shift(3).String()
		}
	}
	return text
}

// barLength returns the length of bars of the call, under any name of it, or the default of alerts.
func (c *call) barLength() market.Interval {
	for _, f := range c.fields {
		if f.name != "interval" && sharedWords()[Joined(f.name)] != "interval" {
			continue
		}
		text, isText := strictjson.Text(f.raw)
		if !isText {
			text = strings.Trim(string(f.raw), `[]"`)
		}
		for _, spelled := range []string{text, strings.ToLower(text)} { // 1M is a month
			if interval, err := market.ParseInterval(spelled); err == nil {
				return interval
			}
		}
	}
	return market.Hour4
}

// Words about the length of bars at either end of a condition.
var (
	onBarsAfter  = pattern.Of(`(?i)^(.+?)\s+(?:on|in|at)\s+(?:the\s+|a\s+)?(\d{1,2}\s?[a-z]{1,7}|daily|weekly|hourly|monthly)(?:\s+(?:chart|timeframe|time frame|interval|candles|candle|bars|close))?$`)
	onBarsBefore = pattern.Of(`(?i)^(\d{1,2}\s?(?:m|min|h|hour|d|day|w)|daily|weekly|hourly)\s+([a-z].+)$`)
	onBarsInside = pattern.Of(`(?i)\s+on (?:the )?(\d{1,2}\s?[a-z]{1,7}|daily|weekly|hourly) (?:chart|timeframe)\s`)
	inDays       = pattern.Of(`(?i)\b\d{1,3}[- ]day\s+(?:moving average|simple moving average|exponential moving average|ma|sma|ema)\b`)
)

// onBars takes the length of bars out of a condition in words, such as "rsi < 30 on 4h".
func (c *call) onBars(name string, raw json.RawMessage) json.RawMessage {
	text, ok := strictjson.Text(raw)
	if !ok || len(text) > 400 || strings.HasPrefix(text, "{") {
		return raw
	}
	if named := c.ownName(text); named != text {
		raw, text = json.RawMessage(quote(named)), named
	}
	if !c.known("interval") {
		return raw
	}
	rest, interval, ok := barsOfText(text)
	if !ok {
		return raw
	}
	given, err := market.ParseInterval(c.text("interval"))
	if c.has("interval") && (err != nil || given != interval) {
		return raw // two lengths
	}
	read, ok := sentence{library: c.library, interval: interval}.readAny(rest, alone)
	if !ok {
		return raw
	}
	read = closing(read)
	c.put(name, json.RawMessage(read))
	c.understood = append(c.understood, quote(echo(text))+" is "+read+" on "+interval.String())
	if !c.has("interval") {
		c.fields = append(c.fields, field{"interval", json.RawMessage(quote(interval.String()))})
	}
	return json.RawMessage(read)
}

// barsOfText takes the length of bars out of words such as "rsi < 30 on 4h".
func barsOfText(text string) (rest string, interval market.Interval, ok bool) {
	length := ""
	if match := onBarsAfter().FindStringSubmatch(text); match != nil && !strings.Contains(text, "%") {
		rest, length = match[1], match[2]
	} else if match := onBarsBefore().FindStringSubmatch(text); match != nil {
		length, rest = match[1], match[2]
	} else if at := onBarsInside().FindStringSubmatchIndex(text); at != nil {
		length, rest = text[at[2]:at[3]], text[:at[0]]+" "+text[at[1]:]
	} else if inDays().MatchString(text) {
		length, rest = "1d", text
	}
	interval, err := market.ParseInterval(length)
	return rest, interval, length != "" && err == nil
}

// onOwnBars reads one condition in words that names the length of its bars, as a condition with that interval beside it.
func (s sentence) onOwnBars(words string, where place) (string, bool) {
	rest, interval, ok := barsOfText(words)
	if !ok {
		return "", false
	}
	s.interval = interval
	read, ok := s.readAny(rest, where)
	if !ok {
		return "", false
	}
	raw := json.RawMessage(closing(read))
	if isListOf("all", raw) || isListOf("any", raw) {
		return "", false // each of them would need it
	}
	return string(beside(raw, json.RawMessage(quote(interval.String())))), true
}

// ownName reads the symbol of the call, or its coin, at the begin of a condition as its price.
func (c *call) ownName(text string) string {
	text = leadWords().ReplaceAllString(text, "")
	first, rest, ok := strings.Cut(text, " ")
	if name := strings.ToUpper(strings.TrimSuffix(first, "'s")); ok && len(name) >= 3 {
		base, _ := c.legs(name)
		symbol := strings.ToUpper(c.text("symbol"))
		if base || name == symbol || strings.HasSuffix(symbol, ":"+name) {
			return "price " + strings.TrimPrefix(rest, "price ")
		}
	}
	return text
}

// closing returns a condition on traded prices as one on the close of a bar.
func closing(condition string) string {
	o := read(json.RawMessage(condition))
	if len(o.fields) != 1 {
		return condition
	}
	if op := map[string]string{"price_above": ">=", "price_below": "<="}[o.fields[0].name]; op != "" {
		return `{"value":{"price":"close","op":"` + op + `","value":` + string(o.fields[0].raw) + `}}`
	}
	return condition
}

// logicWords are keys that say whether all or any of several conditions must hold.
func logicWords() []string {
	return []string{"logic", "operator", "op", "type", "match", "combine", "logical_operator", "join"}
}
