package install

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

const gooseEntry = `  candela:
    enabled: true
    type: "stdio"
    name: "candela"
    description: "Charts, indicators, alerts and trading"
    cmd: "/usr/bin/candela"
    args: ["--mcp", "--trade"]
    timeout: 300
`

func TestSetYAML(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		server        Server
		before, after string
	}{
		"no file":         {local, "", "extensions:\n" + gooseEntry},
		"an empty object": {local, "{}\n", "extensions:\n" + gooseEntry},
		"only a comment":  {local, "# mine\n", "# mine\nextensions:\n" + gooseEntry},
		"a document mark": {local, "---\n", "---\nextensions:\n" + gooseEntry},
		"after what is there": {
			local,
			"# my settings\nGOOSE_MODEL: x # the model\n\nhint: |+\n  extensions:\n  # no comment\n\n",
			"# my settings\nGOOSE_MODEL: x # the model\n\nhint: |+\n  extensions:\n  # no comment\n\nextensions:\n" + gooseEntry,
		},
		"no line break at the end": {local, "GOOSE_MODEL: x", "GOOSE_MODEL: x\nextensions:\n" + gooseEntry},
		"a NaN at the end":         {local, "a: .nan", "a: .nan\nextensions:\n" + gooseEntry},
		"no extensions yet":        {local, "extensions: {} # none\nA: 1\n", "extensions: # none\n" + gooseEntry + "A: 1\n"},
		"null":                     {local, "extensions: null\n", "extensions:\n" + gooseEntry},
		"a key without a value":    {local, "extensions:\n# end\n", "extensions:\n" + gooseEntry + "# end\n"},
		"beside others, with their indentation": {
			remote,
			"extensions:\n    # of the system\n    developer:\n        enabled: true\n        type: builtin\nA: 1\n",
			"extensions:\n    candela:\n        enabled: true\n        type: \"streamable_http\"\n        name: \"candela\"\n        description: \"Charts, indicators, alerts and trading\"\n" +
				"        uri: \"https://charts.example.com/mcp\"\n        timeout: 300\n    # of the system\n    developer:\n        enabled: true\n        type: builtin\nA: 1\n",
		},
		"an entry as Goose writes it stays": {
			local,
			"extensions:\n  candela:\n    enabled: false\n    type: stdio\n    name: Candela\n    description: ''\n    cmd: /usr/bin/candela\n    args:\n    - --mcp\n    - --trade\n    envs:\n      A: b\n    env_keys: []\n    timeout: 60\n    bundled: null\n",
			"extensions:\n  candela:\n    enabled: false\n    type: stdio\n    name: Candela\n    description: ''\n    cmd: /usr/bin/candela\n    args:\n    - --mcp\n    - --trade\n    envs:\n      A: b\n    env_keys: []\n    timeout: 60\n    bundled: null\n",
		},
		"an entry keeps what is the user's": {
			remote,
			"extensions:\n  x:\n    enabled: true\n\n  # mine\n  candela:\n    enabled: false\n    type: stdio # local\n    cmd: candela\n    args: # two\n    - --mcp\n\n    # why\n    envs: {A: b}\n  y:\n    enabled: true\n",
			"extensions:\n  x:\n    enabled: true\n\n  # mine\n  candela:\n    name: \"candela\"\n    description: \"Charts, indicators, alerts and trading\"\n    uri: \"https://charts.example.com/mcp\"\n    timeout: 300\n" +
				"    enabled: false\n    type: \"streamable_http\" # local\n\n    # why\n    envs: {A: b}\n  y:\n    enabled: true\n",
		},
		"an entry without keys": {local, "extensions:\n  candela: {}\n", "extensions:\n" + gooseEntry},
		"line ends of Windows": {
			Server{Command: `C:\Program Files\candela.exe`, Args: []string{"--mcp"}},
			"\uFEFFA: 1\r\n",
			"\uFEFFA: 1\r\nextensions:\r\n  candela:\r\n    enabled: true\r\n    type: \"stdio\"\r\n    name: \"candela\"\r\n    description: \"Charts, indicators, alerts and trading\"\r\n" +
				"    cmd: 'C:\\Program Files\\candela.exe'\r\n    args: [\"--mcp\"]\r\n    timeout: 300\r\n",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := client(t, "goose")
			got, err := c.Set(tt.before, "candela", tt.server)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.after, got); diff != "" {
				t.Error(diff)
			}
			if again, err := c.Set(got, "candela", tt.server); err != nil || again != got {
				t.Errorf("a second time changes it: %v\n%s", err, again)
			}
		})
	}
}

