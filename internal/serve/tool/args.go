package tool

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"candela/internal/kit/fault"
	"candela/internal/kit/strictjson"
)

// arg is one argument of a tool: how the schema shows it and how it is read
// into the place its constructor was given.
type arg struct {
	name     string
	aliases  []string
	required bool
	schema   *schema
	allowed  string // in words, for errors
	read     func(raw json.RawMessage) error
}

// args are the arguments of a tool, in the order the schema shows them.
type args []arg

// require marks an argument that has to be given.
func (f arg) require() arg {
	f.required = true
	return f
}

// allowing says in words what has to be given, where its kind alone would not help.
func (f arg) allowing(allowed string) arg {
	f.allowed = allowed
	return f
}

// alias adds other names for an argument. One of the names may be used.
func (f arg) alias(names ...string) arg {
	f.aliases = names
	return f
}

// schema returns the input schema. An alias is a property of its own, so that a
// client which checks arguments before it sends them lets it through.
func (fs args) schema() *schema {
	// An empty object of properties is written too: some clients insist on it.
	s := &schema{Type: "object", Properties: props{}, AdditionalProperties: false}
	for _, f := range fs {
		s.Properties = append(s.Properties, prop{f.name, f.schema})
		if f.required {
			s.Required = append(s.Required, f.name)
		}
	}
	for _, f := range fs {
		for _, alias := range f.aliases {
			same := *f.schema
			same.Description, same.Default = "Another name for "+f.name+".", nil
			s.Properties = append(s.Properties, prop{alias, &same})
		}
	}
	return s
}

// decode reads arguments, which is a checked JSON object. Null counts as not
// given. The error names the field, what it was and what is allowed.
func (fs args) decode(arguments json.RawMessage) error {
	given := make([]string, len(fs)) // the name each field was given by
	for name, raw := range strictjson.Fields(arguments) {
		i := fs.find(name)
		if i < 0 {
			return fs.unknown(name)
		}
		if raw[0] == 'n' {
			continue
		}
		if given[i] != "" {
			return fault.Field(name, quoteValue(raw), "only one of "+given[i]+" and "+name+": they mean the same")
		}
		given[i] = name
		if err := fs[i].read(raw); err != nil {
			return renameField(err, fs[i].name, name)
		}
	}
	for i, f := range fs {
		if f.required && given[i] == "" {
			return fault.Missing(f.name, f.allowed)
		}
	}
	return nil
}

func (fs args) find(name string) int {
	return slices.IndexFunc(fs, func(f arg) bool { return f.name == name || slices.Contains(f.aliases, name) })
}

// unknown reports an argument that the tool does not take.
func (fs args) unknown(name string) error {
	names, all := make([]string, 0, len(fs)), make([]string, 0, len(fs))
	for _, f := range fs {
		names = append(names, f.name)
		all = append(append(all, f.name), f.aliases...)
	}
	allowed := strings.Join(names, ", ")
	if len(names) == 0 {
		allowed = "no arguments"
	}
	near := fault.Nearest(name, all)
	message := "unknown argument " + quote(truncate(name))
	if advice, instead := fs.advice(name); advice != "" {
		message, near = message+": "+advice, instead
	} else if len(near) > 0 {
		message += ", did you mean " + quote(near[0]) + "?"
	}
	return &fault.Error{
		Kind: fault.Invalid, Code: "unknown_argument", Field: truncate(name), Value: truncate(name),
		Message: message + "; allowed: " + allowed, Allowed: allowed, Suggestions: near,
	}
}

// renameField puts the name the client used into an error about its alias. Of the
// message only the beginning is the name: list_indicators, too, has it in its own.
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

// quoteValue is a value as an error may repeat it: a string without its quotes, all
// else as JSON, and never long.
func quoteValue(raw json.RawMessage) string {
	if text, ok := strictjson.Text(raw); ok {
		return truncate(text)
	}
	return truncate(string(bytes.TrimSpace(raw)))
}

// truncate bounds a text that the client chose.
func truncate(text string) string {
	const most = 80
	if len(text) <= most {
		return text
	}
	end := most
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "..."
}
