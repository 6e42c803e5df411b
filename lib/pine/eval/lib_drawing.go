package eval

import (
	"math"
	"slices"
	"strings"

	"candela/lib/pine/check"
)

// drawingFields names the properties of a drawing in the order in which they are kept.
func drawingFields(kind check.Kind) []string {
	switch kind {
	case check.Line:
		return []string{"x1", "y1", "x2", "y2", "xloc", "extend", "color", "style", "width", "force_overlay"}
	case check.Label:
		return []string{
			"x", "y", "text", "xloc", "yloc", "color", "style", "textcolor", "size", "textalign", "tooltip", "text_font_family",
			"force_overlay", "text_formatting",
		}
	case check.Box:
		return []string{
			"left", "top", "right", "bottom", "border_color", "border_width", "border_style", "extend", "xloc", "bgcolor", "text",
			"text_size", "text_color", "text_halign", "text_valign", "text_wrap", "text_font_family", "force_overlay", "text_formatting",
		}
	case check.Linefill:
		return []string{"line1", "line2", "color"}
	case check.Polyline:
		return []string{"points", "curved", "closed", "xloc", "line_color", "fill_color", "line_style", "line_width", "force_overlay"}
	case check.Table:
		return []string{
			"position", "columns", "rows", "bgcolor", "frame_color", "frame_width", "border_color", "border_width", "force_overlay",
		}
	default:
		return nil
	}
}

// drawingHandle reports whether property i of a drawing refers to the heap.
func drawingHandle(kind check.Kind, i int) bool {
	fields := drawingFields(kind)
	if i >= len(fields) { // the cells of a table
		return cellHandle((i - len(fields)) % len(cellFields()))
	}
	switch fields[i] {
	case "xloc", "yloc", "extend", "style", "text", "textalign", "tooltip", "text_font_family", "border_style",
		"text_halign", "text_valign", "text_wrap", "line_style", "points", "line1", "line2", "position":
		return true
	case "size", "text_size":
		return false
	}
	return false
}

// listOf returns which list of drawings a kind is in.
func listOf(kind check.Kind) int {
	return map[check.Kind]int{
		check.Line: lines, check.Label: labels, check.Box: boxes, check.Table: tables, check.Linefill: linefills, check.Polyline: polylines,
	}[kind]
}

func drawingKind(name string) check.Kind {
	return map[string]check.Kind{
		"line": check.Line, "label": check.Label, "box": check.Box, "table": check.Table, "linefill": check.Linefill, "polyline": check.Polyline,
	}[name]
}

// drawingFunction are the functions on lines, labels, boxes, fills and polylines.
func drawingFunction(name string) function {
	family, rest, _ := strings.Cut(name, ".")
	kind := drawingKind(family)
	if kind == check.Void || kind == check.Table {
		return function{}
	}
	switch {
	case rest == "new":
		return priced(flat(drawSteps), func(s *site, a []float64) float64 { return s.draw(kind, a) })
	case rest == "delete":
		return priced(flat(drawSteps), func(s *site, a []float64) float64 { return s.erase(kind, a[0]) })
	case rest == "copy":
		return priced(flat(drawSteps), func(s *site, a []float64) float64 {
			if a[0] != a[0] {
				return a[0]
			}
			return s.list(kind, s.h.objects[int(a[0])].clone())
		})
	case rest == "get_price" && kind == check.Line:
		return priced(flat(1), linePrice)
	case strings.HasPrefix(rest, "get_"):
		i := slices.Index(drawingFields(kind), rest[4:])
		if i < 0 {
			return function{}
		}
		return priced(flat(1), func(s *site, a []float64) float64 {
			if a[0] != a[0] {
				return a[0]
			}
			return s.h.objects[int(a[0])].n[i]
		})
	case strings.HasPrefix(rest, "set_"):
		return setter(kind, rest[4:])
	}
	return function{}
}

// drawSteps is what it takes to make a drawing or to take one off its list.
const drawSteps = 16

// setter changes the properties that a set_ function names.
func setter(kind check.Kind, what string) function {
	var fields []int
	for _, f := range setFields(kind, what) {
		i := slices.Index(drawingFields(kind), f)
		if i < 0 {
			return function{}
		}
		fields = append(fields, i)
	}
	if strings.HasSuffix(what, "point") {
		return priced(flat(2), func(s *site, a []float64) float64 {
			if a[0] != a[0] || a[1] != a[1] {
				return math.NaN()
			}
			o := s.h.change(s.at, a[0], "drawing")
			x, y := s.coordinates(a[1], s.h.text(o.n[slices.Index(drawingFields(kind), "xloc")]))
			o.n[fields[0]], o.n[fields[1]] = x, y
			return math.NaN()
		})
	}
	return priced(flat(2), func(s *site, a []float64) float64 {
		if a[0] != a[0] {
			return a[0]
		}
		o := s.h.change(s.at, a[0], "drawing")
		for k, i := range fields {
			o.n[i] = s.sized(drawingFields(kind)[i], k+1, a)
		}
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

// setFields spells the functions that set more than one property.
func setFields(kind check.Kind, what string) []string {
	switch what {
	case "xy1", "first_point":
		return []string{"x1", "y1"}
	case "xy2", "second_point":
		return []string{"x2", "y2"}
	case "xy", "point":
		return []string{"x", "y"}
	case "lefttop", "top_left_point":
		return []string{"left", "top"}
	case "rightbottom", "bottom_right_point":
		return []string{"right", "bottom"}
	case "xloc":
		switch kind {
		case check.Line:
			return []string{"x1", "x2", "xloc"}
		case check.Box:
			return []string{"left", "right", "xloc"}
		case check.Label:
			return []string{"x", "xloc"}
		default: // the only one that it has
		}
	}
	return []string{what}
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

// draw makes a drawing from the arguments, which are named as its properties.
func (s *site) draw(kind check.Kind, a []float64) float64 {
	fields := drawingFields(kind)
	n := make([]float64, len(fields))
	s.defaults(kind, n)
	for i, p := range s.call.Builtin.Params {
		if k := slices.Index(fields, p.Name); k >= 0 && s.given(i) {
			n[k] = s.sized(p.Name, i, a)
		}
	}
	xloc := ""
	if k := slices.Index(fields, "xloc"); k >= 0 {
		xloc = s.h.text(n[k])
	}
	for i, p := range s.call.Builtin.Params {
		if strings.HasSuffix(p.Name, "point") || p.Name == "top_left" || p.Name == "bottom_right" {
			if s.given(i) && a[i] == a[i] {
				names := setFields(kind, strings.TrimSuffix(p.Name, "_point")+pointSuffix(p.Name))
				x, y := slices.Index(fields, names[0]), slices.Index(fields, names[1])
				n[x], n[y] = s.coordinates(a[i], xloc)
			}
		}
	}
	return s.list(kind, object{kind: kind, n: n, from: math.NaN()})
}

func pointSuffix(name string) string {
	if name == "point" {
		return ""
	}
	return "_point"
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

// allDrawings is line.all and its family: an array of what is drawn now.
func (c *compiler) allDrawings(e *check.BuiltinVar) num {
	family, _, _ := strings.Cut(e.Name, ".")
	kind := drawingKind(family)
	h, m := &c.m.heap, c.m
	return func() float64 {
		m.spend(m.place, 1+len(h.lists[listOf(kind)])/readAStep)
		return h.newArray(h.m.types.plain(kind), slices.Clone(h.lists[listOf(kind)]))
	}
}
