package main

import (
	"fmt"
	"regexp"
	"strings"
)

// row is a line of the page's table. The cell names figures in braces; with a plus sign it has their spread.
type row struct {
	label, cell string
	bars        []bar
}

// bar is a limit of a figure. A figure beyond it is written bold.
type bar struct {
	figure string
	most   bool
	limit  float64
}

// figureIn finds the figures of a cell.
var figureIn = regexp.MustCompile(`\{([a-z0-9._-]+)(\+?)\}`)

// fill writes the measured cells of a page. Rows whose figures nobody has measured stay as they are.
func fill(page string, r *report) (string, error) {
	lines := strings.Split(page, "\n")
	for _, row := range rows() {
		at := -1
		for i, line := range lines {
			if strings.HasPrefix(line, "| "+row.label+" | ") {
				if at >= 0 {
					return "", fmt.Errorf("%s has two rows %q", pagePath, row.label)
				}
				at = i
			}
		}
		if at < 0 {
			return "", fmt.Errorf("%s has no row %q", pagePath, row.label)
		}
		cell, ok := row.write(r)
		if !ok {
			continue
		}
		rest := strings.SplitN(strings.TrimPrefix(lines[at], "| "+row.label+" | "), " | ", 2)
		if len(rest) != 2 {
			return "", fmt.Errorf("%s: the row %q has no bar", pagePath, row.label)
		}
		lines[at] = "| " + row.label + " | " + cell + " | " + strings.ReplaceAll(rest[1], "**", "")
	}
	return strings.Join(lines, "\n"), nil
}

// write writes the cell of a row, and reports false if a figure is not known.
func (r *row) write(from *report) (string, bool) {
	known := true
	cell := figureIn.ReplaceAllStringFunc(r.cell, func(name string) string {
		parts := figureIn.FindStringSubmatch(name)
		f, ok := from.Figures[parts[1]]
		if known = known && ok; !ok {
			return name
		}
		written := f.short()
		if parts[2] == "+" {
			written = f.spread()
		}
		for _, b := range r.bars {
			if b.figure == parts[1] && (b.most && f.Median > b.limit || !b.most && f.Median < b.limit) {
				return "**" + written + "**"
			}
		}
		return written
	})
	return cell, known
}
