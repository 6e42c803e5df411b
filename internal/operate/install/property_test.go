package install

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tailscale/hujson"
	"pgregory.net/rapid"
)

// drawJSON draws an object with blanks and, where allowed, comments and trailing commas in
// every position.
func drawJSON(t *rapid.T, comments bool, first string) string {
	gap := func() string {
		kinds := []string{"", " ", "\n", "\n  ", "\t", "\r\n  "}
		if comments {
			kinds = append(kinds, " // \"{[, c\n", "/* }],\" */", "\n  // two\n  ")
		}
		return rapid.SampledFrom(kinds).Draw(t, "gap")
	}
	scalar := []string{"1", "-0.5e+10", "1.50", "true", "null", `""`, `"a // b"`, `"\"},{"`, `"é\u0041\\"`, "123456789012345678901234567890"}
	var value func(depth int) string
	list := func(open, closing string, items []string) string {
		var text strings.Builder
		text.WriteString(open + gap())
		for i, it := range items {
			text.WriteString(it + gap())
			if i < len(items)-1 || comments && rapid.Bool().Draw(t, "trailing") {
				text.WriteString("," + gap())
			}
		}
		return text.String() + closing
	}
	object := func(depth int, keys []string) string {
		items := make([]string, len(keys))
		for i, k := range keys {
			items[i] = string(hujson.String(k)) + gap() + ":" + gap() + value(depth)
		}
		return list("{", "}", items)
	}
	keys := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "env", "command", "args", "type", "url", "x y", "é"}), 0, 4, rapid.ID[string])
	value = func(depth int) string {
		kind := rapid.IntRange(0, 3).Draw(t, "kind")
		switch {
		case depth <= 0 || kind == 0:
			return rapid.SampledFrom(scalar).Draw(t, "scalar")
		case kind == 1:
			items := make([]string, rapid.IntRange(0, 3).Draw(t, "items"))
			for i := range items {
				items[i] = value(depth - 1)
			}
			return list("[", "]", items)
		}
		return object(depth-1, keys.Draw(t, "keys"))
	}
	members := []string{}
	for _, k := range keys.Draw(t, "root") {
		members = append(members, string(hujson.String(k))+gap()+":"+gap()+value(2))
	}
	if rapid.Bool().Draw(t, "has servers") {
		names := keys.Draw(t, "servers")
		if rapid.Bool().Draw(t, "has candela") {
			names = append(names, "candela")
		}
		items := make([]string, len(names))
		for i, k := range names {
			items[i] = string(hujson.String(k)) + gap() + ":" + gap() + object(1, keys.Draw(t, "entry"))
		}
		members = append(members, string(hujson.String(first))+":"+gap()+list("{", "}", items))
	}
	members = rapid.Permutation(members).Draw(t, "order")
	return gap() + list("{", "}", members) + gap()
}

// commentsOf returns the words of all comments, without commas: the bytes that are blanks
// once the text is standard JSON. A trailing comma is such a byte, too.
func commentsOf(t *rapid.T, text string) []string {
	plain, err := hujson.Standardize([]byte(text))
	if err != nil || len(plain) != len(text) {
		t.Fatalf("%v in %q", err, text)
	}
	blanked := []byte(text)
	for i := range blanked {
		if blanked[i] == plain[i] || blanked[i] == ',' {
			blanked[i] = ' '
		}
	}
	return strings.Fields(string(blanked))
}

// isSubsequence reports whether everything in small is in large too, in order.
func isSubsequence(small, large []string) bool {
	i := 0
	for _, s := range large {
		if i < len(small) && small[i] == s {
			i++
		}
	}
	return i == len(small)
}

// The rest of a file stays: every comment, every other value and, for a new server, every
// byte.
func TestSet_KeepsTheRest_Property(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := slices.DeleteFunc(clients(), func(c Client) bool { return c.format == tomlFile || c.format == yamlFile })
		c := all[rapid.IntRange(0, len(all)-1).Draw(t, "client")]
		text := drawJSON(t, c.format == commentedJSON, c.key)
		doc, err := parseJSON(text, c.format == plainJSON)
		if err != nil {
			t.Fatalf("%v in %q", err, text)
		}
		others, entry := false, doc.root.Find("/"+c.key+"/candela")
		if servers := doc.root.Find("/" + c.key); servers != nil {
			object, ok := servers.Value.(*hujson.Object)
			others = ok && len(object.Members) > 0
		}
		s := local
		if c.remote != nil && rapid.Bool().Draw(t, "remote") {
			s = remote
		}
		set, err := c.Set(text, "candela", s) // which compares the values itself
		if err != nil {
			t.Fatalf("%v in %q", err, text)
		}
		if again, err := c.Set(set, "candela", s); err != nil || again != set {
			t.Fatalf("not idempotent: %v\n%q\n%q", err, set, again)
		}
		removed, err := c.Remove(set, "candela")
		if err != nil {
			t.Fatalf("%v in %q", err, set)
		}
		if entry != nil {
			return // comments inside an entry are removed with it
		}
		if got := commentsOf(t, set); !slices.Equal(got, commentsOf(t, text)) {
			t.Fatalf("comments: %q\n%q\n%q", got, text, set)
		}
		if !isSubsequence(strings.Split(text, ""), strings.Split(set, "")) && strings.TrimSpace(text) != text {
			// Only blanks inside an empty object may go.
			if others {
				t.Fatalf("bytes are lost\n%q\n%q", text, set)
			}
		}
		if others && removed != text {
			t.Fatalf("install and remove leave a trace\n%q\n%q\n%q", text, set, removed)
		}
	})
}

