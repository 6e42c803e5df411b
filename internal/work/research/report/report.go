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

// Print writes the sections and the tables that are short, for a terminal.
func (r *Report) Print(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, r.Title)
	for _, s := range r.Sections {
		fmt.Fprintf(out, "\n%s\n", s.Title)
		for _, f := range s.Facts {
			fmt.Fprintf(out, "  %s\t%s\n", f[0], f[1])
		}
	}
	for i := range r.Tables {
		t := &r.Tables[i]
		if slices.Contains([]string{"trades", "equity", "months", "firings"}, t.Name) || t.Len == 0 {
			continue
		}
		shown := tableOf(t)
		fmt.Fprintf(out, "\n%s\n  %s\n", shown.Title, joined(shown.Columns))
		for _, row := range shown.Rows[:min(len(shown.Rows), mostPrinted)] {
			fmt.Fprintf(out, "  %s\n", joined(row))
		}
		if t.Len > mostPrinted {
			fmt.Fprintf(out, "  and %d more\n", t.Len-mostPrinted)
		}
	}
	return out.Flush()
}

// joined returns the texts of cells for a tabwriter.
func joined(cells []cell) string {
	texts := make([]string, len(cells))
	for i, c := range cells {
		texts[i] = c.Text
	}
	return strings.Join(texts, "\t")
}

// mostPrinted is the number of rows of a table on a terminal.
const mostPrinted = 100
