package eval

import (
	"math"
	"slices"

	"candela/lib/pine/check"
)

// tableRows are the functions on tables.
func tableRows() functions {
	table := family(check.Table)
	return functions{
		"table.cell":                      tableCellRow(),
		"table.cell_set_bgcolor":          priced(flat(1), setCell("bgcolor")),
		"table.cell_set_height":           priced(flat(1), setCell("height")),
		"table.cell_set_text":             priced(flat(1), setCell("text")),
		"table.cell_set_text_color":       priced(flat(1), setCell("text_color")),
		"table.cell_set_text_font_family": priced(flat(1), setCell("text_font_family")),
		"table.cell_set_text_formatting":  priced(flat(1), setCell("text_formatting")),
		"table.cell_set_text_halign":      priced(flat(1), setCell("text_halign")),
		"table.cell_set_text_size":        priced(flat(1), setCell("text_size")),
		"table.cell_set_text_valign":      priced(flat(1), setCell("text_valign")),
		"table.cell_set_tooltip":          priced(flat(1), setCell("tooltip")),
		"table.cell_set_width":            priced(flat(1), setCell("width")),
		"table.clear":                     priced(elements(readAStep, 0), tableClear),
		"table.delete":                    priced(flat(1), func(s *site, a []float64) float64 { return s.erase(check.Table, a[0]) }),
		"table.merge_cells":               priced(flat(1), mergeCells),
		"table.new":                       priced(flat(drawSteps), tableNew),
		"table.set_bgcolor":               table.set("bgcolor"),
		"table.set_border_color":          table.set("border_color"),
		"table.set_border_width":          table.set("border_width"),
		"table.set_frame_color":           table.set("frame_color"),
		"table.set_frame_width":           table.set("frame_width"),
		"table.set_position":              table.set("position"),
	}
}

func tableCellRow() row {
	r := priced(flat(4), tableCell)
	r.ready = func(s *site) { s.plan = s.planOfCell() }
	return r
}

func (s *site) planOfCell() *drawingPlan {
	p := &drawingPlan{base: make([]float64, len(cellFields()))}
	for i := range p.base {
		p.base[i] = math.NaN()
	}
	s.blankCell(p.base)
	for i, param := range s.call.Builtin.Params {
		to := -1
		if s.given(i) {
			to = slices.Index(cellFields(), param.Name)
		}
		p.to = append(p.to, to)
	}
	return p
}

func tableCell(s *site, a []float64) float64 {
	cell := s.cell(a)
	if cell == nil {
		return math.NaN()
	}
	copy(cell[:len(cell)-2], s.plan.base) // which cells are merged stays
	for i, k := range s.plan.to {
		if k >= 0 {
			cell[k] = s.sized(s.call.Builtin.Params[i].Name, i, a)
		}
	}
	return math.NaN()
}

// setCell changes a property of a cell.
func setCell(field string) plain {
	k := slices.Index(cellFields(), field)
	return func(s *site, a []float64) float64 {
		if cell := s.cell(a); cell != nil {
			cell[k] = s.sized(field, 3, a)
		}
		return math.NaN()
	}
}

func mergeCells(s *site, a []float64) float64 {
	if cell := s.cell(a); cell != nil {
		cell[len(cell)-2], cell[len(cell)-1] = a[3], a[4]
	}
	return math.NaN()
}

func tableNew(s *site, a []float64) float64 {
	fields := drawingFields(check.Table)
	n := make([]float64, len(fields))
	for i := range n {
		n[i] = math.NaN()
	}
	for i, p := range s.call.Builtin.Params {
		if k := slices.Index(fields, p.Name); k >= 0 && s.given(i) {
			n[k] = a[i]
		}
	}
	columns, rows := n[1], n[2]
	if columns != columns || rows != rows {
		return math.NaN() // a table of na columns is none
	}
	if !(columns >= 1) || !(rows >= 1) || columns*rows > 10_000 {
		s.fail("A table has from 1 to 10000 cells (got %v columns and %v rows).", columns, rows)
	}
	cells := int(columns) * int(rows)
	s.m.spend(s.at, cells)
	blank := slices.Repeat([]float64{math.NaN()}, cells*len(cellFields()))
	return s.list(check.Table, object{kind: check.Table, n: slices.Concat(n, blank), rows: int(rows), cols: int(columns), from: math.NaN()})
}

// cell returns the properties of a cell to change them, nil if the table or the place is na.
func (s *site) cell(a []float64) []float64 {
	if a[0] != a[0] || a[1] != a[1] || a[2] != a[2] {
		return nil
	}
	o := s.h.change(s.at, a[0], "table")
	column, row := whole(a[1]), whole(a[2])
	if column < 0 || row < 0 || column >= o.cols || row >= o.rows {
		s.fail("The cell (%v, %v) is outside the table, which has %d columns and %d rows.", a[1], a[2], o.cols, o.rows)
	}
	size := len(cellFields())
	at := len(drawingFields(check.Table)) + (row*o.cols+column)*size
	return o.n[at : at+size]
}

// blankCell sets the properties that a cell begins with.
func (s *site) blankCell(cell []float64) {
	for i, f := range cellFields() {
		switch f {
		case "text", "tooltip":
			cell[i] = s.c.text("")
		case "text_color":
			cell[i] = 0x000000FF
		case "text_halign", "text_valign":
			cell[i] = s.c.text("align_center")
		case "text_size":
			cell[i] = 14
		case "text_font_family":
			cell[i] = s.c.text("family_default")
		case "right", "bottom":
		default:
			cell[i] = math.NaN()
		}
	}
}

func tableClear(s *site, a []float64) float64 {
	if a[0] != a[0] {
		return a[0]
	}
	o := s.h.get(s.at, a[0], "table")
	right, bottom := a[1], a[2]
	if s.given(3) {
		right = a[3]
	}
	if s.given(4) {
		bottom = a[4]
	}
	right, bottom = min(right, float64(o.cols-1)), min(bottom, float64(o.rows-1))
	for row := a[2]; row <= bottom; row++ {
		for column := a[1]; column <= right; column++ {
			cell := s.cell([]float64{a[0], column, row})
			for i := range cell {
				cell[i] = math.NaN()
			}
		}
	}
	return math.NaN()
}
