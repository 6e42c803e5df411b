package eval

import (
	"math"
	"slices"
	"sync"

	"candela/lib/pine/check"
)

// drawnForm is what a kind of drawing keeps: the names of its properties, in order, and which of them refer to the heap.
type drawnForm struct {
	fields  []string
	handles []bool
}

// drawnForms has the forms of all kinds, by kind; that of a table's cells is the first.
//
//nolint:gochecknoglobals // a table, never written
var drawnForms = sync.OnceValue(func() *[check.TupleKind]drawnForm {
	forms := &[check.TupleKind]drawnForm{
		0: {fields: []string{
			"text", "width", "height", "text_color", "text_halign", "text_valign", "text_size", "bgcolor", "tooltip", "text_font_family",
			"text_formatting", "right", "bottom",
		}},
		check.Line: {fields: []string{"x1", "y1", "x2", "y2", "xloc", "extend", "color", "style", "width", "force_overlay"}},
		check.Label: {fields: []string{
			"x", "y", "text", "xloc", "yloc", "color", "style", "textcolor", "size", "textalign", "tooltip", "text_font_family",
			"force_overlay", "text_formatting",
		}},
		check.Box: {fields: []string{
			"left", "top", "right", "bottom", "border_color", "border_width", "border_style", "extend", "xloc", "bgcolor", "text",
			"text_size", "text_color", "text_halign", "text_valign", "text_wrap", "text_font_family", "force_overlay", "text_formatting",
		}},
		check.Linefill: {fields: []string{"line1", "line2", "color"}},
		check.Polyline: {fields: []string{"points", "curved", "closed", "xloc", "line_color", "fill_color", "line_style", "line_width", "force_overlay"}},
		check.Table: {fields: []string{
			"position", "columns", "rows", "bgcolor", "frame_color", "frame_width", "border_color", "border_width", "force_overlay",
		}},
	}
	for i := range forms {
		for _, field := range forms[i].fields {
			forms[i].handles = append(forms[i].handles, refersToHeap(field))
		}
	}
	return forms
})

func refersToHeap(field string) bool {
	switch field {
	case "xloc", "yloc", "extend", "style", "text", "textalign", "tooltip", "text_font_family", "border_style",
		"text_halign", "text_valign", "text_wrap", "line_style", "points", "line1", "line2", "position":
		return true
	}
	return false
}

// drawingFields names the properties of a drawing in the order in which they are kept.
func drawingFields(kind check.Kind) []string { return drawnForms()[kind].fields }

// cellFields are the properties of a cell of a table.
func cellFields() []string { return drawnForms()[0].fields }

// drawingHandle reports whether property i of a drawing refers to the heap.
func drawingHandle(kind check.Kind, i int) bool {
	forms := drawnForms()
	handles := forms[kind].handles
	if i >= len(handles) { // the cells of a table
		return forms[0].handles[(i-len(handles))%len(forms[0].handles)]
	}
	return handles[i]
}

// listOf returns which list of drawings a kind is in.
func listOf(kind check.Kind) int {
	switch kind {
	case check.Line:
		return lines
	case check.Label:
		return labels
	case check.Box:
		return boxes
	case check.Table:
		return tables
	case check.Linefill:
		return linefills
	case check.Polyline:
		return polylines
	default: // is not drawn
	}
	return 0
}

// lineRows are the functions on lines, polylines and the fills between lines.
func lineRows() functions {
	line, linefill, polyline := family(check.Line), family(check.Linefill), family(check.Polyline)
	return functions{
		"line.copy":             line.copy(),
		"line.delete":           line.delete(),
		"line.get_price":        priced(flat(1), linePrice),
		"line.get_x1":           line.get("x1"),
		"line.get_x2":           line.get("x2"),
		"line.get_y1":           line.get("y1"),
		"line.get_y2":           line.get("y2"),
		"line.new":              line.new(),
		"line.set_color":        line.set("color"),
		"line.set_extend":       line.set("extend"),
		"line.set_first_point":  line.setPoint("x1", "y1"),
		"line.set_second_point": line.setPoint("x2", "y2"),
		"line.set_style":        line.set("style"),
		"line.set_width":        line.set("width"),
		"line.set_x1":           line.set("x1"),
		"line.set_x2":           line.set("x2"),
		"line.set_xloc":         line.set("x1", "x2", "xloc"),
		"line.set_xy1":          line.set("x1", "y1"),
		"line.set_xy2":          line.set("x2", "y2"),
		"line.set_y1":           line.set("y1"),
		"line.set_y2":           line.set("y2"),

		"linefill.delete":    linefill.delete(),
		"linefill.get_line1": linefill.get("line1"),
		"linefill.get_line2": linefill.get("line2"),
		"linefill.new":       linefill.new(),
		"linefill.set_color": linefill.set("color"),

		"polyline.delete": polyline.delete(),
		"polyline.new":    polyline.new(),
	}
}

