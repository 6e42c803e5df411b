package install

import (
	"errors"
	"strings"

	"github.com/tailscale/hujson"
)

// errUnexpectedEdit means that an edit changed more or less than intended; nothing is
// written then.
var errUnexpectedEdit = errors.New("the edited file would not have the intended content, so it was not written: edit it by hand")

// byteOrderMark is the first character of files that some Windows editors write.
const byteOrderMark = "\uFEFF"

// plain returns the value as a decoder would.
func (f field) plain() any {
	if f.list == nil {
		return f.text
	}
	all := make([]any, len(f.list))
	for i, s := range f.list {
		all[i] = s
	}
	return all
}

// lay writes the value in one line.
func (f field) lay(quote func(string) string) string {
	if f.list == nil {
		return quote(f.text)
	}
	all := make([]string, len(f.list))
	for i, s := range f.list {
		all[i] = quote(s)
	}
	return "[" + strings.Join(all, ", ") + "]"
}

func (f field) json() string {
	return f.lay(func(s string) string { return string(hujson.String(s)) })
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
			entry[f.key] = f.plain()
		}
		return entry
	}
}

// apply makes a change to the entry of a server in a decoded file.
func apply(root map[string]any, key, name string, change func(map[string]any) map[string]any) {
	servers, _ := root[key].(map[string]any)
	if servers == nil {
		servers = make(map[string]any)
	}
	entry, _ := servers[name].(map[string]any)
	if entry = change(entry); entry == nil {
		delete(servers, name)
	} else {
		servers[name] = entry
	}
	root[key] = servers
}
