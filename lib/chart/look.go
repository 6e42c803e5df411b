package chart

import (
	"strconv"

	"candela/lib/chart/raster"
)

// Look is how the picture of a chart looks, apart from where it draws: colours, widths, where lines break,
// names, and how numbers are written. A program that has the values of the chart draws on a screen what
// the picture shows. It is made by the rules of the picture and encoded as JSON; inks are indices into
// Inks.
type Look struct {
	Themes map[string]Hues `json:"themes"`
	Inks   [][2]string     `json:"inks"`  // each colour in the dark and in the light theme, #rrggbb or #rrggbbaa
	Read   [][2]string     `json:"read"`  // the same for text on the background
	On     [][2]string     `json:"on"`    // and the colours of text on a ground of them
	Digits Digits          `json:"price"` // how prices are written
	Up     int             `json:"up"`    // inks of rising and falling
	Down   int             `json:"down"`
	Ahead  int             `json:"ahead,omitempty"`  // bars after the last one that lines reach
	Breaks []int           `json:"breaks,omitempty"` // the first bars of sessions
	Tints  [][3]int        `json:"tints,omitempty"`  // bars from, to and the ink that a script gives them
	Plots  []Plot          `json:"plots"`
}

// Hues are the colours of a theme.
type Hues struct {
	Background string  `json:"background"`
	Grid       string  `json:"grid"`
	Border     string  `json:"border"`
	Text       string  `json:"text"`
	Strong     string  `json:"strong"`
	Muted      string  `json:"muted"`
	Up         string  `json:"up"`
	Down       string  `json:"down"`
	Warn       string  `json:"warn"`
	Drawing    string  `json:"drawing"`
	Volume     float64 `json:"volume"`      // opacity
	VolumeThin float64 `json:"volume_thin"` // where bodies have 2 pixels or less
	Forming    float64 `json:"forming"`     // opacity of the body of a bar that has not closed
}

// Digits is how the numbers of a pane are written: "fixed" with so many decimals, "compact" as 1.38K, or
// "expo" as 1.23e-12.
type Digits struct {
	Style    string `json:"style"`
	Decimals int    `json:"decimals"`
}

// Plot is how a result looks. Its lists have the order of those of the result.
type Plot struct {
	Key    string        `json:"key,omitempty"` // of the result; empty for a compared symbol
	Over   bool          `json:"over,omitempty"`
	Pane   int           `json:"pane"` // 0 is the price
	Title  string        `json:"title"`
	Fixed  string        `json:"fixed,omitempty"` // in place of values
	Ink    int           `json:"ink"`             // of Fixed, and of what is not a line
	Digits Digits        `json:"digits"`
	Legend []LegendValue `json:"legend,omitempty"`
	Words  string        `json:"words,omitempty"` // that explain the small signals
	Error  string        `json:"error,omitempty"` // that ended a script
	Blank  bool          `json:"blank,omitempty"` // there is no value: the pane is low
	Lines  []LineLook    `json:"lines,omitempty"`
	Hist   []HistLook    `json:"hist,omitempty"`
	Fills  []FillLook    `json:"fills,omitempty"`
	Levels []LevelLook   `json:"levels,omitempty"`
	Band   *BandLook     `json:"band,omitempty"` // between the guides of an oscillator
	Marks  []SignalLook  `json:"marks,omitempty"`
	Bars   []BarLook     `json:"bars,omitempty"`   // of a profile
	Parts  []SessionLook `json:"parts,omitempty"`  // the profiles of sessions
	Divs   []DivLook     `json:"divs,omitempty"`   // divergences
	Candle *[4]int       `json:"candle,omitempty"` // lines that replace open, high, low and close
	Extent *[2]float64   `json:"extent,omitempty"` // values that the pane shows in any case
}