// labelRows are the functions on labels.
func labelRows() functions {
	label := family(check.Label)
	return functions{
		"label.copy":                 label.copy(),
		"label.delete":               label.delete(),
		"label.get_text":             label.get("text"),
		"label.get_x":                label.get("x"),
		"label.get_y":                label.get("y"),
		"label.new":                  label.new(),
		"label.set_color":            label.set("color"),
		"label.set_point":            label.setPoint("x", "y"),
		"label.set_size":             label.set("size"),
		"label.set_style":            label.set("style"),
		"label.set_text":             label.set("text"),
		"label.set_text_font_family": label.set("text_font_family"),
		"label.set_text_formatting":  label.set("text_formatting"),
		"label.set_textalign":        label.set("textalign"),
		"label.set_textcolor":        label.set("textcolor"),
		"label.set_tooltip":          label.set("tooltip"),
		"label.set_x":                label.set("x"),
		"label.set_xloc":             label.set("x", "xloc"),
		"label.set_xy":               label.set("x", "y"),
		"label.set_y":                label.set("y"),
		"label.set_yloc":             label.set("yloc"),
	}
}

// boxRows are the functions on boxes.
func boxRows() functions {
	box := family(check.Box)
	return functions{
		"box.copy":                   box.copy(),
		"box.delete":                 box.delete(),
		"box.get_bottom":             box.get("bottom"),
		"box.get_left":               box.get("left"),
		"box.get_right":              box.get("right"),
		"box.get_top":                box.get("top"),
		"box.new":                    box.new(),
		"box.set_bgcolor":            box.set("bgcolor"),
		"box.set_border_color":       box.set("border_color"),
		"box.set_border_style":       box.set("border_style"),
		"box.set_border_width":       box.set("border_width"),
		"box.set_bottom":             box.set("bottom"),
		"box.set_bottom_right_point": box.setPoint("right", "bottom"),
		"box.set_extend":             box.set("extend"),
		"box.set_left":               box.set("left"),
		"box.set_lefttop":            box.set("left", "top"),
		"box.set_right":              box.set("right"),
		"box.set_rightbottom":        box.set("right", "bottom"),
		"box.set_text":               box.set("text"),
		"box.set_text_color":         box.set("text_color"),
		"box.set_text_font_family":   box.set("text_font_family"),
		"box.set_text_formatting":    box.set("text_formatting"),
		"box.set_text_halign":        box.set("text_halign"),
		"box.set_text_size":          box.set("text_size"),
		"box.set_text_valign":        box.set("text_valign"),
		"box.set_text_wrap":          box.set("text_wrap"),
		"box.set_top":                box.set("top"),
		"box.set_top_left_point":     box.setPoint("left", "top"),
		"box.set_xloc":               box.set("left", "right", "xloc"),
	}
}

// drawSteps is what it takes to make a drawing or to take one off its list.
const drawSteps = 16

// family makes the rows of the functions on one kind of drawing.
type family check.Kind

func (f family) new() row {
	r := priced(flat(drawSteps), func(s *site, a []float64) float64 { return s.draw(check.Kind(f), a) })
	r.ready = func(s *site) { s.plan = s.planOf(check.Kind(f)) }
	return r
}

func (f family) delete() row {
	return priced(flat(drawSteps), func(s *site, a []float64) float64 { return s.erase(check.Kind(f), a[0]) })
}

