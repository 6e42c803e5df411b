package eval

import (
	"math"

	"candela/lib/pine/check"
)

// Drawing is a line, label, box, fill, polyline or table as it was after the last bar.
// Numbers has the properties that are numbers or colours, Texts those that are strings,
// both by the names of the parameters of the function that makes it. The size of a text is
// in points, 0 for automatic.
type Drawing struct {
	Kind    check.Kind
	ID      int
	Numbers map[string]float64
	Texts   map[string]string
	Points  []Point // of a polyline
	Lines   [2]int  // of a linefill: the IDs of its lines
	Cells   []Cell  // of a table, those that have a text, a colour or a size
}

// Point is a corner of a polyline: X is a bar index, or a time in milliseconds if the
// polyline's xloc is bar_time.
type Point struct{ X, Y float64 }

// Cell is a cell of a table. Right and Bottom are the last column and row of a merged cell,
// the cell's own if it is not merged.
type Cell struct {
	Column, Row, Right, Bottom int
	Numbers                    map[string]float64
	Texts                      map[string]string
}

// Drawn counts what the script has drawn: the bytes of its texts, the points of its polylines
// and the cells of its tables that have something in them.
func (m *Machine) Drawn() (texts, points, cells int) {
	h := &m.heap
	for _, list := range h.lists {
		for _, x := range list {
			o := &h.objects[int(x)]
			fields := drawingFields(o.kind)
			for i, v := range o.n {
				if v == v && drawingHandle(o.kind, i) {
					texts += len(h.objects[int(v)].text)
				}
			}
			if o.kind == check.Polyline && o.n[0] == o.n[0] {
				points += h.length(o.n[0])
			}
			for i := len(fields); i < len(o.n); i += len(cellFields()) {
				if o.n[i] == o.n[i] {
					cells++
				}
			}
		}
	}
	return texts, points, cells
}

// Drawings returns what the script has drawn, oldest first, kind by kind. After a Try it
// includes what the try drew.
func (m *Machine) Drawings() []Drawing {
	var out []Drawing
	for _, list := range m.heap.lists {
		for _, x := range list {
			out = append(out, m.drawing(x))
		}
	}
	return out
}

func (m *Machine) drawing(x float64) Drawing {
	o := &m.heap.objects[int(x)]
	d := Drawing{Kind: o.kind, ID: int(x), Numbers: map[string]float64{}, Texts: map[string]string{}}
	fields := drawingFields(o.kind)
	for i, f := range fields {
		v := o.n[i]
		switch {
		case f == "points":
			d.Points = m.points(o, v)
		case f == "line1" && v == v:
			d.Lines[0] = int(v)
		case f == "line2" && v == v:
			d.Lines[1] = int(v)
		case drawingHandle(o.kind, i):
			d.Texts[f] = m.heap.text(v)
		default:
			d.Numbers[f] = v
		}
	}
	if o.kind == check.Table {
		d.Cells = m.tableCells(o, len(fields))
	}
	return d
}

func (m *Machine) points(o *object, array float64) []Point {
	if array != array {
		return nil
	}
	xloc := m.heap.text(o.n[3])
	var out []Point
	for _, p := range m.heap.elements(array) {
		if p != p {
			continue
		}
		s := &site{m: m, h: &m.heap}
		x, y := s.coordinates(p, xloc)
		out = append(out, Point{x, y})
	}
	return out
}

func (m *Machine) tableCells(o *object, head int) []Cell {
	names := cellFields()
	var out []Cell
	for i := range o.rows * o.cols {
		n := o.n[head+i*len(names):]
		if math.IsNaN(n[0]) {
			continue
		}
		c := Cell{
			Column: i % o.cols, Row: i / o.cols, Right: i % o.cols, Bottom: i / o.cols,
			Numbers: map[string]float64{}, Texts: map[string]string{},
		}
		for k, f := range names {
			switch v := n[k]; {
			case f == "right":
				if v == v {
					c.Right = int(v)
				}
			case f == "bottom":
				if v == v {
					c.Bottom = int(v)
				}
			case drawnForms()[0].handles[k]:
				c.Texts[f] = m.heap.text(v)
			default:
				c.Numbers[f] = v
			}
		}
		out = append(out, c)
	}
	return out
}
