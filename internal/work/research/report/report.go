// Package report keeps the whole result of a back-test, a test of an alert or a scan, of
// which an answer shows the beginning: as tables, as a picture and as a page.
package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"candela/internal/kit/strictjson"
	"candela/lib/backtest"
	"candela/lib/chart"
	"candela/lib/fault"
	"candela/lib/market"
)

// Table is one part of a report.
type Table struct {
	Name    string
	Columns []string
	Len     int
	Row     func(i int) []any // texts, whole numbers and float64
}

// Section is a list of named facts on the page of a report.
type Section struct {
	Title string
	Facts [][2]string
}

// Report is a whole result.
type Report struct {
	ID       string
	Title    string
	Of       string // the script or the rules of a back-test
	Answer   []byte // what the tool answered
	Tables   []Table
	Sections []Section // for the page, what limits the result first
	Curve    *Curve    // nil if there is no picture
}

// SetAnswer keeps an answer as its clients get it: as JSON.
func (r *Report) SetAnswer(answer any) (err error) {
	if r.Answer, err = strictjson.Marshal(answer); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

// PictureIn describes the picture in the theme of a name. A report without a picture is an error.
func (r *Report) PictureIn(theme string) (*chart.Spec, error) {
	t, err := chart.ParseTheme(theme)
	switch {
	case err != nil:
		return nil, err
	case r.Curve == nil:
		return nil, fault.Field("output", "a picture", "it with candela backtest: only a back-test has a picture")
	}
	return r.Curve.Picture(t), nil
}

// Curve is what the picture of a back-test shows.
type Curve struct {
	Run      *backtest.Run
	Symbol   string
	Interval market.Interval
	Sample   bool
	Facts    []string // for the header
	Warning  string   // for the header, in the warning colour
	// OutOfSample is the first bar that was not used to choose parameters, 0 for none.
	OutOfSample int
}

// Table returns the part with a name.
func (r *Report) Table(name string) (*Table, bool) {
	for i := range r.Tables {
		if r.Tables[i].Name == name {
			return &r.Tables[i], true
		}
	}
	return nil, false
}

// Names returns the names of the parts.
func (r *Report) Names() []string {
	names := make([]string, 0, len(r.Tables)+1)
	for i := range r.Tables {
		names = append(names, r.Tables[i].Name)
	}
	if r.Curve != nil {
		names = append(names, PicturePart)
	}
	return names
}

// PicturePart is the name of the picture among the parts.
const PicturePart = "picture"

// size is about how many bytes the report holds.
func (r *Report) size() int {
	n := len(r.Answer) + 1024
	if r.Curve != nil {
		const bar, trade = 64, 200
		n += bar*r.Curve.Run.Bars.Len() + trade*len(r.Curve.Run.Trades)
	}
	for i := range r.Tables {
		n += 48 * len(r.Tables[i].Columns) * r.Tables[i].Len / 4
	}
	return n
}

// Text writes a value of a table.
func Text(v any) string {
	switch x := v.(type) {
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return ""
		}
		return strconv.FormatFloat(x, 'f', -1, 64)
	default:
		return fmt.Sprint(v)
	}
}

// CSV writes the table with its columns in the first line.
func (t *Table) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	if err := out.Write(t.Columns); err != nil {
		return err
	}
	line := make([]string, len(t.Columns))
	for i := range t.Len {
		for k, v := range t.Row(i) {
			line[k] = Text(v)
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// Printing is how a report is printed.
type Printing struct {
	Width int                             // of the tables in characters; 0 for any
	Paint func(class, text string) string // colours a text: profits are up, losses down, headings head, flags warn
}

// Print writes the sections and the tables that are short, for a terminal.
func (r *Report) Print(w io.Writer, how Printing) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, r.Title)
	for _, s := range r.Sections {
		fmt.Fprintf(out, "\n%s\n", s.Title)
		for _, f := range s.Facts {
			text := signed(f[1])
			if f[0] == "Flags" && f[1] != "none" {
				text = how.Paint("warn", text)
			}
			fmt.Fprintf(out, "  %s\t%s\n", f[0], text)
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	for i := range r.Tables {
		t := &r.Tables[i]
		if slices.Contains([]string{"trades", "equity", "months", "firings"}, t.Name) || t.Len == 0 {
			continue
		}
		shown := tableOf(t)
		lines := append([][]cell{shown.Columns}, shown.Rows[:min(len(shown.Rows), mostPrinted)]...)
		text := "\n" + shown.Title + "\n" + how.aligned(lines)
		if t.Len > mostPrinted {
			text += fmt.Sprintf("  and %d more\n", t.Len-mostPrinted)
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
	}
	return nil
}

// aligned writes rows of cells, the first of which is the head, in columns: numbers end at the right.
// A table that is wider than the terminal becomes several, which all begin with the first column.
func (p Printing) aligned(rows [][]cell) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for k, c := range row {
			widths[k] = max(widths[k], 2+utf8.RuneCountInString(c.Text))
		}
	}
	var parts []string
	for from := 1; from == 1 || from < len(widths); {
		to, at := from, widths[0]
		for to < len(widths) && (p.Width == 0 || to == from || at+widths[to] <= p.Width) {
			at += widths[to]
			to++
		}
		parts = append(parts, p.columns(rows, widths, from, to))
		from = max(to, from+1)
	}
	return strings.Join(parts, "\n")
}

// columns writes the first column and those in [from, to).
func (p Printing) columns(rows [][]cell, widths []int, from, to int) string {
	var out strings.Builder
	for i, row := range rows {
		var line strings.Builder
		for k, c := range row {
			if k > 0 && (k < from || k >= to) {
				continue
			}
			number, class, _ := strings.Cut(c.Class, " ")
			if i == 0 {
				class = "head"
			}
			text, pad := p.Paint(class, c.Text), strings.Repeat(" ", widths[k]-2-utf8.RuneCountInString(c.Text))
			if number == "n" {
				text, pad = pad+text, ""
			}
			line.WriteString("  " + text + pad)
		}
		out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return out.String()
}

// mostPrinted is the number of rows of a table on a terminal.
const mostPrinted = 100
