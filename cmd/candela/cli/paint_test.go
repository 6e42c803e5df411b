package cli_test

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"candela/cmd/candela/cli"
)

// TestPaint_OnlyOnATerminal holds that nothing but a terminal gets colours, and none where NO_COLOR asks for none.
func TestPaint_OnlyOnATerminal(t *testing.T) {
	t.Parallel()
	terminal, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // a character device, as terminals are
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = terminal.Close() }()
	for _, c := range []struct {
		name  string
		paint cli.Paint
		want  string
	}{
		{"a file", cli.PaintFor(new(bytes.Buffer), nil), "-5"},
		{"a terminal", cli.PaintFor(terminal, []string{"NO_COLOR=", "TERM=xterm"}), "\033[31m-5\033[0m"},
		{"NO_COLOR", cli.PaintFor(terminal, []string{"NO_COLOR=1"}), "-5"},
		{"a dumb terminal", cli.PaintFor(terminal, []string{"TERM=dumb"}), "-5"},
	} {
		if got := c.paint.Bad("-5"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestRows_AlignPaintedCells(t *testing.T) {
	t.Parallel()
	red := func(s string) string { return "<" + s + ">" }
	got := cli.Rows([][]cli.Cell{{{Text: "SYMBOL"}, {Text: "NOW", Right: true}, {Text: "END"}}, {{Text: "Zürich"}, {Text: "-12.5", Paint: red, Right: true}}})
	if want := []string{"SYMBOL    NOW  END", "Zürich  <-12.5>"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
