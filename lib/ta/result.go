package ta

// Result is the output of an indicator over a run of bars, in the channels that the
// interface publishes. Every Values, Y1 and Y2 has exactly one entry per bar, NaN for
// no value. Styles are for charts and are not sent to clients.
type Result struct {
	Label    string // with parameters: "RSI(14)"
	Overlay  bool   // drawn over the price
	YRange   *[2]float64
	Lines    []Line
	Hist     []Hist
	Signals  []Signal
	HLines   []HLine
	Fills    []Fill
	HBars    []HBar
	DivLines []DivLine
	Look     *Look // the user's colours, instead of the theme's

	// Restarts has the bars at which the lines and fills begin again, in order: the first
	// bars of sessions. Only charts use it, as they do Profiles and the values ahead.
	Restarts []int
	// Profiles has one profile for each session.
	Profiles []Profile

	// Anchored is the open time of the bar at which a running sum begins, 0 for values
	// that do not depend on it. The caller that chose the bar sets it.
	Anchored int64
	// Until is when the last bar of another interval or symbol closed, if newer ones that the
	// bars of the chart should know are missing; otherwise 0. The caller that read them sets it.
	Until int64
	// Drawn has what a script draws besides; nil for indicators of the catalogue.
	Drawn *Drawn

	// Shown is set when the result depends only on the bars shown, like a volume
	// profile. The caller that chose the bars sets it.
	Shown bool
}

// Look overrides the theme where a parameter of the indicator was set. Empty
// fields leave the theme alone. Colours are written #rrggbb.
type Look struct {
	Up, Down string
	Opacity  *float64 // of a profile's value area; the rest keeps its proportion
}

// Line is one value per bar.
type Line struct {
	Label  string
	Values []float64
	Style  LineStyle
	Ahead  []float64 // values of the bars after the last one, which only charts show
	Paint  *Paint    // a script's own look; nil for the theme's
}

// Paint is how a script wants a line or histogram to look. It is not sent to clients,
// except for the colours.
type Paint struct {
	Colors []Tone  // of each bar; nil for the theme's
	Width  float64 // in logical pixels; 0 for the usual one
	Dash   Dash
	Joined bool // across bars without a value
	Shift  int  // bars to the right
	Form   Form // of a line drawn as dots: Circle or Cross
}

// LineStyle is how a line is drawn.
type LineStyle uint8

// The line styles.
const (
	Solid      LineStyle = iota // the series itself
	Band                        // an edge of a channel: thinner, paler
	Dots                        // a dot per bar, as SAR is drawn
	Trend                       // broken and coloured at each flip, as Supertrend is drawn
	Steps                       // levels that hold and jump, as pivots and session profiles
	CandleOpen                  // the four columns of substitute candles (Heikin-Ashi)
	CandleHigh
	CandleLow
	CandleClose
	Hidden // sent to clients, not drawn
)

// Hist is a histogram with one value per bar, drawn from a base line.
type Hist struct {
	Label  string
	Values []float64
	Base   float64   // where the bars stand, in the panel's units
	Style  HistStyle // what the colour means
	Paint  *Paint    // a script's own look; nil for the theme's
	Thin   bool      // drawn as lines, not as columns
}

// HistStyle is the meaning of a histogram's colour.
type HistStyle uint8

// The histogram styles.
const (
	Momentum HistStyle = iota // sign by colour, weak when moving back to the base
	Plain                     // one muted colour
	Signed                    // sign by colour, no weak shade
	State                     // a strip whose values are -1, 0 and +1
)

// Signal is an event. X is the bar it is drawn at; Confirmed is the bar whose
// close made it known, which is later than X for pivots and divergences. Alerts
// fire on Confirmed only.
type Signal struct {
	X, Confirmed int
	Y            float64
	Label        string // one of the registry
	Text         string // what a script says at this bar; "" for an indicator of the catalogue
	Again        bool   // of a bar that forms: it counts each time and not once a bar
}

// HLine is a level across the whole panel.
type HLine struct {
	Y     float64
	Label string // "POC", "overbought"; may be empty
	Style HLineStyle
	Look  *HLook // a script's own look; nil for the theme's
}

// HLook is how a script wants a level to look.
type HLook struct {
	Color Tone
	Width int
	Dash  Dash
}

// HLineStyle is the meaning of a level.
type HLineStyle uint8

// The level styles.
const (
	Reference HLineStyle = iota // a dashed guide, such as RSI 70
	Zero                        // the base of an oscillator
	Primary                     // the level that matters most, such as the POC
	Secondary                   // its companions, such as VAH and VAL
)

// Fill is the area between two series.
type Fill struct {
	Y1, Y2         []float64
	Style          FillStyle
	Ahead1, Ahead2 []float64 // values of the bars after the last one, which only charts show
	Paint          *FillPaint
}

// FillPaint is how a script wants an area to look.
type FillPaint struct {
	Colors []Tone // of each bar; nil with a gradient
	Shift  int    // bars to the right

	// A gradient goes from the colour at one value to that at another; all four have an
	// entry per bar, or are nil.
	Top, Bottom           []float64
	TopColors, BaseColors []Tone
}

// FillStyle is how an area is coloured.
type FillStyle uint8

// The fill styles.
const (
	Channel FillStyle = iota // one pale tint between two bands
	Cloud                    // up colour where Y1 is above Y2, down colour where below
	Zone                     // a tint that marks a region, such as overbought
	Area                     // up or down colour by the sign of Y1 against Y2, stronger than Cloud
	Block                    // as Cloud, for zones of price, which may lie far from the bars
)

// HBar is a horizontal bar at a price, for profiles. Width and Offset are
// fractions of the plot's width.
type HBar struct {
	Y, Height     float64
	Width, Offset float64
	Left          bool
	Style         HBarStyle
}

// Profile is the profile of bars [From, To). The Width of its bars is a fraction of the
// width of these bars.
type Profile struct {
	From, To int
	Bars     []HBar
}

// HBarStyle is the part of a profile that a bar belongs to.
type HBarStyle uint8

// The profile bar styles.
const (
	Outside   HBarStyle = iota // outside the value area
	ValueArea                  // inside it
	POC                        // the point of control
	UpVolume                   // split profiles: volume of rising bars
	DownVolume
)

// DivLine is a segment between two bars, for divergences.
type DivLine struct {
	X1, X2 int
	Y1, Y2 float64
	Dashed bool
	Bull   bool
}
