package wording

import (
	"slices"
	"strings"

	"candela/internal/kit/strictjson"
	"candela/lib/fault"
)

// ruleWords maps names of rules beside each other to the side and the rule that they are.
func ruleWords() map[string][2]string {
	enter, exit := [2]string{"long", "enter"}, [2]string{"long", "exit"}
	return map[string][2]string{
		"entry": enter, "enter": enter, "buy": enter, "entrycondition": enter, "entryrule": enter, "entryrules": enter, "entrysignal": enter, "buycondition": enter, "buywhen": enter, "buyrule": enter, "buysignal": enter, "longentry": enter, "enterlong": enter, "entrylong": enter, "entrywhen": enter, "longcondition": enter,
		"exit": exit, "sell": exit, "exitcondition": exit, "exitrule": exit, "exitrules": exit, "exitsignal": exit, "sellcondition": exit, "sellwhen": exit, "sellrule": exit, "sellsignal": exit, "longexit": exit, "exitlong": exit, "exitwhen": exit,
		"shortentry": {"short", "enter"}, "entershort": {"short", "enter"}, "entryshort": {"short", "enter"}, "shortcondition": {"short", "enter"}, "shortexit": {"short", "exit"}, "exitshort": {"short", "exit"},
	}
}

// boundWords maps names of bounds beside the rules to those of a side.
func boundWords() words {
	return words{
		"stoplosspct": "stop_pct", "stoplosspercent": "stop_pct", "stoppct": "stop_pct", "slpct": "stop_pct", "stoplosspercentage": "stop_pct",
		"takeprofitpct": "target_pct", "takeprofitpercent": "target_pct", "targetpct": "target_pct", "tppct": "target_pct", "takeprofitpercentage": "target_pct",
		"maxbars": "max_bars", "maxholdbars": "max_bars", "holdbars": "max_bars", "maxhold": "max_bars", "stoploss": "stop_pct", "takeprofit": "target_pct",
	}
}

// rules reads the rules of a back-test that stand beside each other, or in an object, as those of its sides.
func (c *call) rules() error {
	for _, name := range []string{"strategy", "rules", "signals", "conditions"} {
		inner := c.get(name)
		if inner == nil || inner[0] != '{' || c.known(name) {
			continue
		}
		o := read(inner)
		if !slices.ContainsFunc(o.fields, func(f field) bool {
			return ruleWords()[Joined(f.name)][0] != "" || f.name == "long" || f.name == "short"
		}) {
			continue
		}
		if slices.ContainsFunc(o.fields, func(f field) bool { return c.has(f.name) }) {
			continue // two values for one rule
		}
		c.drop(name, name+" are the rules beside it")
		c.fields = append(c.fields, o.fields...)
	}
	sides := map[string]*call{"long": {}, "short": {}}
	for _, f := range slices.Clone(c.fields) {
		at, ok := ruleWords()[Joined(f.name)]
		if !ok || c.known(f.name) || c.has(at[0]) || f.raw[0] != '{' && f.raw[0] != '"' && f.raw[0] != '[' || !c.readable(f) {
			continue
		}
		if sides[at[0]].has(at[1]) {
			return fault.Field(echo(f.name), shown(f.raw), "only one rule for "+at[0]+"."+at[1])
		}
		c.drop(f.name, echo(f.name)+" is "+at[0]+"."+at[1])
		sides[at[0]].fields = append(sides[at[0]].fields, field{at[1], f.raw})
	}
	for _, name := range []string{"long", "short"} {
		o := sides[name]
		if len(o.fields) > 0 {
			c.fields = append(c.fields, field{name, o.object()})
		}
	}
	c.sharedBounds()
	return nil
}

// sharedBounds puts the bounds beside the rules into those of each side that is given.
func (c *call) sharedBounds() {
	sides := map[string]*call{}
	for _, name := range []string{"long", "short"} {
		switch raw := c.get(name); {
		case raw == nil:
		case raw[0] != '{':
			return
		default:
			sides[name] = read(raw)
		}
	}
	of := "the rules"
	if len(sides) == 2 {
		of = "long and short"
	}
	for _, f := range slices.Clone(c.fields) {
		to := boundWords()[Joined(f.name)]
		if to == "" || c.known(f.name) || len(sides) == 0 || sides["long"].given(to) || sides["short"].given(to) {
			continue
		}
		if word := Joined(f.name); word == "stoploss" || word == "takeprofit" {
			if _, percent := percentText(f.raw); !percent {
				continue // a price, or per cent?
			}
		}
		c.drop(f.name, echo(f.name)+" is "+to+" of "+of)
		for name, o := range sides {
			o.fields = append(o.fields, field{to, f.raw})
			c.put(name, o.object())
		}
	}
}

