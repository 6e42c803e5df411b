package cli

import (
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// Paint colours words where a terminal shows them. NO_COLOR and TERM=dumb turn it off.
type Paint struct{ on bool }

// PaintFor returns the colours of an output.
func PaintFor(w io.Writer, environ []string) Paint {
	for _, name := range environ {
		if value, ok := strings.CutPrefix(name, "NO_COLOR="); ok && value != "" || name == "TERM=dumb" {
			return Paint{}
		}
	}
	return Paint{Terminal(w)}
}

// Terminal reports whether a person reads an output.
func Terminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Good colours what is well, and a profit.
func (p Paint) Good(s string) string { return p.in("32", s) }

// Bad colours what went wrong, and a loss.
func (p Paint) Bad(s string) string { return p.in("31", s) }

// Warn colours what needs attention.
func (p Paint) Warn(s string) string { return p.in("33", s) }

// Dim colours what is secondary.
func (p Paint) Dim(s string) string { return p.in("2", s) }

func (p Paint) in(code, s string) string {
	if !p.on || s == "" {
		return s
	}
	return "\033[" + code + "m" + s + "\033[0m"
}

// Cell is a cell of a table: its text, and how it is coloured.
type Cell struct {
	Text  string
	Paint func(string) string // nil for no colour
	Right bool                // numbers end at the right
}

// Rows aligns the cells of rows. Colours take no room.
func Rows(rows [][]Cell) []string {
	var widths []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c.Text))
		}
	}
	lines := make([]string, len(rows))
	for k, row := range rows {
		var line strings.Builder
		for i, c := range row {
			text, pad := c.Text, strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.Text))
			if c.Paint != nil {
				text = c.Paint(text)
			}
			if i > 0 {
				line.WriteString("  ")
			}
			if c.Right {
				text, pad = pad+text, ""
			}
			line.WriteString(text + pad)
		}
		lines[k] = strings.TrimRight(line.String(), " ")
	}
	return lines
}
