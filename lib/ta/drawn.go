package ta

import "fmt"

// Drawn is what a script draws besides lines, histograms and levels. Bars are counted as
// those of a Result are; a shape may lie before the first bar or after the last one.
type Drawn struct {
	Marks  []Mark
	Tints  []Tint
	Shapes []Shape
	Tables []Table

	// Over is what the script draws over the price though its own result has a panel. It
	// is nil for an overlay.
	Over *Result

	// Problem is the error that ended the script, nil if it ran to the last bar.
	Problem *Problem

	// Notes are those of the definition, and what holds for a chart alone.
	Notes []string

	// Alerts has the texts of the newest events that carry one.
	Alerts []AlertText
}

// Problem is the error that ended a script at a bar. The bars before it keep their values.
type Problem struct {
	Code, Message string
	Bar           int64 // open time of the bar, 0 if it ended before the first
	Line, Column  int   // of the source, from 1; 0 if unknown
}

// AlertText is the text of an event at a bar.
type AlertText struct {
	X    int
	Text string
}

// Tone is a colour with its opacity: 0xRRGGBBAA. Zero draws nothing.
type Tone uint32

// String writes the colour as #rrggbbaa.
func (t Tone) String() string { return fmt.Sprintf("#%08x", uint32(t)) }

// Opacity returns 0 to 1.
func (t Tone) Opacity() float64 { return float64(t&0xff) / 255 }

// Dash is how a line is interrupted.
type Dash uint8

// The dashes.
const (
	Unbroken Dash = iota
	Dashed
	Dotted
)

// Size is the size of a mark or a text, relative to the usual one.
type Size uint8

// The sizes.
const (
	Auto Size = iota
	Tiny
	Little
	Normal
	Large
	Huge
)

// Mark is a small sign at a bar.
type Mark struct {
	X     int
	Y     float64 // of AtValue
	Place Place
	Form  Form
	Text  string
	Size  Size
	Color Tone
	Ink   Tone // of the text
	Label string
}

// Place is where a mark stands.
type Place uint8

// The places.
const (
	AboveBar Place = iota
	BelowBar
	AtTop
	AtBottom
	AtValue
)

// String returns the name that clients see.
func (p Place) String() string {
	return [...]string{"above", "below", "top", "bottom", "value"}[min(p, AtValue)]
}

// Form is the form of a mark. NoForm has a text alone.
type Form uint8

// The forms.
const (
	Cross Form = iota
	XCross
	TriangleUp
	TriangleDown
	ArrowUp
	ArrowDown
	Circle
	Square
	Diamond
	Flag
	LabelUp
	LabelDown
	NoForm
)

// String returns the name that clients see.
func (f Form) String() string {
	return [...]string{
		"cross", "xcross", "triangle_up", "triangle_down", "arrow_up", "arrow_down", "circle", "square", "diamond",
		"flag", "label_up", "label_down", "text",
	}[min(f, NoForm)]
}

// Tint colours the ground, or the bars themselves, from one bar to another.
type Tint struct {
	From, To int // To is included
	Color    Tone
	Bars     bool
}

// Point is a bar and a value.
type Point struct {
	X int
	Y float64
}

// ShapeKind is the kind of a shape.
type ShapeKind uint8

// The kinds of shape.
const (
	Segment   ShapeKind = iota // between two points
	Rectangle                  // with two points as opposite corners
	Caption                    // a text at a point
	Path                       // through all points
	Between                    // the area between two segments, given by four points
)

// String returns the name that clients see.
func (k ShapeKind) String() string {
	return [...]string{"line", "box", "label", "polyline", "linefill"}[min(k, Between)]
}

// Extend is where a segment or rectangle goes on to the edge of the picture.
type Extend uint8

// The directions, which may be combined.
const (
	ExtendLeft Extend = 1 << iota
	ExtendRight
)

// Align is where a text stands in its rectangle, or a caption's pointer.
type Align uint8

// The places of a text.
const (
	Middle Align = iota
	Start        // left or top
	End          // right or bottom
)

// Pointer is the ground of a caption and where its point is.
type Pointer uint8

// The pointers. Bare has no ground; the others have one whose edge or point lies at the
// caption's bar and value.
const (
	PointDown Pointer = iota // the ground is over the point
	PointUp
	PointLeft  // the ground is to the right of the point
	PointRight // and to the left of it
	Centered
	Bare
	Sign // a Form instead of a ground
)

// Shape is a line, rectangle, text, path or area at bars and values.
type Shape struct {
	Kind   ShapeKind
	Points []Point
	Color  Tone // of the line, the border or a caption's ground
	Fill   Tone // of a rectangle, a closed path or an area between segments
	Width  int  // of the line in logical pixels
	Dash   Dash
	Arrow  Extend // the ends with an arrow
	Extend Extend

	Text      string
	Ink       Tone // of the text
	Size      Size
	Row, Side Align // of the text: vertical and horizontal
	Pointer   Pointer
	Form      Form  // of a Sign
	Place     Place // of a caption: AtValue, AboveBar or BelowBar
	Tooltip   string

	Curved, Closed bool // of a path
	Over           bool // drawn over the price though the result has a panel
}

// Table is a table in a corner or at an edge of its pane.
type Table struct {
	Row, Side     Align // Start is top and left
	Columns, Rows int
	Cells         []Cell // those that were set, by row and then by column
	Ground        Tone
	Frame, Border Tone
	FrameWidth    int
	BorderWidth   int
	Over          bool // drawn over the price though the result has a panel
}

// Cell is a text in a table. It may span several columns and rows.
type Cell struct {
	Column, Row int
	Width, High int // columns and rows that it spans, at least 1
	Text        string
	Ink, Ground Tone
	Size        Size
	Side        Align
	Tooltip     string
}
