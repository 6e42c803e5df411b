package install

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// Server is a command that the client runs, or a URL.
type Server struct {
	Command string
	Args    []string
	URL     string // if set, Command and Args are ignored
}

// field is one key of a server's entry.
type field struct {
	key   string
	value any  // a string, []string, bool or int
	first bool // only for an entry that does not have the key: the user may change it
}

func program(_ string, s Server) []field {
	return []field{{key: "command", value: s.Command}, {key: "args", value: s.Args}}
}

func gooseProgram(_ string, s Server) []field {
	return []field{{key: "cmd", value: s.Command}, {key: "args", value: s.Args}}
}

// commandLine is the program and its arguments in one list.
func commandLine(_ string, s Server) []field {
	return []field{{key: "command", value: append([]string{s.Command}, s.Args...)}}
}

func address(key string) func(string, Server) []field {
	return func(_ string, s Server) []field { return []field{{key: key, value: s.URL}} }
}

// typed puts the kind of a server before its entry.
func typed(kind string, rest func(string, Server) []field) func(string, Server) []field {
	return func(name string, s Server) []field {
		return append([]field{{key: "type", value: kind}}, rest(name, s)...)
	}
}

// extension adds what Goose requires of an entry.
func extension(kind string, rest func(string, Server) []field) func(string, Server) []field {
	return func(name string, s Server) []field {
		return slices.Concat([]field{
			{key: "enabled", value: true, first: true},
			{key: "type", value: kind},
			{key: "name", value: name, first: true},
			{key: "description", value: "Charts, indicators, alerts and trading", first: true},
		}, rest(name, s), []field{{key: "timeout", value: 300, first: true}})
	}
}

// owned returns the keys of an entry that define the server. All others are the user's.
func (c Client) owned() []string {
	keys := []string{"type", "command", "args", "url"}
	if c.format == tomlFile {
		keys = keys[1:] // Codex has no type
	}
	for _, entry := range []func(string, Server) []field{c.local, c.remote} {
		if entry == nil {
			continue
		}
		for _, f := range entry("", Server{}) {
			if !f.first && !slices.Contains(keys, f.key) {
				keys = append(keys, f.key)
			}
		}
	}
	return keys
}

// visited returns the keys of an entry that Set looks at: those that are wanted, in their
// order, and those that candela owns.
func (c Client) visited(want []field) []string {
	keys := make([]string, 0, len(want))
	for _, f := range want {
		keys = append(keys, f.key)
	}
	for _, key := range c.owned() {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// meant returns the change of a decoded entry that Set makes: the keys that candela owns
// say what is wanted.
func (c Client) meant(want []field) func(entry map[string]any) map[string]any {
	return func(entry map[string]any) map[string]any {
		if entry == nil {
			entry = make(map[string]any)
		}
		for _, key := range c.owned() {
			delete(entry, key)
		}
		for _, f := range want {
			if _, ok := entry[f.key]; !ok {
				entry[f.key] = f.plain()
			}
		}
		return entry
	}
}

// plain returns the value as a decoder would.
func (f field) plain() any {
	list, ok := f.value.([]string)
	if !ok {
		return f.value
	}
	all := make([]any, len(list))
	for i, s := range list {
		all[i] = s
	}
	return all
}

// lay writes the value in one line.
func (f field) lay(quote func(string) string) string {
	switch v := f.value.(type) {
	case []string:
		all := make([]string, len(v))
		for i, s := range v {
			all[i] = quote(s)
		}
		return "[" + strings.Join(all, ", ") + "]"
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	}
	text, _ := f.value.(string)
	return quote(text)
}

func (f field) json() string {
	return f.lay(func(s string) string { return string(hujson.String(s)) })
}
