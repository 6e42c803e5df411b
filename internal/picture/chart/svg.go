package chart

import (
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"candela/internal/picture/raster"
)

// drawing is a canvas that writes an SVG document. Coordinates are the device
// pixels of the scene; the viewBox maps them to logical ones.
type drawing struct {
	out    []byte
	clips  int
	inClip bool
}

// SVG draws spec as an SVG document, which the caller owns. It shows the same
// scene as PNG; text is left to the viewer's sans-serif face, stretched to the
// widths the layout counted with, so the file needs no font.
func (r *Renderer) SVG(spec *Spec) ([]byte, error) {
	if err := spec.Check(); err != nil {
		return nil, err
	}
	w, h, scale := spec.size()
	p := r.pixels(scale)
	defer r.scenes.Put(p)
	if err := p.scene.Layout(spec, p.width); err != nil {
		return nil, err
	}
	d := drawing{out: make([]byte, 0, 128<<10)}
	d.str(`<svg xmlns="http://www.w3.org/2000/svg" width="`).num(float64(w)).str(`" height="`).num(float64(h)).
		str(`" viewBox="0 0 `).num(float64(w * scale)).str(` `).num(float64(h * scale)).
		str(`" font-family="Roboto, 'Helvetica Neue', Arial, sans-serif" shape-rendering="geometricPrecision">` + "\n")
	d.Rect(0, 0, p.scene.Width, p.scene.Height, themes[spec.Theme].background)
	p.scene.paint(&svgCanvas{drawing: &d, scale: scale})
	d.NoClip()
	d.str("</svg>\n")
	return d.out, nil
}

// svgCanvas adds what text needs to know.
type svgCanvas struct {
	*drawing
	scale int
}

func (d *drawing) str(s string) *drawing {
	d.out = append(d.out, s...)
	return d
}

// num writes a coordinate with at most two decimals; a hundredth of a pixel is
// below what a viewer can show.
func (d *drawing) num(v float64) *drawing {
	if !finite(v) {
		v = 0
	}
	d.out = strconv.AppendFloat(d.out, math.Round(v*100)/100, 'f', -1, 64)
	return d
}

// paint writes the attributes of a fill or a stroke.
func (d *drawing) paint(kind string, c raster.Color) *drawing {
	const hex = "0123456789abcdef"
	d.str(` ` + kind + `="#`)
	for _, v := range [...]uint8{c.R, c.G, c.B} {
		d.out = append(d.out, hex[v>>4], hex[v&15])
	}
	d.str(`"`)
	if c.A != 255 {
		d.str(` ` + kind + `-opacity="`).num(float64(c.A) / 255).str(`"`)
	}
	return d
}

// Clip opens a group that shows only what lies in the rectangle.
func (d *drawing) Clip(x0, y0, x1, y1 int) {
	d.NoClip()
	d.clips++
	id := "c" + strconv.Itoa(d.clips)
	d.str(`<clipPath id="` + id + `"><rect x="`).num(float64(x0)).str(`" y="`).num(float64(y0)).
		str(`" width="`).num(float64(x1 - x0)).str(`" height="`).num(float64(y1 - y0)).
		str(`"/></clipPath><g clip-path="url(#` + id + `)">` + "\n")
	d.inClip = true
}

// NoClip closes the group that Clip opened.
func (d *drawing) NoClip() {
	if d.inClip {
		d.str("</g>\n")
	}
	d.inClip = false
}

// Rect fills a rectangle of whole pixels.
func (d *drawing) Rect(x0, y0, x1, y1 int, c raster.Color) {
	if x0 >= x1 || y0 >= y1 {
		return
	}
	d.str(`<rect x="`).num(float64(x0)).str(`" y="`).num(float64(y0)).
		str(`" width="`).num(float64(x1-x0)).str(`" height="`).num(float64(y1-y0)).str(`"`).paint("fill", c).
		str(` shape-rendering="crispEdges"/>` + "\n")
}

// HLine draws a horizontal rule.
func (d *drawing) HLine(x0, x1, y, thick int, c raster.Color, dash raster.Dash) {
	if x0 >= x1 || thick < 1 {
		return
	}
	middle := float64(y) + float64(thick)/2
	d.str(`<path d="M`).num(float64(x0)).str(` `).num(middle).str(`H`).num(float64(x1)).str(`"`).
		paint("stroke", c).str(` stroke-width="`).num(float64(thick)).str(`"`).dash(dash).str(` shape-rendering="crispEdges"/>` + "\n")
}

func (d *drawing) dash(dash raster.Dash) *drawing {
	if dash.On > 0 && dash.Off > 0 {
		d.str(` stroke-dasharray="`).num(dash.On).str(` `).num(dash.Off).str(`"`)
	}
	return d
}

