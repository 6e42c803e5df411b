package wording

import (
	"encoding/json"
	"slices"

	"candela/internal/kit/strictjson"
)

// onInterval reads a member of all or any with an interval beside its condition, and reports false if it has none.
func (r *reader) onInterval(at string, o *call, where place) (json.RawMessage, bool) {
	i := slices.IndexFunc(o.fields, func(f field) bool { return isInterval(f.name) })
	if where == alone || i < 0 || len(o.fields) < 2 {
		return nil, false
	}
	on := o.fields[i]
	if on.name != "interval" {
		r.say(echo(on.name) + " is interval")
	}
	rest := (&call{fields: slices.Delete(slices.Clone(o.fields), i, i+1)}).object()
	read := r.condition(at, rest, where)
	if isListOf("any", read) && !isListOf("any", rest) { // crosses in both directions
		var list []json.RawMessage
		for item := range strictjson.Items(readFirst(read)) {
			list = append(list, beside(item, on.raw))
		}
		return json.RawMessage(`{"any":` + string(array(list)) + `}`), true
	}
	if isListOf("all", read) && !isListOf("all", rest) { // between
		var list []json.RawMessage
		for item := range strictjson.Items(readFirst(read)) {
			list = append(list, beside(item, on.raw))
		}
		return json.RawMessage(`{"all":` + string(array(list)) + `}`), true
	}
	return beside(read, on.raw), true
}

func readFirst(raw json.RawMessage) json.RawMessage { return read(raw).fields[0].raw }

// beside adds an interval to a condition.
func beside(condition, on json.RawMessage) json.RawMessage {
	if condition[0] != '{' {
		return condition // the tool refuses it
	}
	o := read(condition)
	o.fields = append(o.fields, field{"interval", on})
	return o.object()
}

func isInterval(name string) bool {
	return slices.Contains([]string{"interval", "timeframe", "tf", "resolution"}, Joined(name))
}
