// Package wording reads calls in the words that clients use first: other names of an argument, a
// number in quotes, a distance in per cent. A word is taken only where it can mean one thing; for
// the others it says which one to use. Nothing here is in the list of tools.
package wording

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/shopspring/decimal"

	"candela/internal/kit/strictjson"
	"candela/lib/fault"
	"candela/lib/ta"
)

// field is one argument of a call.
type field struct {
	name string
	raw  json.RawMessage
}

// call is a call while it is read.
type call struct {
	fields     []field
	understood []string
	tool       string
	names      []string // of the tool's arguments
	library    ta.Library
	now        time.Time
}

// read returns the arguments of a call, a valid JSON object, without those that are null.
func read(arguments json.RawMessage) *call {
	c := &call{}
	for name, raw := range strictjson.Fields(arguments) {
		if raw[0] != 'n' {
			c.fields = append(c.fields, field{name, raw})
		}
	}
	return c
}

// get returns an argument, nil if it is not given.
func (c *call) get(name string) json.RawMessage {
	for _, f := range c.fields {
		if f.name == name {
			return f.raw
		}
	}
	return nil
}

// has reports whether every one of the arguments is given.
func (c *call) has(names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return c.get(name) == nil })
}

// text returns an argument in lower case, "" if it is no text.
func (c *call) text(name string) string {
	raw := c.get(name)
	if raw == nil {
		return ""
	}
	value, _ := strictjson.Text(raw)
	return strings.ToLower(value)
}

// set replaces the value of an argument, and says so.
func (c *call) set(name, value, said string) {
	c.put(name, json.RawMessage(value))
	c.understood = append(c.understood, said)
}

// drop removes an argument that says nothing more.
func (c *call) drop(name, said string) {
	c.fields = slices.DeleteFunc(c.fields, func(f field) bool { return f.name == name })
	if said != "" {
		c.understood = append(c.understood, said)
	}
}

// put replaces the value of an argument.
func (c *call) put(name string, value json.RawMessage) {
	for i := range c.fields {
		if c.fields[i].name == name {
			c.fields[i].raw = value
		}
	}
}

// replace replaces the value of an argument if something was understood.
func (c *call) replace(name string, value json.RawMessage, said []string) {
	if len(said) > 0 {
		c.put(name, value)
		c.understood = append(c.understood, said...)
	}
}

// move gives an argument its name here, unless the call has both.
func (c *call) move(from, to string) error {
	given := fault.Truncate(from, maxEcho)
	if c.has(to) {
		return fault.Field(given, shown(c.get(from)), "only one of "+to+" and "+given+", which are the same argument")
	}
	for i := range c.fields {
		if c.fields[i].name == from {
			c.fields[i].name = to
		}
	}
	return nil
}

// rename moves an argument, and says so.
func (c *call) rename(from, to string) error {
	if err := c.move(from, to); err != nil {
		return err
	}
	c.understood = append(c.understood, fault.Truncate(from, maxEcho)+" is "+to)
	return nil
}

// json returns the call in the words of the tool.
func (c *call) json(arguments json.RawMessage) json.RawMessage {
	if len(c.understood) == 0 {
		return arguments
	}
	return c.object()
}

// object returns the arguments as an object.
func (c *call) object() json.RawMessage {
	out := []byte{'{'}
	for i, f := range c.fields {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(strictjson.AppendString(out, f.name), ':')
		out = append(out, f.raw...)
	}
	return append(out, '}')
}

// array returns values as a list.
func array(items []json.RawMessage) json.RawMessage {
	out := []byte{'['}
	for i, item := range items {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, item...)
	}
	return append(out, ']')
}

// renames gives the arguments that the tool does not know their names: those of words, by what is left of
// a name without case and separators, and spellings such as stopPrice.
func (c *call) renames(all ...words) error {
	for _, f := range slices.Clone(c.fields) {
		if c.known(f.name) {
			continue
		}
		for to := range strings.SplitSeq(c.meant(Joined(f.name), all), "|") {
			if to == "" || !c.known(to) {
				continue
			}
			if err := c.rename(f.name, to); err != nil {
				return err
			}
			break
		}
	}
	return nil
}

// meant returns the argument that a joined word names: one of the tool by its own name, else that of the
// first words that have it.
func (c *call) meant(word string, all []words) string {
	for _, name := range slices.Backward(c.names) {
		if Joined(name) == word {
			return name
		}
	}
	for _, some := range all {
		if to, ok := some[word]; ok {
			return to
		}
	}
	return ""
}

// plainNumber returns the number in quotes that can be read in one way only: digits with at most one
// point between them.
func plainNumber(text string) (string, bool) {
	whole, part, pointed := strings.Cut(text, ".")
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	if len(text) > 48 || !digits(whole) || pointed && !digits(part) {
		return "", false
	}
	d, err := decimal.NewFromString(text)
	return d.String(), err == nil
}

// percentText returns the number of a text such as 2% or 2 %.
func percentText(raw json.RawMessage) (string, bool) {
	text, ok := strictjson.Text(raw)
	if !ok {
		return "", false
	}
	before, isPercent := strings.CutSuffix(text, "%")
	number, plain := plainNumber(strings.TrimSpace(before))
	return number, isPercent && plain
}

// maxEcho bounds a client's words in an answer, in bytes.
const maxEcho = 80

// shown is a client's value in an error.
func shown(raw json.RawMessage) string {
	if text, ok := strictjson.Text(raw); ok {
		return fault.Truncate(text, maxEcho)
	}
	return fault.Truncate(string(raw), maxEcho)
}

// Joined is a word in lower case without separators.
func Joined(word string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' {
			return -1
		}
		return unicode.ToLower(r)
	}, word)
}
