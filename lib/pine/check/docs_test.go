package check

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/pine-names.md")

const pageHead = `# Names of Pine

This page is the reference: every name of the language. [pine.md](pine.md) is the guide. ` + "`go test ./lib/pine/check -run Docs -update`" + ` writes
this page from the tables of the checker. A name is supported unless it says otherwise. Arguments with a question mark may be left out.
`

// TestDocs_Pine holds docs/pine-names.md to the tables: go test ./lib/pine/check -run Docs -update.
func TestDocs_Pine(t *testing.T) {
	t.Parallel()
	var page bytes.Buffer
	page.WriteString(pageHead)
	names := Names()
	for _, section := range []struct{ kind, title, head string }{
		{"function", "Functions", "| Function | Support |\n|---|---|\n"},
		{"variable", "Variables", "| Variable | Type | Support |\n|---|---|---|\n"},
		{"constant", "Constants", "| Constants | Type |\n|---|---|\n"},
	} {
		fmt.Fprintf(&page, "\n## %s\n\n%s", section.title, section.head)
		constants := map[string][]string{}
		var order []string
		for _, n := range names {
			if n.Kind != section.kind {
				continue
			}
			switch n.Kind {
			case "function":
				fmt.Fprintf(&page, "| `%s` | %s |\n", strings.Join(n.Forms, "`<br>`"), supportWords(n))
			case "variable":
				fmt.Fprintf(&page, "| `%s` | %s | %s |\n", n.Name, n.Type, supportWords(n))
			default:
				i := strings.LastIndexByte(n.Name, '.')
				key := "`" + n.Name[:i] + ".` %s | " + n.Type
				if constants[key] == nil {
					order = append(order, key)
				}
				constants[key] = append(constants[key], n.Name[i+1:])
			}
		}
		for _, key := range order {
			fmt.Fprintf(&page, "| "+key+" |\n", strings.Join(constants[key], ", "))
		}
	}
	const path = "../../../docs/pine-names.md"
	if *update {
		if err := os.WriteFile(path, page.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, page.Bytes()) {
		t.Error("docs/pine-names.md differs from the tables; run go test ./lib/pine/check -run Docs -update")
	}
}

func supportWords(n Name) string {
	switch n.Support {
	case NoEffect:
		return "accepted without effect"
	case Refused:
		return "refused: " + n.Reason
	default:
		return "supported"
	}
}