func TestRemoveYAML(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ before, after string }{
		"no file":      {"", ""},
		"not there":    {"extensions:\n  x: {}\n", "extensions:\n  x: {}\n"},
		"the only one": {"extensions: # all\n  # ours\n" + gooseEntry + "# end\nA: 1\n", "extensions: {} # all\n  # ours\n# end\nA: 1\n"},
		"the last":     {"extensions:\n  x:\n    enabled: true\n\n" + gooseEntry + "    # inside\n\nA: 1\n", "extensions:\n  x:\n    enabled: true\n\n\nA: 1\n"},
		"the first":    {"extensions:\n" + gooseEntry + "  # of x\n  x:\n    enabled: true\n", "extensions:\n  # of x\n  x:\n    enabled: true\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := client(t, "goose").Remove(tt.before, "candela")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.after, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSetYAML_RefusesWhatItDoesNotEdit(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		before string
		line   int
		reason string
	}{
		"half a file":                     {"a: [1\n", 1, "did not find expected"},
		"a list":                          {"- a\n", 1, "the file must be a mapping"},
		"braces":                          {"{a: 1}\n", 1, "the file is in braces"},
		"extensions in braces":            {"a: 1\nextensions: {x: {}}\n", 2, `"extensions" is in braces`},
		"an entry in braces":              {"extensions:\n  candela: {cmd: x}\n", 2, `"candela" is in braces`},
		"extensions in a list":            {"extensions:\n- a\n", 2, `"extensions" must be a mapping`},
		"an entry that is none":           {"extensions:\n  candela: 1\n", 2, `"candela" must be a mapping`},
		"a key twice":                     {"a: 1\na: 2\n", 2, "already defined"},
		"two documents":                   {"a: 1\n---\nb: 1\n", 1, "one YAML document"},
		"an end of the document":          {"a: 1\n...\n", 2, "ends the document"},
		"an alias":                        {"a: &x {}\nextensions: *x\n", 2, `"extensions" must be a mapping`},
		"an anchor":                       {"extensions: &x\n  a: {}\nb: *x\n", 1, "anchor"},
		"an anchor in what goes":          {"extensions:\n  candela:\n    cmd: &x a\nb: *x\n", 2, `"candela" has an anchor`},
		"a merge":                         {"a: &x {}\nextensions:\n  <<: *x\n", 3, "without anchors and merges"},
		"a tag":                           {"extensions: !!map\n  a: {}\n", 1, "tag"},
		"a key with a mark":               {"? extensions\n: a: {}\n", 1, "at the beginning of a line"},
		"a tab":                           {"a:\n\t- 1\n", 2, "cannot start any token"},
		"a line break of old Macs":        {"a: 1\rb: 2\n", 1, "a line ends"},
		"a value that ends with the file": {"a: |\n  x", 2, "has no line break"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := client(t, "goose").Set(tt.before, "candela", local)
			bad, ok := errors.AsType[*SyntaxError](err)
			if !ok {
				t.Fatalf("%v", err)
			}
			if bad.Line != tt.line || !strings.Contains(bad.Reason, tt.reason) {
				t.Error(bad)
			}
		})
	}
}

func TestSetYAML_ErrorsHaveNoValues(t *testing.T) {
	t.Parallel()
	_, err := client(t, "goose").Set("a: !!int hush\n", "candela", local)
	if err == nil || strings.Contains(err.Error(), "hush") {
		t.Error(err)
	}
}

