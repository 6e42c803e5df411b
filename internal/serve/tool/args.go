package tool

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"candela/internal/kit/strictjson"
	"candela/internal/work/wording"
	"candela/lib/fault"
)

// arg is one argument of a tool: its schema and the function that reads it into the
// destination given to its constructor.
type arg struct {
	name     string
	aliases  []string
	required bool
	schema   *schema
	allowed  string // described for errors
	read     func(raw json.RawMessage) error

	unlessGiven []string // other arguments without which it is required
}

// args holds the arguments of a tool in schema order.
type args []arg

// require marks a mandatory argument.
func (f arg) require() arg {
	f.required = true
	return f
}

// allowing describes the accepted values in errors, where the type alone would not help.
func (f arg) allowing(allowed string) arg {
	f.allowed = allowed
	return f
}

// describe replaces the description of an argument.
func (f arg) describe(text string) arg {
	s := *f.schema
	s.Description, f.schema = text, &s
	return f
}

// note sets given if the argument is present.
func (f arg) note(given *bool) arg {
	read := f.read
	f.read = func(raw json.RawMessage) error {
		*given = true
		return read(raw)
	}
	return f
}

// unless makes a required argument optional in a call that has one of the others. The
// schema still requires it, as clients know it.
func (f arg) unless(others ...string) arg {
	f.unlessGiven = others
	return f
}

// alias adds other names for an argument. A call may use only one of the names.
func (f arg) alias(names ...string) arg {
	f.aliases = names
	return f
}

// schema returns the input schema. An alias is a separate property, so that clients
// that validate arguments accept it; its details are those of the argument.
func (fs args) schema() *schema {
	// Some clients require properties even if it is empty.
	// A client's own check lets a known synonym through; decode refuses what it does not know.
	s := &schema{Type: "object", Properties: props{}}
	for _, f := range fs {
		s.Properties = append(s.Properties, prop{f.name, f.schema})
		if f.required {
			s.Required = append(s.Required, f.name)
		}
	}
	for _, f := range fs {
		for _, alias := range f.aliases {
			same := &schema{Type: f.schema.Type, Description: f.name + "."}
			if same.Type == "array" {
				same.Items = &schema{} // some clients require it
			}
			s.Properties = append(s.Properties, prop{alias, same})
		}
	}
	return s
}

// decode reads arguments, a valid JSON object. A null value is treated as absent.
func (fs args) decode(arguments json.RawMessage) error {
	given := make([]string, len(fs)) // the name used for each argument
	for name, raw := range strictjson.Fields(arguments) {
		if err := fs.readOne(given, name, raw); err != nil {
			return err
		}
	}
	return fs.missing(given)
}

func (fs args) readOne(given []string, name string, raw json.RawMessage) error {
	i := fs.find(name)
	switch {
	case i < 0:
		return fs.unknown(name)
	case raw[0] == 'n':
		return nil
	case given[i] != "":
		return fault.Field(name, quoteValue(raw), "only one of "+given[i]+" and "+name+", which are the same argument")
	}
	given[i] = name
	return renameField(fs[i].read(raw), fs[i].name, name)
}

// missing reports the required arguments that were not given: the first as the field, the others in the message.
func (fs args) missing(given []string) error {
	var first *fault.Error
	for i, f := range fs {
		replaced := slices.ContainsFunc(f.unlessGiven, func(other string) bool { return given[fs.find(other)] != "" })
		switch {
		case !f.required || given[i] != "" || replaced:
		case first == nil:
			first = fault.Missing(f.name, f.allowed)
		default:
			first.Message += "; " + f.name + " is, too: " + f.allowed
		}
	}
	if first == nil {
		return nil
	}
	return first
}

// names are those of the arguments, with their other names.
func (fs args) names() []string {
	all := make([]string, 0, len(fs))
	for _, f := range fs {
		all = append(append(all, f.name), f.aliases...)
	}
	return all
}

func (fs args) find(name string) int {
	return slices.IndexFunc(fs, func(f arg) bool { return f.name == name || slices.Contains(f.aliases, name) })
}

// unknown reports an argument that the tool does not have.
func (fs args) unknown(name string) error {
	names := make([]string, 0, len(fs))
	for _, f := range fs {
		names = append(names, f.name)
	}
	allowed := strings.Join(names, ", ")
	if len(names) == 0 {
		allowed = "no arguments"
	}
	near := fault.Nearest(name, fs.names())
	message := "unknown argument " + quote(truncate(name))
	advice, instead := fs.advice(name)
	switch {
	case advice != "":
		message, near = message+": "+advice+"; use "+allowed, instead
	case len(near) > 0:
		message += "; use " + allowed + "; did you mean " + quote(near[0]) + "?"
	default:
		message += "; use " + allowed
	}
	return &fault.Error{
		Kind: fault.Invalid, Code: "unknown_argument", Field: truncate(name), Value: truncate(name),
		Message: message, Allowed: allowed, Suggestions: near,
	}
}

// renameField replaces the argument's name in an error with the alias the client used.
// The name is at the start of the message; elsewhere the same word may mean another
// thing, as in list_indicators.
func renameField(err error, from, to string) error {
	e := fault.Of(err)
	if e == nil || from == to || e.Field != from {
		return err
	}
	renamed := *e
	renamed.Field = to
	if rest, ok := strings.CutPrefix(e.Message, from); ok {
		renamed.Message = to + rest
	}
	return &renamed
}

func quote(text string) string { return string(strictjson.AppendString(nil, text)) }

// quoteValue formats a client's value for an error: a string without its quotes, other
// values as JSON, truncated.
func quoteValue(raw json.RawMessage) string {
	if text, ok := strictjson.Text(raw); ok {
		return truncate(text)
	}
	return truncate(string(bytes.TrimSpace(raw)))
}

// truncate bounds a text chosen by the client.
func truncate(text string) string { return fault.Truncate(text, 80) }

// advice explains an argument that the tool does not have but many models expect, and
// returns the arguments to use instead.
func (fs args) advice(name string) (string, []string) {
	word := wording.Joined(name)
	text, use := wording.Protective(word)
	switch {
	case fs.find("side") >= 0 && text != "":
		return text, use
	case fs.find("start") >= 0 && slices.Contains(rangeWords(), word):
		return "start and end choose the time, each a date such as 2026-01-31 or an RFC 3339 time", []string{"start", "end"}
	case fs.find("start") >= 0 && word == "bars":
		return "the newest 200 bars are used; start and end choose others, and interval sets their length", []string{"start", "end", "interval"}
	case fs.find("op") >= 0 && slices.Contains([]string{"operator", "operation", "comparison", "compare", "cmp", "is"}, word):
		return "op is the operator", []string{"op"}
	case fs.find("op") >= 0 && slices.Contains([]string{"threshold", "level", "target", "right", "than", "number", "percent"}, word):
		return "value is what it is compared with", []string{"value"}
	}
	return "", nil
}

// rangeWords returns names of arguments for a date range.
func rangeWords() []string {
	return []string{
		"from", "to", "since", "until", "startdate", "enddate", "starttime", "endtime",
		"fromdate", "todate", "daterange", "range", "period", "days", "date",
	}
}