func (f family) copy() row {
	return priced(flat(drawSteps), func(s *site, a []float64) float64 {
		if a[0] != a[0] {
			return a[0]
		}
		return s.list(check.Kind(f), s.h.objects[int(a[0])].clone())
	})
}

// place is that of a property. One that the drawing does not have is a mistake in a row.
func (f family) place(field string) int {
	i := slices.Index(drawingFields(check.Kind(f)), field)
	if i < 0 {
		panic("a drawing has no " + field)
	}
	return i
}

// get reads a property.
func (f family) get(field string) row {
	i := f.place(field)
	return priced(flat(1), func(s *site, a []float64) float64 {
		if a[0] != a[0] {
			return a[0]
		}
		return s.h.objects[int(a[0])].n[i]
	})
}

// set changes properties, each to an argument.
func (f family) set(fields ...string) row {
	places := make([]int, len(fields))
	for k, field := range fields {
		places[k] = f.place(field)
	}
	return priced(flat(2), func(s *site, a []float64) float64 {
		if a[0] != a[0] {
			return a[0]
		}
		o := s.h.change(s.at, a[0], "drawing")
		for k, i := range places {
			o.n[i] = s.sized(fields[k], k+1, a)
		}
		return math.NaN()
	})
}

// setPoint changes two properties to the coordinates of a chart.point.
func (f family) setPoint(x, y string) row {
	left, top, xloc := f.place(x), f.place(y), f.place("xloc")
	return priced(flat(2), func(s *site, a []float64) float64 {
		if a[0] != a[0] || a[1] != a[1] {
			return math.NaN()
		}
		o := s.h.change(s.at, a[0], "drawing")
		o.n[left], o.n[top] = s.coordinates(a[1], s.h.text(o.n[xloc]))
		return math.NaN()
	})
}

// sized returns an argument; a size may be a name, which is kept as a number.
func (s *site) sized(field string, i int, a []float64) float64 {
	if field != "size" && field != "text_size" {
		return a[i]
	}
	if arg := s.call.Args[i]; arg != nil && isHandle(arg.Type()) {
		return namedSize(s.h.text(a[i]))
	}
	return a[i]
}

// namedSize gives the points of a named size; 0 is automatic.
func namedSize(name string) float64 {
	return map[string]float64{"tiny": 8, "small": 10, "normal": 14, "large": 20, "huge": 36}[name]
}

// cornerFields names the properties that a point sets, by the parameter of the point.
func cornerFields(parameter string) (x, y string, ok bool) {
	switch parameter {
	case "first_point":
		return "x1", "y1", true
	case "second_point":
		return "x2", "y2", true
	case "point":
		return "x", "y", true
	case "top_left":
		return "left", "top", true
	case "bottom_right":
		return "right", "bottom", true
	}
	return "", "", false
}

// coordinates returns where a chart.point lies.
func (s *site) coordinates(point float64, xloc string) (x, y float64) {
	o := s.h.get(s.at, point, "point")
	x, y = math.NaN(), math.NaN()
	for i, f := range o.fields.Fields {
		switch {
		case f.Name == "price":
			y = o.n[i]
		case f.Name == "time" && xloc == "bar_time", f.Name == "index" && xloc != "bar_time":
			x = o.n[i]
		}
	}
	return x, y
}

// drawingPlan is what a call that makes a drawing knows before the first bar.
type drawingPlan struct {
	base    []float64 // the properties that a drawing begins with
	to      []int     // the property of each parameter, -1 for none
	corners [][3]int  // a parameter that is a point, with its two properties
	xloc    int
}

func (s *site) planOf(kind check.Kind) *drawingPlan {
	fields := drawingFields(kind)
	p := &drawingPlan{base: make([]float64, len(fields)), xloc: slices.Index(fields, "xloc")}
	s.defaults(kind, p.base)
	for i, param := range s.call.Builtin.Params {
		to := -1
		if s.given(i) {
			to = slices.Index(fields, param.Name)
		}
		p.to = append(p.to, to)
		if x, y, ok := cornerFields(param.Name); ok && s.given(i) {
			p.corners = append(p.corners, [3]int{i, family(kind).place(x), family(kind).place(y)})
		}
	}
	return p
}

