package chart

import "candela/lib/chart/raster"

// Scene is a picture as geometry, in device pixels and in the order of painting.
// It holds no image and no reference to the Spec it came from, except strings.
// A Scene is reused from picture to picture; one goroutine at a time.
type Scene struct {
	Width, Height int // device pixels
	Scale         int
	Theme         Theme
	Panes         []Pane // the price first, then the panels from top to bottom
	Columns       Columns
	Plot          Rect // all panes together

	// The layers, from the back to the front.
	Grid     []Box
	Profile  []Box
	Fills    []Area
	Rules    []Rule // reference levels, zero lines
	Volume   []Box  // and the histograms of panels
	Candles  []Candle
	Lines    []Stroke
	Dots     []Mark // lines drawn as a dot per bar
	Divs     []Stroke
	Marks    []Mark
	Drawings []Stroke
	Figures  []Figure // of scripts
	Levels   []Rule   // position, orders, alerts, drawings
	Last     Rule     // the last price
	Borders  []Box
	Tables   []Figure // of scripts
	Backings []Box    // behind labels that stand on data
	Labels   []Label  // of markers, levels, axes and legends
	Pills    []Pill

	px, py     []float64 // the points of Lines and Divs
	ax, ay, by []float64 // the columns of Fills
	scratch
}

// Rect is a rectangle of whole pixels; X1 and Y1 are outside.
type Rect struct{ X0, Y0, X1, Y1 int }

func (r Rect) height() int { return r.Y1 - r.Y0 }

// overlaps reports whether two rectangles share a pixel.
func (r Rect) overlaps(o Rect) bool {
	return r.X0 < o.X1 && o.X0 < r.X1 && r.Y0 < o.Y1 && o.Y0 < r.Y1
}

// inside reports whether r lies within o.
func (r Rect) inside(o Rect) bool {
	return r.X0 >= o.X0 && r.Y0 >= o.Y0 && r.X1 <= o.X1 && r.Y1 <= o.Y1
}

// Pane is one panel and its scale.
type Pane struct {
	Rect     Rect
	Ticks    []Tick
	span     span // the values it must show
	log      bool
	axis     axis
	notation notation
}

// Tick is a mark of a value axis. A hidden one has its grid line but no label.
type Tick struct {
	Value  float64
	Y      int
	Text   string
	Hidden bool
}

// Box is a filled rectangle, clipped to its pane; pane -1 is the whole picture.
type Box struct {
	Rect
	Pane  int
	Color raster.Color
}

// Rule is a straight horizontal line of whole pixels.
type Rule struct {
	X0, X1, Y, Thick int
	Pane             int
	Color            raster.Color
	On, Off          int // the dash; Off 0 is a solid line
}

// Candle is one bar, or several merged. Body is at least one pixel high.
type Candle struct {
	Wick, Body Rect
	Color      raster.Color
	Hollow     bool // has not closed yet
}

// Stroke is a line through the points [From, To) of the scene.
type Stroke struct {
	From, To int
	Pane     int
	Width    float64
	Color    raster.Color
	On, Off  float64
}

// Area is the space between two lines over the columns [From, To) of the scene: Color
// where the first line is above the second in the picture, Below elsewhere.
type Area struct {
	From, To int
	Pane     int
	Color    raster.Color
	Below    raster.Color
}

// Mark is a small shape at a bar.
type Mark struct {
	Shape  Shape
	Pane   int
	X, Y   float64 // the tip of an arrow, the middle of a dot
	Radius float64 // of a dot; half the width of an arrow
	Halo   float64 // radius of the background ring around a dot
	Color  raster.Color
}

// Shape is the form of a Mark.
type Shape uint8

// The shapes.
const (
	Dot Shape = iota
	ArrowUp
	ArrowDown
)

// Face picks one of the type faces.
type Face uint8

// The faces. Small has a cap height of 9 logical pixels, Title of 12.
const (
	Small Face = iota
	SmallBold
	Title
	faces
)

// Label is a run of text; X is its left edge, Baseline the row below the feet of its letters.
type Label struct {
	X        float64
	Width    float64
	Baseline int
	Text     string
	Face     Face
	Color    raster.Color
}

// Pill is a value on a coloured ground on the value axis, with the name of the series
// or level that it belongs to.
type Pill struct {
	Rect
	Pane  int
	Color raster.Color
	Label Label // the value
	Name  Label // empty for the last price

	value  float64
	at     int // the row of its value
	y      int // the row of its middle
	rank   int // smaller survives when there is no room
	order  int // in which it was added, between equal ranks
	names  [2]string
	merged int // pills that it stands for, besides its own
	pin    int // the row that it keeps, if pinned
	pinned bool
}

// Points returns the points of a stroke.
func (s *Scene) Points(k Stroke) (xs, ys []float64) { return s.px[k.From:k.To], s.py[k.From:k.To] }

// Bands returns the columns of an area.
func (s *Scene) Bands(a Area) (xs, y1, y2 []float64) {
	return s.ax[a.From:a.To], s.ay[a.From:a.To], s.by[a.From:a.To]
}

// reset empties the scene and keeps its memory.
func (s *Scene) reset() {
	for i := range s.Panes {
		s.Panes[i].Ticks = s.Panes[i].Ticks[:0]
	}
	clear(s.Labels) // let go of strings
	clear(s.Pills)
	clear(s.Figures)
	clear(s.Tables)
	*s = Scene{
		Panes: s.Panes[:0], Grid: s.Grid[:0], Profile: s.Profile[:0], Fills: s.Fills[:0], Rules: s.Rules[:0],
		Volume: s.Volume[:0], Candles: s.Candles[:0], Lines: s.Lines[:0], Dots: s.Dots[:0], Divs: s.Divs[:0],
		Marks: s.Marks[:0], Drawings: s.Drawings[:0], Levels: s.Levels[:0], Borders: s.Borders[:0], Backings: s.Backings[:0],
		Figures: s.Figures[:0], Tables: s.Tables[:0], Labels: s.Labels[:0], Pills: s.Pills[:0], px: s.px[:0], py: s.py[:0],
		ax: s.ax[:0], ay: s.ay[:0], by: s.by[:0],
		scratch: s.scratch,
	}
}
