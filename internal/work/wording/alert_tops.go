package wording

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"candela/internal/kit/strictjson"
	"candela/lib/fault"
)

// logic reads a list of conditions with a word for all or any beside it.
func (c *call) logic() error {
	list := c.get("conditions")
	if list == nil || c.has("condition") || c.known("conditions") || list[0] != '[' {
		return nil
	}
	word := ""
	for _, name := range logicWords() {
		if c.known(name) || !c.has(name) {
			continue
		}
		plain := map[string]string{"all": "all", "and": "all", "any": "any", "or": "any"}[c.text(name)]
		if plain == "" {
			return nil // the tool refuses it
		}
		word = plain
		c.drop(name, name+" "+plain+" belongs to conditions")
	}
	if all := slices.Collect(strictjson.Items(list)); len(all) == 1 {
		c.set("conditions", string(all[0]), "conditions with one element is condition")
	} else if word == "" {
		return allOrAny("conditions", "condition", list)
	} else {
		c.set("conditions", `{"`+word+`":`+string(list)+`}`, `conditions are "condition":{"`+word+`":[..]}`)
	}
	return c.move("conditions", "condition")
}

// allOrAny asks which of the conditions in a list must hold.
func allOrAny(at, name string, list json.RawMessage) error {
	every, one := `{"all":`+string(list)+`}`, `{"any":`+string(list)+`}`
	if len(list) > 300 {
		every, one = `{"all":[...]}`, `{"any":[...]}`
	}
	e := fault.Field(at, shown(list), `{"all":[...]} or {"any":[...]}`, every, one)
	e.Message = at + `: all of them or any? Use "` + name + `":` + every + ` if all must hold, with any in place of all if one is enough.`
	return e
}

// threshold reads an alert on the price whose parts are arguments: "above":70000, "price":70000 with "direction", and "target_price".
func (c *call) threshold() error {
	if c.has("condition") && !c.isOperator("condition") || c.has("indicator") {
		return nil
	}
	number := ""
	for _, name := range []string{"price", "value", "threshold", "level", "target", "target_price", "targetPrice", "price_level"} {
		if c.has(name) && !c.known(name) {
			number = name
			break
		}
	}
	op, from := "", ""
	for _, name := range []string{"direction", "operator", "op", "comparison", "type", "alert_type", "condition", "trigger_type"} {
		if c.isOperator(name) && (name == "condition" || !c.known(name)) {
			op, _ = opOf(c.text(name))
			from = name
			break
		}
	}
	if from == "" && (number == "target" || number == "target_price" || number == "targetPrice") {
		op = "crosses"
	}
	for _, name := range []string{"above", "below", "over", "under", "crosses_above", "crosses_below"} {
		if c.has(name) && !c.known(name) && number == "" {
			op, _ = opOf(name)
			number, from = name, ""
		}
	}
	text, isNumber := quotedNumber(strings.Trim(string(c.get(number)), `"`))
	fields := onPriceFields(op, json.RawMessage(text))
	if number == "" || !isNumber || fields == nil {
		return nil
	}
	condition := (&call{fields: fields}).object()
	c.drop(number, "")
	if from != "" {
		c.drop(from, "")
	}
	for _, name := range []string{"type", "alert_type", "condition_type"} {
		if word := c.text(name); !c.known(name) && (word == "price" || word == "price_alert") {
			c.drop(name, "")
		}
	}
	c.fields = append(c.fields, field{"condition", condition})
	c.understood = append(c.understood, strings.TrimSpace(echo(from)+" "+echo(number)+" is condition "+echo(string(condition))))
	return nil
}

// isOperator reports whether an argument is the word of an operator.
func (c *call) isOperator(name string) bool {
	word := c.text(name)
	_, ok := opOf(word)
	return word != "" && ok
}

// operatorOf moves an operator in the place of the condition beside the indicator that it is for.
func (c *call) operatorOf() error {
	if !c.has("indicator", "condition") || c.known("indicator") || !c.isOperator("condition") {
		return nil
	}
	op, _ := opOf(c.text("condition"))
	c.set("condition", quote(op), "condition "+c.text("condition")+" is op "+op)
	return c.move("condition", "op")
}

// once reads how often an alert fires.
func (c *call) once() error {
	if !c.known("repeat") {
		return nil
	}
	for _, name := range []string{"once", "one_time", "onetime", "single"} {
		if word := string(c.get(name)); word == "true" && !c.has("repeat") {
			c.drop(name, name+" is how alerts fire without repeat")
		}
	}
	for _, name := range []string{"frequency", "trigger_type"} {
		switch word := Joined(c.text(name)); {
		case c.known(name):
		case word == "once" || word == "onetime" || word == "onlyonce" || word == "single":
			c.drop(name, name+" "+word+" is how alerts fire without repeat")
		case (word == "repeat" || word == "recurring" || word == "everytime" || word == "always" || word == "repeating") && !c.has("repeat"):
			c.set(name, "true", name+" "+word+" is repeat")
			if err := c.move(name, "repeat"); err != nil {
				return err
			}
		}
	}
	return nil
}

// expiryDate reads a date, tomorrow, or a number of seconds since 1970 as the end of an alert.
func (c *call) expiryDate() (string, bool) {
	text := strings.TrimSpace(shown(c.get("expires_at")))
	if strings.EqualFold(text, "tomorrow") {
		return c.now.UTC().AddDate(0, 0, 1).Truncate(time.Second).Format(time.RFC3339), true
	}
	if at, err := time.Parse(time.DateOnly, text); err == nil {
		return at.Format(time.RFC3339), true
	}
	if length, ok := span(strings.TrimPrefix(strings.ToLower(text), "in ")); ok && !strings.HasPrefix(text, "-") && !strings.HasSuffix(text, "ago") {
		return c.now.UTC().Add(length).Truncate(time.Second).Format(time.RFC3339), true
	}
	at, ok := c.moment(c.get("expires_at"))
	if _, isSpan := span(text); !ok || isSpan {
		return "", false
	}
	if day, err := time.Parse(time.DateOnly, at); err == nil {
		at = day.Format(time.RFC3339)
	}
	return at, true
}
