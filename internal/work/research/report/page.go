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

	"candela/lib/backtest/performance"
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
	Newest    bool // the rows are the newest, not the first
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

// Shown is a table as a page shows it: the newest rows of a list of events, otherwise the first.
type Shown struct {
	Title   string
	Columns []Cell
	Rows    [][]Cell
	Left    int // rows that are not shown
}

// Cell is a text of a table. A number has the class n, a profit up and a loss down.
type Cell struct {
	Text   string
	Number bool
	Class  string
}

// Shown returns a table of the report with at most so many rows, and false if it has none.
func (r *Report) Shown(name string, most int) (Shown, bool) {
	t, ok := r.Table(name)
	if !ok || t.Len == 0 {
		return Shown{}, false
	}
	made := tableOf(t)
	out := Shown{Title: made.Title, Columns: shownCells(made.Columns)}
	for _, row := range made.Rows[:min(len(made.Rows), most)] {
		out.Rows = append(out.Rows, shownCells(row))
	}
	out.Left = made.All - len(out.Rows)
	return out, true
}

func shownCells(cells []cell) []Cell {
	out := make([]Cell, len(cells))
	for i, c := range cells {
		kind, class, _ := strings.Cut(c.Class, " ")
		out[i] = Cell{c.Text, kind == "n", class}
	}
	return out
}

// Page writes the report as one page, with the pictures that draw returns for a theme.
func (r *Report) Page(w io.Writer, draw func(theme string) ([]byte, error)) error {
	var pictures [2][]byte
	for i, theme := range []string{"light", "dark"} {
		if r.Curve == nil {
			break // there is nothing to draw
		}
		var err error
		if pictures[i], err = draw(theme); err != nil {
			return err
		}
	}
	return r.HTML(w, pictures[0], pictures[1])
}

// HTML writes the report as one page without scripts and without anything from outside. The
// pictures are PNG files, or nil.
func (r *Report) HTML(w io.Writer, light, dark []byte) error {
	t, err := template.New("page").Parse(pageText)
	if err != nil {
		return fmt.Errorf("report page: %w", err)
	}
	p := page{Title: r.Title, Sections: r.Signed(), Light: dataURL(light), Dark: template.Srcset(dataURL(dark))} //nolint:gosec // G203: our own picture
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

// Signed returns the sections with the sign of minus, for people.
func (r *Report) Signed() []Section {
	all := slices.Clone(r.Sections)
	for i := range all {
		all[i].Facts = slices.Clone(all[i].Facts)
		for k := range all[i].Facts {
			all[i].Facts[k][1] = signed(all[i].Facts[k][1])
		}
	}
	return all
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
	switch c := (cell{Text: signed(Grouped(x, 2))}); {
	case x < 0:
		c.Class = "down"
		return c
	case x > 0:
		c.Class, c.Text = "up", "+"+c.Text
		return c
	default:
		return c
	}
}

// newestFirst reports whether a table is a list of events, of which the last come first on the page.
func newestFirst(name string) bool { return name == "trades" || name == "firings" }

// tableOf makes the rows of a table that the page has: of a list of events the newest, the last
// first, otherwise the first.
func tableOf(t *Table) pageTable {
	out := pageTable{Title: strings.ToUpper(t.Name[:1]) + t.Name[1:], All: t.Len, Left: max(0, t.Len-mostRows), Newest: newestFirst(t.Name)}
	rows := make([][]any, 0, t.Len-out.Left)
	for i := range t.Len - out.Left {
		if out.Newest {
			i = t.Len - 1 - i
		}
		rows = append(rows, t.Row(i))
	}
	decimals := make([]int, len(t.Columns))
	for k, column := range t.Columns {
		var values []float64
		for _, row := range rows {
			if x, ok := row[k].(float64); ok {
				values = append(values, x)
			}
		}
		decimals[k] = decimalsOf(column, values)
		out.Columns = append(out.Columns, heading(column, rows[0][k]))
	}
	mixed := slices.Contains(t.Columns, "symbol") // prices of one say nothing about those of another
	for _, row := range rows {
		cells := make([]cell, len(row))
		for k, v := range row {
			n := decimals[k]
			if x, ok := v.(float64); ok && mixed {
				n = decimalsOf(t.Columns[k], []float64{x})
			}
			cells[k] = cellOf(t.Columns[k], v, n)
		}
		out.Rows = append(out.Rows, cells)
	}
	return out
}

// isPercent reports whether a column has percentages.
func isPercent(column string) bool {
	return strings.HasSuffix(column, "_pct") || slices.Contains([]string{"drawdown", "up", "base_up", "edge_low", "edge_high"}, column)
}

// heading returns the name of a column as people read it, above a value of it.
func heading(column string, v any) cell {
	name := strings.ReplaceAll(strings.TrimSuffix(column, "_pct"), "_", " ")
	if isPercent(column) {
		name += ", %"
	}
	switch x := v.(type) {
	case float64, int:
		return cell{"n", name}
	case string:
		if _, err := time.Parse(time.RFC3339, x); err == nil {
			name += ", UTC"
		}
	}
	return cell{"", name}
}

// cellOf writes a value of a column as people read it.
func cellOf(column string, v any, decimals int) cell {
	switch x := v.(type) {
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return cell{"n", ""}
		}
		c := cell{"n", signed(Grouped(x, decimals))}
		switch {
		case !strings.HasSuffix(column, "_pct") && column != "profit":
		case x < 0:
			c.Class += " down"
		case x > 0:
			c.Class += " up"
		}
		return c
	case int:
		return cell{"n", Grouped(float64(x), 0)}
	case bool:
		return cell{"", map[bool]string{true: "yes"}[x]}
	case string:
		if at, err := time.Parse(time.RFC3339, x); err == nil {
			return cell{"", at.UTC().Format("2006-01-02 15:04")}
		}
	}
	return cell{Text: Text(v)}
}