// given reports whether a side that is given has a bound.
func (c *call) given(bound string) bool { return c != nil && c.has(bound) }

// sizeText reads "position_size":"10%".
func (c *call) sizeText() error {
	for _, f := range slices.Clone(c.fields) {
		number, percent := percentText(f.raw)
		if !percent || c.known(f.name) || c.has("size_pct") || !slices.Contains([]string{"positionsize", "size", "ordersize", "tradesize"}, Joined(f.name)) {
			continue
		}
		c.set(f.name, number, echo(f.name)+" "+shown(f.raw)+" is size_pct "+number)
		return c.move(f.name, "size_pct")
	}
	return nil
}

// readable reports whether a rule is a condition, as far as its words show.
func (c *call) readable(f field) bool {
	if f.raw[0] != '"' {
		return true
	}
	r := &reader{library: c.library, interval: c.barLength()}
	out := r.condition(f.name, f.raw, alone)
	return r.err == nil && out[0] == '{'
}

// sideBounds reads the bounds of a side: "2%", and a stop that may be a price.
func (c *call) sideBounds(name string) error {
	for _, word := range []string{"stop_loss", "take_profit", "sl", "tp", "stop", "target"} {
		raw := c.get(word)
		if raw == nil {
			continue
		}
		to := map[byte]string{'s': "stop_pct", 't': "target_pct"}[word[0]]
		if _, percent := percentText(raw); percent && !c.has(to) {
			if err := c.rename(word, to); err != nil {
				return err
			}
			continue
		}
		number := strings.Trim(string(raw), `"`)
		if _, ok := plainNumber(number); !ok {
			number = "2"
		}
		e := fault.Field(name+"."+word, shown(raw), to+": per cent of the entry", `{"`+to+`":`+number+`}`)
		e.Message = name + "." + word + ": a distance in per cent is " + to + `, such as {"` + to + `":` + number + `}`
		return e
	}
	for _, to := range []string{"stop_pct", "target_pct"} {
		if number, ok := percentText(c.get(to)); c.has(to) && ok {
			c.set(to, number, to+" "+quote(shown(c.get(to)))+" is "+number)
		} else if c.has(to) {
			c.unquote(to)
		}
	}
	c.unquote("max_bars")
	return nil
}

// scriptRefused says where a script goes in a tool that takes no text of one.
func scriptRefused(word string) (advice, bool) {
	switch word {
	case "pine", "pinescript", "script", "code", "source", "pinecode":
		const ready = `{"name":"my_script","source":"//@version=6\nindicator(\"My script\")\nplot(ta.rsi(close,14))"}`
		return advice{"save the script first with save_script " + ready + ", then use its name among indicators; check_script says whether it compiles.", []string{ready}}, true
	case "charttype", "style", "candletype":
		return advice{`prices are drawn as candles. Omit it, or add "heikin_ashi" to indicators.`, []string{"indicators"}}, true
	}
	return advice{}, false
}

// scriptName says which name a script can have.
func (c *call) scriptName() error {
	text, ok := strictjson.Text(c.get("name"))
	if c.get("name") == nil || !ok || len(text) > maxEcho || strings.Contains(text, "/") {
		return nil
	}
	plain := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_':
			return r
		case r == ' ' || r == '-' || r == '.':
			return '_'
		}
		return -1
	}, strings.ToLower(strings.TrimSuffix(strings.TrimSpace(text), ".pine")))
	plain = strings.TrimLeft(plain, "_0123456789")
	if plain == text || plain == "" || len(plain) > 48 {
		return nil
	}
	return fault.Field("name", text, "a name of 1 to 48 lower-case letters, digits and _ that begins with a letter, or user/library/number for a library", plain)
}
