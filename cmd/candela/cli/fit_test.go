package cli_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"candela/cmd/candela/cli"
)

// TestFit_BreaksBelowTheLastColumn holds that a table fits a terminal, keeps every word, and that files get whole lines.
func TestFit_BreaksBelowTheLastColumn(t *testing.T) {
	t.Parallel()
	const table = "RULE          LIMIT  DENIES\naccount_mode  none   In perpetual futures, an order that opens a position while the account is in hedge mode.\nshort         1      One.\n"
	var out bytes.Buffer
	fmt.Fprint(cli.FitTo(&out, 60), table[:30], table[30:])
	want := "RULE          LIMIT  DENIES\naccount_mode  none   In perpetual futures, an order that\n                     opens a position while the account is\n                     in hedge mode.\nshort         1      One.\n"
	if out.String() != want {
		t.Errorf("%s\nwant\n%s", &out, want)
	}
	for _, width := range []int{40, 60, 80, 120} {
		var out bytes.Buffer
		fmt.Fprint(cli.FitTo(&out, width), table)
		for line := range strings.Lines(out.String()) {
			if n := len(strings.TrimRight(line, "\n")); n > width {
				t.Errorf("a line of %d characters in %d: %s", n, width, line)
			}
		}
		if got, want := strings.Fields(out.String()), strings.Fields(table); strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("at %d the words are %q", width, got)
		}
	}
	var file bytes.Buffer
	if fmt.Fprint(cli.Fit(&file), table); file.String() != table {
		t.Errorf("a file gets %s", &file)
	}
}
