package check

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/pine.md")

const pageHead = `# Pine Script

candela checks and runs scripts in Pine Script, versions 5 and 6. Pine Script is a trademark of TradingView. candela is compatible
with a documented part of the language, is not affiliated with TradingView, and contains none of its code.

Check a script before you use it:

` + "```sh outside\ncandela script check my_cross.pine\n```" + `

Each error has a line, a column, a code and, where one is known, a fix. [Differences](#differences) lists what candela does otherwise,
[names](#names) every name of the language.

## Versions

Versions 5 and 6 are read, by the ` + "`//@version=`" + ` line. Older scripts are refused with the new names of what they use.

## Libraries

` + "`import user/name/3`" + ` reads the file ` + "`user.name.3.pine`" + ` beside the script. Nothing is fetched over a network. ` + "`TradingView/ta`" + ` is
built in: candela has its own implementation of most of its functions.

## Differences

- The newest bar is computed on top of the closed ones and taken back before the next: a script gives the same values in a chart, an
  alert and a back-test. ` + "`varip`" + ` acts as ` + "`var`" + `; where ` + "`calc_on_order_fills`" + ` computes a bar again, numbers and booleans keep their value.
- ` + "`bar_index`" + ` counts from the first bar that candela has loaded.
- ` + "`lookahead_on`" + ` without ` + "`[1]`" + ` shows the bar as built so far, never the future.
- Alerts fire when a bar closes, whatever the frequency says.
- Requests of other symbols and of shorter intervals work in charts and back-tests, where candela has bars of them: at most 8 for a chart,
  15,000 bars of another symbol or a shorter interval each, the newest. Alerts have the bars of their own symbol only and refuse such a script.
- ` + "`" + `matrix.eigenvalues` + "`" + ` gives the largest first, of complex ones the real part; their eigenvectors are na.

## Public scripts

642 distinct indicators of versions 5 and 6 from 17 public repositories, measured on 2026-11-17 with
` + "`" + `go run ./internal/testkit/pinerate -v -run 400 DIRECTORY` + "`" + `. The scripts are not part of candela.

| | Indicators | Share |
|---|---:|---:|
| compile, with the libraries that the repositories have | 561 | 87.4 % |
| compile without the source of any library | 545 | 84.9 % |
| compile and run over 400 bars | 539 | 84.0 % |
| compile and run over 400 bars in PineTS 0.9.34 | 476 | 74.1 % |

81 do not compile. 67 of them break rules of the language, so TradingView refuses them as well: arguments given twice or that do
not exist (30), names that nothing declares (15), syntax and layout (7), outputs in a block (6), types (5), a function that assigns
a global variable (3), an order in an indicator (1). The other 14 need libraries whose source is not in the repositories (7), data
that candela does not have (5), or more than a limit allows (2). Of the 575 scripts without such faults, 97.6 % compile.

Each of the 561 indicators and 87 strategies that compile gives the same bits over 300 bars as a stream, as a stream with tries of
forming bars between, restored at random bars, and with its functions computed ahead as on a chart (` + "`pinerate -run 300 -same`" + `).

## Limits

| Limit | Value | Code |
|---|---|---|
| source | 256 KiB | ` + "`pine_size`" + ` |
| tokens; nesting | 200,000; 64 | ` + "`pine_size`" + ` |
| places with state in the tree of calls | 20,000 | ` + "`pine_calls`" + ` |
| plots | 64 | ` + "`pine_plots`" + ` |
| requests | 64 | ` + "`pine_requests`" + ` |

## Names

Generated from the tables of the checker. A name is supported unless it says otherwise. Arguments with a question mark may be left
out.
`

// TestDocs_Pine holds docs/pine.md to the tables: go test ./lib/pine/check -run Docs -update.
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
		fmt.Fprintf(&page, "\n### %s\n\n%s", section.title, section.head)
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
	const path = "../../../docs/pine.md"
	if *update {
		if err := os.WriteFile(path, page.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(have, page.Bytes()) {
		t.Errorf("docs/pine.md differs from the tables; run go test ./lib/pine/check -run Docs -update (%v)", err)
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