func TestSetTOML_KeepsTheRest_Property(t *testing.T) {
	t.Parallel()
	lines := []string{
		"# a remark", "", "k%d = 1 # why", "k%d = \"[x]\"", "k%d = '''\n[mcp_servers.candela]\n'''", "k%d = [\n  1, # one ]\n  2,\n]", "k%d = {a = 1, b = {c = \"}\"}}",
		"k%d = \"\"\"\n# no \\\" comment\n\"\"\"", "k%d.a.b = 2024-01-01", "\"k %d\".x = true", "[t%d]", "  [ t%d . \"x.y\" ]", "[[l%d]]", "[mcp_servers.s%d]", "[mcp_servers.s%d.env]",
	}
	rapid.Check(t, func(t *rapid.T) {
		c := client(&testing.T{}, "codex")
		var b strings.Builder
		for i := range rapid.IntRange(0, 12).Draw(t, "lines") {
			b.WriteString(strings.ReplaceAll(rapid.SampledFrom(lines).Draw(t, "line"), "%d", string(rune('a'+i))) + "\n")
		}
		text := b.String()
		if rapid.Bool().Draw(t, "no end") {
			text = strings.TrimSuffix(text, "\n")
		}
		if _, _, err := decodeTOML(text); err != nil {
			t.Skip(err)
		}
		set, err := c.Set(text, "candela", local)
		if err != nil {
			t.Fatalf("%v in %q", err, text)
		}
		if !strings.HasPrefix(set, text) {
			t.Fatalf("%q\n%q", text, set)
		}
		changed, err := c.Set(set, "candela", remote)
		if err != nil || !strings.HasPrefix(changed, text) {
			t.Fatalf("%v\n%q\n%q", err, set, changed)
		}
		if again, err := c.Set(changed, "candela", remote); err != nil || again != changed {
			t.Fatalf("not idempotent: %v\n%q", err, again)
		}
		removed, err := c.Remove(changed, "candela")
		if err != nil || strings.TrimRight(removed, "\n") != strings.TrimRight(text, "\n") {
			t.Fatalf("%v\n%q\n%q", err, text, removed)
		}
	})
}

// Any text is either refused or edited as intended. Set checks its result itself, so an
// error about it is a defect.
func FuzzSet(f *testing.F) {
	f.Add(`{"mcpServers": {"x": 1, /* c */ "candela": {"command": "y",},}, // z`+"\n}", 2)
	f.Add("{}", 0)
	f.Add("[mcp_servers.candela]\nurl = 'x'\n[mcp_servers.candela.env]\n", 4)
	f.Add("[mcp_servers]\n\"candela\" = {}\n", 4)
	f.Add("\uFEFF{\"servers\":{\"candela\":{}//\n}}", 3)
	f.Fuzz(func(t *testing.T, text string, which int) {
		all := clients()
		c := all[(which%len(all)+len(all))%len(all)]
		checkEdit(t, c, text)
	})
}

// checkEdit sets the entry in any text, sets it again and removes it. A text may be refused,
// and never for a defect of the editor.
func checkEdit(t *testing.T, c Client, text string) {
	t.Helper()
	set, err := c.Set(text, "candela", local)
	if err != nil {
		if errors.Is(err, errUnexpectedEdit) || strings.Contains(err.Error(), "was not written") {
			t.Fatalf("%v: %q", err, text)
		}
		return
	}
	if again, err := c.Set(set, "candela", local); err != nil || again != set {
		t.Fatalf("not idempotent: %v\n%q\n%q", err, set, again)
	}
	if _, err := c.Remove(set, "candela"); err != nil {
		t.Fatalf("%v: %q", err, set)
	}
	_ = Diff("f", text, set)
}

// Every command and argument can be written for every client, and is read back as it was.
func TestSet_AnyServer_Property(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := clients()
		c := all[rapid.IntRange(0, len(all)-1).Draw(t, "client")]
		text := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune("\"'\\#:{}[]&*!|>%@`,-? \t\n\r\x7f\u0085\u2028\uFEFF\uFFFE"))))
		s := Server{Command: text.Draw(t, "command"), Args: rapid.SliceOfN(text, 0, 3).Draw(t, "arguments")}
		set, err := c.Set("", "candela", s) // which compares the values itself
		if err != nil {
			t.Fatalf("%s: %v in %q", c.Name, err, s)
		}
		if again, err := c.Set(set, "candela", s); err != nil || again != set {
			t.Fatalf("not idempotent: %v\n%q\n%q", err, set, again)
		}
	})
}