// LegendValue is a value in the legend: of a line, of a histogram or a level.
type LegendValue struct {
	Of   string `json:"of"` // line, hist or level
	At   int    `json:"at"`
	Name string `json:"name,omitempty"`
	Ink  int    `json:"ink"` // at the last bar
}

// The forms of a line.
const (
	lineForm   = "line"
	dotsForm   = "dots"
	levelsForm = "levels" // upright jumps are not drawn
	stairsForm = "stairs"
	crossForm  = "cross"
	noForm     = "none"
)

// LineLook is how a line looks. Runs has its parts: the values of bars from, to and their ink; values
// after the last bar are those of Ahead. Between parts the line is broken.
type LineLook struct {
	Form   string     `json:"form"`
	Label  string     `json:"label,omitempty"`
	Width  float64    `json:"width,omitempty"`
	Dash   [2]float64 `json:"dash"`
	Ink    int        `json:"ink"`
	Tag    bool       `json:"tag,omitempty"` // its last value stands on the axis
	Shift  int        `json:"shift,omitempty"`
	Joined bool       `json:"joined,omitempty"` // across bars without a value
	Runs   [][3]int   `json:"runs,omitempty"`
	Ahead  Numbers    `json:"ahead,omitempty"`
	Values Numbers    `json:"values,omitempty"` // of a compared symbol, as prices
}

// HistLook is how a histogram looks. Inks has the ink of each bar, -1 for none.
type HistLook struct {
	Strip bool    `json:"strip,omitempty"` // of the same height at every bar
	Base  float64 `json:"base"`
	Width float64 `json:"width,omitempty"` // of thin columns
	Shift int     `json:"shift,omitempty"`
	Inks  []int   `json:"inks"`
}

// FillLook is how an area looks: Above where its first line is above the second, else Below, between the
// bars of each part. With Runs its parts have inks of their own; with Top they have those of a gradient
// between two values.
type FillLook struct {
	Above   int      `json:"above"`
	Below   int      `json:"below"`
	Parts   [][2]int `json:"parts,omitempty"`
	Shift   int      `json:"shift,omitempty"`
	Fit     bool     `json:"fit,omitempty"` // the axis shows all of it
	Runs    [][3]int `json:"runs,omitempty"`
	Ahead1  Numbers  `json:"ahead1,omitempty"`
	Ahead2  Numbers  `json:"ahead2,omitempty"`
	Top     Numbers  `json:"top,omitempty"`
	Bottom  Numbers  `json:"bottom,omitempty"`
	Blended [][4]int `json:"blended,omitempty"` // from, to, inks at top and bottom
}

// LevelLook is how a level looks.
type LevelLook struct {
	Y     float64    `json:"y"`
	Ink   int        `json:"ink"`
	Width float64    `json:"width"`
	Dash  [2]float64 `json:"dash"`
	Name  string     `json:"name,omitempty"` // on the axis of the price
	Tag   int        `json:"tag"`            // ink of the name
}

// BandLook is a tint between two values.
type BandLook struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
	Ink  int     `json:"ink"`
}

// SignalLook is how a signal looks: an arrow up or down with a text, a text alone (word), a dot, or
// the dot of a candle pattern.
type SignalLook struct {
	X     int     `json:"x"`
	Y     float64 `json:"y"`
	Form  string  `json:"form"` // up, down, word, dot or candle
	Ink   int     `json:"ink"`
	Text  string  `json:"text,omitempty"`
	Under bool    `json:"under,omitempty"`
	Small bool    `json:"small,omitempty"`
	Label string  `json:"label"`
}

// BarLook is a bar of a profile between two values; Near and Far are parts of the width of the plot, or of its
// session, from the left or the right edge.
type BarLook struct {
	Top    float64 `json:"top"`
	Bottom float64 `json:"bottom"`
	Near   float64 `json:"near"`
	Far    float64 `json:"far"`
	Left   bool    `json:"left,omitempty"`
	Ink    int     `json:"ink"`
}