// draw makes a drawing from the arguments, which are named as its properties.
func (s *site) draw(kind check.Kind, a []float64) float64 {
	p := s.plan
	n := slices.Clone(p.base)
	for i, k := range p.to {
		if k >= 0 {
			n[k] = s.sized(s.call.Builtin.Params[i].Name, i, a)
		}
	}
	for _, c := range p.corners {
		if point := a[c[0]]; point == point {
			n[c[1]], n[c[2]] = s.coordinates(point, s.h.text(n[p.xloc]))
		}
	}
	return s.list(kind, object{kind: kind, n: n, from: math.NaN()})
}

// defaults fills the properties that were not given.
func (s *site) defaults(kind check.Kind, n []float64) {
	const blue, white, black = 0x2962FFFF, 0xFFFFFFFF, 0x000000FF
	for i, f := range drawingFields(kind) {
		switch f {
		case "xloc":
			n[i] = s.c.text("bar_index")
		case "yloc":
			n[i] = s.c.text("price")
		case "extend":
			n[i] = s.c.text("none")
		case "color", "border_color", "line_color", "bgcolor":
			n[i] = blue
		case "textcolor":
			n[i] = white
		case "text_color":
			n[i] = black
		case "style":
			n[i] = s.c.text(map[check.Kind]string{check.Line: "style_solid", check.Label: "style_label_down"}[kind])
		case "border_style", "line_style":
			n[i] = s.c.text("style_solid")
		case "width", "border_width", "line_width":
			n[i] = 1
		case "size":
			n[i] = 10
		case "text", "tooltip":
			n[i] = s.c.text("")
		case "textalign", "text_halign", "text_valign":
			n[i] = s.c.text("align_center")
		case "text_font_family":
			n[i] = s.c.text("family_default")
		case "text_wrap":
			n[i] = s.c.text("wrap_none")
		case "force_overlay", "curved", "closed", "text_size", "text_formatting":
			n[i] = 0
		default:
			n[i] = math.NaN()
		}
	}
}

// list adds a drawing to its list; the oldest ones make room.
func (s *site) list(kind check.Kind, o object) float64 {
	k := listOf(kind)
	x := s.h.add(o)
	all := s.h.list(k)
	*all = append(*all, x)
	if limit := s.c.drawingLimit(kind); len(*all) > limit {
		*all = slices.Delete(*all, 0, len(*all)-limit)
	}
	return x
}

func (c *compiler) drawingLimit(kind check.Kind) int {
	limit := 0
	switch kind {
	case check.Line:
		limit = c.prog.MaxLines
	case check.Label:
		limit = c.prog.MaxLabels
	case check.Box:
		limit = c.prog.MaxBoxes
	case check.Polyline:
		limit = c.prog.MaxPolylines
	case check.Linefill:
		limit = 500
	case check.Table:
		limit = 9
	default: // the usual limit
	}
	if limit <= 0 {
		limit = 50
	}
	return min(limit, 500)
}

// erase takes a drawing off its list.
func (s *site) erase(kind check.Kind, x float64) float64 {
	if x != x {
		return x
	}
	all := s.h.list(listOf(kind))
	if i := slices.Index(*all, x); i >= 0 {
		*all = slices.Delete(*all, i, i+1)
	}
	return math.NaN()
}

// linePrice is the price of a line at a bar.
func linePrice(s *site, a []float64) float64 {
	if a[0] != a[0] {
		return a[0]
	}
	n := s.h.objects[int(a[0])].n
	return n[1] + float64((n[3]-n[1])*((a[1]-n[0])/(n[2]-n[0])))
}

// drawingVariables are the arrays of what is drawn now.
func drawingVariables() variables {
	all := func(kind check.Kind) variable {
		return variable{read: func(c *compiler) num {
			h, m := &c.m.heap, c.m
			return func() float64 {
				m.spend(m.place, 1+len(h.lists[listOf(kind)])/readAStep)
				return h.newArray(m.types.plain(kind), slices.Clone(h.lists[listOf(kind)]))
			}
		}}
	}
	return variables{
		"box.all":      all(check.Box),
		"label.all":    all(check.Label),
		"line.all":     all(check.Line),
		"linefill.all": all(check.Linefill),
		"polyline.all": all(check.Polyline),
		"table.all":    all(check.Table),
	}
}
