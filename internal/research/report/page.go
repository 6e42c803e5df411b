package report

import (
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"candela/internal/analysis/performance"
)

//go:embed page.html
var pageText string

// mostRows is the number of rows that a table on the page has.
const mostRows = 500

type cell struct{ Class, Text string }

type pageTable struct {
	Title     string
	Columns   []cell
	Rows      [][]cell
	All, Left int
}

type pageYear struct {
	Year  int
	Cells []cell
}

type page struct {
	Title    string
	Sections []Section
	Light    template.URL
	Dark     template.Srcset // a URL would have its comma escaped
	Months   []string
	Years    []pageYear
	Tables   []pageTable
}

// HTML writes the report as one page without scripts and without anything from outside. The
// pictures are PNG files, or nil.
func (r *Report) HTML(w io.Writer, light, dark []byte) error {
	t, err := template.New("page").Parse(pageText)
	if err != nil {
		return fmt.Errorf("report page: %w", err)
	}
	p := page{Title: r.Title, Sections: r.Sections, Light: dataURL(light), Dark: template.Srcset(dataURL(dark))} //nolint:gosec // G203: our own picture
	if r.Curve != nil {
		p.years(r.Curve.Run.Summary(1).Months)
	}
	for i := range r.Tables {
		if t := &r.Tables[i]; !slices.Contains([]string{"equity", "months"}, t.Name) && t.Len > 0 {
			p.Tables = append(p.Tables, tableOf(t))
		}
	}
	return t.Execute(w, p)
}

func dataURL(png []byte) template.URL {
	if png == nil {
		return ""
	}
	return template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(png)) //nolint:gosec // G203: our own picture
}

// years makes a table of months, with the return of each year.
func (p *page) years(months []performance.Month) {
	for m := time.January; m <= time.December; m++ {
		p.Months = append(p.Months, m.String()[:3])
	}
	for i := 0; i < len(months); {
		y := pageYear{Year: months[i].Year, Cells: make([]cell, 13)}
		growth := 1.0
		for ; i < len(months) && months[i].Year == y.Year; i++ {
			y.Cells[months[i].Month-1] = percentCell(months[i].Percent)
			growth *= 1 + months[i].Percent/100
		}
		y.Cells[12] = percentCell((growth - 1) * 100)
		p.Years = append(p.Years, y)
	}
}

func percentCell(x float64) cell {
	c := cell{"up", fmt.Sprintf("%+.2f", x)}
	if x < 0 {
		c.Class = "down"
	}
	return c
}

// tableOf makes the newest rows of a table, the last first.
func tableOf(t *Table) pageTable {
	out := pageTable{Title: strings.ToUpper(t.Name[:1]) + t.Name[1:], Columns: headings(t), All: t.Len, Left: max(0, t.Len-mostRows)}
	for i := t.Len - 1; i >= out.Left; i-- {
		row := make([]cell, 0, len(t.Columns))
		for k, v := range t.Row(i) {
			row = append(row, cellOf(t.Columns[k], v))
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// headings returns the names of columns as people read them, above their values.
func headings(t *Table) []cell {
	out := make([]cell, len(t.Columns))
	for i, v := range t.Row(0) {
		name := strings.ReplaceAll(strings.ReplaceAll(t.Columns[i], "_pct", " %"), "_", " ")
		if out[i] = (cell{"", name}); strings.HasPrefix(cellOf(t.Columns[i], v).Class, "n") {
			out[i].Class = "n"
		}
	}
	return out
}

// cellOf writes a value of a column as people read it.
func cellOf(column string, v any) cell {
	switch x := v.(type) {
	case float64:
		c := cell{"n", short(x)}
		percent := strings.HasSuffix(column, "_pct")
		if percent || column == "drawdown" {
			c.Text = fmt.Sprintf("%.2f", x)
		}
		if percent || column == "profit" {
			c.Class += map[bool]string{true: " down", false: " up"}[x < 0]
		}
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return cell{"n", ""}
		}
		return c
	case int:
		return cell{"n", Text(x)}
	case bool:
		return cell{"", map[bool]string{true: "yes"}[x]}
	case string:
		if at, err := time.Parse(time.RFC3339, x); err == nil {
			return cell{"", at.UTC().Format("2006-01-02 15:04")}
		}
	}
	return cell{Text: Text(v)}
}

// short writes a number with six digits.
func short(x float64) string {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return ""
	case math.Abs(x) >= 1e5:
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.6g", x)
}
