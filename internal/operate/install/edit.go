package install

import (
	"errors"
	"fmt"
	"strings"
)

// errUnexpectedEdit means that an edit changed more or less than intended; nothing is
// written then.
var errUnexpectedEdit = errors.New("the edited file would not have the intended content, so it was not written: edit it by hand")

// byteOrderMark is the first character of files that some Windows editors write.
const byteOrderMark = "\uFEFF"

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

// sameValue compares decoded values as they are printed, because a NaN does not equal itself.
func sameValue(a, b map[string]any) bool { return fmt.Sprintf("%#v", a) == fmt.Sprintf("%#v", b) }

// quote writes a string that TOML and YAML read alike. One with backslashes becomes a
// literal string where that is possible, so that Windows paths stay readable.
func quote(s string) string {
	if strings.Contains(s, `\`) && !strings.ContainsFunc(s, func(r rune) bool { return r == '\'' || unprintable(r) }) {
		return "'" + s + "'"
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case unprintable(r):
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// unprintable reports whether a character must be escaped in TOML or YAML.
func unprintable(r rune) bool {
	return r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe || r == 0xffff
}