// Names that YAML would read as numbers, dates or truth values stay names.
func TestSetYAML_QuotesNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"candela": "candela", "1": `"1"`, "no": `"no"`, "true": `"true"`, "2024-01-02": `"2024-01-02"`, "---": `"---"`, "-": `"-"`, "null": `"null"`, "1_0": `"1_0"`} {
		got, err := client(t, "goose").Set("", name, local)
		if err != nil || !strings.HasPrefix(got, "extensions:\n  "+want+":\n") {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
}

// drawYAML draws a file as people and Goose write it, with comments and blank lines in every
// position.
func drawYAML(t *rapid.T) string {
	var b strings.Builder
	between := func(indent string) {
		b.WriteString(rapid.SampledFrom([]string{"", "", "", "\n", "# a: {\n", indent + "# c\n", "\n" + indent + "# \"'|\n\n"}).Draw(t, "between"))
	}
	unit := rapid.SampledFrom([]string{"  ", "    "}).Draw(t, "unit")
	value := func(indent string) string {
		return rapid.SampledFrom([]string{
			" 1", " x # why", " 'a # b'", ` "é: \"x"`, " {a: [1, {b: c}]} # c", " null", "", " ~", " [] # none", " 2024-01-01", " 0x1F", " .nan",
			" |\n" + indent + unit + "# no comment\n" + indent + unit + "extensions:", " >-\n" + indent + unit + "folded\n\n" + indent + unit + "text",
			"\n" + indent + "- a\n" + indent + "- b: 1\n" + indent + "  c: 2", "\n" + indent + unit + "a: 1\n" + indent + unit + "# in\n" + indent + unit + "b:\n" + indent + unit + unit + "c: 2",
			" plain text\n" + indent + unit + "over lines", " \"quoted\n\n" + indent + unit + "over lines\"",
		}).Draw(t, "value")
	}
	pairs := func(indent string, keys []string) {
		for _, key := range keys {
			between(indent)
			b.WriteString(indent + key + ":" + value(indent) + "\n")
		}
	}
	some := func(label string, keys ...string) []string {
		return rapid.SliceOfNDistinct(rapid.SampledFrom(keys), 0, 4, rapid.ID[string]).Draw(t, label)
	}
	b.WriteString(rapid.SampledFrom([]string{"", "---\n", "# head\n"}).Draw(t, "head"))
	pairs("", some("before", "GOOSE_MODEL", "a", "\"x y\"", "é"))
	if rapid.Bool().Draw(t, "has extensions") {
		between("")
		b.WriteString(rapid.SampledFrom([]string{"extensions:\n", "\"extensions\" : # all\n"}).Draw(t, "extensions"))
		names := some("names", "developer", "memory", "'x'")
		if rapid.Bool().Draw(t, "has candela") {
			names = rapid.Permutation(append(names, "candela")).Draw(t, "order")
		}
		for _, name := range names {
			between(unit)
			b.WriteString(unit + name + ":" + rapid.SampledFrom([]string{"", " # here"}).Draw(t, "remark") + "\n")
			pairs(unit+unit, append(some("keys", "type", "cmd", "args", "uri", "envs", "timeout", "name"), "enabled"))
		}
		between(unit)
	}
	pairs("", some("after", "k", "l", "GOOSE_MODE"))
	between("")
	return b.String()
}

// The rest of a file stays: every line but those of the server, and every value.
func TestSetYAML_KeepsTheRest_Property(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := client(&testing.T{}, "goose")
		text := drawYAML(t)
		before := make(map[string]any)
		if err := yaml.Unmarshal([]byte(text), &before); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		s := rapid.SampledFrom([]Server{local, remote}).Draw(t, "server")
		set, err := c.Set(text, "candela", s)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if again, err := c.Set(set, "candela", s); err != nil || again != set {
			t.Fatalf("not idempotent: %v\n%s\n%s", err, set, again)
		}
		other, err := c.Set(set, "candela", rapid.SampledFrom([]Server{local, remote}).Draw(t, "other"))
		if err != nil {
			t.Fatalf("%v in\n%s", err, set)
		}
		removed, err := c.Remove(other, "candela")
		if err != nil {
			t.Fatalf("%v in\n%s", err, other)
		}
		servers, _ := before["extensions"].(map[string]any)
		if _, had := servers["candela"]; had {
			return
		}
		if !isSubsequence(strings.SplitAfter(text, "\n"), strings.SplitAfter(set, "\n")) {
			t.Fatalf("lines are lost\n%s\n%s", text, set)
		}
		if len(servers) > 0 && removed != text {
			t.Fatalf("install and remove leave a trace\n%s\n%s", text, removed)
		}
		var after map[string]any
		if err := yaml.Unmarshal([]byte(removed), &after); err != nil {
			t.Fatalf("%v in\n%s", err, removed)
		}
		delete(after, "extensions")
		delete(before, "extensions")
		if fmt.Sprint(after) != fmt.Sprint(before) {
			t.Fatalf("%#v\n%#v", before, after)
		}
	})
}

// Any text is refused before it is edited, or edited as intended.
func FuzzSetYAML(f *testing.F) {
	for _, seed := range []string{
		"extensions:\n" + gooseEntry, "a: |+\n  x\n\nextensions: {} # c\nb: >-\n  y", "extensions:\n  candela:\n    cmd: x # c\n    args:\n    - a\n    # d\n    envs: {A: b}\n\n\n",
		"? a\n: b\n", "--- # c\n\"extensions\" : ~\n", "extensions:\n  'candela': {}\n  <<: *a\n", "extensions:\n candela: null\n x: !!str\n", "a: &x 1\nb: *x\n", "%YAML 1.1\n---\na: 1\n",
		"extensions:\n  candela:\n    ? cmd\n    : x\n", "extensions:\n  x: |\n   # y\n# z\nk: \"a\n\n b\"\n", "\textensions: {\n}\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		checkEdit(t, client(t, "goose"), text)
	})
}
