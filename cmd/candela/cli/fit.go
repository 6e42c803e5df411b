package cli

import (
	"bytes"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// narrowest is the width below which lines are left to the terminal.
const narrowest = 40

// Fit returns a writer that breaks the lines of tables at the width of a terminal, below the beginning of their last
// column. What is no terminal gets whole lines.
func Fit(w io.Writer) io.Writer {
	file, ok := w.(*os.File)
	if !ok || !Terminal(w) {
		return w
	}
	return FitTo(w, columns(file))
}

// Width returns how many characters a line of a terminal has, 0 for what is none.
func Width(w io.Writer) int {
	if file, ok := w.(*os.File); ok && Terminal(w) {
		if n := columns(file); n >= narrowest {
			return n
		}
	}
	return 0
}

// Table returns a writer of tables that fit an output: cells end with tabs, and Flush writes them.
func Table(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(Fit(w), 0, 0, 2, ' ', 0) }

// FitTo returns a writer that breaks lines at a width.
func FitTo(w io.Writer, width int) io.Writer {
	if width < narrowest {
		return w
	}
	return &fitting{to: w, width: width}
}

// fitting holds the line that is being written.
type fitting struct {
	to    io.Writer
	width int
	line  []byte
}

// Write passes whole lines on.
func (f *fitting) Write(p []byte) (int, error) {
	f.line = append(f.line, p...)
	for {
		line, rest, whole := bytes.Cut(f.line, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		_, err := io.WriteString(f.to, broken(string(line), f.width)+"\n")
		f.line = bytes.Clone(rest)
		if err != nil {
			return 0, err
		}
	}
}

// broken breaks a line at spaces.
func broken(line string, width int) string {
	if shownWidth(line) <= width {
		return line
	}
	indent := lastColumn(line, width*2/3)
	var out strings.Builder
	at := 0 // characters of the line that is written
	for i, word := range strings.Split(line, " ") {
		n := shownWidth(word)
		switch {
		case i == 0:
		case at+1+n > width && at > indent:
			out.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		default:
			out.WriteByte(' ')
			at++
		}
		out.WriteString(word)
		at += n
	}
	return strings.ReplaceAll(out.String(), " \n", "\n")
}

// shownWidth is the number of characters that a terminal shows of a text: colours take no room.
func shownWidth(text string) int {
	n := utf8.RuneCountInString(text)
	for {
		_, rest, coloured := strings.Cut(text, "\033[")
		if !coloured {
			return n
		}
		code, after, ends := strings.Cut(rest, "m")
		if !ends {
			return n
		}
		n -= len("\033[") + len(code) + len("m")
		text = after
	}
}

// lastColumn returns where the last column of a line begins that is left of most, 4 where there is none: columns are
// two spaces apart.
func lastColumn(line string, most int) int {
	start := 0
	for i, text := 0, []rune(line); i < min(len(text), most); i++ {
		if i > 1 && text[i] != ' ' && text[i-1] == ' ' && text[i-2] == ' ' {
			start = i
		}
	}
	if start == 0 {
		return 4
	}
	return start
}