// SessionLook is the profile of the bars [From, To).
type SessionLook struct {
	From int       `json:"from"`
	To   int       `json:"to"`
	Bars []BarLook `json:"bars"`
}

// DivLook is a segment between two bars, with a dot at each end.
type DivLook struct {
	X1   int     `json:"x1"`
	X2   int     `json:"x2"`
	Y1   float64 `json:"y1"`
	Y2   float64 `json:"y2"`
	Dash bool    `json:"dash,omitempty"`
	Ink  int     `json:"ink"`
}

// Numbers are values, null where there is none.
type Numbers []float64

// MarshalJSON writes the values.
func (n Numbers) MarshalJSON() ([]byte, error) {
	out := append(make([]byte, 0, 2+12*len(n)), '[')
	for i, v := range n {
		if i > 0 {
			out = append(out, ',')
		}
		if finite(v) {
			out = strconv.AppendFloat(out, v, 'g', -1, 64)
		} else {
			out = append(out, "null"...)
		}
	}
	return append(out, ']'), nil
}

// Describe returns the look of a picture. An error names the field that cannot be drawn.
func Describe(spec *Spec) (*Look, error) {
	if err := spec.Check(); err != nil {
		return nil, err
	}
	var seen [2]describer
	look := Look{Themes: make(map[string]Hues, len(themes)), Inks: [][2]string{}, Read: [][2]string{}, On: [][2]string{}}
	for _, theme := range [...]Theme{Light, Dark} { // each colour is then known in both
		whole := *spec
		whole.Theme, whole.Width, whole.Height, whole.Scale, whole.Shares = theme, MaxSide, MaxSide, 1, nil // no pane is left out
		scene := Scene{Scale: 1, Width: MaxSide, Height: MaxSide, Theme: theme}
		l := layout{Scene: &scene, scratch: &scene.scratch, spec: &whole, theme: &themes[theme], s: 1, n: spec.Bars.Len()}
		l.candles = ohlc{spec.Bars.O, spec.Bars.H, spec.Bars.L, spec.Bars.C}
		l.stackPanes()
		l.colorLines()
		l.spanPanes()
		l.tintAll()
		d := &seen[theme]
		*d = describer{layout: &l, look: &look, light: seen[Light].colors, known: map[[2]raster.Color]int{}}
		look.Plots, look.Tints = []Plot{}, nil
		d.describe()
		look.Themes[l.theme.name] = l.theme.hues()
	}
	return &look, nil
}

// tintAll notes the colours that scripts give to bars.
func (l *layout) tintAll() {
	for v := range l.each {
		if v.Drawn == nil {
			continue
		}
		for _, t := range v.Drawn.Tints {
			if t.Bars {
				l.tintBars(max(t.From, 0), min(t.To, l.n-1), tone(t.Color))
			}
		}
	}
}

// hues writes a theme.
func (t *theme) hues() Hues {
	return Hues{
		Background: hexText(t.background), Grid: hexText(t.grid), Border: hexText(t.border), Text: hexText(t.text), Strong: hexText(t.strong),
		Muted: hexText(t.muted), Up: hexText(t.up), Down: hexText(t.down), Warn: hexText(t.warn), Drawing: hexText(t.cycle[blue]),
		Volume: t.volume, VolumeThin: volumeThin, Forming: formingBody,
	}
}

// hexText writes a colour as #rrggbb, and its opacity if it is not opaque.
func hexText(c raster.Color) string {
	const digits = "0123456789abcdef"
	out := []byte{'#'}
	for _, v := range [...]uint8{c.R, c.G, c.B, c.A} {
		out = append(out, digits[v>>4], digits[v&15])
	}
	if c.A == 255 {
		out = out[:7]
	}
	return string(out)
}

// digits says how a notation writes.
func (n notation) digits() Digits {
	return Digits{Style: [...]string{fixed: "fixed", compact: "compact", expo: "expo"}[n.style], Decimals: n.decimals}
}
