package chart

import (
	"fmt"
	"io"
	"slices"
	"sync"

	"candela/lib/chart/raster"
)

// Renderer draws charts. It keeps frames, scenes and type faces between
// pictures, so one per process is enough. Safe for concurrent use.
type Renderer struct {
	stock  *raster.Stock
	scenes sync.Pool // of *pixels
}

// NewRenderer returns a Renderer. Glyphs are made at first use.
func NewRenderer() *Renderer { return &Renderer{stock: raster.NewStock()} }

// Fallback names the fonts for characters that the typeface lacks, TrueType or OpenType, best first.
// open is called once, when a picture first needs one. Call it before the first picture.
func (r *Renderer) Fallback(open func() []io.ReaderAt) { r.stock.Fallback(open) }

// pixels is a scene and the frame it is painted on.
type pixels struct {
	*raster.Frame
	scene Scene
	faces [faces]*raster.Face
	out   []byte
	draw  func(*raster.Frame)
	width Measure
	pause func() // of the picture being drawn
}

// capitals are the cap heights of the faces in logical pixels.
//
//nolint:gochecknoglobals // a table, never written
var capitals = [faces]struct {
	weight raster.Weight
	height int
}{
	Small:     {raster.Regular, capHeight},
	SmallBold: {raster.Medium, capHeight},
	Title:     {raster.Medium, 12},
}

// pixels returns a ready scene for pictures of the given scale.
func (r *Renderer) pixels(scale int) *pixels {
	p, ok := r.scenes.Get().(*pixels)
	if !ok {
		p = new(pixels)
		p.draw, p.width = p.paint, p.measure
	}
	for i, c := range capitals {
		p.faces[i] = r.stock.Face(c.weight, c.height*scale)
	}
	return p
}

func (p *pixels) measure(text string, face Face, _ int) float64 { return p.faces[face].Width(text) }

// Label writes text on the frame.
func (p *pixels) Label(t *Label) { p.Text(p.faces[t.Face], t.X, t.Baseline, t.Text, t.Color) }

// stopped is the panic by which a picture ends that nobody waits for.
type stopped struct{ cause error }

// stops is spec.Pause for the code that draws, which has no errors: it ends the picture by a panic.
func stops(spec *Spec) func() {
	if spec.Pause == nil {
		return nil
	}
	return func() {
		if err := spec.Pause(); err != nil {
			panic(stopped{err})
		}
	}
}

// catch turns the panic of stops into an error. The frame and the scene of such a picture are left to
// the garbage collector.
func catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case stopped:
		*err = r.cause
	default:
		panic(r)
	}
}

// PNG draws spec and returns the file, which the caller owns. An error names the
// field of spec that cannot be drawn, or is that of spec.Pause.
func (r *Renderer) PNG(spec *Spec) (png []byte, err error) {
	defer catch(&err)
	p, err := r.frame(spec)
	if err != nil {
		return nil, err
	}
	p.out, err = p.EncodePNG(p.out[:0])
	if err == nil {
		png = slices.Clone(p.out)
	} else {
		err = fmt.Errorf("encode chart: %w", err)
	}
	r.release(p)
	return png, err
}

// frame lays spec out and paints it.
func (r *Renderer) frame(spec *Spec) (*pixels, error) {
	_, _, scale := spec.size()
	p := r.pixels(scale)
	p.pause = stops(spec)
	if err := p.scene.Layout(spec, p.width); err != nil {
		r.scenes.Put(p)
		return nil, err
	}
	f, err := r.stock.Render(p.scene.Width, p.scene.Height, themes[spec.Theme].background, p.draw)
	if err != nil {
		r.scenes.Put(p)
		return nil, fmt.Errorf("draw chart: %w", err)
	}
	p.Frame = f
	if missing := f.Missing(); len(missing) > 0 && spec.Boxes != nil {
		spec.Boxes(missing)
	}
	return p, nil
}

func (r *Renderer) release(p *pixels) {
	p.Release()
	p.Frame, p.pause = nil, nil
	r.scenes.Put(p)
}

// paint draws the scene on f. Raster calls it again with a frame in true colour
// when the palette overflows.
func (p *pixels) paint(f *raster.Frame) {
	p.Frame, f.Pause = f, p.pause
	t := &themes[p.scene.Theme]
	f.Reserve(t.grid, t.border, t.up, t.down, t.histUpWeak, t.histDownWeak, t.text, t.strong, t.muted)
	f.Ramp(t.text, t.background)
	f.Ramp(t.muted, t.background)
	p.scene.paint(p)
}