// Polyline strokes a line through the points.
func (d *drawing) Polyline(xs, ys []float64, width float64, c raster.Color, dash raster.Dash) {
	d.str(`<polyline points="`)
	for i := range xs {
		d.num(xs[i]).str(`,`).num(ys[i]).str(` `)
	}
	d.str(`" fill="none"`).paint("stroke", c).str(` stroke-width="`).num(width).
		str(`" stroke-linejoin="round" stroke-linecap="round"`).dash(dash).str("/>\n")
}

// AreaSplit fills between two lines, cut where they cross so that each piece has
// the colour of its side. A column that is not a number ends a piece.
func (d *drawing) AreaSplit(xs, y1, y2 []float64, above, below raster.Color) {
	var x, a, b []float64
	flush := func() {
		if len(x) > 1 {
			color := above
			if i := len(x) / 2; a[i] > b[i] { // the ends may lie on a crossing
				color = below
			}
			d.piece(x, a, b, color)
		}
		x, a, b = x[:0], a[:0], b[:0]
	}
	for i := range xs {
		if !finite(y1[i]) || !finite(y2[i]) {
			flush()
			continue
		}
		if k := len(x); k > 0 && above != below {
			was, is := b[k-1]-a[k-1], y2[i]-y1[i]
			if was < 0 && is > 0 || was > 0 && is < 0 {
				t := was / (was - is)
				cx, cy := x[k-1]+t*(xs[i]-x[k-1]), a[k-1]+t*(y1[i]-a[k-1])
				x, a, b = append(x, cx), append(a, cy), append(b, cy)
				flush()
				x, a, b = append(x, cx), append(a, cy), append(b, cy)
			}
		}
		x, a, b = append(x, xs[i]), append(a, y1[i]), append(b, y2[i])
	}
	flush()
}

// piece fills one polygon.
func (d *drawing) piece(xs, y1, y2 []float64, c raster.Color) {
	d.str(`<polygon points="`)
	for i := range xs {
		d.num(xs[i]).str(`,`).num(y1[i]).str(` `)
	}
	for i, y := range slices.Backward(y2) {
		d.num(xs[i]).str(`,`).num(y).str(` `)
	}
	d.str(`"`).paint("fill", c).str("/>\n")
}

// Circle fills a circle.
func (d *drawing) Circle(cx, cy, r float64, c raster.Color) {
	d.str(`<circle cx="`).num(cx).str(`" cy="`).num(cy).str(`" r="`).num(r).str(`"`).paint("fill", c).str("/>\n")
}

// Triangle fills a triangle.
func (d *drawing) Triangle(x0, y0, x1, y1, x2, y2 float64, c raster.Color) {
	d.str(`<polygon points="`).num(x0).str(`,`).num(y0).str(` `).num(x1).str(`,`).num(y1).str(` `).
		num(x2).str(`,`).num(y2).str(`"`).paint("fill", c).str("/>\n")
}

// RoundRect fills a rectangle with rounded corners.
func (d *drawing) RoundRect(x0, y0, x1, y1, r float64, c raster.Color) {
	d.str(`<rect x="`).num(x0).str(`" y="`).num(y0).str(`" width="`).num(x1-x0).str(`" height="`).num(y1-y0).
		str(`" rx="`).num(r).str(`"`).paint("fill", c).str("/>\n")
}

// Label writes text, stretched to the width the layout gave it.
func (d *svgCanvas) Label(t *Label) {
	if t.Text == "" {
		return
	}
	const em = 2048.0 / 1456 // of Roboto, in heights of its capitals
	c := capitals[t.Face]
	d.str(`<text x="`).num(t.X).str(`" y="`).num(float64(t.Baseline)).
		str(`" font-size="`).num(em * float64(c.height*d.scale)).str(`"`)
	if c.weight == raster.Medium {
		d.str(` font-weight="500"`)
	}
	d.str(` textLength="`).num(t.Width).str(`" lengthAdjust="spacingAndGlyphs"`).paint("fill", t.Color).str(">")
	d.escape(t.Text)
	d.str("</text>\n")
}

// escape writes text as XML 1.0 allows it: markup as entities, characters the
// standard forbids (2.2) as the replacement character.
func (d *drawing) escape(text string) {
	for _, r := range text {
		switch {
		case r == '<':
			d.str("&lt;")
		case r == '>':
			d.str("&gt;")
		case r == '&':
			d.str("&amp;")
		case r < ' ' || r == 0xfffe || r == 0xffff:
			d.out = utf8.AppendRune(d.out, utf8.RuneError)
		default:
			d.out = utf8.AppendRune(d.out, r)
		}
	}
}
